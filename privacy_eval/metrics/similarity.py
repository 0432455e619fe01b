"""Voice similarity matrices, de-identification (DeID) and gain of voice distinctiveness (G_VD); and
whether anonymized speech of a person has one pseudo-voice that enrollment and trials share, where
linking is far easier.

Three sets of scores compare the utterances of a trial set: original with original
(oo), original with anonymized (oa), anonymized with anonymized (aa). Each is calibrated
on its own by PAV with Laplace's rule; M(i, j) is the sigmoid of the mean natural-log LLR
over the pairs of utterances of speakers i and j. A DeID of 1 is full de-identification,
0 none; a G_VD of 0 dB keeps voices as distinct as they were, a negative one loses
distinctiveness.

Reference: Noe et al., "Speech pseudonymisation assessment using voice similarity
matrices" (Interspeech 2020); the papers' numbers of equations are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from .arguments import as_array, as_names, as_numbers
from .linkability import linkability
from .pav import FloatArray, IntArray, sloped_llr
from .trial_scores import TrialScores, Variant, check_variant

ScoreMatrix = NDArray[np.float32]

#: Smaller differences of similarities are rounding errors of sums.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SimilarityMatrix:
    """One voice similarity matrix.

    Attributes
    ----------
    values : float array, shape (S, S)
        M(i, j), 0..1; row and column k belong to speaker k. For oa, speaker i is
        original, j anonymized.
    evidence : float array, shape (S,)
        log10 of the largest likelihood ratio of any same-speaker pair: the strongest link to
        the speaker; negative if no pair supports one.
    n_target, n_nontarget : int
        Pairs of utterances of the same and of two speakers.
    variant : str
    """

    values: FloatArray
    evidence: FloatArray
    n_target: int
    n_nontarget: int
    variant: Variant

    @property
    def d_diag(self) -> float:
        """D_diag, eq. (3): |mean of the diagonal - mean of the rest|, 0 to 1; rounding errors
        count as 0."""
        diagonal = np.trace(self.values)
        size = len(self.values)
        rest = (self.values.sum() - diagonal) / (size * (size - 1))
        difference = abs(diagonal / size - rest)
        return float(difference) if difference > _ROUNDING else 0.0

    @property
    def diagonal(self) -> FloatArray:
        """Similarity of every speaker with itself, shape (S,)."""
        return np.diagonal(self.values).copy()

    @property
    def dominance(self) -> FloatArray:
        """Each speaker's part in D_diag, shape (S,): the excess of the diagonal entry over the
        mean of the other entries in its row and column; rounding errors count as 0."""
        size = len(self.values)
        others = self.values.sum(axis=0) + self.values.sum(axis=1) - 2 * self.diagonal
        excess = self.diagonal - others / (2 * (size - 1))
        return np.where(excess > _ROUNDING, excess, 0.0)


@dataclass(frozen=True)
class VoiceSimilarity:
    """DeID and G_VD with the matrices they come from.

    Attributes
    ----------
    deid : float
        Fraction, eq. (4): at most 1; negative where anonymization makes voices more
        alike their originals than these are to themselves.
    gvd_db : float
        dB, eq. (5); -inf where anonymized voices are indistinguishable.
    oo, oa, aa : SimilarityMatrix
    """

    deid: float
    gvd_db: float
    oo: SimilarityMatrix
    oa: SimilarityMatrix
    aa: SimilarityMatrix

    def speaker_deid(self) -> FloatArray:
        """Compute the DeID of each speaker from the dominance in oa and oo, shape (S,). It is at
        most 1, where the anonymized voice does not dominate; -inf where only the anonymized one
        does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.oa.dominance / self.oo.dominance
        return np.asarray(1 - np.where(self.oa.dominance == 0, 0.0, ratio))


#: Columns of one speaker's part in the voice similarity of a trial set: its own de-identification
#: (fraction; lower is less protected); its entries on the diagonals of the three matrices; D_sys of
#: its original utterances with its own and with others' anonymized ones, None with fewer than 20
#: same-speaker pairs, too few for D_sys; log10 of the largest LR that links one of its original
#: utterances with one of its anonymized ones, negative where none does.
OF_SPEAKER = (
    *("speaker", "deid", "similarity_oo", "similarity_oa", "similarity_aa"),
    *("linkability", "evidence"),
)


def deid_and_gvd(
    oo: SimilarityMatrix, oa: SimilarityMatrix, aa: SimilarityMatrix
) -> VoiceSimilarity:
    """Compute DeID and G_VD of three matrices.

    Parameters
    ----------
    oo, oa, aa : SimilarityMatrix
        Of the same speakers.

    Returns
    -------
    VoiceSimilarity

    Raises
    ------
    PrivacyEvalError
        D_diag of oo is 0: the original speakers are indistinguishable.

    Examples
    --------
    >>> scores = np.float32([[9, 9, 0, 0], [9, 9, 0, 0], [0, 0, 9, 9], [0, 0, 9, 9]])
    >>> same = similarity_matrix(scores, np.array([0, 0, 1, 1]))
    >>> similarity = deid_and_gvd(same, same, same)
    >>> similarity.deid, similarity.gvd_db
    (0.0, 0.0)
    """
    if oo.d_diag == 0:
        raise PrivacyEvalError(
            "original speakers are indistinguishable (D_diag of oo is 0), so DeID and G_VD are "
            "undefined: are these the right vectors and model?"
        )
    ratio = aa.d_diag / oo.d_diag
    gvd_db = 10 * math.log10(ratio) if ratio > 0 else -math.inf
    return VoiceSimilarity(1 - oa.d_diag / oo.d_diag, gvd_db, oo, oa, aa)


def similarity_matrix(
    scores: ArrayLike,
    speaker: ArrayLike,
    *,
    column_of: ArrayLike | None = None,
    variant: Variant = "exact",
) -> SimilarityMatrix:
    """Calibrate the scores of all pairs of utterances and average them by pair of speakers.

    Parameters
    ----------
    scores : array_like, shape (U, U)
        Of every utterance with every other. Without `column_of` both sides are the same
        utterances and only the part above the diagonal is used.
    speaker : array_like, shape (U,)
        Speaker of each row's utterance, every one with two utterances or more: numbers 0..S-1, or
        names, whose rows of the matrix are in alphabetical order.
    column_of : array_like of int, shape (U,), optional
        For oa: which column is the anonymized version of each row's utterance.
    variant : {"exact", "challenge"}
        `exact`: every unordered pair once or, with `column_of`, every ordered pair.
        `challenge`: only pairs whose column is not before their row, also with
        `column_of`; of two speakers only pairs with the one first whose same-speaker pairs
        come first; the matrix is mirrored; ties and slope as in the released scripts.

    Returns
    -------
    SimilarityMatrix

    Raises
    ------
    PrivacyEvalError
        One speaker only; a speaker, or in `challenge` two speakers, without a pair; a score
        that is NaN or infinite.

    Examples
    --------
    >>> scores = np.float32([[9, 9, 0, 0], [9, 9, 0, 0], [0, 0, 9, 9], [0, 0, 9, 9]])
    >>> similarity_matrix(scores, ["a", "a", "b", "b"]).values.argmax(axis=1)
    array([0, 1])
    """
    from scipy.special import expit  # slow to import

    check_variant(variant)
    pairs = _Pairs(scores, speaker, column_of, all_columns=variant == "exact")
    trials = pairs.trials()
    calibration = _Calibration(trials, variant)
    size = pairs.speakers
    total: FloatArray = np.zeros((size, size))
    count: FloatArray = np.zeros((size, size))
    strongest = np.full(size, -np.inf)
    begins = np.full(size, pairs.speaker.size)
    for row, values, others in pairs.rows():
        row_speaker = pairs.speaker[row]
        is_target = others == row_speaker
        llr = calibration.llr(values, target=False)
        if is_target.any():
            llr[is_target] = of_targets = calibration.llr(values[is_target], target=True)
            strongest[row_speaker] = max(strongest[row_speaker], float(of_targets.max()))
            begins[row_speaker] = min(begins[row_speaker], row)
        total[row_speaker] += np.bincount(others, weights=llr, minlength=size)
        count[row_speaker] += np.bincount(others, minlength=size)
    if variant == "challenge":
        # Of speakers A, B with A's own pairs first: pairs with A in the row.
        first_in_row = begins[:, None] <= begins[None, :]
        total, count = (
            np.where(first_in_row, total, total.T),
            np.where(first_in_row, count, count.T),
        )
    elif column_of is None:
        total, count = (x + x.T - np.diag(np.diagonal(x)) for x in (total, count))
    if not count.all():
        first, second = (pairs.names[place] for place in np.argwhere(count == 0)[0])
        raise PrivacyEvalError(f"no pair of utterances compares speakers {first} and {second}")
    return SimilarityMatrix(
        expit(total / count),
        strongest / math.log(10),
        trials.n_target,
        trials.n_nontarget,
        variant,
    )


def speaker_linkability(
    scores: ScoreMatrix,
    speaker: IntArray,
    *,
    column_of: IntArray | None = None,
    variant: Variant = "exact",
) -> FloatArray:
    """Compute D_sys of each speaker, whose utterances are the rows: columns of the same speaker are
    targets, those of other speakers nontargets.

    Parameters
    ----------
    scores, speaker, column_of, variant
        As in `similarity_matrix`; every pair of different utterances counts.

    Returns
    -------
    float array, shape (S,)

    Examples
    --------
    >>> scores = np.repeat(np.repeat(np.eye(2, dtype=np.float32), 5, axis=0), 5, axis=1)
    >>> speaker_linkability(scores, np.repeat([0, 1], 5))
    array([1., 1.])
    """
    columns = np.arange(len(scores)) if column_of is None else column_of
    pairs = _Pairs(scores, speaker, columns, all_columns=True)
    values = np.empty(pairs.speakers)
    for number in range(pairs.speakers):
        rows = np.flatnonzero(speaker == number)
        target = np.broadcast_to(pairs.column_speaker == number, (rows.size, len(scores))).copy()
        block = scores[rows]
        nontarget = block[~target]
        target[np.arange(rows.size), columns[rows]] = False
        values[number] = linkability(TrialScores(block[target], nontarget), variant=variant).value
    return values


# Number of cells in the lookup grid.
_CELLS = 1 << 14


class _Pairs:
    """Pairs of utterances to compare: rows and their columns."""

    def __init__(
        self,
        given: ArrayLike,
        speakers: ArrayLike,
        columns: ArrayLike | None,
        *,
        all_columns: bool,
    ) -> None:
        scores, speaker = as_array(given, "scores"), as_array(speakers, "speakers")
        column_of = None if columns is None else np.asarray(columns)
        if scores.dtype.kind != "f":
            scores = as_numbers(given, "scores")
        self.names: Sequence[object] = range(speaker.size)
        if speaker.dtype.kind in "OSU":
            names, speaker = np.unique(as_names(speakers, "speakers"), return_inverse=True)
            self.names = names.tolist()
        utterances = speaker.size
        if speaker.dtype.kind not in "iu" or speaker.min(initial=0) < 0:
            raise PrivacyEvalError("speakers must be numbers from 0: leave out missing ones")
        if scores.shape != (utterances, utterances):
            raise ValueError(f"scores of shape {scores.shape} for {utterances} utterances")
        per_speaker = np.bincount(speaker)
        if per_speaker.size < 2:
            raise PrivacyEvalError("one speaker only: voice similarity compares speakers")
        if per_speaker.min() < 2:
            raise PrivacyEvalError(
                f"speaker {self.names[int(per_speaker.argmin())]} has a single utterance: there is "
                "no pair to compare"
            )
        if column_of is not None and not np.array_equal(np.sort(column_of), np.arange(utterances)):
            raise ValueError(f"column_of must contain each of {utterances} columns once")
        self._scores, self.speaker, self._column_of = scores, speaker, column_of
        self._all_columns = all_columns and column_of is not None
        self.column_speaker = speaker if column_of is None else np.empty_like(speaker)
        if column_of is not None:
            self.column_speaker[column_of] = speaker
        self.speakers = per_speaker.size

    def rows(self) -> Iterator[tuple[int, ScoreMatrix, IntArray]]:
        """Yield every row with any column: its index, its scores, the columns' speakers."""
        for row in range(len(self._scores)):
            start = 0 if self._all_columns else row
            values, others = self._scores[row, start:], self.column_speaker[start:]
            paired = row if self._column_of is None else int(self._column_of[row])
            if paired == start:
                values, others = values[1:], others[1:]
            elif paired > start:
                values = np.delete(values, paired - start)
                others = np.delete(others, paired - start)
            if values.size:
                yield row, values, others

    def trials(self) -> TrialScores:
        """Sort the scores of all pairs, in the precision they came in."""
        targets = []
        nontarget: ScoreMatrix = np.empty(self._scores.size, dtype=self._scores.dtype)
        filled = 0
        for row, values, others in self.rows():
            is_target = others == self.speaker[row]
            targets.append(values[is_target])
            rest = values[~is_target]
            nontarget[filled : filled + rest.size] = rest
            filled += rest.size
        target, nontarget = np.concatenate(targets), nontarget[:filled]
        target.sort()
        nontarget.sort()
        sorted_trials = TrialScores.from_sorted(target, nontarget)
        if not np.isfinite([target[0], target[-1], nontarget[0], nontarget[-1]]).all():
            raise PrivacyEvalError("scores to be compared are not all finite numbers")
        return sorted_trials


class _Calibration:
    """Natural-log LLRs of scores by PAV with Laplace's rule."""

    def __init__(self, trials: TrialScores, variant: Variant) -> None:
        blocks = trials.pav_laplace(variant)
        of_targets = of_nontargets = blocks.llr
        if variant == "challenge":
            of_targets, of_nontargets = sloped_llr(blocks, trials.target_rank)
        self._target = _ThresholdIndex(_block_starts(trials.target, blocks.targets)), of_targets
        self._nontarget = (
            _ThresholdIndex(_block_starts(trials.nontarget, blocks.nontargets)),
            of_nontargets,
        )

    def llr(self, scores: ScoreMatrix, *, target: bool) -> FloatArray:
        """Look up the LLRs of target or nontarget trials, shape (P,)."""
        thresholds, llr = self._target if target else self._nontarget
        return llr[thresholds.count(scores)]


class _ThresholdIndex:
    """Count how many sorted thresholds each value reaches, by a lookup grid of equal cells:
    several times as fast as bisection.

    A cell's index never falls with the value, however it is rounded, so that thresholds in lower
    cells are reached and those in higher cells are not. Only values in cells of several thresholds
    are searched.
    """

    def __init__(self, begins: NDArray[np.floating]) -> None:
        self._begins = begins
        self._next = np.append(begins, np.array(np.inf, begins.dtype))
        finite = begins[np.isfinite(begins)]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            width = finite[-1] - finite[0] if finite.size else begins.dtype.type(0)
            scale = begins.dtype.type(_CELLS) / width
        self._has_grid = bool(0 < width < np.inf and scale < np.inf)
        if self._has_grid:
            self._low, self._scale = finite[0], scale
            in_cell = np.bincount(self._cell(begins), minlength=_CELLS + 2)
            self._lower = np.cumsum(in_cell) - in_cell
            self._crowded = in_cell > 1

    def count(self, values: NDArray[np.floating]) -> IntArray:
        """Count the thresholds at or below each value, shape (P,)."""
        if not self._has_grid:
            return np.asarray(np.searchsorted(self._begins, values, side="right"))
        cell = self._cell(values)
        counts = self._lower[cell]
        counts += values >= self._next[counts]
        rows = np.flatnonzero(self._crowded[cell])
        counts[rows] = np.searchsorted(self._begins, values[rows], side="right")
        return np.asarray(counts)

    def _cell(self, values: NDArray[np.floating]) -> NDArray[np.int32]:
        with np.errstate(over="ignore"):
            cells = (values - self._low) * self._scale
        cells += 1
        cell: NDArray[np.int32] = np.clip(cells, 0, _CELLS + 1, out=cells).astype(np.int32)
        return cell


def _block_starts(ascending: NDArray[np.floating], counts: IntArray) -> NDArray[np.floating]:
    """Find the lowest score of one class in every PAV block but the first; a block without
    trials of the class begins where the next does."""
    first = np.cumsum(counts)[:-1]
    begins = ascending[np.minimum(first, ascending.size - 1)]
    begins[first == ascending.size] = np.inf
    return np.asarray(begins)


#: A value with its 95 % interval over speakers.
Value = tuple[float, ...]

#: What pseudo-voices look like, by its key in records.
VERDICTS = {
    "speaker": "enrollment and trials of a speaker share a pseudo-voice",
    "set": "enrollment and trials of a speaker have pseudo-voices of their own",
    "utterance": "every utterance of a speaker has a pseudo-voice of its own",
    "original": "the voices are (nearly) those of the original speech",
    "": "unclear whether enrollment and trials of a speaker share a pseudo-voice",
}
#: Fewer speakers carry no verdict; parts of the consistency of original speech that may be lost
#: between enrollment and trials, between utterances, and towards the original voice; speakers who
#: share a voice; least consistency of original speech.
_LEAST_SPEAKERS, _SIDES, _UTTERANCES, _ORIGINAL, _SHARED, _LEAST = 5, 0.15, 0.25, 0.35, 0.5, 0.2
_DRAWS = 1000


def pseudo_voices(
    original: ArrayLike, anonymized: ArrayLike, speaker: ArrayLike, is_trial: ArrayLike
) -> dict[str, Value]:
    """Measure how consistent the voices of anonymized speech are.

    Similarities are mean cosines, over pairs of different utterances, every speaker weighing the
    same. Consistency is (s - d)/(1 - d), with the similarity s of a speaker's utterances and the
    similarity d of those of different speakers: 0 if speakers cannot be told apart, 1 if all
    utterances of a speaker are equal.

    Parameters
    ----------
    original, anonymized : array_like, shape (U, D)
        Vectors of the same utterances, row by row.
    speaker : array_like, shape (U,)
        Speakers who lack one of both sides, or two utterances of one, are left out.
    is_trial : array_like of bool, shape (U,)
        Whether an utterance is one of the trials, or of the enrollment.

    Returns
    -------
    dict of str to (float, float, float)
        Value, and the ends of its 95 % interval over speakers: consistency `within` a side, and
        `between` enrollment and trials; `collisions`, the part of the pairs of speakers whose
        speech is (to nine tenths) as similar as that of one speaker's original speech; the same of
        original speech (`original_within`, ...); `to_original`, the consistency of anonymized with
        original speech; and parts of `original_within` that are lost: `lost_between` in comparison
        with `within`, beyond that of original speech, `lost_within` and `lost_to_original`. Empty
        of fewer than two speakers.

    References
    ----------
    Docs, page "attackers".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> voice = np.eye(8).repeat(8, axis=0)
    >>> speech = 3 * voice + rng.normal(size=voice.shape)
    >>> other = 3 * np.roll(voice, 1, axis=1) + rng.normal(size=voice.shape)
    >>> speaker, is_trial = np.arange(8).repeat(8), np.tile([0, 0, 0, 0, 1, 1, 1, 1], 8)
    >>> found = pseudo_voices(speech, other, speaker, is_trial)
    >>> looks_like(found, 8)
    'speaker'
    """
    given, trial = np.asarray(speaker), np.asarray(is_trial, dtype=bool)
    names, code = np.unique(given, return_inverse=True)
    counts = np.array([np.bincount(code[trial == t], minlength=len(names)) for t in (False, True)])
    kept = (counts.min(axis=0) > 0) & (counts.max(axis=0) > 1)
    if np.count_nonzero(kept) < 2:
        return {}
    rows = np.flatnonzero(kept[code])
    code, trial, counts = (np.cumsum(kept) - 1)[code[rows]], trial[rows], counts[:, kept]
    speakers = counts.shape[1]
    sums, sides = [], 2 * code + trial
    for vectors in (original, anonymized):
        unit = np.asarray(vectors, dtype=np.float64)[rows]
        unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
        of_side = np.zeros((2 * speakers, unit.shape[1]))
        np.add.at(of_side, sides, unit)
        sums.append((unit, of_side.reshape(speakers, 2, -1)))
    drawn = np.random.default_rng(0).multinomial(speakers, np.full(speakers, 1 / speakers), _DRAWS)
    weights = np.vstack([np.ones(speakers), drawn]) / speakers
    (first, of_first), (second, of_second) = sums
    rates, bar = dict[str, FloatArray](), math.nan
    for prefix, of in (("original_", of_first), ("", of_second)):
        within, between, others = _similarities(of, counts)
        different = _over_pairs(others, weights)
        if math.isnan(bar):  # of original speech
            bar = float(0.9 * within.mean() + 0.1 * different[0])
        rates[f"{prefix}within"] = _consistency(weights @ within, different)
        rates[f"{prefix}between"] = _consistency(weights @ between, different)
        rates[f"{prefix}collisions"] = _over_pairs((others >= bar).astype(np.float64), weights)
    totals, number = of_first.sum(axis=1), counts.sum(axis=0)
    products = totals @ of_second.sum(axis=1).T
    same = np.bincount(code, np.einsum("ij,ij->i", first, second), speakers)
    own = (np.diagonal(products) - same) / (number * (number - 1))
    different = _over_pairs(products / np.outer(number, number), weights)
    rates["to_original"] = _consistency(weights @ own, different)
    whole = rates["original_within"]
    with np.errstate(divide="ignore", invalid="ignore"):
        for end in ("within", "to_original"):
            rates[f"lost_{end}"] = (whole - rates[end]) / whole
        rates["lost_between"] = (rates["within"] - rates["between"]) / whole
        rates["lost_between"] -= (whole - rates["original_between"]) / whole
    found = dict[str, Value]()
    for key, (value, *_) in rates.items():
        draws = rates[key][1:][np.isfinite(rates[key][1:])]
        if np.isfinite(value) and draws.size:
            found[key] = (float(value), *map(float, np.quantile(draws, (0.025, 0.975))))
    return found


def looks_like(values: Mapping[str, Value], speakers: int) -> str:
    """Say what pseudo-voices look like.

    Parameters
    ----------
    values : mapping
        As of `pseudo_voices`.
    speakers : int

    Returns
    -------
    str
        A key of `VERDICTS`; "" where the intervals leave it open, or where most speakers have
        become the same voice.

    Examples
    --------
    >>> looks_like({}, 20)
    ''
    """
    keys = "original_within collisions lost_between lost_within lost_to_original".split()
    if speakers < _LEAST_SPEAKERS or not {*keys} <= values.keys():
        return ""
    clear, shared, sides, utterances, original = (values[key] for key in keys)
    if clear[1] < _LEAST or shared[0] > _SHARED:
        return ""
    if original[2] < _ORIGINAL:
        return "original"
    if sides[1] > _SIDES:
        return "set"
    if utterances[1] > _UTTERANCES:
        return "utterance"
    return "speaker" if sides[2] < _SIDES and utterances[2] < _UTTERANCES else ""


def drawn_by(coefficients: Mapping[str, float], speaker_of: Mapping[str, str]) -> str:
    """Say, from the coefficients that speech was anonymized with, whose they are.

    Parameters
    ----------
    coefficients : mapping of str to float
        Of utterances, of enrollment and trials together, as in `utt2mcadams`.
    speaker_of : mapping of str to str
        Of the utterances, their speaker and, before a blank, their data set.

    Returns
    -------
    str
        A key of `VERDICTS`: `speaker` also where all have the same.

    Examples
    --------
    >>> drawn_by({"a": 0.8, "b": 0.9}, {"a": "enroll s", "b": "trial s"})
    'set'
    """
    of_set: dict[str, set[float]] = {}
    of_speaker: dict[str, set[float]] = {}
    for name, where in speaker_of.items():
        of_set.setdefault(where, set()).add(coefficients[name])
        of_speaker.setdefault(where.partition(" ")[2], set()).add(coefficients[name])
    if all(len(of) == 1 for of in of_speaker.values()):
        return "speaker"
    return "set" if all(len(of) == 1 for of in of_set.values()) else "utterance"


def _similarities(
    sums: FloatArray, counts: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean cosines of each speaker within the sides and between them, and those of
    pairs of speakers, from the sums of unit vectors by speaker and side."""
    squares = np.einsum("shd,shd->hs", sums, sums)
    pairs = counts * (counts - 1)
    within = (squares - counts).sum(axis=0) / pairs.sum(axis=0)
    between = np.einsum("sd,sd->s", sums[:, 0], sums[:, 1]) / counts.prod(axis=0)
    total, number = sums.sum(axis=1), counts.sum(axis=0)
    return within, between, total @ total.T / np.outer(number, number)


def _over_pairs(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over pairs of different speakers, in every draw; NaN of one speaker alone."""
    off = values * (1 - np.eye(len(values)))
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.einsum("rs,st,rt->r", weights, off, weights, optimize=True) / pairs)


def _consistency(same: FloatArray, different: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((same - different) / (1 - different))
