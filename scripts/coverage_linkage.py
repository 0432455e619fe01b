#!/usr/bin/env python3
"""How often 95 % intervals of closed-set linkage cover the truth, over simulated x-vectors.

    scripts/coverage_linkage.py --trees 400 --replicates 400

The estimand is that of the package: this gallery, new test speakers and utterances; it is
computed from many new speakers against the gallery of each tree. Beside the package's intervals,
which draw test speakers, stand two naive ones: of drawing the gallery, too (a speaker drawn twice
is one voice twice: the gallery becomes smaller in effect), and of drawing tests as if they were
independent.

    scripts/coverage_linkage.py --rates --trees 2000 --replicates 400

How often the interval of a rate near 100 % covers the truth. The rates of speakers are of beta
distributions. Where every test succeeds, no draw of speakers differs: the package's interval is
Wilson's of the number of speakers, beside which stands that of the number of tests.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from privacy_eval.asv.backend import score_matrix
from privacy_eval.disclosure.identification import identified, ranked
from privacy_eval.disclosure.linkage import beaters, linkage_of_beaters, rate_interval
from privacy_eval.metrics.confidence import expanded_interval
from privacy_eval.simulate import VectorModel

SPEAKERS, TESTS, ENROLLED, NEW = 40, 10, 5, 400
SIZES = (2, 5, SPEAKERS // 2)
#: Deviations of utterances from their speaker's voice.
DIFFICULTIES = {"easy": 1.5, "hard": 4.0}
METHODS = ("test speakers", "both sides", "tests")
#: Mean rates of speakers, sums of both parameters of the beta distribution (small: unequal
#: speakers), speakers and tests of each.
MEANS, SUMS, DESIGNS = (
    (0.8, 0.9, 0.95, 0.99),
    (0.5, 3.0, 30.0),
    ((10, 3), (10, 12), (30, 3), (30, 12)),
)
Array = NDArray[np.float64]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", action="store_true", help="only rates near 100 %")
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nj", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.rates:
        return print_rates(arguments)
    rows = []
    for difficulty in DIFFICULTIES:
        tasks = [
            (difficulty, arguments.seed + i, arguments.replicates) for i in range(arguments.trees)
        ]
        with ProcessPoolExecutor(arguments.nj) as pool:
            outcomes = list(pool.map(one_tree, tasks, chunksize=5))
        covered, truth, bias = (np.array(part) for part in zip(*outcomes, strict=True))
        for i, size in enumerate(SIZES):
            shares = (f"{100 * share:.1f}" for share in covered[:, :, i].mean(axis=0))
            biases = (f"{100 * b:+.1f}" for b in bias[:, :, i].mean(axis=0))
            rows.append([difficulty, size, f"{100 * truth[:, i].mean():.1f}", *shares, *biases])
        print(f"{difficulty}: done", file=sys.stderr)
    print(
        f"{arguments.trees} trees, {arguments.replicates} replicates; {SPEAKERS} speakers with "
        f"{TESTS} tests; coverage in %, then means of replicates less the estimate, in points"
    )
    headers = ["", "N", "linkage, %", *METHODS, *(f"bias: {m}" for m in METHODS)]
    print(tabulate(rows, headers=headers, disable_numparse=True))
    return 0


def print_rates(arguments: argparse.Namespace) -> int:
    """Print the coverage of rates near 100 %."""
    rows = []
    for mean, total, (speakers, tests) in itertools.product(MEANS, SUMS, DESIGNS):
        generator = np.random.default_rng([arguments.seed, speakers, tests])
        covered = np.zeros((arguments.trees, 3))
        for tree in covered:
            rates = generator.beta(mean * total, (1 - mean) * total, speakers)
            hits = generator.binomial(tests, rates)
            rate = float(hits.sum() / (speakers * tests))
            weights = np.full(speakers, 1 / speakers)
            drawn = generator.multinomial(speakers, weights, arguments.replicates)
            values = drawn @ hits / (speakers * tests)
            of_tests, of_speakers = (
                rate_interval(values, rate, speakers, units)
                for units in (speakers * tests, speakers)
            )
            tree[:] = (
                of_tests[0] <= mean <= of_tests[1],
                of_speakers[0] <= mean <= of_speakers[1],
                np.ptp(hits) == 0,
            )
        shares = (f"{100 * share:.1f}" for share in covered.mean(axis=0))
        rows.append([f"{100 * mean:.0f}", f"{total:g}", str(speakers), str(tests), *shares])
    print(f"{arguments.trees} trees, {arguments.replicates} replicates; coverage in %")
    heads = ["rate, %", "a + b", "speakers", "tests of each", "by tests", "by speakers"]
    print(tabulate(rows, headers=[*heads, "no draw differs"], disable_numparse=True))
    return 0


def scored(
    model: VectorModel, voices: Array, enrolled: Array, tests: int, rng: np.random.Generator
) -> Array:
    """Compute cosines of new utterances with enrolled vectors, shape (tests, enrolled)."""
    utterances = model.utterances(np.repeat(voices, tests, axis=0), rng)
    counts = np.ones(len(enrolled), dtype=np.int64)
    return np.asarray(
        score_matrix(enrolled.astype("f4"), counts, utterances.astype("f4"), backend="cosine").T
    )


def enroll(model: VectorModel, voices: Array, rng: np.random.Generator) -> Array:
    spoken = model.utterances(np.repeat(voices, ENROLLED, axis=0), rng)
    return np.asarray(spoken.reshape(len(voices), ENROLLED, -1).mean(axis=1))


def one_tree(task: tuple[str, int, int]) -> tuple[Array, Array, Array]:
    """Return whether each method's intervals cover the truth, the truth, and replicate biases."""
    difficulty, seed, replicates = task
    rng = np.random.default_rng([seed, list(DIFFICULTIES).index(difficulty)])
    model = VectorModel(dimension=8, between=2.0, decay=1.0, within=DIFFICULTIES[difficulty])
    voices = model.voices(SPEAKERS, rng)
    enrolled = enroll(model, voices, rng)
    speaker = np.repeat(np.arange(SPEAKERS), TESTS)
    scores = scored(model, voices, enrolled, TESTS, rng)
    truth = true_linkage(model, enrolled, rng)
    beaten = beaters(scores, speaker)
    estimate = linkage_of_beaters(beaten, SPEAKERS, SIZES)
    names = tuple(f"s{i}" for i in range(SPEAKERS))
    identification = identified(
        ranked(names, speaker, np.array([beaten, 0 * beaten]), SPEAKERS), SIZES
    )
    of_speakers = rng.multinomial(SPEAKERS, np.full(SPEAKERS, 1 / SPEAKERS), replicates)
    of_tests = rng.multinomial(beaten.size, np.full(beaten.size, 1 / beaten.size), replicates)
    values = (
        linkage_of_beaters(beaten, SPEAKERS, SIZES, weights=of_speakers[:, speaker]),
        np.array(list(both_sides(scores, speaker, of_speakers))),
        linkage_of_beaters(beaten, SPEAKERS, SIZES, weights=of_tests),
    )
    own = identification.intervals(replicates, seed)
    intervals = [own] + [[expanded_interval(v, SPEAKERS, 0.95) for v in x.T] for x in values[1:]]
    covered = [[i.low <= t <= i.high for i, t in zip(of, truth, strict=True)] for of in intervals]
    return np.array(covered), truth, np.array([x.mean(axis=0) - estimate for x in values])


def true_linkage(model: VectorModel, enrolled: Array, rng: np.random.Generator) -> Array:
    """Linkage of new speakers, each with an enrollment, among those of the gallery."""
    voices = model.voices(NEW, rng)
    own = enroll(model, voices, rng)
    new = model.utterances(np.repeat(voices, TESTS, axis=0), rng).astype("f4")
    counts = np.ones(len(enrolled), dtype=np.int64)
    others = score_matrix(enrolled.astype("f4"), counts, new, backend="cosine").T
    unit = own / np.linalg.norm(own, axis=1, keepdims=True)
    lengths = np.linalg.norm(new, axis=1)
    right = (np.repeat(unit, TESTS, axis=0) * new).sum(axis=1) / lengths
    beaten = np.count_nonzero(others >= right[:, None], axis=1)
    return linkage_of_beaters(beaten, SPEAKERS + 1, SIZES)


def both_sides(
    scores: Array, speaker: NDArray[np.int64], drawn: NDArray[np.int64]
) -> Iterator[Array]:
    """Linkage where the drawn speakers are the gallery, too, each as often as drawn."""
    own = scores[np.arange(len(scores)), speaker]
    beats = scores >= own[:, None]
    beats[np.arange(len(scores)), speaker] = False
    for times in drawn:
        beaten, total = beats @ times, np.zeros(len(SIZES))
        of_test = times[speaker]
        for number in set(times.tolist()) - {0}:
            chosen = of_test == number
            n_enrolled = max(SPEAKERS - number + 1, max(SIZES))
            total += number * chosen.sum() * linkage_of_beaters(beaten[chosen], n_enrolled, SIZES)
        yield total / of_test.sum()


if __name__ == "__main__":
    sys.exit(main())
