"""Paths outside the tree, and symlinks in untrusted results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from privacy_eval import PrivacyEvalError
from privacy_eval.io import vectors
from privacy_eval.io.files import (
    Inputs,
    check_inside,
    paths_outside,
    refuse_symlinks,
    refuse_symlinks_below,
    write_text,
)
from privacy_eval.speech.audio import AudioReader


def test_paths_outside_are_told_by_where_they_lead(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", tmp_path / "tree-2"
    tree.mkdir()
    other.mkdir()
    (tree / "out").symlink_to(other)
    (other / "in").symlink_to(tree)
    outside = [tree / "out", tree / "out/x", other, tree / "../tree-2/x"]
    inside = [tree, tree / "missing", other / "in/x", tree / "../tree/x"]
    assert paths_outside([*inside, None, *outside], [tree]) == tuple(outside)
    assert paths_outside(outside, [tree, other]) == paths_outside(outside, []) == ()
    check_inside(inside, [tree])
    with pytest.raises(PrivacyEvalError, match=r"^f:1: .*tree/out: is outside .*--allow-outside"):
        check_inside(outside, [tree], "f:1: ")


def test_long_paths_are_cut_in_messages(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError) as caught:
        check_inside([Path("/" + "x" * 10_000)], [tmp_path])
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("check", [refuse_symlinks, refuse_symlinks_below])
@pytest.mark.parametrize("link", ["team", "team/results", "team/results/out"])
def test_symlinks_on_the_way_to_an_output_are_refused(
    tmp_path: Path, link: str, check: object
) -> None:
    results, out = tmp_path / "exp", tmp_path / "exp/team/results/out"
    (results / link).parent.mkdir(parents=True)
    (results / link).symlink_to(tmp_path)
    with pytest.raises(PrivacyEvalError, match=f"{link}: refusing to write through a symlink"):
        check(out, results)  # type: ignore[operator]


@pytest.mark.parametrize("path", ["log/privacy_metrics.1.log", "tables/tables.pdf", "results.json"])
def test_special_files_within_an_output_are_refused(tmp_path: Path, path: str) -> None:
    pipe = tmp_path / "exp/privacy_eval" / path
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    with pytest.raises(PrivacyEvalError, match=f"^{pipe}: refusing to write next to a named pipe"):
        refuse_symlinks_below(tmp_path / "exp/privacy_eval", tmp_path / "exp")


def test_symlinks_of_the_user_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "exp").symlink_to("real")
    (tmp_path / "mine").symlink_to("real")
    refuse_symlinks(tmp_path / "exp/results-x", tmp_path / "exp")
    refuse_symlinks_below(tmp_path / "mine", tmp_path / "exp")


def test_a_link_that_is_exchanged_after_its_check_is_not_followed(tmp_path: Path) -> None:
    """Whatever is exchanged when: never the content of a file outside the roots."""
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("secret")
    path, link = tree / "scores", tree / "link"
    path.write_text("scores")
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        link.symlink_to(secret)
        Inputs([tree]).load(link)
    assert Inputs([]).load(link).content == Inputs().load(link).content == b"secret"
    assert Inputs([tree]).load(secret).content == b"secret"  # named by the user
    within = tree / "within"
    within.symlink_to(path)
    assert Inputs([tree]).load(within).content == b"scores"


def test_archives_and_speech_exchanged_after_their_check_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("u1 [ 1 2 ]\n")
    for name in ("x.ark", "u1.wav"):
        (tree / name).write_text("u1 [ 3 4 ]\n")
    write_text(tree / "x.scp", "u1 x.ark:3\n")
    write_text(tree / "wav.scp", "u1 u1.wav\n")
    checked = vectors._archives
    reader = AudioReader(tree, base=tree)

    def exchange(*given: Any) -> Any:
        archives = checked(*given)
        for name in ("x.ark", "u1.wav"):
            (tree / name).unlink()
            (tree / name).symlink_to(secret)
        return archives

    assert vectors.read_vectors(tree / "x.scp", tree=tree).matrix.tolist() == [[3, 4]]
    monkeypatch.setattr(vectors, "_archives", exchange)
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        vectors.read_vectors(tree / "x.scp", tree=tree)
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        reader.read("u1")
    monkeypatch.undo()
    read = vectors.read_vectors(tree / "x.scp", tree=tree, allow_outside=True)
    assert read.matrix.tolist() == [[1, 2]]


@pytest.mark.parametrize("stays", [False, True])
def test_a_file_exchanged_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("secret")
    path = tree / "scores"
    path.symlink_to(secret)
    real = os.path.realpath
    calls: list[object] = []

    def exchange(name: Any, **options: Any) -> str:
        """Between opening and looking where the path leads: put a harmless file there."""
        calls.append(name)
        if os.fspath(name) != os.fspath(path) or (len(calls) > 1 and not stays):
            return str(real(name, **options))
        path.unlink()
        path.write_text("scores")
        leads_to = str(real(path))
        if stays:
            path.unlink()
            path.symlink_to(secret)
        return leads_to

    monkeypatch.setattr(os.path, "realpath", exchange)
    if stays:
        with pytest.raises(PrivacyEvalError, match="changed while it was opened"):
            Inputs([tree]).load(path)
    else:
        assert Inputs([tree]).load(path).content == b"scores"
