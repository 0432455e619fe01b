"""A slow second implementation of nnet3 networks, frame by frame in float64; and a writer of
Kaldi's model files. Both work from the same description of a network, without parsing."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: ("ref", node), ("Append", part, ...), ("Offset", part, k), ...
Expression = tuple[Any, ...]


@dataclass
class Net:
    """Nodes in order: name -> (expression, type of component, fields), or a range of columns."""

    input_dim: int
    nodes: dict[str, tuple[Expression, str, dict[str, Any]]] = field(default_factory=dict)
    ranges: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    output: Expression = ("ref", "input")


class Reference:
    """Values of a network for features, one node and one time after the other."""

    def __init__(self, net: Net, features: np.ndarray) -> None:
        self.net, self.features = net, np.asarray(features, np.float64)
        self.known: dict[tuple[str, int], np.ndarray | None] = {}

    def at(self, t: int) -> np.ndarray | None:
        return self.expression(self.net.output, t)

    def node(self, name: str, t: int) -> np.ndarray | None:
        if (name, t) not in self.known:
            self.known[name, t] = self._node(name, t)
        return self.known[name, t]

    def _node(self, name: str, t: int) -> np.ndarray | None:
        if name == "input":
            return self.features[t] if 0 <= t < len(self.features) else None
        if name in self.net.ranges:
            source, offset, dim = self.net.ranges[name]
            x = self.node(source, t)
            return None if x is None else x[offset : offset + dim]
        expression, kind, fields = self.net.nodes[name]
        if kind == "StatisticsExtraction":
            period = fields["OutputPeriod"]
            start = t // period * period
            times = range(start, start + period, fields["InputPeriod"])
            rows = [x for x in (self.expression(expression, u) for u in times) if x is not None]
            if not rows:
                return None
            sums = [sum(rows), sum(x * x for x in rows)][: 2 if fields["IncludeVarinance"] else 1]
            return np.concatenate([[len(rows)], *sums])
        if kind == "StatisticsPooling":
            return self._pool(expression, fields, t)
        if kind == "Tdnn":
            parts = [self.expression(expression, t + k) for k in fields["TimeOffsets"]]
            x = None if any(p is None for p in parts) else np.concatenate(parts)
        else:
            x = self.expression(expression, t)
        return None if x is None else self._layer(kind, fields, x)

    def _pool(self, expression: Expression, fields: dict[str, Any], t: int) -> np.ndarray | None:
        first = t - fields["LeftContext"]
        step = fields["InputPeriod"]
        first = -(-first // step) * step
        times = range(first, t + fields["RightContext"] + 1, step)
        rows = [x for x in (self.expression(expression, u) for u in times) if x is not None]
        if not rows:
            return None
        total = sum(rows)
        count, sums = total[0], total[1:]
        parts = [[math.log(count)] * fields["NumLogCountFeatures"], sums / count]
        if (len(sums) > 1) and fields["_second"]:
            mean, second = np.split(sums / count, 2)
            if fields["OutputStddevs"]:
                second = np.sqrt(np.maximum(second - mean**2, fields["VarianceFloor"]))
            parts[1:] = [mean, second]
        return np.concatenate(parts)

    def _layer(self, kind: str, fields: dict[str, Any], x: np.ndarray) -> np.ndarray:
        f = {n: np.asarray(v, np.float64) for n, v in fields.items() if isinstance(v, np.ndarray)}
        if kind in ("Affine", "NaturalGradientAffine", "FixedAffine", "Tdnn"):
            y = f["LinearParams"] @ x
            return y + f["BiasParams"] if f["BiasParams"].size else y
        if kind == "Linear":
            return f["Params"] @ x
        if kind == "RectifiedLinear":
            return np.where(x > 0, x, 0)
        if kind == "Sigmoid":
            return 1 / (1 + np.exp(-x))
        if kind == "Tanh":
            return np.tanh(x)
        if kind in ("Softmax", "LogSoftmax"):
            p = np.exp(x - x.max())
            p /= p.sum()
            return p if kind == "Softmax" else np.log(p)
        if kind == "BatchNorm":
            mean, var = (np.tile(f[n], len(x) // len(f[n])) for n in ("StatsMean", "StatsVar"))
            scale = fields["TargetRms"] / np.sqrt(np.maximum(var, 0) + fields["Epsilon"])
            return (x - mean) * scale
        if kind == "Normalize":
            block = fields.get("BlockDim", len(x))
            parts = np.split(x, len(x) // block)
            rms = fields["TargetRms"]
            return np.concatenate(
                [p / math.sqrt(max(np.mean(p * p) / rms**2, 2.0**-66)) for p in parts]
            )
        if kind == "ScaleAndOffset":
            return x * f["Scales"] + f["Offsets"]
        if kind == "Dropout":
            return x * (1 - fields["DropoutProportion"])
        assert kind in ("NoOp", "GeneralDropout")
        return x

    def expression(self, e: Expression, t: int) -> np.ndarray | None:
        """A descriptor, with Append distributed over IfDefined and Failover."""
        parts = [self.term(term, t) for term in distributed(e)]
        return None if any(p is None for p in parts) else np.concatenate(parts)

    def term(self, e: Expression, t: int) -> np.ndarray | None:
        head = e[0]
        if head == "ref":
            return self.node(e[1], t)
        if head == "Offset":
            return self.term(e[1], t + e[2])
        if head == "Round":
            return self.term(e[1], math.floor(t / e[2]) * e[2])
        if head == "ReplaceIndex":
            return self.term(e[1], e[2])
        first = self.term(e[1], t)
        if head == "Scale":
            return None if first is None else first * float(np.float32(e[2]))
        if head == "IfDefined":
            return np.zeros(width(self.net, e)) if first is None else first
        second = self.term(e[2], t)
        if head == "Failover":
            return second if first is None else first
        assert head == "Sum"
        return None if first is None or second is None else first + second


def distributed(e: Expression) -> list[Expression]:
    head, *rest = e
    if head == "ref":
        return [e]
    if head == "Append":
        return [term for part in rest for term in distributed(part)]
    parts = [distributed(part) for part in rest if isinstance(part, tuple)]
    numbers = [x for x in rest if not isinstance(x, tuple)]
    return [(head, *column, *numbers) for column in zip(*parts, strict=True)]


def width(net: Net, e: Expression) -> int:
    """Columns of an expression."""
    head = e[0]
    if head == "Append":
        return sum(width(net, part) for part in e[1:])
    if head != "ref":
        return width(net, e[1])
    return node_width(net, e[1])


def node_width(net: Net, name: str) -> int:
    if name == "input":
        return net.input_dim
    if name in net.ranges:
        return net.ranges[name][2]
    expression, kind, fields = net.nodes[name]
    if kind in ("Affine", "NaturalGradientAffine", "FixedAffine", "Tdnn"):
        return len(fields["LinearParams"])
    if kind == "Linear":
        return len(fields["Params"])
    inner = width(net, expression)
    if kind == "StatisticsExtraction":
        return 1 + inner * (2 if fields["IncludeVarinance"] else 1)
    if kind == "StatisticsPooling":
        return inner - 1 + int(fields["NumLogCountFeatures"])
    return inner


def text_of(e: Expression) -> str:
    head, *rest = e
    if head == "ref":
        return str(rest[0])
    if head == "Scale":
        rest = rest[::-1]
    if head == "ReplaceIndex":
        return f"ReplaceIndex({text_of(rest[0])}, t, {rest[1]})"
    parts = (text_of(p) if isinstance(p, tuple) else f"{p}" for p in rest)
    return f"{head}({', '.join(parts)})"


def write_model(net: Net, *, binary: bool, extra: Mapping[str, Any] | None = None) -> bytes:
    """The model as Kaldi writes it; `extra` are unknown fields for every component."""
    lines = [f"input-node name=input dim={net.input_dim}"]
    for name, (expression, _, _) in net.nodes.items():
        text = text_of(expression)
        lines.append(f"component-node name={name} component={name}.c input={text}")
        for other, (source, offset, dim) in net.ranges.items():
            if source == name:
                lines.append(
                    f"dim-range-node name={other} input-node={name} dim-offset={offset} dim={dim}"
                )
    lines.append(f"output-node name=output input={text_of(net.output)} objective=linear")
    data = (b"\0B" if binary else b"") + b"<Nnet3> \n" + "\n".join(lines).encode() + b"\n\n"
    value = binary_value if binary else text_value
    data += b"<NumComponents> " + value(len(net.nodes))
    for name, (_, kind, fields) in net.nodes.items():
        data += f"<ComponentName> {name}.c <{kind}Component> ".encode()
        for key, content in {**(extra or {}), **fields}.items():
            if not key.startswith("_"):
                data += f"<{key}> ".encode() + value(content)
        data += f"</{kind}Component> ".encode()
    return data + b"</Nnet3> "


def binary_value(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        return b"\4" + struct.pack("<i", value)
    if isinstance(value, float):
        return b"\4" + struct.pack("<f", value)
    if isinstance(value, tuple):
        return b"\4" + struct.pack(f"<i{len(value)}i", len(value), *value)
    sizes = b"".join(b"\4" + struct.pack("<i", size) for size in value.shape)
    return (b"FV ", b"FM ")[value.ndim - 1] + sizes + value.astype("<f4").tobytes()


def text_value(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"T " if value else b"F "
    if isinstance(value, int):
        return b"%d " % value
    if isinstance(value, float):
        return b"%.9g " % value
    if isinstance(value, tuple):
        return b"[ " + b"".join(b"%d " % v for v in value) + b"]\n"
    rows: Sequence[Any] = value if value.ndim == 2 else [value]
    lines = [" ".join(f"{v:.9g}" for v in row) for row in rows]
    if value.ndim == 1:
        return f" [ {lines[0]} ]\n".encode()
    return (" [\n  " + "\n  ".join(lines) + " ]\n").encode()
