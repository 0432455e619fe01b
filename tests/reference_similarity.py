"""A slow second implementation of the voice similarity matrices, to test against.

Written from the paper ("Speech pseudonymisation assessment using voice similarity
matrices") and from what the challenge's scripts are known to do: lists of pairs are
built in full, and every number is made from its list. PAV is the one of `reference`.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from reference_metrics import SLOPE, isotonic, log_odds

from privacy_eval.errors import PrivacyEvalError

Pair = tuple[str, str]
Scores = Mapping[Pair, float] | Callable[[str, str], float]


@dataclass(frozen=True)
class Calibrated:
    """A pair of utterances and its LLR."""

    pair: Pair
    is_target: bool
    llr: float


@dataclass(frozen=True)
class Matrix:
    """M(A, B) of every two speakers, in an order."""

    speakers: list[str]
    cells: dict[Pair, float]

    def rows(self) -> list[list[float]]:
        return [[self.cells[a, b] for b in self.speakers] for a in self.speakers]


@dataclass(frozen=True)
class Similarity:
    """The matrices and what is made of them; `deid` is a fraction."""

    oo: Matrix
    oa: Matrix
    aa: Matrix
    d_diag_oo: float
    d_diag_oa: float
    d_diag_aa: float
    deid: float
    gvd_db: float


# --- pairs


def unordered_pairs(ids: Sequence[str]) -> list[Pair]:
    """Every two utterances once, the earlier one first."""
    return [(ids[i], ids[j]) for i in range(len(ids)) for j in range(i + 1, len(ids))]


def ordered_pairs(original: Sequence[str], anonymized: Sequence[str]) -> list[Pair]:
    """Every original utterance with every anonymized one, but for its own anonymized version."""
    return [(a, b) for a in original for b in anonymized if a != b]


def challenge_pairs(first: Sequence[str], second: Sequence[str]) -> list[Pair]:
    """Index j >= i and different ids, line by line."""
    return [
        (first[i], second[j])
        for i in range(len(first))
        for j in range(len(second))
        if j >= i and first[i] != second[j]
    ]


def pairs_of(
    original: Sequence[str], anonymized: Sequence[str], variant: str
) -> dict[str, list[Pair]]:
    """The pairs of the three score sets."""
    sides = {"oo": (original,) * 2, "oa": (original, anonymized), "aa": (anonymized,) * 2}
    if variant == "challenge":
        return {kind: challenge_pairs(*both) for kind, both in sides.items()}
    return {
        kind: ordered_pairs(*both) if kind == "oa" else unordered_pairs(both[0])
        for kind, both in sides.items()
    }


# --- calibration


def calibrate(
    pairs: Sequence[Pair], scores: Scores, speaker: Mapping[str, str], variant: str
) -> list[Calibrated]:
    """LLRs by PAV with Laplace's rule, in the order of `pairs`."""
    score = {pair: scores(*pair) if callable(scores) else scores[pair] for pair in pairs}
    if not all(math.isfinite(value) for value in score.values()):
        raise PrivacyEvalError("a score is not finite")
    is_target = {(a, b): speaker[a] == speaker[b] for a, b in pairs}
    targets = [pair for pair in pairs if is_target[pair]]
    nontargets = [pair for pair in pairs if not is_target[pair]]
    if not targets or not nontargets:
        raise PrivacyEvalError("calibration needs pairs of one and of two speakers")
    ordered = sorted([*nontargets, *targets], key=lambda pair: score[pair])  # stable
    if variant == "challenge":
        points = [[pair] for pair in ordered]
    else:
        points = [list(tied) for _, tied in itertools.groupby(ordered, key=lambda p: score[p])]
    dummies = [(1, 1), (0, 1)]  # a target, then a nontarget
    real = [(sum(is_target[pair] for pair in point), len(point)) for point in points]
    posteriors = isotonic([*dummies, *real, *dummies])[2:-2]
    offset = log_odds(Fraction(len(targets), len(pairs)))  # log(T/N)
    llr = {
        pair: log_odds(posterior) - offset
        for posterior, point in zip(posteriors, points, strict=True)
        for pair in point
    }
    if variant == "challenge":
        for k, pair in enumerate(ordered):
            llr[pair] += k * SLOPE / len(pairs)
    return [Calibrated(pair, is_target[pair], llr[pair]) for pair in pairs]


# --- matrices


def sigmoid(x: float) -> float:
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def similarity_of(llrs: Sequence[float], a: str, b: str) -> float:
    """Sigmoid of the mean LLR."""
    if not llrs:
        raise PrivacyEvalError(f"no pair of utterances for the speakers {a} and {b}")
    return sigmoid(math.fsum(llrs) / len(llrs))


def llrs_by_speakers(
    calibrated: Sequence[Calibrated], speaker: Mapping[str, str]
) -> dict[Pair, list[float]]:
    """LLRs by speaker of the first and speaker of the second utterance."""
    lists: dict[Pair, list[float]] = {}
    for entry in calibrated:
        a, b = entry.pair
        lists.setdefault((speaker[a], speaker[b]), []).append(entry.llr)
    return lists


def exact_matrix(
    calibrated: Sequence[Calibrated], speaker: Mapping[str, str], ids: Sequence[str], *, cross: bool
) -> Matrix:
    """Eq. (2). `cross`: rows are original speakers, columns anonymized ones."""
    lists = llrs_by_speakers(calibrated, speaker)
    speakers = list(dict.fromkeys(speaker[utterance] for utterance in ids))
    cells = {}
    for a in speakers:
        for b in speakers:
            llrs = list(lists.get((a, b), []))
            if not cross and a != b:
                llrs += lists.get((b, a), [])
            cells[a, b] = similarity_of(llrs, a, b)
    return Matrix(speakers, cells)


def challenge_matrix(calibrated: Sequence[Calibrated], speaker: Mapping[str, str]) -> Matrix:
    """Speakers by first appearance as first of a target pair; of A before B only A-B pairs."""
    lists = llrs_by_speakers(calibrated, speaker)
    first_column = [speaker[entry.pair[0]] for entry in calibrated if entry.is_target]
    speakers = list(dict.fromkeys(first_column))
    cells = {}
    for i, a in enumerate(speakers):
        for b in speakers[i:]:
            cells[a, b] = cells[b, a] = similarity_of(lists.get((a, b), []), a, b)
    return Matrix(speakers, cells)


def d_diag(matrix: Matrix) -> float:
    """Eq. (3)."""
    count = len(matrix.speakers)
    if count < 2:
        raise PrivacyEvalError("one speaker has nobody to be told from")
    diagonal = [matrix.cells[a, a] for a in matrix.speakers]
    rest = [matrix.cells[a, b] for a in matrix.speakers for b in matrix.speakers if a != b]
    return abs(math.fsum(diagonal) / count - math.fsum(rest) / (count * (count - 1)))


def matrix_of(
    pairs: Sequence[Pair],
    scores: Scores,
    speaker: Mapping[str, str],
    ids: Sequence[str],
    variant: str,
    *,
    cross: bool,
) -> Matrix:
    """One score set as a matrix; `ids` give the order of speakers of `exact`."""
    calibrated = calibrate(pairs, scores, speaker, variant)
    if variant == "challenge":
        return challenge_matrix(calibrated, speaker)
    return exact_matrix(calibrated, speaker, ids, cross=cross)


def similarity(
    scores: Mapping[str, Scores],
    speaker: Mapping[str, str],
    original: Sequence[str],
    variant: str,
    anonymized: Sequence[str] | None = None,
) -> Similarity:
    """Everything, from the scores of `oo`, `oa` (original first) and `aa`.

    `original` and `anonymized` are the utterance ids in the order of their scp files.
    """
    anonymized = original if anonymized is None else anonymized
    pairs = pairs_of(original, anonymized, variant)
    matrices = {
        name: matrix_of(
            pairs[name],
            scores[name],
            speaker,
            anonymized if name == "aa" else original,
            variant,
            cross=name == "oa",
        )
        for name in ("oo", "oa", "aa")
    }
    oo, oa, aa = (d_diag(matrices[name]) for name in ("oo", "oa", "aa"))
    if oo == 0.0:
        raise PrivacyEvalError("original speech does not tell its speakers apart")
    gain = 10.0 * math.log10(aa / oo) if aa > 0.0 else -math.inf
    return Similarity(
        matrices["oo"], matrices["oa"], matrices["aa"], oo, oa, aa, 1.0 - oa / oo, gain
    )
