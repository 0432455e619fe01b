"""Compute Kaldi's nnet3 networks: x-vector networks, frame by frame and pooled.

A network is evaluated over times t. Features give the times 0 to N-1 of its input; a node
exists at t only where all that it reads exists, so nothing is padded or repeated inside of the
network. First the times requested of each node are collected, from the output back to the
input; then those at which it exists. Values are computed in blocks of frames, from one pooling
component to the next, so that memory does not grow with the length of the speech.

Products are of float32, sums over time of float64. The blocks depend on the features alone;
with one BLAS thread equal features give equal bytes.

References
----------
D. Snyder, D. Garcia-Romero, G. Sell, D. Povey, S. Khudanpur, "X-vectors: robust DNN embeddings
for speaker recognition", ICASSP 2018.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .nnet3_file import (
    EXTRACTION,
    MAX_COLUMNS,
    POOLING,
    Component,
    Descriptor,
    Layer,
    Matrix,
    ModelFile,
    Node,
    Times,
    is_contiguous,
    make_layer,
    members,
)

#: Frames that are computed at once.
BLOCK = 512
_SUM_ROWS = 128
#: Maximum number of frames to compute at a node.
MAX_FRAMES = 1 << 22
_NEVER: Times = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Pooling:
    """Statistics extraction and pooling.

    Attributes
    ----------
    where : str
        Path and name, for messages.
    columns : int
        Number of columns of what the extraction reads.
    steps : tuple of int
        Input period and output period of the extraction, input period of the pooling.
    context : tuple of int
        Frames before and after.
    log_counts : int
        Number of columns with the logarithm of the count.
    variances, stddevs : bool
        Whether there are second moments, and whether they become standard deviations.
    floor : float
        Of the variance.
    """

    where: str
    columns: int
    steps: tuple[int, int, int]
    context: tuple[int, int]
    log_counts: int
    variances: bool
    stddevs: bool
    floor: float

    @property
    def output_columns(self) -> int:
        """Log counts, means, second moments."""
        return self.log_counts + self.columns * (2 if self.variances else 1)

    def extracted(self, times: Times, exists: tuple[int, int]) -> Times:
        """Return the times of the extraction that pooling at `times` reads."""
        before, after = self.context
        reach = (exists[0] - self.steps[1] + 1, exists[1] + self.steps[1] - 1)
        return self._windows(times - before, times + after, self.steps[2], reach)

    def frames(self, extracted: Times, exists: tuple[int, int]) -> Times:
        """Return the times of the input that the extraction reads."""
        first = extracted // self.steps[1] * self.steps[1]
        return self._windows(first, first + self.steps[1] - 1, self.steps[0], exists)

    def _windows(self, first: Times, last: Times, step: int, exists: tuple[int, int]) -> Times:
        """Return the multiples of a step in any of the windows `first` to `last`, both ascending
        and inclusive, and within the times that exist."""
        if not len(first):
            return first
        lowest, highest = max(int(first[0]), exists[0]), min(int(last[-1]), exists[1])
        lowest = -(-lowest // step) * step
        count = (highest - lowest) // step + 1
        if count > MAX_FRAMES:
            raise PrivacyEvalError(f"{self.where}: reads {count} frames, at most {MAX_FRAMES}")
        times = np.arange(lowest, lowest + max(count, 0) * step, step)
        window = np.minimum(np.searchsorted(last, times), len(first) - 1)
        return times[first[window] <= times]

    def output(self, count: NDArray[np.float64], sums: list[NDArray[np.float64]]) -> Matrix:
        """Return the statistics of counts, shape (R, 1), and sums of powers, shape (R, D)."""
        parts = [np.repeat(np.log(count), self.log_counts, axis=1), sums[0] / count]
        if self.variances:
            second = sums[1] / count
            if self.stddevs:
                second = np.sqrt(np.maximum(second - parts[1] ** 2, self.floor))
            parts.append(second)
        return np.concatenate(parts, axis=1).astype(np.float32)


class Network:
    """A network that computes one output.

    Parameters
    ----------
    model : ModelFile
    output : str
        Name of the node to compute, of any kind.

    Attributes
    ----------
    path : Path
    output : str
    order : list of str
        The nodes that are needed, each after those that it reads.
    columns : dict of str to int
        Of each.
    works : dict of str to Layer, Pooling or None
        What each does to its input; None: nothing.
    terms : dict of str to tuple of Descriptor
        What each reads; of pooling, what the extraction reads.
    overwriting : set of str
        Nodes that are the only readers of new values.
    input_columns, output_columns : int

    Raises
    ------
    PrivacyEvalError
        A node that is missing, reads itself, or cannot be computed: unsupported component,
        inconsistent dimensions, BatchNorm without statistics.
    """

    def __init__(self, model: ModelFile, output: str = "output") -> None:
        self._model = model
        self.path = model.path
        self.output = output
        self.order = _sorted_nodes(model, output)
        self.columns: dict[str, int] = {}
        self.works: dict[str, Layer | Pooling | None] = {}
        self.terms: dict[str, tuple[Descriptor, ...]] = {}
        for name in self.order:
            self._add(name, model.nodes[name])
        inputs = [n for n in self.order if model.nodes[n].kind == "input-node"]
        if inputs != ["input"]:
            raise PrivacyEvalError(f"{model.path}: {output} reads {inputs}, expected input alone")
        self.input_columns, self.output_columns = self.columns["input"], self.columns[output]
        if self.output_columns < 0:
            raise PrivacyEvalError(f"{model.path}: {output} is a statistics extraction")
        self.order = [name for name in self.order if name in self.works]
        self.overwriting = self._find_overwriting()

    def compute(self, features: Matrix, times: Sequence[int] = (0,)) -> tuple[Times, Matrix]:
        """Compute the output at some times.

        Parameters
        ----------
        features : float32 array, shape (N, D)
            Of the times 0 to N-1.
        times : sequence of int
            Ascending.

        Returns
        -------
        times : int64 array, shape (T,)
            Those at which the output exists.
        values : float32 array, shape (T, E)

        Raises
        ------
        PrivacyEvalError
            Features of another dimension; a node that reads too many frames.
        """
        features = np.asarray(features, dtype=np.float32)
        if features.ndim != 2 or features.shape[1] != self.input_columns:
            raise PrivacyEvalError(
                f"{self._model.path}: features of shape {features.shape}, "
                f"expected {self.input_columns} columns"
            )
        with np.errstate(all="ignore"):
            return _Computation(self, features).output(np.array(times, dtype=np.int64))

    def _add(self, name: str, node: Node) -> None:
        terms = node.terms
        component = self._model.components.get(node.component)
        if node.kind == "component-node":
            if component is None:
                raise PrivacyEvalError(f"{node.where}: no component {node.component}")
            if component.type == POOLING:
                pooling, self.terms[name] = self._pooling(node, component)
                self.works[name], self.columns[name] = pooling, pooling.output_columns
                return
            if component.type == EXTRACTION:
                self.columns[name] = -1
                return
            if component.type == "TdnnComponent":
                offsets = component.field("TimeOffsets")
                terms = tuple(Descriptor("Offset", (t,), (k,)) for k in offsets for t in terms)
        self.terms[name] = terms
        columns = node.dim if node.kind == "input-node" else self._columns(node, terms)
        if node.kind == "dim-range-node":
            if node.dim < 1 or node.offset + node.dim > columns:
                raise PrivacyEvalError(
                    f"{node.where}: columns {node.offset} to {node.offset + node.dim} of {columns}"
                )
            part = slice(node.offset, node.offset + node.dim)
            self.works[name] = Layer((columns, node.dim), lambda x, out: x[:, part], is_new=False)
            columns = node.dim
        elif component is not None and node.kind == "component-node":
            layer = make_layer(component, columns)
            self.works[name], columns = layer, layer.columns[1]
        else:
            self.works[name] = None
        if not 1 <= columns <= MAX_COLUMNS:
            raise PrivacyEvalError(f"{node.where}: {columns} columns, expected 1 to {MAX_COLUMNS}")
        self.columns[name] = columns

    def _pooling(self, node: Node, component: Component) -> tuple[Pooling, tuple[Descriptor, ...]]:
        """Combine a pooling component with the extraction that it reads."""
        source = self._model.nodes.get(node.terms[0].node)
        extraction = self._model.components.get(source.component) if source is not None else None
        if (
            source is None
            or extraction is None
            or len(node.terms) > 1
            or extraction.type != EXTRACTION
        ):
            raise component.error("reads something else than the output of a statistics extraction")
        steps = (
            extraction.positive("InputPeriod"),
            extraction.positive("OutputPeriod"),
            component.positive("InputPeriod"),
        )
        context = (component.field("LeftContext"), component.field("RightContext"))
        variances = extraction.field("IncludeVarinance")
        columns = self._columns(source, source.terms)
        expected = (columns, 1 + columns * (2 if variances else 1))
        declared = (extraction.field("InputDim"), component.field("InputDim"))
        if declared != expected:
            raise component.error(f"InputDim of extraction and pooling: {declared}, not {expected}")
        if min(context) < 0 or steps[1] % steps[0] or any(c % steps[2] for c in context):
            raise component.error(
                f"periods {steps} do not fit each other or the contexts {context}"
            )
        log_counts = component.field("NumLogCountFeatures")
        stddevs = component.field("OutputStddevs")
        if not 0 <= log_counts <= MAX_COLUMNS or (stddevs and not variances):
            raise component.error("inconsistent NumLogCountFeatures or OutputStddevs")
        floor = component.fields.get("VarianceFloor", 1e-10)
        shape = columns, steps, context, log_counts, variances, stddevs
        return Pooling(component.where, *shape, max(floor, 0.0)), source.terms

    def _columns(self, node: Node, terms: Sequence[Descriptor]) -> int:
        return sum(self._term_columns(node, term) for term in terms)

    def _term_columns(self, node: Node, term: Descriptor) -> int:
        if not term.operator:
            columns = self.columns[term.node]
            if columns < 0:
                raise PrivacyEvalError(
                    f"{node.where}: reads the statistics extraction {term.node} without pooling"
                )
            return columns
        widths = {self._term_columns(node, part) for part in term.parts}
        if len(widths) > 1:
            raise PrivacyEvalError(f"{node.where}: {term.operator} of {sorted(widths)} columns")
        return widths.pop()

    def _find_overwriting(self) -> set[str]:
        reads = Counter(n for terms in self.terms.values() for t in terms for n in t.reads())
        overwriting = set()
        for name, terms in self.terms.items():
            if len(terms) == 1 and not terms[0].operator and reads[terms[0].node] == 1:
                source = self.works[terms[0].node]
                if isinstance(source, Layer) and source.is_new:
                    overwriting.add(name)
        return overwriting


class _Computation:
    """Values of a network for one matrix of features."""

    def __init__(self, network: Network, features: Matrix) -> None:
        self._network = network
        #: Requested times at which each node is defined; values of the input and of poolings.
        self._exists: dict[str, Times] = {"input": np.arange(len(features))}
        self._stored: dict[str, Matrix] = {"input": features}
        self._range: dict[str, tuple[int, int]] = {"input": (0, len(features) - 1)}
        #: Times of the extraction, and of the extraction's input, that each pooling reads.
        self._windows: dict[str, tuple[Times, Times]] = {}

    def output(self, times: Times) -> tuple[Times, Matrix]:
        network = self._network
        if not len(self._stored["input"]):
            return times[:0], np.empty((0, network.output_columns), dtype=np.float32)
        self._find_ranges()
        self._find_times(times)
        for name in network.order:
            work = network.works[name]
            if isinstance(work, Pooling) and name in self._exists:
                self._stored[name] = self._pool(work, name)
        defined = self._exists[network.output]
        values = self._values((Descriptor("", node=network.output),), defined)
        return defined, np.array(values) if len(defined) else values

    def _find_ranges(self) -> None:
        """Bound the times at which each node may exist."""
        for name in self._network.order:
            if name == "input":
                continue
            work = self._network.works[name]
            first, last = _common(self._network.terms[name], self._range)
            if isinstance(work, Pooling):
                reach = work.steps[1] - 1
                first, last = first - work.context[1] - reach, last + work.context[0] + reach
            self._range[name] = first, last

    def _find_times(self, times: Times) -> None:
        """Find the times requested of each node, then those at which it exists."""
        network = self._network
        asked = defaultdict(list, {network.output: [times]})
        for name in reversed(network.order):
            if name not in asked or name == "input":
                continue
            now = _union(asked.pop(name))
            if len(now) > MAX_FRAMES:
                raise PrivacyEvalError(f"{network.path}: {name}: {len(now)} frames are too many")
            self._exists[name] = now
            work, terms = network.works[name], network.terms[name]
            if isinstance(work, Pooling):
                reach = _common(terms, self._range)
                extracted = work.extracted(now, reach)
                now = work.frames(extracted, reach)
                self._windows[name] = (extracted, now)
            _ask(asked, terms, now)
        for name in network.order:
            if name not in self._exists or name == "input":
                continue
            now, work, terms = self._exists[name], network.works[name], network.terms[name]
            if isinstance(work, Pooling):
                extracted, frames = self._windows[name]
                frames = self._existing(terms, frames)
                self._windows[name] = (extracted, frames)
                first = extracted // work.steps[1] * work.steps[1]
                inside = np.searchsorted(frames, first + work.steps[1]) > np.searchsorted(
                    frames, first
                )
                rows = _rows(extracted[inside], now, work)
                self._exists[name] = now[rows[1] > rows[0]]
            else:
                self._exists[name] = self._existing(terms, now)

    def _existing(self, terms: Sequence[Descriptor], times: Times) -> Times:
        mask = np.all([term.exists(times, self._exists) for term in terms], axis=0)
        return times if mask.all() else times[mask]

    def _pool(self, pooling: Pooling, name: str) -> Matrix:
        """Compute the statistics of a node from blocks of frames."""
        times, (extracted, frames) = self._exists[name], self._windows[name]
        first = extracted // pooling.steps[1] * pooling.steps[1]
        begin, end = _rows(extracted, times, pooling)
        powers = 2 if pooling.variances else 1
        count = np.zeros((len(times), 1))
        sums = [np.zeros((len(times), pooling.columns)) for _ in range(powers)]
        for block in np.array_split(frames, -(-len(frames) // BLOCK)) if len(frames) else []:
            values = self._values(self._network.terms[name], block)
            # How often each frame counts at each time: rows of the extraction that hold it.
            low = np.searchsorted(first, block - pooling.steps[1], side="right")
            high = np.searchsorted(first, block, side="right")
            some = np.flatnonzero((begin < high[-1]) & (end > low[0]))
            part = slice(some[0], some[-1] + 1) if len(some) else slice(0)
            often = np.minimum(end[part, None], high) - np.maximum(begin[part, None], low)
            weight = np.maximum(often, 0).astype(np.float64)
            count[part] += weight.sum(axis=1, keepdims=True)
            for at in range(0, len(block), _SUM_ROWS):  # that fit into the cache
                rows = slice(at, at + _SUM_ROWS)
                power = values[rows].astype(np.float64)
                sums[0][part] += weight[:, rows] @ power
                if pooling.variances:
                    sums[1][part] += weight[:, rows] @ np.multiply(power, power, out=power)
        return pooling.output(count, sums)

    def _values(self, terms: Sequence[Descriptor], times: Times) -> Matrix:
        """Compute terms at times at which all of them exist, from what is stored."""
        network = self._network
        asked = defaultdict[str, list[Times]](list)
        computed: dict[str, tuple[Times, Matrix]] = {}
        _ask(asked, terms, times)
        for name in reversed(network.order):
            if name not in asked:
                continue
            if name in self._stored:
                computed[name] = (self._exists[name], self._stored[name])
                continue
            needed = _union(asked[name])
            needed = needed[members(self._exists[name], needed)]
            computed[name] = (needed, np.empty((0, 0), dtype=np.float32))
            _ask(asked, network.terms[name], needed)
        for name in network.order:
            if name in computed and name not in self._stored:
                needed, work = computed[name][0], network.works[name]
                values = _join(network.terms[name], needed, computed)
                if isinstance(work, Layer):
                    values = work.apply(values, values if name in network.overwriting else None)
                computed[name] = (needed, values)
        return _join(terms, times, computed)


def _ask(asked: dict[str, list[Times]], terms: Sequence[Descriptor], times: Times) -> None:
    """Request nodes at the times that terms need to have values at `times`."""
    for term in terms:
        for node, needed in term.needs(times):
            asked[node].append(needed)


def _rows(extracted: Times, times: Times, pooling: Pooling) -> tuple[Times, Times]:
    """Return the rows of the extraction within each window of the pooling: first and end."""
    before, after = pooling.context
    begin = np.searchsorted(extracted, times - before)
    return begin, np.searchsorted(extracted, times + after, side="right")


def _union(asked: Sequence[Times]) -> Times:
    """Return the union of several times."""
    if len(asked) == 1:
        return asked[0]
    asked = sorted((times for times in asked if len(times)), key=lambda times: int(times[0]))
    if all(map(is_contiguous, asked)) and all(
        after[0] <= before[-1] + 1 for before, after in itertools.pairwise(asked)
    ):
        return np.arange(asked[0][0], max(times[-1] for times in asked) + 1) if asked else _NEVER
    return np.unique(np.concatenate(asked))


def _common(terms: Sequence[Descriptor], ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return bounds of the times at which all terms may exist."""
    firsts, lasts = zip(*(term.range(ranges) for term in terms), strict=True)
    return max(firsts), min(lasts)


def _join(
    terms: Sequence[Descriptor], times: Times, computed: Mapping[str, tuple[Times, Matrix]]
) -> Matrix:
    """Compute the columns of several terms at times at which all of them exist."""
    parts = [term.values(times, computed) for term in terms]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _sorted_nodes(model: ModelFile, output: str) -> list[str]:
    """Return the nodes that an output depends on, in topological order (inputs first)."""
    order: list[str] = []
    states: dict[str, bool] = {}  # False: in progress, True: done
    stack = [(output, "")]
    while stack:
        name, reader = stack.pop()
        if name not in model.nodes:
            wanted = f"{reader}: reads {name}, which" if reader else f"{model.path}: {name}"
            raise PrivacyEvalError(f"{wanted} is not a node")
        node = model.nodes[name]
        if states.get(name) is False:  # all that it reads is done
            states[name] = True
            order.append(name)
        elif name not in states:
            states[name] = False
            stack.append((name, reader))
            needed = [read for term in node.terms for read in term.reads()]
            if any(states.get(read) is False for read in needed):
                raise PrivacyEvalError(f"{node.where}: a recurrent network is unsupported")
            stack += [(read, node.where) for read in needed if read not in states]
    return order
