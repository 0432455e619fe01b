"""Identification of one system in galleries: tables, and what they mean in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..errors import counted
from ..metrics.identification import OF_SPEAKERS, SpeakerLinkage, singling_out_chance
from ..numbers.groups import main_split
from ..numbers.identification import Identified, Overlap, SingledOut, percent
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..results.records import IdentificationRecord, Results
from .split_tables import table_of_records
from .table import AMONG_MANY, Column, Key, Table, aligned

#: A group that people ask about.
_LARGE = 1000

_OVERLAP = "Statistics of the quarters found most often"

#: Speakers in a table of the least protected ones.
WORST_SPEAKERS = 3

_NOT_RANKED = "Values far above chance are bad; values below chance are not more private"


def identification_tables(data: ReportData, title: str) -> list[Table]:
    """Return all tables of identification of one results folder of a system."""
    return [
        identification_table(data.results, title),
        singling_out_table(data.results, title),
        identification_speakers_table(data, title),
    ]


def identification_table(results: Results, title: str) -> Table:
    """Identification rates in galleries: a row per trial set and attack model."""
    records = results.identification
    sizes = sorted({size for r in records for size in r.sizes} - {1})

    def rows(r: IdentificationRecord) -> list[Key]:
        rates = dict(zip(r.sizes, r.linkage, strict=True))
        bounds = dict(zip(r.sizes, r.intervals, strict=False))
        linkage = [_percent(rates[n], bounds.get(n)) if n in rates else "" for n in sizes]
        return [(str(r.n_tests), str(r.n_enrolled), *linkage)]

    levels = {(n, level) for r in records for n, level in zip(r.sizes, r.chance(), strict=True)}
    chance = ", ".join(
        " or ".join(f"{100 * level:.3g}" for size, level in sorted(levels) if size == n)
        for n in sizes
    )
    ranks = " or ".join(str(rank) for rank in sorted({r.rank for r in records}))
    highest = "scores highest" if ranks in ("", "1") else f"is among the {ranks} highest scores"
    caption = (
        f"Identification: {title} (how often the right speaker {highest} in a group of N "
        f"enrolled speakers, %; chance: {chance})."
    )
    notes = [
        f"The data allow groups of up to {max((r.n_enrolled for r in records), default=0)} people; "
        "larger ones need more enrolled people (--distractors)"
    ]
    if {0.0, 1.0} & {rate for r in records if r.intervals for rate in r.linkage}:
        notes.append(OF_SPEAKERS)
    if left_out := sum(r.not_enrolled for r in records):
        notes.append(f"{left_out} trial speakers of all rows are not enrolled and left out")
    if any(len(r.genders) > 1 for r in records):
        notes.append("Groups are of both genders")
    usual = {model.backend for model in results.protocol.asv_models} or {"plda"}
    if others := sorted({str(r.provenance.get("backend", "plda")) for r in records} - usual):
        usual_names = " or ".join(sorted(usual)).replace("plda", "PLDA")
        notes.append(f"Scored by {' and '.join(others)} instead of {usual_names}")
    if more := [r for r in records if r.distractors]:
        least, most = (f(r.n_distractors for r in more) for f in (min, max))
        notes.append(
            f"Of the enrolled speakers {least}{f' to {most}' * (most > least)} are distractors of "
            f"{', '.join(sorted({r.distractors for r in more}))}"
        )
    columns = (*aligned("r", "Tests", "Enrolled"), *_of_sizes(sizes))
    return table_of_records(
        Table("identification", caption, columns, notes=tuple(notes), section=AMONG_MANY),
        results.protocol,
        records,
        rows,
    )


def singling_out_table(results: Results, title: str) -> Table:
    """Tabulate how often exactly one person is accepted for an enrolled one; never ranked."""
    records = [r for r in results.identification if r.singling_out.sizes]
    sizes = sorted({n for r in records for n in r.singling_out.sizes})

    def rows(r: IdentificationRecord) -> list[Key]:
        values = dict(zip(r.singling_out.sizes, r.singling_out.values, strict=True))
        bounds = dict(zip(r.singling_out.sizes, r.singling_out.intervals, strict=False))
        texts = (_percent(values[n], bounds.get(n)) if n in values else "" for n in sizes)
        return [(str(r.singling_out.n_speakers), *texts)]

    chance = ", ".join(f"{100 * p:.1f}" for p in singling_out_chance(sizes))
    caption = (
        f"Singling out: {title} (rate at which exactly one of N test speakers is accepted for "
        f"an enrolled speaker, %; chance: {chance})."
    )
    notes = [_NOT_RANKED]
    if refused := Counter(
        r.singling_out.refused for r in results.identification if r.singling_out.refused
    ):
        notes += [f"Not computed in {counted(n, 'row')}: {why}" for why, n in refused.items()]
    columns = (*aligned("r", "Speakers"), *_of_sizes(sizes))
    return table_of_records(
        Table(
            "identification_singling_out", caption, columns, notes=tuple(notes), section=AMONG_MANY
        ),
        results.protocol,
        records,
        rows,
    )


def identification_speakers_table(data: ReportData, title: str) -> Table:
    """The most often found speakers of every trial set and attack model, hidden in averages."""
    records = [r for r in data.results.identification if r.speakers]

    def rows(r: IdentificationRecord) -> Iterator[Key]:
        for of_rate in _most_often_found(r.speakers):
            tied = len(of_rate) > 1
            who = f"{len(of_rate)} speakers alike" if tied else of_rate[0].speaker
            rates = zip(*((s.linkage, s.first, s.second) for s in of_rate), strict=True)
            percent = (_span(f"{100 * v:.1f}" for v in sorted(values)) for values in rates)
            tests = _span(map(str, sorted(s.n_tests for s in of_rate)))
            yield str(r.speakers_size), who, tests, *percent

    columns = [Column("N", align="r", sparse=True), Column("Speaker", align="l")]
    columns += aligned("r", "Tests", "Found, %", "Tests 1, 3, ...", "Tests 2, 4, ...")
    notes = []
    if data.halves is not None:
        first, second = data.halves
        notes.append(
            "The worst of many speakers are so partly by chance. The "
            f"quarter selected on tests 1, 3, ... is found in {100 * first:.1f} % of these, but in "
            f"{100 * second:.1f} % of tests 2, 4, ... (means over trial sets)"
        )
    plain, statistics = _overlap_notes(data.protocol, data.overlaps)
    notes += [*plain, *([f"{_OVERLAP}: {'; '.join(statistics)}"] if statistics else [])]
    caption = (
        f"The {WORST_SPEAKERS} most often found speakers of each trial set: {title} (in groups "
        "of N enrolled speakers)."
    )
    return table_of_records(
        Table(
            "identification_speakers",
            caption,
            tuple(columns),
            notes=tuple(notes),
            section=AMONG_MANY,
        ),
        data.protocol,
        records,
        rows,
    )


def _of_sizes(sizes: Iterable[int]) -> Iterator[Column]:
    return (Column(f"N = {n}", align="r") for n in sizes)


def _most_often_found(speakers: Sequence[SpeakerLinkage]) -> Iterator[Sequence[SpeakerLinkage]]:
    """Yield the most often found speakers one by one; those who tie with the last of them and with
    more speakers together, as nothing but the order of their ids would choose among them."""
    last = speakers[:WORST_SPEAKERS][-1].linkage
    above = [s for s in speakers if s.linkage > last]
    tied = [s for s in speakers if s.linkage == last]
    yield from ([s] for s in above)
    yield from [[s] for s in tied] if len(above) + len(tied) <= WORST_SPEAKERS else [tied]


def _span(texts: Iterable[str]) -> str:
    """Write the first and last of sorted values, or what they have in common."""
    first, *_, last = [*texts] * 2
    return first if first == last else f"{first} to {last}"


def _overlap_notes(protocol: Protocol, overlaps: Iterable[Overlap]) -> tuple[list[str], list[str]]:
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
            f"Of the quarter of the people found most often {others}; by chance it would "
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


def rate_text(rates: Identified) -> str:
    """Write how often the right person is found, with the interval if there is one."""
    return f"{percent(rates.rate, rates.interval)} of the time"


def basis_text(rates: Identified) -> str:
    """Describe the tests that a rate is of, and the recordings behind one."""
    enrolled = ""
    if rates.enrollment is not None:
        number = f"{rates.enrollment:.1f}".removesuffix(".0")
        average = " on average" * (rates.enrollment % 1 > 0)
        enrolled = f", each person enrolled with {number}{average}"
    return (
        f"{counted(rates.n_tests, 'test')}, each of {counted(rates.length, 'recording')}{enrolled}"
    )


def identification_sentences(data: ReportData) -> list[str]:
    """Describe identification in plain words, a sentence per system and attack model."""
    attacks = {a.id: a for a in data.protocol.attack_models}
    sentences = []
    reached: dict[str, list[tuple[float, str]]] = {}
    main = main_split(data.protocol, data.results.identification)
    title = data.protocol.split_title(main)
    for (system, attack, split), rates in data.identified.items():
        if attack not in attacks or split != main:
            continue
        kind = attacks[attack]
        speech = "original speech" if kind.is_original else f"{kind.phrase} attacker"
        picks = (
            "picks the right person"
            if rates.rank == 1
            else f"has the right person in {rates.rank} picks"
        )
        group = group_text(rates.size, mixed=rates.mixed)
        sentences.append(
            f"{system}, {speech} ({title}): in {group}, this attacker {picks} "
            f"{rate_text(rates)}; chance is {100 * rates.chance:.3g} % ({basis_text(rates)})."
        )
        if rates.singled_out is not None:
            sentences[-1] += _singled(rates.singled_out)
        if not kind.is_original:
            text = f"{kind.phrase}: {rate_text(rates)} in a group of {rates.size}"
            reached.setdefault(system, []).append((rates.rate - rates.chance, text))
    for system, of_system in reached.items():
        if len(of_system) > 1:
            sentences.append(f"{system}, the strongest of its attackers is {max(of_system)[1]}.")
    plain, statistics = _overlap_notes(data.protocol, data.overlaps_of_systems)
    notes = [f"{_OVERLAP}: {'; '.join(statistics)}"] if statistics else []
    return [*sentences, *_largest(data), *(f"{s}." for s in (*plain, *notes))]


def _largest(data: ReportData) -> list[str]:
    """Say which groups the data allow if they are smaller than those that people ask about."""
    largest = max((r.n_enrolled for r in data.results.identification), default=_LARGE)
    if largest >= _LARGE:
        return []
    return [
        f"These data allow statements on groups of 2 to {largest} people. Larger ones, such as "
        f"{_LARGE}, need more enrolled people: recordings of others by the option --distractors "
        "(docs/identification.md)."
    ]


def _singled(out: SingledOut) -> str:
    """Describe singling out in plain words."""
    return (
        f" Looking for one person among {out.size} voices, this attacker takes exactly one voice "
        f"for that person {out.text} of the time; by guessing, "
        f"{100 * singling_out_chance([out.size])[0]:.0f} % (more seldom is not safer: then the "
        "attacker takes several voices, or none)."
    )


def _percent(value: float, bounds: Sequence[float] | None) -> str:
    """Format a probability in percent, with its interval."""
    interval = " [{:.1f}, {:.1f}]".format(*(100 * b for b in bounds)) if bounds else ""
    return f"{100 * value:.1f}{interval}"
