"""Cllr, actual and minimum; ZEBRA's disclosures and tags; costs and ECE over the prior."""

import math

import golden
import numpy as np
import pytest
import reference_metrics as reference
from golden import table_1
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import expit
from strategies import ScoreLists, any_scores, each_variant, normal_scores, operating_points

from privacy_eval.metrics import (
    VARIANTS,
    TrialScores,
    Variant,
    categorical_tag,
    cllr,
    min_cllr,
    min_dcf,
    rocch_eer,
    zebra,
)
from privacy_eval.metrics.llr import (
    CATEGORICAL_TAGS,
    dcf_profile,
    ece_profile,
    evidence_function,
    expected_cost_reduction,
    individual_disclosure,
    population_disclosure,
    softplus,
    zebra_number,
)

#: exp() of more than this is no float.
LOG_MAX = math.log(np.finfo(np.float64).max)


@each_variant
def test_cllr_by_hand(variant: Variant) -> None:
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


def test_min_cllr_by_hand() -> None:
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


NO_PRIVACY = 1 / math.log(4)


# Population


def test_limits_of_the_expected_disclosure() -> None:
    assert pytest.approx(0.721, abs=5e-4) == NO_PRIVACY
    separated = TrialScores([1.0] * 3, [0.0] * 5)
    assert population_disclosure(separated) == pytest.approx(NO_PRIVACY, abs=1e-15)
    tied = TrialScores([0.0] * 3, [0.0] * 5)
    assert population_disclosure(tied) == pytest.approx(0, abs=1e-15)


@each_variant
def test_population_by_hand(variant: Variant) -> None:
    # N N N T | N T T T: two blocks of shares 1/4 and 3/4, LRs 1/3 and 3. With
    # Z(x) = ((x-3)(x-1) + 2 log x) / (4 (x-1)^2):
    # Z(3) = (0 + 2 log 3) / 16 = log(3)/8;
    # Z(1/3) = ((-8/3)(-2/3) - 2 log 3) / (16/9) = 1 - 9 log(3)/8.
    # Targets: (Z(1/3) + 3 Z(3)) / 4; nontargets the same by symmetry.
    scores = TrialScores([0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0])
    z_of_3, z_of_third = math.log(3) / 8, 1 - 9 * math.log(3) / 8
    expected = 2 * (z_of_third + 3 * z_of_3) / 4 / math.log(2)
    tolerance = 1e-14 if variant == "exact" else 1e-6
    value = population_disclosure(scores, variant=variant)
    assert value == pytest.approx(expected, rel=0, abs=tolerance)


@pytest.mark.filterwarnings("error")
@settings(max_examples=40)
@given(scores=any_scores(20))
def test_closed_form_is_the_integral(scores: ScoreLists) -> None:
    expected = reference.population_integral(reference.trials_of(*scores))
    assert population_disclosure(TrialScores(*scores)) == pytest.approx(expected, rel=0, abs=1e-8)


@pytest.mark.parametrize("targets", [3, 10, 100, 271])
@pytest.mark.parametrize("nontargets", [7, 200, 1113])
def test_inverted_scores_disclose_exactly_nothing(targets: int, nontargets: int) -> None:
    """PAV pools all of them: the LLR is that of equal odds, 0 but for rounding."""
    scores = TrialScores(np.zeros(targets), np.ones(nontargets))
    for variant in ("challenge", "exact"):
        assert population_disclosure(scores, variant=variant) == 0


@pytest.mark.parametrize("scores", [([0.0] * 7, [0.0] * 9), ([0.0, 1.0], [2.0])])
def test_challenge_without_evidence_is_exactly_0(scores: ScoreLists) -> None:
    """Every LLR is 0 plus the slope, at most 1e-6."""
    assert population_disclosure(TrialScores(*scores), variant="challenge") == 0


def test_challenge_counts_evidence_from_1e_minus_6_on() -> None:
    """Tied scores but for two pure blocks: in the middle block the LLR is a rounding error
    of 0 plus the slope, which stays below 1e-6 and so gives no evidence."""
    # N | 10 T and 10 N | T: LLRs -inf, 0, inf. In the middle nothing; one of 11 targets and
    # one of 11 nontargets disclose all: Z = 1/4 each. (1/4/11 + 1/4/11) / log 2.
    scores = TrialScores([1.0] * 10 + [2.0], [0.0] + [1.0] * 10)
    value = population_disclosure(scores, variant="challenge")
    assert value == pytest.approx(1 / 22 / math.log(2), rel=0, abs=1e-15)


@pytest.mark.parametrize(
    "blocks",
    [
        # The LLR is log(tN / nT): -1.6e-6, which the slope lifts above -1e-6 at rank 901.
        [(799, 800), (1, 1)],
        [(999, 1000), (1, 1)],  # -1.0000005e-6: the first trial alone is evidence
        [(1, 1), (799, 798)],  # 1.6e-6: every trial is
        [(1, 1), (1199, 1198)],  # 0.7e-6: from rank 734 on
        [(1, 2), (799, 800), (2, 1)],
    ],
)
def test_challenge_counts_each_trial_near_an_llr_of_0(blocks: list[tuple[int, int]]) -> None:
    """In a tie the LLR and the released code's slope may have less than 1e-6 together for some
    trials and more for others (found by mutation)."""
    target, nontarget = (
        [float(b) for b, n in enumerate(of) for _ in range(n)] for of in zip(*blocks, strict=True)
    )
    expected = reference.population(reference.trials_of(target, nontarget), "challenge")
    value = population_disclosure(TrialScores(target, nontarget), variant="challenge")
    assert value == pytest.approx(expected, rel=0, abs=1e-14)


def test_challenge_pools_ties_in_the_population_metric_only() -> None:
    scores = TrialScores([1.0, 2.0] * 20, [0.0, 1.0] * 20)
    exact, challenge = (zebra(scores, variant=v) for v in ("exact", "challenge"))
    assert challenge.population == pytest.approx(exact.population, rel=0, abs=1e-6)
    # Nontargets first, the scores are separated: below T N and 40 nontargets, above 40
    # targets and T N: 1/41 and 41, T/N = 1. Pooled, 21 to 1 at most.
    assert challenge.individual == pytest.approx(math.log10(41), abs=1e-6)
    assert exact.individual == pytest.approx(math.log10(21), abs=1e-12)


# The function Z


def grid_of_z() -> list[float]:
    """Both signs, dense where the series takes over, from the tiniest to the largest."""
    small = [s * m * 10.0**e for s in (1, -1) for e in range(-18, 0) for m in (1, 2.2, 4.9)]
    return [*small, *np.linspace(-0.2, 0.2, 81), *np.linspace(-40, 40, 81), 300, 310, 709, 1e4]


def test_evidence_function_is_accurate() -> None:
    """Against eq. (6) with 150 digits."""
    for a in grid_of_z():
        expected = reference.z_closed_form(float(a))
        value = float(evidence_function([a])[0])
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-300), a


@pytest.mark.filterwarnings("error")
def test_evidence_function_limits() -> None:
    assert evidence_function([0.0, -0.0, np.inf, 1e308]).tolist() == [0, 0, 0.25, 0.25]
    # The evidence against a target has no bound: Z(-a) -> 3/4 - a/2.
    assert evidence_function([-1e6])[0] == pytest.approx(0.75 - 5e5, rel=1e-15)


@settings(max_examples=50)
@given(a=st.floats(-600, 600), step=st.floats(1e-9, 1))
def test_evidence_function_increases(a: float, step: float) -> None:
    low, high = evidence_function([a, a + step])
    assert low <= high + 1e-15


# Individual


def test_individual_by_hand() -> None:
    # 3 nontargets below 2 targets with the dummies: T NNNN | TT T N, odds 1/4 and 3;
    # T/N = 2/3, LRs 3/8 and 9/2. log10(9/2) = 0.6532 is the larger.
    scores = TrialScores([5.0, 6.0], [0.0, 1.0, 2.0])
    assert individual_disclosure(scores) == pytest.approx(math.log10(4.5), abs=1e-15)
    # k = 4 of 5 for the highest trial: 0.8e-6 in natural logarithms.
    challenge = individual_disclosure(scores, variant="challenge")
    assert challenge == pytest.approx(math.log10(4.5) + 0.8e-6 / math.log(10), abs=1e-14)


def test_individual_of_negative_evidence_by_hand() -> None:
    # 1 target far above 6 nontargets: T N*7 | T T N: odds 1/7 and 2, T/N = 1/6:
    # LRs 6/7 and 12. Mirrored, 6 targets above 1 nontarget: odds 1/2, 7; T/N = 6: 1/12, 7/6.
    above = TrialScores([9.0], [0.0] * 6)
    assert individual_disclosure(above) == pytest.approx(math.log10(12), abs=1e-15)
    below = TrialScores([9.0] * 6, [0.0])
    assert individual_disclosure(below) == pytest.approx(math.log10(12), abs=1e-15)
    # The strongest is the lowest trial, whose k is 0: no slope.
    assert individual_disclosure(below, variant="challenge") == pytest.approx(
        math.log10(12), abs=1e-15
    )


def test_individual_without_evidence() -> None:
    scores = TrialScores([1.0] * 5, [1.0] * 5)
    assert zebra(scores).tag == "0"
    assert zebra(scores).individual <= np.finfo(float).eps
    # Unequal classes: the dummies pull towards 1/2. T N | 1 T, 3 N | T N pools from below:
    # (2, 4) then (1, 1): odds 1/2 for the trials, T/N = 1/3, LR 3/2.
    few = TrialScores([1.0], [1.0] * 3)
    assert individual_disclosure(few) == pytest.approx(math.log10(1.5), abs=1e-15)


def test_challenge_never_gives_a_true_0() -> None:
    scores = TrialScores([0.0] * 5, [1.0] * 5)
    assert individual_disclosure(scores, variant="challenge") > 0
    assert zebra(scores, variant="challenge").tag == "A"


# Tags


@pytest.mark.parametrize(
    ("bound", "before", "after"),
    [(1.0, "A", "B"), (2.0, "B", "C"), (4.0, "C", "D"), (5.0, "D", "E"), (6.0, "E", "F")],
)
def test_tags_at_their_bounds(bound: float, before: str, after: str) -> None:
    below, above = math.nextafter(bound, 0), math.nextafter(bound, 9)
    for variant in VARIANTS:
        assert categorical_tag(below, variant=variant) == before
        assert categorical_tag(above, variant=variant) == after
    assert categorical_tag(bound) == after
    assert categorical_tag(bound, variant="challenge") == before


@each_variant
def test_tags_at_the_ends(variant: Variant) -> None:
    eps = float(np.finfo(float).eps)
    assert [categorical_tag(x, variant=variant) for x in (0.0, eps)] == ["0", "0"]
    assert categorical_tag(math.nextafter(eps, 1), variant=variant) == "A"
    assert categorical_tag(1e9, variant=variant) == "F"
    assert categorical_tag(math.inf, variant=variant) == "F"


@each_variant
@given(value=st.floats(0, 8) | st.integers(0, 8).map(float))
def test_tags_agree_with_reference(value: float, variant: Variant) -> None:
    assert categorical_tag(value, variant=variant) == reference.tag(value, variant)


def test_user_defined_tags() -> None:
    scale = (("weak", 0.0), ("moderate", 0.5), ("strong", 3.0))
    tags = [categorical_tag(x, tags=scale) for x in (0.0, 0.1, 0.5, 2.9, 3.0, 9.0)]
    assert tags == ["0", "weak", "moderate", "moderate", "strong", "strong"]
    assert categorical_tag(0.5, variant="challenge", tags=scale) == "weak"
    # Separated, T = N = 10: LR 11.
    separated = TrialScores([3.0] * 10, [0.0] * 10)
    assert zebra(separated, tags=scale).tag == "moderate"
    assert zebra(separated).tag == "B"


@pytest.mark.parametrize(
    "scale", [(), (("x", 1.0),), (("x", 0.0), ("y", 2.0), ("z", 1.0)), (("x", 2.0), ("y", 0.0))]
)
def test_unordered_tags_are_refused(scale: tuple[tuple[str, float], ...]) -> None:
    with pytest.raises(ValueError, match="tags must begin at 0 and ascend"):
        categorical_tag(0.5, tags=scale)


def test_tags_of_the_paper() -> None:
    assert dict(CATEGORICAL_TAGS) == {"A": 0, "B": 1, "C": 2, "D": 4, "E": 5, "F": 6}


@each_variant
def test_zebra_combines_both_disclosures(variant: Variant) -> None:
    scores = TrialScores([1.0, 2.0, 5.0], [0.0, 1.0, 2.0, 1.5])
    result = zebra(scores, variant=variant)
    assert result.population == population_disclosure(scores, variant=variant)
    assert result.individual == individual_disclosure(scores, variant=variant)
    assert result.tag == categorical_tag(result.individual, variant=variant)
    assert (result.n_target, result.n_nontarget, result.variant) == (3, 4, variant)


# ECE profile


def test_profile_by_hand() -> None:
    # Prior 1/4 (odds 1/3), one target of LR 3, one nontarget of LR 1:
    # 1/4 log2(1 + 1/(3/3)) + 3/4 log2(1 + 1/3) = 1/4 + 3/4 log2(4/3).
    scores = TrialScores([math.log(3)], [0.0])
    profile = ece_profile(scores, prior_log_odds=[-math.log(3)])
    assert profile["actual"][0] == pytest.approx(0.25 + 0.75 * math.log2(4 / 3), abs=1e-15)
    assert profile["minimum"][0] == 0
    # Binary entropy of 1/4: 1/4 * 2 + 3/4 * log2(4/3).
    assert profile["zero_evidence"][0] == pytest.approx(0.5 + 0.75 * math.log2(4 / 3), abs=1e-15)


@settings(max_examples=60)
@given(scores=any_scores(15), log_odds=st.lists(st.floats(-10, 10), min_size=1, max_size=3))
def test_profile_is_eq_4(scores: ScoreLists, log_odds: list[float]) -> None:
    profile = ece_profile(TrialScores(*scores), prior_log_odds=log_odds)
    trials = reference.trials_of(*scores)
    assert profile["prior_log_odds"].tolist() == log_odds
    for i, x in enumerate(log_odds):
        prior = 1 / (1 + math.exp(-x))
        calibrated = reference.min_llrs(trials, "exact")
        tolerance = {"rel": 1e-10, "abs": 1e-10}
        assert profile["actual"][i] == pytest.approx(reference.ece(trials, prior), **tolerance)
        assert profile["minimum"][i] == pytest.approx(reference.ece(calibrated, prior), **tolerance)
        assert profile["zero_evidence"][i] == pytest.approx(
            reference.binary_entropy(prior), **tolerance
        )


@settings(max_examples=60)
@given(scores=any_scores())
def test_profile_at_even_odds_is_cllr(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)
    profile = ece_profile(trials, prior_log_odds=[0.0])
    assert profile["zero_evidence"][0] == 1
    assert profile["actual"][0] == pytest.approx(cllr(trials).value, rel=1e-12, abs=1e-15)
    assert profile["minimum"][0] == pytest.approx(min_cllr(trials).value, rel=0, abs=1e-12)


@settings(max_examples=60)
@given(scores=any_scores())
def test_minimum_ece_is_the_lowest(scores: ScoreLists) -> None:
    profile = ece_profile(TrialScores(*scores))
    assert np.all(profile["minimum"] >= 0)
    assert np.all(profile["minimum"] <= profile["zero_evidence"] + 1e-12)
    assert np.all(profile["minimum"] <= profile["actual"] + 1e-12)


def test_default_axis_of_the_profile() -> None:
    profile = ece_profile(TrialScores([1.0], [0.0]))
    assert profile["prior_log_odds"].tolist() == np.linspace(-10, 10, 201).tolist()
    for curve in (profile["zero_evidence"], profile["minimum"], profile["actual"]):
        assert curve.shape == (201,)


@pytest.mark.filterwarnings("error")
def test_profile_at_extreme_priors() -> None:
    """At a prior of 0 or 1 ECE is 0."""
    profile = ece_profile(TrialScores([1.0, 0.0], [0.0, -1.0]), prior_log_odds=[-1000.0, 1000.0])
    for curve in (profile["zero_evidence"], profile["minimum"], profile["actual"]):
        assert curve.tolist() == pytest.approx([0, 0], abs=1e-12)


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
        assert profile["minimum"][i] == pytest.approx(best, rel=1e-9, abs=1e-14)
        assert profile["actual"][i] == pytest.approx(actual, rel=1e-9, abs=1e-14)


def test_costs_agree_with_min_dcf_and_rocch_eer(golden_scores: golden.GoldenScores) -> None:
    scores = golden_scores.scores
    for p in (0.001, 0.01, 0.5, 0.9):
        profile = dcf_profile(scores, prior_log_odds=[math.log(p / (1 - p))])
        expected = min_dcf(scores, p_target=p).value
        assert profile["minimum"][0] / profile["zero_evidence"][0] == pytest.approx(
            expected, abs=1e-9
        )
    profile = dcf_profile(scores)
    assert np.all(profile["minimum"] <= profile["actual"] + 1e-15)
    assert np.all(profile["minimum"] <= profile["zero_evidence"] + 1e-15)
    # The ROCCH-EER is the largest minimum cost over the prior.
    fine = dcf_profile(scores, prior_log_odds=np.linspace(-20, 20, 40_001))["minimum"].max()
    assert fine == pytest.approx(rocch_eer(scores).value, abs=1e-3)


@settings(max_examples=20)
@given(scores=any_scores(12))
def test_expected_cost_reduction_is_the_integral(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)

    def gain(prior: float) -> float:
        profile = dcf_profile(trials, prior_log_odds=[math.log(prior / (1 - prior))])
        return float(profile["zero_evidence"][0] - profile["minimum"][0])

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
    for x, value in zip(grid, profile["actual"], strict=True):
        miss = math.fsum(np.logaddexp(0, -(scores.target + x))) / scores.n_target
        false_alarm = math.fsum(np.logaddexp(0, scores.nontarget + x)) / scores.n_nontarget
        exact = (expit(x) * miss + expit(-x) * false_alarm) / math.log(2)
        assert value == pytest.approx(exact, rel=1e-13, abs=1e-9)


@pytest.mark.parametrize("size", [5, 40_000])
def test_ece_of_the_largest_scores(size: int) -> None:
    """The sum of scores would be infinite, and all scores are outside the bins."""
    scores = TrialScores(np.full(size, -1e308), np.full(size, 1e308))
    assert ece_profile(scores, prior_log_odds=[0.0])["actual"][0] == pytest.approx(
        1e308 / math.log(2)
    )
    good = TrialScores(np.full(size, 1e308), np.full(size, -1e308))
    assert ece_profile(good, prior_log_odds=[0.0])["actual"][0] == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.3749, "0.375"),
        (3.452, "3.452"),
        (0.0005, "0.001"),
        (0.00049, "5e-04"),
        (3e-05, "3e-05"),
        (float("inf"), "inf"),
    ],
)
def test_disclosure_is_formatted_as_in_zebra(value: float, text: str) -> None:
    assert zebra_number(value) == text
