"""docs/extending.md is literally true: its blocks are put into a copy of the checkout, whose style,
types and tests then pass."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from preloaded import preloaded
from support import ROOT, Run, metrics_of, ok, run_program

PAGE = ROOT / "docs/extending.md"
#: The file above a block: a new one, or the line that the block goes below or above.
BLOCK = re.compile(
    r"^`([^`\n]+)`, (new|new and executable|below|above)(?: `([^`\n]+)`)?:\n\n```\w+\n(.*?)^```$",
    re.M | re.S,
)
#: What the tests of each kind are.
TESTS = (
    "privacy_eval/metrics/overlap.py",
    "tests/test_arguments.py",
    "tests/metrics/test_registry.py",
    "tests/report/test_new_metrics.py",
    "tests/io/test_score_formats.py",
    "tests/report/figures/test_figures.py::test_imported_results_have_bars_and_no_curves",
    "tests/report/figures/test_implausible.py",
    "tests/report/figures/test_kinds.py",
    "tests/protocol/test_protocol.py::test_bundled_protocols",
    "tests/shell/test_recipe_scripts.py::test_help_lists_the_options",
    "tests/shell/test_recipe_scripts.py::test_table_of_stages_names_scripts_verbs_and_modules",
    "tests/shell/test_recipe_scripts.py::test_every_stage_says_what_it_does",
    "tests/shell/test_recipe_scripts.py::test_another_option_and_stage_are_a_line_and_a_block",
    "tests/test_docstrings.py",
    "tests/test_layout.py::test_no_import_goes_up",
    "tests/test_readme.py::test_the_table_of_metrics_is_the_registry_s",
)


def insert(root: Path, name: str, where: str, anchor: str, block: str) -> None:
    """Write a new file, or insert a block beside the only line that begins with a text."""
    path = root / name
    if not anchor:
        assert where.startswith("new") and not path.exists(), f"{name} is not new"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
        path.chmod(0o755 if "executable" in where else 0o644)
        return
    lines = path.read_text().splitlines(keepends=True)
    (number,) = (n for n, line in enumerate(lines) if line.strip().startswith(anchor))
    lines.insert(number + (where == "below"), block)
    path.write_text("".join(lines))


def program(root: Path, name: str, *arguments: object) -> Run:
    """Run a module of Python in the copy."""
    return run_program(sys.executable, "-m", name, *arguments, cwd=root, PYTHONPATH=str(root))


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with all blocks of the page."""
    root = tmp_path_factory.mktemp("extended").resolve()
    for name in ("privacy_eval", "conf", "docs", "local", "recipes", "scripts", "tests"):
        ignore = shutil.ignore_patterns("work")  # compiled modules spare the copy's processes work
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignore)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, root)
    if (ROOT / ".mypy_cache").is_dir():  # of files with these times, too
        shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
    text = PAGE.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count("\n```") / 2, "a block of the page names no file"
    for block in blocks:
        insert(root, *block)
    program(root, "ruff", "check", "--fix", ".")
    program(root, "ruff", "format", ".")
    return root


@pytest.mark.parametrize("command", ["ruff check .", "mypy privacy_eval"])
def test_style_and_types_pass(command: str, extended: Path) -> None:
    ok(program(extended, *command.split()))


def test_tests_of_the_kinds_pass(extended: Path) -> None:
    # Of figures those of the new kind; nothing that takes long and does not concern new metrics;
    # more trials are compared with the second implementation, hundreds of examples are not.
    select = "(eers or not same_bytes and not clipped) and not tex_compiles and not kernels"
    examples = "tests/metrics/test_registry.py::test_agrees_with_reference["
    options = ("-q", "-x", "-n", 0, "-p", "no:cacheprovider", "-k", select, "--deselect", examples)
    folder = ("--basetemp", extended / "tests/work")  # else it tidies up after earlier sessions
    ok(program(extended, "pytest", *options, *folder, *TESTS))


@pytest.fixture(scope="module")
def evaluated(extended: Path) -> Path:
    """The outputs of the edition on a simulated tree, by the recipe."""
    sizes = ("--speakers", 3, "--utterances", 4, "--systems", 1)  # EERs of few are withheld
    assert program(extended, "privacy_eval", "demo-tree", "tree", *sizes).code == 0
    (extended / "tree/ratings.csv").unlink()  # of other data sets, too
    venv = extended / ".venv"
    server = preloaded(venv / "bin/privacy-eval", extended)
    tree = ("--tree", "tree", "--out", "out", "--conf", "female_test", "--stage", 5, "--nj", 1)
    tree += ("--set", "above=1")
    recipe = extended / "recipes/vpc2020/run.sh"
    run = run_program(recipe, *tree, cwd=extended, VIRTUAL_ENV=str(venv))
    server.communicate()
    assert run.code == 0, run.err
    assert "counts of scores: 4 up to date" in run.out
    assert "not complete" not in run.err
    return extended / "tree/out"


def test_the_edition_is_evaluated_completely(evaluated: Path) -> None:
    results = json.loads((evaluated / "results.json").read_text())
    assert results["not_evaluated"] == []
    attackers = [record["attacker"] for record in results["verification"]]
    assert sorted(attackers) == ["plda", "plda", "plda", "words"]


def test_the_metric_and_the_figure_are_in_the_outputs(evaluated: Path) -> None:
    results = json.loads((evaluated / "results.json").read_text())
    values = [metrics_of(record)["exact"]["overlap"] for record in results["verification"]]
    assert all(0 <= value <= 1 for value in values)
    assert ",overlap,fraction," in (evaluated / "results.csv").read_text()
    assert r"Overlap, \%" in (evaluated / "tables/more/B1_overlap.tex").read_text()
    assert (evaluated / "figures/eers.png").is_file()
    assert "All EERs" in (evaluated / "report.html").read_text()


def test_the_table_shows_every_system(extended: Path, evaluated: Path) -> None:
    results = ("--results", evaluated / "results.json", "--tables", "women_and_men.yaml")
    assert program(extended, "privacy_eval", "tables", *results, "--out", "own").code == 0
    assert "EER of B1, %" in (extended / "own/women_and_men.txt").read_text()


def test_the_stage_counts_scores_of_every_condition_by_its_option(
    extended: Path, evaluated: Path
) -> None:
    counts = sorted(int(path.read_text()) for path in evaluated.glob("counts/*/ASV-*"))
    found = (extended / "tree/exp").glob("**/ASV-libri_test*_f*/**/scores")
    scores = [[float(line.split()[2]) for line in path.read_text().splitlines()] for path in found]
    assert counts == sorted(sum(score > 1 for score in of) for of in scores)
    assert len(counts) == 4
    again = ("--tree", "tree", "--results", "exp", "--out", "out", "--conf", "female_test")

    def count(*options: object) -> str:
        return program(extended, "privacy_eval", "stage", "count-scores", *again, *options).out

    assert count("--above", 1) == "counts of scores: 4 up to date\n"
    assert count().startswith("counts of scores: 4 up to date (4 new)")
