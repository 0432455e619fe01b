"""How often people are identified: means over the trial sets of an attack."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.confidence import expanded_interval
from ..metrics.identification import split_halves, worst_overlaps
from ..metrics.pav import FloatArray
from ..results.records import IdentificationRecord
from .groups import by_trial_set


@dataclass(frozen=True)
class Identified:
    """How often the right person is found in a group, and singled out.

    Attributes
    ----------
    size : int
        The largest group of at most 20 that all records have.
    rank : int
        Number of picks.
    rate : float
        Mean over tests.
    singled_out : (int, float) or None
        The largest number of voices that all records have, and how often exactly one of them is
        accepted.
    interval : (float, float) or None
        95 % bounds of the rate; None unless all records have them.
    n_tests : int
    length : int
        Most recordings that a test averages.
    enrollment : float or None
        Recordings per enrolled person, on average; None if unknown.
    mixed : bool
        Whether groups are of several genders.
    """

    size: int
    rank: int
    rate: float
    singled_out: tuple[int, float] | None
    interval: tuple[float, float] | None = None
    n_tests: int = 0
    length: int = 1
    enrollment: float | None = None
    mixed: bool = False

    @property
    def chance(self) -> float:
        """The rate of picks at random."""
        return min(self.rank / self.size, 1)


def identified(
    records: Iterable[IdentificationRecord],
) -> dict[tuple[str, str, str], Identified]:
    """Average over the trial sets of each system, attack model and split; of those whose records
    share a size and a rank."""
    attacks: dict[tuple[str, str, str], list[IdentificationRecord]] = {}
    for r in records:
        c = r.condition
        attacks.setdefault((c.system, c.attack_model or "", c.split), []).append(r)
    rates = {}
    for attack, of_attack in attacks.items():
        sizes = set.intersection(*({n for n in r.sizes if 1 < n <= 20} for r in of_attack))
        ranks = {r.rank for r in of_attack}
        if sizes and len(ranks) == 1:
            rates[attack] = _mean(of_attack, max(sizes), ranks.pop())
    return rates


def _mean(records: Sequence[IdentificationRecord], size: int, rank: int) -> Identified:
    """Average the trial sets of an attack in groups of a size."""
    linkage = [r.linkage[r.sizes.index(size)] for r in records]
    rate = float(np.average(linkage, weights=[r.n_tests for r in records]))
    utterances = [r.enrollment_utterances for r in records]
    return Identified(
        size,
        rank,
        rate,
        _singled_out(records),
        _bounds(records, size, rate),
        sum(r.n_tests for r in records),
        max(r.length for r in records),
        sum(utterances) / sum(r.n_enrolled for r in records) if all(utterances) else None,
        any(len(r.genders) > 1 for r in records),
    )


def _bounds(
    records: Sequence[IdentificationRecord], size: int, rate: float
) -> tuple[float, float] | None:
    """Bound a mean over trial sets by their intervals: the distances to the bounds add up in
    squares where the speakers of two sets differ (Zou and Donner, Statistics in Medicine 2008),
    else as they are, which is rather too wide."""
    if not all(r.intervals for r in records):
        return None
    n_tests = sum(r.n_tests for r in records)
    groups: list[tuple[set[str], FloatArray]] = []
    for r in records:
        index = r.sizes.index(size)
        distances = np.abs(np.array(r.intervals[index]) - r.linkage[index]) * r.n_tests / n_tests
        speakers = {s.speaker for s in r.speakers}
        shared = [g for g in groups if not speakers or not g[0] or g[0] & speakers]
        groups = [g for g in groups if g not in shared]
        for others, more in shared:
            speakers, distances = speakers | others, distances + more
        groups.append((speakers, distances))
    below, above = np.sqrt(np.sum([distances**2 for _, distances in groups], axis=0))
    return max(rate - float(below), 0.0), min(rate + float(above), 1.0)


def _singled_out(records: Iterable[IdentificationRecord]) -> tuple[int, float] | None:
    """Average how often exactly one voice is accepted; None if the trial sets share no size."""
    curves = [r.singling_out for r in records]
    sizes = set.intersection(*(set(c.sizes) for c in curves))
    if not sizes:
        return None
    size = max(sizes)
    values = [c.values[c.sizes.index(size)] for c in curves]
    return size, float(np.average(values, weights=[c.n_speakers for c in curves]))


@dataclass(frozen=True)
class Overlap:
    """How far the most often found speakers agree: means over trial sets, with 95 % bounds.

    Attributes
    ----------
    attack_models : (str, str)
    jaccard : (float, float, float)
        Index of the quarters found most often: mean and bounds.
    correlation : (float, float, float)
        Of the ranks of all speakers.
    """

    attack_models: tuple[str, str]
    jaccard: tuple[float, float, float]
    correlation: tuple[float, float, float]

    @property
    def shared(self) -> tuple[float, float, float]:
        """Share of one quarter that is in the other, too: about 0.25 by chance."""
        value, low, high = (2 * j / (1 + j) for j in self.jaccard)
        return value, low, high


def mean_halves(records: Iterable[IdentificationRecord]) -> tuple[float, float] | None:
    """Average `split_halves` over records with speakers; None without any."""
    halves = [split_halves(r.speakers) for r in records if r.speakers]
    if not halves:
        return None
    first, second = np.mean(halves, axis=0)
    return float(first), float(second)


def overlaps(
    records: Iterable[IdentificationRecord], *, of_systems: bool = False
) -> Iterator[Overlap]:
    """Compare the speakers found by two attack models or, with `of_systems`, in two systems."""
    values: dict[tuple[str, str], list[FloatArray]] = {}
    people: dict[tuple[str, str], set[tuple[object, str]]] = {}
    for key, of_set in by_trial_set(r for r in records if r.speakers).items():
        linkage = [{s.speaker: s.linkage for s in r.speakers} for r in of_set]
        shared = sorted(set.intersection(*map(set, linkage)))
        if len(shared) < 2:
            continue
        both = np.array(worst_overlaps([[of[name] for name in shared] for of in linkage]))
        for i, j in itertools.combinations(range(len(of_set)), 2):
            one, other = (of_set[k].condition for k in (i, j))
            same = one.system == other.system, one.attack_model == other.attack_model
            if same == (not of_systems, of_systems) and not (of_systems and one.is_original):
                pair = one.attack_model or "", other.attack_model or ""
                values.setdefault(pair, []).append(both[:, :, i, j])
                people.setdefault(pair, set()).update((key, name) for name in shared)
    for pair, of_pair in values.items():
        jaccard, correlation = (
            _with_bounds(replicates, len(people[pair])) for replicates in np.mean(of_pair, axis=0)
        )
        yield Overlap(pair, jaccard, correlation)


def _with_bounds(replicates: FloatArray, n_speakers: int) -> tuple[float, float, float]:
    """Return a value, the first of its replicates, with the bounds by the others."""
    bounds = expanded_interval(replicates[1:], n_speakers)
    return float(replicates[0]), bounds.low, bounds.high
