"""HDF5 files, read without trusting the sizes that they declare, nor what they link to."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, library
from .files import max_unpacked_bytes

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"

#: What a stored piece of a data set takes, at least, index included.
_LEAST_CHUNK_BYTES = 16


def parse_hdf5(
    content: bytes, path: Path, only: Collection[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Parse the data sets of a file: numbers, and texts of a fixed length.

    Parameters
    ----------
    path : Path
        For messages.
    only : collection of str, optional
        Names of data sets; others are left alone.

    Returns
    -------
    dict of str to array
        By name, those of groups before it (`group/name`). Texts are bytes.

    Raises
    ------
    PrivacyEvalError
        h5py is not installed; damaged, an archive bomb; links to other places or files, other
        values than numbers and texts of a fixed length.
    """
    h5py = library("h5py", f"{path}: HDF5 files")
    left = max_unpacked_bytes(len(content))
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            for name, data_set in _data_sets(file, h5py):
                if only is not None and name not in only:
                    continue
                arrays[name] = _read(name, data_set, left, len(content))
                left -= arrays[name].nbytes
    except Exception as error:  # h5py raises a dozen kinds of what is damaged
        raise PrivacyEvalError(f"{path}: not HDF5 that is read, or damaged: {error}") from error
    return arrays


def _data_sets(file: Any, h5py: Any) -> Iterator[tuple[str, Any]]:
    """Yield the data sets of a file and of its groups, each of which is there once."""
    visited, groups = {file}, [file]
    while groups:
        group = groups.pop()
        for key in group:
            name = f"{group.name}/{key}".lstrip("/")
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise ValueError(f"{name} is a link to another place")
            entry = group[key]
            if entry in visited:
                raise ValueError(f"{name} is linked twice")
            visited.add(entry)
            if isinstance(entry, h5py.Group):
                groups.append(entry)
            elif isinstance(entry, h5py.Dataset):
                yield name, entry


def _read(name: str, data_set: Any, left: int, packed: int) -> NDArray[Any]:
    """Read a data set of at most `left` bytes, of a file of `packed` bytes."""
    if data_set.external or data_set.is_virtual:
        raise ValueError(f"{name} is stored in other files")
    # A damaged heap of texts of variable length can keep the library busy for ever.
    if data_set.shape is None or data_set.dtype.kind not in "fiubS":
        raise ValueError(f"{name}: neither numbers nor text of a fixed length")
    if data_set.size * data_set.dtype.itemsize > left:
        raise ValueError(f"larger than {left} bytes, unpacked")
    if data_set.chunks:
        pieces = zip(data_set.shape, data_set.chunks, strict=True)
        if math.prod(-(-size // step) for size, step in pieces) > packed // _LEAST_CHUNK_BYTES:
            raise ValueError(f"{name} has more chunks than fit into the file")
    return np.asarray(data_set[()])
