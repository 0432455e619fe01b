"""The words of a tree as an attacker: what is scored, from which texts, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ENROLLS, TRIALS, SpeechTree, cli, lines_to, snapshot, utterances_of

from privacy_eval import load_protocol
from privacy_eval.errors import UsageError
from privacy_eval.products.freshness import NOTE
from privacy_eval.simulate import write_demo_tree
from privacy_eval.stages.attackers import select_attackers

OA = f"ASV-{ENROLLS}-{TRIALS}_anon"


def transcribe(tree: SpeechTree, without: str = "") -> None:
    for name in (ENROLLS, TRIALS):
        spoken = utterances_of(name).items()
        words = (f"{u} {s} says word{n % 7}" for n, (u, s) in enumerate(spoken) if u != without)
        lines_to(tree.root / "data" / name / "text", words)


def scored(tree: SpeechTree, *options: str) -> Path:
    run = cli("asv-scores", *tree_options(tree), *options)
    assert run.code == 0, run.err
    return tree.root / tree.results / OA / "words/scores"


def tree_options(tree: SpeechTree) -> list[str]:
    return ["--tree", str(tree.root), "--results", tree.results, "--conf", "small.yaml"]


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "tree")


def test_scores_are_those_of_text_scores(tree: SpeechTree, tmp_path: Path) -> None:
    transcribe(tree)
    by_words = scored(tree)
    enrollment, trial = tree.root / "data" / ENROLLS, tree.root / "data" / TRIALS
    alone = cli(
        *("text-scores", "--enrollment", enrollment, "--trial", trial),
        *("--trials", trial / "trials", "--out", tmp_path / "scores"),
    )
    assert alone.code == 0 and (tmp_path / "scores").read_text() == by_words.read_text()
    others = [p.parent.parent.name for p in tree.root.rglob("words/scores")]
    assert others == [OA]


def test_without_transcripts_nothing_changes(tree: SpeechTree) -> None:
    assert not scored(tree).exists()
    before = snapshot(tree.root / tree.results)
    transcribe(tree)
    assert not scored(tree, "--attackers", "challenge").exists()
    assert scored(tree, "--attackers", "words").exists()
    after = snapshot(tree.root / tree.results)
    assert {path: after[path] for path in before} == before


def test_words_alone_need_no_vectors_but_to_be_named(tree: SpeechTree) -> None:
    transcribe(tree)
    tree.scp(f"{TRIALS}_anon").unlink()
    assert cli("asv-scores", *tree_options(tree)).code == 1
    assert not list(tree.root.rglob("words"))
    assert scored(tree, "--attackers", "words").exists()


def test_transcripts_that_are_missing(tree: SpeechTree) -> None:
    named = cli("asv-scores", *tree_options(tree), "--attackers", "words")
    assert named.code == 0 and f"data/{ENROLLS}/text" in named.err
    transcribe(tree, without=next(iter(utterances_of(TRIALS))))
    run = cli("asv-scores", *tree_options(tree))
    assert run.code == 1 and "have no transcript" in run.err and "--attackers challenge" in run.err
    assert (tree.root / tree.results / OA / "scores").exists()
    assert not list(tree.root.rglob("words/scores"))


def test_other_words_are_scored_again_and_edited_scores_kept(tree: SpeechTree) -> None:
    transcribe(tree)
    path = scored(tree)
    text = tree.root / "data" / TRIALS / "text"
    text.write_text(text.read_text().replace("word1", "word2"))
    run = cli("asv-scores", *tree_options(tree))
    assert "1 made" in run.out and "trial_transcript" in run.err
    path.write_text("edited\n")
    assert "1 external" in cli("asv-scores", *tree_options(tree)).out
    assert path.read_text() == "edited\n"


def test_a_recognizer_is_asked_before_the_transcript(tmp_path: Path) -> None:
    protocol = load_protocol("vpc2024")
    write_demo_tree(tmp_path / "tree", protocol, speakers=2, utterances=2, systems=1)
    run = cli("asv-scores", "--tree", tmp_path / "tree", "--results", "exp", "--conf", "vpc2024")
    assert run.code == 0, run.err
    folder = tmp_path / "tree/exp/asv_orig/libri_dev_enrolls-libri_dev_trials_f_B1/words"
    inputs = json.loads((folder / NOTE).read_text())["inputs"]
    assert inputs["trial_recognized"]["path"] == "exp/asr/libri_dev_asr_B1/text"
    assert inputs["enrollment_text"]["path"] == "data/libri_dev_enrolls/text"


def test_names_of_attackers() -> None:
    protocol = load_protocol("vpc2024")
    assert select_attackers(protocol, "challenge") == {"cosine"}
    assert select_attackers(protocol, "all") == {a.id for a in protocol.attackers}
    assert select_attackers(protocol, " words,") == {"words"}
    with pytest.raises(UsageError, match="plda"):
        select_attackers(protocol, "words,plda")
