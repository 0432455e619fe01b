#!/usr/bin/env python3
"""How often 95 % intervals of singling out cover the truth, over simulated scores.

    scripts/coverage_singling_out.py --trees 80 --replicates 400

The truth is the mean over other simulated trees of the same kind. Voices are stronger or weaker
in the speech, and some speakers may be accepted for many others ("hubs").
"""

from __future__ import annotations

import argparse

import numpy as np
from tabulate import tabulate

from privacy_eval.disclosure.linkage import SinglingOutCurve, singling_out_curve

DIMENSION, TESTS, SIZES = 8, 12, (5, 10)
#: Strength of the voice, and of hubs.
WORLDS = ((0.0, 0.0), (0.3, 0.0), (0.6, 0.0), (1.0, 0.0), (0.6, 1.0), (0.0, 1.0))


def simulated(
    rng: np.random.Generator, speakers: int, world: tuple[float, float], replicates: int
) -> SinglingOutCurve:
    strength, hub = world
    voices = rng.normal(size=(speakers, DIMENSION))
    speaker = np.repeat(np.arange(speakers), TESTS)
    tests = strength * voices[speaker] + rng.normal(size=(speaker.size, DIMENSION))
    accepted = hub * rng.normal(size=speakers)
    scores = voices @ tests.T / np.sqrt(DIMENSION) + accepted[speaker]
    seed = int(rng.integers(2**31))
    drawn = {"draws": 20, "replicates": replicates, "seed": seed}
    return singling_out_curve(scores, speaker, SIZES, **drawn)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=80)
    parser.add_argument("--replicates", type=int, default=400)
    arguments = parser.parse_args()
    rows = []
    for world in WORLDS:
        for speakers in (15, 40):
            rng = np.random.default_rng(1)
            values = [simulated(rng, speakers, world, 0).values for _ in range(150)]
            truth = np.mean(values, axis=0)[: len(SIZES)]
            trees = [
                simulated(rng, speakers, world, arguments.replicates)
                for _ in range(arguments.trees)
            ]
            bounds = np.array([tree.intervals[: len(SIZES)] for tree in trees])
            covered = (bounds[..., 0] <= truth) & (truth <= bounds[..., 1])
            shares = (f"{100 * share:.1f}" for share in covered.mean(axis=0))
            rows.append([*world, speakers, *(f"{100 * t:.1f}" for t in truth), *shares])
    heads = ["voice", "hubs", "speakers", *(f"truth of {n}, %" for n in SIZES)]
    print(tabulate(rows, headers=[*heads, *(f"covered of {n}, %" for n in SIZES)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
