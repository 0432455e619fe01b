"""Paired comparison of systems."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support import lines_to

import privacy_eval as pe
from privacy_eval.io.scores import with_speakers
from privacy_eval.metrics import METRICS, Evaluation, Trials, score_metrics, speaker_bootstrap
from privacy_eval.metrics.confidence import (
    difference_p_value,
    expanded_interval,
    holm,
    least_replicates,
    subtract,
)
from privacy_eval.metrics.evaluation import compare_evaluations
from privacy_eval.metrics.pairing import rows_of_same

SPEAKERS = [f"s{n}" for n in range(6)]
OWN = np.repeat(SPEAKERS, 5)
PAIRS = np.array([(a, b) for a in SPEAKERS for b in SPEAKERS if a != b])


def system(seed: int, strength: float = 1.0) -> Trials:
    draw = np.random.default_rng(seed).normal
    return of_scores(draw(strength, 1, len(OWN)), draw(0, 1, len(PAIRS)))


def of_scores(target: NDArray[np.float64], nontarget: NDArray[np.float64]) -> Trials:
    return Trials(
        score=np.append(target, nontarget),
        label=np.repeat([True, False], [len(OWN), len(PAIRS)]),
        enrolled_speaker=np.append(OWN, PAIRS[:, 0]),
        trial_speaker=np.append(OWN, PAIRS[:, 1]),
    )


def test_holm_as_worked_out_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04, times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04 -> 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def test_differences_of_each_replicate_one_by_one() -> None:
    first, second = system(1, 2.0), system(2, 0.5)
    result = pe.compare({"first": first, "second": second}, bootstrap=40, seed=3)
    replicates = [
        speaker_bootstrap(trials, statistic=score_metrics, replicates=40, seed=3).values
        for trials in (first, second)
    ]
    for key, difference in result.differences["second"].items():
        drawn = [
            0.0 if a == b else a - b
            for a, b in zip(replicates[0][key].tolist(), replicates[1][key].tolist(), strict=True)
        ]
        interval = expanded_interval(drawn, len(SPEAKERS))
        assert difference.interval.low == pytest.approx(interval.low, abs=1e-12)
        assert difference.interval.high == pytest.approx(interval.high, abs=1e-12)
        assert difference.p_value == difference_p_value(np.round(drawn, 12), len(SPEAKERS))
        values = [score_metrics(trials.scores)[key] for trials in (first, second)]
        assert (result.values[key], difference.value) == (values[0], values[1])
        assert difference.difference == pytest.approx(values[0] - values[1], abs=1e-15)


def test_a_monotone_map_changes_no_rank_based_metric() -> None:
    trials = system(1)
    mapped = trials.with_columns(score=3 * trials.score)
    result = pe.compare({"one": trials, "mapped": mapped}, bootstrap=20)
    for key in ("eer", "rocch_eer", "cllr_min", "min_dcf_0.01"):
        difference = result[key]["mapped"]
        assert difference.difference == difference.interval.low == difference.interval.high == 0
        assert difference.p_value == difference.p_value_holm == 1
    assert result["cllr"]["mapped"].difference != 0


def test_holm_counts_the_other_systems() -> None:
    first = {"first": system(1, 3.0)}
    others = {str(seed): system(seed, 0.2) for seed in (2, 3, 4)}
    alone = pe.compare(first | {"2": others["2"]}, bootstrap=300)
    together = pe.compare(first | others, bootstrap=300)
    assert alone["eer"]["2"].p_value_holm == alone["eer"]["2"].p_value
    assert together["eer"]["2"].p_value == alone["eer"]["2"].p_value
    for key in METRICS.keys() & together.values.keys():
        p_values = [of.p_value for of in together[key].values()]
        assert [of.p_value_holm for of in together[key].values()] == holm(p_values)
    assert "p (Holm)" in repr(together) and "p (Holm)" not in repr(alone)
    needed = int(least_replicates(together.n_speakers, tests=3))
    assert together.notes[-1] in repr(together) and f"--bootstrap {needed} " in together.notes[-1]
    enough = pe.compare(first | others, bootstrap=needed)
    said = [[n for n in of.notes if not n.startswith("p")] for of in (enough, alone, together)]
    assert said[0] == said[1] == said[2][:-1]


def test_equal_infinities_do_not_differ() -> None:
    assert subtract([np.inf, -np.inf, 1], [np.inf, 2, 3]).tolist() == [0, -np.inf, -2]
    huge = np.full(len(OWN), -1e308), np.full(len(PAIRS), 1e308)  # their Cllr is infinite
    systems = {"huge": of_scores(*huge), "finite": system(1), "same": of_scores(*huge)}
    cllr = pe.compare(systems, bootstrap=10, variant="challenge")["cllr"]
    assert (cllr["same"].value, cllr["same"].difference, cllr["same"].p_value) == (math.inf, 0, 1)
    assert cllr["finite"].difference == cllr["finite"].interval.low == math.inf


def test_only_the_same_trials_are_compared() -> None:
    def drawn(seed: int, trials: int) -> Evaluation:
        return pe.evaluate(system(1).take(slice(trials)), bootstrap=5, seed=seed)

    whole = len(OWN) + len(PAIRS)
    for other in (drawn(1, whole), drawn(0, whole - 1)):
        with pytest.raises(ValueError, match="not paired"):
            compare_evaluations({"a": drawn(0, whole), "b": other})
    with pytest.raises(pe.PrivacyEvalError, match="nothing to compare"):
        pe.compare({"a": system(1)})
    with pytest.raises(pe.PrivacyEvalError, match="a and b: .*in one order"):
        pe.compare({"a": system(1), "b": system(1).take(slice(9))})


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


def test_files_are_paired_by_trial_and_never_by_their_order(tmp_path: Path) -> None:
    first, second = of_files(tmp_path, 1, LABELS), of_files(tmp_path, 2, LABELS)
    known = with_speakers(first, None)
    result = pe.compare({"first": known, "second": second}, bootstrap=30)
    of_name = [
        dict(zip(zip(of.enrolled, of.utterance, strict=True), of.score, strict=True))
        for of in (first, second)
    ]
    scores = [[scores[tuple(name.split())] for name in LABELS] for scores in of_name]
    sides = [[side.split("/")[0] for side in name.split()] for name in LABELS]
    in_order = Trials(
        score=scores[0],
        label=[*LABELS.values()],
        enrolled_speaker=[a for a, _ in sides],
        trial_speaker=[b for _, b in sides],
    )
    other = in_order.with_columns(score=scores[1])
    assert pe.compare({"first": in_order, "second": other}, bootstrap=30) == result


def test_other_trials_or_labels_are_named(tmp_path: Path) -> None:
    first = of_files(tmp_path, 1, LABELS)
    fewer = dict(list(LABELS.items())[1:])
    swapped = {**LABELS, "s0/e.wav s1/0.wav": True}
    for labels, words in ((fewer, "s0/e.wav s0/0.wav"), (swapped, "labels of 1 .*s1/0.wav")):
        other = of_files(tmp_path, 2, labels)
        with pytest.raises(pe.PrivacyEvalError, match=words):
            pe.compare({"a": with_speakers(first, None), "b": other})
        with pytest.raises(pe.PrivacyEvalError, match=words):
            rows_of_same(other, first)


def test_utterances_in_place_of_speakers_are_warned_of(tmp_path: Path) -> None:
    trials = of_files(tmp_path, 1, LABELS)
    spoken = [
        e if t else u
        for e, u, t in zip(trials.enrolled, trials.utterance, trials.is_target, strict=True)
    ]
    named = trials.with_columns(enrolled_speaker=trials.enrolled, trial_speaker=spoken)
    with pytest.warns(UserWarning, match="utterances"):
        pe.evaluate(named, bootstrap=2)


def test_a_withheld_value_has_no_interval_and_a_bound_stays_one() -> None:
    systems = {"1": system(1, 3.0)} | {str(seed): system(seed, 0.2) for seed in (2, 3)}
    result = pe.compare(systems, bootstrap=60)
    rows = {row["metric"].split(",")[0]: row for row in result.cells("2")}
    assert rows["Miss rate at 1 % false alarms"].keys() == {"metric", "value", "other"}
    assert set(rows["Miss rate at 1 % false alarms"].values()) >= {"n/a"}
    assert "not estimable" in repr(result)
    assert all("<=" in row["p (Holm)"] for row in rows.values() if "<=" in row.get("p", ""))
    assert "<=" in rows["EER"]["p"]


def test_an_interval_without_width_is_not_printed() -> None:
    """Targets above all nontargets are so in every replicate."""
    trials = system(1)
    shifted = trials.with_columns(score=trials.score + 100 * trials.is_target)
    result = pe.evaluate(shifted, bootstrap=5)
    rows = {row["metric"]: row["95 % interval"] for row in result.cells()}
    assert (result.intervals["eer"].low, result.intervals["eer"].high) == (0, 0)
    assert rows["EER"] == "[n/a]" and rows["Cllr"].startswith("[")
