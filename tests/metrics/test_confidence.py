"""Bootstrap over speakers, and the interval that a trial design will give."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import (
    VARIANTS,
    Interval,
    Trials,
    TrialScores,
    bengio_mariethoz_interval,
    confidence,
    kaldi_eer,
    score_metrics,
    speaker_bootstrap,
)
from privacy_eval.metrics.confidence import (
    CORRELATION,
    BootstrapReplicates,
    Statistic,
    anticipated_interval,
    difference_p_value,
    expanded_interval,
)
from privacy_eval.metrics.detection import miss_rate
from privacy_eval.metrics.registry import METRICS, Metric

Design = tuple[list[bool], list[str], list[str]]

#: A and B and C enrol and speak; I is enrolled only, J and K only speak.
TARGET_SPEAKERS = ("A", "B", "C")
ENROLLED_IMPOSTORS = ("I",)
TRIAL_IMPOSTORS = ("J", "K")


def all_pairs() -> Design:
    """Every enrolled against every trial speaker, targets twice."""
    pairs = [
        (a, b)
        for a in TARGET_SPEAKERS + ENROLLED_IMPOSTORS
        for b in TARGET_SPEAKERS + TRIAL_IMPOSTORS
        for _ in range(2 if a == b else 1)
    ]
    return design_of(pairs)


def design_of(pairs: Sequence[tuple[str, str]]) -> Design:
    enrolled, trial = zip(*pairs, strict=True)
    return [a == b for a, b in pairs], list(enrolled), list(trial)


def noisy(design: Design, seed: int = 0) -> NDArray[np.float64]:
    is_target = np.array(design[0])
    return np.random.default_rng(seed).normal(0, 1, is_target.size) + is_target


def eer(scores: TrialScores) -> dict[str, float]:
    return {"eer": kaldi_eer(scores).value}


def bootstrap(
    scores: ArrayLike,
    design: Sequence[ArrayLike],
    statistic: Statistic = score_metrics,
    *,
    replicates: int = 50,
    seed: int = 7,
) -> BootstrapReplicates:
    trials = trials_of(scores, design)
    return speaker_bootstrap(trials, statistic=statistic, replicates=replicates, seed=seed)


def trials_of(scores: ArrayLike, design: Sequence[ArrayLike]) -> Trials:
    label, enrolled, trial = design
    return Trials(score=scores, label=label, enrolled_speaker=enrolled, trial_speaker=trial)


def draws_of(design: Design, *, seed: int, replicates: int) -> list[dict[tuple[str, str], int]]:
    """Count the trials of every pair of speakers, identified by score, in each replicate."""
    is_target, enrolled, trial = design
    pairs = list(zip(enrolled, trial, strict=True))
    scores = np.array([sorted(set(pairs)).index(p) for p in pairs], dtype=float)
    seen: list[dict[tuple[str, str], int]] = []

    def record(sample: TrialScores) -> dict[str, float]:
        for scores_of_class, label in ((sample.target, True), (sample.nontarget, False)):
            for value in scores_of_class.tolist():
                first, second = sorted(set(pairs))[int(value)]
                assert (first == second) is label
        both = Counter(sample.target.tolist() + sample.nontarget.tolist())
        seen.append({p: both[float(i)] for i, p in enumerate(sorted(set(pairs)))})
        return {"trials": float(sum(both.values()))}

    bootstrap(scores, design, record, replicates=replicates, seed=seed)
    return seen


def test_trials_count_as_often_as_their_speakers_are_drawn() -> None:
    replicates = draws_of(all_pairs(), seed=1, replicates=200)
    assert len(replicates) == 200
    seen = set()
    for times in replicates:
        # Two target trials each, so half their number is how often a speaker was drawn.
        draws = {a: times[a, a] // 2 for a in TARGET_SPEAKERS}
        assert all(times[a, a] == 2 * draws[a] for a in TARGET_SPEAKERS)
        assert sum(draws.values()) == len(TARGET_SPEAKERS)
        for a in TARGET_SPEAKERS:
            for b in TARGET_SPEAKERS:
                if a != b:
                    assert times[a, b] == draws[a] * draws[b]
        # The only enrolled impostor is drawn once, of the two others two altogether.
        assert all(times["I", a] == draws[a] for a in TARGET_SPEAKERS)
        impostors = {j: times["I", j] for j in TRIAL_IMPOSTORS}
        assert sum(impostors.values()) == 2
        for a in TARGET_SPEAKERS:
            assert all(times[a, j] == draws[a] * impostors[j] for j in TRIAL_IMPOSTORS)
        seen.add((*draws.values(), *impostors.values()))
    # Of the 10 ways to draw 3 of 3, three leave no nontarget trial among A, B and C, but the
    # impostors' trials remain: all 10 x 3 may come.
    assert len(seen) > 20


def test_an_impostor_on_both_sides_is_drawn_apart_from_targets() -> None:
    """X is enrolled and has trials, but none of its own, so nobody takes its place."""
    pairs = [("X", a) for a in TARGET_SPEAKERS] + [(a, "X") for a in TARGET_SPEAKERS]
    design = design_of([*zip(*all_pairs()[1:], strict=True), *pairs])
    for times in draws_of(design, seed=3, replicates=100):
        draws = {a: times[a, a] // 2 for a in TARGET_SPEAKERS}
        assert sum(draws.values()) == len(TARGET_SPEAKERS)
        assert all(times["X", a] == times[a, "X"] == draws[a] for a in TARGET_SPEAKERS)


def test_speakers_are_drawn_uniformly() -> None:
    """3 speakers drawn 3 times: each is left out with probability (2/3)^3 = 8/27."""
    replicates = draws_of(all_pairs(), seed=2, replicates=2000)
    for a in TARGET_SPEAKERS:
        left_out = sum(times[a, a] == 0 for times in replicates) / len(replicates)
        # Standard deviation sqrt(8/27 * 19/27 / 2000) = 0.0102.
        assert abs(left_out - 8 / 27) < 0.05


def test_values_depend_on_seed_not_on_trial_order() -> None:
    design = all_pairs()
    scores = noisy(design)
    order = np.random.default_rng(9).permutation(scores.size)
    permuted = [np.array(column)[order] for column in design]
    first, other = bootstrap(scores, design).values, bootstrap(scores, design, seed=8).values
    again, shuffled = bootstrap(scores, design).values, bootstrap(scores[order], permuted).values
    assert first.keys() == again.keys() == shuffled.keys()
    for key, values in first.items():
        assert np.array_equal(again[key], values), key
        assert shuffled[key] == pytest.approx(values, rel=1e-12, abs=1e-15), key
    assert not np.array_equal(first["eer"], other["eer"])


def counting() -> Statistic:
    """A statistic that counts 1, 2, ..."""
    calls: list[int] = []

    def count(_: TrialScores) -> dict[str, float]:
        calls.append(1)
        return {"call": float(len(calls))}

    return count


#: Two speakers, each with a target trial and a nontarget one.
TWO_SPEAKERS = ([True, True, False, False], ["A", "B", "A", "B"], ["A", "B", "B", "A"])


def test_interval_has_the_expanded_percentiles() -> None:
    """A statistic that counts 1, 2, ... 1000 has its 5th percentile at 50. The expanded one
    for 20 speakers: t_0.95 of 19 degrees is 1.7291, times sqrt(20/19) is 1.7740, and
    Phi(-1.7740) = 0.03803; times 1000 + 1, the 38th from either end."""
    names = [f"s{i:02d}" for i in range(20)]
    pairs = [(a, b) for a in names for b in names]
    design = design_of(pairs)
    result = bootstrap(noisy(design), design, counting(), replicates=1000)
    assert result.interval("call", 0.9) == Interval(38.0, 963.0, level=0.9, replicates=1000)
    assert (result.n_speakers, result.seed) == (20, 7)


def test_two_speakers_give_the_full_range() -> None:
    """One degree of freedom expands the percentiles to the extremes, and no further."""
    result = bootstrap([0.0, 1.0, 2.0, 3.0], TWO_SPEAKERS, counting(), replicates=30)
    assert (result.interval("call").low, result.interval("call").high) == (1, 30)


def test_interval_widens_with_its_level() -> None:
    design = all_pairs()
    result = bootstrap(noisy(design), design, replicates=200, seed=0)
    for key in result.values:
        wide, narrow = result.interval(key), result.interval(key, 0.5)
        assert wide.low <= narrow.low <= narrow.high <= wide.high, key
    assert result.interval("cllr").low < result.interval("cllr", 0.5).low


def test_infinite_values_sort_to_the_end() -> None:
    """The released Cllr is inf in some replicates: so is the upper bound, and no bound is NaN."""
    design = all_pairs()
    scores = noisy(design)
    scores[0] = -1000.0  # a target trial of A, left out in 8 of 27 replicates

    def released(sample: TrialScores) -> dict[str, float]:
        return score_metrics(sample, variant="challenge")

    result = bootstrap(scores, design, released, replicates=200, seed=0)
    assert math.isinf(result.interval("cllr").high)
    assert math.isfinite(result.interval("cllr").low)
    intervals = [result.interval(key) for key in result.values]
    assert not any(math.isnan(i.low) or math.isnan(i.high) for i in intervals)


@pytest.mark.parametrize(
    ("labels", "enrolled", "trial", "message"),
    [
        ("TTN", "ABA", "ACB", "1 trials .* a target trial of enrolled_speaker B and speaker C"),
        ("TTN", "ABA", "ABA", "1 trials .* a nontarget trial of enrolled_speaker A and speaker A"),
        ("TTN", "AAA", "AAB", "needs target trials of two speakers"),
        ("TTT", "ABC", "ABC", "no nontarget trials"),
        ("NNN", "ABC", "BAA", "no target trials"),
    ],
)
def test_invalid_designs_are_refused(labels: str, enrolled: str, trial: str, message: str) -> None:
    design = ([label == "T" for label in labels], list(enrolled), list(trial))
    with pytest.raises(PrivacyEvalError, match=message):
        bootstrap([0.2, 0.4, 0.1], design, eer, replicates=10)


@pytest.mark.parametrize("replicates", [-1, 0, 1])
def test_replicates_must_be_two_at_least(replicates: int) -> None:
    design = all_pairs()
    with pytest.raises(ValueError, match="replicates must be at least 2"):
        bootstrap(noisy(design), design, eer, replicates=replicates)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_level_must_lie_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        expanded_interval(np.arange(9), 3, level)


def test_replicates_without_nontargets_are_drawn_again() -> None:
    """Half of the draws of two speakers have one of them only, hence no nontarget trial."""
    sizes = []

    def record(sample: TrialScores) -> dict[str, float]:
        sizes.append((sample.n_target, sample.n_nontarget))
        return eer(sample)

    bootstrap([0.0, 1.0, 2.0, 3.0], TWO_SPEAKERS, record)
    assert sizes == [(2, 2)] * 50


# Replicates, which systems are compared by


def resampled(design: Design, *, seed: int = 7, scores: int = 0) -> BootstrapReplicates:
    return bootstrap(noisy(design, scores), design, eer, replicates=4, seed=seed)


def test_design_digest_covers_speaker_pairs_and_counts() -> None:
    is_target, enrolled, trial = design = all_pairs()
    same = resampled(design).design
    order = np.random.default_rng(1).permutation(len(is_target))
    permuted = tuple(np.array(column)[order].tolist() for column in design)
    assert resampled(permuted, seed=8, scores=3).design == same
    renamed = ["".join(side).replace("A", "D") for side in (enrolled, trial)]
    others = {
        resampled((is_target[:-1], enrolled[:-1], trial[:-1])).design,
        resampled((is_target, list(renamed[0]), list(renamed[1]))).design,
        resampled((is_target + [True], [*enrolled, "A"], [*trial, "A"])).design,
    }
    assert len(others | {same}) == 4


def test_replicates_of_one_design_are_paired() -> None:
    """Scores shifted by a constant: every replicate of the EER is the same."""
    design = all_pairs()
    first, second = (
        bootstrap(noisy(design) + shift, design, eer, seed=3).values["eer"] for shift in (0.0, 5.0)
    )
    assert np.array_equal(first, second) and np.unique(first).size > 3


def test_other_speakers_are_drawn_independently() -> None:
    """Draws of equally many speakers with other names are uncorrelated."""
    is_target, enrolled, trial = all_pairs()
    renamed = (is_target, [f"x{s}" for s in enrolled], [f"x{s}" for s in trial])
    drawn = []
    for design, prefix in ((all_pairs(), ""), (renamed, "x")):
        replicates = draws_of(design, seed=5, replicates=1000)
        drawn.append([times[f"{prefix}A", f"{prefix}A"] for times in replicates])
    # Of independent ones the standard deviation of the correlation is 1 / sqrt(1000) = 0.03.
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.13


@pytest.mark.parametrize("n", [2, 5, 20, 1000])
def test_p_value_agrees_with_interval(n: int) -> None:
    """Below 1 - level if and only if the interval leaves 0 out, while the replicates are
    enough to tell."""
    for beyond in (*range(1, 60), 250, 500):
        differences = np.linspace(0.1, 1.0, 1000)
        differences[:beyond] *= -1
        p_value = difference_p_value(differences, n)
        assert p_value == difference_p_value(-differences, n)
        for level in (0.8, 0.9, 0.95, 0.99):
            interval = expanded_interval(differences, n, level)
            outside = interval.low > 0 or interval.high < 0
            assert (p_value < 1 - level) == outside, (beyond, level)


def test_p_values_of_no_and_of_certain_difference() -> None:
    assert difference_p_value(np.zeros(100), 20) == 1
    # t of 19 degrees at which 1 of 1001 is cut off: sqrt(19/20) * 3.0905 = 3.0122; 0.0072.
    assert difference_p_value(np.ones(1000), 20) == pytest.approx(0.0072, abs=5e-5)


def both_variants(scores: TrialScores) -> dict[str, float]:
    return {f"{v} {m}": x for v in VARIANTS for m, x in score_metrics(scores, variant=v).items()}


def shuffled_pairs(rng: np.random.Generator, trials: int = 5) -> Design:
    names = [f"s{i}" for i in range(7)]
    pairs = [(a, b) for a in names for b in [*names, "x", "y"] for _ in range(trials)]
    return design_of([pairs[i] for i in rng.permutation(len(pairs))])


@pytest.mark.parametrize("at_once", [1, 10**6])
@pytest.mark.parametrize("decimals", [0, 1, 6])
@pytest.mark.parametrize(
    ("scale", "apart"),
    [(1.0, 1), (1.0, -3), (1.0, 30), (0.0, 1), (300.0, 1), (1e307, 1), (1e-320, 1)],
)
def test_batch_of_replicates_equals_single_replicates(
    scale: float, apart: float, decimals: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confidence, "_TRIALS_AT_ONCE", at_once)
    rng = np.random.default_rng(decimals)
    design = shuffled_pairs(rng, 8)
    scores = (rng.normal(size=len(design[0])) + apart * np.array(design[0])).round(decimals)
    check_all_at_once(scores * scale, design)


@settings(max_examples=40)
@given(
    # Few distinct scores, neighbours in float32, scores beyond it, and signed zeros.
    st.lists(st.sampled_from([-1e39, -1.0, -0.0, 0.0, 1.0, 1.0 + 2**-30, 2.0, 1e39]), min_size=63),
    st.integers(0, 99),
)
def test_replicates_of_any_scores_agree(values: list[float], seed: int) -> None:
    design = shuffled_pairs(np.random.default_rng(seed), 1)
    check_all_at_once(np.array(values[:63]), design)


def check_all_at_once(scores: NDArray[np.float64], design: Design) -> None:
    """All metrics of many replicates are those of each on its own to 1e-12."""
    options = {"replicates": 10, "seed": 7}
    trials = trials_of(scores, design)
    actual = speaker_bootstrap(trials, det_at=[0.0, 0.1, 0.5], **options)
    single = speaker_bootstrap(trials, statistic=both_variants, **options)
    rates = speaker_bootstrap(
        trials,
        statistic=lambda s: {str(f): miss_rate(s, false_alarm=f) for f in (0.0, 0.1, 0.5)},
        **options,
    )
    assert list(actual.values) == list(single.values)
    for name, values in actual.values.items():
        np.testing.assert_allclose(
            values, single.values[name], rtol=1e-12, atol=1e-12, err_msg=name
        )
    np.testing.assert_array_equal(actual.curves.T, list(rates.values.values()))


def test_batch_costs_beyond_the_largest_float_are_infinite() -> None:
    design = all_pairs()
    check_all_at_once(np.where(design[0], -1.7e308, 1.7e308), design)
    check_all_at_once(np.where(design[0], -1.7e308, 0.0), design)


def test_user_defined_metric_is_computed_per_replicate(monkeypatch: pytest.MonkeyPatch) -> None:
    def distance(scores: TrialScores, *, variant: str) -> float:
        return float(scores.target.mean() - scores.nontarget.mean())

    monkeypatch.setitem(
        METRICS, "distance", Metric("scores", "", "distance", key="distance", function=distance)
    )
    design = all_pairs()
    actual = speaker_bootstrap(trials_of(noisy(design), design), replicates=5, seed=0).values
    assert actual["exact distance"].shape == (5,)
    one_by_one = bootstrap(noisy(design), design, both_variants, replicates=5, seed=0).values
    assert np.array_equal(actual["challenge distance"], one_by_one["challenge distance"])


def test_a_band_holds_the_intervals_of_single_rates() -> None:
    """At rates of which every replicate has a whole number: no rounding counts."""
    design = all_pairs()
    rates = [0.0, 0.25, 0.5]
    actual = speaker_bootstrap(
        trials_of(noisy(design), design),
        statistic=lambda s: {str(f): miss_rate(s, false_alarm=f) for f in rates},
        replicates=50,
        seed=1,
        det_at=rates,
    )
    low, high = actual.band()
    for i, rate in enumerate(rates):
        interval = actual.interval(str(rate))
        assert (low[i], high[i]) == (interval.low, interval.high)
    with pytest.raises(ValueError, match="no DET curve"):
        bootstrap(noisy(design), design).band()


# Coverage

SETS, SPEAKERS, UTTERANCES, REPLICATES = 40, 30, 10, 100
#: Spread of what a speaker adds on the enrolled and on the trial side, and of the rest.
SPEAKER_SPREAD, REST_SPREAD, DISTANCE = 0.7, 0.7, 2.0


def simulated(generator: np.random.Generator) -> tuple[NDArray[np.float64], Design]:
    """Every speaker against every utterance; the speakers shift all their trials' scores."""
    enrolled = np.repeat(np.arange(SPEAKERS), SPEAKERS * UTTERANCES)
    trial = np.tile(np.repeat(np.arange(SPEAKERS), UTTERANCES), SPEAKERS)
    is_target = enrolled == trial
    scores = (
        DISTANCE * is_target
        + generator.normal(0, SPEAKER_SPREAD, SPEAKERS)[enrolled]
        + generator.normal(0, SPEAKER_SPREAD, SPEAKERS)[trial]
        + generator.normal(0, REST_SPREAD, enrolled.size)
    )
    names = np.array([f"s{i:02d}" for i in range(SPEAKERS)])
    return scores, (is_target.tolist(), names[enrolled].tolist(), names[trial].tolist())


def test_coverage_of_the_true_eer() -> None:
    """40 simulated sets whose true EER is known: both classes are normal of one spread s,
    DISTANCE apart, so the EER is Phi(-DISTANCE / (2 s)).

    A 95 % interval should cover it in 38 of 40; by a right interval's chance, fewer than
    34 come once in 70 such tests, and the seed is fixed.
    """
    spread = math.sqrt(2 * SPEAKER_SPREAD**2 + REST_SPREAD**2)
    truth = float(norm.cdf(-DISTANCE / (2 * spread)))
    generator = np.random.default_rng(2020)
    covered = Counter[str]()
    for number in range(SETS):
        scores, design = simulated(generator)
        actual = bootstrap(scores, design, eer, replicates=REPLICATES, seed=number)
        by_speaker = actual.interval("eer")
        value = kaldi_eer(TrialScores.from_labels(scores, design[0])).value
        intervals = {
            "speakers": (by_speaker.low, by_speaker.high),
            "independent": bengio_mariethoz_interval(
                value, SPEAKERS * UTTERANCES, SPEAKERS * (SPEAKERS - 1) * UTTERANCES
            ),
        }
        covered.update(name for name, (low, high) in intervals.items() if low <= truth <= high)
    assert covered["speakers"] >= 34, covered
    assert covered["independent"] <= covered["speakers"] - 4, covered


def test_ten_and_forty_speakers() -> None:
    """By hand: 20/3.4 effective decisions of each of 9 speakers; t(9) = 2.2622, t(39) = 2.0227."""
    assert CORRELATION == 0.6
    for speakers, t in ((10, 2.2622), (40, 2.0227)):
        half = t * math.sqrt(0.16 / (20 / 3.4 * (speakers - 1)))
        expected = pytest.approx((0.2 - half, 0.2 + half), abs=1e-4)
        assert anticipated_interval(0.2, speakers, 5) == expected


def test_limits() -> None:
    assert anticipated_interval(0, 10, 5) == (0, 0) and anticipated_interval(1, 10, 5) == (1, 1)
    assert anticipated_interval(0.5, 2, 1) == (0, 1)
    widths = [high - low for low, high in (anticipated_interval(0.3, 20, n) for n in (1, 2, 9, 99))]
    assert widths == sorted(widths, reverse=True) and widths[-1] > 0.7 * widths[1]
    low, high = anticipated_interval(0.3, 20, 5, level=0.5)
    assert high - low < widths[2]


@pytest.mark.parametrize("design", [(-0.1, 10, 5), (1.1, 10, 5), (0.2, 1, 5), (0.2, 10, 0)])
def test_no_such_design(design: tuple[float, int, float]) -> None:
    with pytest.raises(ValueError, match="speakers"):
        anticipated_interval(*design)
