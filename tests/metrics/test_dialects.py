"""The EER as other programs define it: their values, and loops over the same definitions."""

import bisect
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from golden import FOLDER, GoldenScores
from hypothesis import example, given, settings
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from strategies import ScoreLists, any_scores
from support import cli, ok

from privacy_eval.metrics import TrialScores
from privacy_eval.metrics.dialects import DIALECTS, MIN_DCF_DIALECTS, eer_dialects, min_dcf_dialects

GOLDEN = FOLDER.parent / "dialects"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
SMALL = json.loads((GOLDEN / "small_sets.json").read_text())

#: The programs add in another order, search to 2e-12 (brentq), or have rates in float32.
TOLERANCES = {"pyannote": 1e-15, "case_benchmark": 3e-12, "torchmetrics": 1e-7}


def test_golden_values(golden_scores: GoldenScores) -> None:
    expected = EXPECTED[golden_scores.name]
    values = eer_dialects(golden_scores.scores)
    assert list(values) == list(expected) == list(DIALECTS)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-6, rel=0), name


@pytest.mark.parametrize("name", SMALL)
def test_small_sets_as_the_programs_themselves(name: str) -> None:
    of = SMALL[name]
    values = eer_dialects(TrialScores(of["target"], of["nontarget"]))
    for dialect, value in of["eer"].items():
        if dialect not in TOLERANCES:
            assert values[dialect] == value, dialect  # None: an error of the program
        else:
            assert values[dialect] == pytest.approx(value, abs=TOLERANCES[dialect], rel=0), dialect


@pytest.mark.parametrize("name", SMALL)
def test_minimum_costs_as_the_programs_themselves(name: str) -> None:
    """SpeechBrain's is not normalized and has float32 rates and scores."""
    of = SMALL[name]
    costs = min_dcf_dialects(TrialScores(of["target"], of["nontarget"]))
    assert list(costs) == list(of["min_dcf"]) == list(MIN_DCF_DIALECTS)
    assert costs["normalized"] == pytest.approx(of["min_dcf"]["normalized"], abs=1e-12, rel=0)
    assert costs["speechbrain"] == pytest.approx(of["min_dcf"]["speechbrain"], abs=1e-9, rel=0)


def sigmoid_of_batches(batches: list[NDArray[np.float32]]) -> list[float]:
    """Scores as torchmetrics keeps them: a sigmoid of each batch that has one outside [0, 1]."""
    with np.errstate(over="ignore"):
        kept = [b if b.min() >= 0 and b.max() <= 1 else 1 / (1 + np.exp(-b)) for b in batches]
    return [float(score) for batch in kept for score in batch]


@pytest.mark.parametrize("name", [name for name in SMALL if "torchmetrics" in SMALL[name]])
def test_torchmetrics_depends_on_batches_and_precision(name: str) -> None:
    target, nontarget = SMALL[name]["target"], SMALL[name]["nontarget"]
    recorded = SMALL[name]["torchmetrics"]
    scores = np.array(target + nontarget, dtype=np.float32)
    order = np.array(sorted(range(scores.size), key=lambda i: (37 * i) % 97))
    found = {}
    for size in (2, 8):
        batches = np.split(order, range(size, scores.size, size))
        kept = np.empty(scores.size)
        kept[order] = sigmoid_of_batches([scores[batch] for batch in batches])
        found[f"float32, batches of {size}"] = kept
    parts = np.split(scores, [len(target)])
    found["float32, targets then nontargets"] = np.array(sigmoid_of_batches(parts))
    for kind, kept in found.items():
        pooled = TrialScores(kept[: len(target)], kept[len(target) :])
        assert eer_dialects(pooled)["torchmetrics"] == pytest.approx(recorded[kind], abs=1e-7), kind
    one_batch = eer_dialects(TrialScores(target, nontarget))["torchmetrics"]
    assert one_batch == pytest.approx(recorded["float32"], abs=1e-7)


def test_batches_of_cosines_have_other_eers() -> None:
    """Batches of two raise the EER of cosines from 8 to 41 %; float64 has fewer ties."""
    cosines, close = (SMALL[name]["torchmetrics"] for name in ("cosines", "close_scores"))
    assert cosines["float32"] == pytest.approx(2 / 24, abs=1e-7)
    assert cosines["float32, batches of 2"] == pytest.approx(0.40972, abs=1e-5)
    assert (close["float32"], close["float64"]) == (0.375, 0.25)


# Loops


def points(target: list[float], nontarget: list[float]) -> list[tuple[int, int]]:
    """Missed targets and accepted nontargets at all distinct scores, the lowest first."""
    counts = [(0, len(nontarget))]
    for at in sorted({*target, *nontarget}):
        counts.append((sum(t <= at for t in target), sum(n > at for n in nontarget)))
    return counts


def points_per_trial(target: list[float], nontarget: list[float]) -> list[tuple[int, int]]:
    """The same, one trial after the other, targets first at ties."""
    counts = [(0, len(nontarget))]
    for _, is_nontarget in sorted([*((t, 0) for t in target), *((n, 1) for n in nontarget)]):
        missed, accepted = counts[-1]
        counts.append((missed + 1 - is_nontarget, accepted - is_nontarget))
    return counts


def crossing(rates: list[tuple[float, float]]) -> float | None:
    """Where the lines between points meet miss = false alarm."""
    for (m, f), (next_m, next_f) in zip(rates, rates[1:], strict=False):
        if m < f and next_m >= next_f:
            return m + (f - m) / ((f - m) + (next_m - next_f)) * (next_m - m)
    return None


def corners(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What scikit-learn keeps, from rejecting to accepting all: not the points in the middle of
    two equal steps, but the first two and the last."""
    roc = counts[::-1]
    kept = []
    for i, (m, f) in enumerate(roc):
        if 2 <= i < len(roc) - 1:
            (last_m, last_f), (next_m, next_f) = roc[i - 1], roc[i + 1]
            if next_m - m == m - last_m and next_f - f == f - last_f:
                continue
        kept.append((m, f))
    return kept


@settings(max_examples=60, deadline=None)
@given(scores=any_scores(20))
def test_dialects_agree_with_loops(scores: ScoreLists) -> None:
    target, nontarget = scores
    n_target, n_nontarget = len(target), len(nontarget)
    values = eer_dialects(TrialScores(*scores))

    def rates(counts: list[tuple[int, int]]) -> list[tuple[float, float]]:
        return [(m / n_target, f / n_nontarget) for m, f in counts]

    def mean_where_nearest(counts: list[tuple[int, int]]) -> set[float]:
        """All means at the smallest difference: rounding may choose between equal ones."""
        differences = [abs(m * n_nontarget - f * n_target) for m, f in counts]
        pairs = zip(rates(counts), differences, strict=True)
        return {sum(means) / 2 for means, d in pairs if d == min(differences)}

    def one_of(value: float | None, candidates: set[float]) -> bool:
        return value is not None and any(abs(value - c) < 1e-6 for c in candidates)

    by_score, by_trial = points(target, nontarget), points_per_trial(target, nontarget)
    assert values["sklearn_brentq"] == pytest.approx(crossing(rates(by_score)), abs=1e-12)
    assert values["nist_sorted"] == pytest.approx(crossing(rates(by_trial)[1:]), abs=1e-12)
    assert one_of(values["sklearn_nearest"], mean_where_nearest(corners(by_score)))
    assert one_of(values["asvspoof"], mean_where_nearest(by_trial))
    differences = [abs(m * n_nontarget - f * n_target) for m, f in by_score]
    last = max(i for i, d in enumerate(differences) if d == min(differences))
    assert values["bob"] == pytest.approx(sum(rates(by_score)[last]) / 2, abs=1e-12)
    assert one_of(values["speechbrain"], mean_where_nearest(by_score))


def case_benchmark_loop(target: list[float], nontarget: list[float]) -> float:
    """Brent's method between the neighbours of the nearest point, or the mean of its rates."""
    kept = corners(points(target, nontarget))
    miss = [1 - (len(target) - m) / len(target) for m, _ in kept]
    false_alarm = [f / len(nontarget) for _, f in kept]
    gaps = [abs(f - m) for m, f in zip(miss, false_alarm, strict=True)]
    at = gaps.index(min(gaps))
    if at in (0, len(kept) - 1):
        return false_alarm[at]
    curve = interp1d(false_alarm, miss)
    try:
        return float(brentq(lambda x: curve(x) - x, false_alarm[at - 1], false_alarm[at + 1]))
    except ValueError:
        return (false_alarm[at] + miss[at]) / 2


def feerci_loop(target: list[float], nontarget: list[float]) -> float | None:
    """Halve the interval of a fraction of nontargets and of the rest of targets until both overlap,
    then count up to the scores there."""
    t, n = sorted(target), sorted(nontarget)
    if n[-1] < t[0]:
        return 0.0
    if t[-1] < n[0]:
        return 1.0
    if len(t) == 1 or len(n) == 1:
        return None
    place, step = Fraction(1, 2), Fraction(1)
    for _ in range(2 * int(max(math.log2(len(t)), math.log2(len(n))))):
        step /= 2
        of_targets, of_nontargets = (1 - place) * (len(t) - 1), place * (len(n) - 1)
        t_low, n_high = math.floor(of_targets), math.ceil(of_nontargets)
        if t[t_low] > n[n_high]:
            place += step
            continue
        t_high, n_low = math.ceil(of_targets), math.floor(of_nontargets)
        if n[n_low] <= t[t_high]:
            break
        place -= step
    with np.errstate(over="ignore"):
        lowest, first, last = (float(np.float32(x)) for x in (t[t_low], n[n_low], n[n_high]))
    if lowest >= first:
        t_low, t_high = bisect.bisect_right(t, first), bisect.bisect_left(t, last) - 1
    else:
        n_low = bisect.bisect_right(n, lowest)
    miss, next_miss = (np.float32(k) / np.float32(len(t) - 1) for k in (t_low, t_high))
    false_alarm = np.float32(1 - np.float64(np.float32(n_low) / np.float32(len(n) - 1)))
    if false_alarm == next_miss:
        return float(next_miss)
    ratio = (false_alarm - miss) / (false_alarm - next_miss)
    return float(false_alarm if ratio <= 0 else next_miss)


@settings(max_examples=150, deadline=None)
@given(scores=any_scores(20))
@example(scores=([1.0, 3.0], [0.0, 2.0]))
@example(scores=([0.0, 0.0, 3.0], [1.0, 2.0, 2.0, 4.0, 4.0]))
def test_newer_dialects_agree_with_loops(scores: ScoreLists) -> None:
    target, nontarget = scores
    values = eer_dialects(TrialScores(*scores))
    kept = corners(points(target, nontarget))
    rates = [(1 - (len(target) - m) / len(target), f / len(nontarget)) for m, f in kept]
    after = next(i for i, (miss, false_alarm) in enumerate(rates) if false_alarm > miss)
    mean = sum(rates[after - 1] + rates[after]) / 4
    assert values["pyannote"] == pytest.approx(mean, abs=1e-12)
    assert values["case_benchmark"] == pytest.approx(case_benchmark_loop(*scores), abs=3e-12)
    assert values["feerci"] == feerci_loop(*scores)


# By hand


def test_perfect_scores_have_a_quarter_by_pyannote() -> None:
    """Points (miss, false alarm) around the crossing: (0, 0) and (0, 1)."""
    values = eer_dialects(TrialScores([2, 3, 4], [0, 1]))
    assert (values["pyannote"], values["case_benchmark"], values["feerci"]) == (0.25, 0, 0)
    values = eer_dialects(TrialScores([1, 1], [1, 1, 1]))
    assert (values["pyannote"], values["case_benchmark"], values["feerci"]) == (0.5, 0, 0.5)


def test_the_cost_of_speechbrain_is_a_hundredth_by_hand() -> None:
    """One of two targets is missed where no nontarget is accepted."""
    costs = min_dcf_dialects(TrialScores([1, 3], [0, 2]))
    assert costs == pytest.approx({"normalized": 0.5, "speechbrain": 0.005})


def test_ties_at_the_nearest_point_by_hand() -> None:
    """Target scores 1 and 3, nontarget scores 0, 2 and 2.5: the rates differ least, by 1/6, at
    1 (miss 1/2, false alarm 2/3) and at 2 (1/2, 1/3)."""
    values = eer_dialects(TrialScores([1, 3], [0, 2, 2.5]))
    assert values["asvspoof"] == pytest.approx(7 / 12)
    assert values["bob"] == pytest.approx(5 / 12)
    assert values["sklearn_brentq"] == values["nist_sorted"] == values["kaldi"] == 0.5


def test_large_scores_saturate_the_sigmoid_of_torchmetrics() -> None:
    values = eer_dialects(TrialScores([200, 300], [100, 150]))
    assert (values["torchmetrics"], values["speechbrain"]) == (0.5, 0)
    assert eer_dialects(TrialScores([0.9, 0.8], [0.1, 0.2]))["torchmetrics"] == 0


def test_programs_without_a_value() -> None:
    for scores in (TrialScores([0.0], [1.0, 2.0]), TrialScores([1.0, 2.0], [0.0])):
        assert eer_dialects(scores)["nist_sorted"] is None  # the first trial is all of its class
    for scores in (TrialScores([1.0], [0.0, 2.0]), TrialScores([0.0, 2.0], [1.0])):
        assert eer_dialects(scores)["feerci"] is None  # it divides by the other trials of the class
    assert eer_dialects(TrialScores([1.0], [1.0]))["nist_histogram"] is None


@pytest.mark.filterwarnings("error")
def test_scores_beyond_float32() -> None:
    values = eer_dialects(TrialScores([1e300, 1e299], [-1e300, -1e299]))
    assert values.pop("pyannote") == 0.25 and set(values.values()) == {0}


# The command


def test_the_command_prints_every_dialect(tmp_path: Path) -> None:
    folder = FOLDER / "few_trials"
    files = ("--scores", folder / "scores.gz", "--trials", folder / "trials.gz", "--dialects")
    run = ok(cli("metrics", *files, "--format", "json"))
    printed = json.loads(run.out)
    assert printed["dialects"] == pytest.approx(EXPECTED["few_trials"], abs=1e-6)
    costs = {"normalized": 9 / 13, "speechbrain": 0.09 / 13}  # 9 of 13 missed, none accepted
    assert printed["min_dcf_dialects"] == pytest.approx(costs)
    text = cli("metrics", *files).out
    assert all(f"\n{name} " in text for name in (*DIALECTS, *MIN_DCF_DIALECTS))
    for version in ("pyannote.metrics 4.2.0", "case-benchmark 1.0.0", "feerci 0.2.0"):
        assert version in text
    assert "dialects" not in json.loads(cli("metrics", *files[:-1], "--format", "json").out)
    assert cli("metrics", *files, "--format", "csv").code == 2


def test_the_command_on_arrays(tmp_path: Path) -> None:
    files = [f"{tmp_path}/{name}.npy" for name in ("target", "nontarget")]
    np.save(files[0], [0.0])
    np.save(files[1], [1.0, 2.0])
    words = ("metrics", "--target", files[0], "--nontarget", files[1], "--dialects")
    run = cli(*words)
    assert run.code == 0 and "n/a" in run.out
    run = cli(*words, "--format", "json")
    assert json.loads(run.out)["dialects"]["nist_sorted"] is None
