"""Paired comparison of systems."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support import lines_to

import privacy_eval as pe
from privacy_eval.io.trial_speakers import with_speakers
from privacy_eval.metrics import METRICS, TrialScores, score_metrics, speaker_bootstrap
from privacy_eval.metrics.comparison import holm, paired_comparison, subtract
from privacy_eval.metrics.confidence import (
    difference_p_value,
    expanded_interval,
    least_replicates,
)
from privacy_eval.metrics.pairing import rows_of_same
from privacy_eval.metrics.trials import Trials

SPEAKERS = [f"s{n}" for n in range(6)]
OWN = np.repeat(SPEAKERS, 5)
PAIRS = np.array([(a, b) for a in SPEAKERS for b in SPEAKERS if a != b])

Scores = tuple[NDArray[np.float64], NDArray[np.float64]]


def system(seed: int, strength: float = 1.0) -> Scores:
    draw = np.random.default_rng(seed).normal
    return draw(strength, 1, len(OWN)), draw(0, 1, len(PAIRS))


def test_holm_as_worked_out_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04, times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04 -> 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def test_differences_of_each_replicate_one_by_one() -> None:
    first, second = system(1, 2.0), system(2, 0.5)
    result = pe.compare(first, second, speakers=(OWN, PAIRS), bootstrap=40, seed=3)
    replicates = [
        speaker_bootstrap(
            np.concatenate(scores),
            np.repeat([True, False], [len(OWN), len(PAIRS)]),
            np.append(OWN, PAIRS[:, 0]),
            np.append(OWN, PAIRS[:, 1]),
            statistic=score_metrics,
            replicates=40,
            seed=3,
        ).values
        for scores in (first, second)
    ]
    for key, difference in result.differences[0].items():
        drawn = [
            0.0 if a == b else a - b
            for a, b in zip(replicates[0][key].tolist(), replicates[1][key].tolist(), strict=True)
        ]
        interval = expanded_interval(drawn, len(SPEAKERS))
        assert difference.interval.low == pytest.approx(interval.low, abs=1e-12)
        assert difference.interval.high == pytest.approx(interval.high, abs=1e-12)
        assert difference.p_value == difference_p_value(np.round(drawn, 12), len(SPEAKERS))
        values = [score_metrics(TrialScores(*scores))[key] for scores in (first, second)]
        assert (result.values[key], difference.value) == (values[0], values[1])
        assert difference.difference == pytest.approx(values[0] - values[1], abs=1e-15)


def test_a_monotone_map_changes_no_rank_based_metric() -> None:
    target, nontarget = system(1)
    result = pe.compare(
        (target, nontarget), (3 * target, 3 * nontarget), speakers=(OWN, PAIRS), bootstrap=20
    )
    for key in ("eer", "rocch_eer", "cllr_min", "min_dcf_0.01"):
        difference = result.differences[0][key]
        assert difference.difference == difference.interval.low == difference.interval.high == 0
        assert difference.p_value == difference.p_value_holm == 1
    assert result.differences[0]["cllr"].difference != 0


def test_holm_counts_the_other_systems() -> None:
    others = [system(seed, 0.2) for seed in (2, 3, 4)]
    alone = pe.compare(system(1, 3.0), others[0], speakers=(OWN, PAIRS), bootstrap=300)
    together = pe.compare(system(1, 3.0), *others, speakers=(OWN, PAIRS), bootstrap=300)
    assert alone.differences[0]["eer"].p_value_holm == alone.differences[0]["eer"].p_value
    assert together.differences[0]["eer"].p_value == alone.differences[0]["eer"].p_value
    for key in METRICS.keys() & together.values.keys():
        p_values = [of_system[key].p_value for of_system in together.differences]
        adjusted = [of_system[key].p_value_holm for of_system in together.differences]
        assert adjusted == holm(p_values)
    assert "p (Holm)" in repr(together) and "p (Holm)" not in repr(alone)
    needed = int(least_replicates(together.n_speakers, tests=3))
    assert together.notes[0] in repr(together) and f"--bootstrap {needed} " in together.notes[0]
    drawn = {"speakers": (OWN, PAIRS), "bootstrap": needed}
    assert pe.compare(system(1, 3.0), *others, **drawn).notes == alone.notes == []


def test_equal_infinities_do_not_differ() -> None:
    assert subtract([np.inf, -np.inf, 1], [np.inf, 2, 3]).tolist() == [0, -np.inf, -2]
    huge = np.full(len(OWN), -1e308), np.full(len(PAIRS), 1e308)  # their Cllr is infinite
    systems = huge, system(1), huge
    finite, same = pe.compare(
        *systems, speakers=(OWN, PAIRS), bootstrap=10, variant="challenge"
    ).differences
    assert (same["cllr"].value, same["cllr"].difference, same["cllr"].p_value) == (math.inf, 0, 1)
    assert finite["cllr"].difference == finite["cllr"].interval.low == math.inf


def test_only_the_same_trials_are_compared() -> None:
    def drawn(seed: int, trials: int) -> pe.metrics.BootstrapReplicates:
        return speaker_bootstrap(
            np.concatenate(system(1))[:trials],
            np.repeat([True, False], [len(OWN), len(PAIRS)])[:trials],
            np.append(OWN, PAIRS[:, 0])[:trials],
            np.append(OWN, PAIRS[:, 1])[:trials],
            replicates=5,
            seed=seed,
        )

    values = [score_metrics(TrialScores(*system(1)))] * 2
    whole = len(OWN) + len(PAIRS)
    for other in (drawn(1, whole), drawn(0, whole - 1)):
        with pytest.raises(ValueError, match="not paired"):
            paired_comparison(values, [drawn(0, whole), other], "exact")
    with pytest.raises(ValueError, match="nothing to compare"):
        pe.compare(system(1), speakers=(OWN, PAIRS))


def of_files(folder: Path, seed: int, labels: dict[str, bool]) -> Trials:
    """Pair scores, in a random order, with their labels by enrolled id and utterance."""
    random = np.random.default_rng(seed)
    scores = {name: random.normal(target) for name, target in labels.items()}
    order = random.permutation(list(scores))
    file = lines_to(folder / f"scores{seed}", (f"{name} {scores[name]!r}" for name in order))
    key = (f"{name} {'target' if target else 'nontarget'}" for name, target in labels.items())
    paired = pe.pair(pe.read_scores(file), pe.read_trials(lines_to(folder / "trials", key)))
    return paired


LABELS = {f"{a}/e.wav {b}/{n}.wav": a == b for a in SPEAKERS for b in SPEAKERS for n in range(3)}


def in_order(trials: Trials) -> Scores:
    """Scores in the order of `LABELS`."""
    names = zip(trials.enrolled, trials.utterance, strict=True)
    by_name = dict(zip(map(" ".join, names), trials.score.tolist(), strict=True))
    target, nontarget = (
        np.array([by_name[name] for name, label in LABELS.items() if label == wanted])
        for wanted in (True, False)
    )
    return target, nontarget


def test_files_are_paired_by_trial_and_never_by_their_order(tmp_path: Path) -> None:
    first, second = of_files(tmp_path, 1, LABELS), of_files(tmp_path, 2, LABELS)
    result = pe.compare(with_speakers(first, None), second, bootstrap=30)
    sides = [[side.split("/")[0] for side in name.split()] for name in LABELS]
    own = [a for a, b in sides if a == b]
    pairs = [pair for pair in sides if pair[0] != pair[1]]
    same = pe.compare(in_order(first), in_order(second), speakers=(own, pairs), bootstrap=30)
    assert result == same


def test_other_trials_or_labels_are_named(tmp_path: Path) -> None:
    first = of_files(tmp_path, 1, LABELS)
    fewer = dict(list(LABELS.items())[1:])
    swapped = {**LABELS, "s0/e.wav s1/0.wav": True}
    for labels, words in ((fewer, "s0/e.wav s0/0.wav"), (swapped, "labels of 1 .*s1/0.wav")):
        other = of_files(tmp_path, 2, labels)
        with pytest.raises(pe.PrivacyEvalError, match=words):
            pe.compare(with_speakers(first, None), other)
        with pytest.raises(pe.PrivacyEvalError, match=words):
            rows_of_same(other, first)
    with pytest.raises(ValueError, match="arrays"):
        pe.compare(first, in_order(first))


def test_utterances_in_place_of_speakers_are_warned_of(tmp_path: Path) -> None:
    trials = of_files(tmp_path, 1, LABELS)
    scores = trials.score[trials.is_target], trials.score[~trials.is_target]
    ids = np.array([trials.enrolled.tolist(), trials.utterance.tolist()]).T
    given = ids[trials.is_target, 0], ids[~trials.is_target]
    with pytest.warns(UserWarning, match="utterances"):
        pe.evaluate(*scores, speakers=given, bootstrap=2)


def test_a_withheld_value_has_no_interval_and_a_bound_stays_one() -> None:
    others = [system(seed, 0.2) for seed in (2, 3)]
    result = pe.compare(system(1, 3.0), *others, speakers=(OWN, PAIRS), bootstrap=60)
    rows = {row["metric"].split(",")[0]: row for row in result.to_rows()}
    assert rows["Miss rate at 1 % false alarms"].keys() == {"metric", "value", "other"}
    assert set(rows["Miss rate at 1 % false alarms"].values()) >= {"n/a"}
    assert "not estimable" in repr(result)
    assert all("<=" in row["p (Holm)"] for row in rows.values() if "<=" in row.get("p", ""))
    assert "<=" in rows["EER"]["p"]


def test_an_interval_without_width_is_not_printed() -> None:
    """Targets above all nontargets are so in every replicate."""
    target, nontarget = system(1)
    result = pe.evaluate(target + 100, nontarget, speakers=(OWN, PAIRS), bootstrap=5)
    rows = {row["metric"]: row["95 % interval"] for row in result.to_rows()}
    assert (result.intervals["eer"].low, result.intervals["eer"].high) == (0, 0)
    assert rows["EER"] == "[n/a]" and rows["Cllr"].startswith("[")
