"""Tables of how each number was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..numbers.report_data import ReportData
from ..results.records import AnyRecord
from .table import PROVENANCE, Table, aligned

_SHA_SHOWN = 12


def provenance_tables(data: ReportData) -> list[Table]:
    """Make tables of the provenance of every record: version, options, and input files with the
    first digits of their SHA-256 (results.json has all digits)."""
    results = data.results
    tables = (
        _table(
            "made_conditions",
            "Conditions: inputs of their metrics.",
            ("Condition", "Targets", "Nontargets"),
            [
                (r, (r.condition.label, r.n_target, r.n_nontarget))
                for r in (*results.verification, *data.others)
            ],
            data.evaluations,
        ),
        _table(
            "made_similarity",
            "Voice similarity: its inputs.",
            ("Trial set", "Speakers", "Utterances"),
            [(r, (r.condition.name, r.n_speakers, r.n_utterances)) for r in results.similarity],
            data.evaluations,
        ),
        _table(
            "made_recognition",
            "Word error rates: their source files.",
            ("Set", "Decoding"),
            [(r, (r.condition.name, r.line.decode)) for r in results.recognition],
            data.evaluations,
        ),
    )
    return [table for table in tables if table.rows]


def _table(
    name: str,
    caption: str,
    titles: Iterable[str],
    records: Iterable[tuple[AnyRecord, tuple[object, ...]]],
    evaluations: Mapping[tuple[str, str], str],
) -> Table:
    """Make a table of records with their details, which the titles are of."""
    rows = []
    for record, details in records:
        options = record.provenance.get("options", {})
        chosen = options.items() if isinstance(options, Mapping) else ()
        rows.append(
            (
                evaluations[record.condition.system, record.condition.results_folder],
                *("" if value is None else str(value) for value in details),
                str(record.provenance.get("version", "")),
                ", ".join(_inputs(record.provenance)),
                ", ".join(f"{name}: {value}" for name, value in chosen if value),
            )
        )
    columns = aligned("l", "System", *titles, "Version", "Made from", "Options")
    return Table(name, caption, tuple(columns), (tuple(rows),), section=PROVENANCE)


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
