"""Compose the report: tables, figures, and how each number was made."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import digest
from ..metrics import METRICS
from ..protocol.protocol import Protocol
from .across_systems import comparison_tables, submissions_table
from .data import ReportData, ReportSources
from .figure_folder import drawn_from, read_captions
from .figures import KINDS
from .html import Picture, Section
from .per_system import identification_sentences, system_tables
from .provenance import provenance_tables, summary
from .ranking import ranking_tables
from .table import Table
from .utility import utility_tables
from .values import caveat_notes

_VARIANTS = (
    "Values that the released scripts (challenge) print differently from their definition (exact)."
)
_SPEAKERS = "An average hides the speaker who is not protected."
_GALLERY_TABLES = tuple(f"-identification{e}" for e in ("", "_singling_out", "_speakers"))
_PROVENANCE = (
    "Files with the first digits of their SHA-256; results.json has them whole. Of gzip files it "
    "is that of the unpacked content. Paths are relative to the tree."
)


def report_sections(
    data: ReportData, *, figures: Path | None = None, inserted: Sequence[Section] = ()
) -> tuple[list[Section], list[str]]:
    """Compose the report, part by part; with the notes that a reader of the log needs.

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
    parts = [(system, f) for system in results.systems for f in results.results_folders(system)]
    per_system = [
        [replace(t, name=f"{number}-{t.name}") for t in system_tables(results, *part, data.curves)]
        for number, part in enumerate(parts)
    ]
    variants, speakers, identified = (
        tuple(t for tables in per_system for t in tables if t.name.endswith(ending))
        for ending in ("-variants", "-speakers", _GALLERY_TABLES)
    )
    about = (
        summary(results)
        if data.sources.paths
        else [f"Published results: {data.sources.published}."]
    )
    across, notes = across_tables(data)
    sentences = tuple(identification_sentences(results))
    sections = [
        Section("Systems side by side", tables=tuple(across)),
        Section("Finding one person among many", sentences, identified),
        *inserted,
        *(_figure_sections(data, figures) if figures is not None else ()),
        Section("Where the two variants differ", (_VARIANTS,), variants, folded=True),
        Section("The least protected speakers", (_SPEAKERS,), speakers),
    ]
    for (system, folder), tables in zip(parts, per_system, strict=True):
        rest = tuple(t for t in tables if t not in (*variants, *speakers, *identified))
        sections.append(Section(f"System {system}{folder}", tables=rest, folded=True))
    provenance = tuple(provenance_tables(results))
    sections.append(Section("How each number was made", (_PROVENANCE,), provenance, folded=True))
    caveats = caveat_notes(results.verification)
    notes_on_cells = (*data.cells.not_comparable, *data.cells.notes)
    first = Section("Summary", (*data.unsigned, *caveats, *about, *notes_on_cells))
    return [first, *(s for s in sections if s.tables or s.pictures)], notes


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
    rank = functools.partial(
        ranking_tables, results, data.curves, metric=metric, attack_model=attack_model
    )
    found: list[Table] = []
    for split in data.protocol.splits:
        found += rank(split=split, cells=data.cells)
        if published and len(results.systems) > 1:
            # Published systems between submitted ones leave no two of these to be compared.
            found += [replace(own, name=f"{own.name}_own") for own in rank(split=split)]
    notes = [*caveat_notes(results.verification), *data.cells.not_comparable, *data.cells.notes]
    if not found:
        under = f" under the attack model {attack_model}" if attack_model else ""
        notes.append(f"no ranking by {METRICS[metric].name}{under}: no system has values of it")
    submissions = submissions_table(published) if published else None
    tables = comparison_tables(data.cells, data.protocol, coloured=bool(published))
    tables += utility_tables(data)
    return [*([submissions] if submissions else ()), *tables, *found], notes


def figures_source(sources: ReportSources, **options: object) -> dict[str, object]:
    """Everything that figures of results are drawn from, with the options of `all_figures`."""
    return {
        "results": sources.digest(),
        "published": sources.published,
        **options,
    }


def folder_digest(figures: Path) -> str:
    """Digest of what a folder of figures was drawn from, and of its captions."""
    return digest(json.dumps([drawn_from(figures), read_captions(figures)], default=dict).encode())


def pictures(folder: Path, prefix: str = "") -> tuple[Picture, ...]:
    """The figures in a folder whose names begin so."""
    return tuple(
        Picture(folder / f"{name}.png", caption)
        for name, caption in read_captions(folder).items()
        if name.startswith(prefix)
    )


def _figure_sections(data: ReportData, folder: Path) -> list[Section]:
    found = pictures(folder)
    if drawn_from(folder).get("results") != data.sources.digest():
        raise PrivacyEvalError(
            f"{folder}: figures of other results, or made before these changed; draw them again "
            "with privacy-eval figures"
        )
    return [
        Section(
            kind.section,
            pictures=tuple(p for p in found if p.path.name.startswith(kind.name)),
            folded=kind.folded,
        )
        for kind in KINDS
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
            f"--attack-model {attack_model}: no attack model of the protocol {protocol.name}; "
            f"known: {', '.join(known)}"
        )
