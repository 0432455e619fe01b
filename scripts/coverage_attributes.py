#!/usr/bin/env python3
"""Simulate attribute inference where speakers' vectors are independent of their labels.

Labels are permuted over speakers. Prints the mean UAR, which should be at chance, how often its
interval holds chance, and how often the interval of the risk lies above 0.
"""

from __future__ import annotations

import argparse

import numpy as np

from privacy_eval.disclosure.attributes import infer_attribute

UTTERANCES, DIMENSION = 10, 16


def run(
    speakers: int, first_class: int, replicates: int, generator: np.random.Generator
) -> tuple[float, bool, bool]:
    """Simulate one data set; return the UAR, whether its interval holds chance, and whether the
    risk's lies above 0."""
    own = np.repeat(np.arange(speakers), UTTERANCES)
    labels = generator.permutation(np.where(np.arange(speakers) < first_class, "f", "m"))
    vectors = generator.normal(size=(speakers, DIMENSION))[own]
    vectors = vectors + generator.normal(size=vectors.shape)
    names = [f"s{speaker:03d}" for speaker in own]
    seed = int(generator.integers(1 << 30))
    found = infer_attribute(vectors, labels[own], names, bootstrap=replicates, seed=seed)
    (result,) = found.values()
    low, high = result.interval
    return result.uar, low <= 0.5 <= high, result.risk.low > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    generator = np.random.default_rng(arguments.seed)
    for speakers, first_class in ((10, 5), (20, 10), (20, 5), (40, 20), (60, 30)):
        runs = [
            run(speakers, first_class, arguments.replicates, generator)
            for _ in range(arguments.runs)
        ]
        uar, held, risky = np.array(runs, dtype=np.float64).T
        print(
            f"{speakers} speakers, {first_class} of one class: UAR {uar.mean():.1%} "
            f"(sd {uar.std():.1%}); interval holds chance in {held.mean():.1%}; "
            f"risk above 0 in {risky.mean():.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
