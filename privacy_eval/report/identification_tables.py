"""Identification of one system in galleries: tables, and what they mean in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..errors import counted
from ..metrics.identification import singling_out_chance
from ..numbers.groups import main_split
from ..numbers.identification import Overlap, mean_halves, overlaps
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..results.records import (
    IdentificationRecord,
    Results,
)
from .split_tables import WORST_SPEAKERS, Key, set_groups
from .table import AMONG_MANY, Column, Table, aligned

_NOT_RANKED = "Values far above chance are bad; values below chance are not more private"


def identification_table(results: Results, title: str) -> Table:
    """Identification rates in galleries: a row per trial set and attack model."""
    records = results.identification
    sizes = sorted({size for r in records for size in r.sizes} - {1})

    def rows(r: IdentificationRecord) -> list[Key]:
        rates = dict(zip(r.sizes, r.linkage, strict=True))
        bounds = dict(zip(r.sizes, r.intervals, strict=False))
        linkage = [_percent(rates[n], bounds.get(n)) if n in rates else "" for n in sizes]
        return [(str(r.n_tests), str(r.n_enrolled), *linkage)]

    chance = ", ".join(f"{100 / n:.3g}" for n in sizes)
    caption = (
        f"Identification: {title} (how often the right speaker scores highest in a group of N "
        f"enrolled speakers, %; chance: {chance})."
    )
    notes = [
        f"The data allow groups of up to {max((r.n_enrolled for r in records), default=0)} people; "
        "larger ones need more enrolled people (--distractors)"
    ]
    if left_out := sum(r.not_enrolled for r in records):
        notes.append(f"{left_out} trial speakers of all rows are not enrolled and left out")
    if any(len(r.genders) > 1 for r in records):
        notes.append("Groups are of both genders")
    if others := sorted({str(r.provenance.get("backend", "plda")) for r in records} - {"plda"}):
        notes.append(f"Scored by {' and '.join(others)} instead of PLDA")
    if more := [r for r in records if r.distractors]:
        least, most = (f(r.n_distractors for r in more) for f in (min, max))
        notes.append(
            f"Of the enrolled speakers {least}{f' to {most}' * (most > least)} are distractors of "
            f"{', '.join(sorted({r.distractors for r in more}))}"
        )
    columns = aligned("r", "Tests", "Enrolled", *(f"N = {n}" for n in sizes))
    table = _gallery_table(results.protocol, records, columns, rows)
    return replace(table, name="identification", caption=caption, notes=tuple(notes))


def singling_out_table(results: Results, title: str) -> Table:
    """Tabulate how often exactly one person is accepted for an enrolled one; never ranked."""
    records = [r for r in results.identification if r.singling_out.sizes]
    sizes = sorted({n for r in records for n in r.singling_out.sizes})

    def rows(r: IdentificationRecord) -> list[Key]:
        values = dict(zip(r.singling_out.sizes, r.singling_out.values, strict=True))
        texts = (_percent(values[n], None) if n in values else "" for n in sizes)
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
    columns = aligned("r", "Speakers", *(f"N = {n}" for n in sizes))
    table = _gallery_table(results.protocol, records, columns, rows)
    return replace(table, name="identification_singling_out", caption=caption, notes=tuple(notes))


def identification_speakers_table(data: ReportData, title: str) -> Table:
    """The most often found speakers of every trial set and attack model, hidden in averages."""
    records = [r for r in data.results.identification if r.speakers]

    def rows(r: IdentificationRecord) -> Iterator[Key]:
        for s in r.speakers[:WORST_SPEAKERS]:
            rates = (f"{100 * value:.1f}" for value in (s.linkage, s.first, s.second))
            yield str(r.speakers_size), s.speaker, str(s.n_tests), *rates

    columns = [Column("N", align="r", sparse=True), Column("Speaker", align="l")]
    columns += aligned("r", "Tests", "Found, %", "Tests 1, 3, ...", "Tests 2, 4, ...")
    notes = []
    if (halves := mean_halves(data.results.identification)) is not None:
        first, second = halves
        notes.append(
            "The worst of many speakers are so partly by chance. The "
            f"quarter selected on tests 1, 3, ... is found in {100 * first:.1f} % of these, but in "
            f"{100 * second:.1f} % of tests 2, 4, ... (means over rows)"
        )
    notes += _overlap_sentences(data.protocol, overlaps(data.results.identification))
    caption = (
        f"The {WORST_SPEAKERS} most often found speakers of each trial set: {title} (in groups "
        "of N enrolled speakers)."
    )
    table = _gallery_table(data.protocol, records, columns, rows)
    return replace(table, name="identification_speakers", caption=caption, notes=tuple(notes))


def _gallery_table(
    protocol: Protocol,
    records: Iterable[IdentificationRecord],
    columns: Iterable[Column],
    rows: Callable[[IdentificationRecord], Iterable[Key]],
) -> Table:
    """Make a table of rows of records, a group per trial set."""
    attacks = {a.id: a.title for a in protocol.attack_models}

    def with_attack(r: IdentificationRecord) -> list[Key]:
        return [(attacks.get(r.condition.attack_model or "", ""), *cells) for cells in rows(r)]

    identity = (
        Column("Trial set", align="l", sparse=True),
        Column("Gen", sparse=True),
        Column("Attack model", align="l", sparse=True),
    )
    groups = set_groups(protocol, records, with_attack)
    return Table("", "", (*identity, *columns), groups, fit="landscape", section=AMONG_MANY)


def _overlap_sentences(protocol: Protocol, shared: Iterable[Overlap]) -> list[str]:
    """Describe how far the most often found speakers agree between two attack models or, under a
    single one, between systems."""
    attacks = {a.id: a.title for a in protocol.attack_models}
    sentences = []
    for overlap in shared:
        one, other = overlap.attack_models
        a, b = attacks.get(one, one), attacks.get(other, other)
        title = f"pairs of systems, {a}" if one == other else f"{a} and {b}"
        jaccard, correlation = (
            "{:.2f} [{:.2f}, {:.2f}]".format(*value)
            for value in (overlap.jaccard, overlap.correlation)
        )
        sentences.append(
            f"Overlap (Jaccard index) of the quarters found most often, {title}: {jaccard} (about "
            f"0.14 if independent); rank correlation of all speakers: {correlation}"
        )
    return sentences


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
        speech = "original speech" if kind.is_original else f"{kind.title.lower()} attacker"
        picks = (
            "picks the right person"
            if rates.rank == 1
            else f"has the right person in {rates.rank} picks"
        )
        share = f"{100 * rates.rate:.0f} % of the time"
        sentences.append(
            f"{system}, {speech} ({title}): in a group of {rates.size}, this attacker {picks} "
            f"{share}; chance is {100 * rates.chance:.3g} %."
        )
        if rates.singled_out is not None:
            sentences[-1] += _singled(*rates.singled_out)
        if not kind.is_original:
            text = f"{kind.title.lower()}: {share} in a group of {rates.size}"
            reached.setdefault(system, []).append((rates.rate, text))
    for system, of_system in reached.items():
        if len(of_system) > 1:
            sentences.append(f"{system}, the strongest of its attackers is {max(of_system)[1]}.")
    of_systems = overlaps(data.results.identification, of_systems=True)
    return [
        *sentences,
        *(f"{s}." for s in _overlap_sentences(data.protocol, of_systems)),
    ]


def _singled(size: int, rate: float) -> str:
    """Describe singling out in plain words."""
    return (
        f" Looking for one person among {size} voices, this attacker takes exactly one voice for "
        f"that person {100 * rate:.0f} % of the time; by guessing, "
        f"{100 * singling_out_chance([size])[0]:.0f} % (more seldom is not safer: then the "
        "attacker takes several voices, or none)."
    )


def _percent(value: float, bounds: Sequence[float] | None) -> str:
    """Format a probability in percent, with its interval."""
    interval = " [{:.1f}, {:.1f}]".format(*(100 * b for b in bounds)) if bounds else ""
    return f"{100 * value:.1f}{interval}"
