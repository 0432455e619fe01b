"""Kaldi's nnet3 raw models: descriptors, which say what a node reads, and when; components that map
each row; and the file with its nodes.

Supported descriptors are those of published x-vector networks; Kaldi's `Switch` and `Const` are in
none.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
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

#: Limits for the parts of a descriptor, for how deeply they nest, and for a number.
MAX_PARTS = 1000
MAX_DEPTH = 50
MAX_NUMBER = 2**31
#: A time that no speech reaches.
FOREVER = 1 << 62

#: Times are always ascending and unique.
Times = NDArray[np.int64]
Matrix = NDArray[np.float32]

_WORD = re.compile(
    r"\s*(?:([A-Za-z_][\w.-]*)|([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([(),]))", re.ASCII
)
#: Number of parts of each operator, None for any from 1; then of the numbers after them.
_OPERATORS: dict[str, tuple[int | None, int]] = {
    "Append": (None, 0),
    "Sum": (None, 0),
    "Failover": (2, 0),
    "IfDefined": (1, 0),
    "Offset": (1, 1),
    "Round": (1, 1),
    "ReplaceIndex": (1, 1),
    "Scale": (1, 1),
}


@dataclass(frozen=True)
class Descriptor:
    """An expression over nodes.

    Attributes
    ----------
    operator : str
        One of Kaldi's, or blank for a node at the same time.
    parts : tuple of Descriptor
    numbers : tuple of float
        Offset, modulus, time or scale.
    node : str
        Name, where `operator` is blank.
    """

    operator: str
    parts: tuple[Descriptor, ...] = ()
    numbers: tuple[float, ...] = ()
    node: str = ""

    def reads(self) -> Iterator[str]:
        """Yield the nodes that it reads."""
        if not self.operator:
            yield self.node
        for part in self.parts:
            yield from part.reads()

    def range(self, node_ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Return bounds of the times at which it may exist, from those of the nodes."""
        if not self.operator:
            return node_ranges[self.node]
        if self.operator in ("IfDefined", "ReplaceIndex"):
            return -FOREVER, FOREVER
        firsts, lasts = zip(*(part.range(node_ranges) for part in self.parts), strict=True)
        if self.operator == "Sum":
            return max(firsts), min(lasts)
        shift = int(self.numbers[0]) if self.operator == "Offset" else 0
        later = int(self.numbers[0]) - 1 if self.operator == "Round" else 0
        return min(firsts) - shift, max(lasts) - shift + later

    def needs(self, times: Times) -> Iterator[tuple[str, Times]]:
        """Yield each node that it reads for its values at `times`, with the times read."""
        if not self.operator:
            yield self.node, times
        else:
            once = self._read_at(times)[0]
            for part in self.parts:
                yield from part.needs(once)

    def exists(self, times: Times, node_times: Mapping[str, Times]) -> NDArray[np.bool_]:
        """Return at which of `times` it exists, given the times at which nodes exist."""
        if not self.operator:
            return members(node_times[self.node], times)
        if self.operator == "IfDefined":
            return np.ones(len(times), dtype=bool)
        once, rows = self._read_at(times)
        combine = np.logical_or if self.operator == "Failover" else np.logical_and
        exists: NDArray[np.bool_] = combine.reduce(
            [part.exists(once, node_times) for part in self.parts]
        )
        return exists[rows]

    def values(self, times: Times, node_values: Mapping[str, tuple[Times, Matrix]]) -> Matrix:
        """Compute its values at times at which it exists, from those of the nodes."""
        if not self.operator:
            return _take(*node_values[self.node], times)
        first = self.parts[0]
        if self.operator == "Scale":
            return first.values(times, node_values) * np.float32(self.numbers[0])
        if self.operator == "Sum":
            total = first.values(times, node_values)
            for part in self.parts[1:]:
                total = total + part.values(times, node_values)
            return total
        if self.operator in ("Failover", "IfDefined"):
            node_times = {name: at for name, (at, _) in node_values.items()}
            defined = first.exists(times, node_times)
            values = first.values(times[defined], node_values)
            result = np.zeros((len(times), values.shape[1]), dtype=np.float32)
            result[defined] = values
            if self.operator == "Failover":
                result[~defined] = self.parts[1].values(times[~defined], node_values)
            return result
        once, rows = self._read_at(times)
        return first.values(once, node_values)[rows]

    def _read_at(self, times: Times) -> tuple[Times, slice | NDArray[np.int64]]:
        """Return the times at which its parts are read, and the row of each of `times` in them."""
        if self.operator == "Offset":
            return times + int(self.numbers[0]), slice(None)
        if self.operator == "Round":
            modulus = int(self.numbers[0])
            if modulus == 1:
                return times, slice(None)
            return np.unique(times // modulus * modulus, return_inverse=True)
        if self.operator == "ReplaceIndex":
            once = np.array([int(self.numbers[0])])[: len(times)]
            return once, np.zeros(len(times), dtype=np.int64)
        return times, slice(None)


def parse_descriptor(text: str, where: str) -> tuple[Descriptor, ...]:
    """Parse a descriptor.

    Parameters
    ----------
    text : str
        Such as "Append(Offset(a, -1), a, Scale(0.5, b))".
    where : str
        Beginning of errors.

    Returns
    -------
    tuple of Descriptor
        Its columns from left to right: Append is moved out of the other operators.

    Raises
    ------
    PrivacyEvalError
        A descriptor that is not understood or unsupported, nested too deeply or too long.

    Examples
    --------
    >>> first, second = parse_descriptor("Offset(Append(a, b), 2)", "final.raw")
    >>> second.operator, second.parts[0].node, second.numbers
    ('Offset', 'b', (2.0,))
    """
    words: list[tuple[str, ...]] = []
    at = 0
    text = text.strip()
    while at < len(text) and len(words) <= 4 * MAX_PARTS:
        match = _WORD.match(text, at)
        if match is None:
            raise PrivacyEvalError(f"{where}: unexpected {printable(text[at : at + 20])!r}")
        words.append(match.groups(default=""))
        at = match.end()
    parser = _DescriptorParser(words, where)
    if at < len(text):
        raise parser.error(f"more than {MAX_PARTS} parts")
    terms = parser.descriptor(0)
    if parser.words:
        raise parser.error("unexpected text after its end")
    return terms


class _DescriptorParser:
    """Recursive descent over words: (name, number, punctuation), one of them nonblank."""

    def __init__(self, words: list[tuple[str, ...]], where: str) -> None:
        self.words = words[::-1]
        self.where = where

    def error(self, message: str) -> PrivacyEvalError:
        return PrivacyEvalError(f"{self.where}: descriptor: {message}")

    def take(self, kind: int, *expected: str) -> str:
        word = self.words.pop() if self.words else ("", "", "")
        if not word[kind] or (expected and word[kind] not in expected):
            wanted = " or ".join(expected) or ("a name", "a number")[kind]
            raise self.error(f"expected {wanted}, found {''.join(word)!r}")
        return word[kind]

    def descriptor(self, depth: int) -> tuple[Descriptor, ...]:
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} times")
        name = self.take(0)
        if not self.words or self.words[-1][2] != "(":
            return (Descriptor("", node=name),)
        if name not in _OPERATORS:
            raise self.error(f"unsupported: {name}(...)")
        self.take(2, "(")
        parts: list[tuple[Descriptor, ...]] = []
        numbers: list[float] = []
        while True:
            if name == "ReplaceIndex" and len(parts) == 1 and not numbers:
                self.take(0, "t")
                self.take(2, ",")
            if self.words and self.words[-1][1]:
                numbers.append(float(self.take(1)))
            else:
                parts.append(self.descriptor(depth + 1))
            if self.take(2, ",", ")") == ")":
                return self._combine(name, parts, numbers)

    def _combine(
        self, name: str, parts: list[tuple[Descriptor, ...]], numbers: list[float]
    ) -> tuple[Descriptor, ...]:
        if name == "Offset" and numbers[1:] == [0.0]:  # of the second index, which is always 0
            numbers = numbers[:1]
        least, count = _OPERATORS[name]
        if (len(parts) != least if least is not None else not parts) or len(numbers) != count:
            raise self.error(f"{name} of {len(parts)} parts and {len(numbers)} numbers")
        whole = [] if name == "Scale" else numbers
        if any(n != int(n) or abs(n) > MAX_NUMBER for n in whole if math.isfinite(n)) or not all(
            abs(n) < 1e38 for n in numbers
        ):
            raise self.error(f"{name} of {numbers}, expected whole numbers up to {MAX_NUMBER}")
        if name == "Round" and numbers[0] < 1:
            raise self.error(f"Round of {numbers[0]:g}, expected at least 1")
        if name == "Append":
            return tuple(term for part in parts for term in part)
        if len({len(part) for part in parts}) > 1:
            raise self.error(f"{name} of different numbers of appended parts")
        columns = zip(*parts, strict=True)
        return tuple(Descriptor(name, column, tuple(numbers)) for column in columns)


def members(collection: Times, times: Times) -> NDArray[np.bool_]:
    """Test which times are in a collection of them.

    Parameters
    ----------
    collection, times : int64 array, shape (C,) and (T,)
        Ascending and unique.

    Returns
    -------
    bool array, shape (T,)
    """
    if not len(collection):
        return np.zeros(len(times), dtype=bool)
    if is_contiguous(collection):
        return np.asarray((times >= collection[0]) & (times <= collection[-1]))
    row = np.minimum(np.searchsorted(collection, times), len(collection) - 1)
    return np.asarray(collection[row] == times)


def is_contiguous(times: Times) -> bool:
    """Tell whether times follow each other without a gap.

    Parameters
    ----------
    times : int64 array, shape (T,)
        Ascending and unique.

    Returns
    -------
    bool
        False for no times.
    """
    return len(times) > 0 and bool(times[-1] - times[0] + 1 == len(times))


def _take(row_times: Times, values: Matrix, times: Times) -> Matrix:
    """Return the rows at `times`: a view if they are contiguous, else a copy."""
    if not len(times):
        return values[:0]
    if not is_contiguous(row_times):
        return values[np.searchsorted(row_times, times)]
    rows = times - row_times[0]
    return values[rows[0] : rows[0] + len(rows)] if is_contiguous(times) else values[rows]


#: Limit for the columns of a node.
MAX_COLUMNS = 1 << 16
_NORM_FLOOR = 2.0**-66

#: Types of the components that pool over time, which are no layers.
EXTRACTION, POOLING = "StatisticsExtractionComponent", "StatisticsPoolingComponent"

#: The matrix of a node, and where it may be written over, else None.
Apply = Callable[[Matrix, Matrix | None], Matrix]


@dataclass(frozen=True)
class Component:
    """A component of a network.

    Attributes
    ----------
    type : str
        Such as "AffineComponent".
    where : str
        Path, name and type, for messages.
    fields : mapping
        Those of `FIELDS` that the file has.
    """

    type: str
    where: str
    fields: Mapping[str, Any]

    def error(self, message: str) -> PrivacyEvalError:
        """Return an error that names the component."""
        return PrivacyEvalError(f"{self.where}: {message}")

    def field(self, name: str) -> Any:
        """Return a required field."""
        if name not in self.fields:
            raise self.error(f"no field <{name}>")
        return self.fields[name]

    def positive(self, name: str, default: int | None = None) -> int:
        """Return a positive whole number."""
        value = self.fields.get(name, default) if default is not None else self.field(name)
        if value < 1:
            raise self.error(f"<{name}> is {value}, expected at least 1")
        return int(value)


@dataclass(frozen=True)
class Layer:
    """A component that maps each row.

    Attributes
    ----------
    columns : tuple of int
        Of its input and of its output.
    apply : callable
        The second argument, if it is not None, may be overwritten with the result.
    is_new : bool
        Whether the result never shares memory with the first argument alone.
    """

    columns: tuple[int, int]
    apply: Apply
    is_new: bool = True


def make_layer(component: Component, columns: int) -> Layer:
    """Make a layer of a component.

    Parameters
    ----------
    component : Component
    columns : int
        Of its input.

    Returns
    -------
    Layer

    Raises
    ------
    PrivacyEvalError
        An unsupported component, a missing or inconsistent field, another number of columns.
    """
    make = LAYERS.get(component.type)
    if make is None:
        raise component.error("unsupported component")
    layer = make(component, columns)
    if layer.columns[0] != columns:
        raise component.error(f"expected {layer.columns[0]} columns, its input has {columns}")
    return layer


def _affine(component: Component, columns: int) -> Layer:
    weights = component.field("Params" if "Params" in component.fields else "LinearParams")
    bias = component.fields.get("BiasParams", np.empty(0, dtype=np.float32))
    rows = len(weights)
    if len(bias) not in (0, rows) or not weights.size:
        raise component.error(f"{rows} rows of weights and a bias of {len(bias)}")
    if not len(bias) and component.type not in ("LinearComponent", "TdnnComponent"):
        raise component.error("no bias")
    transposed = np.ascontiguousarray(weights.T)

    def apply(x: Matrix, out: Matrix | None) -> Matrix:
        y: Matrix = x @ transposed
        if len(bias):
            y += bias
        return y

    return Layer((weights.shape[1], rows), apply)


def _rowwise(
    function: Callable[..., Any], *, is_new: bool = True
) -> Callable[[Component, int], Layer]:
    """Make a factory of layers from a function that keeps the number of columns."""

    def make(component: Component, columns: int) -> Layer:
        dim = component.positive("Dim")
        return Layer((dim, dim), function, is_new)

    return make


def _scale_and_offset(dim: int, scale: Matrix, offset: Matrix) -> Layer:
    """Make a layer that scales columns and adds an offset, in each block."""
    scale, offset = (np.tile(part, dim // len(part)) for part in (scale, offset))

    def apply(x: Matrix, out: Matrix | None) -> Matrix:
        y = np.multiply(x, scale, out=out)
        y += offset
        return y

    return Layer((dim, dim), apply)


def _blocks(component: Component, dim: str) -> tuple[int, int]:
    """Return the dimension of a component and of its blocks."""
    whole = component.positive(dim)
    block = component.positive("BlockDim", whole)
    if whole % block or whole > MAX_COLUMNS:
        raise component.error(f"blocks of {block} of {whole} columns")
    return whole, block


def _batch_norm(component: Component, columns: int) -> Layer:
    dim, block = _blocks(component, "Dim")
    if component.field("Count") <= 0:
        raise component.error("has no statistics (Count 0)")
    mean, variance = component.field("StatsMean"), component.field("StatsVar")
    if len(mean) != block or len(variance) != block:
        raise component.error(f"statistics of {len(mean)} and {len(variance)}, expected {block}")
    epsilon = component.field("Epsilon")
    spread = np.maximum(variance.astype(np.float64), 0.0) + epsilon
    if not (spread > 0).all():
        raise component.error("a variance of 0 without an epsilon")
    scale = component.field("TargetRms") / np.sqrt(spread)
    offset = -mean * scale
    with np.errstate(over="ignore"):
        rounded = scale.astype(np.float32), offset.astype(np.float32)
    if not all(np.isfinite(part).all() for part in rounded):
        raise component.error("scales or offsets beyond the range of float32")
    return _scale_and_offset(dim, *rounded)


def _scales(component: Component, columns: int) -> Layer:
    dim = component.positive("Dim")
    scale, offset = component.field("Scales"), component.field("Offsets")
    if not len(scale) or len(scale) != len(offset) or dim % len(scale) or dim > MAX_COLUMNS:
        raise component.error(f"{len(scale)} scales and {len(offset)} offsets for {dim} columns")
    return _scale_and_offset(dim, scale, offset)


def _normalize(component: Component, columns: int) -> Layer:
    dim, block = _blocks(component, "InputDim")
    rms = component.field("TargetRms")
    if component.fields.get("AddLogStddev", False):
        raise component.error("<AddLogStddev> T is unsupported")
    if rms <= 0:
        raise component.error(f"<TargetRms> is {rms}")

    def apply(x: Matrix, out: Matrix | None) -> Matrix:
        blocks = x.reshape(-1, block)
        square = np.einsum("ij,ij->i", blocks, blocks) / np.float32(block * rms**2)
        scale = 1 / np.sqrt(np.maximum(square, np.float32(_NORM_FLOOR)))
        y: Matrix = (blocks * scale[:, None]).reshape(x.shape)
        return y

    return Layer((dim, dim), apply)


def _dropout(component: Component, columns: int) -> Layer:
    kept = np.float32(1 - component.field("DropoutProportion"))
    return _rowwise(lambda x, out: np.multiply(x, kept, out=out))(component, columns)


_MAKERS: Mapping[Callable[[Component, int], Layer], str] = {
    _affine: "NaturalGradientAffine Affine FixedAffine Linear Tdnn",
    _rowwise(lambda x, out: np.maximum(x, np.float32(0), out=out)): "RectifiedLinear",
    _rowwise(lambda x, out: scipy.special.expit(x, out=out)): "Sigmoid",
    _rowwise(np.tanh): "Tanh",
    _rowwise(lambda x, out: scipy.special.softmax(x, axis=1)): "Softmax",
    _rowwise(lambda x, out: scipy.special.log_softmax(x, axis=1)): "LogSoftmax",
    _batch_norm: "BatchNorm",
    _normalize: "Normalize",
    _scales: "ScaleAndOffset",
    _rowwise(lambda x, out: x, is_new=False): "NoOp GeneralDropout",
    _dropout: "Dropout",
}
#: Makers of layers by type of component.
LAYERS = {f"{name}Component": make for make, names in _MAKERS.items() for name in names.split()}


# The file

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
