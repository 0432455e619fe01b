"""How often people are identified: means over the trial sets of an attack."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..choices import grouped
from ..metrics.confidence import expanded_interval
from ..metrics.identification import (
    most_often_found,
    split_halves,
    wilson_interval,
    worst_overlaps,
)
from ..metrics.pav import FloatArray
from ..protocol.protocol import Protocol
from ..results.measurements import PRESENT, Measurements, Row
from ..results.records import Record, galleries, speakers_of
from ..results.rows import rows_of
from .cells import interval_of
from .groups import by_trial_set


def rate_of(row: Row) -> str:
    """Write the rate of a row in percent, with its interval if there is one."""
    return percent(row["value"], interval_of(row))


def percent(rate: float, bounds: Sequence[float] | None = None) -> str:
    """Write a rate in percent, with its interval if there is one."""
    interval = " [{:.0f}, {:.0f}]".format(*(100 * b for b in bounds)) if bounds else ""
    return f"{100 * rate:.0f} %{interval}"


def is_mixed(record: Record) -> bool:
    """Whether the galleries are of several genders."""
    return len(record.facts.get("genders", ())) > 1


def speakers_size(record: Record) -> int:
    """Return the size of the galleries of single speakers."""
    size: int = record.measurements.select(speaker=PRESENT).values("gallery")[0]
    return size


def speakers_chance(record: Record) -> float:
    """Return the chance level of the rates of single speakers."""
    return float(min(record.facts["rank"] / speakers_size(record), 1.0))


def counted_once(protocol: Protocol, records: Iterable[Record]) -> list[Record]:
    """Leave out records whose tests are also those of another one of the same attack: of trial sets
    that another one combines, and of genders without weight in averages."""
    names = {(t.data_set.id, t.split, t.gender): t.trials_name for t in protocol.trial_sets()}

    def name(r: Record) -> str:
        return names[r.condition.data_set, r.condition.split, r.condition.gender]

    chosen = []
    for of_attack in _by_attack(records).values():
        weights = protocol.gender_weights
        averaged = [r for r in of_attack if weights.get(r.condition.gender, 1)] or of_attack
        present = {name(r) for r in averaged}
        chosen += [r for r in averaged if not present & set(protocol.supersets(name(r)))]
    return chosen


def _by_attack(
    records: Iterable[Record],
) -> dict[tuple[str, str, str], list[Record]]:
    """Group records by system, attack model and split."""

    def attack(record: Record) -> tuple[str, str, str]:
        c = record.condition
        return c.system, c.attack_model or "", c.split

    return grouped(records, attack)


def identified(records: Iterable[Record]) -> dict[tuple[str, str, str], Row]:
    """Average over the trial sets of each system, attack model and split; of those whose records
    share a size and a rank.

    Returns
    -------
    dict
        Rows of the largest group of at most 20 that all records have, with the rate of picks at
        random, `chance`; `length`, the most recordings that a test averages; `enrollment`, those
        per enrolled person on average, None if unknown; `mixed`, whether groups are of several
        genders; and `singled_out`, a row of how often exactly one voice is accepted, of the largest
        number of voices that all records have.
    """
    rates: dict[tuple[str, str, str], Row] = {}
    for attack, of_attack in _by_attack(records).items():
        sizes, singled = (
            set.intersection(*({*galleries(r, metric).values("gallery")} for r in of_attack))
            for metric in ("linkage", "singling_out")
        )
        sizes = {n for n in sizes if 1 < n <= 20}
        facts = [r.facts for r in of_attack]
        ranks = {of["rank"] for of in facts}
        if sizes and len(ranks) == 1:
            (rank,), size = ranks, max(sizes)
            utterances = [of.get("enrollment_utterances", 0) for of in facts]
            enrolled = sum(of["n_enrolled"] for of in facts)
            rates[attack] = {
                **_average(of_attack, "linkage", size),
                "rank": rank,
                "chance": min(rank / size, 1),
                "n_tests": sum(of["n_tests"] for of in facts),
                "length": max(of["length"] for of in facts),
                "enrollment": sum(utterances) / enrolled if all(utterances) else None,
                "mixed": any(is_mixed(r) for r in of_attack),
                "singled_out": _average(of_attack, "singling_out", max(singled))
                if singled
                else None,
            }
    return rates


def _average(records: Sequence[Record], metric: str, size: int) -> dict[str, Any]:
    """Average the rates of trial sets in galleries of a size, weighted by tests, or by speakers who
    are singled out.

    Its bounds are those of the trial sets: the distances to the bounds add up in squares where the
    speakers of two sets differ (Zou and Donner, Statistics in Medicine 2008), else as they are,
    which is rather too wide. None unless all have them.
    """
    tables = (Measurements.of(rows_of(r)) for r in records)
    of_size = {"metric": metric, "gallery": size, "group_by": None, "speaker": None}
    rows = [row for of in tables if (row := of.find(**of_size)) is not None]
    weights = [row["n_tests" if metric == "linkage" else "n_speakers"] for row in rows]
    rate = float(np.average([row["value"] for row in rows], weights=weights))
    mean = {"metric": metric, "gallery": size, "value": rate}
    if not all("low" in row for row in rows):
        return mean
    groups: list[tuple[set[str], FloatArray]] = []
    for r, row, weight in zip(records, rows, weights, strict=True):
        bounds = np.array([row["low"], row["high"]])
        distances = np.abs(bounds - row["value"]) * weight / sum(weights)
        speakers = {*r.measurements.values("speaker")}
        shared = [g for g in groups if not speakers or not g[0] or g[0] & speakers]
        groups = [g for g in groups if g not in shared]
        for others, more in shared:
            speakers, distances = speakers | others, distances + more
        groups.append((speakers, distances))
    below, above = np.sqrt(np.sum([distances**2 for _, distances in groups], axis=0))
    return {**mean, "low": max(rate - float(below), 0.0), "high": min(rate + float(above), 1.0)}


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


def worst_protected(records: Iterable[Record]) -> Row | None:
    """Find the speaker of anonymized speech who is found most often above chance, as groups of
    trial sets differ in size; of several, the one with the fewest tests; None without speakers.

    Returns
    -------
    mapping or None
        A row of the speaker, with its interval over tests, and `chance`; `tied`, the number of
        speakers of its `record` with this rate; `among`, that of all rates that the highest was
        chosen from; and `alike`, whether all of them are this rate.
    """
    attacks = (r for r in records if not r.condition.is_original)
    speakers = [(s, r) for r in attacks for s in speakers_of(r)]
    if not speakers:
        return None
    above = ((s.linkage - speakers_chance(r), -s.n_tests) for s, r in speakers)
    _, (worst, record) = max(zip(above, speakers, strict=True), key=lambda pair: pair[0])
    low, high = wilson_interval(worst.linkage, worst.n_tests)
    return {
        "speaker": worst.speaker,
        "value": worst.linkage,
        "low": low,
        "high": high,
        "n_tests": worst.n_tests,
        "chance": speakers_chance(record),
        "record": record,
        "tied": sum(s.linkage == worst.linkage for s in speakers_of(record)),
        "among": len(speakers),
        "alike": all(s.linkage == worst.linkage for s, _ in speakers),
    }


def mean_halves(records: Iterable[Record]) -> tuple[float, float] | None:
    """Average `split_halves` over records whose speakers differ in the first half; None without
    any."""
    of_records = map(speakers_of, records)
    halves = [split_halves(of) for of in of_records if len({s.first for s in of}) > 1]
    if not halves:
        return None
    first, second = np.mean(halves, axis=0)
    return float(first), float(second)


def overlaps(records: Iterable[Record], *, of_systems: bool = False) -> Iterator[Overlap]:
    """Compare the speakers found by two attack models or, with `of_systems`, in two systems; not
    where ties make the quarter found most often more than half of them."""
    chances: dict[tuple[str, str], list[float]] = {}
    values: dict[tuple[str, str], list[FloatArray]] = {}
    people: dict[tuple[str, str], set[tuple[object, str]]] = {}
    for key, of_set in by_trial_set(filter(speakers_of, records)).items():
        linkage = [{s.speaker: s.linkage for s in speakers_of(r)} for r in of_set]
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
