"""Vectors that VoicePrivacy 2024 and 2026 save with torch: `speaker_vectors.pt` and `id2idx`.

torch.save writes a zip with a pickle and a file of numbers. The pickle is not executed: its
opcodes must be, one by one, those that torch writes for one matrix.
"""

from __future__ import annotations

import io
import pickletools
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from .files import Loaded, read_bytes
from .text_table import line_number, read_columns
from .vector_digest import MAX_DIMENSION

#: Beginning of a zip, and of the pickle that torch before 1.6 wrote.
ZIP_MAGIC, LEGACY_MAGIC = b"PK\x03\x04", b"\x80\x02"

_PICKLE = "/data.pkl"
_MAX_PICKLE_BYTES = 1 << 12

_DTYPES = {
    "torch FloatStorage": "f4",
    "torch DoubleStorage": "f8",
    "torch HalfStorage": "f2",
}

#: Opcodes of one matrix, without those that only number objects (BINPUT): the function, the
#: storage (type, name, device, size), offset, shape, strides, gradients, hooks.
_TENSOR = (
    *("PROTO", "GLOBAL", "MARK"),
    *("MARK", "BINUNICODE", "GLOBAL", "BINUNICODE", "BINUNICODE", "INT", "TUPLE", "BINPERSID"),
    *("INT", "INT", "INT", "TUPLE2", "INT", "INT", "TUPLE2"),
    *("BOOL", "GLOBAL", "EMPTY_TUPLE", "REDUCE", "TUPLE", "REDUCE", "STOP"),
)
_ALIKE = {
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1"), "INT"),
    **dict.fromkeys(("NEWTRUE", "NEWFALSE"), "BOOL"),
}
_NUMBERING = ("BINPUT", "LONG_BINPUT")
#: Arguments of the opcodes of `_TENSOR` that are always the same.
_FIXED = {1: "torch._utils _rebuild_tensor_v2", 4: "storage", 19: "collections OrderedDict"}


class _Tensor(NamedTuple):
    """Location of a matrix in its storage, in elements."""

    dtype: str
    storage: str
    size: int
    offset: int
    shape: tuple[int, int]
    strides: tuple[int, int]


def read_torch_vectors(path: Path | Loaded) -> tuple[list[str], NDArray[np.float32]]:
    """Read the ids and vectors of a `speaker_vectors.pt`; `id2idx` is beside it.

    Returns
    -------
    ids : list of str
        In the order of the rows.
    matrix : float32 array, shape (N, D)

    Raises
    ------
    PrivacyEvalError
        Not a file of one matrix of floats (also: of torch before 1.6, a dictionary, another
        object); rows without an id or ids without a row; a value that is not finite.
    """
    matrix, path = read_torch_matrix(read_bytes(path), str(path)), Path(path)
    table = path.with_name("id2idx")
    (ids, rows), _ = read_columns(table, ("id", "row"))
    names: dict[int, str] = {}
    named: set[str] = set()
    for number, (name, text) in enumerate(zip(ids.tolist(), rows.tolist(), strict=True)):
        row = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        where = f"{table}:{line_number(ids, number)}"
        if not 0 <= row < len(matrix):
            raise PrivacyEvalError(f"{where}: {path.name} has {len(matrix)} rows, no row {text}")
        if row in names or name in named:
            raise PrivacyEvalError(f"{where}: duplicate {name if name in named else f'row {row}'}")
        names[row] = name
        named.add(name)
    absent = [str(row) for row in range(len(matrix)) if row not in names]
    if absent:
        raise PrivacyEvalError(f"{table}: {len(absent)} rows without an id: {abbreviate(absent)}")
    in_order = [names[row] for row in range(len(matrix))]
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1)).tolist()
    if bad:
        raise PrivacyEvalError(
            f"{path}: not finite: {abbreviate([in_order[row] for row in bad])} (as float32)"
        )
    return in_order, matrix


def read_torch_matrix(content: bytes, where: str) -> NDArray[np.float32]:
    """Read the matrix of a file of torch.save.

    Parameters
    ----------
    where : str
        Beginning of errors.

    Returns
    -------
    float32 array, shape (N, D)

    Raises
    ------
    PrivacyEvalError
        As `read_torch_vectors`.
    """
    if not content.startswith(ZIP_MAGIC):
        raise PrivacyEvalError(
            f"{where}: not a file of torch.save since torch 1.6 (a zip); load it and save it again"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickles = [name for name in entries if name.endswith(_PICKLE)]
            stored = all(e.compress_type == zipfile.ZIP_STORED for e in entries.values())
            if len(pickles) != 1 or len(entries) < len(archive.infolist()) or not stored:
                raise PrivacyEvalError(f"{where}: not a file of torch.save (other entries)")
            if entries[pickles[0]].file_size > _MAX_PICKLE_BYTES:
                raise _other(where, "a pickle of many objects")
            tensor = _tensor(archive.read(pickles[0]), where)
            folder = pickles[0].removesuffix(_PICKLE)
            order = f"{folder}/byteorder"
            byte_order = archive.read(order) if order in entries else b"little"
            if byte_order not in (b"little", b"big"):
                raise PrivacyEvalError(f"{where}: unknown byte order {byte_order[:20]!r}")
            big = byte_order == b"big"
            numbers = archive.read(f"{folder}/data/{tensor.storage}")
    except PrivacyEvalError:
        raise
    except Exception as error:  # zipfile raises a dozen kinds of what is damaged
        raise PrivacyEvalError(f"{where}: damaged ({error})") from error
    return _matrix(tensor, np.frombuffer(numbers, dtype=np.uint8), big, where)


def _matrix(
    tensor: _Tensor, numbers: NDArray[np.uint8], big: bool, where: str
) -> NDArray[np.float32]:
    """Copy the matrix from its storage; raise an error if it exceeds the storage."""
    dtype = np.dtype(f"{'>' if big else '<'}{tensor.dtype}")
    (rows, columns), (down, right) = tensor.shape, tensor.strides
    down, right = down * (rows > 1), right * (columns > 1)  # else unused: any number is allowed
    last = tensor.offset + (rows - 1) * down + (columns - 1) * right
    if (
        numbers.size != tensor.size * dtype.itemsize
        or not (0 < rows and 0 < columns <= MAX_DIMENSION and rows * columns <= tensor.size)
        or min(tensor.offset, down, right) < 0
        or last >= tensor.size
    ):
        raise PrivacyEvalError(f"{where}: damaged (a matrix that does not fit its numbers)")
    strides = (down * dtype.itemsize, right * dtype.itemsize)
    begin = numbers.view(dtype)[tensor.offset :]
    view = np.lib.stride_tricks.as_strided(begin, tensor.shape, strides, writeable=False)
    with np.errstate(over="ignore"):
        return view.astype(np.float32, order="C")


def _tensor(pickle: bytes, where: str) -> _Tensor:
    """Read the opcodes of a matrix; anything else is refused, unexecuted."""
    arguments: list[Any] = []
    try:
        for expected, (opcode, argument) in zip(_TENSOR, _opcodes(pickle), strict=True):
            place = len(arguments)
            if opcode != expected:
                raise _other(where, f"found {opcode}, expected {expected}")
            if place in _FIXED and argument != _FIXED[place]:
                raise _other(where, f"found {str(argument)[:100]!r}, expected {_FIXED[place]!r}")
            arguments.append(argument)
    except ValueError as error:  # also from pickletools
        raise _other(where, str(error)[:100]) from error
    if arguments[5] not in _DTYPES:
        raise PrivacyEvalError(
            f"{where}: expected floats of 16, 32 or 64 bits, found {str(arguments[5])[:100]!r}"
        )
    return _Tensor(
        _DTYPES[arguments[5]],
        storage=arguments[6],
        size=arguments[8],
        offset=arguments[11],
        shape=(arguments[12], arguments[13]),
        strides=(arguments[15], arguments[16]),
    )


def _opcodes(pickle: bytes) -> Iterator[tuple[str, Any]]:
    with warnings.catch_warnings():  # of what only other pickles have
        warnings.simplefilter("ignore")
        parsed = [(opcode.name, argument) for opcode, argument, _ in pickletools.genops(pickle)]
    for name, argument in parsed:
        if name not in _NUMBERING:
            yield _ALIKE.get(name, name), argument


def _other(where: str, what: str) -> PrivacyEvalError:
    return PrivacyEvalError(f"{where}: expected a single matrix written by torch.save ({what})")
