"""What records say of the amount of speech and of attributes, for sentences and the statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..choices import SITUATIONS, grouped
from ..io.evidence import InferredAttribute, SpeechAmount
from ..protocol.protocol import Protocol
from ..results.measurements import Measurements, Row
from ..results.records import Record, Results
from .cells import interval_of
from .groups import main_split

#: What to know of tests whose speakers have a single session.
ONE_SESSION = (
    "all test speech of a person is of one session, which shows less risk than speech of several"
)


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
