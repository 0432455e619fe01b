"""Zips of submissions: unpacked whole into folders of their own, or refused with a reason."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import Run, cli, snapshot

from privacy_eval.organizers import zips
from privacy_eval.organizers.zips import MARKER

Change = Callable[[zipfile.ZipFile], object]

GOOD = {"exp/asv_anon_a/x-y/scores": "s u 0.5\n", "exp/ser/results_folds_a.csv": ",dataset\n"}


def packed(path: Path, change: Change | None = None, more: Mapping[str, str] = {}) -> Path:
    """A zip of two files, of more, and of what a change writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, text in (GOOD | dict(more)).items():
            archive.writestr(name, text)
        if change is not None:
            change(archive)
    return path


def unpack(folder: Path) -> Run:
    return cli("unpack-submissions", folder / "in", "--exp", folder / "exp")


def texts(folder: Path) -> dict[str, str]:
    return {name: data.decode() for name, data in snapshot(folder).items() if MARKER not in name}


def test_each_zip_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    packed(tmp_path / "in/red.zip")
    packed(
        tmp_path / "in/green/result_for_submission_a.zip",
        special("exp/asr/", stat.S_IFDIR | 0o755),
        more={"__MACOSX/exp/._x": "hidden", "exp/./asr/a/wer": "%WER"},
    )
    run = unpack(tmp_path)
    assert run.code == 0 and "2 zips unpacked" in run.out, run.err
    exp = tmp_path / "exp"
    assert texts(exp / "red") == GOOD
    green = texts(exp / "green/result_for_submission_a")
    assert green == GOOD | {"exp/asr/a/wer": "%WER"}
    before = snapshot(exp)
    run = unpack(tmp_path)
    assert run.code == 0 and "2 current" in run.out and snapshot(exp) == before
    packed(tmp_path / "in/red.zip", more={"late": "more"})
    run = unpack(tmp_path)
    assert run.code == 1 and "red.zip" in run.err and "another version" in run.err
    assert snapshot(exp) == before


def special(name: str, mode: int) -> Change:
    def change(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(name)
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, "" if name.endswith("/") else "/etc/passwd")

    return change


def named(name: str) -> Change:
    def change(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("x")
        info.filename = info.orig_filename = name
        archive.writestr(info, "text")

    return change


REFUSED: dict[str, tuple[Change, str]] = {
    "an absolute path": (named("/tmp/x"), "/tmp/x: absolute"),
    "a drive": (named("C:/x"), "C:/x: absolute"),
    "another system's path": (named("..\\x"), "another system"),
    "a path to above": (named("exp/../../x"), "exp/../../x: leads out"),
    "no name": (named("./"), "leads out"),
    "an escape sequence": (named("exp/\x1b[2J"), "unprintable"),
    "a long name": (named("a" * 201), "too long"),
    "a long path": (named("a/" * 600 + "b"), "too long"),
    "a symbolic link": (special("exp/link", stat.S_IFLNK | 0o777), "exp/link: a link"),
    "a named pipe": (special("exp/pipe", stat.S_IFIFO | 0o600), "exp/pipe: a link or special"),
    "a duplicate": (named("exp/ser/results_folds_a.csv"), "duplicate member"),
    "a duplicate in other words": (named("exp//ser/./results_folds_a.csv"), "duplicate member"),
    "a file below a file": (named("exp/ser/results_folds_a.csv/x"), "within a member"),
    "a file in place of a folder": (named("exp/ser"), "duplicate member"),
    "its own marker": (named(MARKER), "duplicate member"),
    "a bomb": (lambda archive: archive.writestr("bomb", bytes(65 << 20)), "bomb: too large"),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """All kinds of hostile zips among good ones, unpacked at once."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, (change, _) in REFUSED.items():
        packed(folder / f"in/{name}.zip", change)
    packed(folder / "in/a good one.zip")
    packed(folder / "in/z good one.zip")
    packed(folder / "in/keys-x.zip")
    whole = packed(folder / "in/damaged.zip", more={"text": "x" * 100}).read_bytes()
    (folder / "in/truncated.zip").write_bytes(whole[:-40])
    (folder / "in/empty.zip").write_bytes(b"")
    at = whole.index(b"/scores") + len("/scores") + 2
    (folder / "in/damaged.zip").write_bytes(whole[:at] + b"\xff\xff" + whole[at + 2 :])
    flags = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flags[flags.index(signature) + offset] |= 1
    (folder / "in/encrypted.zip").write_bytes(flags)
    many = bytearray(whole)
    struct.pack_into("<L", many, len(many) - 22 + 12, zips._MAX_DIRECTORY + 1)
    (folder / "in/many.zip").write_bytes(many)
    return folder, unpack(folder)


OTHERS = {
    "damaged": "exp/asv_anon_a/x-y/scores: damaged",
    "truncated": "not a zip, or truncated",
    "empty": "not a zip, or truncated",
    "encrypted": "exp/asv_anon_a/x-y/scores: encrypted",
    "many": f"more than {zips.MAX_MEMBERS} members",
    "keys-x": "trial keys",
}


@pytest.mark.parametrize("name", [*REFUSED, *OTHERS])
def test_hostile_zips_are_named(name: str, refused: tuple[Path, Run]) -> None:
    folder, run = refused
    message = OTHERS[name] if name in OTHERS else REFUSED[name][1]
    start = f"privacy-eval: {folder}/in/{name}.zip: "
    (line,) = (line for line in run.err.splitlines() if line.startswith(start))
    assert message in line
    assert run.code == 1 and f"{len(REFUSED) + len(OTHERS)} refused" in run.out


def test_hostile_zips_touch_no_other(refused: tuple[Path, Run]) -> None:
    folder, _ = refused
    assert sorted(path.name for path in folder.iterdir()) == ["exp", "in"]
    assert sorted(path.name for path in (folder / "exp").iterdir()) == ["a good one", "z good one"]
    for team in (folder / "exp").iterdir():
        assert texts(team) == GOOD


def test_zips_are_not_unpacked_over_one_another(tmp_path: Path) -> None:
    packed(tmp_path / "in/red.zip")
    packed(tmp_path / "in/red/one.zip")
    run = unpack(tmp_path)
    assert run.code == 1 and "one.zip" in run.err and "red.zip" in run.err
    assert texts(tmp_path / "exp") == {f"red/{name}": text for name, text in GOOD.items()}
    (tmp_path / "other").mkdir()
    (tmp_path / "exp/blue").symlink_to(tmp_path / "other")
    packed(tmp_path / "in/blue/x.zip")
    run = unpack(tmp_path)
    assert run.code == 1 and "symlink" in run.err and not list((tmp_path / "other").iterdir())


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "MAX_MEMBERS", 1)
    packed(tmp_path / "in/red.zip")
    run = unpack(tmp_path)
    assert run.code == 1 and "2 members" in run.err


def test_a_size_that_lies_is_not_exceeded(tmp_path: Path) -> None:
    """What is unpacked is no more than the size that was checked."""
    path = packed(tmp_path / "in/red.zip", more={"big": "x" * 10_000})
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(signature)
        struct.pack_into("<L", data, at + offset, 10)
    path.write_bytes(data)
    assert zipfile.ZipFile(io.BytesIO(data)).getinfo("big").file_size == 10
    run = unpack(tmp_path)
    assert run.code == 1 and "red.zip: big: damaged" in run.err
    assert not (tmp_path / "exp/red").exists()
