#!/usr/bin/env python3
"""What the comparison of two systems can be trusted with, on simulated lists of utterance pairs.

    scripts/coverage_versus.py --experiments 1000 --replicates 300
    scripts/coverage_versus.py --experiments 1000 --replicates 300 --ranking

Both systems see the same utterances of the same speakers, so that their scores are correlated; each
adds noise of its own. Enrolled are single utterances, several of each speaker. Three tables: how
often the intervals of one system cover its population EER; how often two systems of equal strength
are called different, by every metric; how often a difference of 5 points of EER is found. With
--ranking: how often the ranking by the average EER of two genders, with speakers of their own, says
"better than the next" of systems of equal strength, and of systems 5 points apart.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from privacy_eval.metrics import (
    Trials,
    TrialScores,
    evaluate,
    kaldi_eer,
    of_kind,
    speaker_bootstrap,
)
from privacy_eval.metrics.confidence import BootstrapReplicates
from privacy_eval.metrics.evaluation import compare
from privacy_eval.numbers.rankings import _compared
from privacy_eval.results.measurements import Row

SPEAKERS = (10, 20, 40)
#: Noise that a system adds to each dimension of an utterance; the second is weaker by 5 points.
NOISE, MORE_NOISE = 1.0, 1.29
_DIMENSIONS, _ENROLLED, _SPOKEN, _NONTARGETS = 10, 2, 4, 4


@dataclass(frozen=True)
class Design:
    """Utterance pairs of one experiment, and the speakers of both."""

    utterances: NDArray[np.float64]
    target: NDArray[np.int64]
    nontarget: NDArray[np.int64]
    own: NDArray[np.str_]
    pairs: NDArray[np.str_]

    def scores(
        self, noise: float, generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], ...]:
        """Cosines of target and nontarget pairs as one system sees the utterances."""
        seen = self.utterances + noise * generator.normal(size=self.utterances.shape)
        seen /= np.linalg.norm(seen, axis=1, keepdims=True)
        return tuple(
            np.einsum("ij,ij->i", *(seen[side] for side in rows.T))
            for rows in (self.target, self.nontarget)
        )

    def trials(self, noise: float, generator: np.random.Generator) -> Trials:
        """Trials of one system."""
        target, nontarget = self.scores(noise, generator)
        return Trials(
            score=np.append(target, nontarget),
            label=np.repeat([True, False], [target.size, nontarget.size]),
            enrolled_speaker=np.append(self.own, self.pairs[:, 0]),
            trial_speaker=np.append(self.own, self.pairs[:, 1]),
        )


def draw_trials(speakers: int, generator: np.random.Generator) -> Design:
    """Draw speakers and utterances; enrolled ones are paired with their speaker and others."""
    number = _ENROLLED + _SPOKEN
    voices = generator.normal(size=(speakers, 1, _DIMENSIONS))
    spoken = voices + 0.7 * generator.normal(size=(speakers, number, _DIMENSIONS))
    rows = np.arange(speakers * number).reshape(speakers, number)
    target, nontarget = [], []
    for speaker in range(speakers):
        others = np.delete(np.arange(speakers), speaker)
        for enrolled in rows[speaker, :_ENROLLED]:
            target += [(enrolled, row) for row in rows[speaker, _ENROLLED:]]
            for other in others:
                drawn = generator.choice(rows[other, _ENROLLED:], min(_NONTARGETS, _SPOKEN), False)
                nontarget += [(enrolled, row) for row in drawn]
    names = np.array([f"s{n:03}" for n in range(speakers)]).repeat(number)
    target_rows, nontarget_rows = np.array(target), np.array(nontarget)
    own, pairs = names[target_rows[:, 0]], names[nontarget_rows]
    return Design(spoken.reshape(-1, _DIMENSIONS), target_rows, nontarget_rows, own, pairs)


@functools.cache
def population_eer(noise: float) -> float:
    """EER of very many speakers."""
    generator = np.random.default_rng(99)
    drawn = [draw_trials(40, generator) for _ in range(300)]
    target, nontarget = zip(*(trials.scores(noise, generator) for trials in drawn), strict=True)
    return kaldi_eer(TrialScores(np.concatenate(target), np.concatenate(nontarget))).value


def covers(task: tuple[int, int, int]) -> bool:
    """Whether the interval of one system covers its population EER."""
    speakers, seed, replicates = task
    generator = np.random.default_rng([1, speakers, seed])
    trials = draw_trials(speakers, generator)
    result = evaluate(trials.trials(NOISE, generator), bootstrap=replicates)
    interval = result.intervals["eer"]
    return interval.low <= population_eer(NOISE) <= interval.high


def p_values(task: tuple[float, int, int, int]) -> list[float]:
    """The p-value of every metric in one comparison of two systems."""
    noise, speakers, seed, replicates = task
    generator = np.random.default_rng([2, speakers, seed])
    trials = draw_trials(speakers, generator)
    systems = {str(n): trials.trials(s, generator) for n, s in enumerate((NOISE, noise))}
    (differences,) = compare(systems, bootstrap=replicates).differences.values()
    return [difference.p_value for difference in differences.values()]


def ranked(noises: Sequence[float], speakers: int, seed: int, replicates: int) -> list[Row]:
    """Average the EERs of systems over two genders, with their replicates."""
    generator = np.random.default_rng([3, speakers, seed])
    values: list[list[float]] = [[] for _ in noises]
    drawn: list[list[NDArray[np.float64]]] = [[] for _ in noises]
    for gender in range(2):
        trials = draw_trials(speakers, generator)
        for number, noise in enumerate(noises):
            scored = trials.trials(noise, generator)
            values[number].append(kaldi_eer(scored.scores).value)
            sample = speaker_bootstrap(
                scored, replicates=replicates, seed=gender, metrics=["exact eer"]
            )
            drawn[number].append(sample.values["exact eer"])
    averages = (BootstrapReplicates({"eer": np.mean(of, axis=0)}, speakers, "", 0) for of in drawn)
    return [
        {"system": str(n), "metric": "eer", "value": eer, "of_present": eer, "replicates": average}
        for n, (eer, average) in enumerate(zip(map(np.mean, values), averages, strict=True))
    ]


def statements(task: tuple[float, int, int, int]) -> tuple[bool, bool, float, bool]:
    """What rankings say: that the better of two systems is "better than the next", and that it is
    the less noisy one, which is wrong; of four, the share of such statements, and whether any."""
    noise, *settings = task
    means = ranked((NOISE,) * 4 if noise == NOISE else (NOISE, noise), *settings)
    said = []
    for of in (means[:2], means):
        order = sorted(of, key=lambda row: -row["value"])
        compared = (_compared(r, order[n + 1 :], 1, frozenset("0123")) for n, r in enumerate(order))
        said.append([(r["system"], r["next"]["better"]) for r in compared if r.get("next")])
    ((first, better),), of_four = said
    wrong = [claimed for _, claimed in of_four]
    return better, better and first == "0", float(np.mean(wrong)), any(wrong)


def print_rankings(
    pool: ProcessPoolExecutor, speakers: Sequence[int], experiments: int, replicates: int
) -> None:
    """Print how often rankings say "better than the next"."""
    rows = []
    for n in speakers:
        for noise in (NOISE, MORE_NOISE):
            tasks = [(noise, n, seed, replicates) for seed in range(experiments)]
            shares = 100 * np.mean(list(pool.map(statements, tasks, chunksize=5)), axis=0)
            equal = noise == NOISE
            of_four = shares[2:] if equal else (np.nan, np.nan)
            wrong = np.nan if equal else shares[1]
            rows.append(["0" if equal else "5 points", n, shares[0], wrong, *of_four])
            print(tabulate(rows[-1:], floatfmt=".1f", tablefmt="plain"), flush=True)
    heads = ("difference", "speakers", "better, of two", "wrong way", "of four: share", "any")
    print(tabulate(rows, headers=heads, floatfmt=".1f", missingval=""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--speakers", type=int, nargs="+", default=list(SPEAKERS))
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--nj", type=int, default=2)
    parser.add_argument("--ranking", action="store_true", help="of the ranking, and nothing else")
    arguments = parser.parse_args()
    replicates = arguments.replicates
    truth = [100 * population_eer(noise) for noise in (NOISE, MORE_NOISE)]
    print(f"population EERs: {truth[0]:.2f} and {truth[1]:.2f} %; {replicates} replicates")
    keys = list(of_kind("scores"))
    with ProcessPoolExecutor(arguments.nj) as pool:
        if arguments.ranking:
            print_rankings(pool, arguments.speakers, arguments.experiments, replicates)
            return 0
        rows = []
        for n in arguments.speakers if arguments.trees else ():
            tasks = [(n, seed, replicates) for seed in range(arguments.trees)]
            share = np.mean(list(pool.map(covers, tasks, chunksize=5)))
            rows.append([n, f"{100 * share:.1f}"])
        print(tabulate(rows, headers=["speakers", f"covered of {arguments.trees}, %"]))
        for noise, title in (
            (NOISE, "called different at equal strength, %"),
            (MORE_NOISE, "power, %"),
        ):
            shares = []
            for n in arguments.speakers:
                tasks = [(noise, n, seed, replicates) for seed in range(arguments.experiments)]
                drawn = np.array(list(pool.map(p_values, tasks, chunksize=5)))
                shares.append(100 * (drawn < 0.05).mean(axis=0))
                print(
                    f"{title}, {n} speakers: {dict(zip(keys, shares[-1], strict=True))}", flush=True
                )
            print(f"\n{title} ({arguments.experiments} experiments)")
            rows = [[key, *(f"{s[row]:.1f}" for s in shares)] for row, key in enumerate(keys)]
            print(
                tabulate(rows, headers=["metric", *(f"{n} speakers" for n in arguments.speakers)])
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
