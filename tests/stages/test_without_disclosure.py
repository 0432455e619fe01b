"""Without the wing of disclosure: stages and options that need it say so, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ENROLLS, SpeechTree, cli, lines_to, ok

from privacy_eval import wings
from privacy_eval.products.freshness import NOTE
from privacy_eval.results.json_store import read_results

FOUND = wings._found


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


@pytest.mark.parametrize(
    ("option", "name"),
    [("--worst-case", "worst case"), ("--by=speakers.csv:sex", "metrics of groups")],
)
def test_what_it_computes_of_scores_is_refused(option: str, name: str, tmp_path: Path) -> None:
    scores = lines_to(tmp_path / "scores", ["a u 1 target", "a v 0 nontarget"])
    run = cli("metrics", "--scores", scores, option)
    assert run.code == 1 and f"{name}: not installed: wing disclosure" in run.err
    assert cli("identification", "--ranks", scores).code == 2


@pytest.mark.wing("disclosure")
def test_groups_of_a_protocol_are_left_out_with_a_warning(
    tree: SpeechTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of an installation that has the wing are made again, as those of one that has not."""
    with (tree.root / "small.yaml").open("a") as conf:
        conf.write(f"groups: [data/{ENROLLS}/spk2gender]\n")
    results = tree.root / tree.results / "privacy_eval/results.json"
    ok(cli("stage", "asv-scores", *of_tree(tree)))
    for absent in (True, False, True):
        with monkeypatch.context() as patch:
            if not absent:
                patch.setattr(wings, "_found", FOUND)
            run = ok(cli("stage", "privacy-metrics", *of_tree(tree)))
            assert ("groups of speakers: not installed: wing disclosure" in run.err) == absent
            ok(cli("stage", "collect", *of_tree(tree)))
            assert bool(read_results(results).measurements.values("group_by")) != absent
            ok(cli("report", "--results", results, "--out", tree.root / "report.html"))


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
