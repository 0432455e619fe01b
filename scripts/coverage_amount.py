#!/usr/bin/env python3
"""How often 95 % intervals of error rates by the amount of speech cover the truth.

The truth is the mean over many simulated sets of other speakers, so also the enrolled ones differ.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from privacy_eval.disclosure.amount import AmountCurve, Tests, amount_curve

ENROLLED, DIMENSION, NOISE = 10, 24, 3.5
LENGTHS = (1, 5, 30)


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale vectors to length 1."""
    lengths: NDArray[np.float64] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths


def simulated(
    generator: np.random.Generator, size: tuple[int, int], replicates: int
) -> AmountCurve:
    """Simulate a set of speakers with some utterances each, and evaluate averaged vectors."""
    speakers, utterances = size
    voices = generator.normal(size=(speakers, 1, DIMENSION))

    def spoken(number: int) -> NDArray[np.float64]:
        return unit(voices + generator.normal(0, NOISE, (speakers, number, DIMENSION)))

    enrolled, tests = unit(spoken(ENROLLED).mean(axis=1)), spoken(utterances)
    scores: dict[int, Tests] = {}
    for length in LENGTHS:
        whole = tests[:, : utterances - utterances % length]
        averaged = unit(whole.reshape(speakers, -1, length, DIMENSION).mean(axis=2))
        own = np.repeat(np.arange(speakers), utterances // length)
        scores[length] = (averaged.reshape(-1, DIMENSION) @ enrolled.T, own)
    seed = int(generator.integers(1 << 30))
    names = [f"s{number:02d}" for number in range(speakers)]
    return amount_curve(scores, names, replicates=replicates, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--speakers", type=int, default=30)
    parser.add_argument("--utterances", type=int, default=60, help="per speaker, 30 or more")
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    generator = np.random.default_rng(arguments.seed)
    size = arguments.speakers, arguments.utterances
    truths = [simulated(generator, size, 0) for _ in range(10 * arguments.trees)]
    curves = [simulated(generator, size, arguments.replicates) for _ in range(arguments.trees)]
    rows = []
    for place, length in enumerate(LENGTHS):
        for name in ("eer", "rank1"):
            truth = float(np.mean([getattr(curve.equal[place], name) for curve in truths]))
            bounds = np.array([getattr(c.equal[place], f"{name}_interval") for c in curves])
            covered = np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
            width = np.mean(bounds[:, 1] - bounds[:, 0])
            rows.append([length, name, f"{truth:.1%}", f"{covered:.1%}", f"{width:.1%}"])
    print(tabulate(rows, ["sentences", "value", "truth", "coverage", "width"]))


if __name__ == "__main__":
    main()
