"""Kaldi's nnet3 raw models: the file, its nodes, their descriptors and its components."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, printable
from ..io.files import MAX_BYTES, read_text
from ..io.vectors import (
    BLANK,
    ObjectFile,
    open_objects,
    read_binary_array,
    read_text_array,
    to_float32,
)
from .nnet3_parts import (
    EXTRACTION,
    LAYERS,
    MAX_PARTS,
    POOLING,
    Component,
    Descriptor,
    parse_descriptor,
)

#: Limit for the nodes of a model.
MAX_NODES = 10_000
_MAX_LINE = 1 << 16
_MAX_WORD = 256

_INTEGERS = """Dim BlockDim InputDim InputPeriod OutputPeriod LeftContext RightContext
    NumLogCountFeatures"""
_REALS = "Epsilon TargetRms Count VarianceFloor DropoutProportion"
_VECTORS = "BiasParams StatsMean StatsVar Scales Offsets"
#: Fields that a forward pass needs, with their readers; "IncludeVarinance" is Kaldi's
#: spelling.
FIELDS = {
    **dict.fromkeys(_INTEGERS.split(), "integer"),
    **dict.fromkeys(_REALS.split(), "real"),
    **dict.fromkeys(("IncludeVarinance", "OutputStddevs", "AddLogStddev"), "boolean"),
    **dict.fromkeys(_VECTORS.split(), "vector"),
    **dict.fromkeys(("LinearParams", "Params"), "matrix"),
    "TimeOffsets": "integers",
}
#: Supported components; others are skipped, and refused if the output needs them.
COMPONENT_TYPES = {*LAYERS, EXTRACTION, POOLING}

_INTEGER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
# A run of blanks is tried once, from its beginning.
_KEY = re.compile(r"(?<!\s)\s+(?=[A-Za-z][A-Za-z-]*=)")
_TAG = re.compile(rb"<")
_NEWLINE = re.compile(rb"\n")
#: Required keys of node lines.
_LINES = {
    "input-node": ("name", "dim"),
    "component-node": ("name", "component", "input"),
    "output-node": ("name", "input"),
    "dim-range-node": ("name", "input-node", "dim-offset", "dim"),
}


@dataclass(frozen=True)
class Node:
    """A node of a network.

    Attributes
    ----------
    kind : str
        "input-node", "component-node", "output-node" or "dim-range-node".
    where : str
        Path and name, for messages.
    terms : tuple of Descriptor
        What it reads, column after column; no Append within.
    component : str
        Name of its component.
    dim : int
        Of an input or a range.
    offset : int
        First column of a range.
    """

    kind: str
    where: str
    terms: tuple[Descriptor, ...] = ()
    component: str = ""
    dim: int = 0
    offset: int = 0


@dataclass(frozen=True)
class ModelFile:
    """The content of a raw model.

    Attributes
    ----------
    path : Path
    nodes : mapping of str to Node
    components : mapping of str to Component
    """

    path: Path
    nodes: Mapping[str, Node]
    components: Mapping[str, Component]


def read_model(path: Path, config: Path | None = None) -> ModelFile:
    """Read a raw model, binary or text.

    Parameters
    ----------
    path : Path
    config : Path, optional
        Node lines that replace or add nodes, as `nnet3-copy --nnet-config`: an extractor's
        `extract.config`.

    Returns
    -------
    ModelFile

    Raises
    ------
    PrivacyEvalError
        Another kind of file; truncated or damaged, with the component; a line or descriptor
        that is not understood, with its text.
    """
    with open_objects(path) as file:
        reader = _Reader(file)
        if reader.token() != "Nnet3":
            raise file.error("expected <Nnet3>: not an nnet3 raw model")
        listed = list(_nodes(reader.lines()))
        nodes = dict(listed)
        if len(nodes) < len(listed):
            name = Counter(name for name, _ in listed).most_common(1)[0][0]
            raise PrivacyEvalError(f"{path}: duplicate node {name}")
        components = dict(_components(reader, path))
        file.where = str(path)
        file.end()
    if config is not None:
        nodes.update(_nodes(_config_lines(config)))
    return ModelFile(path, nodes, components)


def _config_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Read the lines of a configuration, under the limits of node lines."""
    lines = read_text(path).splitlines()
    if len(lines) > MAX_NODES:
        raise PrivacyEvalError(f"{path}:{MAX_NODES + 1}: more than {MAX_NODES} lines")
    for number, line in enumerate(lines, 1):
        if len(line) > _MAX_LINE:
            raise PrivacyEvalError(f"{path}:{number}: longer than {_MAX_LINE} characters")
        yield f"{path}:{number}", line


class _Reader:
    """Tokens and basic types of an `ObjectFile`, after its `\\0B` if it is binary."""

    def __init__(self, file: ObjectFile) -> None:
        self.file = file
        self.is_binary = file.peek(2) == b"\0B"
        if self.is_binary:
            file.read(2)

    def word(self) -> str:
        """Read a word and the blank after it."""
        self.file.skip_blanks()
        word = self.file.until(BLANK, _MAX_WORD)
        if not word:
            raise self.file.error("truncated, or damaged: expected a word")
        self.file.read(1)
        return word.decode("ascii", "backslashreplace")

    def token(self) -> str:
        word = self.word()
        if not (word.startswith("<") and word.endswith(">")):
            raise self.file.error(f"expected a tag, found {printable(word[:40])!r}")
        return word[1:-1]

    def lines(self) -> Iterator[tuple[str, str]]:
        """Read the node lines, up to an empty line."""
        self.file.skip_blanks()
        for number in range(MAX_NODES + 1):
            line = self.file.until(_NEWLINE, _MAX_LINE)
            if line is None:
                raise self.file.error("the node lines are truncated, or one of them is too long")
            self.file.read(1)
            if not line.strip():
                return
            yield f"{self.file.where}: node line {number + 1}", line.decode("utf-8", "replace")
        raise self.file.error(f"more than {MAX_NODES} nodes")

    def integer(self) -> int:
        if not self.is_binary:
            return int(self._number(_INTEGER, self.word()))
        value: int = self._unpack(b"\4", "<i")
        return value

    def real(self) -> float:
        if self.is_binary:
            value: float = self._unpack(*((b"\4", "<f") if self._next() == 4 else (b"\10", "<d")))
        else:
            value = float(self._number(_REAL, self.word()))
        if not math.isfinite(value):
            raise self.file.error(f"{value}, expected a finite number")
        return value

    def boolean(self) -> bool:
        value = self.file.read(1).decode("latin-1") if self.is_binary else self.word()
        if value not in ("T", "F"):
            raise self.file.error(f"expected T or F, found {value!r}")
        return value == "T"

    def vector(self) -> NDArray[np.float32]:
        return self._array(1)

    def matrix(self) -> NDArray[np.float32]:
        return self._array(2)

    def integers(self) -> tuple[int, ...]:
        if not self.is_binary:
            if self.word() != "[":
                raise self.file.error("expected [ of whole numbers")
            return tuple(int(self._number(_INTEGER, word)) for word in iter(self.word, "]"))
        count: int = self._unpack(b"\4", "<i")
        values = self.file.read(4 * count) if 0 <= count <= MAX_PARTS else b""
        if len(values) != 4 * count:
            raise self.file.error(f"truncated, or damaged: a list of {count} whole numbers")
        return struct.unpack(f"<{count}i", values)

    def skip(self) -> None:
        """Skip the values of an unknown field, up to the next tag."""
        if not self.is_binary:
            if self.file.until(_TAG, MAX_BYTES) is None:
                raise self.file.error("truncated")
            return
        while (kind := self._next()) != ord("<"):
            code = self.file.peek(3)
            if code in (b"FV ", b"DV ", b"FM ", b"DM "):
                self._skip_array(code)
            elif kind in (4, 8):
                (count,) = struct.unpack("<i", self.file.read(1 + kind)[1:5].ljust(4, b"\0"))
                if kind == 4 and self._next() not in b"<TFD\4\10" and 0 < count <= MAX_BYTES:
                    self.file.seek(self.file.position + 4 * count)  # whole numbers
            elif kind in b"TF":
                self.file.read(1)
            else:
                raise self.file.error(f"cannot skip its value {code!r}")

    def _skip_array(self, code: bytes) -> None:
        head = 13 if code in (b"FM ", b"DM ") else 8
        sizes = self.file.read(head)[3:]
        if len(sizes) != head - 3 or any(size != 4 for size in sizes[::5]):
            raise self.file.error(f"truncated, or damaged: {sizes!r} instead of its size")
        shape = [size for _, size in struct.iter_unpack("<Bi", sizes)]
        if min(shape) < 0:
            raise self.file.error(f"damaged: an array of {shape} values")
        width = 8 if code[:1] == b"D" else 4
        self.file.seek(self.file.position + width * math.prod(shape))

    def _next(self) -> int:
        following = self.file.peek(1)
        if not following:
            raise self.file.error("truncated")
        return following[0]

    def _unpack(self, size: bytes, code: str) -> Any:
        data = self.file.read(1 + size[0])
        if len(data) != 1 + size[0] or data[:1] != size:
            raise self.file.error(f"truncated, or damaged: expected a number, found {data!r}")
        return struct.unpack(code, data[1:])[0]

    def _number(self, pattern: re.Pattern[str], word: str) -> str:
        if not pattern.fullmatch(word):
            kind = "whole number" if pattern is _INTEGER else "number"
            raise self.file.error(f"expected a {kind}, found {printable(word[:40])!r}")
        return word

    def _array(self, dimensions: int) -> NDArray[np.float32]:
        read = read_binary_array if self.is_binary else read_text_array
        return to_float32(read(self.file, dimensions, allow_empty=True), self.file.where)


def _components(reader: _Reader, path: Path) -> Iterator[tuple[str, Component]]:
    if reader.token() != "NumComponents":
        raise reader.file.error("expected <NumComponents> after the nodes")
    names = set()
    for number in range(reader.integer()):
        reader.file.where = f"{path}: component {number + 1}"
        if reader.token() != "ComponentName":
            raise reader.file.error("expected <ComponentName>")
        name = reader.word()
        if not _NAME.fullmatch(name) or name in names:
            raise reader.file.error(f"invalid or duplicate name {printable(name[:40])!r}")
        names.add(name)
        kind = reader.token()
        where = reader.file.where = f"{path}: component {name} ({printable(kind)})"
        yield name, Component(kind, where, _fields(reader, kind))
    reader.file.where = str(path)
    if reader.token() != "/Nnet3":
        raise reader.file.error("expected </Nnet3> after the components")


def _fields(reader: _Reader, kind: str) -> dict[str, Any]:
    """Read the fields of a component up to its end tag."""
    fields: dict[str, Any] = {}
    file, where = reader.file, reader.file.where
    if kind not in COMPONENT_TYPES:
        end = f"</{kind}>".encode("ascii", "replace")
        if file.until(re.compile(re.escape(end)), MAX_BYTES) is None:
            raise file.error(f"no end tag </{printable(kind)}>")
        file.read(len(end) + 1)
        return fields
    while (tag := reader.token()) != f"/{kind}":
        file.where = f"{where}: <{printable(tag[:40])}>"
        if tag.startswith("/") or tag in fields:
            raise file.error("duplicate field" if tag in fields else "mismatched end tag")
        if tag in FIELDS:
            fields[tag] = getattr(reader, FIELDS[tag])()
        else:
            reader.skip()
    return fields


def _nodes(lines: Iterator[tuple[str, str]]) -> Iterator[tuple[str, Node]]:
    """Parse the node lines of a model or of a configuration."""
    for where, line in lines:
        line = line.split("#", 1)[0].strip()
        if line:
            yield _node(where, line)


def _node(where: str, line: str) -> tuple[str, Node]:
    """Parse a node line."""
    kind, *pairs = _KEY.split(line)
    values = dict(pair.partition("=")[::2] for pair in pairs)
    quoted = printable(line[:80])
    missing = [key for key in _LINES.get(kind, ()) if not values.get(key)]
    if kind not in _LINES or missing:
        expected = ", ".join(_LINES.get(kind, _LINES))
        raise PrivacyEvalError(f"{where}: expected {expected}, found {quoted!r}")
    names = [values[key].strip() for key in ("name", "component", "input-node") if key in values]
    if not all(map(_NAME.fullmatch, names)):
        raise PrivacyEvalError(f"{where}: invalid name in {quoted!r}")
    numbers = {key: values[key].strip() for key in ("dim", "dim-offset") if key in values}
    if not all(n.isascii() and n.isdigit() and len(n) < 10 for n in numbers.values()):
        raise PrivacyEvalError(f"{where}: expected whole numbers in {quoted!r}")
    text = values.get("input-node" if kind == "dim-range-node" else "input")
    terms = () if kind == "input-node" or text is None else parse_descriptor(text, where)
    component = names[1] if kind == "component-node" else ""
    dim, offset = (int(numbers.get(key, 0)) for key in ("dim", "dim-offset"))
    return names[0], Node(kind, f"{where}: {names[0]}", terms, component, dim, offset)
