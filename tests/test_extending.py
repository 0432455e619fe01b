"""docs/extending.md is literally true: its blocks are put into a copy of the checkout, whose style,
types and tests then pass."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from support import ROOT, Run, run_program

PAGE = ROOT / "docs/extending.md"
#: The file above a block, and the beginning of the line that the block goes below.
BLOCK = re.compile(r"^`([^`\n]+)`, (?:new|below `([^`\n]+)`):\n\n```\w+\n(.*?)^```$", re.M | re.S)
#: What the tests of each kind are.
TESTS = (
    "privacy_eval/metrics/overlap.py",
    "tests/metrics/test_argument_types.py",
    "tests/metrics/test_registry.py",
    "tests/report/test_new_metrics.py",
    "tests/io/test_score_formats.py",
    "tests/report/figures/test_kinds.py",
    "tests/test_docstrings.py",
    "tests/test_layout.py::test_no_import_goes_up",
    "tests/test_readme.py::test_tables_of_metrics_are_the_registry_s",
)


def insert(root: Path, name: str, anchor: str, block: str) -> None:
    """Write a new file, or insert a block below the only line that begins with a text."""
    path = root / name
    if not anchor:
        assert not path.exists(), f"{name} is not new"
        path.write_text(block)
        return
    lines = path.read_text().splitlines(keepends=True)
    (number,) = (n for n, line in enumerate(lines, 1) if line.strip().startswith(anchor))
    path.write_text("".join([*lines[:number], block, *lines[number:]]))


def program(root: Path, name: str, *arguments: object) -> Run:
    """Run a module of Python in the copy."""
    return run_program(sys.executable, "-m", name, *arguments, cwd=root, PYTHONPATH=str(root))


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with all blocks of the page."""
    root = tmp_path_factory.mktemp("extended").resolve()
    for name in ("privacy_eval", "conf", "docs", "local", "recipes", "scripts", "tests"):
        ignore = shutil.ignore_patterns("work", "__pycache__")
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignore)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, root)
    if (ROOT / ".mypy_cache").is_dir():  # of files with these times, too
        shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
    text = PAGE.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count("\n```") / 2, "a block of the page names no file"
    for name, anchor, block in blocks:
        insert(root, name, anchor, block)
    program(root, "ruff", "check", "--fix", ".")
    program(root, "ruff", "format", ".")
    return root


@pytest.mark.parametrize("command", ["ruff check .", "mypy privacy_eval"])
def test_style_and_types_pass(command: str, extended: Path) -> None:
    run = program(extended, *command.split())
    assert run.code == 0, run.out


def test_tests_of_the_kinds_pass(extended: Path) -> None:
    # Of figures those of the new kind; nothing that takes long and does not concern new metrics.
    select = "(eers or not same_bytes and not clipped) and not tex_compiles and not kernels"
    options = ("-q", "-x", "-p", "no:cacheprovider", "-k", select)
    run = program(extended, "pytest", *options, *TESTS)
    assert run.code == 0, run.out


def test_the_edition_is_evaluated_completely(extended: Path) -> None:
    """With the metric in every output."""
    tree = ("--tree", "tree", "--results", "exp", "--out", "out", "--conf", "female_test")
    sizes = ("--speakers", 3, "--utterances", 3, "--systems", 1)
    for verb, *options in (
        ("demo-tree", "tree", *sizes),
        ("subsets", *tree),
        ("asv-scores", *tree),
        ("privacy-metrics", *tree),
        ("similarity", *tree),
        ("collect", *tree),
        ("tables", "--results", "tree/out/results.json", "--out", "tree/out/tables"),
        ("figures", "--results", "tree/out/results.json", "--out", "tree/out/figures"),
    ):
        run = program(extended, "privacy_eval", verb, *options)
        assert run.code == 0, run.err
        assert "left out" not in run.err
    out = extended / "tree/out"
    results = json.loads((out / "results.json").read_text())
    assert results["not_evaluated"] == []
    assert len(results["verification"]) == 3
    assert all(
        0 <= record["metrics"]["exact"]["overlap"] <= 1 for record in results["verification"]
    )
    assert ",overlap,fraction," in (out / "results.csv").read_text()
    assert "Overlap, %" in (out / "tables/B1_overlap.md").read_text()
    assert (out / "figures/eers.png").is_file()
