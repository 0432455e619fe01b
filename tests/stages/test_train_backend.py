"""Back ends that a tree lacks: what is trained, what is kept, what is made anew."""

from __future__ import annotations

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
    SMALL_PLAN_2022,
    TRIALS,
    SpeechTree,
    lines_to,
    snapshot,
    times,
    utterances,
    vectors_for,
)

import privacy_eval.stages.train_backend as training
from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import train_backend
from privacy_eval.asv.model_folder import load_backend, save_backend
from privacy_eval.io.scp import write_vectors
from privacy_eval.stages.asv_scores import NOTE, Place, Scored, find_targets, make_scores
from privacy_eval.stages.train_backend import train_models

OWN = "exp/models/user_asv_eval_anon/xvect_01709_1"
TRAINING = "train_clean_360_anon"
OWN_BACK_END = f"{OWN}/xvect_{TRAINING}"
FILES = {"plda", "mean.vec", "transform.mat", NOTE}


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    """A tree of 2022 whose attacker's back end is still to be trained."""
    tree = SpeechTree(tmp_path / "a tree", plan=SMALL_PLAN_2022)
    tree.anonymized("_anon", model=OWN)
    tree.training_set(TRAINING, OWN)
    return tree


def trained(tree: SpeechTree, **options: bool) -> Scored:
    place = Place(tree.root, tree.root / "exp", **options)
    targets, _ = find_targets(place, tree.protocol, name=None, anon_suffix=None)
    return train_models(targets, place, tree.protocol)


def test_the_attackers_back_end_is_trained_and_scores_follow(tree: SpeechTree) -> None:
    place = Place(tree.root, tree.root / "exp")
    targets, _ = find_targets(place, tree.protocol, name=None, anon_suffix=None)
    assert set(make_scores(targets, place, tree.protocol).lacking.values()) == {
        (
            "back end of the model trained on anonymized speech",
            f"{OWN_BACK_END}/plda (with mean.vec, transform.mat)",
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
    assert len(make_scores(targets, place, tree.protocol).made) == 3
    note = json.loads((tree.root / OWN_BACK_END / NOTE).read_text())
    assert note["trained_from"]["utt2spk"]["path"] == f"data/{TRAINING}/utt2spk"
    assert str(tree.root) not in json.dumps(note)


def test_the_plan_of_2020_needs_no_other_back_end(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    tree.training_set(TRAINING, OWN)
    before = snapshot(tmp_path)
    outcome = trained(tree)
    assert outcome.kept == ["exp/models/asv_eval/xvect_01709_1"]
    assert snapshot(tmp_path) == before


def test_a_lacking_original_back_end_is_trained_too(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    shutil.rmtree(tmp_path / BACKEND)
    tree.training_set("train_clean_360", "exp/models/asv_eval/xvect_01709_1")
    assert trained(tree).made == ["exp/models/asv_eval/xvect_01709_1"]
    assert {p.name for p in (tmp_path / BACKEND).iterdir()} == FILES | {
        "xvector.scp",
        "xvector.ark",
    }


def test_what_is_up_to_date_is_not_touched(tree: SpeechTree) -> None:
    trained(tree)
    before = times((tree.root / OWN_BACK_END).iterdir())
    assert len(before) == 6
    assert trained(tree).up_to_date == [OWN]
    assert times((tree.root / OWN_BACK_END).iterdir()) == before


@pytest.mark.parametrize("change", ["vectors", "speakers"])
def test_ours_is_trained_anew_when_its_speech_changed(tree: SpeechTree, change: str) -> None:
    trained(tree)
    before = (tree.root / OWN_BACK_END / "plda").read_bytes()
    if change == "vectors":
        tree.training_set(TRAINING, OWN, seed=1)
    else:
        path = tree.root / f"data/{TRAINING}/utt2spk"
        path.write_text(path.read_text().replace(" t7\n", " t8\n"))
    assert trained(tree).made == [OWN]
    assert (tree.root / OWN_BACK_END / "plda").read_bytes() != before
    assert trained(tree).up_to_date == [OWN]


@pytest.mark.parametrize("whose", ["given", "in the model folder", "edited", "no note"])
def test_back_ends_of_others_are_kept(tree: SpeechTree, whose: str) -> None:
    if whose == "given":
        tree.backend(OWN_BACK_END, seed=7)
    elif whose == "in the model folder":
        tree.backend(OWN, seed=7)
    else:
        trained(tree)
        if whose == "edited":
            tree.backend(BACKEND, seed=8)
            shutil.copy(tree.root / BACKEND / "mean.vec", tree.root / OWN_BACK_END)
        else:
            (tree.root / OWN_BACK_END / NOTE).unlink()
    tree.training_set(TRAINING, OWN, seed=1)
    before = snapshot(tree.root)
    assert trained(tree).kept == [OWN, "exp/models/asv_eval/xvect_01709_1"]
    assert snapshot(tree.root) == before


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("last", ["nothing", "note", "mean.vec", "transform.mat", "plda"])
def test_a_run_killed_while_it_writes(
    tree: SpeechTree, last: str, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was written last: there is no back end, or a whole one that stays ours."""
    if anew:
        trained(tree)
        tree.training_set(TRAINING, OWN, seed=1)
    folder = tree.root / OWN_BACK_END

    def killed_save(to: Path, model: object) -> None:
        save_backend(to, model)  # type: ignore[arg-type]
        if to != folder:
            return
        order = ["mean.vec", "transform.mat", "plda"]
        written = order[: order.index(last) + 1] if last in order else []
        for name in order:
            if name not in written and not (anew and name != "plda"):
                (to / name).unlink()
        raise KeyboardInterrupt

    def killed_note(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "save_backend", killed_save)
    if last == "nothing":
        monkeypatch.setattr(training, "write_text", killed_note)
    with pytest.raises(KeyboardInterrupt):
        trained(tree)
    monkeypatch.undo()
    assert (folder / "plda").exists() == (last == "plda")
    again = trained(tree)
    assert (again.up_to_date if last == "plda" else again.made) == [OWN]
    left = snapshot(folder)
    tree.training_set(TRAINING, OWN, seed=2)
    assert trained(tree).made == [OWN]
    tree.training_set(TRAINING, OWN, seed=int(anew))
    assert trained(tree).made == [OWN]
    assert snapshot(folder) == left


@pytest.mark.parametrize("gone", ["xvector.scp", "utt2spk"])
def test_without_training_speech_there_is_nothing_to_do(tree: SpeechTree, gone: str) -> None:
    scp, utt2spk = tree.root / OWN_BACK_END / "xvector.scp", tree.root / f"data/{TRAINING}/utt2spk"
    path = scp if gone == "xvector.scp" else utt2spk
    path.unlink()
    outcome = trained(tree)
    place = str(path.relative_to(tree.root))
    assert outcome.lacking == {OWN: ("training set of a back end", place)}
    assert outcome.failed == {}


def few(tree: SpeechTree, speakers: int, each: int) -> None:
    spoken = utterances([f"t{i}" for i in range(speakers)], each)
    scp = tree.root / OWN_BACK_END / "xvector.scp"
    write_vectors(scp, list(spoken), vectors_for(TRAINING, spoken), tree=tree.root)
    lines_to(tree.root / f"data/{TRAINING}/utt2spk", (f"{u} {s}" for u, s in spoken.items()))


BAD: dict[str, tuple[Callable[[SpeechTree], object], str]] = {
    "speech of nobody": (
        lambda t: lines_to(t.root / f"data/{TRAINING}/utt2spk", ["t0-u0 t0"]),
        rf"xvector.scp: 79 utterances have no speaker in .*{TRAINING}/utt2spk: t0-u1, ",
    ),
    "one speaker": (lambda t: few(t, 1, 9), r"xvector.scp: .*at least two speakers"),
    "one utterance each": (lambda t: few(t, 9, 1), r"xvector.scp: .*(single vector|two vectors)"),
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
    assert "--allow-outside reads it" in trained(tree).failed[OWN]
    assert trained(tree, allow_outside=True).made == [OWN]


def test_a_training_that_fails_keeps_the_back_end_before_it(tree: SpeechTree) -> None:
    trained(tree)
    before = (tree.root / OWN_BACK_END / "plda").read_bytes()
    few(tree, 1, 9)
    assert OWN in trained(tree).failed
    assert (tree.root / OWN_BACK_END / "plda").read_bytes() == before


def test_a_missing_tree_is_an_error(tree: SpeechTree) -> None:
    with pytest.raises(PrivacyEvalError, match="no such folder"):
        find_targets(
            Place(tree.root / "no", tree.root / "no/exp"),
            tree.protocol,
            name=None,
            anon_suffix=None,
        )
    assert (tree.root / f"data/{TRIALS}").is_dir()
