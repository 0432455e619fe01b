"""Metrics that are not built in: one's own, and those of later versions."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import B1, cells_of, cli, imported, put_value, refused, three_conditions

import privacy_eval as pe
from privacy_eval.cli import main
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.user_metrics import registered
from privacy_eval.metrics import METRICS
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report.main_results import ranking_table
from privacy_eval.results.json_store import to_json
from privacy_eval.results.records import merge

METRIC = "def spread(scores):\n    return scores.target.mean() - scores.nontarget.mean()\n"


def test_a_metric_of_ones_own_is_evaluated_again_when_it_changes(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    source = tmp_path / "own.py"
    source.write_text(METRIC)
    own = ["--metric", f"spread={source}:spread"]
    of_tree = ["--tree", str(tree.root), "--results", "exp", "--out", "out"]
    records = tree.root / "out" / "records"

    def values() -> list[float]:
        stored_records = (json.loads(p.read_text()) for p in records.rglob("*.json"))
        rows = (row for r in stored_records for row in r.get("rows", ()))
        return [row["value"] for row in rows if row["metric"] == "spread"]

    assert main(["stage", "privacy-metrics", *of_tree, *own]) == 0
    first = values()
    assert len(first) == 6
    source.write_text(METRIC.replace("return ", "return 2 * (").rstrip() + ")\n")
    assert main(["stage", "privacy-metrics", *of_tree, *own]) == 0
    assert sorted(values()) == pytest.approx(sorted(2 * value for value in first))
    assert "spread" not in METRICS


@pytest.fixture(name="collected")
def _collected(tmp_path: Path) -> Path:
    """results.json of a tree that was evaluated with `--metric`."""
    tree = three_conditions(tmp_path)
    source = tmp_path / "own.py"
    source.write_text(METRIC)
    of_tree = ["--tree", str(tree.root), "--results", "exp", "--out", "out"]
    own = ["--metric", f"spread={source}:spread", "--bootstrap", "20"]
    assert main(["stage", "privacy-metrics", *of_tree, *own]) == 0
    source.unlink()  # nothing that reads results needs it
    assert main(["stage", "collect", *of_tree, "--allow-missing"]) == 0
    return tree.root / "out" / "results.json"


def test_results_describe_a_metric_of_ones_own(collected: Path, tmp_path: Path) -> None:
    """They are read, tabled, exported and reported without `--metric`."""
    plain = json.loads(collected.read_text())
    assert plain["metrics"]["spread"]["range"] == ["-inf", "inf"]
    assert plain["metrics"]["eer"] == {
        **{"kind": "scores", "unit": "fraction", "name": "EER", "title": "EER"},
        **{"meaning": METRICS["eer"].meaning, "best": "higher", "range": [0, 1]},
        **{"percent": True, "counted": True, "decimals": 2, "detail": 3},
        **{"repeats_matter": False, "chance": "50 %"},
    }
    results = pe.read_results(collected)
    assert to_json(results) == collected.read_text()
    values = {r.condition.name: r.by_variant()["exact"]["spread"] for r in results.verification}
    rows = [row for row in results.to_rows() if row["metric"] == "spread"]
    assert {row["name"]: row["value"] for row in rows} == values and len(rows) == 6
    assert {row["unit"] for row in rows} == {"own"}
    assert all(row["low"] <= row["high"] for row in rows if row["variant"] == "exact")
    options = ["--results", str(collected), "--out"]
    assert main(["tables", *options, str(tmp_path / "tables")]) == 0
    table = (tmp_path / "tables" / "more" / "now_spread.tex").read_text()
    assert all(f"{value:.3f}" in table for value in values.values())
    assert main(["figures", *options, str(tmp_path / "figures")]) == 0
    assert main(["report", *options, str(tmp_path / "report.html")]) == 0
    assert "spread" in (tmp_path / "report.html").read_text()
    text = tmp_path / "out.csv"
    assert main(["export", str(collected), "--format", "csv", "--out", str(text)]) == 0
    assert ",spread,own," in text.read_text()
    assert main(["export", str(collected)]) == 0
    assert "spread" not in METRICS


LATER = {
    **{"kind": "scores", "unit": "bit", "name": "evidence", "title": "Evidence & more"},
    **{"meaning": "what a later version measures", "best": "lower", "range": [0, 40]},
    **{"percent": False, "counted": False, "decimals": 1, "detail": 2},
    **{"repeats_matter": False, "later": "an entry that this version ignores"},
}


def stored(
    folder: Path, *values: float, key: str = "later", system: str = "B1", **entry: Any
) -> Path:
    """results.json with a metric that this version does not have."""
    plain = json.loads(to_json(imported(B1, system=system)))
    plain["metrics"][key] = {**LATER, **entry}
    for record, value in zip(plain["verification"], itertools.cycle(values), strict=False):
        put_value(record, key, value)
    path = folder / f"{system}.json"
    path.write_text(json.dumps(plain))
    return path


def test_a_metric_of_a_later_version_is_tabled_and_ranked(tmp_path: Path) -> None:
    paths = [stored(tmp_path, 1.26), stored(tmp_path, 0.74, system="B2")]
    options = ["--results", *map(str, paths)]
    assert main(["tables", *options, "--out", str(tmp_path / "t")]) == 0
    files = [path for path in (tmp_path / "t").rglob("*") if path.is_file()]
    tables = {path.name: path.read_text() for path in files}
    (row, *_) = cells_of(tables["tables.csv"], "B1_later")
    assert row["Evidence & more"] == "1.26"
    assert "Evidence \\& more" in tables["B1_later.tex"]
    across = cells_of(tables["tables.csv"], "comparison_later_dev")
    assert {(row["B1"], row["B2"]) for row in across} == {("1.3", "0.7")}
    with registered([]):
        data = read_report_data(ReportSources(tuple(paths), rank_by="later"))
        (ranking,) = map(ranking_table, data.rankings["dev"])
    assert [row[1:3] for row in ranking.rows] == [("B2", "0.7"), ("B1", "1.3")]
    ranked = ["tables", *options, "--out", str(tmp_path / "ranked")]
    assert main([*ranked, "--rank-by", "later"]) == 0
    cells = (tmp_path / "ranked/tables.csv").read_text()
    rows = cells_of(cells, "ranking_later_lazy-informed_dev")
    assert [[*row.values()][1:3] for row in rows] == [["B2", "0.7"], ["B1", "1.3"]]
    assert main([*ranked, "--rank-by", "laters"]) == 2
    assert "later" not in METRICS
    report = tmp_path / "report.html"
    assert main(["report", *options, "--out", str(report)]) == 0
    explained = "<dt>Evidence &amp; more</dt><dd>what a later version measures. Lower is"
    assert explained in report.read_text()
    assert "later" not in METRICS


def test_metrics_described_differently_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [stored(tmp_path, 1.0), stored(tmp_path, 1.0, system="B2", unit="dB")]
    with pytest.raises(PrivacyEvalError, match="'later'.*B1.*B2"):
        merge([pe.read_results(path) for path in paths])
    assert main(["tables", "--results", *map(str, paths), "--out", str(tmp_path / "t")]) == 1
    assert "metric 'later': the results of B1 describe it otherwise" in capsys.readouterr().err


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "path as key": ({"key": "../../x"}, "not a valid identifier"),
    "key of dots": ({"key": "a..b"}, "not a valid identifier"),
    "long key": ({"key": "x" * 65}, "not a valid identifier"),
    "key of a listening test": ({"key": "subjective_eer"}, "not a valid identifier"),
    "key of a table": ({"key": "voice"}, "'voice' is the name of a table"),
    "key like a built-in": ({"key": "EER"}, "reads like the built-in metric eer"),
    "name of a built-in": ({"name": "linkability"}, "reads like the built-in metric linkability"),
    "title of a built-in": ({"title": "e e r"}, "reads like the built-in metric eer"),
    "no name": ({"name": ""}, "a name and a range"),
    "control character": ({"name": "a\x1b[2Jb"}, "unprintable"),
    "line end": ({"meaning": "a\nb"}, "unprintable"),
    "mathtext": ({"title": "$\\frac$"}, "without \\$"),
    "long text": ({"meaning": "x" * 201}, "at most 200 characters"),
    "long value by chance": ({"chance": "x" * 201}, "at most 200 characters"),
    "empty range": ({"range": [1, 1]}, "range of two numbers"),
    "range of three": ({"range": [0, 1, 2]}, "range of two numbers"),
    "many decimals": ({"decimals": 10**9}, "decimals"),
    "negative decimals": ({"detail": -1}, "decimals"),
    "unknown kind": ({"kind": "votes"}, "expected scores or"),
    "unknown direction": ({"best": "both"}, "expected higher or lower"),
    "wrong kind of record": ({"kind": "matrices"}, "unknown metric 'later'"),
    "value out of range": ({"range": [0, 0.5]}, "later: 1 is not within 0 to 0.5"),
    "another unit of a built-in": ({"key": "eer", "unit": "percent"}, "expected the kind 'scores'"),
}


@pytest.mark.parametrize(("entries", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_descriptions_are_refused(
    entries: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = stored(tmp_path, 1.0, **entries)
    with pytest.raises(PrivacyEvalError, match=message) as caught:
        pe.read_results(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_descriptions_within_records_are_checked_too(tmp_path: Path) -> None:
    plain = json.loads(to_json(imported(B1)))
    plain["verification"][0]["described"] = {"eer": LATER}
    (tmp_path / "r.json").write_text(json.dumps(plain))
    with pytest.raises(PrivacyEvalError, match="later|reads like the built-in metric eer"):
        pe.read_results(tmp_path / "r.json")


def test_a_metric_that_fails_names_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = three_conditions(tmp_path)
    (tmp_path / "own.py").write_text("def odd(scores):\n    return 1 / 0\n")
    own = ["--metric", f"odd={tmp_path / 'own.py'}:odd"]
    of_tree = ["--tree", str(tree.root), "--results", "exp", "--out", "out"]
    assert main(["stage", "privacy-metrics", *of_tree, *own]) == 1
    assert "metric odd of" in capsys.readouterr().err


def evaluated_with(tmp_path: Path, source: str, *, name: str = "own.py") -> tuple[int, str, str]:
    """Exit code, output and errors of `metrics` with a metric of a file."""
    (tmp_path / name).write_text(source)
    for side, scores in (("t", [1.0, 2.0]), ("n", [0.0, 1.5])):
        np.save(tmp_path / f"{side}.npy", scores)
    arrays = ("--target", tmp_path / "t.npy", "--nontarget", tmp_path / "n.npy")
    done = cli("metrics", *arrays, "--metric", f"own={tmp_path / name}:f")
    return done.code, done.out, done.err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(s):\n    s.target -= 1\n    return 0.0\n", "read-only"),
        ("def f(s):\n    s.nontarget.sort()\n    return 0.0\n", "read-only"),
        ("def f(s): return 1.0\nraise SystemExit(0)\n", "cannot be imported (SystemExit: 0)"),
        ("x\n", "cannot be imported (NameError: "),
        ("def f(s): return 10**400\n", "raised OverflowError"),
        ("def f(s): raise SystemExit(0)\n", "raised SystemExit"),
    ],
)
def test_user_code_fails_with_a_message(tmp_path: Path, source: str, message: str) -> None:
    code, out, err = evaluated_with(tmp_path, source)
    assert code == 1 and not out and message in err and "Traceback" not in err


def test_a_module_that_cannot_be_named_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", [1.0])
    arrays = ("--target", tmp_path / "t.npy", "--nontarget", tmp_path / "t.npy")
    refused(cli("metrics", *arrays, "--metric", "own=.:f"), "cannot be imported")


def test_scores_of_the_caller_stay_writable() -> None:
    target = np.array([1.0, 2.0])
    scores = pe.TrialScores.from_sorted(target, np.array([0.0]))
    assert target.flags.writeable and not scores.target.flags.writeable
