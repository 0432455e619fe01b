"""Parts of Kaldi's nnet3 networks: descriptors, which say what a node reads, and when; and
components that map each row.

Supported descriptors are those of published x-vector networks; Kaldi's `Switch` and `Const` are in
none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, printable

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
        Those of `nnet3_file.FIELDS` that the file has.
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
