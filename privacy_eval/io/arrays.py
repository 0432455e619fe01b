"""NumPy arrays (.npy) and archives (.npz), read without trusting the sizes that they declare."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .files import max_unpacked_bytes

#: Beginning of an array.
NPY_MAGIC = b"\x93NUMPY"

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def parse_arrays(content: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """Parse an archive of arrays, refusing Python objects.

    Parameters
    ----------
    path : Path
        For messages.

    Raises
    ------
    PrivacyEvalError
        Damaged; an archive bomb; an array that declares another size than it has.

    Examples
    --------
    >>> import numpy as np
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.arange(3))
    >>> parse_arrays(file.getvalue(), Path("a.npz"))
    {'x': array([0, 1, 2])}
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive, content)
            return {m.filename.removesuffix(".npy"): _array(archive.read(m)) for m in members}
    except Exception as error:  # zipfile and NumPy raise many kinds of errors on damage
        raise PrivacyEvalError(f"{path}: not arrays of NumPy, or damaged: {error}") from error


def parse_array(content: bytes, path: Path) -> NDArray[Any]:
    """Parse an array that holds no Python objects.

    Parameters
    ----------
    path : Path
        For messages.

    Raises
    ------
    PrivacyEvalError
        Not an array of NumPy, damaged, an array of objects, another size than declared.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> parse_array(file.getvalue(), Path("a.npy"))
    array([0, 1, 2])
    """
    try:
        return _array(content)
    except Exception as error:  # as of `parse_arrays`
        raise PrivacyEvalError(f"{path}: not a NumPy array (.npy), or damaged: {error}") from error


def as_numbers(array: NDArray[Any], dimensions: int, where: object) -> NDArray[Any]:
    """Check that an array is real-valued with the given number of dimensions, and return it.

    Parameters
    ----------
    where : object
        Beginning of the error.

    Raises
    ------
    PrivacyEvalError
        Other values, another number of dimensions, no values.
    """
    if array.dtype.kind not in "fiu" or array.ndim != dimensions or not array.size:
        raise PrivacyEvalError(
            f"{where}: expected numbers in {dimensions} dimension{'s'[: dimensions - 1]}, found "
            f"{array.dtype} of shape {array.shape}"
        )
    return array


def _members(archive: zipfile.ZipFile, content: bytes) -> list[zipfile.ZipInfo]:
    members, max_bytes = archive.infolist(), max_unpacked_bytes(len(content))
    if not content.startswith(b"PK"):
        raise ValueError("something before the archive")
    if len({member.filename.removesuffix(".npy") for member in members}) < len(members):
        raise ValueError("duplicate array")
    if sum(member.file_size for member in members) > max_bytes:
        raise ValueError(f"larger than {max_bytes} bytes, unpacked")
    return members


def _array(data: bytes) -> NDArray[Any]:
    file = io.BytesIO(data)
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"unknown version {version} of an array")
    shape, by_columns, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("Python objects, which are never read; save ids by .astype(str)")
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError("the declared size of an array does not match its data")
    array = np.frombuffer(data, dtype, offset=file.tell())
    return array.reshape(shape, order="F" if by_columns else "C").copy("K")
