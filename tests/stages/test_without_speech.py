"""Without the wing of speech: stages that need it say so, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ENROLLS, MODEL, TRIALS, SpeechTree, cli, lines_to, utterances_of

from privacy_eval import wings
from privacy_eval.products.freshness import NOTE

#: Options of the recipe that need the wing, by stage.
ASKED = {
    "anonymize": ["--anonymizer=mcadams"],
    "xvectors": ["--extractor=kaldi", "--encoder=ge2e"],
    "recognize": ["--recognizer=say {in} {out}"],
    "measures": ["--quality", "--phones", "--audio=true"],
}


@pytest.fixture(autouse=True)
def without_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {wing.name: wing for wing in wings.installed() if wing.name != "speech"}
    monkeypatch.setattr(wings, "_found", lambda: (others, {"speech": "no module"}))


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    """With speech and x-vectors, without scores."""
    tree = SpeechTree(tmp_path)
    for name in (ENROLLS, TRIALS):
        lines_to(
            tmp_path / "data" / name / "wav.scp", (f"{u} {u}.wav" for u in utterances_of(name))
        )
    return tree


def of_tree(tree: SpeechTree) -> tuple[object, ...]:
    return ("--tree", tree.root, "--results", tree.results, "--conf", "small.yaml")


@pytest.mark.parametrize("stage", ASKED)
def test_a_stage_that_is_not_asked_for_is_left_out(stage: str, tree: SpeechTree) -> None:
    run = cli("stage", stage, *of_tree(tree))
    assert run.code == 0 and f"stage {stage}: not installed" in run.err


@pytest.mark.parametrize(("stage", "option"), [(s, o) for s, of in ASKED.items() for o in of])
def test_an_option_that_needs_it_is_refused(
    stage: str, option: str, tree: SpeechTree, tmp_path: Path
) -> None:
    """By the stage, and before the first one."""
    run = cli("stage", stage, *of_tree(tree), option)
    assert run.code == 1 and f"{stage}: not installed: wing speech" in run.err
    name, _, value = option.partition("=")
    options = (f"--tree={tree.root}", f"--results={tree.results}", "--conf=small.yaml")
    path = lines_to(tmp_path / "options.conf", [*options, f"{name}={value or 'true'}"])
    run = cli("check-options", path)
    assert run.code == 1 and ": not installed: wing speech" in run.err


def test_options_at_their_defaults_need_nothing(tree: SpeechTree, tmp_path: Path) -> None:
    options = (f"--tree={tree.root}", f"--results={tree.results}", "--conf=small.yaml")
    usual = ("--variant=2020", "--per-set=false", "--quality=false", "--phones=false", "--seed=0")
    run = cli("check-options", lines_to(tmp_path / "options.conf", [*options, *usual]))
    assert run.code == 0 and "not installed: wing speech" in run.err


def test_a_verb_of_it_is_told() -> None:
    run = cli("quality", "--data", "data")
    assert run.code == 2 and "not installed: wing speech" in run.err


@pytest.mark.wing("organizers")
def test_the_audit_of_stage_0_is_refused(tree: SpeechTree) -> None:
    run = cli("stage", "check", *of_tree(tree), "--audio")
    assert run.code == 1 and "audit: not installed: wing speech" in run.err
    assert "Traceback" not in cli("stage", "check", *of_tree(tree)).err


def test_x_vectors_that_are_there_are_scored(tree: SpeechTree) -> None:
    run = cli("stage", 5, *of_tree(tree))
    assert run.code == 0 and "stage xvectors: not installed" in run.err
    assert all(path.is_file() for path in tree.all_scores.values())


def test_missing_x_vectors_are_an_error(tree: SpeechTree) -> None:
    (tree.root / MODEL / f"xvect_{TRIALS}" / "xvector.scp").unlink()
    run = cli("stage", 5, *of_tree(tree))
    assert run.code == 1 and "no x-vectors" in run.err


@pytest.mark.wing("disclosure")
def test_seconds_of_tests_are_not_known(tree: SpeechTree) -> None:
    assert cli("stage", 5, *of_tree(tree)).code == 0
    run = cli("stage", "identification", *of_tree(tree), "--sentences=1,2", "--details")
    assert run.code == 0 and "seconds of tests are not known: durations: not inst" in run.err


def test_records_of_speech_are_left_out_with_a_note(tree: SpeechTree) -> None:
    for stage in (5, "privacy-metrics"):
        assert cli("stage", stage, *of_tree(tree)).code == 0
    records = tree.root / tree.results / "privacy_eval/records/anon"
    for name in ("audio-x", "measures-y-x", "measures-z-x"):
        (records / f".{name}{NOTE}").touch()
    assert cli("stage", "collect", *of_tree(tree)).code == 0
    left_out = (records.parents[1] / "left_out.txt").read_text()
    assert "2 records of a stage that is not installed: measures" in left_out
    assert "1 record of a stage that is not installed: audio" in left_out
