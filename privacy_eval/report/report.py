"""Compose the report: tables, figures, and how each number was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..metrics import METRICS
from ..numbers.cells import cells_from_results
from ..numbers.report_data import ReportData, ReportSources
from ..protocol.protocol import Protocol
from .comparison_tables import comparison_tables, submissions_table
from .figure_folder import drawn_from, pictures
from .figures import KINDS, curve_figures
from .first_screen import front
from .identification_tables import identification_sentences
from .main_results import summary_table
from .notes import caveat_notes
from .page import Front, Picture, Section
from .provenance import provenance_tables
from .ranking_tables import ranking_tables
from .split_tables import main_split
from .system_tables import system_tables
from .table import (
    AMONG_MANY,
    ANSWER,
    LEAST_PROTECTED,
    PROVENANCE,
    PUBLISHED,
    SIDE_BY_SIDE,
    VARIANTS_DIFFER,
    Table,
)
from .utility_tables import utility_tables

_VARIANTS = (
    "Values that the released scripts (challenge) print differently from their definition (exact), "
    "and where they differ the EERs of Kaldi and SpeechBrain, which are the same in both."
)
_SPEAKERS = (
    "An average hides unprotected speakers. These are the least protected by de-identification "
    "(voice similarity); the first screen names the speaker who is found most often."
)
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
    across, notes = across_tables(data)
    main = summary_table(data)
    systems = [(system, f) for system in results.systems for f in results.results_folders(system)]
    per_system = [
        [replace(t, name=f"{number}-{t.name}") for t in system_tables(results, *part, data.curves)]
        for number, part in enumerate(systems)
    ]
    tables = [*across, *([main] if main is not None else ()), *provenance_tables(results)]
    tables += [table for own in per_system for table in own]
    drawn = _drawn(data, figures) if figures is not None else []

    def section(title: str, *text: str, folded: bool = True) -> Section:
        return Section(title, text, *_placed(title, tables, drawn), folded)

    first = _placed(ANSWER, tables, drawn)
    side_by_side, _ = _placed(SIDE_BY_SIDE, tables, ())
    sections = [
        Section(SIDE_BY_SIDE, parts=tuple(_by_title(side_by_side))),
        section(LEAST_PROTECTED, _SPEAKERS),
        section(AMONG_MANY, *identification_sentences(results)),
        *(section(kind.section, folded=kind.folded) for kind in KINDS if not kind.curves),
        _curves(data),
        *inserted,
    ]
    for (system, folder), own in zip(systems, per_system, strict=True):
        title = f"System {system}{folder}"
        shown, _ = _placed(title, own, ())
        parts = tuple(Section(t.title, tables=(t,), folded=True) for t in shown)
        sections.append(Section(title, folded=True, parts=parts))
    sections += [
        section(VARIANTS_DIFFER, _VARIANTS),
        section(PROVENANCE, _PROVENANCE),
        section(PUBLISHED),
    ]
    front_page = replace(front(data), tables=first[0], pictures=first[1])
    return front_page, [s for s in sections if not s.is_empty], notes


def _placed(
    section: str, tables: Iterable[Table], drawn: Iterable[Picture]
) -> tuple[tuple[Table, ...], tuple[Picture, ...]]:
    """Select the tables and figures of a section."""
    return tuple(t for t in tables if t.section == section), tuple(
        p for p in drawn if p.section == section
    )


def _by_title(tables: Iterable[Table]) -> Iterator[Section]:
    """A part for each title, with the tables of all splits; the first is open."""
    grouped: dict[str, list[Table]] = {}
    for table in tables:
        grouped.setdefault(table.title, []).append(table)
    for number, (title, of_title) in enumerate(grouped.items()):
        yield Section(title, tables=tuple(of_title), folded=number > 0)


def _curves(data: ReportData) -> Section:
    """The plots of curves: a part per trial set, of all kinds and attack models."""
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
            Picture(None, drawing.caption, drawing.plot, (kind.section, attack))
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
    main = main_split(data.protocol, results.verification)
    rankings: list[Table] = []
    for split in data.protocol.splits:
        tables = ranking_tables(data, split=split, **options)
        if published and len(results.systems) > 1:
            # With published systems in between, no two submitted ones would be compared.
            alone = replace(data, cells=cells_from_results(results))
            own = ranking_tables(alone, split=split, **options)
            tables += [replace(table, name=f"{table.name}_own") for table in own]
        section = ANSWER if split == main else SIDE_BY_SIDE
        rankings += [replace(table, section=section) for table in tables]
    notes = [*caveat_notes(results.verification), *data.cells.not_comparable, *data.cells.notes]
    if not rankings:
        under = f" under the attack model {attack_model}" if attack_model else ""
        notes.append(f"no ranking by {METRICS[metric].name}{under}: no system has values of it")
    submissions = submissions_table(published) if published else None
    tables = comparison_tables(data.cells, data.protocol, coloured=bool(published))
    tables += utility_tables(data)
    return [*([submissions] if submissions else ()), *tables, *rankings], notes


def figures_source(sources: ReportSources, **options: object) -> dict[str, object]:
    """Return all inputs of the figures of results, with the options of `all_figures`."""
    return {**sources.subject(), **options}


def _drawn(data: ReportData, folder: Path) -> list[Picture]:
    """Return the figures of a folder, which must be of these results."""
    drawn = pictures(folder)
    if drawn_from(folder).get("results") != data.sources.digest():
        raise PrivacyEvalError(
            f"{folder}: figures of other or outdated results; draw them again "
            "with privacy-eval figures"
        )
    return drawn


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
