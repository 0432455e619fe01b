"""Linkability D_sys."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm
from strategies import ScoreLists, any_scores, each_variant, normal_scores

from privacy_eval.metrics import TrialScores, Variant, linkability
from privacy_eval.metrics.linkability import densities
from privacy_eval.metrics.registry import score_curves

# 20 targets, so 2 bins, over 0 to 4: [0, 2) and [2, 4]. Targets 5 and 15 of 20, nontargets 8
# and 2 of 10. LR 0.25/0.8 < 1 and 0.75/0.2 = 3.75: D = 0 and 2*3.75/4.75 - 1 = 11/19.
TWO_BINS: ScoreLists = ([0.0] * 5 + [2.0] * 10 + [4.0] * 5, [0.0] * 3 + [1.9] * 5 + [3.0] * 2)


def test_exact_by_hand() -> None:
    # 11/19 times the target probability 3/4 of the bin.
    result = linkability(TrialScores(*TWO_BINS))
    assert result.value == pytest.approx(11 / 19 * 0.75, abs=1e-15)
    assert result.edges.tolist() == [0, 2, 4]
    assert result.target_mass.tolist() == pytest.approx([0.25, 0.75])
    assert result.nontarget_mass.tolist() == pytest.approx([0.8, 0.2])
    assert result.local.tolist() == pytest.approx([0, 11 / 19])
    assert (result.n_target, result.n_nontarget, result.variant) == (20, 10, "exact")


def test_challenge_by_hand() -> None:
    # Centres 1 and 3, heights D * density 0 and 11/19 * 0.375: 2 * (0 + 33/152) / 2.
    value = linkability(TrialScores(*TWO_BINS), variant="challenge").value
    assert value == pytest.approx(11 / 19 * 0.375, abs=1e-15)


def test_omega_by_hand() -> None:
    # omega 1/2: LR 3.75/2 = 1.875 in the second bin, D = 3.75/2.875 - 1 = 7/23.
    # omega 4: first bin 4 * 0.3125 = 1.25, D = 2.5/2.25 - 1 = 1/9; second 15, D = 7/8.
    scores = TrialScores(*TWO_BINS)
    assert linkability(scores, omega=0.5).value == pytest.approx(7 / 23 * 0.75, abs=1e-15)
    expected = 1 / 9 * 0.25 + 7 / 8 * 0.75
    assert linkability(scores, omega=4.0).value == pytest.approx(expected, abs=1e-15)
    # Below 1/3.75 nothing is more likely target than not.
    assert linkability(scores, omega=0.2).value == 0


@pytest.mark.parametrize("omega", [0.0, -1.0, math.nan])
def test_omega_must_be_positive(omega: float) -> None:
    with pytest.raises(ValueError, match="omega must be positive"):
        linkability(TrialScores([1.0], [0.0]), omega=omega)


@pytest.mark.parametrize(
    ("n_target", "bins"),
    [(1, 1), (9, 1), (10, 1), (19, 1), (20, 2), (999, 99), (1000, 100), (1500, 100)],
)
def test_number_of_bins(n_target: int, bins: int) -> None:
    scores = TrialScores(np.linspace(0, 1, n_target + 1)[1:], [0.0])
    assert linkability(scores).local.shape == (bins,)


@pytest.mark.parametrize("n_target", [1, 9, 10, 19])
def test_challenge_gives_0_for_few_targets(n_target: int) -> None:
    separated = TrialScores([1.0] * n_target, [0.0] * 50)
    assert linkability(separated, variant="challenge").value == 0


@pytest.mark.parametrize("n_target", [20, 60, 1000])
def test_challenge_drops_half_of_the_end_bins(n_target: int) -> None:
    """All targets in the last bin: half of it is lost. `exact` loses nothing."""
    separated = TrialScores([1.0] * n_target, [0.0] * 50)
    value = linkability(separated, variant="challenge").value
    assert value == pytest.approx(0.5, abs=1e-12)
    assert linkability(separated).value == pytest.approx(1, abs=1e-12)


@each_variant
@pytest.mark.parametrize("score", [0.0, 7.0, -1e300, 5e-324])
@pytest.mark.filterwarnings("error")
def test_equal_scores_are_unlinkable(score: float, variant: Variant) -> None:
    result = linkability(TrialScores([score] * 30, [score] * 50), variant=variant)
    assert result.value == 0
    assert result.local.tolist() == [0]


@pytest.mark.parametrize("sign", [1, -1])
def test_direction_does_not_matter_in_exact(sign: int) -> None:
    """Inverted scores link as much, unlike with threshold metrics."""
    target, nontarget = [sign * 1.0] * 20, [sign * -1.0] * 20
    assert linkability(TrialScores(target, nontarget)).value == pytest.approx(1, abs=1e-12)


def test_empty_bins_contribute_nothing() -> None:
    result = linkability(TrialScores([0.0] * 15 + [9.0] * 15, [0.0] * 10))
    # Bins [0, 3), [3, 6), [6, 9]: LR 1/2, no one, targets only.
    assert result.local.tolist() == [0, 0, 1]
    assert result.value == pytest.approx(0.5, abs=1e-15)


@each_variant
@pytest.mark.filterwarnings("error")
@settings(max_examples=50)
@given(
    target=st.lists(st.floats(-1e308, 1e308), min_size=20, max_size=40),
    nontarget=st.lists(st.floats(-1e308, 1e308), min_size=1),
)
def test_any_floats_give_a_value_in_range(
    target: list[float], nontarget: list[float], variant: Variant
) -> None:
    value = linkability(TrialScores(target, nontarget), variant=variant).value
    assert 0 <= value <= 1 + 1e-12


# Densities, and curves of all metrics


def test_density_agrees_with_kernel_estimate() -> None:
    scores = normal_scores(2_000, 0.5)
    actual = densities(scores)
    assert actual["scores"].size == 256
    for values, density in (
        (scores.target, actual["target"]),
        (scores.nontarget, actual["nontarget"]),
    ):
        quartiles = np.quantile(values, [0.25, 0.75])
        width = 0.9 * min(values.std(), np.ptp(quartiles) / 1.34) * values.size**-0.2
        slow = norm.pdf(actual["scores"][:, None], values, width).mean(axis=1)
        np.testing.assert_allclose(density, slow, atol=0.02 * slow.max())
        assert integrate.trapezoid(density, actual["scores"]) == pytest.approx(1, abs=0.01)


@given(scores=any_scores(), shift=st.integers(-8, 8))
@settings(max_examples=40)
def test_density_follows_shift_and_scale(scores: ScoreLists, shift: int) -> None:
    first = densities(TrialScores(*scores))
    target, nontarget = (np.array(s) * 4 + shift for s in scores)
    if first["scores"][-1] - first["scores"][0] == 1:  # all equal: the range is 1 whatever they are
        return
    second = densities(TrialScores(target, nontarget))
    np.testing.assert_allclose(second["scores"], first["scores"] * 4 + shift, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second["target"] * 4, first["target"], rtol=1e-6, atol=1e-9)
    assert np.all(first["target"] >= 0) and np.all(first["nontarget"] >= 0)


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
