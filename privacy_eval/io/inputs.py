"""Input files of a command, each read and hashed once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import PrivacyEvalError
from .files import LineLimit, Loaded, digest, large_digest, read_bytes

#: Limit of the contents stored for later readers, in addition to the last two files.
_KEPT_BYTES = 64 << 20


class Inputs:
    """Digests of the input files of a command, and their contents for the readers.

    A file is read from disk once: its content is hashed, and handed on to the reader that
    parses it (`load`). What changes on disk in between is not seen. Large uncompressed files,
    such as an hour of speech, are hashed in chunks and read again when they are parsed; a change
    in between is an error.

    Attributes
    ----------
    roots : sequence of Path
        Folders that paths within them must not lead out of.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self.roots = roots
        self._sha256: dict[Path, str] = {}
        self._content: dict[Path, bytes] = {}
        self._kept = 0

    def sha256(self, path: Path, limit: LineLimit | None = None) -> str:
        """Return the SHA-256 of the (unpacked) content of a file.

        Raises
        ------
        PrivacyEvalError
            As `read_bytes`.
        """
        if path not in self._sha256:
            large = large_digest(path, _KEPT_BYTES, self.roots) if limit is None else None
            if large is None:
                self._read(path, limit)
            else:
                self._sha256[path] = large
        return self._sha256[path]

    def load(self, path: Path) -> Loaded:
        """Return a file with the content that is hashed, for its reader.

        Raises
        ------
        PrivacyEvalError
            As `read_bytes`; a large file has changed since it was hashed.
        """
        content = self._content[path] if path in self._content else self._read(path)
        return Loaded(path, content)

    def forget(self, folder: Path) -> None:
        """Forget a file, or all files of a folder, that was written in the meantime."""
        below = f"{folder}/"
        for path in [path for path in self._sha256 if f"{path}/".startswith(below)]:
            del self._sha256[path]
            self._drop(path)

    def _read(self, path: Path, limit: LineLimit | None = None) -> bytes:
        content = read_bytes(path, limit=limit, roots=self.roots)
        sha256 = digest(content)
        if self._sha256.setdefault(path, sha256) != sha256:
            raise PrivacyEvalError(f"{path}: changed while it was read")
        self._drop(path)
        self._content[path] = content
        self._kept += len(content)
        while self._kept > _KEPT_BYTES and len(self._content) > 2:
            self._drop(next(iter(self._content)))
        return content

    def _drop(self, path: Path) -> None:
        """Forget the stored content of a file."""
        self._kept -= len(self._content.pop(path, b""))
