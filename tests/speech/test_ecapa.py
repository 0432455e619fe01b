"""SpeechBrain's ECAPA-TDNN against SpeechBrain itself, and checkpoints that are refused."""

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from model_support import DATA, MODELS, audio, needs_golden_models
from numpy.typing import NDArray
from support import cli, ok, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import TensorView, read_torch
from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.ecapa import Ecapa, read_ecapa
from privacy_eval.speech.encoders import EncoderChoice
from privacy_eval.speech.onnx_encoder import FRONT_ENDS

ECAPA = DATA / "ecapa"
CHECKPOINT = (ECAPA / "embedding_model.ckpt").read_bytes()
SPEECH = "2033-164914-0004"
#: SpeechBrain computes in float32: 78 dB below the greatest, its rounding moves bands by so much.
ROUNDING = 1.2e-3
Tensors = dict[str, NDArray[np.float32]]


def checkpoint(tensors: Mapping[str, NDArray[np.float32]]) -> bytes:
    """Return a file as torch.save writes a dictionary of tensors of floats."""
    pickle = bytearray(b"\x80\x02}(")
    packed = io.BytesIO()

    def text(word: str) -> bytes:
        return b"X" + struct.pack("<I", len(word.encode())) + word.encode()

    def sizes(numbers: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"J" + struct.pack("<i", n) for n in numbers) + b"t"

    with zipfile.ZipFile(packed, "w") as archive:
        for number, (name, tensor) in enumerate(tensors.items()):
            strides = tuple(s // 4 for s in np.empty(tensor.shape, np.float32).strides)
            pickle += text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(("
            pickle += text("storage") + b"ctorch\nFloatStorage\n" + text(str(number)) + text("cpu")
            pickle += b"J" + struct.pack("<i", tensor.size) + b"tQK\0"
            pickle += sizes(tensor.shape) + sizes(strides) + b"\x89}tR"
            archive.writestr(f"a/data/{number}", np.ascontiguousarray(tensor, "<f4").tobytes())
        archive.writestr("a/data.pkl", bytes(pickle) + b"u.")
    return packed.getvalue()


def tensors_of(content: bytes) -> Tensors:
    file = read_torch(content, "checkpoint")
    return {
        name: np.array(view.array("checkpoint"), np.float32)
        for name, view in file.items()
        if isinstance(view, TensorView) and view.shape
    }


def network(tensors: Mapping[str, NDArray[np.float32]]) -> Ecapa:
    return read_ecapa(checkpoint(tensors), "file")


def speech() -> Audio:
    return audio(ECAPA / f"{SPEECH}.flac")


def test_features_and_vector_are_speechbrains() -> None:
    encoder = read_ecapa(CHECKPOINT, "checkpoint")
    with np.load(ECAPA / "golden.npz", allow_pickle=False) as golden:
        features = encoder.front_end.compute(speech())
        assert features.shape == golden["features"].shape
        assert np.abs(features - golden["features"]).max() < ROUNDING
        for vector in (encoder.vector(golden["features"]), encoder.encode(speech())):
            assert np.abs(vector - golden["vector"]).max() < 1e-5 * np.abs(golden["vector"]).max()


@needs_golden_models
def test_all_golden_utterances() -> None:
    encoder = read_ecapa(CHECKPOINT, "checkpoint")
    with np.load(MODELS / "ecapa" / "golden.npz", allow_pickle=False) as golden:
        utterances = [name.split()[0] for name in golden if name.endswith("vector")]
        assert len(utterances) == 3
        for utterance in utterances:
            (path,) = (MODELS / "speech").rglob(f"{utterance}.flac")
            features = encoder.front_end.compute(audio(path))
            errors = np.abs(features - golden[f"{utterance} features"])
            assert errors.max() < ROUNDING and (errors > 1e-3).mean() < 1e-4
            vector, wanted = encoder.encode(audio(path)), golden[f"{utterance} vector"]
            assert np.abs(vector - wanted).max() < 1e-5 * np.abs(wanted).max()


def slow(tensors: Tensors, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the vector in another way: convolutions by their definition, in float64."""

    def conv(name: str, x: NDArray[np.float64], dilation: int = 1) -> NDArray[np.float64]:
        kernel, bias = tensors[f"{name}.weight"].astype(float), tensors[f"{name}.bias"]
        reach = dilation * (kernel.shape[2] // 2)
        places = range(-reach, len(x) + reach)
        rows = x[[abs(t) if t < len(x) else 2 * len(x) - 2 - t for t in places]]
        return np.array(
            [
                bias + sum(kernel[:, :, k] @ rows[t + k * dilation] for k in range(kernel.shape[2]))
                for t in range(len(x))
            ]
        )

    def norm(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        mean, variance = tensors[f"{name}.running_mean"], tensors[f"{name}.running_var"]
        scaled = (x - mean) / np.sqrt(variance + 1e-5)
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def tdnn(name: str, x: NDArray[np.float64], dilation: int = 1) -> NDArray[np.float64]:
        return norm(f"{name}.norm.norm", np.maximum(conv(f"{name}.conv.conv", x, dilation), 0))

    x, blocks = tdnn("blocks.0", features), []
    for number, dilation in ((1, 2), (2, 3), (3, 4)):
        name, past = f"blocks.{number}", x
        if f"{name}.shortcut.conv.weight" in tensors:
            past = conv(f"{name}.shortcut.conv", x)
        x = tdnn(f"{name}.tdnn1", x)
        names = {key.split(".")[4] for key in tensors if key.startswith(f"{name}.res2net_block.")}
        parts = np.split(x, len(names) + 1, axis=1)
        done = [parts[0]]
        for index, part in enumerate(parts[1:]):
            added = part + done[-1] if index else part
            done.append(tdnn(f"{name}.res2net_block.blocks.{index}", added, dilation))
        x = tdnn(f"{name}.tdnn2", np.hstack(done))
        squeezed = np.maximum(conv(f"{name}.se_block.conv1.conv", x.mean(0)[None]), 0)
        x = x / (1 + np.exp(-conv(f"{name}.se_block.conv2.conv", squeezed))) + past
        blocks.append(x)
    x = tdnn("mfa", np.hstack(blocks))
    seen = x
    if tensors["asp.tdnn.conv.conv.weight"].shape[1] > x.shape[1]:
        whole = np.concatenate([x.mean(0), np.sqrt(x.var(0).clip(1e-12))])
        seen = np.hstack([x, [whole] * len(x)])
    logits = conv("asp.conv.conv", np.tanh(tdnn("asp.tdnn", seen)))
    weights = np.exp(logits) / np.exp(logits).sum(0)
    mean = (weights * x).sum(0)
    deviation = np.sqrt((weights * (x - mean) ** 2).sum(0).clip(1e-12))
    pooled = norm("asp_bn.norm", np.concatenate([mean, deviation]))
    return conv("fc.conv", pooled[None])[0]


def drawn(
    seed: int,
    channels: tuple[int, ...] = (8, 8, 8, 8),
    *,
    bands: int = 6,
    scale: int = 4,
    whole: bool = True,
) -> Tensors:
    """Draw the tensors of a small network."""
    generator, tensors = np.random.default_rng(seed), Tensors()

    def conv(name: str, outputs: int, inputs: int, taps: int = 1) -> None:
        deviation = (inputs * taps) ** -0.5
        tensors[f"{name}.weight"] = generator.normal(0, deviation, (outputs, inputs, taps))
        tensors[f"{name}.bias"] = generator.normal(0, 0.1, outputs)

    def norm(name: str, size: int) -> None:
        for part, low, high in (
            *(("weight", 0.5, 1.5), ("bias", -0.3, 0.3)),
            *(("running_mean", -0.3, 0.3), ("running_var", 0.5, 2)),
        ):
            tensors[f"{name}.{part}"] = generator.uniform(low, high, size)

    def tdnn(name: str, outputs: int, inputs: int, taps: int = 1) -> None:
        conv(f"{name}.conv.conv", outputs, inputs, taps)
        norm(f"{name}.norm.norm", outputs)

    tdnn("blocks.0", channels[0], bands, 5)
    for number, (inputs, size) in enumerate(zip(channels, channels[1:], strict=False), 1):
        name = f"blocks.{number}"
        tdnn(f"{name}.tdnn1", size, inputs)
        for index in range(scale - 1):
            tdnn(f"{name}.res2net_block.blocks.{index}", size // scale, size // scale, 3)
        tdnn(f"{name}.tdnn2", size, size)
        conv(f"{name}.se_block.conv1.conv", 5, size)
        conv(f"{name}.se_block.conv2.conv", size, 5)
        if inputs != size:
            conv(f"{name}.shortcut.conv", size, inputs)
    tdnn("mfa", 12, sum(channels[1:]))
    tdnn("asp.tdnn", 7, 36 if whole else 12)
    conv("asp.conv.conv", 12, 7)
    norm("asp_bn.norm", 24)
    conv("fc.conv", 10, 24)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    "tensors",
    [
        drawn(1),
        drawn(2, (8, 16, 8, 24), bands=40),
        drawn(3, scale=8),
        drawn(4, whole=False),
        {f"module.{name}": tensor for name, tensor in drawn(5).items()},
    ],
    ids=["small", "other widths", "eight parts", "without the whole utterance", "parallel"],
)
@pytest.mark.parametrize("length", [5, 30])
def test_networks_of_other_shapes(tensors: Tensors, length: int) -> None:
    encoder = network(tensors)
    features = np.random.default_rng(length).normal(0, 5, (length, encoder.front_end.bins))
    vector = encoder.vector(features.astype(np.float32))
    wanted = slow({n.removeprefix("module."): t for n, t in tensors.items()}, features)
    assert vector == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_shortest_speech() -> None:
    encoder, samples = read_ecapa(CHECKPOINT, "checkpoint"), speech().samples
    assert encoder.encode(Audio(samples[20000:20640], 16000)).shape == (48,)
    with pytest.raises(PrivacyEvalError, match="too short, 4 frames of at least 5"):
        encoder.encode(Audio(samples[20000:20639], 16000))
    with pytest.raises(PrivacyEvalError, match="no speech"):
        encoder.encode(Audio(np.zeros(16000, np.float32), 16000))


ONE = np.zeros(1)


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("found a ResNet", {"blocks.0.conv.conv.weight": None, "conv1.weight": ONE}),
        ("found an x-vector", {"blocks.0.conv.conv.weight": None, "blocks.0.conv.weight": ONE}),
        ("tensors of other names", {"blocks.0.conv.conv.weight": None}),
        ("1024 values per frame", {"blocks.0.conv.conv.weight": np.zeros((8, 1024, 5))}),
        ("2 dimensions, not 3", {"blocks.0.conv.conv.weight": np.zeros((8, 6))}),
        ("an odd number", {"blocks.0.conv.conv.weight": np.zeros((8, 6, 4))}),
        ("no tensor mfa.conv.conv.bias", {"mfa.conv.conv.bias": None}),
        (r"\(9,\), expected \(10,\)", {"fc.conv.bias": np.zeros(9)}),
        ("not finite", {"asp_bn.norm.bias": np.full(24, np.nan)}),
        ("negative", {"mfa.norm.norm.running_var": np.full(12, -1.0)}),
        ("not 3 equal parts", {"blocks.2.res2net_block.blocks.2.conv.conv.weight": None}),
        ("no tensors blocks.4.tdnn1", {"blocks.4.tdnn1.conv.conv.weight": np.zeros((8, 8, 1))}),
        (r"expected \(7, 12", {"asp.tdnn.conv.conv.weight": np.zeros((7, 24, 1))}),
    ],
)
def test_other_networks_are_refused(
    message: str, changed: Mapping[str, NDArray[np.float64] | None]
) -> None:
    tensors = {n: t for n, t in {**drawn(1), **changed}.items() if t is not None}
    with pytest.raises(PrivacyEvalError, match=f"^file: .*{message}"):
        network(tensors)


def test_overflow_is_an_error() -> None:
    tensors = drawn(1)
    tensors["fc.conv.weight"] += np.float32(3e38)
    with pytest.raises(PrivacyEvalError, match="not finite"):
        network(tensors).vector(np.ones((9, 6), np.float32))


@pytest.mark.parametrize("cut", [100, 20000, len(CHECKPOINT) - 1])
def test_truncated_checkpoints_are_refused(cut: int) -> None:
    with pytest.raises(PrivacyEvalError, match=r"^file: (damaged|not a file of torch\.save)"):
        read_ecapa(CHECKPOINT[:cut], "file")


def test_pickled_code_is_never_run(capfd: pytest.CaptureFixture[str]) -> None:
    for path in (DATA / "ge2e").glob("bad_*.pt"):
        with pytest.raises(PrivacyEvalError, match="^file: "):
            read_ecapa(path.read_bytes(), "file")
    assert "MUST-NOT-BE-PRINTED" not in capfd.readouterr().out


def test_the_verb(tmp_path: Path) -> None:
    (tmp_path / "wav.scp").write_text(f"{SPEECH} {ECAPA / f'{SPEECH}.flac'}\n")
    (tmp_path / "utt2spk").write_text(f"{SPEECH} 2033\n")
    data = ("--data", tmp_path, "--allow-outside")
    for more in ((), ("--front-end", "speechbrain")):
        out = tmp_path / f"out{len(more)}"
        ok(cli("xvectors", "--encoder", ECAPA / "embedding_model.ckpt", *more, *data, "--out", out))
        vectors = read_vectors(out / "xvector.scp")
        with np.load(ECAPA / "golden.npz", allow_pickle=False) as golden:
            errors = np.abs(vectors.matrix[0] - golden["vector"])
            assert errors.max() < 1e-5 * np.abs(golden["vector"]).max()
    crops = ("--crop", "1.5", "--out", tmp_path / "crops")
    ok(cli("xvectors", "--encoder", ECAPA / "embedding_model.ckpt", *data, *crops))
    assert len(read_vectors(tmp_path / "crops" / "xvector.scp").ids) == 2
    (tmp_path / "other.ckpt").write_bytes(b"PK\3\4")
    encoder = ("--encoder", tmp_path / "other.ckpt", "--out", tmp_path / "none")
    refused(cli("xvectors", *encoder, *data), "other.ckpt: ")


def test_identity_names_file_and_front_end() -> None:
    path = str(ECAPA / "embedding_model.ckpt")
    plain, named = EncoderChoice(path), EncoderChoice(path, "speechbrain")
    assert plain.identity("1") == named.identity("1") != EncoderChoice("x.onnx").identity("1")
    assert plain.options == named.options and json.dumps(plain.options)
    assert FRONT_ENDS["speechbrain"].mean
    with pytest.raises(PrivacyEvalError, match="not wespeaker"):
        EncoderChoice(path, "wespeaker")
