"""ZEBRA: expected and worst-case disclosure, tags, ECE profiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference_metrics as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ScoreLists, any_scores

from privacy_eval.metrics import (
    VARIANTS,
    TrialScores,
    Variant,
    categorical_tag,
    cllr,
    min_cllr,
    zebra,
)
from privacy_eval.metrics.llr import (
    CATEGORICAL_TAGS,
    ece_profile,
    evidence_function,
    individual_disclosure,
    population_disclosure,
)

NO_PRIVACY = 1 / math.log(4)

each_variant = pytest.mark.parametrize("variant", VARIANTS)


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
    assert profile.actual[0] == pytest.approx(0.25 + 0.75 * math.log2(4 / 3), abs=1e-15)
    assert profile.minimum[0] == 0
    # Binary entropy of 1/4: 1/4 * 2 + 3/4 * log2(4/3).
    assert profile.zero_evidence[0] == pytest.approx(0.5 + 0.75 * math.log2(4 / 3), abs=1e-15)


@settings(max_examples=60)
@given(scores=any_scores(15), log_odds=st.lists(st.floats(-10, 10), min_size=1, max_size=3))
def test_profile_is_eq_4(scores: ScoreLists, log_odds: list[float]) -> None:
    profile = ece_profile(TrialScores(*scores), prior_log_odds=log_odds)
    trials = reference.trials_of(*scores)
    assert profile.prior_log_odds.tolist() == log_odds
    for i, x in enumerate(log_odds):
        prior = 1 / (1 + math.exp(-x))
        calibrated = reference.min_llrs(trials, "exact")
        tolerance = {"rel": 1e-10, "abs": 1e-10}
        assert profile.actual[i] == pytest.approx(reference.ece(trials, prior), **tolerance)
        assert profile.minimum[i] == pytest.approx(reference.ece(calibrated, prior), **tolerance)
        assert profile.zero_evidence[i] == pytest.approx(
            reference.binary_entropy(prior), **tolerance
        )


@settings(max_examples=60)
@given(scores=any_scores())
def test_profile_at_even_odds_is_cllr(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)
    profile = ece_profile(trials, prior_log_odds=[0.0])
    assert profile.zero_evidence[0] == 1
    assert profile.actual[0] == pytest.approx(cllr(trials).value, rel=1e-12, abs=1e-15)
    assert profile.minimum[0] == pytest.approx(min_cllr(trials).value, rel=0, abs=1e-12)


@settings(max_examples=60)
@given(scores=any_scores())
def test_minimum_ece_is_the_lowest(scores: ScoreLists) -> None:
    profile = ece_profile(TrialScores(*scores))
    assert np.all(profile.minimum >= 0)
    assert np.all(profile.minimum <= profile.zero_evidence + 1e-12)
    assert np.all(profile.minimum <= profile.actual + 1e-12)


def test_default_axis_of_the_profile() -> None:
    profile = ece_profile(TrialScores([1.0], [0.0]))
    assert profile.prior_log_odds.tolist() == np.linspace(-10, 10, 201).tolist()
    for curve in (profile.zero_evidence, profile.minimum, profile.actual):
        assert curve.shape == (201,)


@pytest.mark.filterwarnings("error")
def test_profile_at_extreme_priors() -> None:
    """At a prior of 0 or 1 ECE is 0."""
    profile = ece_profile(TrialScores([1.0, 0.0], [0.0, -1.0]), prior_log_odds=[-1000.0, 1000.0])
    for curve in (profile.zero_evidence, profile.minimum, profile.actual):
        assert curve.tolist() == pytest.approx([0, 0], abs=1e-12)
