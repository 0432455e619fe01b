"""What galleries, amounts of speech and attributes disclose, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from ..choices import SITUATIONS
from ..errors import counted
from ..metrics.caveats import few_speakers
from ..numbers.report_data import ReportData, main_split
from ..report.first_screen import highest_of, set_title
from ..results.measurements import PRESENT, Row
from ..results.records import Record
from .numbers import (
    ONE_SESSION,
    Rates,
    attribute_records,
    condition_text,
    inferred,
    is_of_one_session,
    percent,
    rate_at,
    seconds_at,
    speakers_of,
    tests_of,
    with_most_speech,
)

#: A group that people ask about.
_LARGE = 1000


def group_text(size: int, *, mixed: bool) -> str:
    """Describe a group in words that follow "in"; `mixed` if it is of several genders."""
    return f"a group of {size}{' (both genders mixed)' * mixed}"


def basis_text(rates: Row) -> str:
    """Describe the tests that a rate is of, and the recordings behind one."""
    enrolled = ""
    if rates["enrollment"] is not None:
        number = f"{rates['enrollment']:.1f}".removesuffix(".0")
        average = " on average" * (rates["enrollment"] % 1 > 0)
        enrolled = f", each person enrolled with {number}{average}"
    tests, of_test = counted(rates["n_tests"], "test"), counted(rates["length"], "recording")
    return f"{tests}, each of {of_test}{enrolled}"


def named_text(rates: Row, who: str = "the attacker") -> str:
    """Write how often an attacker names the right person of a group, and how often by guessing."""
    picks = f" in {rates['rank']} picks" * (rates["rank"] > 1)
    return (
        f"Among {rates['gallery']} people, {who} names the right one{picks} in {tests_of(rates)}. "
        f"Guessing gives {100 * rates['chance']:.3g} %"
    )


def worst_text(worst: Row, data: ReportData) -> str:
    """Name the speaker who is identified most often, for the first screen."""
    record, tied = worst["record"], worst["tied"]
    who, whom, tests = f"speaker: {worst['speaker']}", "this person", tests_of(worst)
    if tied > 1:
        every = "all " * (tied == len(speakers_of(record)))
        who, whom, tests = f"speakers: {every}{tied} alike", "each of them", f"{tests}, or as often"
    chosen = f". {highest_of(worst['among'])}" * (not (tied > 1 and worst["alike"]))
    attack = data.protocol.attack(record.condition.attack_model or "").phrase
    return (
        f"Least protected {who} ({set_title(data, record.condition)}). The {attack} attacker names "
        f"{whom} in {tests}. The search is among {worst['gallery']} people{chosen}"
        f"{also_instead(worst)}"
    )


def also_instead(worst: Row) -> str:
    """Say that the person who is identified most often is named for others, too, after a sentence
    without its full stop; "" if not."""
    if (row := worst["instead"]) is None:
        return ""
    whom = "this person" if worst["tied"] == 1 else "one of them"
    return f". Others are taken for {whom} in {tests_of(row)}, so a match is weak evidence"


def identification_sentences(found: Rates) -> list[str]:
    """Say in plain words what the strongest attack model on each system finds."""
    data, most = found.data, dict[str, tuple[float, str]]()
    attacks = {a.id: a for a in data.protocol.attack_models if not a.is_original}
    main = main_split(data.protocol, data.results.identification)
    for (system, attack, split), rates in found.identified.items():
        if attack in attacks and split == main:
            text = named_text(rates, f"the {attacks[attack].phrase} attacker")
            text = f"{system}: {text[:1].lower()}{text[1:]}."
            reached = rates["value"] - rates["chance"], text
            most[system] = max(most.get(system, reached), reached)
    instead = (
        f"{system}: the {attacks[row['record'].condition.attack_model].phrase} attacker takes "
        f"{instead_text(row)}"
        for system, row in found.named_for_others.items()
    )
    return [*(text for _, text in most.values()), *instead, *_largest(data)]


#: What follows if a person is named more often than by guessing, if not, or if that is unknown.
_INSTEAD = {
    True: "This is more than chance: do not take a match for evidence against a person",
    False: "This can be chance",
    None: "Whether this is chance was not tested: it needs --bootstrap and two test speakers",
}


def instead_text(row: Row) -> str:
    """Write how often others are taken for one person, after "takes"."""
    return (
        f"others for one and the same person in {tests_of(row)}. Guessing gives "
        f"{100 * row['chance']:.3g} %. {_INSTEAD[row['is_more']]}."
    )


def _largest(data: ReportData) -> list[str]:
    """Say which groups the data allow if they are smaller than those that people ask about."""
    largest = max((r.facts["n_enrolled"] for r in data.results.identification), default=_LARGE)
    if largest >= _LARGE:
        return []
    return [
        f"These data allow statements on groups of 2 to {largest} people. A group of {_LARGE} "
        "needs more enrolled people: recordings of others by the option --distractors "
        "(docs/identification.md)."
    ]


def amount_sentences(data: ReportData) -> list[str]:
    """Say of each system how much more an attacker with more speech finds."""
    sentences = []
    for record, lengths, number in with_most_speech(data.results):
        first, last = lengths[0], lengths[-1]
        if len(lengths) == 1 or rate_at(first) is None:
            continue
        longest, shortest = last["rank1"], first["rank1"]
        sentences.append(
            f"{record.condition.system}: with {counted(longest['sentences'], 'sentence')}"
            f"{_seconds(last)} of a person, the attacker names the right one in "
            f"{tests_of(longest)}. With {shortest['sentences']}{_seconds(first)}, "
            f"in {tests_of(shortest)}. It is the {condition_text(data.protocol, record)}, "
            f"among {record.facts['n_enrolled']} enrolled people. Of {number} attacks it finds "
            f"most, so partly by chance{_by_session(record)}"
        )
    return sentences


def _seconds(of_length: Mapping[str, Row]) -> str:
    seconds = seconds_at(of_length)
    return "" if seconds is None else f" ({seconds:.3g} s)"


def _by_session(record: Record) -> str:
    """Say what the longest tests within one session find, or that there are no others."""
    if is_of_one_session(record):
        return f". {ONE_SESSION[:1].upper()}{ONE_SESSION[1:]}"
    rows = record.measurements.select(metric="rank1", session=("one", "any"), value=PRESENT)
    pairs = [pair for _, pair in sorted(rows.groups("sentences").items()) if len(pair) == 2]
    if not pairs or pairs[-1][0]["sentences"] == 1:
        return ""
    one, whole = pairs[-1]
    return (
        f". With {counted(one['sentences'], 'sentence')} of one session, in "
        f"{tests_of(one)}. With those of any session, in {tests_of(whole)}"
    )


def attribute_sentences(data: ReportData) -> list[str]:
    """Say of each system, attribute and data set what vectors give away."""
    sentences = []
    for r in attribute_records(data.results):
        c, (risk, recalls) = r.condition, inferred(r)
        knows = "anonymized" if risk["situation"] == SITUATIONS[2] else "original"
        few = few_speakers(r.facts["classes"])
        sentences.append(
            f"{c.system}, {c.attribute} ({data.protocol.data_set(c.data_set).title}): average "
            f"recall is {percent(recalls[risk['situation']]['value'])} on anonymized "
            f"speech, on original speech {percent(recalls[SITUATIONS[0]]['value'])}. Chance is "
            f"{100 / len(r.facts['classes']):.3g} %. The classifier learned from {knows} speech of "
            "others" + (f". {few[:1].upper()}{few[1:]}" if few else "")
        )
    return sentences
