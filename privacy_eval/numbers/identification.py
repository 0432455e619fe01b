"""How often people are identified: means over the trial sets of an attack."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.confidence import expanded_interval
from ..metrics.identification import (
    most_often_found,
    split_halves,
    wilson_interval,
    worst_overlaps,
)
from ..metrics.pav import FloatArray
from ..protocol.protocol import Protocol
from ..results.records import IdentificationRecord
from .groups import by_trial_set


def percent(rate: float, bounds: Sequence[float] | None = None) -> str:
    """Write a rate in percent, with its interval if there is one."""
    interval = " [{:.0f}, {:.0f}]".format(*(100 * b for b in bounds)) if bounds else ""
    return f"{100 * rate:.0f} %{interval}"


@dataclass(frozen=True)
class SingledOut:
    """How often exactly one of `size` voices is accepted, the largest number that all records
    have; `interval`: 95 % bounds, None unless all records have them."""

    size: int
    rate: float
    interval: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """The rate in percent, with the interval if there is one."""
        return percent(self.rate, self.interval)


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
    singled_out : SingledOut or None
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
    singled_out: SingledOut | None
    interval: tuple[float, float] | None = None
    n_tests: int = 0
    length: int = 1
    enrollment: float | None = None
    mixed: bool = False

    @property
    def chance(self) -> float:
        """The rate of picks at random."""
        return min(self.rank / self.size, 1)


def counted_once(
    protocol: Protocol, records: Iterable[IdentificationRecord]
) -> list[IdentificationRecord]:
    """Leave out records whose tests are also those of another one of the same attack: of trial sets
    that another one combines, and of genders without weight in averages."""
    names = {(t.data_set.id, t.split, t.gender): t.trials_name for t in protocol.trial_sets()}

    def name(r: IdentificationRecord) -> str:
        return names[r.condition.data_set, r.condition.split, r.condition.gender]

    chosen = []
    for of_attack in _by_attack(records).values():
        weights = protocol.gender_weights
        averaged = [r for r in of_attack if weights.get(r.condition.gender, 1)] or of_attack
        present = {name(r) for r in averaged}
        chosen += [r for r in averaged if not present & set(protocol.supersets(name(r)))]
    return chosen


def _by_attack(
    records: Iterable[IdentificationRecord],
) -> dict[tuple[str, str, str], list[IdentificationRecord]]:
    """Group records by system, attack model and split."""
    attacks: dict[tuple[str, str, str], list[IdentificationRecord]] = {}
    for r in records:
        c = r.condition
        attacks.setdefault((c.system, c.attack_model or "", c.split), []).append(r)
    return attacks


def identified(
    records: Iterable[IdentificationRecord],
) -> dict[tuple[str, str, str], Identified]:
    """Average over the trial sets of each system, attack model and split; of those whose records
    share a size and a rank."""
    rates = {}
    for attack, of_attack in _by_attack(records).items():
        sizes = set.intersection(*({n for n in r.sizes if 1 < n <= 20} for r in of_attack))
        ranks = {r.rank for r in of_attack}
        if sizes and len(ranks) == 1:
            rates[attack] = _mean(of_attack, max(sizes), ranks.pop())
    return rates


def _mean(records: Sequence[IdentificationRecord], size: int, rank: int) -> Identified:
    """Average the trial sets of an attack in groups of a size."""
    parts = _of_linkage(records, size)
    utterances = [r.enrollment_utterances for r in records]
    return Identified(
        size,
        rank,
        _mean_of(parts),
        _singled_out(records),
        _bounds(parts),
        sum(r.n_tests for r in records),
        max(r.length for r in records),
        sum(utterances) / sum(r.n_enrolled for r in records) if all(utterances) else None,
        any(len(r.genders) > 1 for r in records),
    )


def _of_linkage(records: Sequence[IdentificationRecord], size: int) -> list[_Part]:
    """Return the rates of the trial sets in groups of a size, weighted by tests."""
    parts = []
    for r in records:
        index = r.sizes.index(size)
        interval = r.intervals[index] if r.intervals else None
        parts.append(_Part(r.linkage[index], interval, r.n_tests, {s.speaker for s in r.speakers}))
    return parts


@dataclass(frozen=True)
class _Part:
    """A rate of a trial set, with its weight in a mean and the speakers that are known."""

    value: float
    interval: Sequence[float] | None
    weight: int
    speakers: set[str]


def _mean_of(parts: Sequence[_Part]) -> float:
    return float(np.average([p.value for p in parts], weights=[p.weight for p in parts]))


def _bounds(parts: Sequence[_Part]) -> tuple[float, float] | None:
    """Bound a mean over trial sets by their intervals: the distances to the bounds add up in
    squares where the speakers of two sets differ (Zou and Donner, Statistics in Medicine 2008),
    else as they are, which is rather too wide."""
    total, rate = sum(p.weight for p in parts), _mean_of(parts)
    groups: list[tuple[set[str], FloatArray]] = []
    for p in parts:
        if p.interval is None:
            return None
        distances = np.abs(np.array(p.interval) - p.value) * p.weight / total
        speakers = p.speakers
        shared = [g for g in groups if not speakers or not g[0] or g[0] & speakers]
        groups = [g for g in groups if g not in shared]
        for others, more in shared:
            speakers, distances = speakers | others, distances + more
        groups.append((speakers, distances))
    below, above = np.sqrt(np.sum([distances**2 for _, distances in groups], axis=0))
    return max(rate - float(below), 0.0), min(rate + float(above), 1.0)


def _singled_out(records: Sequence[IdentificationRecord]) -> SingledOut | None:
    """Average how often exactly one voice is accepted; None if the trial sets share no size."""
    sizes = set.intersection(*(set(r.singling_out.sizes) for r in records))
    if not sizes:
        return None
    size, parts = max(sizes), []
    for r in records:
        curve = r.singling_out
        index = curve.sizes.index(size)
        interval = curve.intervals[index] if curve.intervals else None
        speakers = {s.speaker for s in r.speakers}
        parts.append(_Part(curve.values[index], interval, curve.n_speakers, speakers))
    return SingledOut(size, _mean_of(parts), _bounds(parts))


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
    chance : float
        What `shared` would be by chance: more than a quarter where speakers tie.
    """

    attack_models: tuple[str, str]
    jaccard: tuple[float, float, float]
    correlation: tuple[float, float, float]
    chance: float

    @property
    def shared(self) -> tuple[float, float, float]:
        """Share of one quarter that is in the other, too."""
        value, low, high = (2 * j / (1 + j) for j in self.jaccard)
        return value, low, high


@dataclass(frozen=True)
class WorstProtected:
    """The speaker found most often above chance, of all trial sets and attack models; of several,
    the one with the fewest tests.

    Attributes
    ----------
    record : IdentificationRecord
    speaker : str
    rate : float
    n_tests : int
    tied : int
        Speakers of the record with this rate.
    among : int
        Rates of single speakers that the highest was chosen from.
    alike : bool
        Whether all of them are this rate.
    """

    record: IdentificationRecord
    speaker: str
    rate: float
    n_tests: int
    tied: int
    among: int
    alike: bool

    @property
    def text(self) -> str:
        """The rate in percent, with its interval over tests."""
        return percent(self.rate, wilson_interval(self.rate, self.n_tests))


def worst_protected(records: Iterable[IdentificationRecord]) -> WorstProtected | None:
    """Find the speaker of anonymized speech who is found most often above chance, as groups of
    trial sets differ in size; None without speakers."""
    speakers = [(s, r) for r in records if not r.condition.is_original for s in r.speakers]
    if not speakers:
        return None
    above = ((s.linkage - r.speakers_chance, -s.n_tests) for s, r in speakers)
    _, (worst, record) = max(zip(above, speakers, strict=True), key=lambda pair: pair[0])
    return WorstProtected(
        record,
        worst.speaker,
        worst.linkage,
        worst.n_tests,
        sum(s.linkage == worst.linkage for s in record.speakers),
        len(speakers),
        all(s.linkage == worst.linkage for s, _ in speakers),
    )


def mean_halves(records: Iterable[IdentificationRecord]) -> tuple[float, float] | None:
    """Average `split_halves` over records whose speakers differ in the first half; None without
    any."""
    halves = [split_halves(r.speakers) for r in records if len({s.first for s in r.speakers}) > 1]
    if not halves:
        return None
    first, second = np.mean(halves, axis=0)
    return float(first), float(second)


def overlaps(
    records: Iterable[IdentificationRecord], *, of_systems: bool = False
) -> Iterator[Overlap]:
    """Compare the speakers found by two attack models or, with `of_systems`, in two systems; not
    where ties make the quarter found most often more than half of them."""
    chances: dict[tuple[str, str], list[float]] = {}
    values: dict[tuple[str, str], list[FloatArray]] = {}
    people: dict[tuple[str, str], set[tuple[object, str]]] = {}
    for key, of_set in by_trial_set(r for r in records if r.speakers).items():
        linkage = [{s.speaker: s.linkage for s in r.speakers} for r in of_set]
        shared = sorted(set.intersection(*map(set, linkage)))
        if len(shared) < 2:
            continue
        rates = np.array([[of[name] for name in shared] for of in linkage])
        both, most = np.array(worst_overlaps(rates)), most_often_found(rates).mean(axis=1)
        for i, j in itertools.combinations(range(len(of_set)), 2):
            one, other = (of_set[k].condition for k in (i, j))
            same = one.system == other.system, one.attack_model == other.attack_model
            if max(most[i], most[j]) > 0.5:
                continue
            if same == (not of_systems, of_systems) and not (of_systems and one.is_original):
                pair = one.attack_model or "", other.attack_model or ""
                values.setdefault(pair, []).append(both[:, :, i, j])
                chances.setdefault(pair, []).append(2 * most[i] * most[j] / (most[i] + most[j]))
                people.setdefault(pair, set()).update((key, name) for name in shared)
    for pair, of_pair in values.items():
        jaccard, correlation = (
            _with_bounds(replicates, len(people[pair])) for replicates in np.mean(of_pair, axis=0)
        )
        yield Overlap(pair, jaccard, correlation, float(np.mean(chances[pair])))


def _with_bounds(replicates: FloatArray, n_speakers: int) -> tuple[float, float, float]:
    """Return a value, the first of its replicates, with the bounds by the others."""
    bounds = expanded_interval(replicates[1:], n_speakers)
    return float(replicates[0]), bounds.low, bounds.high
