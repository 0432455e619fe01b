#!/usr/bin/env python3
"""How often 95 % intervals of the 99 % quantile of the targets' LLR cover the truth.

    scripts/coverage_worst_case.py --runs 100 --replicates 200

Scores of eight worlds, whose likelihood ratio is known, of 20 speakers who all enroll and speak
10 or 50 times. Intervals are those of the bootstrap over speakers; `metrics --worst-case` would
print them at a number of tests where they cover at least 88 % in every world.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from scipy import stats
from tabulate import tabulate

from privacy_eval.metrics.confidence import expanded_interval
from privacy_eval.metrics.pav import PavBlocks
from privacy_eval.metrics.trial_scores import Replicates, TrialScores

SPEAKERS = 20

#: Distributions of target and nontarget scores.
WORLDS: Mapping[str, tuple[Any, Any]] = {
    "no information": (stats.norm(), stats.norm()),
    "Laplace, shift 1": (stats.laplace(1), stats.laplace()),
    "Laplace, shift 2": (stats.laplace(2), stats.laplace()),
    "logistic, shift 2": (stats.logistic(2), stats.logistic()),
    "Student 3, shift 1.5": (stats.t(3, 1.5), stats.t(3)),
    "Gauss, shift 1": (stats.norm(1), stats.norm()),
    "Gauss, targets wider": (stats.norm(0, 2), stats.norm()),
}
#: The eighth world: the share of targets that leak, and by how much.
LEAK = (0.02, 6.0)


def targets_of(world: str, size: int, generator: np.random.Generator) -> np.ndarray:
    """Draw target scores."""
    if world in WORLDS:
        return np.asarray(WORLDS[world][0].rvs(size, random_state=generator))
    return generator.normal(size=size) + LEAK[1] * (generator.random(size) < LEAK[0])


def nontargets_of(world: str, size: int, generator: np.random.Generator) -> np.ndarray:
    """Draw nontarget scores."""
    of_world = WORLDS[world][1] if world in WORLDS else stats.norm()
    return np.asarray(of_world.rvs(size, random_state=generator))


def true_quantile(world: str) -> float:
    """Compute the 99 % quantile of the true LLR of targets."""
    scores = targets_of(world, 1_000_000, np.random.default_rng(9))
    if world in WORLDS:
        target, nontarget = WORLDS[world]
        return float(np.quantile(target.logpdf(scores) - nontarget.logpdf(scores), 0.99))
    share, shift = LEAK
    leaking = stats.norm.logpdf(scores, shift) - stats.norm.logpdf(scores)
    return float(np.quantile(np.logaddexp(np.log1p(-share), np.log(share) + leaking), 0.99))


def quantiles(blocks: PavBlocks) -> np.ndarray:
    """Compute the 99 % quantile of the targets' LLR of each set."""
    ends = np.append(blocks.first[1:], blocks.llr.size)
    return np.array(
        [
            np.quantile(np.repeat(blocks.llr[a:b], blocks.targets[a:b]), 0.99)
            for a, b in zip(blocks.first, ends, strict=True)
        ]
    )


def estimate(task: tuple[str, int, int, int]) -> tuple[float, float, float]:
    """Simulate one set of scores; return the estimate and the ends of its interval."""
    world, tests, seed, replicates = task
    generator = np.random.default_rng([seed, tests, sum(world.encode())])
    spoken = np.arange(tests) % SPEAKERS
    enrolled, trial = np.repeat(np.arange(SPEAKERS), tests), np.tile(spoken, SPEAKERS)
    labels = enrolled == trial
    scores = nontargets_of(world, labels.size, generator)
    scores[labels] = targets_of(world, tests, generator)
    ordered = TrialScores.from_labels(scores, labels)
    order = ordered.in_score_order[2]
    own = np.where(labels, SPEAKERS, trial)[order]
    pairs, pair = np.unique(enrolled[order] * (SPEAKERS + 1) + own, return_inverse=True)
    draws = np.ones((replicates, SPEAKERS + 1), dtype=np.int64)
    for draw in draws:
        drawn = generator.integers(0, SPEAKERS, SPEAKERS)
        draw[:-1] = np.bincount(drawn, minlength=SPEAKERS)
    first, second = np.divmod(pairs, SPEAKERS + 1)
    sample = Replicates(ordered, pair, draws[:, first] * draws[:, second])
    interval = expanded_interval(quantiles(sample.pav_laplace()), SPEAKERS)
    value = quantiles(ordered.pav_laplace())[0]
    return float(value), interval.low, interval.high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--tests", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nj", type=int, default=2)
    a = parser.parse_args()
    rows = []
    run: Callable[..., Any] = estimate
    with ProcessPoolExecutor(a.nj) as pool:
        for world in (*WORLDS, "2 % of targets leak"):
            truth = true_quantile(world)
            row = [world, f"{truth:.2f}"]
            for tests in a.tests:
                tasks = [(world, tests, a.seed + n, a.replicates) for n in range(a.runs)]
                values, low, high = np.array(list(pool.map(run, tasks, chunksize=5))).T
                # A truth of 0 is computed with the last digits of logarithms.
                covered = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
                row += [f"{values.mean():.2f}", f"{100 * covered.mean():.0f}"]
            rows.append(row)
            if sys.stderr.isatty():
                print(f"{world}: done", file=sys.stderr)
    heads = [h for tests in a.tests for h in (f"mean, {tests} tests", "covered, %")]
    print(f"{a.runs} runs, {a.replicates} replicates, {SPEAKERS} speakers")
    print(tabulate(rows, headers=["world", "truth", *heads], disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
