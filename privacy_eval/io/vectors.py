"""Kaldi's vectors and matrices: archives, the scp files that point into them, single objects.

Whatever a participant hands in is read here, so nothing of a file is believed before it
is checked: kaldiio decodes binary objects, but it gets to see them only after their type
and size were found to be right. Left to itself it runs commands, unpickles, and returns
what is there of a truncated vector.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import math
import os
import re
import stat
import struct
import subprocess
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import kaldiio
import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, some
from .files import MAX_BYTES, SupportsRead, atomic_path, most_unpacked, read_bytes
from .text_table import MAX_FIELD_BYTES

#: Of a vector, and of a matrix in either direction.
MAX_DIMENSION = 1 << 16
#: Values of a matrix: 4096 x 4096.
MAX_VALUES = 1 << 24
#: Bytes of one number in text, blanks included.
_MAX_NUMBER_BYTES = 32

_PIECE_BYTES = 1 << 16
_HEAD_BYTES = 10  # of a binary vector: \0B, type, and size behind its own length
_ALIKE_BYTES = 1 << 26
_SHOWN = 5
_SHOWN_CHARACTERS = 200
_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile(rb"\s+")
_BLANK = re.compile(rb"\s")
_BRACKET = re.compile(rb"\]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LOOKS_LIKE_ARCHIVE = re.compile(rb"(\xef\xbb\xbf)?\s*\S+[ \t]\s*(\0B|\[)")
_CODES = {1: (b"FV ", b"DV "), 2: (b"FM ", b"DM ")}
_NAMES = {1: "vector", 2: "matrix"}
_WHAT_CODES_ARE = {
    b"FV ": "a vector",
    b"DV ": "a vector",
    b"FM ": "a matrix",
    b"DM ": "a matrix",
    b"CM ": "a compressed matrix",
    b"CM2": "a compressed matrix",
    b"CM3": "a compressed matrix",
}

FloatArray = NDArray[np.float32] | NDArray[np.float64]
FloatMatrix = NDArray[np.float32]


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
        A vector per row, all values finite. Read-only, as `digest` is of it.
    """

    path: Path
    ids: tuple[str, ...]
    matrix: NDArray[np.float32]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ids and values: of the content, however it was packed."""
        count, dimension = self.matrix.shape
        sha = hashlib.sha256(f"{count} {dimension}\n".encode())
        sha.update("".join(f"{name}\n" for name in self.ids).encode())
        sha.update(np.ascontiguousarray(self.matrix, dtype="<f4").tobytes())
        return sha.hexdigest()

    @cached_property
    def _row(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def __contains__(self, name: object) -> bool:
        return name in self._row

    def rows(self, ids: Sequence[str], needed_for: str) -> NDArray[np.int64]:
        """Row numbers of some ids.

        Parameters
        ----------
        needed_for : str
            What needs them, for the message.

        Raises
        ------
        PrivacyEvalError
            How many ids have no vector, and the first five.
        """
        missing = sorted(name for name in set(ids) if name not in self._row)
        if missing:
            raise PrivacyEvalError(
                f"{self.path}: no vector for {len(missing)} ids of {needed_for}: {some(missing)}"
            )
        return np.array([self._row[name] for name in ids], dtype=np.int64)


def read_vectors(
    path: Path,
    *,
    tree: Path = Path(),
    allow_pipes: bool = False,
    allow_outside: bool = False,
    only: Collection[str] | None = None,
) -> Vectors:
    """Read the vectors of an scp or of an archive; the content tells which it is.

    Either may be gzip, the archives of an scp too; an offset then counts unpacked bytes.

    Parameters
    ----------
    tree : Path
        Folder that the paths of an scp are relative to.
    allow_pipes : bool
        Run the commands of an scp (`id command |`) in `tree`.
    allow_outside : bool
        Read archives outside `tree` and the folder of the scp.
    only : collection of str, optional
        Of an scp read the vectors of these ids alone, which it has to hold.

    Raises
    ------
    PrivacyEvalError
        With file and line of an scp, or file and utterance of an archive: an object
        that is truncated, no vector or not finite; vectors of several dimensions; an
        id that stands twice; a command or a path that is not allowed; no vector at all.
    """
    with open_objects(path) as file:
        if _is_archive(file):
            return _read_archive(path, file)
    lines = [line for line in _scp_lines(path) if only is None or line.id in only]
    vectors = _read_lines(path, lines, tree, allow_pipes, allow_outside)
    return _stack(path, [line.id for line in lines], vectors, [line.number for line in lines])


def vector_places(path: Path) -> dict[str, str] | None:
    """What an scp says of every id: the place of its vector, or a command that ends in `|`.
    No vector is read and nothing is run. None where the file is an archive itself.

    Raises
    ------
    PrivacyEvalError
        As `read_vectors`, of the lines of an scp.
    """
    with open_objects(path) as file:
        if _is_archive(file):
            return None
    return {line.id: line.target for line in _scp_lines(path)}


def _is_archive(file: ObjectFile) -> bool:
    return _LOOKS_LIKE_ARCHIVE.match(file.peek(2 * MAX_FIELD_BYTES)) is not None


def read_vector(path: Path) -> NDArray[np.float32]:
    """The only object of a file, a vector, binary or text ` [ 1 2 3 ]`; errors as of
    `read_vectors`."""
    with open_objects(path) as file:
        return _whole(file, 1)


def read_matrix(path: Path) -> NDArray[np.float32]:
    """The only object of a file, a matrix; errors as of `read_vectors`."""
    with open_objects(path) as file:
        return _whole(file, 2)


def write_vector(path: Path, array: FloatArray, *, binary: bool = True) -> None:
    """Write a vector, as float32, as the only object of a file."""
    _write_object(path, array, 1, binary)


def write_matrix(path: Path, array: FloatArray, *, binary: bool = True) -> None:
    """Write a matrix, as float32, as the only object of a file."""
    _write_object(path, array, 2, binary)


def write_vectors(scp: Path, ids: Sequence[str], matrix: FloatArray, *, tree: Path) -> None:
    """Write vectors as a binary archive beside `scp`, of the same name but `.ark`, and the
    scp with paths relative to `tree`.

    No reader ever finds an scp of earlier vectors with the new archive.

    Parameters
    ----------
    ids : sequence of str, length N
    matrix : float array, shape (N, D)
        Rounded to float32.
    """
    values = _float32_to_write(scp, matrix, 2)
    if len(ids) != len(values):
        raise ValueError(f"{len(ids)} ids for {len(values)} vectors")
    names = [_id(name.encode("utf-8", "surrogatepass"), str(scp)) for name in ids]
    if len(set(names)) != len(names):
        raise PrivacyEvalError(f"{scp}: not written, an id stands twice")
    if names[0].startswith("\ufeff"):
        raise PrivacyEvalError(f"{scp}: not written, a byte order mark would be lost: {names[0]!r}")
    archive = scp.with_suffix(".ark")
    if archive == scp:
        raise PrivacyEvalError(f"{scp}: the scp of an archive must have another name than *.ark")
    shown = _relative(archive, tree)
    _text(os.fsencode(shown), str(scp))
    if shown != shown.strip() or shown.startswith("|") or _CONTROL.search(shown.encode()):
        raise PrivacyEvalError(f"{scp}: the path {shown!r} cannot stand in an scp")
    with atomic_path(scp) as scp_temporary:
        offset = 0
        with (
            atomic_path(archive) as temporary,
            open(temporary, "wb") as objects,
            open(scp_temporary, "w", encoding="utf-8", newline="\n") as lines,
        ):
            for name, row in zip(names, values, strict=True):
                offset += objects.write(f"{name} ".encode())
                lines.write(f"{name} {shown}:{offset}\n")
                offset += objects.write(b"\0B" + binary_array(row))
            scp.unlink(missing_ok=True)


# Objects, also of other modules


class SupportsSeek(SupportsRead, Protocol):
    """What gives its bytes from any place on."""

    def seek(self, offset: int, /) -> int:
        """Go to a place, counted from the beginning."""


class ObjectFile:
    """Bytes of a file, read forward piece by piece.

    Attributes
    ----------
    where : str
        What every error begins with; readers keep it at the object they are in.
    """

    def __init__(self, file: SupportsSeek, where: str, max_bytes: int | None = None) -> None:
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
        """An error that says where."""
        return PrivacyEvalError(f"{self.where}: {message}")

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size` and fewer only at the end, without taking them."""
        while len(self._buffer) - self._at < size and self._more():
            pass
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size` and fewer only at the end."""
        pieces = []
        left = size
        while left > 0 and (self._at < len(self._buffer) or self._more(left)):
            piece = self._buffer[self._at : self._at + left]
            self._at += len(piece)
            left -= len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def until(self, stop: re.Pattern[bytes], at_most: int) -> bytes | None:
        """The bytes before the first that is a `stop`, which is next then; None where
        the file ends, or `at_most` bytes are over, before one."""
        pieces = []
        found = None
        while found is None and at_most >= 0 and (self._at < len(self._buffer) or self._more()):
            found = stop.search(self._buffer, self._at)
            end = len(self._buffer) if found is None else found.start()
            pieces.append(self._buffer[self._at : end])
            at_most -= end - self._at
            self._at = end
        return None if found is None or at_most < 0 else b"".join(pieces)

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
            raise self.error("begins within the object before it")
        if offset <= self._buffer_start + len(self._buffer):
            self._at = offset - self._buffer_start
            return
        if offset > self._max_bytes:
            raise self.error(f"the offset {offset} is past the end of the file")
        with self._readable():
            self._file.seek(offset)
        self._buffer, self._at, self._buffer_start = b"", 0, offset

    def end(self) -> None:
        """Make sure that nothing but white space is left."""
        self.skip_blanks()
        if self.peek(1):
            raise self.error(f"more behind its end, from byte {self.position} on")

    def drain(self) -> None:
        """Read the rest, which is how gzip finds that it is damaged."""
        while self._more():
            self._at = len(self._buffer)

    def _more(self, size: int = _PIECE_BYTES) -> bool:
        """Add to the buffer, and forget what of it was taken."""
        with self._readable():
            piece = self._file.read(max(size, _PIECE_BYTES))
        self._buffer_start += self._at
        self._buffer = self._buffer[self._at :] + piece
        self._at = 0
        if self._buffer_start + len(self._buffer) > self._max_bytes:
            raise self.error(f"larger than {self._max_bytes} bytes (unpacked, if it is gzip)")
        return bool(piece)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"truncated or damaged gzip file ({error})") from error
        except OSError as error:
            raise self.error(f"cannot be read ({error.strerror or error})") from error


@contextlib.contextmanager
def open_objects(path: Path, where: str | None = None) -> Iterator[ObjectFile]:
    """A regular file, unpacked if it is gzip.

    Parameters
    ----------
    where : str, optional
        What errors begin with instead of the path.
    """
    where = where or str(path)
    try:
        raw = open(path, "rb", buffering=0, opener=_open_at_once)
    except OSError as error:
        raise PrivacyEvalError(f"{where}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # a NUL within
        raise PrivacyEvalError(f"{where}: not a path ({error})") from error
    with raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise PrivacyEvalError(f"{where}: is no regular file")
        magic = ObjectFile(raw, where).read(len(_GZIP_MAGIC))
        raw.seek(0)
        if magic == _GZIP_MAGIC:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                size = os.fstat(raw.fileno()).st_size
                file = ObjectFile(unpacked, where, min(MAX_BYTES, most_unpacked(size)))
                yield file
                file.where = where
                file.drain()
        else:
            yield ObjectFile(raw, where)


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_array(file: ObjectFile, dimensions: int) -> FloatArray:
    """The next object, binary or text: a vector (1) or matrix (2) of finite values."""
    if file.peek(2) == b"\0B":
        file.read(2)
        return read_binary_array(file, dimensions)
    file.skip_blanks()
    head = file.peek(1)
    if head == b"[":
        return read_text_array(file, dimensions)
    if not head:
        raise file.error(f"the file ends where a {_NAMES[dimensions]} should begin")
    raise file.error(
        f"expected a {_NAMES[dimensions]}, binary (\\0B) or text ([), found {file.peek(8)!r}"
    )


def read_binary_array(file: ObjectFile, dimensions: int) -> FloatArray:
    """A binary object behind its `\\0B`."""
    code = file.read(3)
    if code not in _CODES[dimensions]:
        found = _WHAT_CODES_ARE.get(code, "an unknown type" if len(code) == 3 else "its end")
        expected = " or ".join(name.decode().strip() for name in _CODES[dimensions])
        raise file.error(f"expected a {_NAMES[dimensions]} ({expected}), found {found} ({code!r})")
    sizes = file.read(5 * dimensions)
    if len(sizes) < 5 * dimensions:
        raise file.error("truncated within its size")
    shape = [size for _, size in struct.iter_unpack("<Bi", sizes)]
    if any(marker != 4 for marker in sizes[::5]):
        raise file.error(f"damaged: {sizes!r} where its size should be")
    _check_shape(file, shape)
    width = 8 if code[:1] == b"D" else 4
    expected_bytes = width * math.prod(shape)
    values = file.read(expected_bytes)
    if len(values) < expected_bytes:
        raise file.error(f"truncated: {len(values)} of {expected_bytes} bytes of its values")
    ((_, array),) = kaldiio.load_ark(io.BytesIO(b"_ \0B" + code + sizes + values))
    decoded: FloatArray = array
    _check_finite(file, decoded)
    return decoded


def read_text_array(file: ObjectFile, dimensions: int) -> NDArray[np.float64]:
    """A text object, from its `[` on."""
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
    _check_shape(file, [len(rows), rows[0].size][-dimensions:])
    array: NDArray[np.float64] = rows[0] if dimensions == 1 else np.stack(rows)
    _check_finite(file, array)
    return array


def _numbers(file: ObjectFile, line: bytes) -> NDArray[np.float64]:
    words = line.split(None, MAX_DIMENSION)
    if len(words) > MAX_DIMENSION:
        raise file.error(f"more than {MAX_DIMENSION} values in a line")
    with contextlib.suppress(ValueError):
        if b"_" not in line:  # Python's digit groups are no number here
            return np.array(list(map(float, words)), dtype=np.float64)
    wrong = next(word for word in words if not _is_number(word))
    raise file.error(f"expected a number, found {wrong[:40].decode('utf-8', 'replace')!r}")


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def _check_shape(file: ObjectFile, shape: Sequence[int]) -> None:
    shown = " x ".join(map(str, shape))
    if min(shape) <= 0:
        raise file.error(f"dimension {shown}, expected at least 1")
    if max(shape) > MAX_DIMENSION:
        raise file.error(f"dimension {shown}, expected at most {MAX_DIMENSION}")
    if math.prod(shape) > MAX_VALUES:
        raise file.error(f"dimension {shown}: more than {MAX_VALUES} values")


def _check_finite(file: ObjectFile, array: FloatArray) -> None:
    bad = _not_finite(array)
    if bad:
        raise file.error(f"{bad} of {array.size} values are NaN, infinite or too large")


def _not_finite(array: FloatArray) -> int:
    return array.size - int(np.count_nonzero(np.isfinite(array)))


def binary_array(array: FloatArray) -> bytes:
    """A vector or matrix as Kaldi's bytes, without `\\0B`."""
    code = _CODES[array.ndim][array.dtype.itemsize // 4 - 1]
    sizes = b"".join(b"\4" + struct.pack("<i", size) for size in array.shape)
    return code + sizes + array.astype(array.dtype.newbyteorder("<")).tobytes()


def text_array(array: FloatArray) -> bytes:
    """A vector or matrix as Kaldi prints it."""
    if array.ndim == 1:
        return b" [ " + _text_row(array) + b"]\n"
    return b" [" + b"".join(b"\n  " + _text_row(row) for row in array) + b"]\n"


def _text_row(row: FloatArray) -> bytes:
    return ("%.7g " * row.size % tuple(row.tolist())).encode()


# Vectors


def _float32(file: ObjectFile, array: FloatArray) -> NDArray[np.float32]:
    rounded = _rounded(array)
    _check_finite(file, rounded)
    return rounded


def _rounded(array: FloatArray) -> NDArray[np.float32]:
    """As float32, in which what is too large is infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _whole(file: ObjectFile, dimensions: int) -> NDArray[np.float32]:
    """The only object of a file."""
    array = _float32(file, read_array(file, dimensions))
    file.end()
    return array


def _read_archive(path: Path, file: ObjectFile) -> Vectors:
    ids: dict[str, None] = {}
    vectors: list[NDArray[np.float32]] = []
    if file.peek(len(_UTF8_BOM)) == _UTF8_BOM:
        file.read(len(_UTF8_BOM))
    while True:
        file.where = str(path)
        file.skip_blanks()
        start = file.position
        if not file.peek(1):
            return _stack(path, list(ids), vectors)
        word = file.until(_BLANK, MAX_FIELD_BYTES)
        if word is None:
            raise file.error(f"expected an id and a blank at byte {start}, where the file is cut")
        name = _id(word, f"{path}: byte {start}")
        file.where = f"{path}: {name}"
        if file.read(1) not in (b" ", b"\t"):
            raise file.error("a line ends behind the id, expected a vector")
        if name in ids:
            raise file.error("stands twice")
        ids[name] = None
        vectors.append(_float32(file, read_array(file, 1)))


@dataclass(frozen=True)
class _Line:
    """A line of an scp: a command, or an archive with or without an offset."""

    number: int
    id: str
    target: str
    command: str | None = None
    archive: str = ""
    offset: int | None = None


def _scp_lines(path: Path) -> list[_Line]:
    lines: dict[str, _Line] = {}
    for number, content in enumerate(read_bytes(path).split(b"\n"), start=1):
        where = f"{path}:{number}"
        content = content.removesuffix(b"\r")
        control = _CONTROL.search(content)
        if control:
            raise PrivacyEvalError(
                f"{where}: control character {control[0][0]:#04x}, expected text; "
                f"this is neither an scp nor an archive of vectors"
            )
        fields = content.split(None, 1)
        if not fields:
            continue
        name = _id(fields[0], where)
        if len(fields) == 1:
            raise PrivacyEvalError(
                f"{where}: expected <utterance> <archive>:<offset>, found only {name!r}"
            )
        if name in lines:
            raise PrivacyEvalError(f"{where}: duplicate utterance {name!r}")
        lines[name] = _parse_target(number, name, _text(fields[1].strip(), where), where)
    if not lines:
        raise PrivacyEvalError(
            f"{path}: empty file, expected lines of <utterance> <archive>:<offset> or an archive"
        )
    return list(lines.values())


def _parse_target(number: int, name: str, target: str, where: str) -> _Line:
    if target.endswith("|"):
        return _Line(number, name, target, command=target[:-1])
    if target.startswith("|"):
        raise PrivacyEvalError(
            f"{where}: {name}: {_short(target)} writes into a command, expected "
            f"<archive>:<offset> (--allow-pipes does not help)"
        )
    if target.endswith("]"):
        raise PrivacyEvalError(
            f"{where}: {name}: a range ({_short(target)}) is not understood, expected "
            f"<archive>:<offset>"
        )
    archive, colon, digits = target.rpartition(":")
    if not colon or "/" in digits:
        return _Line(number, name, target, archive=target)
    # 18 digits are past the end of any file, and fit any integer.
    if not archive or not re.fullmatch("[0-9]{1,18}", digits):
        raise PrivacyEvalError(
            f"{where}: {name}: expected <archive>:<offset>, a number of bytes within the "
            f"archive, found {_short(target)}"
        )
    return _Line(number, name, target, archive=archive, offset=int(digits))


def _short(text: str) -> str:
    """A text for a message, where its end tells most."""
    return text if len(text) <= _SHOWN_CHARACTERS else "..." + text[-_SHOWN_CHARACTERS:]


def _read_lines(
    path: Path, lines: Sequence[_Line], tree: Path, allow_pipes: bool, allow_outside: bool
) -> list[NDArray[np.float32]]:
    """The vector of every line; every archive is read once, from beginning to end."""
    rows_of: dict[str, list[int]] = {}  # by the real path, whatever it is called
    real_path: dict[str, str] = {}
    roots = [os.path.realpath(folder) for folder in (tree, path.parent)]
    vectors: dict[int, NDArray[np.float32]] = {}
    for row, line in enumerate(lines):
        if line.command is not None:
            if not allow_pipes:
                raise PrivacyEvalError(
                    f"{path}:{line.number}: {line.id} is what a command prints, which is run "
                    f"with --allow-pipes only: {_short(line.target)}"
                )
        elif line.archive not in real_path:
            real = os.path.realpath(tree / line.archive)
            if not allow_outside and not any(Path(real).is_relative_to(root) for root in roots):
                raise PrivacyEvalError(
                    f"{path}:{line.number}: {line.id}: {_short(line.archive)} is neither in the "
                    f"tree {tree} nor beside the scp, and is read with --allow-outside only"
                )
            real_path[line.archive] = real
        if line.command is None:
            rows_of.setdefault(real_path[line.archive], []).append(row)

    def where(line: _Line) -> str:
        return f"{path}:{line.number}: {line.id} ({_short(line.target)})"

    held_bytes = 0
    for row, line in enumerate(lines):
        if line.command is not None:
            vectors[row] = _run(line.command, tree, where(line))
    for real, rows in rows_of.items():
        rows.sort(key=lambda row: lines[row].offset or 0)
        if all(lines[row].offset is not None for row in rows):
            alike = _read_alike(Path(real), np.array([lines[row].offset for row in rows]))
            if alike is not None and held_bytes + alike.nbytes <= MAX_BYTES:
                held_bytes += alike.nbytes
                vectors.update(zip(rows, alike, strict=True))
                continue
        with open_objects(Path(real), where(lines[rows[0]])) as file:
            last = -1
            for row in rows:
                line = lines[row]
                file.where = where(line)
                if (line.offset or 0) != last:
                    last = line.offset or 0
                    file.seek(last)
                    vector = _float32(file, read_array(file, 1))
                    held_bytes += vector.nbytes
                if line.offset is None:
                    file.end()
                if held_bytes > MAX_BYTES:
                    raise file.error(f"more than {MAX_BYTES} bytes of vectors")
                vectors[row] = vector
    return [vectors[row] for row in range(len(lines))]


def _read_alike(path: Path, offsets: NDArray[np.int64]) -> FloatMatrix | None:
    """Binary float32 vectors of one dimension at ascending offsets, many at a time: what Kaldi
    writes. None where there is anything else, which is then found by reading one by one."""
    if offsets[-1] > MAX_BYTES:
        return None
    try:
        with open_objects(path) as file:
            return _alike(file, offsets)
    except PrivacyEvalError:
        return None  # said with its line by the reading one by one


def _alike(file: ObjectFile, offsets: NDArray[np.int64]) -> FloatMatrix | None:
    file.seek(int(offsets[0]))
    head = file.peek(_HEAD_BYTES)
    if len(head) < _HEAD_BYTES or head[:6] != b"\0BFV \4":
        return None
    dimension = int.from_bytes(head[6:], "little", signed=True)
    size = _HEAD_BYTES + 4 * dimension
    if not 0 < dimension <= MAX_DIMENSION or (np.diff(offsets) < size).any():
        return None
    matrix = np.empty((offsets.size, dimension), np.float32)
    first = 0
    while first < offsets.size:
        last = int(np.searchsorted(offsets, offsets[first] + _ALIKE_BYTES - size, side="right"))
        last = max(last, first + 1)
        file.seek(int(offsets[first]))
        span = int(offsets[last - 1] - offsets[first]) + size
        content = np.frombuffer(file.read(span), np.uint8)
        if content.size < span:
            return None
        objects = np.lib.stride_tricks.sliding_window_view(content, size)
        found = objects[offsets[first:last] - offsets[first]]
        if (found[:, :_HEAD_BYTES] != np.frombuffer(head, np.uint8)).any():
            return None
        matrix[first:last] = found[:, _HEAD_BYTES:].copy().view("<f4")
        first = last
    return None if _not_finite(matrix) else matrix


def _run(command: str, tree: Path, where: str) -> NDArray[np.float32]:
    """The vector that a command prints."""
    failure: PrivacyEvalError | None = None
    try:
        with subprocess.Popen(
            command, shell=True, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            try:
                vector = _whole(ObjectFile(process.stdout, where), 1)
            except PrivacyEvalError as error:
                failure = error
    except OSError as error:
        raise PrivacyEvalError(f"{where}: cannot be run ({error.strerror or error})") from error
    if process.returncode:
        raise PrivacyEvalError(
            f"{failure or where}: the command ended with status {process.returncode}"
        )
    if failure is not None:
        raise failure
    return vector


def _id(word: bytes, where: str) -> str:
    """An utterance id."""
    if not word or len(word) > MAX_FIELD_BYTES or _CONTROL.search(word) or _BLANK.search(word):
        raise PrivacyEvalError(
            f"{where}: expected an id of 1 to {MAX_FIELD_BYTES} bytes without blanks and "
            f"control characters, found {word[:40]!r}"
        )
    return _text(word, where)


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PrivacyEvalError(f"{where}: not UTF-8 text: {content[:40]!r}") from error


def _stack(
    path: Path,
    ids: Sequence[str],
    vectors: Sequence[NDArray[np.float32]],
    lines: Sequence[int] | None = None,
) -> Vectors:
    """Vectors, at least one, of one dimension as a matrix."""
    dimension = vectors[0].size
    for row, vector in enumerate(vectors):
        if vector.size != dimension:
            raise PrivacyEvalError(
                f"{path}{f':{lines[row]}' if lines else ''}: vectors of several dimensions: "
                f"{ids[0]} has {dimension}, {ids[row]} has {vector.size}"
            )
    if 4 * dimension * len(vectors) > MAX_BYTES:
        raise PrivacyEvalError(f"{path}: more than {MAX_BYTES} bytes of vectors")
    matrix = np.stack(vectors)
    matrix.setflags(write=False)
    return Vectors(path, tuple(ids), matrix)


# Writing


def _write_object(path: Path, array: FloatArray, dimensions: int, binary: bool) -> None:
    values = _float32_to_write(path, array, dimensions)
    content = b"\0B" + binary_array(values) if binary else text_array(values)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def _float32_to_write(path: Path, array: FloatArray, dimensions: int) -> NDArray[np.float32]:
    if array.ndim != dimensions or not array.size:
        raise ValueError(f"expected a {_NAMES[dimensions]} of values, not of shape {array.shape}")
    values = _rounded(array)
    bad = _not_finite(values)
    if bad:
        raise PrivacyEvalError(
            f"{path}: not written, {bad} of {values.size} values are NaN, infinite or too large"
        )
    return values


def _relative(path: Path, folder: Path) -> str:
    """The path from a folder; through links only where it leads out of the folder."""
    path, folder = Path.cwd() / path, Path.cwd() / folder
    if ".." not in path.parts and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
