"""Without the wing of disclosure: stages and options that need it say so, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ENROLLS, SpeechTree, cli, lines_to

from privacy_eval import wings
from privacy_eval.products.freshness import NOTE


@pytest.fixture(autouse=True)
def without_disclosure(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {wing.name: wing for wing in wings.installed() if wing.name != "disclosure"}
    monkeypatch.setattr(wings, "_found", lambda: (others, {"disclosure": "no module"}))


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path)


def of_tree(tree: SpeechTree) -> tuple[str, ...]:
    return (f"--tree={tree.root}", f"--results={tree.results}", "--conf=small.yaml")


@pytest.mark.parametrize(
    ("stage", "option"),
    [
        ("identification", "--sentences=1,2"),
        ("identification", f"--distractors={ENROLLS}"),
        ("attributes", "--attribute=gender"),
    ],
)
def test_an_option_that_needs_it_is_refused(stage: str, option: str, tree: SpeechTree) -> None:
    """By the stage, which is left out without it, and before the first one."""
    run = cli("stage", stage, *of_tree(tree))
    assert run.code == 0 and f"stage {stage}: not installed" in run.err
    path = lines_to(tree.root / "options.conf", [*of_tree(tree), option])
    for run in (cli("stage", stage, *of_tree(tree), option), cli("check-options", path)):
        assert run.code == 1 and f"{stage}: not installed: wing disclosure" in run.err


def test_the_worst_case_is_refused(tmp_path: Path) -> None:
    scores = lines_to(tmp_path / "scores", ["a u 1 target", "a v 0 nontarget"])
    run = cli("metrics", "--scores", scores, "--worst-case")
    assert run.code == 1 and "worst case: not installed: wing disclosure" in run.err
    assert cli("identification", "--ranks", scores).code == 2


def test_results_are_reported_and_records_left_out_with_a_note(tree: SpeechTree) -> None:
    for stage in (5, 6, 7):
        assert cli("stage", stage, *of_tree(tree)).code == 0
    records = tree.root / tree.results / "privacy_eval/records/anon"
    for name in ("identification-x", "amount-y-x", "amount-z-x"):
        (records / f".{name}{NOTE}").touch()
    assert cli("stage", "collect", *of_tree(tree)).code == 0
    left_out = (records.parents[1] / "left_out.txt").read_text()
    assert "2 records of a stage that is not installed: amount" in left_out
    assert "1 record of a stage that is not installed: identification" in left_out
    out = tree.root / "report.html"
    assert cli("report", "--results", records.parents[1] / "results.json", "--out", out).code == 0
    assert "Least protected speaker: " in out.read_text()
