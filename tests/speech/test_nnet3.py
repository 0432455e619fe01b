"""Networks computed against a slow second implementation, over random small networks."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_nnet3 import Expression, Net, Reference, node_width, width, write_model

from privacy_eval.speech import nnet3
from privacy_eval.speech.nnet3 import Network
from privacy_eval.speech.nnet3_file import read_model

EXTRA = {
    "LearningRate": 0.001,
    "IsGradient": False,
    "UnknownVector": np.float32([1.5, 2.5]),
    "UnknownMatrix": np.float32([[1, 2, 3]]),
    "RankInOut": 20,
    "UnknownList": (-3, 7, 60),
    "Continuous": None,
    "Alpha": 4.0,
}


def network_of(data: bytes, output: str = "output") -> Network:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "final.raw")
        path.write_bytes(data)
        return Network(read_model(path), output)


@st.composite
def nets(draw: st.DrawFn) -> Net:
    """Layers, perhaps statistics and layers after them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    net = Net(draw(st.integers(1, 3)))
    names = ["input"]
    for number in range(draw(st.integers(1, 5))):
        names.append(add_layer(draw, rng, net, names, f"layer{number}"))
    if draw(st.booleans()):
        names = [add_statistics(draw, net, names)]
        if draw(st.booleans()):
            names.append(add_layer(draw, rng, net, names, "tdnn6.affine"))
    net.output = draw(expressions(net, names))
    return net


def add_layer(draw: st.DrawFn, rng: Any, net: Net, names: list[str], name: str) -> str:
    expression = draw(expressions(net, names))
    columns = width(net, expression)
    kind, fields = draw(components(rng, columns))
    net.nodes[name] = (expression, kind, fields)
    actual = node_width(net, name)
    if draw(st.integers(0, 3)) == 0:
        offset = draw(st.integers(0, actual - 1))
        net.ranges[f"{name}-part"] = (name, offset, draw(st.integers(1, actual - offset)))
        return f"{name}-part"
    return name


def add_statistics(draw: st.DrawFn, net: Net, names: list[str]) -> str:
    expression = draw(expressions(net, names))
    columns = width(net, expression)
    step, times = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    variance = draw(st.booleans())
    period = draw(st.sampled_from([step * times, 1, 2]))
    extraction = {
        "InputDim": columns,
        "InputPeriod": step,
        "OutputPeriod": step * times,
        "IncludeVarinance": variance,
    }
    pooling = {
        "InputDim": 1 + columns * (2 if variance else 1),
        "InputPeriod": period,
        "LeftContext": period * draw(st.integers(0, 3)),
        "RightContext": period * draw(st.sampled_from([0, 1, 2, 5000])),
        "NumLogCountFeatures": draw(st.integers(0, 2)),
        "OutputStddevs": variance and draw(st.booleans()),
        "VarianceFloor": 0.01,
        "_second": variance,
    }
    net.nodes["extraction"] = (expression, "StatisticsExtraction", extraction)
    net.nodes["pooling"] = (("ref", "extraction"), "StatisticsPooling", pooling)
    return "pooling"


@st.composite
def expressions(draw: st.DrawFn, net: Net, names: list[str], depth: int = 0) -> Expression:
    e: Expression = ("ref", draw(st.sampled_from(names)))
    if depth >= 3 or draw(st.booleans()):
        return e
    part = draw(expressions(net, names, depth + 1))
    shifted = ("Offset", part, draw(st.integers(-4, 4)))
    number = draw(st.integers(-3, 3))
    return draw(
        st.sampled_from(
            [
                shifted,
                ("Append", shifted, part, e),
                ("Sum", part, shifted),
                ("Sum", part, ("IfDefined", shifted)),
                ("Scale", part, number / 4),
                ("Failover", shifted, part),
                ("Round", part, abs(number) + 1),
                ("ReplaceIndex", part, number),
            ]
        )
    )


@st.composite
def components(draw: st.DrawFn, rng: Any, columns: int) -> tuple[str, dict[str, Any]]:
    def array(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    rows = draw(st.integers(1, 4))
    affine = {"LinearParams": array(rows, columns), "BiasParams": array(rows)}
    offsets = tuple(sorted(draw(st.sets(st.integers(-3, 3), min_size=1, max_size=3))))
    tdnn = {
        "TimeOffsets": offsets,
        "LinearParams": array(rows, columns * len(offsets)),
        "BiasParams": array(rows * draw(st.integers(0, 1))),
    }
    block = draw(st.sampled_from([d for d in (1, 2, columns) if columns % d == 0]))
    dim = {"Dim": columns}
    statistics = {"Count": 12.0, "StatsMean": array(block), "StatsVar": array(block) ** 2}
    batch = {**dim, "BlockDim": block, "Epsilon": 0.001, "TargetRms": 0.5, **statistics}
    batch["TestMode"] = False
    return draw(
        st.sampled_from(
            [
                ("Affine", affine),
                ("NaturalGradientAffine", affine),
                ("FixedAffine", affine),
                ("Linear", {"Params": array(rows, columns)}),
                ("Tdnn", tdnn),
                ("RectifiedLinear", dim),
                ("Sigmoid", dim),
                ("Tanh", dim),
                ("Softmax", dim),
                ("LogSoftmax", dim),
                ("BatchNorm", batch),
                ("Normalize", {"InputDim": columns, "BlockDim": block, "TargetRms": 1.5}),
                ("NoOp", {**dim, "BackpropScale": 1.0}),
                ("Dropout", {**dim, "DropoutProportion": 0.25, "TestMode": False}),
                ("GeneralDropout", {**dim, "BlockDim": columns, "DropoutProportion": 0.5}),
                ("ScaleAndOffset", {**dim, "Scales": array(columns), "Offsets": array(columns)}),
            ]
        )
    )


@settings(max_examples=30, deadline=None)
@given(nets(), st.integers(0, 12), st.booleans(), st.sampled_from([1, 3, 1024]))
def test_random_networks_equal_the_slow_implementation(
    net: Net, frames: int, binary: bool, block: int
) -> None:
    features = np.random.default_rng(frames).standard_normal((frames, net.input_dim))
    features = features.astype(np.float32)
    network = network_of(write_model(net, binary=binary, extra=EXTRA))
    assert network.output_columns == width(net, net.output)
    asked = range(-3, frames + 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nnet3, "BLOCK", block)
        times, values = network.compute(features, asked)
    if not frames:
        assert not len(times)
        return
    reference = Reference(net, features)
    expected = {t: x for t in asked if (x := reference.at(t)) is not None}
    assert times.tolist() == sorted(expected)
    assert values.dtype == np.float32
    for t, row in zip(times.tolist(), values, strict=True):
        scale = 1 + np.abs(expected[t]).max()
        np.testing.assert_allclose(row, expected[t], rtol=2e-3, atol=2e-3 * scale)
