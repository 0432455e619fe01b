"""What records say of the amount of speech and of attributes, for sentences and the statement."""

from __future__ import annotations

from collections.abc import Iterator

from ..choices import SITUATIONS, grouped
from ..io.evidence import InferredAttribute, SpeechAmount
from ..protocol.protocol import Protocol
from ..results.records import AmountRecord, AttributeRecord, Results
from .groups import main_split

#: What to know of tests whose speakers have a single session.
ONE_SESSION = (
    "all test speech of a person is of one session, which shows less risk than speech of several"
)


def with_most_speech(results: Results) -> Iterator[tuple[AmountRecord, int]]:
    """Yield, of each system, the attack on anonymized speech of the main split that finds the right
    person most often in the longest tests, and the number of attacks that it was picked from."""
    records = [r for r in results.amounts if not r.condition.is_original]
    split = main_split(results.protocol, records)
    for system in results.systems:
        own = [
            r
            for r in records
            if (r.condition.system, r.condition.split) == (system, split)
            and r.equal[-1].rank1 is not None
        ]
        if own:
            # By how much the right person is found more often than by guessing.
            yield max(own, key=lambda r: (r.equal[-1].rank1 or 0.0) - 1 / r.n_enrolled), len(own)


def condition_text(protocol: Protocol, record: AmountRecord) -> str:
    """Name the attacker and the trial set of a record."""
    c = record.condition
    attacks = {a.id: a.phrase for a in protocol.attack_models}
    titles = {a.id: a.title for a in protocol.other_attackers}
    by = "" if c.is_by_challenge else f", {titles.get(c.attacker, c.attacker)}"
    place = f"{protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
    averaged = ", of averaged scores" * (record.averaged == "scores")
    return f"{attacks.get(c.attack_model or '', '')} attacker{by}{averaged}, {place}"


def speech_amounts(results: Results) -> list[SpeechAmount]:
    """Return the amounts that a statement is about: of each system the attack that gains most."""
    found = []
    for record, number in with_most_speech(results):
        first, last = record.equal[0], record.equal[-1]
        if first.rank1 is not None and last.rank1 is not None:
            of = f"{record.condition.system}, {condition_text(results.protocol, record)}"
            found.append(
                SpeechAmount(
                    (first.length, last.length),
                    (first.rank1, last.rank1),
                    (first.rank1_interval, last.rank1_interval),
                    last.speakers,
                    f"{of}, among {record.n_enrolled} enrolled; the highest of {number} attacks"
                    + f"; {ONE_SESSION}" * record.is_of_one_session,
                    record.seconds,
                )
            )
    return found


def attribute_records(results: Results) -> list[AttributeRecord]:
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
        r = max(of_system, key=lambda r: r.strongest.risk)
        c, highest = r.condition, f", the highest risk of {len(of_system)}" * (len(of_system) > 1)
        title = results.protocol.data_set(c.data_set).title
        found.append(
            InferredAttribute(
                f"{c.attribute} ({c.system}, {title}{highest})",
                r.reported,
                r.strongest.uar,
                r.situations[SITUATIONS[0]].uar,
                r.strongest.interval,
                r.strongest.risk,
                r.strongest.risk_interval,
            )
        )
    return found
