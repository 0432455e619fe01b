"""Vectors that are named as Kaldi's commands name them, and an scp of another machine."""

from pathlib import Path

import numpy as np
import pytest
from support import ROOT, Run, cli, ok, refused

CASE = ROOT / "tests/data/vector_paths"


def scored(enrolled: str, out: Path) -> Run:
    return cli(
        "asv-scores", "--backend", "cosine", "--enroll-vectors", enrolled, "--spk2utt", "spk2utt",
        "--trial-vectors", "tests.scp", "--trials", "trials", "--out", out,
    )  # fmt: skip


@pytest.mark.parametrize(
    "enrolled", ["xvector.scp", "scp:xvector.scp", "ark:xvector.ark", "moved.scp"]
)
def test_the_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enrolled: str) -> None:
    monkeypatch.chdir(CASE)
    done = ok(scored(enrolled, tmp_path / "scores"))
    assert ("/export/elsewhere" in done.err) == (enrolled == "moved.scp")
    scored("xvector.scp", tmp_path / "expected")
    assert (tmp_path / "scores").read_bytes() == (tmp_path / "expected").read_bytes()


def test_an_archive_that_is_nowhere_is_no_question_of_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASE)
    (tmp_path / "moved.scp").write_bytes((CASE / "moved.scp").read_bytes())
    done = scored(str(tmp_path / "moved.scp"), tmp_path / "scores")
    assert done.code == 1 and "/export/elsewhere" in done.err and "--allow-outside" not in done.err


@pytest.mark.parametrize("names", ["names", "keys", "utterances"])
def test_the_array_of_ids_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    monkeypatch.chdir(CASE)
    from privacy_eval.io.vectors import read_vectors

    read = read_vectors(Path("xvector.scp"))
    np.savez(tmp_path / "x.npz", **{names: np.array(read.ids), "embeddings": read.matrix})
    scored(str(tmp_path / "x.npz"), tmp_path / "scores")
    scored("xvector.scp", tmp_path / "expected")
    assert (tmp_path / "scores").read_bytes() == (tmp_path / "expected").read_bytes()


def test_a_folder_of_arrays_says_how_to_pack_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASE)
    refused(scored(str(tmp_path), tmp_path / "scores"), "numpy.savez")
