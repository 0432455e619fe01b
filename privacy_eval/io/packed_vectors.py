"""Vectors of many utterances in NumPy and HDF5 files.

NPZ: an array per utterance, or a matrix and an array of its ids. NPY: a matrix, with the ids in a
text file of the same name, one per line (`x.npy`, `x.txt`). HDF5: a data set per utterance, named
with its groups (`speaker/utterance`). Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from .arrays import NPY_MAGIC, as_numbers, parse_array, parse_arrays
from .files import Loaded, read_bytes
from .hdf5 import HDF5_MAGIC, parse_hdf5
from .text_table import read_columns
from .torch_files import ZIP_MAGIC

#: Beginnings of the files that are read here.
PACKED_MAGIC = (ZIP_MAGIC, NPY_MAGIC, HDF5_MAGIC)


def ids_beside(path: Path) -> Path:
    """Return where the ids of a matrix in a .npy file are.

    Examples
    --------
    >>> ids_beside(Path("x/vectors.npy")).name
    'vectors.txt'
    """
    return path.with_suffix(".txt")


def read_packed_vectors(path: Path | Loaded) -> Iterable[tuple[str, NDArray[Any]]]:
    """Read the vectors of an NPZ, NPY or HDF5 file; its first bytes tell which it is.

    Returns
    -------
    iterable of (str, array)
        Id, unchecked, and vector of each utterance, in the order of the file.

    Raises
    ------
    PrivacyEvalError
        Damaged, an archive bomb, Python objects; vectors that are not real numbers, or arrays
        with more dimensions than a vector; different numbers of ids and vectors; HDF5 without h5py.
    """
    content, path = read_bytes(path), Path(path)
    if content.startswith(NPY_MAGIC):
        beside = ids_beside(path)
        if not beside.is_file():
            raise PrivacyEvalError(f"{beside}: no such file (ids of {path.name}, one per line)")
        (ids,) = read_columns(beside, ("utterance",))
        return _rows(ids.tolist(), parse_array(content, path), path, beside)
    if content.startswith(HDF5_MAGIC):
        arrays = parse_hdf5(content, path)
    else:
        arrays = parse_arrays(content, path)
    of_text = [name for name, array in arrays.items() if array.dtype.kind in "US"]
    if len(of_text) == 1 and len(arrays) == 2:
        texts = arrays.pop(of_text[0]).ravel().tolist()
        names = [t.decode(errors="replace") if isinstance(t, bytes) else t for t in texts]
        (matrix,) = arrays.values()
        return _rows(names, matrix, path, path)
    if of_text:
        found = f"{path}: arrays of text, {abbreviate(of_text)}, among {len(arrays)}"
        raise PrivacyEvalError(f"{found}; save a matrix and its ids alone, or an array for each id")
    # Some tools keep a vector as a matrix of one row.
    return [
        (name, as_numbers(array[0] if array.shape[:-1] == (1,) else array, 1, f"{path}: {name}"))
        for name, array in arrays.items()
    ]


def _rows(
    ids: list[str], matrix: NDArray[Any], path: Path, of_ids: Path
) -> Iterable[tuple[str, NDArray[Any]]]:
    as_numbers(matrix, 2, path)
    if len(ids) != len(matrix):
        raise PrivacyEvalError(f"{of_ids}: {len(ids)} ids for {len(matrix)} vectors of {path.name}")
    return zip(ids, matrix, strict=True)
