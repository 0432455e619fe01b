"""All metrics at once: golden values, a slow second implementation, and what must hold
for every metric whatever the scores."""

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
from strategies import ScoreLists, any_scores, each_variant, tied
from support import assert_golden

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import (
    METRICS,
    Metric,
    TrialScores,
    Variant,
    of_kind,
    registry,
    score_metrics,
    similarity_matrix,
    similarity_metrics,
    zebra_tag,
)
from privacy_eval.metrics.registry import registered
from privacy_eval.metrics.similarity import SimilarityMatrix, deid_and_gvd

SCORE_METRICS = of_kind("scores")

LOW_FALSE_ALARMS = ("min_dcf_0.01", "min_dcf_0.001", "miss_at_fa_0.01", "miss_at_fa_0.001")
#: Depend on the order of the scores alone.
RANK_METRICS = {
    *("eer", "eer_speechbrain", "rocch_eer", "cllr_min", "zebra_population", "zebra_individual"),
    *LOW_FALSE_ALARMS,
}


def test_entries_of_the_registry_are_complete() -> None:
    assert all(info.key == key for key, info in METRICS.items())
    assert {info.best for info in SCORE_METRICS.values()} == {"higher", "lower", None}
    assert all(info.meaning and info.source for info in METRICS.values())


def chance_of(metric: Metric) -> float:
    """The number that the value by chance begins with, in the stored unit."""
    assert metric.chance, metric.key
    return float(metric.chance.split()[0].rstrip(",")) / (100 if metric.percent else 1)


@pytest.mark.parametrize("sizes", [(100, 2000), (1000, 20_000)])
def test_scores_without_information_have_the_values_by_chance(sizes: tuple[int, int]) -> None:
    """Means over score sets; medians for the largest evidence of a trial."""
    random = np.random.default_rng(11)
    drawn = [score_metrics(TrialScores(*(random.normal(size=n) for n in sizes))) for _ in range(60)]
    for key, metric in SCORE_METRICS.items():
        values = [values[key] for values in drawn]
        if key == "cllr":  # as said, more than 1 bit, unless calibrated
            assert np.mean(values) > 1.1
            zeros = TrialScores(np.zeros(sizes[0]), np.zeros(sizes[1]))
            assert score_metrics(zeros)[key] == pytest.approx(chance_of(metric))
            continue
        middle = np.median(values) if "median" in metric.chance else np.mean(values)
        tolerance = {"zebra_individual": 0.15, "linkability": 0.02}.get(key, 0.015)
        few = 0.03 if "few" in metric.chance and sizes[0] < 1000 else 0
        assert middle == pytest.approx(chance_of(metric), abs=tolerance + few), key


def test_linkability_by_chance_falls_with_more_targets() -> None:
    scores = TrialScores(*(np.random.default_rng(2).normal(size=n) for n in (20_000, 100_000)))
    assert score_metrics(scores)["linkability"] < 0.02


def test_matrices_without_information_have_the_values_by_chance() -> None:
    """Scores of anonymized speech that do not depend on the speaker, of 20 speakers."""
    random = np.random.default_rng(4)
    speaker = np.arange(20).repeat(8)
    same = speaker[:, None] == speaker

    def matrix(gain: float) -> SimilarityMatrix:
        scores = random.normal(np.where(same, gain, -gain), 2.0)
        return similarity_matrix(scores, speaker)

    drawn = [similarity_metrics(deid_and_gvd(matrix(3), matrix(0), matrix(0))) for _ in range(20)]
    for key in ("deid", "d_diag_oa", "d_diag_aa"):
        mean = np.mean([values[key] for values in drawn])
        assert mean == pytest.approx(chance_of(METRICS[key]), abs=0.02), key
    assert METRICS["gvd_db"].chance == "below -15 dB"
    assert max(values["gvd_db"] for values in drawn) < -15


def test_recognition_without_information_has_the_values_by_chance() -> None:
    """Emotions that are guessed; words and phones of other sentences, of the same length."""
    random = np.random.default_rng(6)
    truth, guessed = random.integers(4, size=(2, 20_000))
    uar = np.mean([(guessed[truth == emotion] == emotion).mean() for emotion in range(4)])
    assert uar == pytest.approx(chance_of(METRICS["uar"]), abs=0.02)
    assert all(chance_of(METRICS[f"acc_{e}"]) == 0.25 for e in ("ang", "hap", "neu", "sad"))
    # Frequencies of Zipf's law: 5000 words, 39 phones.
    for key, size, length in (("wer", 5000, 20), ("per", 39, 60)):
        weights = 1 / np.arange(3, size + 3)
        errors = [
            levenshtein(*random.choice(size, (2, length), p=weights / weights.sum()).tolist())
            for _ in range(100)
        ]
        chance = chance_of(METRICS[key])
        assert np.mean(errors) / length == pytest.approx(chance, abs=0.05), key


def levenshtein(first: list[int], second: list[int]) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def test_every_metric_says_its_value_by_chance() -> None:
    """But for a level, and what is itself a spread or a value by chance."""
    built_in = {key: METRICS[key] for key in registry.BUILT_IN}
    without = {key for key, metric in built_in.items() if not metric.chance}
    assert without == {"level_db", "pitch_correlation_std", "pitch_correlation_chance"}
    assert all(metric.chance in metric.explanation for metric in built_in.values())
    assert METRICS["eer"].explanation.endswith(". Higher is more private. By chance 50 %.")


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
    "name", ["separated", "huge and right", "tiny", "subnormal", "closer than a bin can be"]
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
from privacy_eval.metrics import VARIANTS, TrialScores, score_metrics
from privacy_eval.metrics.llr import dcf_profile, expected_cost_reduction
from privacy_eval.metrics.linkability import densities
from privacy_eval.metrics.llr import ece_profile
digest, drawn = hashlib.sha256(), np.random.default_rng(0)
for size in (7, 100, 3001):
    scores = TrialScores(drawn.normal(1, 1, size).round(3), drawn.normal(-1, 1, 3 * size).round(3))
    profile, density = ece_profile(scores), densities(scores)
    found = [list(score_metrics(scores, variant=v).values()) for v in VARIANTS]
    found += [profile["minimum"], profile["actual"], density["target"]]
    found += [dcf_profile(scores)["actual"]]
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
