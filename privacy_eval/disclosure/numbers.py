"""What records say of disclosure: how often people are identified, in means over the trial sets of
an attack; with how much speech; and their attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..choices import LEVEL, SITUATIONS, grouped
from ..metrics.confidence import expanded_interval
from ..metrics.pav import FloatArray
from ..numbers.cells import interval_of
from ..numbers.report_data import main_split
from ..protocol.protocol import Protocol
from ..results.measurements import PRESENT, Measurements, Row
from ..results.records import Record, Results, galleries
from ..results.rows import rows_of
from .evidence import InferredAttribute, SpeechAmount
from .linkage import (
    HALVES,
    SpeakerLinkage,
    most_often_found,
    split_halves,
    wilson_interval,
    worst_overlaps,
)

#: A rate of fewer tests is written as counted.
_FEW_TESTS = 30
#: How far a mean number of tests may be from a whole one and be written as counted.
_WHOLE = 0.05

#: What to know of tests whose speakers have a single session.
ONE_SESSION = (
    "all test speech of a person is of one session, which shows less risk than speech of several"
)


def rate_of(row: Row) -> str:
    """Write the rate of a row in percent, with its interval if there is one."""
    return percent(row["value"], interval_of(row))


def tests_of(row: Row) -> str:
    """Write the rate of a row in words that follow "in"; that of few tests as counted."""
    n_tests = row["n_tests"]
    if n_tests < _FEW_TESTS:
        number = row["value"] * n_tests  # not whole, where people are drawn from a larger group
        about = "about " * (abs(number - round(number)) > _WHOLE)
        return f"{about}{round(number)} of {n_tests} tests"
    return f"{100 * row['value']:.0f} % of tests"


def percent(rate: float, bounds: Sequence[float] | None = None) -> str:
    """Write a rate in percent, with its interval if there is one."""
    interval = " [{:.0f}, {:.0f}]".format(*(100 * b for b in bounds)) if bounds else ""
    return f"{100 * rate:.0f} %{interval}"


def is_mixed(record: Record) -> bool:
    """Whether the galleries are of several genders."""
    return len(record.facts.get("genders", ())) > 1


def speakers_size(record: Record) -> int:
    """Return the size of the galleries of single speakers."""
    size: int = galleries(record, speaker=PRESENT).values("gallery")[0]
    return size


def speakers_chance(record: Record) -> float:
    """Return the chance level of the rates of single speakers."""
    return float(min(record.facts["rank"] / speakers_size(record), 1.0))


def speakers_of(record: Record) -> list[SpeakerLinkage]:
    """Return the rates of speakers in galleries of one size, in the order of the record."""
    found = []
    for (name,), rows in galleries(record, speaker=PRESENT).groups("speaker").items():
        of = {row.get("fold"): row["value"] for row in rows}
        halves = (of.get(half, of[None]) for half in HALVES)  # `check` has seen to the whole
        found.append(SpeakerLinkage(name, rows[0]["n_tests"], of[None], *halves))
    return found


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
        speakers = {*galleries(r, speaker=PRESENT).values("speaker")}
        shared = [g for g in groups if not speakers or not g[0] or g[0] & speakers]
        groups = [g for g in groups if g not in shared]
        for others, more in shared:
            speakers, distances = speakers | others, distances + more
        groups.append((speakers, distances))
    below, above = np.sqrt(np.sum([distances**2 for _, distances in groups], axis=0))
    return {**mean, "low": max(rate - float(below), 0.0), "high": min(rate + float(above), 1.0)}


def worst_protected(records: Iterable[Record]) -> Row | None:
    """Find the speaker of anonymized speech who is found most often above chance, as groups of
    trial sets differ in size; of several, the one with the fewest tests; None without speakers.

    Returns
    -------
    mapping or None
        A row of the speaker, with its interval over tests, and `chance`; `tied`, the number of
        speakers of its `record` with this rate; `among`, that of all rates that the highest was
        chosen from; `alike`, whether all of them are this rate; and `instead`, the row of how often
        others are taken for one of the tied, None unless a test finds that more often than by
        guessing.
    """
    attacks = (r for r in records if not r.condition.is_original)
    speakers = [(s, r) for r in attacks for s in speakers_of(r)]
    if not speakers:
        return None
    above = ((s.linkage - speakers_chance(r), -s.n_tests) for s, r in speakers)
    _, (worst, record) = max(zip(above, speakers, strict=True), key=lambda pair: pair[0])
    low, high = wilson_interval(worst.linkage, worst.n_tests)
    tied = [s.speaker for s in speakers_of(record) if s.linkage == worst.linkage]
    named = record.measurements.select(metric="named_instead", speaker=tuple(tied))
    instead = (r for r in named if r["value"] > 1 / r["gallery"] and r.get("p", 1) < 1 - LEVEL)
    return {
        "speaker": worst.speaker,
        "value": worst.linkage,
        "low": low,
        "high": high,
        "n_tests": worst.n_tests,
        "chance": speakers_chance(record),
        "gallery": speakers_size(record),
        "mixed": is_mixed(record),
        "record": record,
        "tied": len(tied),
        "instead": next(instead, None),
        "among": len(speakers),
        "alike": all(s.linkage == worst.linkage for s, _ in speakers),
    }


def named_for_others(records: Iterable[Record]) -> Row | None:
    """Find the person who is named for others, in anonymized speech, with the least p-value, or
    else most often; None without any.

    Returns
    -------
    mapping or None
        The row of the person, with `chance`, that of guessing; its `record`; `among`, the number of
        records that it was chosen from, for which `p`, if any, is corrected, too (Bonferroni); and
        `is_more`, whether the person is named more often than by guessing, None if that is unknown.
    """
    found = []
    for r in records:
        rows = r.measurements.select(metric="named_instead").to_rows()
        if rows and not r.condition.is_original:
            found.append({**max(rows, key=lambda row: row["value"]), "record": r})
    if not found:
        return None
    row = min(found, key=lambda row: (row.get("p", 1), 1 / row["gallery"] - row["value"]))
    chance, p = 1 / row["gallery"], None
    if "p" in row:
        p = min(1.0, row["p"] * len(found))
    is_more = None if p is None else bool(p < 1 - LEVEL and row["value"] > chance)
    return {**row, "chance": chance, "among": len(found), "p": p, "is_more": is_more}


def mean_halves(records: Iterable[Record]) -> tuple[float, float] | None:
    """Average `split_halves` over records whose speakers differ in the first half; None without
    any."""
    of_records = map(speakers_of, records)
    halves = [split_halves(of) for of in of_records if len({s.first for s in of}) > 1]
    if not halves:
        return None
    first, second = np.mean(halves, axis=0)
    return float(first), float(second)


def by_trial_set(records: Iterable[Record]) -> dict[tuple[str, str, str], list[Record]]:
    """Group records by split, data set and gender."""
    return grouped(records, lambda r: (r.condition.split, r.condition.data_set, r.condition.gender))


def overlaps(records: Iterable[Record], *, of_systems: bool = False) -> Iterator[Row]:
    """Compare the speakers found by two attack models or, with `of_systems`, in two systems; not
    where ties make the quarter found most often more than half of them.

    Yields
    ------
    mapping
        The two `attack_models`; means over trial sets with 95 % bounds: `jaccard`, the index of the
        quarters found most often, `shared`, the share of one that is in the other, `correlation`
        of the ranks of all speakers; and `chance`, what `shared` would be by chance: more than a
        quarter where speakers tie.
    """
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
        yield {
            "attack_models": pair,
            "jaccard": jaccard,
            "correlation": correlation,
            "shared": tuple(2 * j / (1 + j) for j in jaccard),
            "chance": float(np.mean(chances[pair])),
        }


def _with_bounds(replicates: FloatArray, n_speakers: int) -> tuple[float, float, float]:
    """Return a value, the first of its replicates, with the bounds by the others."""
    bounds = expanded_interval(replicates[1:], n_speakers)
    return float(replicates[0]), bounds.low, bounds.high


def by_length(rows: Measurements, **of: object) -> list[Mapping[str, Row]]:
    """Return the rows of tests of some kind, such as `speakers="equal"`, by metric, of each number
    of sentences in ascending order."""
    of_lengths = rows.select(**of).groups("sentences")
    found: Iterator[Mapping[str, Row]]
    found = ({row["metric"]: row for row in rows} for _, rows in sorted(of_lengths.items()))
    return [of for of in found if {"eer", "rank1"} <= of.keys()]


def rate_at(of_length: Mapping[str, Row]) -> float | None:
    """Return how often the right person is found in tests of a length; None if that is unknown."""
    return of_length.get("rank1", {}).get("value")


def seconds_at(of_length: Mapping[str, Row]) -> float | None:
    """Return the mean seconds of tests of a length; None if they are unknown."""
    return of_length.get("seconds", {}).get("value")


def with_most_speech(results: Results) -> Iterator[tuple[Record, list[Mapping[str, Row]], int]]:
    """Yield, of each system, the attack on anonymized speech of the main split that finds the right
    person most often in the longest tests, its rows by length, of equal speakers, and the number of
    attacks that it was picked from."""
    records = [r for r in results.amounts if not r.condition.is_original]
    split = main_split(results.protocol, records)
    for system in results.systems:
        own = []
        for r in records:
            lengths = by_length(r.measurements, speakers="equal")
            is_of = (r.condition.system, r.condition.split) == (system, split)
            if is_of and lengths and (found := rate_at(lengths[-1])) is not None:
                # By how much the right person is found more often than by guessing.
                own.append((found - 1 / r.facts["n_enrolled"], r, lengths))
        if own:
            _, record, lengths = max(own, key=lambda one: one[0])
            yield record, lengths, len(own)


def is_of_one_session(record: Record) -> bool:
    """Whether all tests of every speaker are known to be of one session."""

    def of(session: str) -> list[dict[str, object]]:
        rows = record.measurements.select(session=session)
        return [{name: v for name, v in row.items() if name != "session"} for row in rows]

    return bool(of("one")) and of("one") == of("any")


def condition_text(protocol: Protocol, record: Record) -> str:
    """Name the attacker and the trial set of a record."""
    c = record.condition
    attacks = {a.id: a.phrase for a in protocol.attack_models}
    titles = {a.id: a.title for a in protocol.other_attackers}
    by = "" if c.is_by_challenge else f", {titles.get(c.attacker, c.attacker)}"
    place = f"{protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
    averaged = ", of averaged scores" * (record.facts["averaged"] == "scores")
    return f"{attacks.get(c.attack_model or '', '')} attacker{by}{averaged}, {place}"


def speech_amounts(results: Results) -> list[SpeechAmount]:
    """Return the amounts that a statement is about: of each system the attack that gains most."""
    found = []
    for record, lengths, number in with_most_speech(results):
        ends = lengths[0], lengths[-1]
        rates, (first, last) = [*map(rate_at, ends)], (of["rank1"] for of in ends)
        seconds = [s for s in map(seconds_at, ends) if s is not None]
        if rates[0] is not None and rates[1] is not None:
            of = f"{record.condition.system}, {condition_text(results.protocol, record)}"
            enrolled = record.facts["n_enrolled"]
            found.append(
                SpeechAmount(
                    (first["sentences"], last["sentences"]),
                    (rates[0], rates[1]),
                    (interval_of(first), interval_of(last)),
                    last["n_speakers"],
                    f"{of}, among {enrolled} enrolled; the highest of {number} attacks"
                    + f"; {ONE_SESSION}" * is_of_one_session(record),
                    (seconds[0], seconds[1]) if len(seconds) == len(ends) else None,
                )
            )
    return found


def inferred(record: Record) -> tuple[Row, Mapping[str, Row]]:
    """Return the risk that a record of an attribute reports, and its recalls by situation."""
    rows = record.measurements
    (risk,) = rows.select(metric="inference_risk")
    return risk, {row["situation"]: row for row in rows.select(metric="attribute_uar")}


def attribute_records(results: Results) -> list[Record]:
    """Return the attributes of the main split."""
    records = results.attributes
    split = main_split(results.protocol, records)
    return [r for r in records if r.condition.split == split]


def inferred_attributes(results: Results) -> list[InferredAttribute]:
    """Return the attributes that a statement is about: the main split's, of each system, attribute
    and results folder the data set with the highest risk."""
    records = attribute_records(results)
    of_attribute = grouped(records, lambda r: (r.condition.system, r.condition.attribute))
    found = []
    for of_system in of_attribute.values():
        r = max(of_system, key=lambda r: inferred(r)[0]["value"])
        c, highest = r.condition, f", the highest risk of {len(of_system)}" * (len(of_system) > 1)
        title = results.protocol.data_set(c.data_set).title
        risk, recalls = inferred(r)
        reported = recalls[risk["situation"]]
        found.append(
            InferredAttribute(
                f"{c.attribute} ({c.system}, {title}{highest})",
                risk["situation"],
                reported["value"],
                recalls[SITUATIONS[0]]["value"],
                (reported["low"], reported["high"]),
                risk["value"],
                (risk["low"], risk["high"]),
            )
        )
    return found
