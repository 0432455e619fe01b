"""Reading whole files, and writing them so that nobody ever sees half a file."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import gzip
import hashlib
import io
import os
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

from ..errors import PrivacyEvalError

#: No file of a challenge comes near it.
MAX_BYTES = 8 << 30
#: Texts that become Python objects, which take many times their size: results.json,
#: results.txt, spk2utt.
MAX_TEXT_BYTES = 512 << 20
#: How many times its size a gzip file may unpack to, beyond what is harmless anyhow. Trials and
#: scores reach 20, a gzip bomb 1000.
_MAX_RATIO = 200
_HARMLESS_BYTES = 64 << 20


class SupportsRead(Protocol):
    """What gives its bytes piece by piece."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


_SUPPLIED: ContextVar[Mapping[Path, bytes]] = ContextVar("supplied", default={})  # noqa: B039
_PIECE_BYTES = 64 << 20
# Of a piece of a file's name; file systems take 255 bytes of the whole.
_LONGEST_NAME = 120
_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"


@contextlib.contextmanager
def supply(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """Within this block `read_bytes` of these paths returns these contents."""
    token = _SUPPLIED.set({**_SUPPLIED.get(), **contents})
    try:
        yield
    finally:
        _SUPPLIED.reset(token)


def supplied(path: Path) -> bytes | None:
    """The content that `supply` holds for a path."""
    return _SUPPLIED.get().get(path)


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Content of a file, unpacked if it is gzip (whatever its name).

    Raises
    ------
    PrivacyEvalError
        Missing, unreadable, truncated, larger than `max_bytes` or a gzip bomb; larger than
        the memory that there is.
    """
    known = supplied(path)
    if known is not None and len(known) <= max_bytes:
        return known
    try:
        with open(path, "rb") as file:
            data = _read_up_to(max_bytes, file)
        if data.startswith(_GZIP_MAGIC):
            max_bytes = min(max_bytes, most_unpacked(len(data)))
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = _read_up_to(max_bytes, unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PrivacyEvalError(f"{path}: truncated or damaged gzip file ({error})") from error
    except OSError as error:
        raise PrivacyEvalError(f"{path}: cannot be read ({error.strerror or error})") from error
    except MemoryError as error:
        raise PrivacyEvalError(f"{path}: larger than the memory that there is") from error
    if len(data) > max_bytes:
        raise PrivacyEvalError(f"{path}: larger than {max_bytes} bytes (unpacked, if it is gzip)")
    return data.removeprefix(_UTF8_BOM)


def _read_up_to(max_bytes: int, file: SupportsRead) -> bytes:
    """All of a file, or a little more than `max_bytes` of it."""
    pieces = []
    left = max_bytes + 1
    while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def most_unpacked(packed: int) -> int:
    """Bytes that a gzip file of a size may unpack to: a bomb is more than memory holds."""
    return max(_HARMLESS_BYTES, min(MAX_BYTES, _MAX_RATIO * packed))


def read_text(path: Path) -> str:
    """Content of a UTF-8 file of at most `MAX_TEXT_BYTES`, see `read_bytes`."""
    data = read_bytes(path, max_bytes=MAX_TEXT_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PrivacyEvalError(f"{path}:{line}: not UTF-8 text") from error


def digest(data: bytes) -> str:
    """SHA-256 as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when the block ends well.

    A link is replaced, never followed, as it may be a stranger's; devices and the like
    are refused.

    The folder is made where it is missing. On any error nothing is left behind and
    what was at `path` stays; what a killed writer left is swept by the next one.
    """
    if path.exists() and not path.is_file():
        raise PrivacyEvalError(f"{path}: is no regular file and is not written over")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _locked_temporary(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        sweep(path)  # first: once the file is there, it may never be written again
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _locked_temporary(path: Path) -> tuple[int, Path]:
    """A new temporary file, locked for as long as its writer lives."""
    while True:
        handle, name = tempfile.mkstemp(
            dir=os.path.realpath(path.parent), prefix=f".{path.name}.", suffix=".tmp"
        )
        with contextlib.suppress(OSError):  # a file system without locks is not swept either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):  # not swept between its making and its lock
            return handle, Path(name)
        os.close(handle)


def sweep(path: Path) -> None:
    """Remove temporary files for `path` whose writer is gone."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
            left.unlink()


def _cannot_write(path: Path, error: OSError) -> PrivacyEvalError:
    return PrivacyEvalError(f"{path}: cannot be written ({error.strerror or error})")


def relative(path: Path, tree: Path) -> str:
    """A path as it is noted: relative to the tree."""
    return Path(os.path.relpath(path, tree)).as_posix()


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name of plain ASCII for each name, distinct ones for distinct names.

    What could mean something to a shell, TeX or a file system becomes `_`. Where two names
    would share a file (on any file system) each gets a piece of its digest; of a name that is
    too long that stands for the middle.
    """
    plain = {name: re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("._-") or "_" for name in names}
    taken = Counter(file.casefold() for file in plain.values())
    found = {}
    for name, file in plain.items():
        piece = digest(name.encode())[:8]
        if len(file) > _LONGEST_NAME:
            file = f"{file[: _LONGEST_NAME // 2]}-{piece}-{file[-_LONGEST_NAME // 3 :]}"
        elif taken[file.casefold()] > 1:
            file = f"{file}-{piece}"
        found[name] = file
    return found
