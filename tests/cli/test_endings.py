"""The line that a stage ends with: what there is in the tree, and what is missing."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import Run, SpeechTree

#: A count with what it counts.
COUNT = re.compile(r"(\d+) (?:of (\d+) )?([a-z][a-z -]*)")


def ending(run: Run) -> str:
    return run.out.splitlines()[-1]


def files(tree: SpeechTree) -> Mapping[str, int]:
    """What stages make in the tree."""
    out = tree.root / "exp/privacy_eval"
    patterns = {
        "score files": (tree.root, "exp/results-*/ASV-*/scores"),
        "conditions": (out, "records/*/ASV-*.json"),
        "similarities": (out, "records/*/similarity-*.json"),
        "identifications": (out, "records/*/identification-*.json"),
    }
    return {what: len([*folder.glob(of)]) for what, (folder, of) in patterns.items()}


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "tree")


@pytest.mark.wing("disclosure")
def test_counts_are_those_of_the_tree(tree: SpeechTree) -> None:
    """In the first run and in an unchanged one, in one line, and none is zero."""
    for new in (True, False):
        for number in range(2, 9):
            lines = tree.run(str(number)).out.splitlines()
            assert len(lines) == 1, number
            assert not any(of[0] == "0" for of in COUNT.findall(lines[0])), lines
            for what, there in files(tree).items():
                for count in re.findall(rf"{what}: (\d+) up to date", lines[0]):
                    assert int(count) == there > 0
                    assert (f"({count} new)" in lines[0]) is new
    assert all(files(tree).values())


def lose_scores(tree: SpeechTree) -> None:
    tree.all_scores["oo"].unlink()


def lose_keys(tree: SpeechTree) -> None:
    for path in tree.root.glob("data/*/trials"):
        path.unlink()


def break_scores(tree: SpeechTree) -> None:
    tree.all_scores["oo"].write_text("a b c\n")


@pytest.mark.parametrize(
    ("change", "verb", "said"),
    [
        (lose_scores, "privacy-metrics", r"1 of 3 score files missing: stage 5"),
        (lose_scores, "check", r"1 of 3 score files missing: stage 5"),
        (break_scores, "privacy-metrics", r"2 up to date( \(2 new\))?, 1 of 3 failed"),
        (break_scores, "check", r"not ready: 1 error\b.*; 2 of 3 "),
        (lose_keys, "check", r"not ready: 3 errors\b.*; 0 of 3 "),
    ],
)
@pytest.mark.wing("organizers")
def test_what_is_missing_is_said_with_what_makes_it(
    change: Callable[[SpeechTree], None], verb: str, said: str, tree: SpeechTree
) -> None:
    assert tree.run("asv-scores").code == 0
    change(tree)
    assert re.search(said, ending(tree.run(verb)))


def test_scores_without_vectors_or_keys_refer_to_the_check(tree: SpeechTree) -> None:
    lose_keys(tree)
    assert re.search(r"3 of 3 missing \(no trial keys; .*stage 0", ending(tree.run("asv-scores")))


def test_a_stage_without_work_says_so(tree: SpeechTree) -> None:
    assert ending(tree.run("xvectors")) == "nothing to do"
