"""Identification: linkage in galleries, singling out, rank and local disclosure."""

import itertools
import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from privacy_eval.disclosure.linkage import (
    beaters,
    closed_set_linkage,
    linkage_of_beaters,
    rank_disclosure,
    rate_interval,
    single_out,
    singling_out_chance,
    singling_out_curve,
    speaker_linkage,
    split_halves,
    wilson_interval,
    worst_overlaps,
)
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import TrialScores, rocch_eer

FOLDER = Path(__file__).parents[1] / "data" / "golden" / "identification"
Case = dict[str, Any]


@cache
def cases() -> dict[str, Case]:
    """Golden cases by name, with their arrays."""
    actual = json.loads((FOLDER / "cases.json").read_text())
    for case in actual:
        if case["inputs"]:
            with np.load(FOLDER / case["inputs"], allow_pickle=False) as arrays:
                case["inputs"] = dict(arrays)
    return {case["name"]: case for case in actual}


def linkage(case: Case, sizes: list[int], rank: int = 1) -> list[float]:
    arrays = case["inputs"]
    return closed_set_linkage(arrays["scores"].T, arrays["own"], sizes, rank).tolist()


@pytest.mark.parametrize("name", ["link_1.0", "link_4.0", "link_columns"])
def test_beaters_agree_with_an_independent_package(name: str) -> None:
    case = cases()[name]
    counts = beaters(case["inputs"]["scores"].T, case["inputs"]["own"])
    assert counts.tolist() == case["expected"]["beaters"]


@pytest.mark.parametrize("name", ["link_1.0", "link_4.0"])
@pytest.mark.parametrize("size", [1, 2, 5, 10, 20, 40])
def test_linkage_agrees_with_an_independent_package(name: str, size: int) -> None:
    case = cases()[f"{name}_N{size}_exact"]
    assert linkage(case, [size]) == pytest.approx([case["expected"]], abs=1e-12)


@pytest.mark.parametrize("name", ["link_1.0", "link_4.0"])
@pytest.mark.parametrize("rank", [1, 3, 5, 10])
def test_linkage_at_several_ranks(name: str, rank: int) -> None:
    case = cases()[f"{name}_top{rank}"]
    assert case["arguments"]["k"] == rank
    rates = linkage(case, case["arguments"]["N"], rank)
    assert rates == pytest.approx(case["expected"], abs=1e-12)


def test_speakers_weigh_by_their_tests() -> None:
    case = cases()["link_columns"]
    expected = case["expected"]["linkability"]
    rates = linkage(case, [int(size) for size in expected])
    assert rates == pytest.approx(list(expected.values()), abs=1e-12)


def test_ties_count_as_drawing_among_the_tied() -> None:
    """Between the strict definition and voice-anonymization-legal-eval, for which a tie links."""
    case = cases()["link_ties"]  # tied with one other, with both, with none: by hand
    assert linkage(case, [3]) == pytest.approx([(1 / 2 + 1 / 3 + 1) / 3], abs=1e-12)
    assert case["expected"]["if_ties_fail"] < linkage(case, [3])[0] < 1


@pytest.mark.parametrize("rank", [1, 2])
def test_equal_scores_give_chance(rank: int) -> None:
    sizes = np.array([2, 3, 5])
    own = np.arange(20) % 5
    found = closed_set_linkage(np.ones((20, 5)), own, sizes, rank)
    assert found == pytest.approx(np.minimum(rank / sizes, 1))
    speakers = speaker_linkage([[4] * 20, [4] * 20], own, "abcde", 5, 5, rank)
    assert [s.linkage for s in speakers] == []  # too few tests
    speakers = speaker_linkage([[4] * 30, [4] * 30], np.arange(30) % 5, "abcde", 5, 5, rank)
    assert [s.linkage for s in speakers] == pytest.approx([rank / 5] * 5)
    singled = singling_out_curve(np.ones((5, 50)), np.arange(50) % 5, [2, 3], replicates=20)
    assert singled.values == pytest.approx(singled.chance())


@pytest.mark.parametrize("name", ["a", "b", "ties", "wrong", "perfect", "link_1.0", "link_4.0"])
def test_hull_eer_agrees_with_an_independent_package(name: str) -> None:
    case = cases().get(f"{name}_rocch") or cases()[f"rocch_{name}"]
    if case["inputs"]:
        scores = case["inputs"]["scores"]
        target = np.arange(len(scores))[:, None] == case["inputs"]["own"]
        trials = TrialScores(scores[target], scores[~target])
    else:
        trials = TrialScores(**case["arguments"])
    actual = rocch_eer(trials).value
    assert actual == pytest.approx(case["expected"], abs=1e-12)


def by_drawing(others: Sequence[float], right: float, rank: int) -> float:
    """Order the right speaker (-1) and those who tie with it in every way."""
    first = sum(s > right for s in others)
    tied = [-1, *(i for i, s in enumerate(others) if s == right)]
    places = [first + order.index(-1) for order in itertools.permutations(tied)]
    return sum(place < rank for place in places) / len(places)


score_rows = st.integers(2, 6).flatmap(
    lambda n: st.lists(
        st.tuples(st.lists(st.integers(-3, 3), min_size=n, max_size=n), st.integers(0, n - 1)),
        min_size=1,
        max_size=4,
    )
)


@given(score_rows, st.integers(1, 4))
def test_linkage_is_the_mean_over_all_galleries(
    rows: list[tuple[list[int], int]], rank: int
) -> None:
    n = len(rows[0][0])
    expected = []
    for size in range(1, n + 1):
        actual = []
        for scores, own in rows:
            others = [s for i, s in enumerate(scores) if i != own]
            for gallery in itertools.combinations(others, size - 1):
                actual.append(by_drawing(gallery, scores[own], rank))
        expected.append(math.fsum(actual) / len(actual))
    scores, own = [r[0] for r in rows], [r[1] for r in rows]
    linked = closed_set_linkage(scores, own, range(1, n + 1), rank)  # type: ignore[arg-type]
    assert linked.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_enrolled", [50, 22_024])
def test_linkage_is_the_quotient_of_binomials(n_enrolled: int) -> None:
    beaten = np.array([0, 1, 7, 40])
    sizes = [1, 2, 20, n_enrolled // 2, n_enrolled]
    expected = [
        sum(
            math.comb(n_enrolled - 1 - m, size - 1) / math.comb(n_enrolled - 1, size - 1)
            for m in beaten.tolist()
        )
        / beaten.size
        if n_enrolled < 100 or size <= 20
        else None
        for size in sizes
    ]
    actual = linkage_of_beaters(beaten, n_enrolled, sizes).tolist()
    for value, wanted in zip(actual, expected, strict=True):
        assert wanted is None or value == pytest.approx(wanted, abs=1e-12)
    assert actual[0] == 1
    assert actual[-1] == 0.25  # only who is beaten by nobody is found among all


def test_weights_are_those_of_repeated_tests() -> None:
    beaten = np.array([0, 3, 1, 3])
    weights = np.array([[2, 0, 1, 1], [0, 4, 0, 0]])
    rates = linkage_of_beaters(beaten, 6, [2, 4], weights=weights)
    for row, value in zip(weights, rates, strict=True):
        repeated = linkage_of_beaters(np.repeat(beaten, row), 6, [2, 4])
        assert value.tolist() == pytest.approx(repeated.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "own", "sizes", "rank", "message"),
    [
        ([[1.0, 2.0]], [2], [1], 1, "columns"),
        ([[1.0, 2.0]], [0.0], [1], 1, "columns"),
        ([[1.0, 2.0]], [0, 1], [1], 1, "shapes"),
        ([[1.0, float("nan")]], [0], [1], 1, "finite"),
        ([[1.0, 2.0]], [0], [3], 1, "1 to 2"),
        ([[1.0, 2.0]], [0], [1.5], 1, "whole numbers"),
        ([[1.0, 2.0]], [0], [1], 0, "rank"),
    ],
)
def test_invalid_input(scores: Any, own: Any, sizes: Any, rank: int, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        closed_set_linkage(scores, own, sizes, rank)


@pytest.mark.parametrize("corpus", ["single_1.0", "single_4.0"])
@pytest.mark.parametrize("size", [2, 5, 10, 20])
def test_singling_out_agrees_with_an_independent_package(corpus: str, size: int) -> None:
    case = cases()[f"{corpus}_N{size}"]
    arrays, detail = case["inputs"], case["expected"]["detail"]
    drawn = np.array([d["speakers"] for d in detail]).reshape(len(arrays["own"]), -1, size)
    singled = single_out(
        arrays["test_scores"], arrays["calibration_scores"], arrays["own"], drawn=drawn
    )
    assert singled.thresholds.ravel().tolist() == pytest.approx(
        [d["threshold"] for d in detail], abs=1e-12
    )
    assert singled.above.ravel().tolist() == [d["above"] for d in detail]
    assert singled.isolated.ravel().tolist() == [d["isolated"] for d in detail]
    assert singled.value == pytest.approx(case["expected"]["mean"], abs=1e-12)


def test_own_calibration_scores_set_the_threshold() -> None:
    case = cases()["single_unequal"]
    arrays, count = case["inputs"], case["inputs"]["calibration_count"]
    padded = np.full((4, 4, count.max()), np.nan)
    padded[:, np.arange(count.max()) < count[:, None]] = arrays["calibration_scores"]
    singled = single_out(arrays["test_scores"], padded, np.arange(4), draws=1)
    assert singled.thresholds.ravel().tolist() == pytest.approx(
        case["expected"]["thresholds"], abs=1e-12
    )
    expected = list(case["expected"]["outcomes"].values())
    assert singled.isolated.astype(int).tolist() == expected


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_singling_out_by_hand(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tests = rng.integers(-3, 4, (2, n)).astype(float)
    calibration = rng.integers(-3, 4, (2, n, m)).astype(float)
    own = rng.integers(0, n, 2)
    singled = single_out(tests, calibration, own, n_speakers=max(2, n - 1), draws=3, seed=seed)
    for e, draw in itertools.product(range(2), range(3)):
        speakers = singled.drawn[e, draw].tolist()
        assert own[e] in speakers
        assert len(set(speakers)) == max(2, n - 1)
        values = sorted((s for j in speakers for s in calibration[e, j]), reverse=True)
        threshold = (values[m - 1] + values[m]) / 2
        assert singled.thresholds[e, draw] == threshold
        above = sum(tests[e, j] > threshold for j in speakers)
        # Every test that ties with the M-th and (M+1)-th of calibration is above as often as they.
        tie = threshold == values[m] == values[m - 1]
        at = [tests[e, j] for j in speakers if tie and tests[e, j] == threshold]
        same = [i for i, v in enumerate(values) if v == threshold]
        share = sum(i < m for i in same) / max(len(same), 1)
        expected = sum(
            math.prod(share if up else 1 - share for up in ups)
            for ups in itertools.product([False, True], repeat=len(at))
            if above + sum(ups) == 1
        )
        assert singled.isolated[e, draw] == pytest.approx(expected, abs=1e-12)


def test_uninformed_attacker_singles_out_by_chance() -> None:
    expected = {2: 0.5, 5: 0.8**4, 20: 0.95**19}
    assert singling_out_chance(list(expected)).tolist() == pytest.approx(list(expected.values()))
    rng = np.random.default_rng(5)
    singled = single_out(
        rng.normal(size=(400, 20)), rng.normal(size=(400, 20, 9)), np.arange(400) % 20, draws=1
    )
    # A threshold that is estimated is a little off: within 4 standard errors of 400 speakers.
    assert abs(singled.value - expected[20]) < 4 * math.sqrt(0.25 / 400)


@pytest.mark.parametrize(
    ("tests", "calibration", "own", "options", "message"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], [0], {}, "third axis"),
        ([[1.0, 2.0]], [[[1.0], [2.0]]], [2], {}, "right speakers"),
        ([[1.0, np.inf]], [[[1.0], [2.0]]], [0], {}, "finite"),
        ([[1.0, 2.0]], [[[1.0], [2.0]]], [0], {"n_speakers": 3}, "2 to 2"),
        ([[1.0, 2.0]], [[[1.0], [2.0]]], [0], {"drawn": [[[0, 2]]]}, "drawn"),
        ([[1.0, 2.0]], [[[np.nan], [2.0]]], [0], {}, "calibration"),
        ([[1.0, 2.0]], [[[1.0], [np.nan]]], [0], {}, "calibration"),
    ],
)
def test_invalid_singling_out(
    tests: Any, calibration: Any, own: Any, options: Any, message: str
) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        single_out(tests, calibration, own, **options)


def test_rank_disclosure_by_hand() -> None:
    case = cases()["srd_histogram"]
    mean, largest = rank_disclosure(case["arguments"]["rank_histogram"])
    assert mean == pytest.approx(case["expected"]["mean_bits"], abs=1e-12)
    bits = [-math.inf if b is None else b for b in case["expected"]["bits_by_rank"]]
    assert largest == pytest.approx(max(bits), abs=1e-12)
    with pytest.raises(PrivacyEvalError, match="rank"):
        rank_disclosure([0, 0])


@given(st.data())
def test_linkage_of_speakers_is_that_of_their_tests(data: st.DataObject) -> None:
    others = data.draw(st.integers(1, 8))
    tests = data.draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, others)), min_size=1, max_size=60)
    )
    size, rank = data.draw(st.integers(1, others + 1)), data.draw(st.integers(1, 3))
    speaker, beaten = ([t[i] for t in tests] for i in (0, 1))
    speakers = speaker_linkage(beaten, speaker, "abcd", others + 1, size, rank)

    def mean(of_tests: list[int]) -> float:
        return float(linkage_of_beaters(of_tests, others + 1, [size], rank)[0])

    expected = {}
    for i, name in enumerate("abcd"):
        own = [b for s, b in tests if s == i]
        if len(own) >= 5:
            expected[name] = (len(own), mean(own), mean(own[::2]), mean(own[1::2]))
    assert {s.speaker for s in speakers} == set(expected)
    for s in speakers:
        values = (s.n_tests, s.linkage, s.first, s.second)
        assert values == pytest.approx(expected[s.speaker], abs=1e-12)
    assert [s.linkage for s in speakers] == sorted((s.linkage for s in speakers), reverse=True)


def test_worst_of_equal_speakers_regress_to_the_mean() -> None:
    """All are found in half of their tests: those picked by one half are found less in the other,
    as often as all."""
    generator = np.random.default_rng(5)
    speaker = np.repeat(np.arange(400), 20)
    beaten = generator.integers(0, 2, speaker.size)
    speakers = speaker_linkage(beaten, speaker, [str(i) for i in range(400)], 2, 2)
    first, second = split_halves(speakers)
    # The upper quarter of Binomial(10, 1/2) / 10 has a mean of about 0.5 + 1.27 * 0.158.
    assert first == pytest.approx(0.7, abs=0.03)
    assert second == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(100 * 10))


def test_overlaps_by_hand() -> None:
    """Quarters of eight: the first two, with ties four. Spearman's is 1 - 6 sum d^2 / (n (n^2 - 1))
    without ties."""
    first, tied = [9, 8, 7, 6, 5, 4, 3, 2], [9, 5, 5, 5, 4, 3, 2, 1]
    moved, equal = [8, 7, 9, 6, 5, 4, 3, 2], [1] * 8
    (jaccard, *_), (correlation, *_) = worst_overlaps([first, tied, moved, equal], replicates=3)
    assert jaccard[0].tolist() == pytest.approx([1, 2 / 4, 1 / 3, 2 / 8])
    assert jaccard[1, 2] == pytest.approx(2 / 4)
    assert correlation[0, 2] == pytest.approx(1 - 6 * (1 + 1 + 4) / (8 * 63))
    assert correlation[0, 1] == pytest.approx(spearmanr(first, tied).statistic)
    assert correlation[:, 3].tolist() == [0] * 4


def test_replicates_of_overlaps_draw_speakers() -> None:
    """Those who draw only speakers of one kind see the overlap of that kind."""
    rng = np.random.default_rng(0)
    values = rng.random((2, 12))
    jaccard, correlation = worst_overlaps(values, replicates=400, seed=3)
    assert jaccard.shape == correlation.shape == (401, 2, 2)
    drawn = np.random.default_rng(3).integers(0, 12, (400, 12))
    for i in (0, 17, 399):
        one, other = values[:, drawn[i]]
        worst = [set(np.flatnonzero(v >= sorted(v)[-3]).tolist()) for v in (one, other)]
        expected = len(worst[0] & worst[1]) / len(worst[0] | worst[1])
        assert jaccard[i + 1, 0, 1] == pytest.approx(expected)
        assert correlation[i + 1, 0, 1] == pytest.approx(spearmanr(one, other).statistic)


def test_singling_out_with_random_scores_is_at_chance() -> None:
    """Scores in a random order: the threshold lies where M of the N M calibration scores are above
    it, so each of N tests is above it with a probability that follows Beta(M + 1/2, ...) and has a
    mean near 1/N. Exactly, by its distribution: P(one of N) of a beta-binomial."""
    n, per, m = 6, 30, 9
    speaker = np.tile(np.arange(n), per)
    rng = np.random.default_rng(4)
    values = [
        singling_out_curve(rng.random((n, n * per)), speaker, [2, 3], draws=20, seed=i).values
        for i in range(30)
    ]
    for i, size in enumerate((2, 3, n)):
        # Order statistics M and M + 1 from the top of size * M uniform scores, and their midpoint.
        drawn = np.sort(rng.random((100_000, size * m)), axis=1)
        above = 1 - (drawn[:, -m] + drawn[:, -m - 1]) / 2
        expected = np.mean(size * above * (1 - above) ** (size - 1))
        actual = np.array(values)[:, i]
        assert abs(actual.mean() - expected) < 4 * actual.std(ddof=1) / math.sqrt(actual.size)
        assert abs(expected - singling_out_chance([size])[0]) < 0.05


def test_intervals_of_singling_out_draw_enrolled_speakers() -> None:
    """With the same rate of all speakers, Wilson's; else they hold the value."""
    speaker = np.repeat(np.arange(6), 10)
    scores = np.eye(6)[:, speaker]
    curve = singling_out_curve(scores, speaker, [2], draws=3, replicates=50)
    assert curve.intervals == (wilson_interval(1.0, 6),) * 2
    noisy = scores + np.random.default_rng(0).normal(size=scores.shape)
    curve = singling_out_curve(noisy, speaker, [2, 3], draws=9, replicates=200, seed=1)
    assert curve.values == singling_out_curve(noisy, speaker, [2, 3], draws=9, seed=1).values
    alone = singling_out_curve(noisy, speaker, [3], draws=9, seed=1)
    assert alone.values == curve.values[1:]  # whatever other sizes are asked for
    for value, (low, high) in zip(curve.values, curve.intervals, strict=True):
        assert 0 <= low < value < high <= 1


def test_rates_that_no_draw_changes_have_the_interval_of_speakers() -> None:
    """10 of 10 speakers: 10 / (10 + 1.96^2) = 0.722, whatever the number of tests of each."""
    low, high = rate_interval(np.ones(50), 1.0, 10, 10)
    assert (low, high) == pytest.approx((10 / (10 + 1.959964**2), 1.0), abs=1e-6)
    assert rate_interval(np.zeros(50), 0.0, 10, 10) == pytest.approx((0.0, 1 - low), abs=1e-9)
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(400):  # most speakers are always found, one in twenty hardly ever
        hits = generator.binomial(12, generator.beta(0.475, 0.025, 10))
        drawn = generator.multinomial(10, np.full(10, 0.1), 200) @ hits / 120
        bounds = [rate_interval(drawn, hits.sum() / 120, 10, n) for n in (120, 10)]
        covered.append([one <= 0.95 <= other for one, other in bounds])
    of_tests, of_speakers = np.mean(covered, axis=0)
    assert of_tests < 0.7 and of_speakers > 0.85


def test_singling_out_excludes_speakers_with_few_tests() -> None:
    speaker = np.repeat(np.arange(4), [10, 12, 10, 9])
    scores = (speaker == np.arange(4)[:, None]) + np.linspace(0, 0.1, speaker.size)
    curve = singling_out_curve(scores, speaker, [2, 3, 5])
    assert (curve.sizes, curve.values, curve.n_speakers) == ((2, 3), (1.0, 1.0), 3)
    assert singling_out_curve(scores[:, 22:], speaker[22:], [2]).n_speakers == 1
