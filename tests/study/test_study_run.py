"""Records of a study: resumed, shared, made anew, and the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_support import small_study
from support import snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.io.user_metrics import UserMetric
from privacy_eval.metrics import TrialScores, of_kind
from privacy_eval.products.freshness import NOTE, Run
from privacy_eval.study.run import (
    RECORDS,
    read_rows,
    remove_stale_records,
    run_tasks,
    study_digest,
    study_tasks,
)

STUDY = small_study()
TASKS = study_tasks(STUDY)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    assert len(run_tasks(TASKS, out, seed=0).made) == len(TASKS)
    return out


def test_split_jobs_write_the_same_bytes(done: Path, tmp_path: Path) -> None:
    splits = [run_tasks(TASKS, tmp_path, seed=0, run=Run((j, 3))) for j in (2, 3, 1)]
    assert sum(len(outcome.made) for outcome in splits) == len(TASKS)
    assert snapshot(tmp_path) == snapshot(done)


def test_another_seed_changes_the_numbers(done: Path, tmp_path: Path) -> None:
    run_tasks(TASKS, tmp_path, seed=1)
    ours, theirs = snapshot(tmp_path), snapshot(done)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if name.endswith(NOTE):
            continue
        rows, others = (json.loads(files[name]) for files in (ours, theirs))
        assert (rows == others) == name.endswith("discrete_cases.json"), name


def test_records_have_every_metric_in_both_variants(done: Path) -> None:
    rows = read_rows(TASKS, done, seed=0)
    assert list(rows) == ["discrete", "gaussian", "clusters", "attacks", "matrices", "estimators"]
    for experiment, actual in rows.items():
        for row in actual:
            values = row.get("metrics") or row["estimates"]
            assert set(values) == {"exact", "challenge"}
            if experiment != "matrices":
                assert list(values["exact"]) == list(of_kind("scores"))


def test_missing_records_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="discrete_cases.json: missing"):
        read_rows(TASKS, tmp_path, seed=0)


def test_records_of_another_protocol_are_removed(done: Path, tmp_path: Path) -> None:
    run_tasks(TASKS[:3], tmp_path, seed=0)
    (tmp_path / "mine.txt").write_text("")
    remove_stale_records(TASKS[:1], tmp_path)
    left = {p.name for p in (tmp_path / RECORDS).iterdir()}
    assert left == {"discrete_cases.json", f".discrete_cases{NOTE}"}
    assert (tmp_path / "mine.txt").exists()


def lowest(scores: TrialScores) -> float:
    return float(scores.target[0])


def test_a_user_defined_metric_is_in_all_records(tmp_path: Path) -> None:
    metric = UserMetric("lowest", lowest, "1")
    run_tasks(TASKS[:2], tmp_path, seed=0, own=[metric])
    row = read_rows(TASKS[:2], tmp_path, seed=0, own=[metric])["discrete"][0]
    assert row["metrics"]["exact"]["lowest"] == row["metrics"]["challenge"]["lowest"] == 3.0
    assert run_tasks(TASKS[:2], tmp_path, seed=0, own=[metric]).made == []
    changed = UserMetric("lowest", lowest, "2")
    assert run_tasks(TASKS[:2], tmp_path, seed=0, own=[changed]).made != []
    assert study_digest(TASKS, STUDY, [metric]) != study_digest(TASKS, STUDY, [changed])


@pytest.mark.parametrize("value", [None, "x", float("nan"), float("inf"), [1, 2]])
def test_metric_must_return_a_number(value: object, tmp_path: Path) -> None:
    metric = UserMetric("odd", lambda scores: value, "")  # type: ignore[arg-type, return-value]
    with pytest.raises(
        PrivacyEvalError, match=r"metric odd of 4 target, 4 nontarget trials: .* expected a"
    ):
        run_tasks(TASKS[:1], tmp_path, seed=0, own=[metric])
    assert not list(tmp_path.rglob("*.json"))


def test_failing_metric_is_named(tmp_path: Path) -> None:
    def wrong(scores: TrialScores) -> float:
        scores.target[:] = 0  # they are every metric's
        return 0.0

    for function, message in ((wrong, "raised ValueError: "), (lambda: 0.0, "raised TypeError: ")):
        metric = UserMetric("odd", function, "")  # type: ignore[arg-type]
        with pytest.raises(PrivacyEvalError, match=f"metric odd of 4 target.*{message}"):
            run_tasks(TASKS[:1], tmp_path, seed=0, own=[metric])
