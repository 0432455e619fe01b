"""Cllr, actual and minimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference_metrics as reference
from golden import table_1
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ScoreLists, any_scores

from privacy_eval.metrics import VARIANTS, TrialScores, Variant, cllr, min_cllr
from privacy_eval.metrics.llr import softplus

each_variant = pytest.mark.parametrize("variant", VARIANTS)
#: exp() of more than this is no float.
LOG_MAX = math.log(np.finfo(np.float64).max)


@each_variant
def test_actual_by_hand(variant: Variant) -> None:
    # Targets log 3 and -log 3: log2(1 + 1/3) and log2(1 + 3) = 2, mean (log2(4/3) + 2) / 2.
    # Nontarget 0: log2(2) = 1. Their mean.
    scores = TrialScores([math.log(3), -math.log(3)], [0.0])
    expected = ((math.log2(4 / 3) + 2) / 2 + 1) / 2
    result = cllr(scores, variant=variant)
    assert result.value == pytest.approx(expected, abs=1e-15)
    assert (result.n_target, result.n_nontarget, result.variant) == (2, 1, variant)


def test_classes_weigh_the_same() -> None:
    # However many there are: one target at 0 costs 1, nontargets far below cost nothing.
    assert cllr(TrialScores([0.0], [-1000.0] * 99)).value == 0.5


def test_huge_scores_by_hand() -> None:
    # A wrong score s costs |s| / log 2 bit: (1e300 + 0) / (2 log 2).
    expected = 1e300 / (2 * math.log(2))
    assert cllr(TrialScores([-1e300], [-1e300])).value == pytest.approx(expected, rel=1e-15)
    assert cllr(TrialScores([1e300], [1e300])).value == pytest.approx(expected, rel=1e-15)
    assert cllr(TrialScores([1e300], [-1e300])).value == 0


def test_exact_cllr_is_finite() -> None:
    # The mean is 1e308 / log 2 = 1.44e308, though the sum of two is no float.
    expected = 1e308 / (2 * math.log(2))
    assert cllr(TrialScores([-1e308, -1e308], [-1.0e9])).value == pytest.approx(expected)
    # 1.7e308 bits / log 2 is no float, half of it is.
    expected = 1.7e308 / 2 / math.log(2)
    assert cllr(TrialScores([1e39], [1.7e308])).value == pytest.approx(expected, rel=1e-15)
    assert cllr(TrialScores([-1.7e308], [-1e39])).value == pytest.approx(expected, rel=1e-15)


def test_cllr_is_infinite_only_where_no_float_is_as_large() -> None:
    # (a + a) / (2 log 2) = a / log 2, which is a float up to a = 1.246e308.
    largest = np.finfo(np.float64).max
    limit = largest * math.log(2)
    assert cllr(TrialScores([-0.999 * limit], [0.999 * limit])).value == pytest.approx(
        0.999 * largest
    )
    assert math.isinf(cllr(TrialScores([-1.001 * limit], [1.001 * limit])).value)


@pytest.mark.parametrize(
    ("target", "nontarget", "infinite"),
    [
        (-709.79, 0.0, True),
        (0.0, 709.79, True),
        (-1e300, 0.0, True),
        (0.0, 1e300, True),
        (-709.78, 0.0, False),
        (0.0, 709.78, False),
        (-LOG_MAX, LOG_MAX, False),
        # On the right side nothing overflows.
        (1e300, -1e300, False),
    ],
)
def test_challenge_overflows_beyond_709(target: float, nontarget: float, infinite: bool) -> None:
    scores = TrialScores([target, 1.0], [nontarget, -1.0])
    assert math.isinf(cllr(scores, variant="challenge").value) is infinite
    exact = cllr(scores, variant="exact").value
    assert math.isfinite(exact)
    if not infinite:
        assert cllr(scores, variant="challenge").value == exact


def test_minimum_by_hand() -> None:
    # N N T N T N T T (Table 1, case 1): blocks NN | T N | T N | TT. The blocks of one class
    # cost nothing, in the others LLR = 0 and each trial costs 1: 2/4 of either class.
    assert min_cllr(table_1(1)).value == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize(("case", "expected"), [(1, "0.500"), (2, "0.594"), (3, "0.656")])
def test_table_1_of_the_comparative_study(case: int, expected: str) -> None:
    """The paper prints 0.50, 0.59 and 0.65, truncated.

    Case 2, N N T N T T N T: blocks NN | T N | TT N | T. TN: LLR 0, each trial 1. TTN:
    LLR log 2, targets log2(3/2), nontarget log2(3). ((1 + 2 log2(3/2)) + (1 + log2 3)) / 8
    = 0.5943. Case 3, N N T N T T T N: NN | T N | TTT N: (1 + 3 log2(4/3) + 1 + log2 4) / 8
    = 0.6556.
    """
    assert f"{min_cllr(table_1(case)).value:.3f}" == expected
    assert f"{min_cllr(table_1(case), variant='challenge').value:.3f}" == expected


def test_minimum_at_ties_by_hand() -> None:
    # N at 0, N and T at 1, T at 2. Pooled: LLR 0 for one of two of each class, 1/2.
    # Nontargets first: separated, 0.
    scores = TrialScores([1.0, 2.0], [0.0, 1.0])
    assert min_cllr(scores, variant="exact").value == 0.5
    assert min_cllr(scores, variant="challenge").value == 0


def test_slope_of_the_challenge_by_hand() -> None:
    # T below N, one block, LLR 0 + k * 1e-6 / 2: target 0, nontarget 5e-7. To first order
    # the nontarget costs 1 + 5e-7 / (2 log 2), and the mean is 1 + 5e-7 / (4 log 2).
    value = min_cllr(TrialScores([0.0], [1.0]), variant="challenge").value
    assert value == pytest.approx(1 + 5e-7 / (4 * math.log(2)), rel=0, abs=1e-12)
    assert min_cllr(TrialScores([0.0], [1.0])).value == 1


@settings(max_examples=60)
@given(scores=any_scores(12), shift=st.floats(-3, 3), slope=st.floats(0.01, 3))
def test_no_affine_calibration_beats_the_minimum(
    scores: ScoreLists, shift: float, slope: float
) -> None:
    calibrated = TrialScores(*([slope * s + shift for s in side] for side in scores))
    assert min_cllr(TrialScores(*scores)).value <= cllr(calibrated).value + 1e-12


@settings(max_examples=50)
@given(
    target=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    nontarget=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
)
def test_actual_agrees_with_reference_on_any_floats(
    target: list[float], nontarget: list[float]
) -> None:
    expected = reference.cllr(reference.trials_of(target, nontarget))
    assert cllr(TrialScores(target, nontarget)).value == pytest.approx(expected, rel=1e-12)


def test_sum_over_many_trials_is_accurate() -> None:
    """More trials than one chunk."""
    generator = np.random.default_rng(3)
    target, nontarget = generator.normal(2, 3, 70_001), generator.normal(-2, 3, 140_003)
    expected = sum(
        math.fsum(np.logaddexp(0, x).tolist()) / x.size for x in (-target, nontarget)
    ) / (2 * math.log(2))
    assert cllr(TrialScores(target, nontarget)).value == pytest.approx(expected, rel=1e-13)


@pytest.mark.filterwarnings("error")
def test_softplus_of_extremes() -> None:
    x = np.array([-np.inf, -1e308, -1000.0, 0.0, 1000.0, 1e308, np.inf])
    assert softplus(x).tolist() == [0, 0, 0, math.log(2), 1000, 1e308, math.inf]
    # e^-40 is lost in 1 + e^-40 but not here.
    assert softplus(np.array([-40.0]))[0] == pytest.approx(math.exp(-40), rel=1e-15)
