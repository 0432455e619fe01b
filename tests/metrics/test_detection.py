"""Minimum detection cost."""

from fractions import Fraction

import numpy as np
import pytest
import reference_metrics as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from strategies import ScoreLists, any_scores, each_variant, normal_scores, operating_points

from privacy_eval.metrics import TrialScores, Variant, min_dcf
from privacy_eval.metrics.detection import BAND_FALSE_ALARM, det_curve, miss_rate

labelled = st.lists(st.tuples(st.integers(0, 4).map(float), st.booleans()), min_size=2).filter(
    lambda trials: len({is_target for _, is_target in trials}) == 2
)
priors = st.sampled_from([0.001, 0.01, 0.3, 0.5, 0.9])


def from_trials(trials: list[reference.Trial]) -> TrialScores:
    return TrialScores.from_labels([s for s, _ in trials], [t for _, t in trials])


@each_variant
def test_by_hand(variant: Variant) -> None:
    # T = 4, N = 5: N N N T N N T T T. p = 0.2, over min(p, 1-p) = 0.2. Thresholds that can
    # be best: before the first T: miss 0, false alarm 2/5: 0.8 * 0.4 / 0.2 = 1.6; before
    # the second: miss 1/4, false alarm 0: 0.2 * 0.25 / 0.2 = 0.25; reject all: 1.
    scores = TrialScores([4.0, 7.0, 8.0, 9.0], [1.0, 2.0, 3.0, 5.0, 6.0])
    result = min_dcf(scores, p_target=0.2, variant=variant)
    assert result.value == pytest.approx(0.25, abs=1e-15)
    assert (result.p_target, result.n_target, result.n_nontarget) == (0.2, 4, 5)
    assert result.variant == variant


@each_variant
def test_rejecting_all_costs_1(variant: Variant) -> None:
    # One nontarget on top of all: at p = 0.01 a false alarm costs 0.99 * 1/2 / 0.01.
    scores = TrialScores([0.0, 1.0], [-1.0, 9.0])
    assert min_dcf(scores, p_target=0.01, variant=variant).value == pytest.approx(1, abs=1e-12)


def test_accept_all_threshold_is_in_exact_only() -> None:
    # T below N, p = 0.9, over 0.1. Accept all: 0.1 * 1 / 0.1 = 1. After T: (0.9 + 0.1) / 0.1
    # = 10. Reject all: 0.9 / 0.1 = 9, the least that `challenge` sees.
    scores = TrialScores([0.0], [1.0])
    assert min_dcf(scores, p_target=0.9).value == pytest.approx(1, abs=1e-12)
    assert min_dcf(scores, p_target=0.9, variant="challenge").value == pytest.approx(9, abs=1e-12)


def test_rejecting_only_the_first_trial_may_be_best() -> None:
    # T T N with T = 2, N = 1, p = 0.9, over 0.1: after the first T: (0.45 + 0.1) / 0.1 = 5.5;
    # after both 10, after all 9.
    scores = TrialScores([0.0, 0.5], [1.0])
    value = min_dcf(scores, p_target=0.9, variant="challenge").value
    assert value == pytest.approx(5.5, abs=1e-12)


def test_file_order_at_ties_by_hand() -> None:
    """A threshold lies after every trial, so a tie is split where the file splits it."""
    # Nontarget first: after it nothing is wrong. Target first: after it all is wrong, after
    # both all targets are missed: p / min(p, 1-p) = 1 at p = 0.5.
    nontarget_first = TrialScores.from_labels([1.0, 1.0], [False, True])
    target_first = TrialScores.from_labels([1.0, 1.0], [True, False])
    assert min_dcf(nontarget_first, p_target=0.5, variant="challenge").value == 0
    assert min_dcf(target_first, p_target=0.5, variant="challenge").value == 1
    for scores in (nontarget_first, target_first):
        assert min_dcf(scores, p_target=0.5, variant="exact").value == 1
    # Without labels: nontargets, then targets.
    assert min_dcf(TrialScores([1.0], [1.0]), p_target=0.5, variant="challenge").value == 0


@settings(max_examples=100)
@given(trials=labelled, p_target=priors)
@example(trials=[(0.0, True), (0.0, False), (0.0, True)], p_target=0.5)
@example(trials=[(1.0, True), (0.0, True), (1.0, False), (1.0, True)], p_target=0.9)
def test_challenge_agrees_with_all_thresholds_in_file_order(
    trials: list[reference.Trial], p_target: float
) -> None:
    value = min_dcf(from_trials(trials), p_target=p_target, variant="challenge").value
    assert value == pytest.approx(reference.min_dcf(trials, p_target, "challenge"), abs=1e-12)


@each_variant
@settings(max_examples=60)
@given(scores=any_scores(), p_target=priors)
def test_agrees_with_all_thresholds(scores: ScoreLists, p_target: float, variant: Variant) -> None:
    value = min_dcf(TrialScores(*scores), p_target=p_target, variant=variant).value
    expected = reference.min_dcf(reference.trials_of(*scores), p_target, variant)
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("p_target", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_prior_must_lie_between_0_and_1(p_target: float) -> None:
    with pytest.raises(ValueError, match="p_target must lie between 0 and 1"):
        min_dcf(TrialScores([1.0], [0.0]), p_target=p_target)


@settings(max_examples=50)
@given(trials=labelled, rate=st.sampled_from([0, 0.001, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.999]))
def test_miss_rate_is_that_of_the_best_threshold(
    trials: list[reference.Trial], rate: float
) -> None:
    expected = reference.miss_rate(trials, Fraction(str(rate)))
    assert miss_rate(from_trials(trials), false_alarm=rate) == expected


@pytest.mark.parametrize(("rate", "missed"), [(0.28, 3), (0.29, 2), (0.3, 1)])
def test_allowed_false_alarms_are_counted_in_decimals(rate: float, missed: int) -> None:
    """0.29 of 100 is 28.999... in floats. Targets lie below the 29th, 30th and 31st highest of 100
    nontargets, and one above all."""
    nontarget = np.arange(100.0)
    target = [71 - 0.5, 70 - 0.5, 69 - 0.5, 200]
    assert miss_rate(TrialScores(target, nontarget), false_alarm=rate) == missed / 4


@pytest.mark.parametrize("rate", [-0.1, 1, 2, float("nan")])
def test_other_false_alarm_rates_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="false_alarm"):
        miss_rate(TrialScores([1.0], [0.0]), false_alarm=rate)


@pytest.mark.parametrize("rate", [1 / 3, 0.1 + 0.2, 1e-20])
def test_miss_rates_at_fractions_of_many_digits(rate: float) -> None:
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 50), rng.normal(0, 1, 5000)
    allowed = sum(1 for i in range(1, 5001) if Fraction(i, 5000) <= Fraction(str(rate)))
    threshold = sorted(nontarget)[-1 - allowed]
    expected = sum(score <= threshold for score in target) / 50
    assert miss_rate(TrialScores(target, nontarget), false_alarm=rate) == expected


# DET


def test_bands_have_even_steps_on_the_axis_of_a_det_plot() -> None:
    np.testing.assert_allclose(ndtri(BAND_FALSE_ALARM), np.arange(-32, 33) / 10, atol=1e-12)


def test_det_by_hand() -> None:
    # N 0, T and N 1, T 2: the tie is one step in both rates.
    det_miss, det_false_alarm = det_curve(TrialScores([1.0, 2.0], [0.0, 1.0]))
    assert det_miss.tolist() == [0, 0, 0.5, 1]
    assert det_false_alarm.tolist() == [1, 0.5, 0, 0]


@settings(max_examples=80)
@given(scores=any_scores())
def test_det_has_the_corners_of_all_operating_points(scores: ScoreLists) -> None:
    det_miss, det_false_alarm = det_curve(TrialScores(*scores))
    assert (det_miss[0], det_false_alarm[0]) == (0, 1)
    assert (det_miss[-1], det_false_alarm[-1]) == (1, 0)
    assert np.all(np.diff(det_miss) >= 0) and np.all(np.diff(det_false_alarm) <= 0)
    points = operating_points(*scores)
    kept = set(zip(det_miss.tolist(), det_false_alarm.round(12).tolist(), strict=True))
    assert kept <= {(m, round(f, 12)) for m, f in points}
    # What is not kept lies between neighbours that differ in one rate alone.
    for miss, false_alarm in points:
        after = int(np.searchsorted(det_miss - det_false_alarm, miss - false_alarm - 1e-12))
        left, right = max(after - 1, 0), after
        assert det_miss[left] - 1e-12 <= miss <= det_miss[right] + 1e-12
        assert det_false_alarm[right] - 1e-12 <= false_alarm <= det_false_alarm[left] + 1e-12
        if (miss, round(false_alarm, 12)) not in kept:
            assert miss == det_miss[left] == det_miss[right]


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("trials", [3_000, 60_000])
def test_thinned_det_is_accurate_on_the_probit_scale(trials: int, decimals: int | None) -> None:
    scores = normal_scores(trials, 0.4)
    if decimals is not None:
        scores = TrialScores(scores.target.round(decimals), scores.nontarget.round(decimals))
    det_miss, det_false_alarm = det_curve(scores)
    assert det_miss.size <= 500
    thresholds = np.unique(np.concatenate([scores.target, scores.nontarget]))
    miss = np.searchsorted(scores.target, thresholds) / scores.n_target
    false_alarm = 1 - np.searchsorted(scores.nontarget, thresholds) / scores.n_nontarget
    # Every operating point lies in the box of its neighbours, and boxes that hold one are small.
    spread = _probits(det_miss, det_false_alarm, scores)
    after = np.searchsorted(spread, _probits(miss, false_alarm, scores) - 1e-9)
    after = np.clip(after, 1, det_miss.size - 1)
    assert np.all(det_miss[after - 1] <= miss + 1e-12) and np.all(miss <= det_miss[after] + 1e-12)
    assert np.all(det_false_alarm[after] <= false_alarm + 1e-12)
    size = np.diff(spread)[after - 1]
    inside = (miss != det_miss[after]) & (miss != det_miss[after - 1])
    inside &= (false_alarm != det_false_alarm[after]) & (false_alarm != det_false_alarm[after - 1])
    assert size[inside].max(initial=0) < 0.08


def _probits(miss: np.ndarray, false_alarm: np.ndarray, scores: TrialScores) -> np.ndarray:
    m, n = 0.5 / scores.n_target, 0.5 / scores.n_nontarget
    return ndtri(np.clip(miss, m, 1 - m)) - ndtri(np.clip(false_alarm, n, 1 - n))
