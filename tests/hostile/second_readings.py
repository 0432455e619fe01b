"""Second readings of untrusted files: slow and plain. None is for what must be refused."""

import gzip
import io
import math
import pickle
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from inputs import BOM

from privacy_eval.io.files import digest
from privacy_eval.io.vectors import MAX_BINARY_DIMENSION

Row = tuple[str, ...]
#: An array as plain values: shape and bytes.
Plain = tuple[tuple[int, ...], bytes]


def unpacked(content: bytes) -> bytes | None:
    """Content of a file that may be gzip."""
    if content.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return None
    return content


def text_of(content: bytes) -> bytes | None:
    """Content of a text file that may be gzip and may begin with a byte order mark."""
    plain = unpacked(content)
    return None if plain is None else plain.removeprefix(BOM)


def rows_of(content: bytes) -> list[Row] | None:
    """Fields of every line that has some."""
    text = text_of(content)
    if text is None or re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n|\Z)", text):
        return None
    try:
        lines = [line.strip(" \t\r") for line in text.decode().split("\n")]
    except UnicodeDecodeError:
        return None
    rows = [tuple(re.split("[ \t]+", line)) for line in lines if line]
    return rows if rows and all(len(f.encode()) <= 1024 for row in rows for f in row) else None


def table(content: bytes, *widths: int, key: int = 1) -> list[Row] | None:
    """Rows of one of these numbers of fields, the first `key` of which are distinct."""
    rows = rows_of(content)
    if rows is None or len(rows[0]) not in widths or len({len(row) for row in rows}) > 1:
        return None
    return rows if len({row[:key] for row in rows}) == len(rows) else None


_DECIMAL = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def number(text: str) -> float | None:
    """A finite decimal number."""
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if math.isfinite(float(text)) else None


def scores(content: bytes) -> tuple[list[tuple[str, str, float]], str] | None:
    """Rows of a score file, and the digest of its text."""
    rows = [(s, u, number(x)) for s, u, x in table(content, 3, key=2) or []]
    if not rows or any(score is None for _, _, score in rows):
        return None
    return rows, digest(text_of(content) or b"")  # type: ignore[return-value]


def trials(content: bytes) -> list[tuple[str, str, bool]] | None:
    rows = table(content, 3, key=2) or []
    if not rows or any(row[2] not in ("target", "nontarget") for row in rows):
        return None
    return [(s, u, label == "target") for s, u, label in rows]


def trial_list(content: bytes) -> list[Row] | None:
    rows = table(content, 2, 3, key=2)
    return None if rows is None else [row[:2] for row in rows]


def paired_with(key: bytes) -> Callable[[bytes], Any]:
    """Scores joined with a trial key by a dictionary."""
    is_target = {row[:2]: row[2] for row in trials(key) or []}

    def pairs(content: bytes) -> Any:
        rows, _ = scores(content) or ([], "")
        joined = [(*row, is_target[row[:2]]) for row in rows if row[:2] in is_target]
        if len({row[3] for row in joined}) < 2:
            return None
        return joined, len(is_target) - len(joined), len(rows) - len(joined)

    return pairs


def utt2spk(content: bytes) -> list[Row] | None:
    return table(content, 2)


def spk2gender(content: bytes) -> list[Row] | None:
    rows = table(content, 2)
    return None if rows is None or any(row[1] not in ("f", "m") for row in rows) else rows


def spk2utt(content: bytes) -> list[Row] | None:
    rows = rows_of(content) or [("",)]
    utterances = [utterance for row in rows for utterance in row[1:]]
    if any(len(row) < 2 for row in rows) or len(set(utterances)) < len(utterances):
        return None
    return rows if len({row[0] for row in rows}) == len(rows) else None


def listed(column: int, fields: int | None = None) -> Callable[[bytes], list[bytes] | None]:
    """The distinct entries of a column of a list of utterances."""

    def entries(content: bytes) -> list[bytes] | None:
        rows = [line.split() for line in (text_of(content) or b"").split(b"\n") if line.split()]
        if not rows or (fields is not None and any(len(row) != fields for row in rows)):
            return None
        return list(dict.fromkeys(row[column] for row in rows))

    return entries


_DTYPES = {b"F": np.dtype("<f4"), b"D": np.dtype("<f8")}


def binary_object(content: bytes, at: int, dimensions: int) -> tuple[np.ndarray, int] | None:
    """A binary vector or matrix behind its \\0B, and where it ends."""
    code = content[at : at + 3]
    if code not in ((b"FV ", b"DV ") if dimensions == 1 else (b"FM ", b"DM ")):
        return None
    at += 3
    shape = []
    for _ in range(dimensions):
        if content[at : at + 1] != b"\4" or len(content) < at + 5:
            return None
        shape.append(struct.unpack_from("<i", content, at + 1)[0])
        at += 5
    if min(shape) < 1 or max(shape) > MAX_BINARY_DIMENSION:
        return None
    dtype = _DTYPES[code[:1]]
    size = math.prod(shape) * dtype.itemsize
    if len(content) < at + size:
        return None
    values = np.frombuffer(content, dtype, math.prod(shape), at).reshape(shape)
    return (values, at + size) if np.isfinite(values).all() else None


def text_object(content: bytes, at: int, dimensions: int) -> tuple[np.ndarray, int] | None:
    """A text vector or matrix from its [ on, and where it ends."""
    parsed = re.compile(rb"\s*\[([^]]*)\]").match(content, at)
    if parsed is None or (dimensions == 1 and b"\n" in parsed[1]):
        return None
    rows = [line.split() for line in parsed[1].split(b"\n") if line.strip()]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return None
    words = [word.decode("latin-1") for row in rows for word in row]
    values = [number(word) if word.isascii() else None for word in words]
    if any(value is None for value in values):
        return None
    array = np.array(values, dtype=np.float64).reshape(len(rows), -1)
    return (array[0] if dimensions == 1 else array), parsed.end()


def plain_array(array: np.ndarray, kind: type = np.float32) -> Plain | None:
    """Shape and bytes as float32 (or another type), where all values fit."""
    with np.errstate(over="ignore"):
        rounded = array.astype(kind)
    return (rounded.shape, rounded.tobytes()) if np.isfinite(rounded).all() else None


def one_object(dimensions: int) -> Callable[[bytes], Plain | None]:
    """The only object of a file."""

    def read(content: bytes) -> Plain | None:
        plain = unpacked(content)
        if plain is None:
            return None
        is_binary = plain.startswith(b"\0B")
        of_form = binary_object if is_binary else text_object
        parsed = of_form(plain, 2 if is_binary else 0, dimensions)
        ends = parsed is not None and not plain[parsed[1] :].strip()
        return plain_array(parsed[0]) if parsed is not None and ends else None

    return read


def archive(content: bytes) -> list[tuple[str, Plain]] | None:
    """The vectors of an archive."""
    plain = text_of(content)
    if plain is None:
        return None
    parsed: dict[str, Plain] = {}
    at = 0
    while plain[at:].strip():
        word = re.compile(rb"\s*([^\s]{1,1024})[ \t]").match(plain, at)
        if word is None or re.search(rb"[\x00-\x1f\x7f]", word[1]):
            return None
        at = word.end()
        is_binary = plain[at : at + 2] == b"\0B"
        one = binary_object(plain, at + 2, 1) if is_binary else text_object(plain, at, 1)
        vector = None if one is None else plain_array(one[0])
        try:
            name = word[1].decode()
        except UnicodeDecodeError:
            return None
        if one is None or vector is None or name in parsed:
            return None
        parsed[name], at = vector, one[1]
    return list(parsed.items()) if len({shape for shape, _ in parsed.values()}) == 1 else None


def plda(content: bytes) -> list[Plain | None] | None:
    """Mean, transform and psi of a PLDA model."""
    plain = unpacked(content)
    if plain is None:
        return None
    is_binary = plain.startswith(b"\0B")
    begin = re.match(rb"\0B<Plda> " if is_binary else rb"\s*<Plda>", plain)
    if begin is None:
        return None
    at, parts = begin.end(), []
    for dimensions in (1, 2, 1):
        part = (binary_object if is_binary else text_object)(plain, at, dimensions)
        if part is None:
            return None
        parts.append(part[0].astype(np.float64))
        at = part[1]
    size = parts[0].size
    end = re.compile(rb"</Plda> \s*" if is_binary else rb"\s*</Plda>\s*").fullmatch(plain, at)
    fits = parts[1].shape == (size, size) and parts[2].size == size and (parts[2] >= 0).all()
    return [plain_array(p, np.float64) for p in parts] if end is not None and fits else None


def torch_tensors(content: bytes) -> dict[str, Plain]:
    """Tensors of a legacy file of torch, by Python's unpickler with stubs for what it imports."""
    stubs = {
        ("collections", "OrderedDict"): dict,
        ("torch._utils", "_rebuild_tensor_v2"): lambda *arguments: arguments,
        ("torch", "FloatStorage"): "f4",
        ("torch", "DoubleStorage"): "f8",
        ("torch", "HalfStorage"): "f2",
    }

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return stubs[module, name]

        def persistent_load(self, pid: Any) -> Any:
            return pid[1:3]

    file = io.BytesIO(content)
    *_, saved, keys = (Unpickler(file).load() for _ in range(5))
    types = {a[0][1]: a[0][0] for a in saved["model_state"].values() if isinstance(a, tuple)}
    storages = {}
    for key in keys:
        count = struct.unpack("<q", file.read(8))[0]
        dtype = np.dtype(types.get(key, "f4"))
        storages[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    tensors = {}
    for name, arguments in saved["model_state"].items():
        if isinstance(arguments, tuple) and len(arguments) == 6:
            (_, key), offset, shape, strides, *_ = arguments
            places = [
                offset + sum(map(math.prod, zip(i, strides, strict=True)))
                for i in np.ndindex(*shape)
            ]
            tensors[name] = (shape, storages[key][places].tobytes())
    return tensors
