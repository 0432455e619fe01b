"""What galleries, amounts of speech and attributes disclose, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..choices import SITUATIONS
from ..errors import counted
from ..metrics.caveats import few_speakers
from ..numbers.groups import main_split
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..report.first_screen import highest_of, set_title
from ..results.measurements import PRESENT, Row
from ..results.records import Record
from .linkage import singling_out_chance
from .numbers import (
    ONE_SESSION,
    Overlap,
    Rates,
    attribute_records,
    condition_text,
    inferred,
    is_mixed,
    is_of_one_session,
    overlaps,
    percent,
    rate_at,
    rate_of,
    seconds_at,
    speakers_of,
    speakers_size,
    with_most_speech,
)

#: A group that people ask about.
_LARGE = 1000

OVERLAP = "Statistics of the quarters found most often"


def overlap_notes(protocol: Protocol, overlaps: Iterable[Overlap]) -> tuple[list[str], list[str]]:
    """Describe in plain words how far the most often found speakers agree between two attack models
    or, under a single one, between systems; and name the statistics."""
    attacks = {
        a.id: "original-speech" if a.is_original else a.phrase for a in protocol.attack_models
    }
    sentences, statistics = [], []
    for overlap in overlaps:
        one, other = (attacks.get(a, a) for a in overlap.attack_models)
        share = "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * value for value in overlap.shared))
        others = (
            f"by the {one} attacker, {share} are also among those found most often by the {other} "
            "one"
        )
        if one == other:
            others = (
                f"in one system, {share} are also among those found most often in another ({one} "
                "attacker)"
            )
        sentences.append(
            f"Of the quarter of the people found most often {others}. By chance it would "
            f"be {100 * overlap.chance:.0f} %"
        )
        jaccard, correlation = (
            "{:.2f} [{:.2f}, {:.2f}]".format(*value)
            for value in (overlap.jaccard, overlap.correlation)
        )
        title = f"systems, {one}" if one == other else f"{one} and {other}"
        statistics.append(
            f"{title}: Jaccard index {jaccard}, rank correlation of all speakers {correlation}"
        )
    return sentences, statistics


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


def found_text(rates: Row) -> str:
    """Write how often the right person is found in a group, for the first screen."""
    return (
        f"In {group_text(rates['gallery'], mixed=rates['mixed'])} the right person is found "
        f"{rate_of(rates)} of the time. Chance is {100 * rates['chance']:.3g} %. There were "
        f"{basis_text(rates)}"
    )


def worst_text(worst: Row, data: ReportData) -> str:
    """Name the speaker who is identified most often, for the first screen."""
    record, tied = worst["record"], worst["tied"]
    who, tests = f"speaker {worst['speaker']}", counted(worst["n_tests"], "test")
    if tied > 1:
        who = f"{'all ' * (tied == len(speakers_of(record)))}{tied} speakers alike"
        tests = f"at least {tests} each"
    chosen = f" {highest_of(worst['among'])}" * (not (tied > 1 and worst["alike"]))
    attack = data.protocol.attack(record.condition.attack_model or "").phrase
    return (
        f"Worst protected under the challenge's attack models: {who} "
        f"({set_title(data, record.condition)}). The {attack} attacker finds the right person "
        f"{rate_of(worst)} of the time, in {tests}. The search is in "
        f"{group_text(speakers_size(record), mixed=is_mixed(record))}.{chosen}"
    )


def identification_sentences(found: Rates) -> list[str]:
    """Describe identification in plain words, a sentence per system and attack model."""
    data, sentences = found.data, []
    attacks = {a.id: a for a in data.protocol.attack_models}
    reached: dict[str, list[tuple[float, str]]] = {}
    main = main_split(data.protocol, data.results.identification)
    title = data.protocol.split_title(main)
    for (system, attack, split), rates in found.identified.items():
        if attack not in attacks or split != main:
            continue
        kind = attacks[attack]
        speech = "original speech" if kind.is_original else f"{kind.phrase} attacker"
        picks = (
            "picks the right person"
            if rates["rank"] == 1
            else f"has the right person in {rates['rank']} picks"
        )
        group = group_text(rates["gallery"], mixed=rates["mixed"])
        often, chance = f"{rate_of(rates)} of the time", rates["chance"]
        sentences.append(
            f"{system}, {speech} ({title}): this attacker {picks} {often}. The search is in "
            f"{group}; chance is {100 * chance:.3g} %. There were {basis_text(rates)}."
        )
        if rates["singled_out"] is not None:
            sentences[-1] += _singled(rates["singled_out"])
        if not kind.is_original:
            text = f"{kind.phrase}: {often} in a group of {rates['gallery']}"
            reached.setdefault(system, []).append((rates["value"] - chance, text))
    for system, of_system in reached.items():
        if len(of_system) > 1:
            sentences.append(f"{system}, the strongest of its attackers is {max(of_system)[1]}.")
    plain, statistics = overlap_notes(data.protocol, overlaps(found.counted, of_systems=True))
    notes = [f"{OVERLAP}: {'; '.join(statistics)}"] if statistics else []
    return [*sentences, *_largest(data), *(f"{s}." for s in (*plain, *notes))]


def _largest(data: ReportData) -> list[str]:
    """Say which groups the data allow if they are smaller than those that people ask about."""
    largest = max((r.facts["n_enrolled"] for r in data.results.identification), default=_LARGE)
    if largest >= _LARGE:
        return []
    return [
        f"These data allow statements on groups of 2 to {largest} people. Larger ones, such as "
        f"{_LARGE}, need more enrolled people: recordings of others by the option --distractors "
        "(docs/identification.md)."
    ]


def _singled(out: Row) -> str:
    """Describe singling out in plain words."""
    size = out["gallery"]
    return (
        f" Singling out: the attacker takes exactly one of {size} voices for a person in "
        f"{rate_of(out)} of the searches. Guessing does so in "
        f"{100 * singling_out_chance([size])[0]:.0f} %. A lower rate is not safer: then the "
        "attacker takes several voices, or none."
    )


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
            f"{_seconds(last)} instead of {shortest['sentences']}{_seconds(first)}, the right one "
            f"of {record.facts['n_enrolled']} enrolled people is found {rate_of(longest)} instead "
            f"of {rate_of(shortest)} of the time ({condition_text(data.protocol, record)}; "
            f"{counted(longest['n_speakers'], 'speaker')}; the attack that finds most of {number}, "
            f"so partly by chance{_by_session(record)})"
        )
    return sentences


def _seconds(of_length: Mapping[str, Row]) -> str:
    seconds = seconds_at(of_length)
    return "" if seconds is None else f" ({seconds:.3g} s)"


def _by_session(record: Record) -> str:
    """Say what the longest tests within one session find, or that there are no others."""
    if is_of_one_session(record):
        return f"; {ONE_SESSION}"
    rows = record.measurements.select(metric="rank1", session=("one", "any"), value=PRESENT)
    pairs = [pair for _, pair in sorted(rows.groups("sentences").items()) if len(pair) == 2]
    if not pairs or pairs[-1][0]["sentences"] == 1:
        return ""
    one, whole = pairs[-1]
    return (
        f"; with {counted(one['sentences'], 'sentence')} of one session {rate_of(one)}, of any "
        f"session {rate_of(whole)}, of {counted(one['n_speakers'], 'speaker')}"
    )


def attribute_sentences(data: ReportData) -> list[str]:
    """Say of each system, attribute and data set what vectors give away."""
    sentences = []
    for r in attribute_records(data.results):
        c, (risk, recalls) = r.condition, inferred(r)
        knows = "anonymized" if risk["situation"] == SITUATIONS[2] else "original"
        few = few_speakers(r.facts["classes"])
        sentences.append(
            f"{c.system}, {c.attribute} ({data.protocol.data_set(c.data_set).title}): a classifier "
            f"that learned from {knows} speech of others has an average recall of "
            f"{rate_of(recalls[risk['situation']])} on anonymized speech, with original speech "
            f"{percent(recalls[SITUATIONS[0]]['value'])}; chance is "
            f"{100 / len(r.facts['classes']):.3g} %" + (f"; {few}" if few else "")
        )
    return sentences
