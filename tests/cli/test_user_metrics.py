"""A metric of one's own, in the evaluation of a tree and in its tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import three_conditions

from privacy_eval.cli import main
from privacy_eval.metrics import METRICS

METRIC = "def spread(scores):\n    return scores.target.mean() - scores.nontarget.mean()\n"


def test_a_metric_of_ones_own_is_evaluated_and_tabled(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    source = tmp_path / "own.py"
    source.write_text(METRIC)
    own = ["--metric", f"spread={source}:spread"]
    of_tree = ["--tree", str(tree.root), "--results", "exp", "--out", "out"]
    records = tree.root / "out" / "records"

    def values() -> list[float]:
        found = (json.loads(p.read_text()) for p in records.rglob("*.json"))
        metrics = [m for r in found for m in r.get("metrics", {}).values()]
        return [m["spread"] for m in metrics]

    assert main(["privacy-metrics", *of_tree, *own]) == 0
    first = values()
    assert len(first) == 6
    source.write_text(METRIC.replace("return ", "return 2 * (").rstrip() + ")\n")
    assert main(["privacy-metrics", *of_tree, *own]) == 0
    assert sorted(values()) == pytest.approx(sorted(2 * value for value in first))
    assert main(["collect", *of_tree, *own, "--allow-missing"]) == 0
    shown = ["--results", str(tree.root / "out/results.json"), "--out", str(tmp_path / "tables")]
    assert main(["tables", *shown, *own]) == 0
    assert "spread" in (tmp_path / "tables" / "now_spread.csv").read_text()
    assert "spread" not in METRICS
    assert main(["tables", *shown]) == 1  # with the reason: an unknown metric


def test_a_metric_that_fails_names_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = three_conditions(tmp_path)
    (tmp_path / "own.py").write_text("def odd(scores):\n    return 1 / 0\n")
    own = ["--metric", f"odd={tmp_path / 'own.py'}:odd"]
    of_tree = ["--tree", str(tree.root), "--results", "exp", "--out", "out"]
    assert main(["privacy-metrics", *of_tree, *own]) == 1
    assert "metric odd of" in capsys.readouterr().err
