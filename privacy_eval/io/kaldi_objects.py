"""Kaldi's vectors and matrices, binary and text, one object at a time; PLDA models of them."""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kaldiio
import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .files import MAX_BYTES, BinaryStream, Loaded, atomic_path, reading, unpacked
from .text_table import is_number
from .vector_digest import MAX_DIMENSION

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

FloatArray = NDArray[np.float32] | NDArray[np.float64]
FloatMatrix = NDArray[np.float32]

_BEGIN, _END = b"<Plda> ", b"</Plda> "


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
    with atomic_path(path) as temporary:
        temporary.write_bytes(b" [ " + b"%.7g " * values.size % tuple(values.tolist()) + b"]\n")


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
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"\0B" + binary_array(values))


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
        while len(self._buffer) - self._at < size and self._more():
            pass
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """Take the next bytes, fewer than `size` only at the end."""
        pieces = []
        left = size
        while left > 0 and (self._at < len(self._buffer) or self._more(left)):
            piece = self._buffer[self._at : self._at + left]
            self._at += len(piece)
            left -= len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

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

    def _more(self, size: int = _PIECE_BYTES) -> bool:
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
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"\0B" + _BEGIN + b"".join(map(binary_array, parts)) + _END)


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
