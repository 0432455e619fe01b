"""Records of a study: resumed, shared, made anew, and the same bytes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from study_support import small_study
from support import snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.io.user_metrics import UserMetric
from privacy_eval.metrics import TrialScores, of_kind
from privacy_eval.products.freshness import NOTE, Product, Run
from privacy_eval.study.run import (
    RECORDS,
    make_records,
    read_rows,
    remove_stale_records,
    study_digest,
    study_products,
)

STUDY = small_study()


def records_in(out: Path, *own: UserMetric, seed: int = 0) -> list[Product]:
    return study_products(replace(STUDY, seed=seed), out, own=own)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    records = records_in(out)
    assert len(make_records(records).made) == len(records)
    return out


def test_split_jobs_write_the_same_bytes(done: Path, tmp_path: Path) -> None:
    records = records_in(tmp_path)
    splits = [make_records(records, Run((j, 3))) for j in (2, 3, 1)]
    assert sum(len(outcome.made) for outcome in splits) == len(records)
    assert snapshot(tmp_path) == snapshot(done)


def test_another_seed_changes_the_numbers(done: Path, tmp_path: Path) -> None:
    make_records(records_in(tmp_path, seed=1))
    ours, theirs = snapshot(tmp_path), snapshot(done)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if name.endswith(NOTE):
            continue
        rows, others = (json.loads(files[name]) for files in (ours, theirs))
        assert (rows == others) == name.endswith("discrete_cases.json"), name


def test_records_have_every_metric_in_both_variants(done: Path) -> None:
    rows = read_rows(records_in(done))
    assert list(rows) == ["discrete", "gaussian", "clusters", "attacks", "matrices", "estimators"]
    for experiment, actual in rows.items():
        for row in actual:
            values = row.get("metrics") or row["estimates"]
            assert set(values) == {"exact", "challenge"}
            if experiment != "matrices":
                assert list(values["exact"]) == list(of_kind("scores"))


def test_missing_records_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="discrete_cases.json: missing"):
        read_rows(records_in(tmp_path))


def test_records_of_another_protocol_are_removed(done: Path, tmp_path: Path) -> None:
    records = records_in(tmp_path)
    make_records(records[:3])
    (tmp_path / "mine.txt").write_text("")
    remove_stale_records(records[:1], tmp_path)
    left = {p.name for p in (tmp_path / RECORDS).iterdir()}
    assert left == {"discrete_cases.json", f".discrete_cases{NOTE}"}
    assert (tmp_path / "mine.txt").exists()


def lowest(scores: TrialScores) -> float:
    return float(scores.target[0])


def test_a_user_defined_metric_is_in_all_records(tmp_path: Path) -> None:
    records, changed = (
        records_in(tmp_path, UserMetric("lowest", lowest, sha256)) for sha256 in ("1", "2")
    )
    make_records(records[:2])
    row = read_rows(records[:2])["discrete"][0]
    assert row["metrics"]["exact"]["lowest"] == row["metrics"]["challenge"]["lowest"] == 3.0
    assert make_records(records[:2]).made == []
    assert make_records(changed[:2]).made != []
    assert study_digest(records, STUDY) != study_digest(changed, STUDY)


@pytest.mark.parametrize("value", [None, "x", float("nan"), float("inf"), [1, 2]])
def test_metric_must_return_a_number(value: object, tmp_path: Path) -> None:
    metric = UserMetric("odd", lambda scores: value, "")  # type: ignore[arg-type, return-value]
    with pytest.raises(
        PrivacyEvalError, match=r"metric odd of 4 target, 4 nontarget trials: .* expected a"
    ):
        make_records(records_in(tmp_path, metric)[:1])
    assert not list(tmp_path.rglob("*.json"))


def test_failing_metric_is_named(tmp_path: Path) -> None:
    def wrong(scores: TrialScores) -> float:
        scores.target[:] = 0  # they are every metric's
        return 0.0

    for function, message in ((wrong, "raised ValueError: "), (lambda: 0.0, "raised TypeError: ")):
        metric = UserMetric("odd", function, "")  # type: ignore[arg-type]
        with pytest.raises(PrivacyEvalError, match=f"metric odd of 4 target.*{message}"):
            make_records(records_in(tmp_path, metric)[:1])
