"""Stored curves: DET, detection cost over the prior, densities, binned ECE."""

from __future__ import annotations

import math

import golden
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import expit, ndtri
from scipy.stats import norm
from strategies import ScoreLists, any_scores

from privacy_eval.metrics import TrialScores, linkability, min_dcf, rocch_eer
from privacy_eval.metrics.detection import BAND_FALSE_ALARM, Det, det_curve
from privacy_eval.metrics.linkability import densities
from privacy_eval.metrics.llr import dcf_profile, ece_profile, expected_cost_reduction
from privacy_eval.metrics.registry import score_curves


def test_bands_have_even_steps_on_the_axis_of_a_det_plot() -> None:
    np.testing.assert_allclose(ndtri(BAND_FALSE_ALARM), np.arange(-32, 33) / 10, atol=1e-12)


def normal_scores(trials: int, share: float = 0.1, *, scale: float = 1.0) -> TrialScores:
    generator = np.random.default_rng(trials)
    targets = int(trials * share)
    return TrialScores(
        scale * (generator.standard_normal(targets) + 1.5),
        scale * generator.standard_normal(trials - targets),
    )


def operating_points(target: list[float], nontarget: list[float]) -> set[tuple[float, float]]:
    """Miss and false-alarm rates at every threshold."""
    points = set()
    for threshold in {*target, *nontarget, math.inf}:
        missed = sum(t < threshold for t in target)
        accepted = sum(n >= threshold for n in nontarget)
        points.add((missed / len(target), accepted / len(nontarget)))
    return points


# DET


def test_det_by_hand() -> None:
    # N 0, T and N 1, T 2: the tie is one step in both rates.
    det = det_curve(TrialScores([1.0, 2.0], [0.0, 1.0]))
    assert det.miss.tolist() == [0, 0, 0.5, 1]
    assert det.false_alarm.tolist() == [1, 0.5, 0, 0]


@settings(max_examples=80)
@given(scores=any_scores())
def test_det_has_the_corners_of_all_operating_points(scores: ScoreLists) -> None:
    det = det_curve(TrialScores(*scores))
    assert (det.miss[0], det.false_alarm[0]) == (0, 1)
    assert (det.miss[-1], det.false_alarm[-1]) == (1, 0)
    assert np.all(np.diff(det.miss) >= 0) and np.all(np.diff(det.false_alarm) <= 0)
    points = operating_points(*scores)
    kept = set(zip(det.miss.tolist(), det.false_alarm.round(12).tolist(), strict=True))
    assert kept <= {(m, round(f, 12)) for m, f in points}
    # What is not kept lies between neighbours that differ in one rate alone.
    for miss, false_alarm in points:
        after = int(np.searchsorted(det.miss - det.false_alarm, miss - false_alarm - 1e-12))
        left, right = max(after - 1, 0), after
        assert det.miss[left] - 1e-12 <= miss <= det.miss[right] + 1e-12
        assert det.false_alarm[right] - 1e-12 <= false_alarm <= det.false_alarm[left] + 1e-12
        if (miss, round(false_alarm, 12)) not in kept:
            assert miss == det.miss[left] == det.miss[right]


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("trials", [3_000, 60_000])
def test_thinned_det_is_accurate_on_the_probit_scale(trials: int, decimals: int | None) -> None:
    scores = normal_scores(trials, 0.4)
    if decimals is not None:
        scores = TrialScores(scores.target.round(decimals), scores.nontarget.round(decimals))
    det = det_curve(scores)
    assert det.miss.size <= 500
    thresholds = np.unique(np.concatenate([scores.target, scores.nontarget]))
    miss = np.searchsorted(scores.target, thresholds) / scores.n_target
    false_alarm = 1 - np.searchsorted(scores.nontarget, thresholds) / scores.n_nontarget
    # Every operating point lies in the box of its neighbours, and boxes that hold one are small.
    after = np.searchsorted(_spread(det, scores), _probits(miss, false_alarm, scores) - 1e-9)
    after = np.clip(after, 1, det.miss.size - 1)
    assert np.all(det.miss[after - 1] <= miss + 1e-12) and np.all(miss <= det.miss[after] + 1e-12)
    assert np.all(det.false_alarm[after] <= false_alarm + 1e-12)
    size = np.diff(_spread(det, scores))[after - 1]
    inside = (miss != det.miss[after]) & (miss != det.miss[after - 1])
    inside &= (false_alarm != det.false_alarm[after]) & (false_alarm != det.false_alarm[after - 1])
    assert size[inside].max(initial=0) < 0.08


def _probits(miss: np.ndarray, false_alarm: np.ndarray, scores: TrialScores) -> np.ndarray:
    m, n = 0.5 / scores.n_target, 0.5 / scores.n_nontarget
    return ndtri(np.clip(miss, m, 1 - m)) - ndtri(np.clip(false_alarm, n, 1 - n))


def _spread(det: Det, scores: TrialScores) -> np.ndarray:
    return _probits(det.miss, det.false_alarm, scores)


# Detection cost


def slow_costs(scores: ScoreLists, log_odds: float) -> tuple[float, float]:
    """Least and actual cost over all thresholds, by counting."""
    prior = 1 / (1 + math.exp(-log_odds))
    best = min(prior * m + (1 - prior) * f for m, f in operating_points(*scores))
    target, nontarget = scores
    miss = sum(t < -log_odds for t in target) / len(target)
    false_alarm = sum(n >= -log_odds for n in nontarget) / len(nontarget)
    return best, prior * miss + (1 - prior) * false_alarm


@settings(max_examples=60)
@given(scores=any_scores(), log_odds=st.lists(st.floats(-10, 10), min_size=1, max_size=4))
def test_costs_agree_with_counting(scores: ScoreLists, log_odds: list[float]) -> None:
    profile = dcf_profile(TrialScores(*scores), prior_log_odds=log_odds)
    for i, x in enumerate(log_odds):
        best, actual = slow_costs(scores, x)
        assert profile.minimum[i] == pytest.approx(best, rel=1e-9, abs=1e-14)
        assert profile.actual[i] == pytest.approx(actual, rel=1e-9, abs=1e-14)


def test_costs_agree_with_min_dcf_and_rocch_eer(golden_scores: golden.GoldenScores) -> None:
    scores = golden_scores.scores
    for p in (0.001, 0.01, 0.5, 0.9):
        profile = dcf_profile(scores, prior_log_odds=[math.log(p / (1 - p))])
        expected = min_dcf(scores, p_target=p).value
        assert profile.minimum[0] / profile.zero_evidence[0] == pytest.approx(expected, abs=1e-9)
    profile = dcf_profile(scores)
    assert np.all(profile.minimum <= profile.actual + 1e-15)
    assert np.all(profile.minimum <= profile.zero_evidence + 1e-15)
    # The ROCCH-EER is the largest minimum cost over the prior.
    fine = dcf_profile(scores, prior_log_odds=np.linspace(-20, 20, 40_001)).minimum.max()
    assert fine == pytest.approx(rocch_eer(scores).value, abs=1e-3)


@settings(max_examples=20)
@given(scores=any_scores(12))
def test_expected_cost_reduction_is_the_integral(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)

    def gain(prior: float) -> float:
        profile = dcf_profile(trials, prior_log_odds=[math.log(prior / (1 - prior))])
        return float(profile.zero_evidence[0] - profile.minimum[0])

    kinks = sorted({*expit(-trials.pav().llr), 0.5} - {0.0, 1.0})
    edges = [0.0, *(float(k) for k in kinks), 1.0]
    area = math.fsum(
        integrate.fixed_quad(np.vectorize(gain), a, b, n=3)[0]
        for a, b in zip(edges, edges[1:], strict=False)
        if b - a > 1e-12
    )
    assert expected_cost_reduction(trials) == pytest.approx(area, abs=1e-9)
    assert -1e-15 <= expected_cost_reduction(trials) <= 0.25


# ECE of many trials


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0, 1000.0])
def test_binned_ece_is_within_its_bound(scale: float) -> None:
    scores = normal_scores(40_000, 0.4, scale=scale)
    grid = [-10.0, -3.3, 0.0, 0.123, 10.0]
    profile = ece_profile(scores, prior_log_odds=grid)
    for x, value in zip(grid, profile.actual, strict=True):
        miss = math.fsum(np.logaddexp(0, -(scores.target + x))) / scores.n_target
        false_alarm = math.fsum(np.logaddexp(0, scores.nontarget + x)) / scores.n_nontarget
        exact = (expit(x) * miss + expit(-x) * false_alarm) / math.log(2)
        assert value == pytest.approx(exact, rel=1e-13, abs=1e-9)


@pytest.mark.parametrize("size", [5, 40_000])
def test_ece_of_the_largest_scores(size: int) -> None:
    """The sum of scores would be infinite, and all scores are outside the bins."""
    scores = TrialScores(np.full(size, -1e308), np.full(size, 1e308))
    assert ece_profile(scores, prior_log_odds=[0.0]).actual[0] == pytest.approx(1e308 / math.log(2))
    good = TrialScores(np.full(size, 1e308), np.full(size, -1e308))
    assert ece_profile(good, prior_log_odds=[0.0]).actual[0] == 0


# Densities


def test_density_agrees_with_kernel_estimate() -> None:
    scores = normal_scores(2_000, 0.5)
    actual = densities(scores)
    assert actual.scores.size == 256
    for values, density in ((scores.target, actual.target), (scores.nontarget, actual.nontarget)):
        quartiles = np.quantile(values, [0.25, 0.75])
        width = 0.9 * min(values.std(), np.ptp(quartiles) / 1.34) * values.size**-0.2
        slow = norm.pdf(actual.scores[:, None], values, width).mean(axis=1)
        np.testing.assert_allclose(density, slow, atol=0.02 * slow.max())
        assert integrate.trapezoid(density, actual.scores) == pytest.approx(1, abs=0.01)


@given(scores=any_scores(), shift=st.integers(-8, 8))
@settings(max_examples=40)
def test_density_follows_shift_and_scale(scores: ScoreLists, shift: int) -> None:
    first = densities(TrialScores(*scores))
    target, nontarget = (np.array(s) * 4 + shift for s in scores)
    if first.scores[-1] - first.scores[0] == 1:  # all equal: the range is 1 whatever they are
        return
    second = densities(TrialScores(target, nontarget))
    np.testing.assert_allclose(second.scores, first.scores * 4 + shift, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second.target * 4, first.target, rtol=1e-6, atol=1e-9)
    assert np.all(first.target >= 0) and np.all(first.nontarget >= 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "scores",
    [
        ([2.0] * 3, [2.0] * 4),
        ([1.7e308], [-1.7e308]),
        ([5e-324], [0.0]),
        ([1.0, 1.0], [0.0]),
        ([1e9] + [0.0] * 50, [0.0, 1.0]),
    ],
)
def test_curves_of_extreme_scores_are_finite(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)
    curves = score_curves(trials)
    for name, values in curves.items():
        assert np.all(np.isfinite(values)), name
    edges = linkability(trials).edges
    assert curves["density_scores"][[0, -1]].tolist() == edges[[0, -1]].tolist()


def test_curves_are_small_however_many_trials() -> None:
    assert sum(v.nbytes for v in score_curves(normal_scores(100_000, 0.5)).values()) < 32_000
