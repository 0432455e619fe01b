"""Back ends that a tree lacks: what is trained, what is kept, what is made anew."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import (
    BACKEND,
    DIMENSION,
    SMALL_PROTOCOL_2022,
    SpeechTree,
    lines_to,
    snapshot,
    stage_of,
    utterances,
    vectors_for,
)

from privacy_eval.asv.backend import train_backend
from privacy_eval.asv.model_folder import load_backend
from privacy_eval.io.vectors import write_vectors
from privacy_eval.products.freshness import NOTE, Outcome
from privacy_eval.stages.asv_scores import make_scores, train_backends

OWN = "exp/models/user_asv_eval_anon/xvect_01709_1"
TRAINING = "train_clean_360_anon"
OWN_BACK_END = f"{OWN}/xvect_{TRAINING}"
FILES = {"plda", "mean.vec", "transform.mat", NOTE}


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    """A tree of 2022 whose attacker's back end is still to be trained."""
    tree = SpeechTree(tmp_path / "a tree", protocol=SMALL_PROTOCOL_2022)
    tree.anonymized("_anon", model=OWN)
    tree.training_set(TRAINING, OWN)
    return tree


def trained(tree: SpeechTree, **options: bool) -> Outcome:
    return train_backends(stage_of(tree, **options))


def test_the_attackers_back_end_is_trained_and_scores_follow(tree: SpeechTree) -> None:
    missing = make_scores(stage_of(tree)).missing.values()
    assert {(error.kind, error.where) for error in missing} == {
        (
            "back end",
            f"{OWN_BACK_END}/plda (with mean.vec, transform.mat), or in "
            f"{Path(OWN_BACK_END).parent}",
        )
    }
    outcome = trained(tree)
    assert (outcome.made, outcome.kept) == ([OWN], ["exp/models/asv_eval/xvect_01709_1"])
    found = load_backend(tree.root / OWN_BACK_END).model
    spoken = utterances([f"t{i}" for i in range(20)], 4)
    expected = train_backend(vectors_for(TRAINING, spoken), list(spoken.values()))
    assert found.transform is not None and found.transform.shape == (DIMENSION, DIMENSION + 1)
    assert np.array_equal(found.transform, expected.transform)  # type: ignore[arg-type]
    assert np.array_equal(found.plda.transform, expected.plda.transform)
    assert np.array_equal(found.plda.psi, expected.plda.psi)
    assert len(make_scores(stage_of(tree)).made) == 3
    note = json.loads((tree.root / OWN_BACK_END / NOTE).read_text())
    assert note["inputs"]["utt2spk"]["path"] == f"data/{TRAINING}/utt2spk"
    assert str(tree.root) not in json.dumps(note)


def test_vpc2020_needs_no_other_back_end(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    tree.training_set(TRAINING, OWN)
    before = snapshot(tmp_path)
    outcome = trained(tree)
    assert outcome.kept == ["exp/models/asv_eval/xvect_01709_1"]
    assert snapshot(tmp_path) == before


def test_a_missing_back_end_of_original_speech_is_trained(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    shutil.rmtree(tmp_path / BACKEND)
    tree.training_set("train_clean_360", "exp/models/asv_eval/xvect_01709_1")
    assert trained(tree).made == ["exp/models/asv_eval/xvect_01709_1"]
    assert {p.name for p in (tmp_path / BACKEND).iterdir()} == FILES | {
        "xvector.scp",
        "xvector.ark",
    }


def test_a_back_end_is_trained_again_after_its_speech_changed(tree: SpeechTree) -> None:
    trained(tree)
    before = (tree.root / OWN_BACK_END / "plda").read_bytes()
    tree.training_set(TRAINING, OWN, seed=1)
    assert trained(tree).made == [OWN]
    assert (tree.root / OWN_BACK_END / "plda").read_bytes() != before
    assert trained(tree).current == [OWN]


def test_another_lda_dimension_trains_a_back_end_again(tree: SpeechTree) -> None:
    trained(tree)
    config = lines_to(tree.root / "options.conf", ["--stage=2", "--lda-dim=3", "--nj=2"])
    run = tree.run("train-backend", "--config", config)
    assert run.code == 0 and "(1 new)" in run.out, run
    transform = load_backend(tree.root / OWN_BACK_END).model.transform
    assert transform is not None and transform.shape == (3, DIMENSION + 1)
    assert "1 up to date, 1 external\n" in tree.run("train-backend", "--config", config).out
    assert trained(tree).made == [OWN]
    assert f"1 to {DIMENSION}" in tree.run("train-backend", "--lda-dim", 99).err


@pytest.mark.parametrize("folder", [OWN_BACK_END, OWN], ids=["given", "in the model folder"])
def test_external_back_ends_are_kept(tree: SpeechTree, folder: str) -> None:
    tree.backend(folder, seed=7)
    tree.training_set(TRAINING, OWN, seed=1)
    before = snapshot(tree.root)
    assert trained(tree).kept == [OWN, "exp/models/asv_eval/xvect_01709_1"]
    assert snapshot(tree.root) == before


@pytest.mark.parametrize("gone", ["xvector.scp", "utt2spk"])
def test_missing_training_speech_is_reported(tree: SpeechTree, gone: str) -> None:
    scp, utt2spk = tree.root / OWN_BACK_END / "xvector.scp", tree.root / f"data/{TRAINING}/utt2spk"
    path = scp if gone == "xvector.scp" else utt2spk
    path.unlink()
    outcome = trained(tree)
    place = str(path.relative_to(tree.root))
    (error,) = outcome.missing.values()
    assert (error.kind, error.where) == ("training set of a back end", place)
    assert outcome.failed == {}


def few(tree: SpeechTree, speakers: int, each: int) -> None:
    spoken = utterances([f"t{i}" for i in range(speakers)], each)
    scp = tree.root / OWN_BACK_END / "xvector.scp"
    write_vectors(scp, list(spoken), vectors_for(TRAINING, spoken), tree=tree.root)
    lines_to(tree.root / f"data/{TRAINING}/utt2spk", (f"{u} {s}" for u, s in spoken.items()))


BAD: dict[str, tuple[Callable[[SpeechTree], object], str]] = {
    "speech of nobody": (
        lambda t: lines_to(t.root / f"data/{TRAINING}/utt2spk", ["t0-u0 t0"]),
        rf"{TRAINING}/utt2spk: no speaker of 79 utterances: t0-u1, ",
    ),
    "one speaker": (lambda t: few(t, 1, 9), r"xvector.scp: .*at least two speakers"),
    "one utterance each": (lambda t: few(t, 9, 1), r"xvector.scp: .*single vector"),
    "too few": (lambda t: few(t, 3, 2), r"xvector.scp: PLDA of 6 dimensions needs more .* are 6"),
    "damaged": (
        lambda t: (t.root / OWN_BACK_END / "xvector.ark").write_bytes(b""),
        r"xvector.scp:1: t0-u0",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_training_speech(tree: SpeechTree, bad: str) -> None:
    damage, message = BAD[bad]
    damage(tree)
    before = snapshot(tree.root)
    outcome = trained(tree)
    assert re.search(message, outcome.failed[OWN]), outcome.failed
    assert snapshot(tree.root) == before


def test_links_out_of_the_tree_are_refused(tree: SpeechTree, tmp_path: Path) -> None:
    path = tree.root / f"data/{TRAINING}/utt2spk"
    shutil.move(path, tmp_path / "utt2spk")
    path.symlink_to(tmp_path / "utt2spk")
    assert "use --allow-outside" in trained(tree).failed[OWN]
    assert trained(tree, allow_outside=True).made == [OWN]


def test_a_training_that_fails_keeps_the_back_end_before_it(tree: SpeechTree) -> None:
    trained(tree)
    before = (tree.root / OWN_BACK_END / "plda").read_bytes()
    few(tree, 1, 9)
    assert OWN in trained(tree).failed
    assert (tree.root / OWN_BACK_END / "plda").read_bytes() == before
