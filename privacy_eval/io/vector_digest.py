"""Digest of the vectors of an scp, without parsing numbers where they are stored as Kaldi stores
them; telling whether scores are current needs no NumPy then."""

from __future__ import annotations

import hashlib
import io
import itertools
import operator
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from .files import MAX_BYTES, BinaryStream, Loaded, check_inside, opened, read_bytes, reading

if TYPE_CHECKING:
    from hashlib import _Hash

#: Limit for a vector, and for a matrix in either direction, as text.
MAX_DIMENSION = 1 << 16
#: Beginning of a float32 vector: \0B, type, length of the size; bytes before its values.
FLOAT_VECTOR, HEAD_BYTES = b"\0BFV \4", 10

#: Lines that are stricter than what `read_scp` takes: an id and an archive of ASCII letters, and an
#: offset.
_USUAL_LINES = re.compile(rb"^([!-~]{1,200}) ([!-Z\\-{}~][!-{}~]*):([0-9]{1,18})$", re.M)
#: Last byte of a float32 of at least 2**127, which may be infinite or no number.
_EXTREME = (b"\x7f", b"\xff")


def begin_digest(ids: Sequence[str], dimension: int) -> _Hash:
    """Begin the digest of vectors: their values as float32, one after the other, follow."""
    sha = hashlib.sha256(f"{len(ids)} {dimension}\n".encode())
    sha.update("".join(f"{name}\n" for name in ids).encode())
    return sha


def stored_digest(scp: Path | Loaded, *, tree: Path, roots: Sequence[Path]) -> str | None:
    """Compute the digest that the vectors of an scp have once they are read.

    Parameters
    ----------
    tree : Path
        Folder that the paths of the scp are relative to.
    roots : sequence of Path
        Folders that archives may be read from; if empty, all.

    Returns
    -------
    str or None
        As `Vectors.digest`. None of anything but finite float32 vectors of one dimension in binary
        archives: `read_vectors` reads it, or reports what is wrong.
    """
    try:
        text = read_bytes(scp).removesuffix(b"\n")
        usual = _USUAL_LINES.findall(text)
        ids = [name.decode() for name, _, _ in usual]
        if len(set(ids)) < text.count(b"\n") + 1:
            return None
        archives = vectors_at([(archive, int(n)) for _, archive, n in usual], tree, roots)
        dimension, values = next(archives)
        sha = begin_digest(ids, dimension)
        sha.update(values)
        for _, values in archives:
            sha.update(values)
        return sha.hexdigest()
    except PrivacyEvalError:
        return None


def vectors_at(
    places: Sequence[tuple[bytes, int]], tree: Path, roots: Sequence[Path]
) -> Iterator[tuple[int, bytes]]:
    """Yield the dimension and the values, little-endian float32, of the vectors at places, each an
    archive and an offset; those that follow each other in an archive together.

    Raises
    ------
    PrivacyEvalError
        Anything but finite float32 vectors of one dimension.
    """
    head, dimension = b"", 0
    for archive, some in itertools.groupby(places, key=operator.itemgetter(0)):
        path = tree / os.fsdecode(archive)
        check_inside([path], roots)
        real = Path(os.path.realpath(path))
        with reading(path), opened(real, path, roots) as raw, io.BufferedReader(raw) as file:
            offsets = [offset for _, offset in some]
            if not head:
                file.seek(offsets[0])
                head, dimension = _head(file, len(places))
            vectors = _read_at(file, offsets, len(head) + 4 * dimension)
        if {vector[: len(head)] for vector in vectors} != {head}:
            raise PrivacyEvalError(f"{path}: vectors of other dimensions or types")
        values = b"".join([vector[len(head) :] for vector in vectors])
        if len(values) < 4 * dimension * len(vectors):
            raise PrivacyEvalError(f"{path}: truncated")
        last_bytes = values[3::4]
        if any(byte in last_bytes for byte in _EXTREME):
            raise PrivacyEvalError(f"{path}: maybe not finite")
        yield dimension, values


def _read_at(file: BinaryStream, offsets: Sequence[int], size: int) -> list[bytes]:
    """Read pieces of a file: at once where they lie together, as vectors usually do."""
    first, last = min(offsets), max(offsets)
    if last - first > 2 * size * len(offsets):
        pieces = []
        for offset in offsets:
            file.seek(offset)
            pieces.append(file.read(size))
        return pieces
    file.seek(first)
    together = file.read(last - first + size)
    return [together[offset - first : offset - first + size] for offset in offsets]


def _head(file: BinaryStream, vectors: int) -> tuple[bytes, int]:
    """Read what begins every vector, and their dimension.

    Raises
    ------
    PrivacyEvalError
        Not a float32 vector; so many of them are too large.
    """
    head = file.read(HEAD_BYTES)
    dimension = int.from_bytes(head[len(FLOAT_VECTOR) :], "little", signed=True)
    usual = head.startswith(FLOAT_VECTOR) and 0 < dimension <= MAX_DIMENSION
    if not usual or 4 * dimension * vectors > MAX_BYTES:
        raise PrivacyEvalError("not a float32 vector")
    return head, dimension
