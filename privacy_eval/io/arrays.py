"""Arrays in files of NumPy, HDF5 and torch, and vectors of many utterances in them.

No size that a file declares is trusted, no link of HDF5 is followed, and nothing is unpickled.
Vectors in NPZ: an array per utterance, or a matrix and an array of its ids. In NPY: a matrix, with
the ids in a text file of the same name, one per line (`x.npy`, `x.txt`). In HDF5: a data set per
utterance, named with its groups (`speaker/utterance`).

Files of torch.save are read without torch: tensors of floats, and counters, within plain Python
containers. Their pickle is never given to `pickle`. Its opcodes are interpreted here, and only
those that build containers, texts, numbers and tensors exist; nothing can be imported or called.
Both layouts are read: a zip (torch since 1.6), and the five pickles followed by numbers before it.
VoicePrivacy 2024 and 2026 save vectors so: `speaker_vectors.pt`, with their ids in `id2idx`.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, library, refuse_names
from .files import Loaded, max_unpacked_bytes, read_bytes, write_bytes, write_text
from .text_table import numbered, read_columns
from .vector_digest import MAX_DIMENSION

#: Beginning of an array.
NPY_MAGIC = b"\x93NUMPY"

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"

#: What a stored piece of a data set takes, at least, index included.
_LEAST_CHUNK_BYTES = 16

#: Beginning of a zip, and of the pickles that torch before 1.6 wrote.
ZIP_MAGIC, LEGACY_MAGIC = b"PK\x03\x04", b"\x80\x02"

#: Beginnings of the files of NumPy and HDF5.
PACKED_MAGIC = (ZIP_MAGIC, NPY_MAGIC, HDF5_MAGIC)

Buffer: TypeAlias = bytes | memoryview

_LEGACY_NUMBER, _LEGACY_VERSION = 0x1950A86A20F9469CFC6C, 1001
_PICKLE = "/data.pkl"
#: Limit of a pickle: one byte can become an object of a hundred. Tensors take about 150 bytes.
_MAX_PICKLE_BYTES = 1 << 16
_MAX_DIMENSIONS = 8

#: Types of numbers that are read.
_DTYPES = {
    **{"torch FloatStorage": "f4", "torch DoubleStorage": "f8", "torch HalfStorage": "f2"},
    "torch LongStorage": "i8",  # counters of state dicts
}
_ORDERS = {b"little": "<", b"big": ">"}
_TENSOR, _DICT = "torch._utils _rebuild_tensor_v2", "collections OrderedDict"


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
        beside = path.with_suffix(".txt")
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


class _Global(NamedTuple):
    """A name that a pickle would import."""

    name: str


class _Storage(NamedTuple):
    """Numbers that tensors share."""

    dtype: str
    key: str
    size: int


class TensorView(NamedTuple):
    """Location of a tensor in its storage, in elements, as the file claims it; the numbers of all
    storages."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    numbers: Mapping[str, Buffer]

    def array(self, where: str, name: str = "a tensor") -> NDArray[Any]:
        """Return a tensor without copying its numbers.

        Parameters
        ----------
        where, name : str
            Beginning of errors, and the tensor's name there.

        Returns
        -------
        read-only array of the tensor's shape and type

        Raises
        ------
        PrivacyEvalError
            It does not fit its storage, or is empty.
        """
        storage, start, shape, strides, _ = self
        dtype, size, numbers = np.dtype(storage.dtype), storage.size, self.numbers[storage.key]
        if len(numbers) != size * dtype.itemsize or len(shape) != len(strides):
            raise PrivacyEvalError(f"{where}: damaged ({name} of other numbers)")
        # The stride of a dimension of one is never used: any number is allowed.
        used = [s if n > 1 else 0 for n, s in zip(shape, strides, strict=True)]
        last = start + sum((n - 1) * s for n, s in zip(shape, used, strict=True))
        if (
            min((start, *shape, *used)) < 0
            or not 0 < math.prod(shape) <= size
            or last >= size
            or len(shape) > _MAX_DIMENSIONS
        ):
            raise PrivacyEvalError(f"{where}: damaged ({name} does not fit its numbers)")
        offset, bytes_ = start * dtype.itemsize, [s * dtype.itemsize for s in used]
        array = np.ndarray(shape, dtype, numbers, offset, bytes_)
        array.flags.writeable = False
        return array


def read_torch(content: Buffer, where: str) -> Any:
    """Read a file of torch.save, of either layout.

    Parameters
    ----------
    content : bytes
    where : str
        Beginning of errors.

    Returns
    -------
    object
        Dictionaries, lists, tuples, texts, numbers and `TensorView`.

    Raises
    ------
    PrivacyEvalError
        Neither layout, damaged, or a pickle that holds something else than tensors of floats,
        numbers, texts and containers.
    """
    if content[:4] == ZIP_MAGIC:
        return _read_zip(content, where)
    if content[:2] == LEGACY_MAGIC:
        return _read_legacy(memoryview(content), where)
    raise PrivacyEvalError(f"{where}: not a file of torch.save")


def _read_zip(content: Buffer, where: str) -> Any:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickles = [name for name in entries if name.endswith(_PICKLE)]
            stored = all(e.compress_type == zipfile.ZIP_STORED for e in entries.values())
            whole = sum(entry.file_size for entry in entries.values()) <= len(content)
            if len(pickles) != 1 or len(entries) < len(archive.infolist()) or not stored & whole:
                raise PrivacyEvalError(f"{where}: not a file of torch.save (other entries)")
            if entries[pickles[0]].file_size > _MAX_PICKLE_BYTES:
                raise _other(where, "a pickle of many objects")
            folder = pickles[0].removesuffix(_PICKLE)
            order = f"{folder}/byteorder"
            byte_order = archive.read(order) if order in entries else b"little"
            if byte_order not in _ORDERS:
                raise PrivacyEvalError(f"{where}: unknown byte order {byte_order[:20]!r}")
            pickle = _Pickle(archive.read(pickles[0]), where, _ORDERS[byte_order])
            for key in pickle.storages:
                pickle.numbers[key] = archive.read(f"{folder}/data/{key}")
    except PrivacyEvalError:
        raise
    except Exception as error:  # zipfile raises a dozen kinds of what is damaged
        raise PrivacyEvalError(f"{where}: damaged ({error})") from error
    return pickle.value


def _read_legacy(content: memoryview, where: str) -> Any:
    pickles, position = [], 0
    for _ in range(5):
        pickles.append(_Pickle(content[position : position + _MAX_PICKLE_BYTES], where))
        position += pickles[-1].size
    number, version, system, _, keys = (pickle.value for pickle in pickles)
    if (number, version) != (_LEGACY_NUMBER, _LEGACY_VERSION):
        raise PrivacyEvalError(f"{where}: not a file of torch.save (another magic number)")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise _other(where, "numbers that are not little-endian")
    tensors, storages = pickles[3], pickles[3].storages
    if not isinstance(keys, list) or sorted(map(repr, keys)) != sorted(map(repr, storages)):
        raise PrivacyEvalError(f"{where}: damaged (its list of storages)")
    for key in keys:
        head, storage = content[position : position + 8], storages[key]
        if len(head) < 8 or struct.unpack("<q", head)[0] != storage.size:
            raise PrivacyEvalError(f"{where}: damaged (the size of storage {key[:40]!r})")
        end = position + 8 + storage.size * np.dtype(storage.dtype).itemsize
        if end > len(content):
            raise PrivacyEvalError(f"{where}: truncated ({len(content)} bytes, at least {end})")
        tensors.numbers[key] = content[position + 8 : end]
        position = end
    if position != len(content):
        raise PrivacyEvalError(f"{where}: damaged ({len(content) - position} bytes too many)")
    return tensors.value


class _Pickle:
    """A pickle, interpreted: its value, the storages that it names, whose numbers follow later, its
    size in bytes."""

    def __init__(self, content: Buffer, where: str, byte_order: str = "<") -> None:
        self.storages: dict[str, _Storage] = {}
        self.numbers: dict[str, Buffer] = {}
        self._byte_order = byte_order
        self.size = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        try:
            with warnings.catch_warnings():  # of opcodes that are refused below
                warnings.simplefilter("ignore")
                for opcode, argument, position in pickletools.genops(io.BytesIO(content)):
                    if opcode.name == "PROTO" and (position or argument != 2):
                        raise ValueError("another protocol")
                    self._run(opcode.name, argument)
                    self.size = (position or 0) + 1
        except (ValueError, LookupError, TypeError) as error:  # also from pickletools
            raise _other(where, str(error)[:100]) from error
        if len(self._stack) != 1 or self._marks:
            raise _other(where, "objects that are left over")
        self.value = self._stack[0]

    def _run(self, opcode: str, argument: Any) -> None:
        if opcode in _VALUES:
            self._stack.append(argument)
        elif opcode in _NEW:
            self._stack.append(_NEW[opcode]())
        elif opcode in ("BINPUT", "LONG_BINPUT"):
            self._memo[argument] = self._stack[-1]
        elif opcode in ("BINGET", "LONG_BINGET"):
            self._stack.append(self._memo[argument])
        elif opcode == "MARK":
            self._marks.append(len(self._stack))
        elif opcode in _TUPLES:
            self._stack.append(tuple(self._pop(_TUPLES[opcode])))
        elif opcode == "TUPLE":
            self._stack.append(tuple(self._pop_marked()))
        elif opcode == "GLOBAL":
            self._stack.append(_Global(_checked(argument, {_TENSOR, _DICT, *_DTYPES}, "name")))
        elif opcode in ("SETITEM", "SETITEMS"):
            self._set(self._pop(2) if opcode == "SETITEM" else self._pop_marked())
        elif opcode in ("APPEND", "APPENDS"):
            items = self._pop(1) if opcode == "APPEND" else self._pop_marked()
            _instance(self._stack[-1], list).extend(items)
        elif opcode == "BINPERSID":
            self._stack.append(self._storage(*self._pop(1)))
        elif opcode == "REDUCE":
            self._stack.append(self._reduced(*self._pop(2)))
        elif opcode == "BUILD":  # the attributes of an ordered dictionary: `_metadata`
            self._pop(1)
            _instance(self._stack[-1], dict)
        elif opcode not in ("PROTO", "STOP"):
            raise ValueError(f"the opcode {opcode}")

    def _pop(self, count: int) -> list[Any]:
        at = len(self._stack) - count
        if at < (self._marks[-1] if self._marks else 0):
            raise ValueError("an empty stack")
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def _pop_marked(self) -> list[Any]:
        return self._pop(len(self._stack) - self._marks.pop())

    def _set(self, items: list[Any]) -> None:
        target = _instance(self._stack[-1], dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_instance(key, (str, int))] = value

    def _storage(self, identity: Any) -> _Storage:
        """Return the storage of a persistent id: type, key, device, size, no view of another."""
        kind, dtype, key, device, size, *view = _instance(identity, tuple)
        storage = _Storage(
            self._byte_order
            + _DTYPES[_checked(_instance(dtype, _Global).name, _DTYPES, "type of numbers")],
            _instance(key, str),
            _integer(size),
        )
        if storage.size < 0:
            raise ValueError("a negative size")
        if kind != "storage" or view not in ([], [None]) or not isinstance(device, str):
            raise ValueError("a storage of another kind")
        if self.storages.setdefault(storage.key, storage) != storage:
            raise ValueError(f"storage {storage.key[:40]!r} of two sizes or types")
        return storage

    def _reduced(self, function: Any, arguments: Any) -> Any:
        """Return what a function of torch would: an empty dictionary or the view of a tensor."""
        name = _instance(function, _Global).name
        if name == _DICT and arguments == ():
            return {}
        if name != _TENSOR:
            raise ValueError(f"a call of {name}")
        storage, offset, shape, strides, gradient, hooks = _instance(arguments, tuple)
        if gradient not in (True, False) or hooks != {}:
            raise ValueError("a tensor of another kind")
        sizes, steps = (tuple(map(_integer, _instance(of, tuple))) for of in (shape, strides))
        place = _integer(offset)
        return TensorView(_instance(storage, _Storage), place, sizes, steps, self.numbers)


_VALUES = {"BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NEW: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
}


def _instance(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (kind is tuple and type(value) is not tuple):
        raise ValueError(f"an unexpected {type(value).__name__}")
    return value


def _integer(value: Any) -> int:
    number: int = _instance(value, int)
    return number


def _checked(text: str, allowed: Collection[str], what: str) -> str:
    if text not in allowed:
        remedy = "; save x.detach().float()" * text.startswith("torch")
        raise ValueError(f"the {what} {text[:100]!r}{remedy}")
    return text


def _other(where: str, what: str) -> PrivacyEvalError:
    return PrivacyEvalError(f"{where}: expected tensors written by torch.save, found {what}")


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
    refuse_names(absent, f"{table}: {len(absent)} rows without an id")
    in_order = [names[row] for row in range(len(matrix))]
    bad = [in_order[row] for row in np.flatnonzero(~np.isfinite(matrix).all(axis=1))]
    refuse_names(bad, f"{path}: not finite", " (as float32)")
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
    tensor = read_torch(content, where)
    is_tensor = isinstance(tensor, TensorView)
    integers = is_tensor and tensor.storage.dtype.endswith("i8")
    if not is_tensor or integers or len(tensor.shape) != 2:
        what = "a tensor" if is_tensor else f"a {type(tensor).__name__}"
        what += " of integers (save x.detach().float())" * integers
        raise PrivacyEvalError(
            f"{where}: expected a matrix written by torch.save, found {what}, not (N, D)"
        )
    if tensor.shape[1] > MAX_DIMENSION:
        raise PrivacyEvalError(f"{where}: vectors of {tensor.shape[1]} values")
    with np.errstate(over="ignore"):
        matrix: NDArray[Any] = tensor.array(where, "a matrix")
        return matrix.astype(np.float32, order="C")


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
    write_bytes(path, content.getvalue())
    write_text(path.with_name("id2idx"), "".join(f"{u} {row}\n" for row, u in enumerate(ids)))
