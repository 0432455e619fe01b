"""Voice similarity matrices, DeID and G_VD."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import reference_metrics as reference
import reference_similarity as slow
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import each_variant
from support import ROOT, csv_rows

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import (
    TrialScores,
    Variant,
    linkability,
    similarity_matrix,
    similarity_metrics,
)
from privacy_eval.metrics.similarity import (
    VERDICTS,
    SimilarityMatrix,
    _ThresholdIndex,
    deid_and_gvd,
    drawn_by,
    looks_like,
    pseudo_voices,
    speaker_linkability,
)

Scores = NDArray[np.float32]
Ints = NDArray[np.int64]


#: What the slope of `challenge` may shift within a block: trials of a block share its mean.
WITHIN_BLOCK = 1e-6


@dataclass(frozen=True)
class Case:
    """Utterances of a trial set and all their scores.

    Attributes
    ----------
    speaker : int array, shape (U,)
        Of every original utterance in its order.
    column_of : int array, shape (U,)
        Place of every utterance in the order of the anonymized ones.
    oo, oa, aa : float32 arrays, shape (U, U)
    """

    speaker: Ints
    column_of: Ints
    oo: Scores
    oa: Scores
    aa: Scores

    @property
    def original(self) -> list[str]:
        return [f"u{i}" for i in range(self.speaker.size)]

    @property
    def anonymized(self) -> list[str]:
        return [f"u{i}" for i in np.argsort(self.column_of)]

    @property
    def speaker_of(self) -> dict[str, str]:
        return {u: str(s) for u, s in zip(self.original, self.speaker, strict=True)}

    def arguments(self, kind: str) -> tuple[Scores, Ints, Ints | None]:
        """Arguments of the package for one of the three matrices."""
        if kind == "oa":
            return self.oa, self.speaker, self.column_of
        others = self.speaker[np.argsort(self.column_of)]
        return getattr(self, kind), self.speaker if kind == "oo" else others, None

    def sides(self, kind: str) -> tuple[list[str], list[str]]:
        """Ids of rows and columns."""
        ids = {"o": self.original, "a": self.anonymized}
        return ids[kind[0]], ids[kind[1]]

    def pairs(self, kind: str) -> dict[slow.Pair, float]:
        """The scores as the slow implementation takes them."""
        rows, columns = self.sides(kind)
        scores = getattr(self, kind)
        return {
            (a, b): float(scores[i, j]) for i, a in enumerate(rows) for j, b in enumerate(columns)
        }


def matrix_of(case: Case, kind: str, variant: Variant) -> SimilarityMatrix:
    scores, speaker, column_of = case.arguments(kind)
    return similarity_matrix(scores, speaker, column_of=column_of, variant=variant)


def possible(case: Case, kind: str, variant: Variant) -> SimilarityMatrix:
    """The matrix, or another case where two speakers have no pair."""
    try:
        return matrix_of(case, kind, variant)
    except PrivacyEvalError:
        reject()


def draw_scores(generator: np.random.Generator, size: int, spread: str) -> Scores:
    """All pairs of `size` utterances: many ties, none, or neighbours in float32."""
    shape = (size, size)
    if spread == "tied":
        return generator.integers(-2, 3, shape).astype(np.float32)
    if spread == "neighbours":  # a float32 apart, at the two widths on either side of 1
        steps = generator.integers(-4, 5, shape)
        ulps = np.where(steps > 0, 2.0**-23, 2.0**-24)
        return (1 + steps * ulps).astype(np.float32)
    if spread == "extreme":
        largest = np.finfo(np.float32).max
        return generator.choice(np.float32([-largest, -1e-45, 0, 1e-45, 1, largest]), shape)
    return generator.permutation(size * size).reshape(shape).astype(np.float32) / 8 - 3


@st.composite
def cases(draw: st.DrawFn, max_speakers: int = 4) -> Case:
    """Grouped by speaker or not, in equal or different orders, with distinct voices or not."""
    counts = draw(st.lists(st.integers(2, 4), min_size=2, max_size=max_speakers))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    speaker = np.repeat(np.arange(len(counts)), counts)
    if not draw(st.booleans()):
        speaker = generator.permutation(speaker)
    size = speaker.size
    column_of = np.arange(size) if draw(st.booleans()) else generator.permutation(size)
    spread = draw(st.sampled_from(["tied", "untied", "neighbours", "extreme"]))
    voices = draw(st.sampled_from([0.0, 0.0, 2.0, 500.0]))
    oo, oa, aa = (draw_scores(generator, size, spread) for _ in range(3))
    if spread in ("tied", "untied"):
        others = speaker[np.argsort(column_of)]
        for scores, rows, columns in ((oo, speaker, speaker), (oa, speaker, others)):
            scores += np.float32(voices) * (rows[:, None] == columns)
    upper = np.triu(np.ones((size, size), dtype=bool))
    oo, aa = np.where(upper, oo, oo.T), np.where(upper, aa, aa.T)
    return Case(speaker, column_of, oo, oa, aa)


# --- by hand


#: Two speakers with two utterances each. Of the pairs of one speaker (0, 1) and (2, 3), all
#: score more than any other.
SEPARATED = np.float32([[9, 5, 1, 2], [5, 9, 0, 1], [1, 0, 9, 6], [2, 1, 6, 9]])
TWO = np.array([0, 0, 1, 1])


@each_variant
def test_perfect_separation_by_hand(variant: Variant) -> None:
    """In order: t n | n n n n | t t | t n, dummies outside. PAV pools the first six to 1/6
    and the last four to 3/4: LLRs log(1/5) - log(2/4) = log 2/5 and log 3 + log 2 = log 6."""
    matrix = similarity_matrix(SEPARATED, TWO, variant=variant)
    assert matrix.values == pytest.approx(np.array([[6 / 7, 2 / 7], [2 / 7, 6 / 7]]), abs=1e-6)
    assert matrix.d_diag == pytest.approx(4 / 7, abs=1e-6)
    assert matrix.diagonal.tolist() == pytest.approx([6 / 7, 6 / 7], abs=1e-6)
    assert matrix.dominance.tolist() == pytest.approx([4 / 7, 4 / 7], abs=1e-6)
    assert matrix.evidence.tolist() == pytest.approx([math.log10(6)] * 2, abs=1e-6)
    assert (matrix.n_target, matrix.n_nontarget, matrix.variant) == (2, 4, variant)


def test_every_ordered_pair_by_hand() -> None:
    """Original speakers in the rows: T = 4, N = 8. Speaker 0 resembles the anonymized 1
    (8 points of its 4 pairs), not the other way round.

    In order t n | n n n n (0) | t t t t (1) | n n n n (2) | t n: PAV pools the first six to
    1/6, then 4 t and 4 n and the last two to 5/10. Minus log 4/8."""
    oa = np.float32([[7, 1, 2, 2], [1, 7, 2, 2], [0, 0, 7, 1], [0, 0, 1, 7]])
    matrix = similarity_matrix(oa, TWO, column_of=np.arange(4))
    alike, unlike = 2 / 3, 2 / 7  # odds 2 and 2/5
    assert matrix.values == pytest.approx(np.array([[alike, alike], [unlike, alike]]))
    assert matrix.d_diag == pytest.approx(alike - (alike + unlike) / 2)
    assert (matrix.n_target, matrix.n_nontarget) == (4, 8)
    # own - (alike + unlike) / 2 for both: each has one row and one column.
    assert matrix.dominance == pytest.approx(np.full(2, alike - (alike + unlike) / 2))


def test_challenge_uses_half_of_the_pairs() -> None:
    """The same scores: below the diagonal nothing counts, and row 0 is mirrored."""
    oa = np.float32([[7, 1, 2, 2], [1, 7, 2, 2], [0, 0, 7, 1], [0, 0, 1, 7]])
    matrix = similarity_matrix(oa, TWO, column_of=np.arange(4), variant="challenge")
    assert (matrix.n_target, matrix.n_nontarget) == (2, 4)
    assert matrix.values[0, 1] == matrix.values[1, 0]
    below = oa.copy()
    below[np.tril_indices(4)] = -5
    again = similarity_matrix(below, TWO, column_of=np.arange(4), variant="challenge")
    assert np.array_equal(matrix.values, again.values)


def make(values: list[list[float]]) -> SimilarityMatrix:
    array = np.array(values)
    return SimilarityMatrix(array, np.zeros(len(array)), 1, 1, "exact")


def test_deid_and_gain_by_hand() -> None:
    """D_diag 0.8, 0.2 and 0.4."""
    oo, oa = make([[0.9, 0.1], [0.1, 0.9]]), make([[0.6, 0.5], [0.3, 0.6]])
    aa = make([[0.2, 0.6], [0.6, 0.2]])  # the other way round counts as well
    similarity = deid_and_gvd(oo, oa, aa)
    assert similarity.deid == pytest.approx(1 - 0.2 / 0.8)
    assert similarity.gvd_db == pytest.approx(10 * math.log10(0.5))
    summary = similarity_metrics(similarity)
    assert summary == pytest.approx(
        {"deid": 0.75, "gvd_db": -3.0103, "d_diag_oo": 0.8, "d_diag_oa": 0.2, "d_diag_aa": 0.4},
        abs=1e-5,
    )
    assert (similarity.oo, similarity.oa, similarity.aa) == (oo, oa, aa)
    clear, blurred = make([[0.9, 0.1], [0.1, 0.9]]), make([[0.6, 0.2], [0.2, 0.6]])
    similarity = deid_and_gvd(blurred, clear, clear)
    assert similarity.deid == pytest.approx(-1)
    assert similarity.gvd_db == pytest.approx(10 * math.log10(2))


def test_deid_of_speakers_by_hand() -> None:
    """Speaker 0 keeps a half of what it stood out by, speaker 1 is lost in oa, speaker 2
    stands out only there."""
    oo = make([[0.9, 0.1, 0.5], [0.1, 0.8, 0.6], [0.5, 0.6, 0.5]])
    oa = make([[0.7, 0.2, 0.6], [0.4, 0.3, 0.3], [0.4, 0.5, 0.9]])
    similarity = deid_and_gvd(oo, oa, oo)
    # Own minus others in oo: 0.9 - 0.3, 0.8 - 0.35, 0.5 - 0.55; in oa: 0.7 - 0.4,
    # 0.3 - 0.35, 0.9 - 0.45.
    assert oo.dominance == pytest.approx(np.array([0.6, 0.45, 0]))
    assert oa.dominance == pytest.approx(np.array([0.3, 0, 0.45]))
    assert similarity.speaker_deid() == pytest.approx(np.array([0.5, 1, -math.inf]))
    lost = deid_and_gvd(oo, make([[0.4] * 3] * 3), oo)
    assert lost.speaker_deid().tolist() == [1, 1, 1]
    assert not math.isnan(lost.deid)


# --- against the slow implementation


def expected_matrix(case: Case, kind: str, variant: str) -> NDArray[np.float64] | None:
    """Rows and columns by the number of the speaker, None where a cell is empty."""
    sides = case.sides(kind)
    pairs = slow.pairs_of(case.original, case.anonymized, variant)[kind]
    arguments = pairs, case.pairs(kind), case.speaker_of, sides[0], variant
    try:
        matrix = slow.matrix_of(*arguments, cross=kind == "oa")
    except PrivacyEvalError:
        return None
    names = [str(s) for s in range(case.speaker.max() + 1)]
    if sorted(matrix.speakers) != names:  # the released script drops who has no pair of its own
        return None
    return np.array([[matrix.cells[a, b] for b in names] for a in names])


@each_variant
@pytest.mark.parametrize("kind", ["oo", "oa", "aa"])
@settings(max_examples=60)
@given(case=cases())
def test_matrices_agree_with_reference(case: Case, kind: str, variant: Variant) -> None:
    want = expected_matrix(case, kind, variant)
    if want is None:
        assert variant == "challenge"
        with pytest.raises(PrivacyEvalError, match=r"no (target trials|pair of utterances)"):
            matrix_of(case, kind, variant)
        return
    matrix = matrix_of(case, kind, variant)
    tolerance = 1e-12 if variant == "exact" else WITHIN_BLOCK
    assert matrix.values == pytest.approx(want, abs=tolerance)


@each_variant
@pytest.mark.parametrize("kind", ["oo", "oa"])
@settings(max_examples=30)
@given(case=cases())
def test_evidence_and_counts_agree_with_loops(case: Case, kind: str, variant: Variant) -> None:
    actual = possible(case, kind, variant)
    pairs = slow.pairs_of(case.original, case.anonymized, variant)[kind]
    calibrated = slow.calibrate(pairs, case.pairs(kind), case.speaker_of, variant)
    strongest = dict.fromkeys(range(case.speaker.max() + 1), -math.inf)
    for entry in calibrated:
        if entry.is_target:
            speaker = int(case.speaker_of[entry.pair[0]])
            strongest[speaker] = max(strongest[speaker], entry.llr / math.log(10))
    tolerance = 1e-12 if variant == "exact" else WITHIN_BLOCK
    assert actual.evidence.tolist() == pytest.approx(list(strongest.values()), abs=tolerance)
    assert actual.n_target == sum(entry.is_target for entry in calibrated)
    assert actual.n_nontarget == len(calibrated) - actual.n_target


@settings(max_examples=40)
@given(case=cases(), kind=st.sampled_from(["oo", "oa", "aa"]))
def test_dominance_agrees_with_loops(case: Case, kind: str) -> None:
    matrix = matrix_of(case, kind, "exact")
    values = matrix.values.tolist()
    for own, dominance in enumerate(matrix.dominance.tolist()):
        others = [s for s in range(len(values)) if s != own]
        entries = [values[own][s] for s in others] + [values[s][own] for s in others]
        excess = values[own][own] - math.fsum(entries) / len(entries)
        assert dominance == pytest.approx(max(excess, 0.0), abs=2e-12)


@each_variant
@pytest.mark.parametrize("kind", ["oo", "oa"])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), each=st.integers(2, 9), tied=st.booleans())
def test_linkability_agrees_with_loops(
    seed: int, each: int, tied: bool, kind: str, variant: Variant
) -> None:
    """Enough pairs for a few bins, in any order of both sides."""
    generator = np.random.default_rng(seed)
    speaker = generator.permutation(np.repeat(np.arange(3), [each, 2, 5]))
    column_of = generator.permutation(speaker.size)
    scores = draw_scores(generator, speaker.size, "tied" if tied else "untied")
    case = Case(speaker, column_of, scores, scores, scores)
    matrix, _, columns = case.arguments(kind)
    actual = speaker_linkability(matrix, speaker, column_of=columns, variant=variant)
    for own in range(3):
        lists: dict[bool, list[float]] = {True: [], False: []}
        for (a, b), score in case.pairs(kind).items():
            if int(case.speaker_of[a]) == own and a != b:
                lists[int(case.speaker_of[b]) == own].append(score)
        want = reference.linkability(lists[True], lists[False], variant)
        assert actual[own] == pytest.approx(want, abs=1e-12)


def test_linkability_of_a_speaker_by_hand() -> None:
    """Five utterances, so 20 ordered pairs of its own in 2 bins: all above those of others.
    The pairs of the second speaker, 2, are below its pairs with the first."""
    speaker = np.array([0] * 5 + [1] * 2)
    same = speaker[:, None] == speaker
    scores = np.where(same, np.where(speaker == 0, 4.0, -9.0), 1.0).astype(np.float32)
    np.fill_diagonal(scores, 100)  # nobody looks there
    assert speaker_linkability(scores, speaker).tolist() == [1, 0]
    assert speaker_linkability(scores, speaker, variant="challenge").tolist() == [0.5, 0]
    target, nontarget = [4.0] * 20, [1.0] * 10
    assert linkability(TrialScores(target, nontarget)).value == 1


# --- singular cases


def constant(speaker: Ints, column_of: Ints | None = None) -> SimilarityMatrix:
    scores = np.full((speaker.size, speaker.size), 1.5, dtype=np.float32)
    return similarity_matrix(scores, speaker, column_of=column_of)


@settings(max_examples=80)
@given(counts=st.lists(st.integers(2, 7), min_size=2, max_size=14), seed=st.integers(0, 2**32))
def test_equal_scores_distinguish_no_speaker(counts: list[int], seed: int) -> None:
    """Exactly: rounding must not pass for a difference. Where T < N, the dummies below
    all scores are pooled with them, where T > N those above."""
    speaker = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    same = constant(speaker)
    cross = constant(speaker, np.arange(speaker.size))
    for matrix in (same, cross):
        assert matrix.d_diag == 0
        assert not matrix.dominance.any()
        llr = math.log((matrix.n_target + 1) / (matrix.n_nontarget + 1))
        llr -= math.log(matrix.n_target / matrix.n_nontarget)
        assert matrix.values == pytest.approx(np.full(matrix.values.shape, slow.sigmoid(llr)))
        assert matrix.evidence == pytest.approx(np.full(len(counts), llr / math.log(10)))
    with pytest.raises(PrivacyEvalError, match="original speakers are indistinguishable"):
        deid_and_gvd(same, cross, same)
    labels = np.where(speaker[:, None] == speaker, np.float32(3), np.float32(-3))
    separated = similarity_matrix(labels, speaker)
    similarity = deid_and_gvd(separated, cross, same)
    assert similarity.deid == 1
    assert similarity.gvd_db == -math.inf
    assert similarity.speaker_deid().tolist() == [1] * len(counts)


def test_challenge_separates_equal_scores() -> None:
    """Nontargets come before targets at a tie, each its own point: perfect separation."""
    scores = np.zeros((4, 4), dtype=np.float32)
    matrix = similarity_matrix(scores, TWO, variant="challenge")
    want = similarity_matrix(SEPARATED, TWO, variant="challenge")
    assert matrix.values == pytest.approx(want.values, abs=1e-6)


@each_variant
def test_self_scores_are_ignored(variant: Variant) -> None:
    wild = SEPARATED.copy()
    np.fill_diagonal(wild, [np.nan, np.inf, -np.inf, 1e38])
    for column_of in (None, np.arange(4)):
        actual, want = (
            similarity_matrix(scores, TWO, column_of=column_of, variant=variant)
            for scores in (wild, SEPARATED)
        )
        assert np.array_equal(actual.values, want.values)


@each_variant
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 1), (0, 3)])
def test_scores_must_be_finite(place: tuple[int, int], bad: float, variant: Variant) -> None:
    scores = SEPARATED.copy()
    scores[place] = bad
    for column_of in (None, np.arange(4)):
        with pytest.raises(PrivacyEvalError, match="not all finite numbers"):
            similarity_matrix(scores, TWO, column_of=column_of, variant=variant)
        with pytest.raises(PrivacyEvalError, match="not finite"):
            speaker_linkability(scores, TWO, column_of=column_of, variant=variant)


@each_variant
def test_speakers_without_pairs_are_errors(variant: Variant) -> None:
    square = np.zeros((3, 3), dtype=np.float32)
    for metric in (similarity_matrix, speaker_linkability):
        with pytest.raises(PrivacyEvalError, match="one speaker only"):
            metric(square, np.array([0, 0, 0]), variant=variant)
        with pytest.raises(PrivacyEvalError, match="speaker 1 has a single utterance"):
            metric(square, np.array([0, 1, 0]), variant=variant)
        with pytest.raises(PrivacyEvalError, match="one speaker only"):
            metric(square[:0, :0], np.array([], dtype=np.int64), variant=variant)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (5, 4), (4, 5), (5, 5)])
def test_scores_of_other_numbers_of_utterances_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="for 4 utterances"):
        similarity_matrix(np.zeros(shape, dtype=np.float32), TWO)


def test_challenge_without_pair_of_two_speakers_is_refused() -> None:
    """Rows a a b b; columns b b a a: no pair of a later row is with speaker a."""
    scores = draw_scores(np.random.default_rng(0), 4, "untied")
    column_of = np.array([2, 3, 0, 1])
    with pytest.raises(PrivacyEvalError, match="no pair of utterances compares speakers 1 and 1"):
        similarity_matrix(scores, TWO, column_of=column_of, variant="challenge")
    assert similarity_matrix(scores, TWO, column_of=column_of).n_target == 4


@each_variant
def test_lists_and_names_of_speakers(variant: Variant) -> None:
    """A matrix as a list, of whole numbers too; speakers in alphabetical order."""
    want = similarity_matrix(SEPARATED, TWO, variant=variant)
    for speakers in (TWO.tolist(), ["a", "a", "b", "b"], np.array(["x", "x", "y", "y"], object)):
        found = similarity_matrix(SEPARATED.tolist(), speakers, variant=variant)
        assert found.values == pytest.approx(want.values)
    whole = similarity_matrix(SEPARATED.astype(int).tolist(), ["b", "b", "a", "a"], variant=variant)
    assert whole.values[::-1, ::-1] == pytest.approx(want.values)
    assert similarity_matrix(
        SEPARATED, TWO, column_of=[1, 0, 3, 2], variant=variant
    ).values.shape == (2, 2)
    with pytest.raises(PrivacyEvalError, match="speaker c has a single utterance"):
        similarity_matrix(SEPARATED, ["a", "a", "a", "c"], variant=variant)
    with pytest.raises(PrivacyEvalError, match="scores must be numbers"):
        similarity_matrix([["1", "2"], ["3", "4"]], ["a", "b"], variant=variant)


@each_variant
def test_invalid_arguments_are_errors(variant: Variant) -> None:
    for metric in (similarity_matrix, speaker_linkability):
        with pytest.raises(ValueError, match=r"scores of shape \(4, 4\) for 5 utterances"):
            metric(SEPARATED, np.array([0, 0, 1, 1, 1]), variant=variant)
        for column_of in ([0, 1, 2, 2], [0, 1, 2], [1, 2, 3, 4]):
            with pytest.raises(ValueError, match="column_of must contain each of 4 columns once"):
                metric(SEPARATED, TWO, column_of=np.array(column_of), variant=variant)
        with pytest.raises(ValueError, match="variant must be one of"):
            metric(SEPARATED, TWO, variant="")  # type: ignore[arg-type]


# --- properties


@each_variant
@settings(max_examples=60)
@given(case=cases(max_speakers=6), kind=st.sampled_from(["oo", "oa", "aa"]))
def test_ranges_and_symmetry(case: Case, kind: str, variant: Variant) -> None:
    actual = possible(case, kind, variant)
    assert ((actual.values > 0) & (actual.values < 1)).all()
    assert 0 <= actual.d_diag < 1
    assert ((actual.dominance >= 0) & (actual.dominance < 1)).all()
    if kind != "oa" or variant == "challenge":
        assert np.array_equal(actual.values, actual.values.T)
    scores, speaker, column_of = case.arguments(kind)
    linked = speaker_linkability(scores, speaker, column_of=column_of, variant=variant)
    assert ((linked >= 0) & (linked <= 1 + 1e-12)).all()


@each_variant
@settings(max_examples=40)
@given(case=cases(max_speakers=6), kind=st.sampled_from(["oo", "oa"]), data=st.data())
def test_matrix_is_invariant_to_speaker_numbers(
    case: Case, kind: str, data: st.DataObject, variant: Variant
) -> None:
    new = np.array(data.draw(st.permutations(range(case.speaker.max() + 1))))
    other = replace(case, speaker=new[case.speaker])
    actual, again = possible(case, kind, variant), possible(other, kind, variant)
    assert np.array_equal(again.values[np.ix_(new, new)], actual.values)
    assert np.array_equal(again.evidence[new], actual.evidence)
    assert again.d_diag == pytest.approx(actual.d_diag, abs=1e-12)


@settings(max_examples=40)
@given(case=cases(max_speakers=6), seed=st.integers(0, 2**32))
def test_exact_is_invariant_to_utterance_order(case: Case, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, columns = (generator.permutation(case.speaker.size) for _ in range(2))
    oo = similarity_matrix(case.oo, case.speaker)
    again = similarity_matrix(case.oo[np.ix_(rows, rows)], case.speaker[rows])
    assert again.values == pytest.approx(oo.values, abs=1e-12)
    assert again.evidence.tolist() == oo.evidence.tolist()
    oa = similarity_matrix(case.oa, case.speaker, column_of=case.column_of)
    place = np.argsort(columns)  # where each column has gone
    arguments = case.oa[np.ix_(rows, columns)], case.speaker[rows]
    again = similarity_matrix(*arguments, column_of=place[case.column_of[rows]])
    assert again.values == pytest.approx(oa.values, abs=1e-12)
    assert again.evidence.tolist() == oa.evidence.tolist()
    linked = speaker_linkability(case.oa, case.speaker, column_of=case.column_of)
    shuffled = speaker_linkability(*arguments, column_of=place[case.column_of[rows]])
    assert shuffled.tolist() == linked.tolist()


def test_challenge_depends_on_utterance_order() -> None:
    generator = np.random.default_rng(3)
    speaker = np.repeat(np.arange(3), 4)
    scores = draw_scores(generator, 12, "untied") + 4 * (speaker[:, None] == speaker)
    scores = np.maximum(scores, scores.T).astype(np.float32)
    order = generator.permutation(12)
    first = similarity_matrix(scores, speaker, variant="challenge")
    second = similarity_matrix(scores[np.ix_(order, order)], speaker[order], variant="challenge")
    assert abs(first.d_diag - second.d_diag) > 1e-4


@each_variant
@settings(max_examples=40)
@given(case=cases(), kind=st.sampled_from(["oo", "oa"]), seed=st.integers(0, 2**32))
def test_matrix_is_invariant_to_monotone_maps(
    case: Case, kind: str, seed: int, variant: Variant
) -> None:
    scores, speaker, column_of = case.arguments(kind)
    distinct, rank = np.unique(scores, return_inverse=True)
    steps = np.random.default_rng(seed).exponential(size=distinct.size) + 1e-3
    mapped = np.cumsum(steps).astype(np.float32)[rank].reshape(scores.shape)
    actual = possible(case, kind, variant)
    for values in (mapped, scores.astype(float)):
        again = similarity_matrix(values, speaker, column_of=column_of, variant=variant)
        assert np.array_equal(again.values, actual.values)
        assert np.array_equal(again.evidence, actual.evidence)


@each_variant
@settings(max_examples=30)
@given(case=cases())
def test_unchanged_speech_has_no_deid_or_gain(case: Case, variant: Variant) -> None:
    """Anonymized vectors that are the original ones. `exact` looks at every pair twice in
    oa, where Laplace's dummies weigh less: voices seem a little more distinct."""
    same = Case(case.speaker, np.arange(case.speaker.size), case.oo, case.oo, case.oo)
    oo = possible(same, "oo", variant)
    assume(oo.d_diag > 0)
    similarity = deid_and_gvd(oo, *(matrix_of(same, kind, variant) for kind in ("oa", "aa")))
    assert similarity.gvd_db == 0
    if variant == "challenge":
        assert similarity.deid == 0
        assert np.array_equal(similarity.oa.values, oo.values)
    else:
        assert similarity.oa.values == pytest.approx(similarity.oa.values.T, abs=1e-12)
        assert similarity.oa.n_target == 2 * oo.n_target


@each_variant
def test_arguments_are_not_modified(variant: Variant) -> None:
    arrays: dict[str, Any] = {"scores": SEPARATED.copy(), "speaker": TWO.copy()}
    column_of = np.array([1, 0, 3, 2])
    for array in (*arrays.values(), column_of):
        array.flags.writeable = False
    for columns in (None, column_of):
        similarity_matrix(**arrays, column_of=columns, variant=variant)
        speaker_linkability(**arrays, column_of=columns, variant=variant)


# --- scores that are kept as they are


@each_variant
@settings(max_examples=40)
@given(case=cases())
def test_sorted_float32_scores_give_the_same_pav(case: Case, variant: Variant) -> None:
    target, nontarget = np.sort(case.oo[0]), np.sort(case.oo[1:].ravel())
    kept = TrialScores.from_sorted(target, nontarget)
    assert np.shares_memory(kept.target, target)
    assert np.shares_memory(kept.nontarget, nontarget)
    actual, want = kept.pav_laplace(variant), TrialScores(target, nontarget).pav_laplace(variant)
    for part in ("targets", "nontargets", "llr"):
        assert np.array_equal(getattr(actual, part), getattr(want, part))


@pytest.mark.parametrize("empty", ["target", "nontarget"])
def test_sorted_scores_of_one_class_are_refused(empty: str) -> None:
    scores = {name: np.zeros(int(name != empty), np.float32) for name in ("target", "nontarget")}
    with pytest.raises(PrivacyEvalError, match=f"no {empty} trials"):
        TrialScores.from_sorted(**scores)


@each_variant
def test_every_order_of_two_targets_and_four_nontargets(variant: Variant) -> None:
    """Blocks that hold one class only, in the middle and at the ends."""
    same, other = [(0, 1), (2, 3)], [(0, 2), (0, 3), (1, 2), (1, 3)]
    for places in itertools.combinations(range(6), 2):
        scores = np.zeros((4, 4), dtype=np.float32)
        for place, (i, j) in zip(places, same, strict=True):
            scores[i, j] = place
        for place, (i, j) in zip(sorted({*range(6)} - {*places}), other, strict=True):
            scores[i, j] = place
        case = Case(TWO, np.arange(4), scores, scores, scores)
        actual = matrix_of(case, "oo", variant).values
        want = expected_matrix(case, "oo", variant)
        assert actual == pytest.approx(want, abs=1e-12 if variant == "exact" else WITHIN_BLOCK)


floats = st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=100)
@given(
    begins=st.lists(
        floats | st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e-45, 3e38, -3e38]), min_size=1
    ),
    more=st.lists(floats),
    n_without=st.integers(0, 2),
)
def test_steps_are_counted_as_by_bisection(
    begins: list[float], more: list[float], n_without: int
) -> None:
    """Also where steps are equal, neighbours, so far apart that a difference overflows, or where
    the last blocks have no trial."""
    ascending = np.sort(np.float32(begins + [np.inf] * n_without))
    values = np.float32(begins + more)
    with np.errstate(over="ignore"):
        near = [np.nextafter(values, np.float32(side)) for side in (-np.inf, np.inf)]
    values = np.concatenate([values, *near])
    values = values[np.isfinite(values)]
    expected = np.searchsorted(ascending, values, side="right")
    np.testing.assert_array_equal(_ThresholdIndex(ascending).count(values), expected)


GOLDEN = ROOT / "tests" / "data" / "golden" / "gvd"


def scores_of(name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rows = [line.split() for line in (GOLDEN / name).read_text().splitlines()]
    utterances = list(dict.fromkeys(row[0] for row in rows))
    place = {utterance: n for n, utterance in enumerate(utterances)}
    scores = np.zeros((len(place), len(place)), dtype=np.float32)
    for first, second, score in rows:
        scores[place[first], place[second]] = float(score)
    speakers = sorted({u.split("-")[0] for u in utterances})
    return scores, np.array([speakers.index(u.split("-")[0]) for u in utterances])


def test_diagonal_dominance_and_gain_of_calibrated_scores() -> None:
    """It calibrates every ordered pair and adds 1e-8 for each rank, so that ties differ."""
    expected = {row["quantity"]: float(row["value"]) for row in csv_rows(GOLDEN / "expected.csv")}
    actual = []
    for name in ("osp_osp", "psp_psp"):
        scores, speaker = scores_of(f"scores_output_{name}")
        matrix = similarity_matrix(scores, speaker, column_of=np.arange(speaker.size))
        actual.append(matrix.d_diag)
        wanted = expected[f"diagonal_dominance_{name}_calibrated"]
        assert matrix.d_diag == pytest.approx(wanted, abs=1e-7)
    gain = 10 * math.log10(actual[1] / actual[0])
    assert gain == pytest.approx(expected["gvd_if_calibrated_scores_were_used"], abs=1e-5)


def cosine_of(a: np.ndarray, b: np.ndarray) -> float:
    return float(sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)))


def slow_voices(
    original: np.ndarray, anonymized: np.ndarray, speaker: list[int], trial: list[bool]
) -> dict[str, float]:
    """The values, pair by pair."""
    sides = [{s: [i for i, of in enumerate(speaker) if of == s and trial[i] == t]
              for s in sorted(set(speaker))} for t in (False, True)]  # fmt: skip
    kept = [s for s in sides[0] if sides[0][s] and sides[1][s]]
    kept = [s for s in kept if max(len(side[s]) for side in sides) > 1]
    found: dict[str, float] = {}
    bar = None
    for prefix, vectors in (("original_", original), ("", anonymized)):
        within, between = [], []
        for s in kept:
            pairs = [p for side in sides for p in itertools.combinations(side[s], 2)]
            within.append(np.mean([cosine_of(vectors[a], vectors[b]) for a, b in pairs]))
            crossed = itertools.product(sides[0][s], sides[1][s])
            between.append(np.mean([cosine_of(vectors[a], vectors[b]) for a, b in crossed]))
        others = []
        for s, t in itertools.combinations(kept, 2):
            ones, twos = (sides[0][x] + sides[1][x] for x in (s, t))
            crossed = itertools.product(ones, twos)
            others.append(np.mean([cosine_of(vectors[a], vectors[b]) for a, b in crossed]))
        d = np.mean(others)
        bar = 0.9 * np.mean(within) + 0.1 * d if bar is None else bar
        found[f"{prefix}within"] = (np.mean(within) - d) / (1 - d)
        found[f"{prefix}between"] = (np.mean(between) - d) / (1 - d)
        found[f"{prefix}collisions"] = np.mean([o >= bar for o in others])
    same, other = [], []
    for s, t in itertools.product(kept, kept):
        ones, twos = (sides[0][x] + sides[1][x] for x in (s, t))
        values = [
            cosine_of(original[a], anonymized[b]) for a in ones for b in twos if s != t or a != b
        ]
        (same if s == t else other).append(np.mean(values))
    d = np.mean(other)
    found["to_original"] = (np.mean(same) - d) / (1 - d)
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 4))
def test_values_of_a_second_implementation(seed: int, speakers: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(1, 4, size=(speakers, 2))
    counts[:2] += 1  # two speakers who are kept
    labels = [(s, bool(t)) for s in range(speakers) for t in (0, 1) for _ in range(counts[s, t])]
    order = generator.permutation(len(labels))
    speaker, trial = [labels[n][0] for n in order], [labels[n][1] for n in order]
    voices = generator.normal(size=(speakers, size + 2))
    original, anonymized = (
        voices[speaker] + generator.normal(size=(len(labels), size + 2)) for _ in range(2)
    )
    found = pseudo_voices(original, 5 * anonymized, speaker, trial)
    for key, value in slow_voices(original, anonymized, speaker, trial).items():
        assert found[key][0] == pytest.approx(value, abs=1e-9), key
        low, high = found[key][1:]
        assert low <= high


def speech(kind: str, seed: int = 0, speakers: int = 20) -> tuple[np.ndarray, ...]:
    """Vectors of speakers with 5 utterances on each side, whose pseudo-voices are drawn."""
    generator = np.random.default_rng(seed)
    speaker, trial = np.repeat(np.arange(speakers), 10), np.tile(np.arange(10) >= 5, speakers)
    voices = generator.normal(size=(speakers, 32))
    drawn = {
        "original": voices[speaker],
        "speaker": generator.normal(size=(speakers, 32))[speaker],
        "set": generator.normal(size=(speakers, 2, 32))[speaker, trial.astype(int)],
        "utterance": generator.normal(size=(len(speaker), 32)),
        "one": np.repeat(generator.normal(size=(1, 32)), len(speaker), axis=0),
        "noise": np.zeros((len(speaker), 32)),
    }[kind]
    noise = 0.5 * generator.normal(size=(2, len(speaker), 32))
    return voices[speaker] + noise[0], drawn + noise[1], speaker, trial


@pytest.mark.parametrize("kind", ["speaker", "set", "utterance", "original"])
@pytest.mark.parametrize("seed", range(3))
def test_designs_are_told_apart(kind: str, seed: int) -> None:
    assert looks_like(pseudo_voices(*speech(kind, seed)), 20) == kind


def test_one_voice_of_all_tells_nothing() -> None:
    found = pseudo_voices(*speech("one"))
    assert found["collisions"][0] > 0.9 and looks_like(found, 20) == ""


def test_what_cannot_be_told() -> None:
    few = pseudo_voices(*speech("speaker", speakers=4))
    assert looks_like(few, 4) == "" and looks_like({}, 20) == ""
    anonymized, original, *rest = speech("noise")  # original speech that the vectors do not tell
    assert looks_like(pseudo_voices(original, anonymized, *rest), 20) == ""
    assert "unclear" in VERDICTS[""]


def test_equal_vectors_give_finite_values_or_none() -> None:
    """Of two speakers whose vectors are all the same there is no consistency."""
    vectors = np.ones((8, 3))
    found = pseudo_voices(vectors, vectors, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1] * 2)
    assert all(math.isfinite(x) for value in found.values() for x in value)
    assert looks_like(found, 2) == ""


@pytest.mark.parametrize(
    ("speaker", "trial"), [([0, 0, 0, 0], [0, 0, 1, 1]), ([0, 1, 0, 1], [0, 1, 0, 1]), ([], [])]
)
def test_too_few_speakers(speaker: list[int], trial: list[int]) -> None:
    vectors = np.eye(4)[: len(speaker)]
    assert pseudo_voices(vectors, vectors, speaker, trial) == {}


@pytest.mark.parametrize(
    ("coefficients", "expected"),
    [
        ([0.8, 0.8, 0.8, 0.8], "speaker"),
        ([0.7, 0.7, 0.7, 0.7, 0.9, 0.9, 0.9, 0.9], "speaker"),
        ([0.7, 0.7, 0.6, 0.6, 0.9, 0.9, 0.5, 0.5], "set"),
        ([0.7, 0.8, 0.6, 0.5, 0.9, 0.91, 0.5, 0.51], "utterance"),
    ],
)
def test_whose_coefficients(coefficients: list[float], expected: str) -> None:
    """Two utterances of enrollment, then two of trials, of one speaker after another."""
    where = {f"u{n}": f"{n // 2 % 2} s{n // 4}" for n in range(len(coefficients))}
    assert drawn_by(dict(zip(where, coefficients, strict=True)), where) == expected
