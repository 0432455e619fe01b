"""Arrays in files of NumPy and HDF5, and vectors of many utterances in them.

No size that a file declares is trusted, no link of HDF5 is followed, and nothing is unpickled.
Vectors in NPZ: an array per utterance, or a matrix and an array of its ids. In NPY: a matrix, with
the ids in a text file of the same name, one per line (`x.npy`, `x.txt`). In HDF5: a data set per
utterance, named with its groups (`speaker/utterance`).
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, library
from .files import Loaded, max_unpacked_bytes, read_bytes
from .text_table import read_columns
from .torch_files import ZIP_MAGIC

#: Beginning of an array.
NPY_MAGIC = b"\x93NUMPY"

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"

#: What a stored piece of a data set takes, at least, index included.
_LEAST_CHUNK_BYTES = 16

#: Beginnings of the files that are read here.
PACKED_MAGIC = (ZIP_MAGIC, NPY_MAGIC, HDF5_MAGIC)


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
