"""Reading whole files, and writing them so that nobody ever sees half a file."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import PrivacyEvalError

#: No file of a challenge comes near it; a gzip bomb does.
MAX_BYTES = 8 << 30

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Content of a file, unpacked if it is gzip (whatever its name).

    Raises
    ------
    PrivacyEvalError
        Missing, unreadable, truncated or larger than `max_bytes` when unpacked.
    """
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    data = unpacked.read(max_bytes + 1)
            else:
                data = file.read(max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PrivacyEvalError(f"{path}: truncated or damaged gzip file ({error})") from error
    except OSError as error:
        raise PrivacyEvalError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > max_bytes:
        raise PrivacyEvalError(f"{path}: larger than {max_bytes} bytes")
    return data.removeprefix(_UTF8_BOM)


def read_text(path: Path) -> str:
    """Content of a UTF-8 file, see `read_bytes`."""
    data = read_bytes(path)
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

    The folder is made where it is missing. On any error nothing is left behind
    and what was at `path` stays.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise PrivacyEvalError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
