"""Components of Kaldi's nnet3 networks that map each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..errors import PrivacyEvalError
from .nnet3_descriptors import Matrix

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
