"""Unpack untrusted zips: every member is checked before anything is written."""

from __future__ import annotations

import json
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ..errors import PrivacyEvalError, printable, shorten
from ..io.files import (
    MAX_BYTES,
    atomic_folder,
    large_digest,
    max_unpacked_bytes,
    opened,
    refuse_symlinks,
    sweep,
    write_text,
)
from ..io.names import check_name
from ..io.schema import load_json

#: Members of a zip; a submission has a few hundred.
MAX_MEMBERS = 20_000

#: File that says which zip a folder was unpacked from.
MARKER = ".unpacked.json"

# Bytes of the directory in a zip, of which `zipfile` makes an object per member, at 1 KiB each.
_MAX_DIRECTORY = MAX_MEMBERS << 10
_LONGEST_PART, _LONGEST_PATH = 200, 1000
_PIECE = 1 << 20

# The record at the end of a zip, with a comment of up to 65535 bytes after it; before it what
# only zips of over 4 GiB or 65535 members have. The size of the directory is at byte 12.
_END, _END_BYTES, _MAX_COMMENT = b"PK\x05\x06", 22, 0xFFFF
_END64, _END64_BYTES = b"PK\x06\x07", 20


def unpack_zip(path: Path, folder: Path, within: Path) -> bool:
    """Unpack a zip into a folder of its own, whole or not at all.

    Parameters
    ----------
    path : Path
        The zip.
    folder : Path
        Does not exist yet, or was unpacked from the same zip.
    within : Path
        Folder of all submissions: no link in it is followed.

    Returns
    -------
    bool
        False if the folder was unpacked from this zip before.

    Raises
    ------
    PrivacyEvalError
        Names the zip and the member: damaged or encrypted; too many or too large; a path that is
        absolute, leads out of the folder, is no name of a file or occurs twice; a link or the
        like. The folder has other content.
    """
    refuse_symlinks(folder, within)
    with opened(path, path) as file:
        _check_end(path, file)
        marker = {"zip": path.name, "sha256": large_digest(path, -1)}
        if folder.exists():
            _check_unpacked(path, folder, marker)
            return False
        try:
            with zipfile.ZipFile(file) as archive:
                members = dict(_members(path, archive.infolist(), file.seek(0, 2)))
                sweep(folder)
                with atomic_folder(folder) as new:
                    for name, member in members.items():
                        _extract(path, archive, member, new / name)
                    write_text(new / MARKER, json.dumps(marker, indent=1) + "\n")
        except (zipfile.BadZipFile, struct.error, ValueError) as error:
            raise PrivacyEvalError(f"{path}: damaged zip ({error})") from error
    return True


def _check_end(path: Path, file: BinaryIO) -> None:
    """Check the size of the directory of a zip before it is read as a whole."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _MAX_COMMENT - _END_BYTES - _END64_BYTES))
    tail = file.read()
    is_last = tail[-_END_BYTES:].startswith(_END) and tail.endswith(b"\0\0")
    at = len(tail) - _END_BYTES if is_last else tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise PrivacyEvalError(f"{path}: not a zip, or truncated")
    (directory,) = struct.unpack_from("<L", tail, at + 12)
    before = tail[max(0, at - _END64_BYTES) : at]
    if size > MAX_BYTES or directory > _MAX_DIRECTORY or before.startswith(_END64):
        raise PrivacyEvalError(
            f"{path}: a zip of more than {MAX_MEMBERS} members, or of more than 4 GiB"
        )


def _check_unpacked(path: Path, folder: Path, marker: dict[str, str | None]) -> None:
    """Make sure that a folder was unpacked from a zip."""
    file = folder / MARKER
    there = load_json(file) if file.is_file() else None
    if there != marker:
        was = "was unpacked from another version of it" if there else "is there already"
        raise PrivacyEvalError(
            f"{path}: not unpacked, as {folder} {was}; remove that folder, or rename the zip"
        )


def _members(
    path: Path, members: Sequence[zipfile.ZipInfo], packed: int
) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Yield the files of a zip, by paths that are safe below any folder."""
    if len(members) > MAX_MEMBERS:
        raise PrivacyEvalError(f"{path}: {len(members)} members; at most {MAX_MEMBERS} are allowed")
    files: set[PurePosixPath] = {PurePosixPath(MARKER)}
    folders: set[PurePosixPath] = set()
    left = max_unpacked_bytes(packed)
    for member in members:
        where = f"{path}: {shorten(printable(member.orig_filename))}"
        name = _safe_path(member, where)
        if name in files or (name in folders and not member.is_dir()):
            raise PrivacyEvalError(f"{where}: duplicate member")
        folders.update(name.parents)
        (folders if member.is_dir() else files).add(name)
        if files & set(name.parents):
            raise PrivacyEvalError(f"{where}: within a member that is a file")
        left -= member.file_size
        if left < 0:
            raise PrivacyEvalError(
                f"{where}: too large: a zip of {packed} bytes may be unpacked to "
                f"{max_unpacked_bytes(packed)}"
            )
        if not member.is_dir() and name.parts[0] != "__MACOSX":
            yield str(name), member


def _safe_path(member: zipfile.ZipInfo, where: str) -> PurePosixPath:
    """Return the path of a member."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise PrivacyEvalError(f"{where}: a link or special file")
    if member.flag_bits & 1:
        raise PrivacyEvalError(f"{where}: encrypted")
    text = member.orig_filename
    name = PurePosixPath(text)
    if name.is_absolute() or "\\" in text or re.match("[A-Za-z]:", text):
        raise PrivacyEvalError(f"{where}: absolute path, or one of another system")
    if ".." in name.parts or not name.parts:
        raise PrivacyEvalError(f"{where}: leads out of the folder of the submission")
    for part in name.parts:
        check_name(part, where)
    if len(text) > _LONGEST_PATH or max(len(p.encode()) for p in name.parts) > _LONGEST_PART:
        raise PrivacyEvalError(f"{where}: the name is too long")
    return name


def _extract(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Write a member as a new file; `zipfile` reads no more than the size that it states."""
    where = f"{path}: {shorten(member.filename)}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(member) as source, open(target, "xb") as file:
            shutil.copyfileobj(source, file, _PIECE)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise PrivacyEvalError(f"{where}: damaged, or packed unusually ({error})") from error
