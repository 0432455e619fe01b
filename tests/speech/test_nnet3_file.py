"""What the reader of models refuses, and says of it."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference_nnet3 import Expression, Net, binary_value, write_model

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.speech import nnet3_file
from privacy_eval.speech.nnet3 import Network
from privacy_eval.speech.nnet3_file import parse_descriptor, read_model

INPUT: Expression = ("ref", "input")
WEIGHTS = np.float32([[1, 2], [3, 4], [5, 6]])
BATCH = {
    **{"Dim": 2, "BlockDim": 2, "Epsilon": 0.001, "TargetRms": 1.0, "TestMode": False},
    **{"Count": 5.0, "StatsMean": np.float32([0, 1]), "StatsVar": np.float32([1, 2])},
}
EXTRACTION = {"InputDim": 2, "InputPeriod": 1, "OutputPeriod": 1, "IncludeVarinance": True}
POOLING = {
    **{"InputDim": 5, "InputPeriod": 1, "LeftContext": 0, "RightContext": 10},
    **{"NumLogCountFeatures": 0, "OutputStddevs": True, "VarianceFloor": 1e-10},
}


def net(kind: str, fields: dict[str, Any], expression: Expression = INPUT) -> Net:
    return Net(2, {"one": (expression, kind, fields)}, output=("ref", "one"))


LINEAR = net("Linear", {"Params": WEIGHTS})


def pooled(extraction: dict[str, Any], pooling: dict[str, Any]) -> Net:
    nodes = {
        "ex": (INPUT, "StatisticsExtraction", extraction),
        "one": (("ref", "ex"), "StatisticsPooling", pooling),
    }
    return Net(2, nodes, output=("ref", "one"))


def refuse(folder: Path, data: bytes, message: str) -> str:
    """The error of a model, which names the file."""
    path = folder / "final.raw"
    path.write_bytes(data)
    with pytest.raises(PrivacyEvalError, match=message) as caught:
        Network(read_model(path)).compute(np.zeros((50, 2), "f4"))
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (net("Pnorm", {"InputDim": 2}), r"component one.c \(PnormComponent\): unsupported"),
        (net("BatchNorm", {**BATCH, "Count": 0.0}), r"\(BatchNormComponent\): has no statistics"),
        (net("BatchNorm", {**BATCH, "BlockDim": 1}), "statistics of 2 and 2, expected 1"),
        (net("BatchNorm", {**BATCH, "Dim": 4}), "blocks|expected 4 columns"),
        (net("Affine", {"LinearParams": WEIGHTS.T, "BiasParams": np.zeros(2, "f4")}), "3 columns"),
        (net("Affine", {"LinearParams": WEIGHTS, "BiasParams": np.zeros(2, "f4")}), "bias of 2"),
        (net("Affine", {"BiasParams": np.zeros(2, "f4")}), "no field <LinearParams>"),
        (net("Linear", {"Params": np.float32([[1, np.nan]])}), "NaN"),
        (net("Sigmoid", {"Dim": 3}), "expected 3 columns, its input has 2"),
        (net("Sigmoid", {"Dim": -3}), "<Dim> is -3"),
        (net("Normalize", {"InputDim": 2, "TargetRms": 1.0, "AddLogStddev": True}), "AddLogStddev"),
        (net("Tdnn", {"TimeOffsets": (0, 1), "LinearParams": WEIGHTS}), "2 columns"),
        (net("NoOp", {"Dim": 2}, ("Offset", ("ref", "other"), 1)), "reads other, which is not"),
        (net("NoOp", {"Dim": 2}, ("ref", "one")), "recurrent"),
        (replace(LINEAR, output=("Sum", INPUT, ("ref", "one"))), r"Sum of \[2, 3\] columns"),
        (net("NoOp", {"Dim": 2}, ("Switch", INPUT, INPUT)), r"unsupported: Switch\(\.\.\.\)"),
        (net("NoOp", {"Dim": 2}, ("Const", 1, 2)), r"unsupported: Const\(\.\.\.\)"),
        (net("StatisticsExtraction", EXTRACTION), "statistics extraction"),
        (net("StatisticsPooling", POOLING), "reads something else"),
        (pooled(EXTRACTION, {**POOLING, "InputDim": 4}), r"not \(2, 5\)"),
        (pooled({**EXTRACTION, "OutputPeriod": 0}, POOLING), "<OutputPeriod> is 0"),
        (pooled(EXTRACTION, {**POOLING, "InputPeriod": 3}), "do not fit"),
        (pooled(EXTRACTION, {**POOLING, "LeftContext": -1}), "contexts"),
    ],
)
def test_unsupported_parts_of_models_are_named(
    tmp_path: Path, model: Net, message: str, binary: bool
) -> None:
    refuse(tmp_path, write_model(model, binary=binary), message)


def test_unsupported_component_that_is_not_needed_is_skipped(tmp_path: Path) -> None:
    both = Net(2, {"one": (INPUT, "NoOp", {"Dim": 2}), "two": (INPUT, "Pnorm", {"Dim": 2})})
    both.output = ("ref", "one")
    path = tmp_path / "final.raw"
    for binary in (True, False):
        path.write_bytes(write_model(both, binary=binary))
        _, values = Network(read_model(path)).compute(np.float32([[3, 4]]))
        assert values.tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("component-node name=x component=y", "expected name, component, input"),
        ("component name=x type=NoOpComponent dim=2", "expected input-node, component-node"),
        ("output-node name=out put input=input", "invalid name"),
        ("dim-range-node name=x input-node=input dim-offset=-1 dim=2", "whole numbers"),
        ("output-node name=output input=Offset(input)", "Offset of 1 parts and 0 numbers"),
        ("output-node name=output input=Offset(input, 1.5)", "whole numbers"),
        ("output-node name=output input=Round(input, 0)", "at least 1"),
        ("output-node name=output input=ReplaceIndex(input, x, 0)", "expected t, found 'x'"),
        ("output-node name=output input=Append(input", "expected , or"),
        ("output-node name=output input=Append(input))", "unexpected text"),
        ("output-node name=output input=input; rm", "unexpected ';"),
    ],
)
def test_node_line_that_is_not_understood_is_named(tmp_path: Path, line: str, message: str) -> None:
    config = tmp_path / "extract.config"
    config.write_text(f"# a comment\n\n{line}\n")
    model = tmp_path / "final.raw"
    model.write_bytes(write_model(net("NoOp", {"Dim": 2}), binary=True))
    with pytest.raises(PrivacyEvalError, match=re.escape("extract.config:3") + f".*{message}"):
        read_model(model, config)


@pytest.mark.parametrize(
    ("text", "message"),
    [("x" * (1 << 16) + "x", ":1: longer than"), ("#\n" * 10_001, ":10001: more than")],
)
def test_long_configurations_are_refused(tmp_path: Path, text: str, message: str) -> None:
    config, model = tmp_path / "extract.config", tmp_path / "final.raw"
    config.write_text(text)
    model.write_bytes(write_model(net("NoOp", {"Dim": 2}), binary=True))
    with pytest.raises(PrivacyEvalError, match=f"^{config}{message}"):
        read_model(model, config)


def test_node_lines_are_split_in_linear_time() -> None:
    # A run of n blanks must be one attempt, not n: 60 kB would take half a minute.
    line = "output-node" + " " * 60_000 + "x  name=out \t input=Append(a, b)  dim=3"
    expected = ["output-node" + " " * 60_000 + "x", "name=out", "input=Append(a, b)", "dim=3"]
    assert nnet3_file._KEY.split(line) == expected


def test_configuration_replaces_and_adds_nodes(tmp_path: Path) -> None:
    (tmp_path / "final.raw").write_bytes(write_model(net("NoOp", {"Dim": 2}), binary=True))
    (tmp_path / "extract.config").write_text(
        "dim-range-node name=half input-node=one dim-offset=1 dim=1\n"
        "output-node name=output input=Append(half, Scale(2, one))\n"
    )
    model = read_model(tmp_path / "final.raw", tmp_path / "extract.config")
    _, values = Network(model).compute(np.float32([[3, 4]]))
    assert values.tolist() == [[4, 6, 8]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated"),
        (b"\0B<TransitionModel> ", "expected <Nnet3>"),
        (b"<Nnet3> \ninput-node name=input dim=2\n", "node lines"),
        (
            b"<Nnet3> \ninput-node name=input dim=2\n\n<NumComponents> many ",
            "expected a whole number",
        ),
        (b"<Nnet3> \ninput-node name=input dim=2\n\n<NumComponents> 99999999 ", "expected a word"),
        (b"<Nnet3> \n" + b"input-node name=input dim=2\n" * 2 + b"\n", "duplicate node"),
        (b"<Nnet3> \n" + b"x" * 100_000, "too long"),
    ],
)
def test_another_or_truncated_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    refuse(tmp_path, data, message)


@pytest.mark.parametrize("number", ["0..5", ".", "1_0", "0x1", "nan", "--1", "1e", "\u0661"])
def test_invalid_numbers_are_refused(tmp_path: Path, number: str) -> None:
    data = write_model(net("BatchNorm", BATCH), binary=False)
    for field in ("Epsilon", "Dim"):
        damaged = re.sub(rf"(?<=<{field}> )\S+".encode(), number.encode(), data)
        assert damaged != data
        refuse(tmp_path, damaged, f"<{field}>: expected a .*number, found")


@pytest.mark.parametrize("size", [-1, 4, 2**31 - 1, 1 << 24])
@pytest.mark.parametrize("field", ["LinearParams", "ValueAvg"])
def test_false_sizes_are_refused(tmp_path: Path, size: int, field: str) -> None:
    fields = {"ValueAvg": WEIGHTS, "LinearParams": WEIGHTS, "BiasParams": np.zeros(3, "f4")}
    data = write_model(net("Affine", fields), binary=True)
    start = data.index(f"<{field}> ".encode()) + len(field) + 3
    lie = data[: start + 3] + binary_value(size) + data[start + 8 :]
    refuse(tmp_path, lie, "one.c")


def test_cut_within_a_skipped_field_is_refused(tmp_path: Path) -> None:
    fields = {"Unknown": WEIGHTS, "UnknownVector": np.zeros(3, "f4"), "Dim": 2}
    data = write_model(net("NoOp", fields), binary=True)
    for cut in range(data.index(b"<Unknown>"), data.index(b"<Dim>")):
        refuse(tmp_path, data[:cut], "component one.c")


def test_trailing_content_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path, write_model(net("NoOp", {"Dim": 2}), binary=True) + b"more", "after its end")


def test_long_and_deep_descriptors_are_refused() -> None:
    deep = "Offset(" * 60 + "a" + ", 1)" * 60
    with pytest.raises(PrivacyEvalError, match="nested more than"):
        parse_descriptor(deep, "final.raw")
    with pytest.raises(PrivacyEvalError, match="parts"):
        parse_descriptor(f"Append({', '.join('a' * 2000)})", "final.raw")


def test_endless_statistics_are_refused(tmp_path: Path) -> None:
    """Statistics of zeros that exist at any time, over two thousand million frames."""
    model = pooled(EXTRACTION, {**POOLING, "RightContext": 2**31 - 1})
    model.nodes["ex"] = (("IfDefined", INPUT), "StatisticsExtraction", EXTRACTION)
    refuse(tmp_path, write_model(model, binary=True), "component one.c .* reads 2147483648 frames")


def test_damaged_models_are_refused_or_read_correctly(tmp_path: Path) -> None:
    """Flipped bits and cuts never raise anything else."""
    affine = {"RankIn": 20, "LinearParams": WEIGHTS, "BiasParams": np.zeros(3, "f4")}
    nodes = {
        "a": (("Append", INPUT), "NaturalGradientAffine", affine),
        "b": (("Sum", INPUT, ("IfDefined", ("Offset", INPUT, 3))), "BatchNorm", BATCH),
    }
    model = Net(2, nodes, output=("Append", ("ref", "a"), ("ref", "b")))
    path = tmp_path / "final.raw"
    chance = random.Random(0)
    refused = 0
    for binary in (True, False):
        whole = write_model(model, binary=binary)
        for number in range(400):
            data = bytearray(whole)
            if number % 3:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            else:
                del data[chance.randrange(len(data)) :]
            path.write_bytes(data)
            try:
                Network(read_model(path)).compute(np.ones((9, 2), "f4"))
            except PrivacyEvalError as error:
                assert str(path) in str(error)
                refused += 1
    assert 400 < refused < 800
