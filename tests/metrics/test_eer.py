"""Equal error rates and their interval."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
import reference_metrics as reference
from golden import TABLE_1, GoldenScores, table_1
from hypothesis import given, settings
from strategies import ScoreLists, any_scores, each_variant

from privacy_eval.metrics import (
    TrialScores,
    Variant,
    bengio_mariethoz_interval,
    kaldi_eer,
    rocch_eer,
    speechbrain_eer,
)
from privacy_eval.metrics.eer import eer_percent, hull

# Kaldi


def test_kaldi_by_hand() -> None:
    # t = 1 3 5 7, n = 0 2 4 6. i = 0: j = 4-1-0 = 3, n = 6 < 1? no. i = 1: j = 2,
    # n = 4 < 3? no. i = 2: j = 1, n = 2 < 5: stop. EER = 2/4, threshold 5.
    eer = kaldi_eer(TrialScores([7.0, 1.0, 5.0, 3.0], [6.0, 0.0, 4.0, 2.0]))
    assert (eer.value, eer.threshold) == (0.5, 5.0)
    assert (eer.n_target, eer.n_nontarget, eer.method) == (4, 4, "kaldi")


@pytest.mark.parametrize(
    ("target", "nontarget", "expected"),
    [
        # Truncated index: T = 3, N = 2, t = 0 3 4, n = 1 2. i = 0: j = 2-1-0 = 1, n = 2 < 0? no.
        # i = 1: j = 1 - trunc(2/3) = 1, n = 2 < 3: stop. EER 1/3.
        ([0.0, 3.0, 4.0], [1.0, 2.0], 1 / 3),
        # Strict at ties: n = 1 < t = 1 is false at i = 0; nothing stops the loop: i = T-1.
        ([1.0, 1.0], [1.0, 1.0], 0.5),
        # Inverted: i ends at T-1 = 3, so even the worst scores give 3/4, not 1.
        ([0.0] * 4, [1.0] * 4, 0.75),
        # Not symmetric under a change of sign: 1 target against 3, then 3 against 1.
        ([1.0], [0.0, 2.0, 3.0], 0),
        ([0.0, -2.0, -3.0], [-1.0], 2 / 3),
        # A single target always gives 0.
        ([-5.0], [0.0, 1.0, -1.0], 0),
        ([0.0], [0.0, 1.0, -1.0], 0),
        # 16777217 = 2^24 + 1 is no float32 and becomes 2^24: a tie, which is no success.
        ([16777217.0] * 2, [16777216.0], 0.5),
        ([16777218.0] * 2, [16777216.0], 0),
    ],
)
def test_kaldi_singular_cases_by_hand(
    target: list[float], nontarget: list[float], expected: float
) -> None:
    assert kaldi_eer(TrialScores(target, nontarget)).value == expected


@pytest.mark.filterwarnings("error")
def test_kaldi_beyond_float32() -> None:
    eer = kaldi_eer(TrialScores([1e300, 1e299], [-1e300]))
    assert (eer.value, eer.threshold) == (0, math.inf)
    # Both classes at inf, as Kaldi reads them: a tie.
    assert kaldi_eer(TrialScores([1e300, 1e299], [1e298])).value == 0.5


@settings(max_examples=80)
@given(scores=any_scores())
def test_kaldi_agrees_with_its_loop(scores: ScoreLists) -> None:
    eer = kaldi_eer(TrialScores(*scores))
    assert (eer.value, eer.threshold) == reference.kaldi_eer(*scores)


def test_kaldi_agrees_with_its_loop_on_many_trials() -> None:
    generator = np.random.default_rng(0)
    for n_target, n_nontarget in [(997, 3001), (3001, 997), (1, 500), (500, 1)]:
        target = generator.normal(0.5, 1, n_target).round(2)
        nontarget = generator.normal(0, 1, n_nontarget).round(2)
        eer = kaldi_eer(TrialScores(target, nontarget))
        assert (eer.value, eer.threshold) == reference.kaldi_eer(target, nontarget)


def test_golden_threshold(golden_scores: GoldenScores) -> None:
    threshold = golden_scores.expected["reference"]["eer_threshold"]
    assert kaldi_eer(golden_scores.scores).threshold == float(np.float32(threshold))


# SpeechBrain

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "eer" / "cases.jsonl.gz"


def test_speechbrain_by_hand() -> None:
    # Thresholds 0 .5 1 1.5 2 2.5 3; at 1: miss 1/2, false alarm 1/2: no gap, the first such.
    eer = speechbrain_eer(TrialScores([1.0, 3.0], [0.0, 2.0]))
    assert (eer.value, eer.threshold, eer.method) == (0.5, 1.0, "speechbrain")
    # One threshold at which all are rejected: the mean of miss 1 and false alarm 0.
    assert speechbrain_eer(TrialScores([1.0] * 20, [1.0])).value == 0.5
    # 1 target of 40 nontargets, 3 above: false alarm 3/40 before it, miss 1 at it.
    scores = TrialScores([0.0], [*range(1, 4), *range(-37, 0)])
    assert speechbrain_eer(scores).value == float(np.float32(3 / 40)) / 2


def test_speechbrain_golden_cases_to_the_last_bit() -> None:
    cases = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]
    assert len(cases) == 78
    for case in cases:
        eer = speechbrain_eer(TrialScores(case["target"], case["nontarget"]))
        assert (eer.value, eer.threshold) == (case["eer"], case["threshold"]), case["case"]


@pytest.mark.filterwarnings("error")
@settings(max_examples=80)
@given(scores=any_scores())
def test_speechbrain_agrees_with_its_loop(scores: ScoreLists) -> None:
    eer = speechbrain_eer(TrialScores(*scores))
    assert (eer.value, eer.threshold) == reference.speechbrain_eer(*scores)


@pytest.mark.filterwarnings("error")
def test_speechbrain_beyond_float32() -> None:
    assert speechbrain_eer(TrialScores([1e300, 1e299], [-1e300])).value == 0


# ROC convex hull


def test_rocch_by_hand() -> None:
    # N T N T: blocks N | T N | T. Corners (miss, false alarm): (0, 1), (0, 1/2), (1/2, 0),
    # (1, 0). On the segment (0, 1/2)-(1/2, 0) both are 1/4.
    scores = TrialScores([1.0, 3.0], [0.0, 2.0])
    eer = rocch_eer(scores)
    assert eer.value == 0.25
    assert (eer.threshold, eer.method) == (None, "rocch exact")
    miss, false_alarm = hull(scores.pav())
    assert miss.tolist() == [0, 0, 0.5, 1]
    assert false_alarm.tolist() == [1, 0.5, 0, 0]


def test_rocch_with_unequal_classes_by_hand() -> None:
    # N N N N T N T T: blocks NNNN | T N | TT with T = 3, N = 5. Corners (0, 1), (0, 1/5),
    # (1/3, 0), (1, 0). On miss = s/3, false alarm = (1-s)/5: s = 3/8, both 1/8.
    scores = TrialScores([5.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0, 6.0])
    assert rocch_eer(scores).value == pytest.approx(1 / 8, abs=1e-15)


def test_rocch_ties_by_hand() -> None:
    # N at 0, N and T at 1, T at 2. Pooled: corners (0, 1), (0, 1/2), (1/2, 0), (1, 0): 1/4.
    # Nontargets first they are separated: 0.
    scores = TrialScores([1.0, 2.0], [0.0, 1.0])
    assert rocch_eer(scores, variant="exact").value == 0.25
    assert rocch_eer(scores, variant="challenge").value == 0


@pytest.mark.parametrize("case", TABLE_1)
def test_table_1_of_the_comparative_study(case: int) -> None:
    """EER 0.25 in each of its discrete cases.

    Kaldi's in case 3: t = 3 5 6 7, n = 1 2 4 8; i = 0: 8 < 3? no; i = 1: 4 < 5: 1/4.
    """
    scores = table_1(case)
    assert kaldi_eer(scores).value == 0.25
    # Any threshold between 4 and 5 misses 1 of 4 and accepts 1 of 4, as the paper has it.
    assert np.mean(scores.target < 4.5) == np.mean(scores.nontarget > 4.5) == 0.25


@each_variant
@settings(max_examples=50)
@given(scores=any_scores())
def test_rocch_is_below_every_threshold(scores: ScoreLists, variant: Variant) -> None:
    """The hull lies below the ROC: no threshold has both error rates below the ROCCH-EER."""
    value = rocch_eer(TrialScores(*scores), variant=variant).value
    for threshold in [*scores[0], *scores[1], math.inf]:
        miss = sum(s < threshold for s in scores[0]) / len(scores[0])
        false_alarm = sum(s >= threshold for s in scores[1]) / len(scores[1])
        assert value <= max(miss, false_alarm) + 1e-12


# Interval


def test_interval_by_hand() -> None:
    # EER 0.2 of 100 targets and 400 nontargets: variance 0.16/400 + 0.16/1600 = 0.0005;
    # 1.96 * sqrt(0.0005) = 0.0438269...
    low, high = bengio_mariethoz_interval(0.2, 100, 400)
    assert low == pytest.approx(0.2 - 0.04382693, abs=1e-8)
    assert high == pytest.approx(0.2 + 0.04382693, abs=1e-8)


def test_interval_of_an_eer() -> None:
    eer = kaldi_eer(TrialScores([1.0, 3.0, 5.0, 7.0], [0.0, 2.0, 4.0, 6.0]))
    # EER 1/2, T = N = 4: variance 2 * 0.25 / 16 = 1/32.
    half = 1.96 * math.sqrt(1 / 32)
    assert eer.interval_if_independent == pytest.approx((0.5 - half, 0.5 + half), abs=1e-15)


def test_interval_stays_within_0_and_1() -> None:
    assert bengio_mariethoz_interval(0.0, 10, 10) == (0, 0)
    assert bengio_mariethoz_interval(1.0, 10, 10) == (1, 1)
    assert bengio_mariethoz_interval(0.1, 1, 1)[0] == 0
    assert bengio_mariethoz_interval(0.9, 1, 1)[1] == 1


def test_interval_takes_another_z() -> None:
    # Variance 0.25/400 + 0.25/400 = 1/800.
    narrow = bengio_mariethoz_interval(0.5, 100, 100, z=1.0)
    assert narrow == pytest.approx((0.5 - math.sqrt(1 / 800), 0.5 + math.sqrt(1 / 800)))


@pytest.mark.parametrize(
    ("eer", "text"),
    [
        (0.0, "0"),
        (1.0, "100"),
        (0.5, "50"),
        (1 / 3, "33.33"),
        (0.08665, "8.665"),
        (0.0292, "2.92"),
        (1e-5, "0.001"),
        (1e-7, "1e-05"),
    ],
)
def test_eer_is_formatted_as_in_kaldi(eer: float, text: str) -> None:
    """Kaldi streams 100 times a float32 with C++'s four digits, which are C's %.4g."""
    assert eer_percent(eer) == text
    assert eer_percent(eer) == f"{float(np.float32(eer)) * 100.0:.4g}"
