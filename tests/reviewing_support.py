"""What the tests of reviewers share: a small tree with results, which they edit."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import SMALL_PROTOCOL, cli, ok


def make(root: Path, *collected: str) -> Path:
    """Make a small tree with records of every kind that is checked, and its results."""
    tree = root / "tree"
    (root / "small.yaml").write_text(SMALL_PROTOCOL)
    ok(cli("demo-tree", tree, "--conf", root / "small.yaml", "--speakers", 6, "--systems", 1))
    shutil.copy(root / "small.yaml", tree)
    of_tree = ("--tree", tree, "--results", "exp", "--out", "results", "--conf", "small.yaml")
    drawn = ("--bootstrap", 40, "--seed", 3)
    for stage in (
        ("asv-scores",),
        ("privacy-metrics", *drawn),
        ("similarity",),
        ("identification", *drawn, "--sentences", "1,2"),
        ("attributes", *drawn, "--attribute", "gender"),
        ("collect", *collected),
    ):
        cli("stage", *stage, *of_tree)
    return tree


def edit(tree: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = tree / "results/results.json"
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))


def row(plain: dict[str, Any], kind: str, metric: str) -> dict[str, Any]:
    """The first row of a metric that has an interval."""
    rows = (row for record in plain[kind] for row in record["rows"])
    found: dict[str, Any] = next(r for r in rows if r["metric"] == metric and "low" in r)
    return found
