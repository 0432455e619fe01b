"""Neural encoders and front ends: their arithmetic, and two jobs against one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacy_eval.speech.audio import Audio
from privacy_eval.speech.ecapa import Ecapa, Layer
from privacy_eval.speech.ge2e import Ge2e
from privacy_eval.speech.models import cached_files, load_model
from privacy_eval.speech.onnx_encoder import FRONT_ENDS, OnnxSession
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

from .measuring import Costs, Measure, Row, constant, processor, program, run, wall

ROOT = Path(__file__).resolve().parents[2]


def rows(scale: int) -> Iterator[Row]:
    """An encoder of random weights against its products, front ends against real time, ONNX against
    onnxruntime, two jobs against one; models that were not downloaded are named."""
    yield Row("GE2E, 10 s", "products", (3.0,), ge2e)
    yield Row("ECAPA-TDNN of 512 channels, 10 s", "products", (3.0,), ecapa)
    for name in ("wespeaker", "sherpa", "speechbrain"):
        yield Row(f"{name}, 10 s", "real time", (0.002,), partial(front_end, name), checked=False)
    for model, row in (
        ("d-vector", Row("d-vector, 10 s", "onnxruntime", (1.1,), onnx, False, ("onnxruntime",))),
        ("ge2e", jobs_row(max(2, 10 // scale))),
    ):
        if cached_files(model):
            yield row
        else:
            print(f"left out, without a model (privacy-eval get-model {model}): {row.work}")


def ge2e(_: Path) -> tuple[Measure, Measure]:
    """Encode the windows of 10 s."""
    generator = np.random.default_rng(2)
    encoder = random_ge2e(generator)
    mel = generator.random((9, 160, 40), np.float32)
    states = np.zeros((len(mel), 256), np.float32)

    def products() -> None:
        for of_input, of_state, _ in encoder.layers:
            np.zeros((mel[..., 0].size, len(of_input)), np.float32) @ of_input
            for _ in range(mel.shape[1]):
                states @ of_state

    return processor(lambda: encoder.encode_windows(mel)), processor(products)


def random_ge2e(generator: np.random.Generator) -> Ge2e:
    """An encoder of the published size."""

    def weights(*shape: int) -> NDArray[np.float32]:
        return generator.normal(scale=0.05, size=shape).astype(np.float32)

    layers = tuple((weights(d, 1024), weights(256, 1024), weights(1024)) for d in (40, 256, 256))
    return Ge2e("random", "", layers, (weights(256, 256), weights(256)))


def ecapa(_: Path) -> tuple[Measure, Measure]:
    """Encode features of 10 s by a network of the challenge's size."""
    generator, (channels, frames) = np.random.default_rng(2), (512, 1536)
    shapes = {"blocks.0": (5 * 80, channels), "mfa": (3 * channels, frames)}
    for block in ("blocks.1", "blocks.2", "blocks.3"):
        part = (3 * channels // 8, channels // 8)
        shapes |= {f"{block}.{name}": (channels, channels) for name in ("tdnn1", "tdnn2")}
        shapes |= {f"{block}.res2net_block.blocks.{n}": part for n in range(7)}
    of_one = {f"blocks.{n}.se_block.conv1": (channels, 128) for n in (1, 2, 3)}
    of_one |= {f"blocks.{n}.se_block.conv2": (128, channels) for n in (1, 2, 3)}
    of_one["fc"] = (2 * frames, 192)
    shapes |= {"asp.tdnn": (3 * frames, 128), "asp.conv": (128, frames)}
    layers = {}
    for name, (inputs, outputs) in {**shapes, **of_one}.items():
        kernel = generator.normal(scale=inputs**-0.5, size=(inputs, outputs)).astype(np.float32)
        ones = np.ones(outputs, np.float32)
        layers[name] = Layer(kernel, ones, (ones, ones))
    layers["asp_bn"] = Layer(np.ones(2 * frames, np.float32), np.ones(1, np.float32), None)
    encoder = Ecapa("random", "", layers, FRONT_ENDS["speechbrain"])
    features = generator.normal(scale=9, size=(1001, 80)).astype(np.float32)
    lengths = {name: 1 if name in of_one else len(features) for name in (*shapes, *of_one)}
    inputs_of = {
        name: np.ones((length, len(layers[name].kernel)), np.float32)
        for name, length in lengths.items()
    }

    def products() -> None:
        for name, values in inputs_of.items():
            values @ layers[name].kernel

    return processor(lambda: encoder.vector(features)), processor(products)


def front_end(name: str, _: Path) -> tuple[Measure, Measure]:
    """Compute the features of an encoder."""
    samples = np.random.default_rng(2).normal(scale=1000, size=160_000).astype(np.int16)
    return processor(lambda: FRONT_ENDS[name].compute(Audio(samples, 16_000))), constant(10)


def onnx(_: Path) -> tuple[Measure, Measure]:
    """Run the encoder d-vector in its own process, against onnxruntime in this one."""
    import onnxruntime

    content = load_model("d-vector")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    own = onnxruntime.InferenceSession(content, options)
    other = OnnxSession(content, "d-vector")
    windows = np.random.default_rng(2).random((24, 80, 40), np.float32)  # of 10 s
    return wall(lambda: other.run(windows)), wall(
        lambda: own.run(None, {other.input.name: windows})
    )


def jobs_row(utterances: int) -> Row:
    """Compare two jobs with one in stage 5, the x-vectors of a tree by GE2E."""
    work = f"GE2E, sets of 10 speakers, {utterances} utterances of 6 s each, two jobs"
    return Row(work, "one job", (1 / 1.7,), partial(jobs, utterances), checked=False)


def jobs(utterances: int, folder: Path) -> tuple[Measure, Measure]:
    """Make a tree of speech, and extract its x-vectors by so many jobs."""
    speech, tree = folder / "source" / "speech", folder / "tree"
    demo = DemoSpeech(speakers=10, training=2, utterances=utterances, seconds=6.0)
    write_demo_speech(folder / "source", demo)
    given = ("--original", speech, "--utt2spk", f"{speech}_utt2spk", "--encoders", "ge2e-raw")
    run(program("data-dir", *given, "--out", tree))
    runner = ROOT / "scripts" / "run_jobs.sh"
    of_tree = (
        *("--tree", tree, "--results", "exp", "--conf", "protocol.yaml"),
        *("--allow-outside", "--cmd", runner, "--nj"),
    )
    run(program("stage", "anonymize", *of_tree, 2, "--anonymizer", "mcadams"))

    def by(number: int) -> Measure:
        def seconds() -> Costs:
            shutil.rmtree(tree / "exp" / "models", ignore_errors=True)
            return run(program("stage", "xvectors", *of_tree, number))[:1]

        return seconds

    return by(2), by(1)
