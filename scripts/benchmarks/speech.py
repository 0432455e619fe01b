"""Speech: features, McAdams anonymization and x-vectors of utterances of 10 s, on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from privacy_eval.speech.features import mfcc, sliding_cmvn, voice_activity
from privacy_eval.speech.mcadams import convert, to_int16
from privacy_eval.speech.nnet3 import Network
from privacy_eval.speech.nnet3_file import Component, ModelFile, Node, parse_descriptor
from privacy_eval.speech.xvector import Extractor

from .measuring import Measure, Row, constant, processor


def rows(scale: int) -> Iterator[Row]:
    """Features and anonymization against real time; networks against their products. Kaldi's
    arithmetic alone takes 0.008 of real time, all of it 0.024."""
    number = 60 // scale
    for name, work, goal in (
        ("MFCC, VAD, CMVN", features, 0.002),
        ("McAdams", lambda samples: to_int16(convert(samples, 16_000)), 0.02),
    ):
        prepare = partial(utterances, work, number)
        yield Row(f"{name}, {10 * number} s", "real time", (goal,), prepare, checked=False)
    for name, goal in (("network", 1.2), ("samples to x-vector", 1.5)):
        prepare = partial(network, name == "network", number)
        yield Row(f"full-size {name}, {10 * number} s", "products", (goal,), prepare, checked=False)


def utterance() -> NDArray[np.int16]:
    """Synthesize 10 s of a voice."""
    pulses = (np.arange(160_000) % 130 < 2) * 8000.0
    voice = scipy.signal.lfilter([1.0], [1.0, -1.6, 0.8], pulses)
    noise = np.random.default_rng(0).normal(scale=30, size=voice.size)
    return np.asarray(voice + noise, dtype=np.int16)


def features(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    """Compute normalized features of voiced frames."""
    frames = mfcc(samples)
    return sliding_cmvn(frames)[voice_activity(frames)]


def utterances(
    work: Callable[[NDArray[np.int16]], object], number: int, _: Path
) -> tuple[Measure, Measure]:
    """Do some work on utterances of 10 s against their duration."""
    samples = utterance()
    return processor(lambda: [work(samples) for _ in range(number)]), constant(10.0 * number)


def network(from_features: bool, number: int, _: Path) -> tuple[Measure, Measure]:
    """Extract x-vectors by a full-size network, from features or from samples, against the matrix
    products alone, of the frames that each layer computes."""
    generator, samples = np.random.default_rng(0), utterance()
    extractor, voiced = Extractor(full_size_network(generator)), features(samples)
    products = [
        (
            generator.standard_normal((len(voiced) - context, columns), dtype=np.float32),
            generator.standard_normal((columns, rows), dtype=np.float32),
        )
        for context, columns, rows in ((4, 150, 512), (8, 1536, 512), (14, 1536, 512))
        + ((14, 512, 512), (14, 512, 1500))
    ]

    def extract() -> object:
        if from_features:
            return extractor.extract(voiced)
        return extractor.extract(features(samples))

    return (
        processor(lambda: [extract() for _ in range(number)]),
        processor(lambda: [x @ y for _ in range(number) for x, y in products]),
    )


def full_size_network(generator: np.random.Generator) -> Network:
    """30 -> 512 x 4 -> 1500 -> statistics -> 512, with random weights."""
    path = Path("full-size network")
    nodes = {"input": Node("input-node", "input", dim=30)}
    components: dict[str, Component] = {}

    def add(name: str, kind: str, reads: str, **fields: object) -> None:
        terms = parse_descriptor(reads, name)
        nodes[name] = Node("component-node", name, terms, component=name)
        components[name] = Component(f"{kind}Component", name, fields)

    def affine(name: str, reads: str, columns: int, rows: int) -> None:
        weights = generator.standard_normal((rows, columns), dtype=np.float32) / columns**0.5
        bias = np.zeros(rows, dtype=np.float32)
        add(name, "Affine", reads, LinearParams=weights, BiasParams=bias)

    before, dim = "input", 30
    for layer, (offsets, rows) in enumerate(
        [((-2, -1, 0, 1, 2), 512), ((-2, 0, 2), 512), ((-3, 0, 3), 512), ((0,), 512), ((0,), 1500)]
    ):
        reads = ", ".join(f"Offset({before}, {k})" for k in offsets)
        affine(f"affine{layer}", f"Append({reads})", dim * len(offsets), rows)
        add(f"relu{layer}", "RectifiedLinear", f"affine{layer}", Dim=rows)
        zeros, ones = np.zeros(rows, dtype=np.float32), np.ones(rows, dtype=np.float32)
        batch = {"Dim": rows, "Epsilon": 1e-3, "TargetRms": 1.0, "Count": 1.0}
        statistics = {"StatsMean": zeros, "StatsVar": ones}
        add(f"norm{layer}", "BatchNorm", f"relu{layer}", **batch, **statistics)
        before, dim = f"norm{layer}", rows
    periods = {"InputPeriod": 1, "OutputPeriod": 1}
    extraction = {"InputDim": 1500, "IncludeVarinance": True}
    add("extraction", "StatisticsExtraction", before, **periods, **extraction)
    pooling = {"InputDim": 3001, "InputPeriod": 1, "LeftContext": 0, "RightContext": 10000}
    shape = {"NumLogCountFeatures": 0, "OutputStddevs": True}
    add("pooling", "StatisticsPooling", "extraction", **pooling, **shape)
    affine("output", "pooling", 3000, 512)
    return Network(ModelFile(path, nodes, components))
