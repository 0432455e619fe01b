"""Describe the contents of a report, and the provenance of its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import counted
from ..numbers.challenge_averages import challenge_averages
from ..results.records import AnyRecord, Results
from ..version import __version__
from .table import PROVENANCE, Table, aligned

# Number of lines on conditions that were not evaluated, of possibly hundreds.
_ABSENT_SHOWN = 20
_SHA_SHOWN = 12


def provenance_tables(results: Results) -> list[Table]:
    """Make tables of the provenance of every record: version, options, and input files with the
    first digits of their SHA-256 (results.json has all digits)."""
    tables = (
        _table(
            "made_conditions",
            "Conditions: inputs of their metrics.",
            ("Condition", "Targets", "Nontargets"),
            [(r, (r.n_target, r.n_nontarget)) for r in results.verification],
        ),
        _table(
            "made_similarity",
            "Voice similarity: its inputs.",
            ("Trial set", "Speakers", "Utterances"),
            [(r, (r.n_speakers, r.n_utterances)) for r in results.similarity],
        ),
        _table(
            "made_recognition",
            "Word error rates: their source files.",
            ("Set", "Decoding"),
            [(r, (r.line.decode,)) for r in results.recognition],
        ),
    )
    return [table for table in tables if table.rows]


def summary(results: Results) -> list[str]:
    """Describe what the report contains, and what is missing."""
    lines = [
        f"{counted(len(results.systems), 'system')}, "
        f"{counted(len(results.verification), 'condition')}, "
        f"{counted(len(results.similarity), 'voice similarity')}, "
        f"{counted(len(results.recognition), 'word error rate')}. "
        f"Written by privacy_eval {__version__}.",
        *coverage(results),
    ]
    partial = [r.condition for r in results.verification if r.left_out]
    if partial:
        lines.append(
            f"{counted(len(partial), 'condition')} with trials left out on request: "
            + "; ".join(f"{c.system} {c.name}" for c in partial)
        )
    absent = results.not_evaluated
    lines += [f"Not evaluated: {line}" for line in absent[:_ABSENT_SHOWN]]
    if len(absent) > _ABSENT_SHOWN:
        lines.append(f"... and {len(absent) - _ABSENT_SHOWN} more, listed in results.json")
    return lines


def coverage(results: Results) -> list[str]:
    """Describe which conditions and averages of the protocol are missing for each system; systems
    with the same gaps share a line."""
    protocol = results.protocol
    models = {folder.asv_model for folder in protocol.results_folders}
    attacks = [a.id for a in protocol.attack_models if a.asv_model in models]
    expected = [(t, attack) for t in protocol.trial_sets() for attack in attacks]
    lacking: dict[str, list[str]] = {}
    for system in results.systems:
        conditions = (r.condition for r in results.verification if r.condition.system == system)
        present = {(c.split, c.data_set, c.gender, c.attack_model) for c in conditions}
        missing = Counter(
            f"{t.data_set.title} {t.split}"
            for t, attack in expected
            if (t.split, t.data_set.id, t.gender, attack) not in present
        )
        if missing:
            names = ", ".join(f"{name} ({number})" for name, number in missing.items())
            text = f"{len(expected) - missing.total()} of the protocol's {len(expected)} conditions"
            lacking.setdefault(f"{text}; missing: {names}", []).append(system)
        if all(average.value is None for average in challenge_averages(results.of(system))):
            text = "no table of averages, as values of some data sets or genders are missing"
            lacking.setdefault(text, []).append(system)
    return [f"{', '.join(systems)}: {text}" for text, systems in lacking.items()]


def _table(
    name: str,
    caption: str,
    titles: Iterable[str],
    records: Iterable[tuple[AnyRecord, tuple[object, ...]]],
) -> Table:
    """Make a table of records with their details, which the titles after the first are of."""
    rows = []
    for record, details in records:
        options = record.provenance.get("options", {})
        shown = options.items() if isinstance(options, Mapping) else ()
        rows.append(
            (
                record.condition.system + record.condition.results_folder,
                record.condition.name,
                *("" if value is None else str(value) for value in details),
                str(record.provenance.get("version", "")),
                ", ".join(_inputs(record.provenance)),
                ", ".join(f"{name}: {value}" for name, value in shown if value),
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
