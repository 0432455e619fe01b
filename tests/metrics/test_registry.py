"""All metrics at once: golden values, a slow second implementation, and what must hold
for every metric whatever the scores."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import reference_metrics as reference
from golden import GoldenScores
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import ScoreLists, any_scores, tied
from support import assert_golden

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import (
    METRICS,
    VARIANTS,
    TrialScores,
    Variant,
    of_kind,
    score_metrics,
    zebra_tag,
)
from privacy_eval.metrics.registry import registered

SCORE_METRICS = of_kind("scores")

LOW_FALSE_ALARMS = ("min_dcf_0.01", "min_dcf_0.001", "miss_at_fa_0.01", "miss_at_fa_0.001")
#: Depend on the order of the scores alone.
RANK_METRICS = SCORE_METRICS.keys() - {"cllr", "linkability"}

each_variant = pytest.mark.parametrize("variant", VARIANTS)


def test_entries_of_the_registry_are_complete() -> None:
    assert all(info.key == key for key, info in METRICS.items())
    assert {info.best for info in SCORE_METRICS.values()} == {"higher", "lower", None}
    assert all(info.meaning and info.source for info in METRICS.values())


@each_variant
def test_score_metrics_has_every_metric_in_order(variant: Variant) -> None:
    values = score_metrics(TrialScores([1.0, 3.0], [0.0, 2.0]), variant=variant)
    assert list(values) == list(SCORE_METRICS)
    assert all(type(value) is float for value in values.values())


def test_best_direction_is_that_of_useless_scores() -> None:
    useless = score_metrics(TrialScores([0.0] * 50, [0.0] * 50))
    perfect = score_metrics(TrialScores([9.0] * 50, [-9.0] * 50))
    # Kaldi's EER of tied scores: no score is below another, so the loop ends at (T-1)/T.
    assert useless["eer"] == 49 / 50
    for key, info in SCORE_METRICS.items():
        if info.best is not None:
            assert (useless[key] > perfect[key]) == (info.best == "higher"), key


def test_actual_cllr_has_no_direction() -> None:
    """Miscalibrated separable scores cost more than uninformative ones."""
    useless = score_metrics(TrialScores([0.0] * 50, [0.0] * 50))
    shifted = score_metrics(TrialScores([109.0] * 50, [91.0] * 50))
    assert shifted["cllr"] > useless["cllr"] and shifted["eer"] < useless["eer"]
    assert [key for key, info in SCORE_METRICS.items() if info.best is None] == ["cllr"]


# Golden values


@each_variant
def test_golden_values(golden_scores: GoldenScores, variant: Variant) -> None:
    expected = golden_scores.expected["reference" if variant == "challenge" else "exact"]
    values = score_metrics(golden_scores.scores, variant=variant)
    assert golden_scores.scores.n_target == golden_scores.expected["n_target"]
    assert golden_scores.scores.n_nontarget == golden_scores.expected["n_nontarget"]
    assert (
        f"{100 * np.float32(values['eer']):.4g}"
        == (golden_scores.expected["kaldi_compute_eer_stdout"])
    )
    assert_golden({**values, "zebra_tag": zebra_tag(values, variant)}, expected)


# The slow second implementation


def assert_agrees_with_reference(scores: ScoreLists, variant: Variant) -> None:
    values = score_metrics(TrialScores(*scores), variant=variant)
    expected = reference.all_metrics(*scores, variant)
    assert expected.keys() == SCORE_METRICS.keys()
    for key, value in expected.items():
        assert values[key] == pytest.approx(value, rel=1e-12, abs=1e-11), key


@each_variant
@settings(max_examples=60)
@given(scores=any_scores())
@example(scores=([0.0], [0.0]))
@example(scores=([0.0] * 3, [0.0] * 5))
@example(scores=([0.0] * 3 + [1.0], [2.0, 3.0]))
@example(scores=([5.0] * 40, [-5.0] * 40))
@example(scores=([-5.0] * 40, [5.0] * 40))
def test_agrees_with_reference(scores: ScoreLists, variant: Variant) -> None:
    assert_agrees_with_reference(scores, variant)


@each_variant
@pytest.mark.parametrize("digits", [1, 9])
def test_agrees_with_reference_on_more_trials(digits: int, variant: Variant) -> None:
    """Enough targets for many bins of linkability; of one digit with ties, of nine without."""
    generator = random.Random(digits)
    target = [round(generator.gauss(1, 1), digits) for _ in range(230)]
    nontarget = [round(generator.gauss(-1, 1.5), digits) for _ in range(310)]
    assert_agrees_with_reference((target, nontarget), variant)


def test_variants_agree_without_ties() -> None:
    generator = random.Random(5)
    scores = TrialScores(
        [generator.gauss(1, 1) for _ in range(300)], [generator.gauss(0, 1) for _ in range(700)]
    )
    exact, challenge = (score_metrics(scores, variant=v) for v in ("exact", "challenge"))
    for key in SCORE_METRICS.keys() - {"linkability"}:
        assert challenge[key] == pytest.approx(exact[key], rel=0, abs=2e-6), key
    assert challenge["linkability"] != exact["linkability"]


# Properties of every metric


def shuffled(labels: list[tuple[float, bool]], order: random.Random) -> list[tuple[float, bool]]:
    return order.sample(labels, len(labels))


@each_variant
@settings(max_examples=60)
@given(scores=any_scores(), order=st.randoms(use_true_random=False))
def test_metrics_are_invariant_to_trial_order(
    scores: ScoreLists, variant: Variant, order: random.Random
) -> None:
    """Except min DCF in `challenge` if classes tie: a threshold lies after
    every single trial, so the value is that of the file's order. See test_detection."""
    trials = reference.trials_of(*scores)
    first, second = (
        score_metrics(TrialScores.from_labels(*zip(*permuted, strict=True)), variant=variant)
        for permuted in (trials, shuffled(trials, order))
    )
    depends = {key for key in SCORE_METRICS if key.startswith("min_dcf")}
    if variant == "exact" or not set(scores[0]) & set(scores[1]):
        depends = set()
    for key in SCORE_METRICS.keys() - depends:
        assert second[key] == pytest.approx(first[key], rel=1e-12, abs=1e-12), key


@each_variant
@settings(max_examples=60)
@given(scores=any_scores(), data=st.data())
def test_metrics_are_invariant_to_monotone_maps(
    scores: ScoreLists, variant: Variant, data: st.DataObject
) -> None:
    """Any map that keeps the order (also in float32, for Kaldi's EER) keeps EER, ROCCH-EER,
    min Cllr, ZEBRA and min DCF."""
    old = sorted({*scores[0], *scores[1]})
    size = len(old)
    new = data.draw(
        st.lists(st.integers(-(2**24), 2**24).map(float), min_size=size, max_size=size, unique=True)
    )
    moved = dict(zip(old, sorted(new), strict=True))
    before = score_metrics(TrialScores(*scores), variant=variant)
    after = score_metrics(
        TrialScores([moved[s] for s in scores[0]], [moved[s] for s in scores[1]]), variant=variant
    )
    for key in RANK_METRICS:
        assert after[key] == before[key], key


@each_variant
@settings(max_examples=40)
@given(scores=any_scores(), exponent=st.integers(-30, 30))
def test_linkability_is_invariant_to_scale(
    scores: ScoreLists, variant: Variant, exponent: int
) -> None:
    """Powers of two, so that the bin edges scale without rounding."""
    factor = 2.0**exponent
    before = score_metrics(TrialScores(*scores), variant=variant)
    after = score_metrics(
        TrialScores([s * factor for s in scores[0]], [s * factor for s in scores[1]]),
        variant=variant,
    )
    assert after["linkability"] == pytest.approx(before["linkability"], rel=0, abs=1e-12)


@each_variant
@settings(max_examples=50)
@given(scores=any_scores())
def test_ranges(scores: ScoreLists, variant: Variant) -> None:
    values = score_metrics(TrialScores(*scores), variant=variant)
    # The released scripts' slope of 1e-6 may push a cost over its bound.
    slack = 1e-12 if variant == "exact" else 2e-6
    assert not any(math.isnan(value) for value in values.values())
    assert 0 <= values["eer"] <= 1 - 1 / len(scores[0])
    assert 0 <= values["rocch_eer"] <= 0.5 + 1e-12
    assert 0 <= values["cllr"]
    assert -slack <= values["cllr_min"] <= 1 + slack
    assert 0 <= values["linkability"] <= 1 + 1e-12
    assert -slack <= values["zebra_population"] <= 1 / math.log(4) + slack
    assert 0 <= values["zebra_individual"]
    assert all(-1e-12 <= values[key] <= 1 + 1e-12 for key in LOW_FALSE_ALARMS)


@each_variant
@settings(max_examples=50)
@given(scores=any_scores())
def test_minimum_is_not_above_actual(scores: ScoreLists, variant: Variant) -> None:
    values = score_metrics(TrialScores(*scores), variant=variant)
    slack = 1e-12 if variant == "exact" else 2e-6
    assert values["cllr_min"] <= values["cllr"] + slack


@settings(max_examples=60)
@given(scores=tied())
def test_worst_case_is_not_below_the_mean_disclosure(scores: ScoreLists) -> None:
    """If the worst-case disclosure is 0, so is the expected disclosure."""
    values = score_metrics(TrialScores(*scores))
    if values["zebra_individual"] < 1e-12:
        assert values["zebra_population"] < 1e-12


# Singular cases


SINGULAR: dict[str, ScoreLists] = {
    "separated": ([2.0] * 30, [1.0] * 40),
    "inverted": ([1.0] * 30, [2.0] * 40),
    "all tied": ([1.0] * 30, [1.0] * 40),
    "one target": ([1.0], [0.0, 1.0, 2.0]),
    "one nontarget": ([0.0, 1.0, 2.0], [1.0]),
    "one of each": ([1.0], [0.0]),
    "one of each, tied": ([1.0], [1.0]),
    "one of each, inverted": ([0.0], [1.0]),
    "signed zeros": ([0.0] * 30, [-0.0] * 30),
    "huge and right": ([1e300] * 30, [-1e300] * 30),
    "huge and wrong": ([-1e300] * 30, [1e300] * 30),
    "as far apart as floats go": ([1.7e308] * 30, [-1.7e308] * 30),
    "beyond float32": ([1e39] * 30, [1e38] * 30),
    "tiny": ([1e-300] * 30, [-1e-300] * 30),
    "subnormal": ([5e-324] * 30, [0.0] * 30),
    "closer than a bin can be": ([1.0 + 2.0**-52] * 30, [1.0] * 30),
}


@each_variant
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_cases_are_finite(name: str, variant: Variant) -> None:
    values = score_metrics(TrialScores(*SINGULAR[name]), variant=variant)
    for key, value in values.items():
        assert not math.isnan(value), key
        assert math.isfinite(value) or (key == "cllr" and variant == "challenge"), key


@pytest.mark.parametrize(
    "name",
    ["separated", "huge and right", "tiny", "subnormal", "closer than a bin can be"],
)
def test_separated_scores_leave_no_privacy(name: str) -> None:
    target, nontarget = SINGULAR[name]
    values = score_metrics(TrialScores(target, nontarget))
    assert values["cllr_min"] == values["rocch_eer"] == 0
    assert not any(values[key] for key in LOW_FALSE_ALARMS)
    assert values["linkability"] == pytest.approx(1, abs=1e-12)
    assert values["zebra_population"] == pytest.approx(1 / math.log(4), abs=1e-12)


@pytest.mark.parametrize("name", ["all tied", "one of each, tied", "signed zeros"])
def test_tied_scores_are_uninformative(name: str) -> None:
    values = score_metrics(TrialScores(*SINGULAR[name]))
    assert values["rocch_eer"] == pytest.approx(0.5, abs=1e-12)
    assert values["cllr_min"] == pytest.approx(1, abs=1e-12)
    assert values["linkability"] == 0
    assert values["zebra_population"] == pytest.approx(0, abs=1e-12)
    for key in LOW_FALSE_ALARMS:
        assert values[key] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("target", "nontarget", "message"),
    [
        ([], [1.0], "no target trials"),
        ([1.0], [], "no nontarget trials"),
        ([], [], "no target trials"),
        ([math.nan, 1.0], [0.0], r"1 of 2 target scores are not finite numbers .*nan at index 0"),
        ([1.0], [0.0, math.inf], r"1 of 2 nontarget scores are not finite .*inf at index 1"),
        ([-math.inf], [0.0], "1 of 1 target scores are not finite"),
    ],
)
def test_bad_scores_are_an_error(target: list[float], nontarget: list[float], message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        score_metrics(TrialScores(target, nontarget))


_ALL_NUMBERS = """
import hashlib, numpy as np
from privacy_eval.metrics import VARIANTS, TrialScores, ece_profile, score_metrics
from privacy_eval.metrics.curves import dcf_profile, densities, expected_cost_reduction
digest, drawn = hashlib.sha256(), np.random.default_rng(0)
for size in (7, 100, 3001):
    scores = TrialScores(drawn.normal(1, 1, size).round(3), drawn.normal(-1, 1, 3 * size).round(3))
    profile, density = ece_profile(scores), densities(scores)
    found = [list(score_metrics(scores, variant=v).values()) for v in VARIANTS]
    found += [profile.minimum, profile.actual, density.target, dcf_profile(scores).actual]
    for values in (*found, expected_cost_reduction(scores)):
        digest.update(np.asarray(values).tobytes())
print(digest.hexdigest())
"""


def test_metrics_do_not_depend_on_the_kernels_of_blas() -> None:
    """OpenBLAS sums in another order on other processors."""
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", _ALL_NUMBERS],
            env={**os.environ, "OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": "1"},
        )
        for kernels in ("Haswell", "Prescott")
    }
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("key", "value", "options", "text"),
    [
        ("eer", 17 / 160, {}, "10.63"),  # 10.625 %
        ("eer", 1 / 32, {"decimals": 2}, "3.13"),  # 3.125 %
        ("eer", 0.29995, {}, "30.00"),  # 29.995 %, whose double is 29.994999999999997
        ("eer_speechbrain", 9 / 32, {}, "28.13"),  # 28.125 %
        ("eer", 1 / 3, {}, "33.33"),
        ("eer", 2 / 3, {"detailed": True}, "66.667"),
        ("wer", 0.0125, {"decimals": 1}, "1.3"),
        ("eer", math.inf, {}, "inf"),
        ("gvd_db", -0.125, {}, "-0.12"),  # no ratio
    ],
)
def test_half_way_ratios_are_rounded_up(
    key: str, value: float, options: dict[str, int], text: str
) -> None:
    assert METRICS[key].format(value, **options) == text  # type: ignore[arg-type]
    assert METRICS[key].format(np.float64(value), **options) == text  # type: ignore[arg-type]


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(0, 4))
def test_ratios_are_rounded_exactly(errors: int, trials: int, decimals: int) -> None:
    exact = Fraction(errors, trials) * 100 * 10**decimals
    digits = math.floor(exact + Fraction(1, 2))
    printed = Fraction(METRICS["eer"].format(errors / trials, decimals=decimals))
    assert printed == Fraction(digits, 10**decimals)


def test_metrics_that_are_only_described_do_not_hide_the_next() -> None:
    described = replace(METRICS["eer"], key="described", function=None)
    with registered([described, replace(METRICS["eer"], key="mine")]):
        found = score_metrics(TrialScores([1.0, 3.0], [0.0, 2.0]))
    assert "described" not in found and found["mine"] == found["eer"]
