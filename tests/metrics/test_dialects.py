"""The EER as other programs define it: their values, and loops over the same definitions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden import FOLDER, GoldenScores
from hypothesis import given, settings
from strategies import ScoreLists, any_scores
from support import cli

from privacy_eval.metrics import DIALECTS, TrialScores, eer_dialects

EXPECTED = json.loads((FOLDER.parent / "dialects/expected.json").read_text())


def test_golden_values(golden_scores: GoldenScores) -> None:
    expected = EXPECTED[golden_scores.name]
    values = eer_dialects(golden_scores.scores)
    assert list(values) == list(expected) == list(DIALECTS)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-6, rel=0), name


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


# By hand


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
    assert eer_dialects(TrialScores([1.0], [1.0]))["nist_histogram"] is None


@pytest.mark.filterwarnings("error")
def test_scores_beyond_float32() -> None:
    values = eer_dialects(TrialScores([1e300, 1e299], [-1e300, -1e299]))
    assert set(values.values()) == {0}


# The command


def test_the_command_prints_every_dialect(tmp_path: Path) -> None:
    folder = FOLDER / "few_trials"
    files = ("--scores", folder / "scores.gz", "--trials", folder / "trials.gz", "--dialects")
    run = cli("metrics", *files, "--format", "json")
    assert run.code == 0
    assert json.loads(run.out)["dialects"] == pytest.approx(EXPECTED["few_trials"], abs=1e-6)
    text = cli("metrics", *files).out
    assert all(f"\n{name} " in text for name in DIALECTS)
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
