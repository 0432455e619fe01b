"""Compose the report: tables, figures, and how each number was made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import digest
from ..metrics import METRICS
from ..numbers.cells import cells_from_results
from ..numbers.notes import caveat_notes
from ..numbers.report_data import ReportData, ReportSources
from ..protocol.protocol import Protocol
from .across_systems import comparison_tables, submissions_table
from .answer import front
from .figure_folder import drawn_from, read_captions
from .figures import KINDS
from .forms import main_split
from .html import Front, Picture, Section
from .identification import identification_sentences
from .per_system import system_tables
from .provenance import provenance_tables
from .ranking import ranking_tables
from .summary import summary_table
from .table import Table
from .utility import utility_tables

_VARIANTS = (
    "Values that the released scripts (challenge) print differently from their definition (exact), "
    "and where they differ the EERs of Kaldi and SpeechBrain, which are the same in both."
)
_SPEAKERS = (
    "An average hides unprotected speakers. These are the least protected by de-identification "
    "(voice similarity); the first screen names the speaker who is found most often."
)
_GALLERY_TABLES = tuple(f"-identification{e}" for e in ("", "_singling_out", "_speakers"))
_CURVES = (
    "Point at a curve for its values. As files (PNG, PDF, pgfplots): privacy-eval figures "
    "--all-figures."
)
_PROVENANCE = (
    "Files with the first digits of their SHA-256; results.json has all digits. For gzip files it "
    "is the SHA-256 of the unpacked content. Paths are relative to the tree."
)


def report_sections(
    data: ReportData, *, figures: Path | None = None, inserted: Sequence[Section] = ()
) -> tuple[Front, list[Section], list[str]]:
    """Compose the report: the first screen and the sections; also return notes for the log.

    Parameters
    ----------
    figures : Path, optional
        A folder of figures of the same results.
    inserted : sequence of Section
        Of other sources, such as a listening test; after the tables of several systems.

    Raises
    ------
    PrivacyEvalError
        The figures are of other results, or damaged.
    """
    results = data.results
    tables, notes = across_tables(data)
    across = {table.name: table for table in tables}
    split = main_split(data.protocol, results.verification)
    protocol = data.protocol
    ranked = f"ranking_{protocol.eer}_{protocol.average_attack_model}_{split}"
    ranking = [across.pop(name) for name in [*across] if name.startswith(ranked)]
    published = [across.pop(name) for name in [*across] if name == "published_systems"]
    drawn = _figure_sections(data, figures) if figures is not None else []
    plane = tuple(p for s in drawn for p in s.pictures if p.name == f"plane_{split}")
    drawn = [replace(s, pictures=tuple(p for p in s.pictures if p not in plane)) for s in drawn]
    main = summary_table(data)
    parts = [(system, f) for system in results.systems for f in results.results_folders(system)]
    per_system = [
        [replace(t, name=f"{number}-{t.name}") for t in system_tables(results, *part, data.curves)]
        for number, part in enumerate(parts)
    ]
    variants, speakers, identified = (
        tuple(t for tables in per_system for t in tables if t.name.endswith(ending))
        for ending in (("-variants", "-eers"), "-speakers", _GALLERY_TABLES)
    )
    sections = [
        Section("Systems side by side", parts=tuple(_by_metric(across.values(), protocol))),
        Section("The least protected speakers", (_SPEAKERS,), speakers, folded=True),
        Section(
            "Finding one person among many",
            tuple(identification_sentences(results)),
            identified,
            folded=True,
        ),
        *drawn,
        _curves(data),
        *inserted,
    ]
    for (system, folder), of_system in zip(parts, per_system, strict=True):
        rest = [t for t in of_system if t not in (*variants, *speakers, *identified)]
        rest = [t for t in rest if not t.name.endswith("-asv")]  # in those of the splits
        title = f"System {system}{folder}"
        folded = tuple(Section(_title(t, f": {system}{folder}"), (), (t,), (), True) for t in rest)
        sections.append(Section(title, folded=True, parts=folded))
    provenance = tuple(provenance_tables(results))
    sections += [
        Section("Where the two variants differ", (_VARIANTS,), variants, folded=True),
        Section("How each number was made", (_PROVENANCE,), provenance, folded=True),
        Section("Published systems", tables=tuple(published), folded=True),
    ]
    first = (*ranking, *filter(None, [main]))
    screen = replace(front(data), tables=first, pictures=plane)
    return screen, [s for s in sections if not s.is_empty], notes


def _by_metric(tables: Iterable[Table], protocol: Protocol) -> Iterator[Section]:
    """A part for each kind of table, of all splits; the first is open."""
    splits = [protocol.split_title(s) for s in protocol.splits]
    ends = [end for split in splits for end in (f" ({split})", f", {split}")]
    grouped: dict[str, list[Table]] = {}
    for table in tables:
        grouped.setdefault(_title(table, *ends), []).append(table)
    for title, of_title in grouped.items():
        first = title == next(iter(grouped))
        yield Section(title, tables=tuple(of_title), folded=not first)


def _title(table: Table, *ends: str) -> str:
    """The beginning of a table's caption, up to any of these."""
    title = table.caption.removeprefix("Objective results: ")
    for end in (*ends, " (o: "):
        title = title.partition(end)[0]
    title = re.split(r"\. (?=[A-Z])", title)[0]  # not of "Dev. set"
    return title[:1].upper() + title[1:].rstrip(".")


def _curves(data: ReportData) -> Section:
    """The plots of curves: a part per trial set, of all kinds and attack models."""
    from .figures import curve_figures  # matplotlib, which those without curves do without
    from .figures.svg import to_svg

    attacks = {a.id: a.title for a in data.protocol.attack_models if not a.is_original}
    parts: dict[str, list[Picture]] = {}
    for kind, drawing in curve_figures(data):
        of = {(c.data_set, c.split, c.gender) for c in drawing.conditions}
        under = {c.attack_model for c in drawing.conditions} & attacks.keys()
        title = "Several trial sets"
        if len(of) == 1:
            ((data_set, split, gender),) = of
            title = f"{data.protocol.data_set(data_set).title} {split}, "
            title += data.protocol.genders[gender]
        attack = attacks[under.pop() or ""] if len(under) == 1 else ""
        parts.setdefault(title, []).append(
            Picture(None, drawing.caption, to_svg(drawing.plot), (kind.section, attack))
        )
    whole = (Section(title, pictures=tuple(p), folded=True) for title, p in parts.items())
    return Section("Curves", (_CURVES,), parts=tuple(whole), facets=("Figures", "Attack model"))


def across_tables(
    data: ReportData, metric: str = "eer", attack_model: str | None = None
) -> tuple[list[Table], list[str]]:
    """Tables with a column per system, and the rankings; with notes on them.

    Parameters
    ----------
    metric : str
        Of the rankings.
    attack_model : str, optional
        Of the rankings; that which the protocol averages, unless given.

    Raises
    ------
    PrivacyEvalError
        The protocol has no such attack model, or the metric does not depend on one.
    """
    results, published = data.results, data.sources.published
    metric = data.protocol.shown(metric)
    _check_attack_model(data.protocol, metric, attack_model)
    if not published and len(results.systems) < 2:
        return [], caveat_notes(results.verification)
    options = {"metric": metric, "attack_model": attack_model}
    found: list[Table] = []
    for split in data.protocol.splits:
        found += ranking_tables(data, split=split, **options)
        if published and len(results.systems) > 1:
            # With published systems in between, no two submitted ones would be compared.
            alone = replace(data, cells=cells_from_results(results))
            own = ranking_tables(alone, split=split, **options)
            found += [replace(table, name=f"{table.name}_own") for table in own]
    notes = [*caveat_notes(results.verification), *data.cells.not_comparable, *data.cells.notes]
    if not found:
        under = f" under the attack model {attack_model}" if attack_model else ""
        notes.append(f"no ranking by {METRICS[metric].name}{under}: no system has values of it")
    submissions = submissions_table(published) if published else None
    tables = comparison_tables(data.cells, data.protocol, coloured=bool(published))
    tables += utility_tables(data)
    return [*([submissions] if submissions else ()), *tables, *found], notes


def figures_source(sources: ReportSources, **options: object) -> dict[str, object]:
    """Return all inputs of the figures of results, with the options of `all_figures`."""
    return {**sources.subject(), **options}


def folder_digest(figures: Path) -> str:
    """Return a digest of the inputs of a folder of figures and of its captions."""
    return digest(json.dumps([drawn_from(figures), read_captions(figures)], default=dict).encode())


def pictures(folder: Path, prefix: str = "") -> tuple[Picture, ...]:
    """Return the figures in a folder whose names begin with `prefix`."""
    return tuple(
        Picture(folder / f"{name}.png", caption)
        for name, caption in read_captions(folder).items()
        if name.startswith(prefix)
    )


def _figure_sections(data: ReportData, folder: Path) -> list[Section]:
    found = pictures(folder)
    if drawn_from(folder).get("results") != data.sources.digest():
        raise PrivacyEvalError(
            f"{folder}: figures of other or outdated results; draw them again "
            "with privacy-eval figures"
        )
    return [
        Section(
            kind.section,
            pictures=tuple(p for p in found if p.name.startswith(kind.name)),
            folded=kind.folded,
        )
        for kind in KINDS
        if not kind.curves
    ]


def _check_attack_model(protocol: Protocol, metric: str, attack_model: str | None) -> None:
    if attack_model is None:
        return
    known = [a.id for a in protocol.attack_models if not a.is_original]
    if METRICS[metric].kind != "scores":
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: {metric} does not depend on an attack model"
        )
    if attack_model not in known:
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: not an attack model of protocol {protocol.name}; "
            f"known: {', '.join(known)}"
        )
