"""Vectors that VoicePrivacy 2024 and 2026 save with torch: `speaker_vectors.pt` and `id2idx`.

Nothing in them is executed (`torch_files`).
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from .files import Loaded, atomic_path, read_bytes, write_text
from .text_table import numbered, read_columns
from .torch_files import ZIP_MAGIC, TensorView, read_torch
from .vector_digest import MAX_DIMENSION


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
    names: dict[int, str] = {}
    named: set[str] = set()
    for line, name, text in numbered(*read_columns(table, ("id", "row"))):
        row = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        where = f"{table}:{line}"
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
    file = read_torch(content, where)
    tensor = file.content
    if not isinstance(tensor, TensorView) or len(tensor.shape) != 2:
        what = "a tensor" if isinstance(tensor, TensorView) else f"a {type(tensor).__name__}"
        raise PrivacyEvalError(
            f"{where}: expected a matrix written by torch.save, found {what}, not (N, D)"
        )
    if tensor.shape[1] > MAX_DIMENSION:
        raise PrivacyEvalError(f"{where}: vectors of {tensor.shape[1]} values")
    with np.errstate(over="ignore"):
        return file.array(tensor, "a matrix").astype(np.float32, order="C")


def write_torch_vectors(path: Path, ids: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write a `speaker_vectors.pt` as torch.save writes a matrix, and `id2idx` beside it.

    Parameters
    ----------
    ids : sequence of str
        Of the rows.
    matrix : float32 array, shape (N, D)
    """

    def text(word: str) -> bytes:
        return b"X" + struct.pack("<I", len(word)) + word.encode("ascii")

    size, rows, columns = (b"J" + struct.pack("<i", n) for n in (matrix.size, *matrix.shape))
    # Opcodes of the pickle: the matrix of a storage of floats, from offset 0, row by row.
    pickle = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(("
        + (text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + size + b"tQ")
        + (b"K\x00" + rows + columns + b"\x86" + columns + b"K\x01\x86\x89")
        + b"ccollections\nOrderedDict\n)RtR."
    )
    entries = {"data.pkl": pickle, "byteorder": b"little", "data/0": matrix.astype("<f4").tobytes()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, data in {**entries, "version": b"3\n"}.items():
            file.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), data)  # of no date
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.getvalue())
    write_text(path.with_name("id2idx"), "".join(f"{u} {row}\n" for row, u in enumerate(ids)))
