"""Vectors of many utterances: Kaldi archives and scp files, torch, NumPy and HDF5 files.

Kaldi's vectors and matrices, binary and text, are read one object at a time; PLDA models are made
of them.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import os
import re
import struct
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import kaldiio
import numpy as np
from numpy.typing import NDArray

from ..errors import InputWarning, PrivacyEvalError, abbreviate, counted, refuse_names, shorten
from .arrays import (
    LEGACY_MAGIC,
    PACKED_MAGIC,
    ZIP_MAGIC,
    read_packed_vectors,
    read_torch_vectors,
)
from .files import (
    MAX_BYTES,
    UTF8_BOM,
    BinaryStream,
    Loaded,
    atomic_path,
    check_inside,
    command_output,
    read_bytes,
    reading,
    unpacked,
    write_bytes,
)
from .names import MAX_FIELD_BYTES, decode_id, decode_text
from .text_table import is_number
from .vector_digest import MAX_DIMENSION, begin_digest, vectors_at

FloatArray = NDArray[np.float32] | NDArray[np.float64]
FloatMatrix = NDArray[np.float32]

#: From numbers of a file, and their place for a message, to float32 or float64.
_Convert = Callable[[NDArray[Any], str], FloatArray]

#: Limit for a vector that a command prints.
_MAX_PRINTED = 1 << 24
#: Vectors that are read together.
_AT_ONCE = 1 << 14
#: 1 - cosine of equal vectors, and how many are compared with each other.
_EQUAL, _COMPARED = 1e-6, 1 << 17
#: Bytes of an entry of a zip before its name, and where the size of the name is.
_ZIP_HEAD_BYTES, _ZIP_NAME_SIZE = 30, 26
_CONTROL_IN_LINES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
#: 18 digits are past the end of any file, and fit any integer.
_LOCATION = re.compile(
    r"([^|].*?)(?::([0-9]{1,18}))?(?:\[((?:\d+:\d+)?(?:,(?:\d+:\d+)?)?)\])?", re.DOTALL
)
#: Of Kaldi's commands, such as scp:x.scp or ark,t:x.ark.
_PREFIX = re.compile(r"\A(scp|ark)(,\w+)*:")
_NO_TARGET = re.compile(r"^[|\s]|\s\Z|[\x00-\x08\x0a-\x1f\x7f]")
_LOOKS_LIKE_ARCHIVE = re.compile(rb"(\xef\xbb\xbf)?\s*\S+[ \t]\s*(\0B|\[|(NPY|AUDIO)[\1-\4])")

#: Limit for binary ones: the frames of almost three hours of speech.
MAX_BINARY_DIMENSION = 1 << 20
#: Limit for the values of a matrix: 4096 x 4096.
MAX_VALUES = 1 << 24
#: Bytes of one number in text, blanks included.
_MAX_NUMBER_BYTES = 32
_PIECE_BYTES = 1 << 16

BLANK = re.compile(rb"\s")
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BLANKS = re.compile(rb"\s+")
_BRACKET = re.compile(rb"\]")
_MATRIX = re.compile(rb"\0B[FDC]M|\s*\[[ \t\r]*\n")
#: Objects of others, by their first bytes, and how to write them instead.
_FOREIGN = {
    b"\x93NUMPY": "an array of NumPy; pack vectors into one file: numpy.savez('x.npz', **vectors)",
    b"NPY": "an array of NumPy; let kaldiio write without write_function",
    b"AUDIO": "audio, not a vector",
}
_CODES = {1: (b"FV ", b"DV "), 2: (b"FM ", b"DM ")}
_NAMES = {1: "vector", 2: "matrix"}
_KINDS = {
    **{b"FV": "a vector", b"DV": "a vector", b"FM": "a matrix", b"DM": "a matrix"},
    b"CM": "a compressed matrix",
}
#: Bytes of a compressed matrix before its values.
_COMPRESSED_HEAD = struct.Struct("<ffii")

_BEGIN, _END = b"<Plda> ", b"</Plda> "


@dataclass(frozen=True)
class Vectors:
    """Vectors of one dimension D with their ids.

    Attributes
    ----------
    path : Path
        The scp or the archive they were read from.
    ids : tuple of str
        In the order of the file, each once.
    matrix : float32 array, shape (N, D)
        Or float64, if asked for: a vector per row, all values finite. Read-only, as `digest` is
        of it.
    """

    path: Path
    ids: tuple[str, ...]
    matrix: NDArray[np.float32]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ids and values: of the content, however it was packed."""
        sha = begin_digest(self.ids, self.matrix.shape[1])
        sha.update(np.ascontiguousarray(self.matrix, dtype="<f4").tobytes())
        return sha.hexdigest()

    @cached_property
    def _row(self) -> dict[str, int]:
        # Zeros, as of silence or a failed extraction, have no direction: such an id has no vector.
        rows = np.flatnonzero(self.matrix.any(axis=1)).tolist()
        return {self.ids[row]: row for row in rows}

    def __contains__(self, name: object) -> bool:
        return name in self._row

    def rows(self, ids: Sequence[str], needed_for: str) -> NDArray[np.int64]:
        """Find the rows of some ids.

        Parameters
        ----------
        needed_for : str
            Purpose of the ids, for the message.

        Returns
        -------
        int array, shape (len(ids),)

        Raises
        ------
        PrivacyEvalError
            How many ids have no vector, or one of zeros, and the first five.
        """
        absent = set(ids) - self._row.keys()
        zeros, out = sorted(absent.intersection(self.ids)), "leave them out: --allow-missing)"
        problem = f"{len(zeros)} vectors are zero and have no direction"
        refuse_names(zeros, f"{self.path}: {problem}", f" (silent recordings? {out}")
        problem = f"no vector for {len(absent)} ids of {needed_for}"
        unvoiced = f" (utterances without voiced frames have none; {out}"
        refuse_names(sorted(absent), f"{self.path}: {problem}", unvoiced)
        return np.array([self._row[name] for name in ids], dtype=np.int64)

    def equal(self, rows: NDArray[np.int64], kind: str = "") -> str:
        """Say whether more than half of the vectors of some rows (nearly) equal another of these:
        1 - cosine below 1e-6. Equal vectors are neighbours in the order of their projections.

        Parameters
        ----------
        rows : int array
            Each once.
        kind : str
            What the vectors are, with a blank behind.

        Returns
        -------
        str
            Empty if not so many are equal.
        """
        matrix = self.matrix[rows] / np.abs(self.matrix[rows]).max(axis=1, keepdims=True)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix = matrix.astype(np.float32)
        is_equal = np.zeros(len(rows), dtype=np.bool_)
        for direction in np.random.default_rng(0).normal(size=(2, matrix.shape[1])):
            order = np.argsort(matrix @ direction.astype(np.float32))
            for apart in (1, 2):
                one, other = order[:-apart], order[apart:]
                same = ((matrix[one] - matrix[other]) ** 2).sum(axis=1) < 2 * _EQUAL
                is_equal[one[same]] = is_equal[other[same]] = True
                if apart == 1:  # where vectors begin that are equal to the next
                    several = int(np.count_nonzero(np.diff(same, prepend=False) & same))
        n, what = int(is_equal.sum()), "are uninformative about privacy"
        if n <= len(rows) / 2:
            return ""
        unless = f" to others, and {several} different: unless it is one for each speaker, these"
        text = unless if several > 1 else ": these"
        return f"{n} of {len(rows)} {kind}vectors are equal{text} scores {what}"

    def warn_if_equal(self, ids: Collection[str]) -> None:
        """Warn if more than half of the vectors of some ids, each once, equal another of these."""
        rows = np.array([self._row[name] for name in ids], dtype=np.int64)[:_COMPARED]
        if text := self.equal(rows):
            warnings.warn(f"{self.path}: {text}", InputWarning, stacklevel=2)

    def without_zeros(self) -> Vectors:
        """Leave out the ids whose vectors are zeros, as if they had none."""
        kept = np.flatnonzero(self.matrix.any(axis=1))
        if len(kept) == len(self.ids):
            return self
        return Vectors(self.path, tuple(self.ids[row] for row in kept), self.matrix[kept])


def read_vectors(
    path: Path | Loaded,
    *,
    tree: Path = Path(),
    allow_pipes: bool = False,
    allow_outside: bool = False,
    only: Collection[str] | None = None,
    double: bool = False,
) -> Vectors:
    """Read the vectors of an scp, of an archive, of a `speaker_vectors.pt` with its `id2idx`, or of
    a file of `arrays`; the content tells which it is.

    An scp and archives may be gzip, the archives of an scp too; an offset then counts unpacked
    bytes.

    Parameters
    ----------
    path : Path or Loaded
    tree : Path
        Folder that the paths of an scp are relative to.
    allow_pipes : bool
        Run the commands of an scp (`id command |`) in `tree`.
    allow_outside : bool
        Read archives outside `tree` and the folder of the scp.
    only : collection of str, optional
        Read only the vectors of these ids of an scp, which must have them.
    double : bool
        Keep the precision of text and of double-precision files, whose matrix is float64.

    Returns
    -------
    Vectors

    Raises
    ------
    PrivacyEvalError
        With file and line of an scp, or file and utterance of an archive: an object that is
        truncated, not a vector or not finite; vectors of different dimensions; a duplicate id; a
        command or a path that is not allowed; no vector at all.

    Examples
    --------
    >>> import tempfile
    >>> archive = Path(tempfile.mkdtemp(), "xvector.ark")
    >>> _ = archive.write_text("u1 [ 1 2 ]\\nu2 [ 3 4 ]\\n")
    >>> read_vectors(archive).matrix.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if not isinstance(path, Loaded) and not os.path.exists(path):
        path = Path(_PREFIX.sub("", str(path)))
    if os.path.isdir(path):
        pack = "pack its vectors into one file: numpy.savez('x.npz', **vectors)"
        raise PrivacyEvalError(f"{path}: a folder; name a file of vectors in it, or {pack}")
    source, path = path, Path(path)
    convert = to_float64 if double else to_float32
    with open_objects(source) as file:
        kind = _packed_kind(file)  # first: the description of an array looks like a vector
        if kind is None and _is_archive(file):
            return _read_archive(path, file, convert)
    if kind is not None:
        beside = path.with_name("id2idx") if kind == "torch" else path.with_suffix(".txt")
        check_inside([beside], [] if allow_outside else [tree, path.parent])
        return _read_torch(source, only) if kind == "torch" else _read_packed(source, convert)
    lines = [line for line in read_scp(source) if only is None or line.id in only]
    for line in lines:
        if line.command is not None and not allow_pipes:
            raise PrivacyEvalError(
                f"{path}:{line.number}: {line.id} is the output of a command, which runs with "
                f"--allow-pipes only: {shorten(line.target)}"
            )
    roots = [] if allow_outside else [Path(os.path.realpath(p)) for p in (tree, path.parent)]
    archives = _archives(path, lines, tree, roots)
    vectors = _read_lines(path, lines, archives, (tree, roots), convert)
    return _stack(path, vectors, [line.number for line in lines])


def vector_locations(path: Path) -> dict[str, str] | None:
    """Read the location of every vector from an scp, without reading vectors or running commands.

    Returns
    -------
    dict of str to str, or None
        The location of each vector, or a command that ends in `|`. None if the file holds the
        vectors itself.

    Raises
    ------
    PrivacyEvalError
        As `read_vectors`, of the lines of an scp.
    """
    with open_objects(path) as file:
        if _packed_kind(file) is not None or _is_archive(file):
            return None
    return {line.id: line.target for line in read_scp(path)}


def _is_archive(file: ObjectFile) -> bool:
    return _LOOKS_LIKE_ARCHIVE.match(file.peek(2 * MAX_FIELD_BYTES)) is not None


def _packed_kind(file: ObjectFile) -> Literal["torch", "packed"] | None:
    """Tell zip files of NumPy, which begin with an array, from those of torch."""
    head = file.peek(_ZIP_HEAD_BYTES + MAX_FIELD_BYTES)
    if head.startswith(ZIP_MAGIC):
        size = int.from_bytes(head[_ZIP_NAME_SIZE : _ZIP_NAME_SIZE + 2], "little")
        name = head[_ZIP_HEAD_BYTES : _ZIP_HEAD_BYTES + size]
        return "packed" if name.endswith(b".npy") else "torch"
    if head.startswith(LEGACY_MAGIC):
        return "torch"
    return "packed" if head.startswith(PACKED_MAGIC) else None


def write_vectors(scp: Path, ids: Sequence[str], matrix: FloatArray, *, tree: Path) -> None:
    """Write vectors as a binary archive next to `scp`, of the same name but `.ark`, and the scp.

    No reader ever finds an scp of earlier vectors with the new archive.

    Parameters
    ----------
    ids : sequence of str, length N
    matrix : float array, shape (N, D)
        Rounded to float32.
    tree : Path
        Folder that the paths in the scp are relative to.

    Raises
    ------
    ValueError
        Another shape; no values.
    PrivacyEvalError
        A duplicate id, one that cannot be written, a value that is not finite, a path that an
        scp cannot hold; cannot be written.
    """
    if matrix.ndim != 2 or not matrix.size or len(ids) != len(matrix):
        raise ValueError(f"{len(ids)} ids for vectors of shape {matrix.shape}")
    archive = scp.with_suffix(".ark")
    if archive == scp:
        raise PrivacyEvalError(f"{scp}: the scp of an archive must have another name than *.ark")
    location = _relative(archive, tree)
    decode_text(os.fsencode(location), str(scp))
    if _NO_TARGET.search(location):
        raise PrivacyEvalError(f"{scp}: an scp cannot represent the path {location!r}")
    written, offset = set[str](), 0
    with (
        atomic_path(scp) as scp_temporary,
        atomic_path(archive) as temporary,
        open(temporary, "wb") as objects,
        open(scp_temporary, "w", encoding="utf-8", newline="\n") as lines,
    ):
        for name, row in zip(ids, matrix, strict=True):
            name = decode_id(name.encode("utf-8", "surrogatepass"), str(scp))
            if name in written:
                raise PrivacyEvalError(f"{scp}: not written, duplicate id")
            if not written and name.startswith("\ufeff"):
                problem = "cannot write an id that begins with a byte order mark"
                raise PrivacyEvalError(f"{scp}: {problem}")
            written.add(name)
            values = float32_to_write(scp, row, 1)
            offset += objects.write(f"{name} ".encode())
            lines.write(f"{name} {location}:{offset}\n")
            offset += objects.write(b"\0B" + binary_array(values))
        scp.unlink(missing_ok=True)


def _read_archive(path: Path, file: ObjectFile, convert: _Convert) -> Vectors:
    vectors: dict[str, FloatArray] = {}
    if file.peek(len(UTF8_BOM)) == UTF8_BOM:
        file.read(len(UTF8_BOM))
    while True:
        file.where = str(path)
        file.skip_blanks()
        start = file.position
        if not file.peek(1):
            return _stack(path, vectors)
        word = file.until(BLANK, MAX_FIELD_BYTES)
        if word is None:
            raise file.error(f"expected an id and a blank at byte {start}, where the file ends")
        name = decode_id(word, f"{path}: byte {start}")
        file.where = f"{path}: {name}"
        if file.read(1) not in (b" ", b"\t"):
            raise file.error("the line ends after the id, expected a vector")
        if name in vectors:
            raise file.error("duplicate utterance")
        vectors[name] = convert(read_array(file, 1), file.where)


class ScpLine(NamedTuple):
    """A line of an scp: a command, or a file with or without an offset.

    Attributes
    ----------
    number : int
        From 1.
    id, target : str
        The first field, and all that follows.
    command : str, optional
        Without the `|` at its end.
    part : str
        Range within the object, see `row_of`.
    """

    number: int
    id: str
    target: str
    command: str | None = None
    archive: str = ""
    offset: int | None = None
    part: str = ""

    def where(self, scp: Path) -> str:
        """Return file, line, id and target, as messages begin."""
        return f"{scp}:{self.number}: {self.id} ({shorten(self.target)})"


def read_scp(path: Path | Loaded, expected: str = "<archive>:<offset>") -> list[ScpLine]:
    """Read the lines of an scp, without opening what they name.

    Parameters
    ----------
    expected : str
        What follows an id, for messages.

    Returns
    -------
    list of ScpLine
        At least one.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed or duplicate id, an invalid location.
    """
    lines: dict[str, ScpLine] = {}
    file, content = str(path), read_bytes(path).replace(b"\r\n", b"\n").removesuffix(b"\r")
    if control := _CONTROL_IN_LINES.search(content):
        number = content.count(b"\n", 0, control.start()) + 1
        raise PrivacyEvalError(
            f"{path}:{number}: control character {control[0][0]:#04x}, expected text; this is "
            "neither an scp nor an archive of vectors"
        )
    for number, line in enumerate(content.split(b"\n"), start=1):
        where, fields = f"{file}:{number}", line.split(None, 1)
        if not fields:
            continue
        name = decode_id(fields[0], where)
        if len(fields) == 1:
            raise PrivacyEvalError(f"{where}: expected <utterance> {expected}, found only {name!r}")
        if name in lines:
            raise PrivacyEvalError(f"{where}: duplicate utterance {name!r}")
        lines[name] = _parse_target(number, name, decode_text(fields[1].strip(), where), where)
    if not lines:
        raise PrivacyEvalError(
            f"{path}: empty file, expected lines of <utterance> {expected} or an archive"
        )
    return list(lines.values())


def _parse_target(number: int, name: str, target: str, where: str) -> ScpLine:
    if target.endswith("|"):
        return ScpLine(number, name, target, command=target[:-1])
    usual = _LOCATION.fullmatch(target)
    archive, offset, part = usual.groups() if usual else (target, None, None)
    _, colon, digits = archive.rpartition(":")
    if not usual or archive.endswith("]") or (offset is None and colon and "/" not in digits):
        raise PrivacyEvalError(
            f"{where}: {name}: expected <archive>:<offset>, a number of bytes within the archive, "
            f"maybe with [first:last]; no command that is written to; found {shorten(target)}"
        )
    return ScpLine(number, name, target, None, archive, int(offset) if offset else None, part or "")


def _archives(
    path: Path, lines: Sequence[ScpLine], tree: Path, roots: Sequence[Path]
) -> dict[Path, list[int]]:
    """Find the rows of every archive, by its real path; refuse archives outside."""
    real: dict[str, Path] = {}
    rows: dict[Path, list[int]] = {}
    moved = dict[str, Path]()
    for row, line in enumerate(lines):
        if line.command is not None:
            continue
        if line.archive not in real:
            archive, beside = tree / line.archive, path.with_name(Path(line.archive).name)
            where = f"{path}:{line.number}: {line.id}: "
            if not os.path.exists(archive) and os.path.isfile(beside):
                archive = moved[line.archive] = beside
            check_inside([archive], roots, where)
            real[line.archive] = Path(os.path.realpath(archive))
        rows.setdefault(real[line.archive], []).append(row)
    if moved:
        text = f"{counted(len(moved), 'archive')} not there, read beside it: {abbreviate([*moved])}"
        warnings.warn(f"{path}: {text}", InputWarning, stacklevel=3)
    return rows


def _read_lines(
    path: Path,
    lines: Sequence[ScpLine],
    archives: Mapping[Path, list[int]],
    folders: tuple[Path, Sequence[Path]],
    convert: _Convert,
) -> dict[str, FloatArray]:
    """Read the vector of every line by its id; every archive once, from beginning to end."""
    tree, roots = folders
    vectors: dict[int, FloatArray] = {}
    held_bytes = 0
    for row, line in enumerate(lines):
        if line.command is not None:
            printed = command_output(line.command, tree, line.where(path), _MAX_PRINTED)
            whole = ObjectFile(io.BytesIO(printed), line.where(path))
            vectors[row] = read_whole(whole, 1)
    for archive, rows in archives.items():
        rows.sort(key=lambda row: lines[row].offset or 0)
        if all(lines[row].offset is not None and not lines[row].part for row in rows):
            uniform = _read_uniform(archive, [lines[row].offset or 0 for row in rows], roots)
            if uniform is not None and held_bytes + uniform.nbytes <= MAX_BYTES:
                held_bytes += uniform.nbytes
                vectors.update(zip(rows, uniform, strict=True))
                continue
        with open_objects(archive, lines[rows[0]].where(path), roots) as file:
            last = -1
            for row in rows:
                line = lines[row]
                file.where = line.where(path)
                if (line.offset or 0) != last:
                    last = line.offset or 0
                    file.seek(last)
                    array = read_array(file, 2 if is_matrix(file) else 1)
                vector = convert(row_of(array, line.part, file.where), file.where)
                held_bytes += vector.nbytes
                if line.offset is None:
                    file.end()
                if held_bytes > MAX_BYTES:
                    raise file.error(f"more than {MAX_BYTES} bytes of vectors")
                vectors[row] = vector
    return {line.id: vectors[row] for row, line in enumerate(lines)}


def _read_uniform(
    archive: Path, offsets: Sequence[int], roots: Sequence[Path]
) -> FloatMatrix | None:
    """Read binary float32 vectors of one dimension at ascending offsets, many at a time, as
    Kaldi writes them. None if anything else is found, which reading one by one then reports."""
    places = [(os.fsencode(archive), offset) for offset in offsets]
    blocks = []
    with contextlib.suppress(PrivacyEvalError, ValueError):
        for first in range(0, len(places), _AT_ONCE):
            ((dimension, values),) = vectors_at(places[first : first + _AT_ONCE], Path(), roots)
            blocks.append(np.frombuffer(values, "<f4").reshape(-1, dimension))
        return np.concatenate(blocks)
    return None


def _read_packed(path: Path | Loaded, convert: _Convert) -> Vectors:
    vectors: dict[str, FloatArray] = {}
    for name, values in read_packed_vectors(path):
        name = decode_id(name.encode("utf-8", "surrogatepass"), str(path))
        if name in vectors:
            raise PrivacyEvalError(f"{path}: duplicate utterance {name!r}")
        if values.size > MAX_DIMENSION:
            raise PrivacyEvalError(f"{path}: {name}: more than {MAX_DIMENSION} values")
        vectors[name] = convert(values, f"{path}: {name}")
    if not vectors:
        raise PrivacyEvalError(f"{path}: no vectors")
    return _stack(Path(path), vectors)


def _read_torch(path: Path | Loaded, only: Collection[str] | None) -> Vectors:
    ids, matrix = read_torch_vectors(path)
    if only is not None:
        rows = [row for row, name in enumerate(ids) if name in only]
        ids, matrix = [ids[row] for row in rows], matrix[rows]
    matrix.setflags(write=False)
    return Vectors(Path(path), tuple(ids), matrix)


def _stack(path: Path, vectors: Mapping[str, FloatArray], lines: Sequence[int] = ()) -> Vectors:
    """Stack vectors, at least one, of one dimension."""
    first, dimension = next((name, vector.size) for name, vector in vectors.items())
    for row, (name, vector) in enumerate(vectors.items()):
        if vector.size != dimension:
            raise PrivacyEvalError(
                f"{path}{f':{lines[row]}' if lines else ''}: vectors of different dimensions: "
                f"{first} has {dimension}, {name} has {vector.size}"
            )
    if sum(vector.nbytes for vector in vectors.values()) > MAX_BYTES:
        raise PrivacyEvalError(f"{path}: more than {MAX_BYTES} bytes of vectors")
    matrix: NDArray[Any] = np.stack([*vectors.values()])
    matrix.setflags(write=False)
    return Vectors(path, tuple(vectors), matrix)


def _relative(path: Path, folder: Path) -> str:
    """Format a path relative to a folder; links are resolved only if it is outside."""
    path, folder = Path.cwd() / path, Path.cwd() / folder
    if ".." not in path.parts and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


def read_vector(path: Path | Loaded) -> NDArray[np.float32]:
    """Read a vector, the only object of a file, binary or text ` [ 1 2 3 ]`.

    Returns
    -------
    float32 array, shape (D,)

    Raises
    ------
    PrivacyEvalError
        Another kind of file, truncated, not finite, trailing content.
    """
    with open_objects(path) as file:
        return read_whole(file, 1)


def read_matrix(path: Path | Loaded) -> NDArray[np.float32]:
    """Read a matrix, the only object of a file, binary or text.

    Returns
    -------
    float32 array, shape (R, C)

    Raises
    ------
    PrivacyEvalError
        As `read_vector`.
    """
    with open_objects(path) as file:
        return read_whole(file, 2)


def write_vector(path: Path, array: FloatArray) -> None:
    """Write a vector as float32 text, in the format of Kaldi's mean.vec.

    Parameters
    ----------
    array : float array, shape (D,)

    Raises
    ------
    ValueError
        Another shape; no values.
    PrivacyEvalError
        Values that are not finite as float32; cannot be written.
    """
    values = float32_to_write(path, array, 1)
    write_bytes(path, b" [ " + b"%.7g " * values.size % tuple(values.tolist()) + b"]\n")


def write_matrix(path: Path, array: FloatArray) -> None:
    """Write a matrix, as float32, in binary: the form of Kaldi's transform.mat.

    Parameters
    ----------
    array : float array, shape (R, C)

    Raises
    ------
    ValueError, PrivacyEvalError
        As `write_vector`.
    """
    values = float32_to_write(path, array, 2)
    write_bytes(path, b"\0B" + binary_array(values))


class ObjectFile:
    """Buffered forward reader of a binary file.

    Parameters
    ----------
    where : str
        Beginning of every error; readers update it for each object.
    max_bytes : int, optional
        Limit for the (unpacked) content, `MAX_BYTES` by default.
    """

    def __init__(self, file: BinaryStream, where: str, max_bytes: int | None = None) -> None:
        self.where = where
        self._max_bytes = MAX_BYTES if max_bytes is None else max_bytes
        self._file = file
        self._buffer = b""
        self._at = 0
        self._buffer_start = 0

    @property
    def position(self) -> int:
        """Bytes of the (unpacked) file before the next one."""
        return self._buffer_start + self._at

    def error(self, message: str) -> PrivacyEvalError:
        """Return an error that begins with `where`."""
        return PrivacyEvalError(f"{self.where}: {message}")

    def peek(self, size: int) -> bytes:
        """Return the next bytes, fewer than `size` only at the end, without taking them."""
        while (lacking := size - len(self._buffer) + self._at) > 0 and self._more(lacking):
            pass
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """Take the next bytes, fewer than `size` only at the end."""
        content = self.peek(size)
        self._at += len(content)
        return content

    def until(self, stop: re.Pattern[bytes], at_most: int) -> bytes | None:
        """Take the bytes before the next match of `stop`; None if the file ends, or `at_most`
        bytes are exceeded, before one."""
        pieces = []
        match = None
        while match is None and at_most >= 0 and (self._at < len(self._buffer) or self._more()):
            match = stop.search(self._buffer, self._at)
            end = len(self._buffer) if match is None else match.start()
            pieces.append(self._buffer[self._at : end])
            at_most -= end - self._at
            self._at = end
        return None if match is None or at_most < 0 else b"".join(pieces)

    def read_all(self, size: int, what: str) -> bytes:
        """Take the next bytes, or raise if the file ends within them: of `what`."""
        content = self.read(size)
        if len(content) < size:
            raise self.error(f"truncated: {len(content)} of {size} bytes of {what}")
        return content

    def skip_blanks(self) -> None:
        """Pass over white space."""
        while self._at < len(self._buffer) or self._more():
            blanks = _BLANKS.match(self._buffer, self._at)
            if blanks is None:
                return
            self._at = blanks.end()

    def seek(self, offset: int) -> None:
        """Go forward to `offset`."""
        if offset < self.position:
            raise self.error("begins within the previous object")
        if offset <= self._buffer_start + len(self._buffer):
            self._at = offset - self._buffer_start
            return
        if offset > self._max_bytes:
            raise self.error(f"the offset {offset} is past the end of the file")
        with reading(self.where):
            self._file.seek(offset)
        self._buffer, self._at, self._buffer_start = b"", 0, offset

    def end(self) -> None:
        """Raise unless only white space is left."""
        self.skip_blanks()
        if self.peek(1):
            raise self.error(f"unexpected content after its end, from byte {self.position} on")

    def drain(self) -> None:
        """Read the rest, which makes gzip check its checksum."""
        while self._more():
            self._at = len(self._buffer)

    def _more(self, size: int = 0) -> bool:
        """Extend the buffer; drop what was consumed."""
        with reading(self.where):
            piece = self._file.read(max(size, _PIECE_BYTES))
        self._buffer_start += self._at
        self._buffer = self._buffer[self._at :] + piece
        self._at = 0
        if self._buffer_start + len(self._buffer) > self._max_bytes:
            raise self.error(f"larger than {self._max_bytes} bytes (unpacked, if it is gzip)")
        return bool(piece)


@contextlib.contextmanager
def open_objects(
    path: Path | Loaded, where: str | None = None, roots: Sequence[Path] = ()
) -> Iterator[ObjectFile]:
    """Open a regular file of objects, unpacked if it is gzip.

    Parameters
    ----------
    where : str, optional
        Beginning of errors, instead of the path.
    roots : sequence of Path
        See `files.open_regular`.

    Raises
    ------
    PrivacyEvalError
        Unreadable, not a regular file, a damaged gzip file.
    """
    where = where or str(path)
    with unpacked(path, where, roots) as (stream, most):
        file = ObjectFile(stream, where, min(MAX_BYTES, most))
        yield file
        if isinstance(stream, gzip.GzipFile):
            file.where = where
            file.drain()


def read_array(file: ObjectFile, dimensions: int) -> FloatArray:
    """Read the next object, binary or text, of finite values.

    Parameters
    ----------
    dimensions : {1, 2}
        A vector or a matrix.

    Returns
    -------
    float32 or float64 array, shape (D,) or (R, C)

    Raises
    ------
    PrivacyEvalError
        Another kind of object, truncated, not finite, too large.
    """
    if dimensions == 1 and is_matrix(file):
        return row_of(read_array(file, 2), "", file.where)
    if file.peek(2) == b"\0B":
        file.read(2)
        return read_binary_array(file, dimensions)
    file.skip_blanks()
    head = file.peek(1)
    if head == b"[":
        return read_text_array(file, dimensions)
    if not head:
        raise file.error(f"the file ends where a {_NAMES[dimensions]} should begin")
    foreign = [f" ({what})" for mark, what in _FOREIGN.items() if file.peek(8).startswith(mark)]
    raise file.error(
        f"expected a {_NAMES[dimensions]}, binary (\\0B) or text ([), found {file.peek(8)!r}"
        + "".join(foreign)
    )


def is_matrix(file: ObjectFile) -> bool:
    """Tell whether the next object is a matrix, binary or text."""
    return _MATRIX.match(file.peek(_MAX_NUMBER_BYTES)) is not None


def row_of(array: FloatArray, part: str, where: str) -> FloatArray:
    """Take the only row of an array, or of the part that a range of Kaldi chooses.

    Parameters
    ----------
    array : float array, shape (D,) or (R, C)
    part : str
        Such as "0:7" (values) or "3:3,0:7" (rows and columns), with the last; "" for all.
    where : str
        Beginning of the error.

    Returns
    -------
    float array, shape (D,)

    Raises
    ------
    PrivacyEvalError
        A range beyond the array; several rows.

    Examples
    --------
    >>> row_of(np.arange(6.0).reshape(2, 3), "1:1,0:1", "x.ark")
    array([3., 4.])
    """
    shape = " x ".join(map(str, array.shape))
    pieces = [tuple(map(int, one.split(":"))) if one else () for one in part.split(",")]
    ends = zip(pieces, array.shape, strict=False)
    if len(pieces) > array.ndim or any(p and not p[0] <= p[-1] < n for p, n in ends):
        raise PrivacyEvalError(f"{where}: the range [{part}] is not within {shape} values")
    array = array[tuple(slice(p[0], p[-1] + 1) if p else slice(None) for p in pieces)]
    if array.ndim == 2 and len(array) > 1:
        raise PrivacyEvalError(
            f"{where}: expected a vector, found a matrix of {shape}: average its rows, or choose "
            "one by a range [row:row]"
        )
    return array[0] if array.ndim == 2 else array


def read_binary_array(
    file: ObjectFile, dimensions: int, *, allow_empty: bool = False
) -> FloatArray:
    """Read a binary object after its `\\0B`.

    Parameters
    ----------
    file, dimensions
        As in `read_array`.
    allow_empty : bool
        Accept an object without values.

    Returns
    -------
    float32 or float64 array, shape (D,) or (R, C)

    Raises
    ------
    PrivacyEvalError
        As `read_array`.
    """
    code = file.read(3)
    if dimensions == 2 and code[:2] == b"CM":
        return _read_compressed(file, code)
    if code not in _CODES[dimensions]:
        expected = " or ".join(name.decode().strip() for name in _CODES[dimensions])
        kind = _KINDS.get(code[:2], "an unknown type") if len(code) == 3 else "its end"
        raise file.error(f"expected a {_NAMES[dimensions]} ({expected}), found {kind} ({code!r})")
    sizes = file.read_all(5 * dimensions, "its size")
    shape = [size for _, size in struct.iter_unpack("<Bi", sizes)]
    if any(marker != 4 for marker in sizes[::5]):
        raise file.error(f"damaged: {sizes!r} instead of its size")
    _check_shape(file, shape, MAX_BINARY_DIMENSION, 0 if allow_empty else 1)
    width = 8 if code[:1] == b"D" else 4
    return _decode(file, code + sizes, width * math.prod(shape))


def _read_compressed(file: ObjectFile, code: bytes) -> FloatArray:
    """Read a matrix of one or two bytes per value, after the first three bytes of its token."""
    code += b"" if code == b"CM " else file.read(1)
    if code not in (b"CM ", b"CM2 ", b"CM3 "):
        raise file.error(f"expected a compressed matrix (CM, CM2 or CM3), found {code!r}")
    head = file.read_all(_COMPRESSED_HEAD.size, "its size")
    _, _, *shape = _COMPRESSED_HEAD.unpack(head)
    _check_shape(file, shape, MAX_BINARY_DIMENSION)
    rows, columns = shape
    size = {b"CM ": (rows + 8), b"CM2 ": 2 * rows, b"CM3 ": rows}[code] * columns
    return _decode(file, code + head, size)


def _decode(file: ObjectFile, head: bytes, size: int) -> FloatArray:
    """Take the values of a binary object, and decode it."""
    content = io.BytesIO(b"_ \0B" + head + file.read_all(size, "its values"))
    with np.errstate(over="ignore", invalid="ignore"):
        ((_, array),) = kaldiio.load_ark(content)
    decoded: FloatArray = array
    _check_finite(decoded, file.where)
    return decoded


def read_text_array(
    file: ObjectFile, dimensions: int, *, allow_empty: bool = False
) -> NDArray[np.float64]:
    """Read a text object, from its `[` on.

    Parameters
    ----------
    file, dimensions, allow_empty
        As in `read_binary_array`.

    Returns
    -------
    float64 array, shape (D,) or (R, C)

    Raises
    ------
    PrivacyEvalError
        As `read_array`.
    """
    file.skip_blanks()
    if file.peek(1) != b"[":
        raise file.error(f"expected [ of a {_NAMES[dimensions]}, found {file.peek(8)!r}")
    file.read(1)
    most_values = MAX_DIMENSION if dimensions == 1 else MAX_VALUES
    text = file.until(_BRACKET, most_values * _MAX_NUMBER_BYTES)
    if text is None:
        raise file.error("missing ] at its end")
    file.read(1)
    # One row and one line too many are enough to know.
    lines = text.split(b"\n", MAX_DIMENSION + 2)
    if dimensions == 1 and len(lines) > 1:
        raise file.error("expected a vector, with its ] on the line of its [")
    if len(lines) > MAX_DIMENSION + 2:
        raise file.error(f"more than {MAX_DIMENSION} lines")
    rows = [_numbers(file, line) for line in lines if line.strip()] or [np.empty(0)]
    if any(row.size != rows[0].size for row in rows):
        raise file.error(f"rows of {rows[0].size} and of other numbers of values")
    shape = [len(rows), rows[0].size][-dimensions:]
    _check_shape(file, shape, MAX_DIMENSION, 0 if allow_empty else 1)
    array: NDArray[np.float64] = rows[0] if dimensions == 1 else np.stack(rows)
    _check_finite(array, file.where)
    return array


def _numbers(file: ObjectFile, line: bytes) -> NDArray[np.float64]:
    words = line.split(None, MAX_DIMENSION)
    if len(words) > MAX_DIMENSION:
        raise file.error(f"more than {MAX_DIMENSION} values in a line")
    with contextlib.suppress(ValueError):
        if b"_" not in line:  # Python's digit groups are no number here
            return np.array(list(map(float, words)), dtype=np.float64)
    texts = (word.decode("utf-8", "replace") for word in words)
    wrong = next(text for text in texts if not is_number(text))
    raise file.error(f"expected a number, found {wrong[:40]!r}")


def _check_shape(file: ObjectFile, shape: Sequence[int], most: int, least: int = 1) -> None:
    size = " x ".join(map(str, shape))
    if min(shape) < least:
        raise file.error(f"dimension {size}, expected at least {least}")
    if max(shape) > most:
        raise file.error(f"dimension {size}, expected at most {most}")
    if math.prod(shape) > MAX_VALUES:
        raise file.error(f"dimension {size}: more than {MAX_VALUES} values")


def _check_finite(array: FloatArray, where: str) -> None:
    bad = array.size - int(np.count_nonzero(np.isfinite(array)))
    if bad:
        raise PrivacyEvalError(
            f"{where}: {bad} of {array.size} values are NaN, infinite or too large"
        )


def binary_array(array: FloatArray) -> bytes:
    """Pack a vector or matrix as Kaldi does, without `\\0B`.

    Parameters
    ----------
    array : float32 or float64 array, shape (D,) or (R, C)
    """
    code = _CODES[array.ndim][array.dtype.itemsize // 4 - 1]
    sizes = b"".join(b"\4" + struct.pack("<i", size) for size in array.shape)
    return code + sizes + array.astype(array.dtype.newbyteorder("<")).tobytes()


def read_whole(file: ObjectFile, dimensions: int) -> NDArray[np.float32]:
    """Read the only object of a file.

    Parameters
    ----------
    file, dimensions
        As in `read_array`.

    Returns
    -------
    float32 array, shape (D,) or (R, C)

    Raises
    ------
    PrivacyEvalError
        As `read_array`; values beyond float32's range; trailing content.
    """
    array = to_float32(read_array(file, dimensions), file.where)
    file.end()
    return array


def to_float32(array: NDArray[Any], where: str) -> NDArray[np.float32]:
    """Round to float32.

    Parameters
    ----------
    where : str
        Beginning of the error.

    Returns
    -------
    float32 array of the same shape

    Raises
    ------
    PrivacyEvalError
        Values that are not finite as float32.
    """
    with np.errstate(over="ignore"):
        values = array.astype(np.float32)
    _check_finite(values, where)
    return values


def to_float64(array: NDArray[Any], where: str) -> NDArray[np.float64]:
    """Convert to float64.

    Parameters
    ----------
    array : array of numbers
    where : str
        Place of the array, with which the message begins.

    Returns
    -------
    float64 array of the same shape

    Raises
    ------
    PrivacyEvalError
        Values that are not finite as float32.
    """
    to_float32(array, where)
    return array.astype(np.float64)


def float32_to_write(path: Path, array: FloatArray, dimensions: int) -> NDArray[np.float32]:
    """Round an array to float32 and check that it can be written.

    Parameters
    ----------
    path : Path
        For the message.
    array : float array, shape (D,) or (R, C)
    dimensions : {1, 2}
        A vector or a matrix.

    Returns
    -------
    float32 array of the same shape

    Raises
    ------
    ValueError
        Another shape; no values.
    PrivacyEvalError
        Values that are not finite as float32.
    """
    if array.ndim != dimensions or not array.size:
        raise ValueError(f"expected a {_NAMES[dimensions]} of values, not of shape {array.shape}")
    return to_float32(array, f"{path}: not written")


@dataclass(frozen=True)
class Plda:
    """A PLDA model: z = transform (x - mean) has unit covariance within speakers and
    covariance diag(psi) between them.

    Attributes
    ----------
    mean : float64 array, shape (D,)
    transform : float64 array, shape (D, D)
    psi : float64 array, shape (D,)
        No negative values.
    """

    mean: NDArray[np.float64]
    transform: NDArray[np.float64]
    psi: NDArray[np.float64]


def read_plda(path: Path | Loaded) -> Plda:
    """Read a model, binary or text.

    Raises
    ------
    PrivacyEvalError
        With the file and which part of it: another kind of file, truncated, not finite,
        inconsistent dimensions, a negative psi, trailing content.
    """
    with open_objects(path) as file:
        is_binary = file.peek(2) == b"\0B"
        if is_binary:
            file.read(2)
        read_part = read_binary_array if is_binary else read_text_array
        _expect(file, _BEGIN, is_binary)
        parts = []
        for name, dimensions in (("mean", 1), ("transform", 2), ("psi", 1)):
            file.where = f"{path}: {name}"
            parts.append(read_part(file, dimensions).astype(np.float64))
        file.where = str(path)
        _expect(file, _END, is_binary)
        file.end()
    _check_consistency(str(path), *parts)
    return Plda(*parts)


def write_plda(path: Path, plda: Plda) -> None:
    """Write a model as Kaldi does, byte for byte: doubles, in binary.

    Raises
    ------
    PrivacyEvalError
        Inconsistent dimensions, values that are not finite, a negative psi; cannot be written.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (plda.mean, plda.transform, plda.psi)]
    _check_consistency(f"{path}: not written", *parts)
    write_bytes(path, b"\0B" + _BEGIN + b"".join(map(binary_array, parts)) + _END)


def _expect(file: ObjectFile, tag: bytes, is_binary: bool) -> None:
    """Read a tag. In text any white space may surround it."""
    if not is_binary:
        file.skip_blanks()
        tag = tag.rstrip()
    actual = file.read(len(tag))
    if actual != tag:
        raise file.error(f"expected {tag.decode().strip()} of a PLDA model, found {actual!r}")


def _check_consistency(
    where: str, mean: NDArray[np.float64], transform: NDArray[np.float64], psi: NDArray[np.float64]
) -> None:
    size, message = mean.size, ""
    if not size or mean.ndim != 1 or transform.shape != (size, size) or psi.shape != (size,):
        shapes = (" x ".join(map(str, part.shape)) for part in (mean, transform, psi))
        message = "inconsistent dimensions: mean {}, transform {}, psi {}".format(*shapes)
    elif bad := sum(int(np.sum(~np.isfinite(part))) for part in (mean, transform, psi)):
        message = f"{bad} values are NaN or infinite"
    elif negative := int(np.sum(psi < 0)):
        message = f"{negative} of {size} values of psi are negative, expected variances"
    if message:
        raise PrivacyEvalError(f"{where}: {message}")
