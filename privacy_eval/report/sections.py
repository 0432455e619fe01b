"""Compose the report: its first screen and its sections, from all tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..choices import AMOUNT, GROUPS
from ..errors import PrivacyEvalError, is_usable
from ..numbers.report_data import ReportData
from ..results.measurements import Measurements, Row
from ..results.records import Record
from ..wings import Reference, of_wings, referred
from .declared import declared_table, entry_of, tables_of_ones_own
from .figures import KINDS, curve_figures, drawn_from, kinds, pictures
from .first_screen import front
from .main_results import attackers_table, main_results_table
from .notes import cautions
from .page import Front, Picture, Section
from .side_by_side import across_tables
from .system_tables import system_tables
from .table import ANSWER, SIDE_BY_SIDE, Table

#: Sections that entries of tables name.
LEAST_PROTECTED = "The least protected speakers"
INFERENCE = "What else the voice gives away"
AMONG_MANY = "Identification"
CURVES = "Curves"
VARIANTS_DIFFER = "Challenge and exact values"
PROVENANCE = "Methods"
PUBLISHED = "Published systems"

_VARIANTS = (
    "The released scripts (challenge) print some values otherwise than by definition (exact). EERs "
    "of Kaldi and SpeechBrain stand here where they differ: they are the same in both variants."
)
_SPEAKERS = (
    "An average hides unprotected speakers. These are the least protected by de-identification "
    "(voice similarity). The first screen names the speaker whom attackers find most often."
)
_CURVES = (
    "Point at a curve for its values. As files (PNG, PDF, pgfplots): privacy-eval figures "
    "--all-figures."
)
_PROVENANCE = (
    "What each number was made from: files with the first digits of their SHA-256. results.json "
    "has all digits. For gzip files it is that of the unpacked content. Paths begin at the tree."
)


#: Titles of sections that are not only of figures of a kind, and of all.
_OWN = (
    *(ANSWER, SIDE_BY_SIDE, LEAST_PROTECTED, GROUPS, AMONG_MANY, AMOUNT, INFERENCE),
    *(CURVES, VARIANTS_DIFFER, PROVENANCE, PUBLISHED),
)
_TITLES = {*_OWN, *(kind.section for kind in KINDS)}


def titles_of_wings() -> dict[str, Reference]:
    """Return what makes the sections that wings add, by title.

    Raises
    ------
    PrivacyEvalError
        The core or another wing has the title.
    """
    return of_wings("sections", _TITLES)


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
    tables, remarks = across_tables(data)
    answers = (main_results_table(data), attackers_table(data))
    tables += tables_of_ones_own(data)
    tables += [*(t for t in answers if t is not None), *provenance_tables(data)]
    of_systems: list[tuple[str, list[Table]]] = []
    for number, (system, folder) in enumerate(data.by_folder):
        own = system_tables(data, system, folder)
        own = [replace(table, name=f"{number}-{table.name}") for table in own]
        of_systems.append((f"System {data.evaluations[system, folder]}", own))
        tables += own
    drawn = _drawn(data, figures) if figures is not None else []
    drawn = [p for p in drawn if p.path is None or p.path.stem != ANSWER.lower()]  # the page has it
    drawn += _curves(data) if is_usable("matplotlib", "report") else ()
    notes = cautions(data)
    disclosed = data.disclosed.sentences() if data.disclosed else {}
    answer, added = front(data), titles_of_wings()

    def section(title: str, *text: str, folded: bool = True) -> Section:
        return Section(title, text, *_placed(title, tables, drawn), folded)

    side_by_side = _by_title(*_placed(SIDE_BY_SIDE, tables, drawn))
    curves = tuple(_by_title(*_placed(CURVES, tables, drawn)))
    facets = ("Figures", "Attack model")
    sections = [
        Section(
            SIDE_BY_SIDE, parts=tuple(replace(p, folded=n > 0) for n, p in enumerate(side_by_side))
        ),
        section(LEAST_PROTECTED, _SPEAKERS),
        *(section(t, *disclosed.get(t, ())) for t in (GROUPS, AMONG_MANY, AMOUNT, INFERENCE)),
        *(section(title, *referred(text)(data)) for title, text in added.items()),
        *(
            section(title, folded=folded)
            for title, folded in {k.section: k.folded for k in kinds() if not k.curves}.items()
            if title not in (*_OWN, *added)
        ),
        Section(CURVES, (_CURVES,), parts=curves, facets=facets),
        *inserted,
        *(
            Section(title, folded=True, parts=tuple(_by_title(*_placed(title, own, drawn))))
            for title, own in of_systems
        ),
        section(VARIANTS_DIFFER, _VARIANTS),
        section(PROVENANCE, _PROVENANCE),
        section(PUBLISHED),
    ]
    first_tables, first_pictures = _placed(ANSWER, tables, drawn)
    answer = replace(answer, tables=first_tables, pictures=first_pictures)
    shown = [s for s in sections if not s.is_empty or (s.title in added and s.text)]
    return answer, shown, [*notes, *remarks]


def _placed(
    section: str, tables: Iterable[Table], drawn: Iterable[Picture]
) -> tuple[tuple[Table, ...], tuple[Picture, ...]]:
    """Select the tables and figures of a section."""
    return tuple(t for t in tables if t.section == section), tuple(
        p for p in drawn if p.section == section
    )


def _by_title(tables: Sequence[Table], drawn: Sequence[Picture]) -> Iterator[Section]:
    """Yield a folded part for each title, with its tables and figures."""
    for title in dict.fromkeys([*(t.title for t in tables), *(p.title for p in drawn)]):
        yield Section(
            title,
            tables=tuple(t for t in tables if t.title == title),
            pictures=tuple(p for p in drawn if p.title == title),
            folded=True,
        )


def _curves(data: ReportData) -> Iterator[Picture]:
    """Yield the plots of curves, titled by their trial set, of all kinds and attack models."""
    attacks = {a.id: a.title for a in data.protocol.attack_models if not a.is_original}
    for kind, drawing in curve_figures(data):
        trial_sets = {(c.data_set, c.split, c.gender) for c in drawing.conditions}
        models = {c.attack_model for c in drawing.conditions} & attacks.keys()
        title = "Several trial sets"
        if len(trial_sets) == 1:
            title = data.protocol.title_of_set(*trial_sets.pop())
        attack = attacks[models.pop() or ""] if len(models) == 1 else ""
        facets = (kind.section, attack)
        yield Picture(None, drawing.caption, drawing.plot, facets, CURVES, title)


def _drawn(data: ReportData, folder: Path) -> list[Picture]:
    """Return the figures of a folder, which must be of these results."""
    drawn = pictures(folder)
    if drawn_from(folder).get("results") != data.sources.digest():
        raise PrivacyEvalError(
            f"{folder}: figures of other or outdated results; draw them again "
            "with privacy-eval figures"
        )
    return drawn


_SHA_SHOWN = 12


def provenance_tables(data: ReportData) -> list[Table]:
    """Make tables of the provenance of every record: version, options, and input files with the
    first digits of their SHA-256 (results.json has all digits)."""
    results = data.results
    details: Mapping[str, list[tuple[Record, tuple[object, ...]]]] = {
        "made_conditions": [
            (r, (r.condition.label, *map(r.facts.get, ("n_target", "n_nontarget"))))
            for r in (*results.verification, *data.others)
        ],
        "made_similarity": [
            (r, (r.condition.name, *map(r.facts.get, ("n_speakers", "n_utterances"))))
            for r in results.similarity
        ],
        "made_recognition": [
            (r, (r.condition.name, r.facts["decode"])) for r in results.recognition
        ],
        "made_rows": [(r, (r.condition.name,)) for r in results.rows],
    }
    tables = (
        declared_table(entry_of(name), Measurements.of(_made(of, data.protocol.evaluation)), {})
        for name, of in details.items()
    )
    return [table for table in tables if table is not None]


def _made(
    records: Iterable[tuple[Record, tuple[object, ...]]],
    evaluation: Callable[[str, str], str],
) -> Iterator[Row]:
    """Yield the provenance of records with their details."""
    for number, (record, details) in enumerate(records):
        options = record.provenance.get("options", {})
        chosen = options.items() if isinstance(options, Mapping) else ()
        yield {
            "number": number,
            "system": evaluation(record.condition.system, record.condition.results_folder),
            **{f"detail_{n}": value for n, value in enumerate(details)},
            "version": str(record.provenance.get("version", "")),
            "inputs": ", ".join(_inputs(record.provenance)),
            "options": ", ".join(f"{name}: {value}" for name, value in chosen if value),
        }


def _inputs(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Input files, each with the first digits of its SHA-256; provenance may be untrusted."""
    inputs, model = provenance.get("inputs"), provenance.get("model")
    for name, entry in inputs.items() if isinstance(inputs, Mapping) else ():
        if isinstance(entry, Mapping):
            yield _source(entry.get("path", name), entry.get("sha256", ""))
        else:
            yield _source(name, entry)
    if isinstance(model, Mapping) and isinstance(model.get("sha256"), Mapping):
        for name, sha256 in model["sha256"].items():
            yield _source(f"{model.get('path', '')}/{name}", sha256)
    imported = provenance.get("imported_from")
    if isinstance(imported, Mapping):
        yield _source(f"imported from {imported.get('name', '')}", imported.get("sha256", ""))


def _source(name: object, sha256: object) -> str:
    return f"{name} {str(sha256)[:_SHA_SHOWN]}"
