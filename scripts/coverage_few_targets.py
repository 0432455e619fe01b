#!/usr/bin/env python3
"""How far metrics of few target trials are from the truth.

    scripts/coverage_few_targets.py --runs 1000

Scores of targets and nontargets are normal with equal deviations, so that the EER, the linkability
and the information in the scores are known. The first table is of the linkability D_sys in both
variants, the second of other metrics.

    scripts/coverage_few_targets.py --eer --runs 4000

How far an EER by chance spreads, by the numbers of trials of both classes: scores of targets and
nontargets are of one distribution, whose EER is 50 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats
from tabulate import tabulate

from privacy_eval.metrics import VARIANTS, TrialScores, bengio_mariethoz_interval, score_metrics
from privacy_eval.metrics.caveats import IMPLAUSIBLE_EER

EERS = (0.032, 0.2)
TARGETS, NONTARGETS = (10, 15, 20, 30, 50, 100, 200, 500), (200, 2000, 20_000)
#: Numbers of target and nontarget trials of the spread by chance.
COUNTS = (1, 2, 5, 8, 9, 10, 12, 15, 20, 30, 64)
MANY = 20_000
#: Metrics beside linkability, variant exact.
OTHERS = ("eer", "cllr", "cllr_min", "zebra_population", "zebra_individual")
Array = NDArray[np.float64]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eer", action="store_true", help="only the spread of the EER by chance")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nj", type=int, default=2)
    arguments = parser.parse_args()
    for rows in (spread(arguments),) if arguments.eer else tables(arguments):
        print(f"{arguments.runs} runs")
        print(tabulate(rows, headers="firstrow", disable_numparse=True), end="\n\n")
    return 0


def shift_of(eer: float) -> float:
    """Compute by how many deviations the targets' mean is above the nontargets'."""
    return float(-2 * stats.norm.ppf(eer))


def truths(shift: float) -> dict[str, float]:
    """Integrate over the densities of the LLR, which is normal with mean and -mean and variance
    2 * mean: linkability (of equal priors), Cllr and expected disclosure."""
    llr = stats.norm(shift**2 / 2, shift)

    def expected(function: Callable[[float], float]) -> float:
        ends = llr.ppf([1e-14, 1 - 1e-14])
        value, _ = integrate.quad(lambda x: llr.pdf(x) * function(x), *ends, limit=500)
        return float(value)

    cllr = expected(lambda x: np.logaddexp(0, -x)) / np.log(2)  # symmetrical: of both classes
    return {
        "linkability": expected(lambda x: max(0.0, np.tanh(x / 2))),
        "eer": float(stats.norm.cdf(-shift / 2)),
        "cllr": cllr,
        "cllr_min": cllr,
        "zebra_population": _population(shift),
    }


def _population(shift: float) -> float:
    """Integrate, over the prior of a target, the entropy that the scores take away."""
    llr = stats.norm(shift**2 / 2, shift)
    x = np.linspace(*llr.ppf([1e-12, 1 - 1e-12]), 4001)
    weight = llr.pdf(x)

    def gain(prior: float) -> float:
        log_odds = np.log(prior / (1 - prior))
        own = [integrate.simpson(weight * np.logaddexp(0, -x - s * log_odds), x=x) for s in (1, -1)]
        left = (prior * own[0] + (1 - prior) * own[1]) / np.log(2)
        return float(stats.entropy([prior, 1 - prior], base=2) - left)

    return float(integrate.quad(gain, 0, 1)[0])


def draw(task: tuple[float, int, int, int, int]) -> Array:
    """Simulate sets of scores; return linkability in both variants and the other metrics, shape
    (runs, metrics)."""
    eer, targets, nontargets, seed, runs = task
    generator = np.random.default_rng([seed, targets, nontargets, round(1000 * eer)])
    shift, rows = shift_of(eer), []
    for _ in range(runs):
        # Log-likelihood ratios, as Cllr expects them.
        target, nontarget = (
            (shift or 1.0) * (generator.normal(size=size) + sign * shift / 2)
            for size, sign in ((targets, 1), (nontargets, -1))
        )
        scores = TrialScores(target, nontarget)
        values = [score_metrics(scores, variant=variant) for variant in VARIANTS]
        exact = values[VARIANTS.index("exact")]
        rows.append([*(v["linkability"] for v in values), *(exact[key] for key in OTHERS)])
    return np.array(rows)


def tables(arguments: argparse.Namespace) -> Iterator[list[list[str]]]:
    """Yield, by EER, the tables of linkability and of the other metrics."""
    for eer in EERS:
        truth = truths(shift_of(eer))
        print(f"EER {100 * eer:.1f} %: " + ", ".join(f"{k} {v:.3f}" for k, v in truth.items()))
        tasks = [(eer, t, n, arguments.seed, arguments.runs) for n in NONTARGETS for t in TARGETS]
        with ProcessPoolExecutor(arguments.nj) as pool:
            drawn = list(pool.map(draw, tasks))
        names = [f"linkability {v}" for v in VARIANTS]
        heads = [f"{n} {what}" for n in names for what in ("mean", "bias", "RMS error")]
        rows = [["targets", "nontargets", *heads]]
        others = [["targets", "nontargets", *(f"{key} mean" for key in OTHERS)]]
        for (_, t, n, *_), values in zip(tasks, drawn, strict=True):
            cells = [str(t), str(n)]
            for column in values[:, :2].T:
                error = column - truth["linkability"]
                rms = np.sqrt(np.mean(error**2))
                cells += [f"{column.mean():.2f}", f"{error.mean():+.2f}", f"{rms:.2f}"]
            rows.append(cells)
            others.append([str(t), str(n), *(f"{m:.3f}" for m in values[:, 2:].mean(axis=0))])
        yield rows
        yield others


def spread(arguments: argparse.Namespace) -> list[list[str]]:
    """Tabulate how EERs by chance spread, and how often they reach far from 50 %."""
    counts = [(few, MANY) for few in COUNTS] + [(MANY, few) for few in COUNTS]
    counts += [(few, few) for few in COUNTS]
    tasks = [(0.5, t, n, arguments.seed, arguments.runs) for t, n in counts]
    with ProcessPoolExecutor(arguments.nj) as pool:
        drawn = [values[:, 2] for values in pool.map(draw, tasks)]
    far = IMPLAUSIBLE_EER - 0.5
    beyond = f"over {100 * far:.0f} points off, %"
    heads = ["targets", "nontargets", "2.5 % quantile", "97.5 % quantile", beyond, "by formula"]
    rows = [heads]
    for (t, n), eers in zip(counts, drawn, strict=True):
        ends = 100 * np.quantile(eers, [0.025, 0.975], method="inverted_cdf")
        half = 100 * (bengio_mariethoz_interval(0.5, t, n)[1] - 0.5)
        share = 100 * np.mean(np.abs(eers - 0.5) > far + 1e-9)
        cells = [f"{ends[0]:.1f}", f"{ends[1]:.1f}", f"{share:.1f}", f"50 +- {half:.1f}"]
        rows.append([str(t), str(n), *cells])
    return rows


if __name__ == "__main__":
    sys.exit(main())
