#!/usr/bin/env python3
"""How often 95 % intervals of the EER cover the truth, over simulated trees.

    scripts/coverage.py --trees 200 --replicates 1000

Every tree has the demo's kinds of conditions with scores whose population EER is known.
Beside the package's bootstrap over speakers stand the interval for independent trials
(Bengio & Mariethoz) and a bootstrap that resamples trials: both take trials that share
speakers for independent ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from privacy_eval.metrics import TrialScores, kaldi_eer, speaker_bootstrap
from privacy_eval.simulate import ScoreModel, simulate_trials

#: Population EERs: original speech, a lazy-informed and an ignorant attacker.
EERS = (0.05, 0.15, 0.33, 0.48)
METHODS = ("resampling speakers", "resampling trials", "Bengio-Mariethoz")


@dataclass(frozen=True)
class Design:
    """Size of a simulated condition."""

    enrolled: int = 29
    speakers: int = 20
    utterances: int = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nj", type=int, default=2)
    arguments = parser.parse_args()
    rows = []
    for eer in EERS:
        tasks = [
            (eer, arguments.seed + tree, arguments.replicates) for tree in range(arguments.trees)
        ]
        start = time.time()
        with ProcessPoolExecutor(arguments.nj) as pool:
            covered = np.array(list(pool.map(covers, tasks, chunksize=5)))
        rows.append([f"{eer:.2f}", *(f"{100 * share:.1f}" for share in covered.mean(axis=0))])
        if sys.stderr.isatty():
            print(f"EER {eer}: {time.time() - start:.0f} s", file=sys.stderr)
    print(f"{arguments.trees} trees, {arguments.replicates} replicates, {Design()}")
    print(tabulate(rows, headers=["true EER", *(f"{m}, %" for m in METHODS)]))
    return 0


def covers(task: tuple[float, int, int]) -> tuple[bool, ...]:
    """Whether each method's interval covers the true EER of one simulated condition."""
    eer, seed, replicates = task
    design = Design()
    generator = np.random.default_rng([seed, round(1000 * eer)])
    model = ScoreModel.with_eer(eer)
    trials = simulate_trials(
        model,
        enrolled=design.enrolled,
        speakers=design.speakers,
        utterances=design.utterances,
        generator=generator,
    )
    over_speakers = speaker_bootstrap(
        trials,
        statistic=lambda scores: {"eer": kaldi_eer(scores).value},
        replicates=replicates,
        seed=seed,
    ).interval("eer")
    scores = trials.scores
    intervals = (
        (over_speakers.low, over_speakers.high),
        trial_bootstrap(scores, replicates, generator),
        kaldi_eer(scores).interval,
    )
    return tuple(low <= model.eer <= high for low, high in intervals)


def trial_bootstrap(
    scores: TrialScores, replicates: int, generator: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval from resampling the trials of each class."""
    values = [
        kaldi_eer(
            TrialScores(
                generator.choice(scores.target, scores.n_target),
                generator.choice(scores.nontarget, scores.n_nontarget),
            )
        ).value
        for _ in range(replicates)
    ]
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


if __name__ == "__main__":
    sys.exit(main())
