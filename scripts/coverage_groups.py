#!/usr/bin/env python3
"""How often the test of groups flags one where none differs, and where one does.

    scripts/coverage_groups.py --trees 200 --replicates 99

Four groups of 18, 12, 6 and 4 speakers who all enroll and speak three times. In the first three
worlds no group differs: without effects, with nearer impostors in every group, and with stronger
speaker effects. In the others the targets of one group score lower.

    scripts/coverage_groups.py --rates --trees 300 --replicates 300

How often the interval of a group's word error rate, and of its identification rate in a gallery of
ten, holds the truth, by the number of speakers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from tabulate import tabulate

from privacy_eval.disclosure.groups import max_t_test
from privacy_eval.disclosure.identification import identified, ranked
from privacy_eval.metrics.strata import grouped
from privacy_eval.metrics.trials import Ids, Trials
from privacy_eval.metrics.utility import SpeakerSums

SIZES, UTTERANCES, LEVEL = (18, 12, 6, 4), 3, 0.05
#: Tests of each speaker, and enrolled speakers, of identification.
TESTS, GALLERY = 15, 10

#: By world: how much nearer same-group impostors are, standard deviation of speaker effects, group
#: that differs, and the shift of its targets.
WORLDS: Mapping[str, tuple[float, float, int, float]] = {
    "no effect": (0.0, 0.5, -1, 0.0),
    "near impostors in every group": (0.8, 0.5, -1, 0.0),
    "speaker effects twice as strong": (0.0, 1.0, -1, 0.0),
    "6 of 40 speakers, targets -1.0": (0.0, 0.5, 2, -1.0),
    "12 of 40 speakers, targets -1.0": (0.0, 0.5, 1, -1.0),
    "12 of 40 speakers, targets -1.5": (0.0, 0.5, 1, -1.5),
}


def flagged(task: tuple[str, int, int]) -> tuple[bool, bool]:
    """Simulate a tree; tell whether any group is flagged, and whether the one that differs is."""
    world, seed, replicates = task
    near, spread, different, shift = WORLDS[world]
    generator = np.random.default_rng([seed, list(WORLDS).index(world)])
    group = np.repeat(np.arange(len(SIZES)), SIZES)
    n = group.size
    enrolled, trial = np.repeat(np.arange(n), n * UTTERANCES), np.tile(np.arange(n), n * UTTERANCES)
    is_target = enrolled == trial
    scores = generator.normal(size=is_target.size) + generator.normal(0, 0.3, n)[enrolled]
    scores += near * (~is_target & (group[enrolled] == group[trial]))
    own = 2 + generator.normal(0, spread, n) + shift * (group == different)
    scores[is_target] += own[trial[is_target]]
    names = [f"s{i:02d}" for i in range(n)]
    trials = Trials(
        score=scores,
        label=is_target,
        enrolled_speaker=Ids(enrolled, names),
        trial_speaker=Ids(trial, names),
    )
    group_of = {name: f"g{g}" for name, g in zip(names, group, strict=True)}
    tests = max_t_test(grouped(trials, group_of), replicates=replicates, seed=seed)
    p = {name: 1.0 if test is None else test.p_value for name, test in tests.items()}
    return min(p.values()) <= LEVEL, p.get(f"g{different}", 1.0) <= LEVEL


def covers(task: tuple[int, int, int]) -> tuple[bool, bool]:
    """Simulate a group of speakers whose rates differ; tell whether the intervals of its word error
    rate and of its identification rate hold the rates of all such speakers."""
    n, seed, replicates = task
    generator = np.random.default_rng([seed, n])
    names = tuple(f"{seed}-{i}" for i in range(n))
    words = generator.integers(300, 700, n)
    errors = generator.binomial(words, generator.beta(8, 150, n))
    sums = SpeakerSums(names, tuple(words.tolist()), tuple(errors.tolist()), replicates, seed)
    drawn = sums.bootstrap().interval("rate")
    found = generator.random((n, TESTS)) < generator.beta(2, 3, n)[:, None]
    beaten = 3 * (~found).ravel().astype(np.int64)
    counts, speaker = np.array([beaten, 0 * beaten]), np.repeat(np.arange(n), TESTS)
    attack = identified(ranked(names, speaker, counts, GALLERY), (GALLERY,))
    (of_linkage,) = attack.intervals(replicates, seed)
    return drawn.low <= 8 / 158 <= drawn.high, of_linkage.low <= 2 / 5 <= of_linkage.high


def print_coverage(a: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Print how often intervals of groups of several sizes hold the truth."""
    rows = []
    for n in (2, 4, 6, 10, 20):
        tasks = [(n, a.seed + tree, a.replicates) for tree in range(a.trees)]
        shares = np.array(list(pool.map(covers, tasks, chunksize=5))).mean(axis=0)
        rows.append((n, *(f"{100 * share:.1f}" for share in shares)))
    print(f"{a.trees} groups, {a.replicates} replicates: intervals that hold the truth")
    heads = ("speakers", "word error rate, %", f"found among {GALLERY}, %")
    print(tabulate(rows, headers=heads, disable_numparse=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=99)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nj", type=int, default=2)
    parser.add_argument("--rates", action="store_true")
    a = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(a.nj) as pool:
        if a.rates:
            print_coverage(a, pool)
            return 0
        for world in WORLDS:
            tasks = [(world, a.seed + tree, a.replicates) for tree in range(a.trees)]
            either, own = np.array(list(pool.map(flagged, tasks, chunksize=5))).mean(axis=0)
            error = 100 * np.sqrt(either * (1 - either) / a.trees)
            cells = (f"{100 * either:.1f}", f"{error:.1f}", f"{100 * own:.1f}")
            rows.append((world, *cells))
    print(f"{a.trees} trees, {a.replicates} replicates, groups of {SIZES}, level {LEVEL}")
    heads = ("world", "any group flagged, %", "standard error", "the one that differs, %")
    print(tabulate(rows, headers=heads, disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
