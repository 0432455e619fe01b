"""X-vectors of a tree in the formats of any extractor: the same scores, and one file per set."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import MODEL, TRIALS, SpeechTree, lines_to, refused, stage_of

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.vectors import Vectors, read_vectors

h5py = pytest.importorskip("h5py", reason="the extra `formats` is not installed")


def npz(folder: Path, vectors: Vectors) -> None:
    np.savez(folder / "xvector.npz", **dict(zip(vectors.ids, vectors.matrix, strict=True)))


def npz_with_ids(folder: Path, vectors: Vectors) -> None:
    np.savez(folder / "xvector.npz", ids=np.array(vectors.ids), x=vectors.matrix)


def npy(folder: Path, vectors: Vectors) -> None:
    np.save(folder / "xvector.npy", vectors.matrix.astype(np.float64))
    lines_to(folder / "xvector.txt", vectors.ids)


def hdf5(folder: Path, vectors: Vectors) -> None:
    with h5py.File(folder / "xvector.h5", "w") as file:
        for name, vector in zip(vectors.ids, vectors.matrix, strict=True):
            file[name] = vector


FORMATS = [npz, npz_with_ids, npy, hdf5]


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "tree")


def repacked(tree: SpeechTree, write: Callable[[Path, Vectors], None]) -> None:
    """Bring all x-vectors of a tree to another format."""
    for scp in (tree.root / MODEL).glob("xvect_*/xvector.scp"):
        write(scp.parent, read_vectors(scp, tree=tree.root))
        scp.with_suffix(".ark").unlink()
        scp.unlink()


@pytest.mark.parametrize("write", FORMATS)
def test_scores_do_not_depend_on_the_format(
    tree: SpeechTree, write: Callable[[Path, Vectors], None]
) -> None:
    assert tree.run("asv-scores").code == 0
    expected = {kind: path.read_bytes() for kind, path in tree.all_scores.items()}
    repacked(tree, write)
    assert "3 up to date (3 new)" in tree.run("asv-scores").out  # the path is part of what was read
    assert {kind: path.read_bytes() for kind, path in tree.all_scores.items()} == expected
    assert "3 up to date\n" in tree.run("asv-scores").out
    assert tree.run("check").code == 0


def test_changed_vectors_change_the_scores(tree: SpeechTree) -> None:
    repacked(tree, npz)
    tree.run("asv-scores")
    path = tree.scp(TRIALS).with_suffix(".npz")
    vectors = dict(np.load(path))
    np.savez(path, **{**vectors, "s1-u0": -vectors["s1-u0"]})
    run = tree.run("asv-scores")
    assert "3 up to date (1 new)" in run.out and "trial_vectors" in run.err


def test_training_sets_and_back_ends_take_them(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    for file in (tree.root / MODEL / "xvect_train_clean_360").iterdir():
        file.unlink()
    tree.training_set("train_clean_360", MODEL)
    repacked(tree, npz)
    run = tree.run("train-backend")
    assert (run.code, "(1 new)" in run.out) == (0, True), run.err
    assert tree.run("asv-scores").code == 0


def test_several_files_are_an_error_of_their_set_alone(tree: SpeechTree) -> None:
    scp = tree.scp(TRIALS)
    npz(scp.parent, read_vectors(scp, tree=tree.root))
    run = refused(tree.run("asv-scores"), "xvector.scp, xvector.npz")
    assert "(2 new)" in run.out and " 1 of " in run.out
    with pytest.raises(PrivacyEvalError, match="expected one: xvector.scp, xvector.npz"):
        stage_of(tree).read_vectors(scp)


def test_bad_files_are_named(tree: SpeechTree) -> None:
    repacked(tree, npy)
    matrix = tree.scp(TRIALS).with_suffix(".npy")
    np.save(matrix, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused(tree.run("asv-scores"), f"{matrix}: not a NumPy array")
    matrix.with_suffix(".txt").unlink()
    refused(tree.run("asv-scores"), f"{matrix.with_suffix('.txt')}: no such file")
