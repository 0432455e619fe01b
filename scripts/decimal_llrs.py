#!/usr/bin/env python3
"""How often scores are taken for decimal log-likelihood ratios: calibrated ones and others.

    scripts/decimal_llrs.py --runs 200

LLRs of d' that gives an EER are normal with the variance d'^2 around +-d'^2/2; three tenths of the
variance belong to speakers. Cosines have a standard deviation within a class, and LLRs of a bad
back end a factor and an offset.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats
from tabulate import tabulate

from privacy_eval.metrics.caveats import DECIMAL, find_caveats, find_ties
from privacy_eval.metrics.trial_scores import TrialScores

Draw = Callable[[np.ndarray, float], np.ndarray]

#: Target and nontarget trials, and speakers of each class.
SIZES = ((20, 200, 10), (50, 450, 10), (100, 2000, 20), (500, 5000, 40))
EERS = (0.02, 0.1, 0.2, 0.3, 0.4)


def cosine(mean: float, deviation: float) -> Draw:
    """Make nontargets of a mean and a standard deviation of LLRs of d'."""
    return lambda llrs, d: mean + deviation * (llrs / d + d / 2)


def linear(factor: float, offset: float) -> Draw:
    """Miscalibrate LLRs."""
    return lambda llrs, d: factor * llrs + offset


#: Scores by what they are.
KINDS: dict[str, Draw] = {
    "decimal LLRs": linear(1 / np.log(10), 0),
    "natural LLRs": linear(1, 0),
    "natural LLRs x 2": linear(2, 0),
    "natural LLRs x 0.7": linear(0.7, 0),
    "natural LLRs x 0.7 - 1": linear(0.7, -1),
    "natural LLRs - 1": linear(1, -1),
    "cosines around 0 +- 0.1": cosine(0, 0.1),
    "cosines around 0.1 +- 0.1": cosine(0.1, 0.1),
    "cosines around 0.7 +- 0.05": cosine(0.7, 0.05),
    "normalized scores (S-norm)": cosine(0, 1),
}


def drawn(
    eer: float, size: tuple[int, int, int], generator: np.random.Generator
) -> Iterator[tuple[np.ndarray, float]]:
    """Draw LLRs of targets, then of nontargets, with d'."""
    d = float(-2 * stats.norm.ppf(eer))
    for trials, sign in ((size[0], 1), (size[1], -1)):
        of_speakers = generator.normal(size=size[2])[generator.integers(size[2], size=trials)]
        own = generator.normal(size=trials)
        yield sign * d**2 / 2 + d * (np.sqrt(0.3) * of_speakers + np.sqrt(0.7) * own), d


def rate(draw: Draw, eer: float, size: tuple[int, int, int], runs: int) -> float:
    """Compute the share of sets of scores with the caveat."""
    generator = np.random.default_rng(0)
    alarms = 0
    for _ in range(runs):
        scores = TrialScores(*(draw(*of_class) for of_class in drawn(eer, size, generator)))
        alarms += DECIMAL in find_caveats(eer, *size[:2], ties=find_ties(scores))
    return alarms / runs


def main() -> None:
    """Print the rates in percent."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    rows = [
        (name, size[0], *(f"{100 * rate(draw, eer, size, runs):.1f}" for eer in EERS))
        for name, draw in KINDS.items()
        for size in SIZES
    ]
    heads = (f"EER {100 * eer:.0f} %" for eer in EERS)
    print(tabulate(rows, ("alarms, % of sets of", "targets", *heads), disable_numparse=True))


if __name__ == "__main__":
    main()
