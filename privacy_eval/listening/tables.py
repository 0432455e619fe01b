"""Tables of listening tests: Tables 16, 17 and 18 of the supplement of the VoicePrivacy 2020
Challenge, and summaries of ratings and evaluators; the section of the report.

Table 18 is made of rows like other tables of several systems, so that published systems are
next to submitted ones; p-values of a published test have separate tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..choices import ORIGINAL_SYSTEM, RATING_METRICS
from ..errors import abbreviate
from ..io.files import digest, read_bytes
from ..metrics import VARIANTS, Label, Variant, describe
from ..numbers.cells import (
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cells,
    at,
    cells_from_published,
    cells_from_results,
    merge_cells,
    system_column,
    text_of,
)
from ..numbers.report_sources import ReportSources
from ..protocol.protocol import Protocol
from ..protocol.published import load_p_values, load_published_results
from ..report.comparison_tables import heading_of, table_of_systems
from ..report.declared import bundled_entries, declared_table
from ..report.table import Column, Table
from ..results.measurements import PRESENT, Measurements, Row
from ..results.records import Results
from . import RESULTS
from .evaluation import DETECTION_METRICS, PLACE, QUANTITIES, SIMILARITY, ListeningTest

#: Prefix of metrics of ratings in cells, before the objective metric's name.
PREFIX = "subjective_"

#: Variant in tables: normalized ratings are full of ties.
VARIANT: Variant = "exact"

#: Attack model of the objective metrics.
ATTACK = "ignorant"

#: Tables of significance tests, and those after all that have systems as columns.
TESTS = ("subjective_tests_similarity", "subjective_tests_speech")
_LAST = ("subjective_pooled", "subjective_variants", "subjective_evaluators")


def quantity_titles() -> Mapping[str, str]:
    """Return the titles of quantities in tables and figures."""
    return bundled_entries("listening")[0].headings


def p_value_text(p_value: float) -> str:
    """Format a p-value like the supplement: 3 decimals, 4 below 0.01, a bound below 1e-4.

    Examples
    --------
    >>> p_value_text(0.0268), p_value_text(0.00573), p_value_text(3e-9)
    ('0.027', '0.0057', '< 0.0001')
    """
    if p_value < 1e-4:
        return "< 0.0001"
    return f"{p_value:.{4 if p_value < 0.01 else 3}f}"


def format_metric(metric: str, value: float) -> str:
    """Format a value with three decimals, as in the supplement's Table 18."""
    return describe(metric).format(value, decimals=3)


def objective_and_subjective(
    test: ListeningTest | None,
    results: Results | None = None,
    published: str | None = None,
) -> Cells:
    """Collect the values of Table 18 and Figures 27-30: speaker verification by machines and by
    human listeners, of a listening test and of a published one."""
    parts = []
    if test is not None:
        parts.append(_submitted_cells(test, results))
    if published is not None:
        document = load_published_results(published)
        tables = {v.table for v in document.values if v.metric.startswith(PREFIX)}
        own = parts[0].systems if parts else ()
        of_paper = cells_from_published(document, tables=tables, beside=own)
        parts.append(replace(of_paper, rows=Measurements.of(_three_decimals(of_paper.rows))))
    cells = merge_cells(parts)
    if test is not None and published is not None and results is None:
        note = "Original speech: objective values as published, subjective ones of this test"
        return replace(cells, notes=(*cells.notes, note))
    return cells


def listening_test_tables(
    test: ListeningTest | None,
    cells: Cells,
    protocol: Protocol,
    split: str,
    *,
    published: str | None = None,
) -> list[Table]:
    """Make all tables that have values.

    Parameters
    ----------
    test : ListeningTest or None
        None for the tables of a published test alone.
    cells : Cells
        Of `objective_and_subjective`.
    protocol, split
        Protocol, and split of the rated speech.
    published : str, optional
        Name of published results whose p-values are added.
    """
    of_test = {} if test is None else _tables_of_test(test, cells)
    of_paper = {} if published is None else _published_tables(published)
    if test is not None:
        of_paper = {f"{n}_published": t for n, t in of_paper.items()}
    tables = {n: t for n, t in of_test.items() if n not in _LAST} | of_paper
    if (beside := objective_subjective_table(cells, protocol, split)) is not None:
        tables[beside.name] = beside
    tables |= {n: of_test[n] for n in _LAST if n in of_test}
    return [replace(table, name=name) for name, table in tables.items()]


def _tables_of_test(test: ListeningTest, cells: Cells) -> dict[str, Table]:
    """Make the tables of a test alone."""
    low, high = (f"{end:g}" for end in test.provenance["scale"])
    words = {
        "low": low,
        "high": high,
        "where": f"{test.protocol.split_title(test.split)}, all data sets pooled",
        "units": test.opinion_units.capitalize(),
        "over": _units(test),
        "evaluators": str(test.n_evaluators),
        "min_ratings": str(test.min_ratings),
        "min_agreement": f"{test.min_agreement:g}",
    }
    p_values = _p_values(test)
    rows = {
        **dict.fromkeys(TESTS, p_values),
        "subjective_variants": Measurements.of(_differing(test)),
        "subjective_evaluators": Measurements.of(_flagged(test)),
    }
    words["qualities"] = _qualities(p_values)
    tables = {}
    for entry in bundled_entries("listening"):
        table = declared_table(entry, rows.get(entry.name, test.measurements), words)
        if table is not None:
            tables[entry.name] = table
    corrected = "with Holm's correction for" if test.holm else "not corrected for the number of"
    how = (
        "Two-sided Mann-Whitney U tests, normal approximation with corrections for ties and "
        f"continuity. p-values are {corrected} all pairs of a block"
    )
    for name in (name for name in TESTS if name in tables):
        table = _coloured(tables[name], cells)
        tables[name] = replace(table, notes=(*table.notes, how))
    if test.evaluators_left_out:
        summarized = tables["subjective_summary"]
        note = f"Evaluators left out on request: {', '.join(test.evaluators_left_out)}"
        tables["subjective_summary"] = replace(summarized, notes=(*summarized.notes, note))
    return tables


def _published_tables(published: str) -> dict[str, Table]:
    """Make the tables of the tests of a document, by name."""
    rows = _published_p_values(published)
    cells = cells_from_published(load_published_results(published))
    words = {"where": "as published", "qualities": _qualities(rows)}
    entries = [entry for entry in bundled_entries("listening") if entry.name in TESTS]
    tables = {entry.name: declared_table(entry, rows, words) for entry in entries}
    return {n: _coloured(table, cells) for n, table in tables.items() if table is not None}


def _coloured(table: Table, cells: Cells) -> Table:
    """Give the columns of systems the colours of their names, and blocks letters."""
    system, *others = table.columns
    systems = [column.title for column in others]
    lettered = (Label(f"({a}) {of.title}") for a, of in zip("ab", table.headings, strict=False))
    table = replace(table, columns=(system,), headings=tuple(lettered))
    return table_of_systems(table, cells, systems, highlight=False)


def _qualities(rows: Measurements) -> str:
    return " and ".join(q for q in QUANTITIES[:2] if q in rows.values("quantity"))


def _p_values(test: ListeningTest) -> Measurements:
    """Return the p-values that tables show of every pair of systems, in both orders."""
    rows = []
    for row in test.measurements.select(metric="mann_whitney", against=PRESENT):
        p = row["p_corrected" if test.holm else "p"]
        shown = {**row, "p": p, "printed": p_value_text(p)}
        rows += [shown, {**shown, "system": row["against"], "against": row["system"]}]
    return _by_pair(rows, test.systems)


def _by_pair(rows: Sequence[Row], systems: Sequence[str]) -> Measurements:
    """Order p-values by both systems, with blanks where these are the same."""
    blank = {"metric": "mann_whitney", "printed": ""}
    places = dict.fromkeys((row["quantity"], row["system"]) for row in rows)
    same = [{**blank, "quantity": q, "system": s, "against": s} for q, s in places]
    of = systems.index
    every = sorted([*rows, *same], key=lambda row: (of(row["system"]), of(row["against"])))
    return Measurements.of(every)


def _differing(test: ListeningTest) -> Iterator[Row]:
    """Yield values that print differently in the two variants, as ratings have many ties."""
    protocol = test.protocol
    for rows in _verification(test).groups(*PLACE, "metric").values():
        texts = [format_metric(row["metric"], row["value"]) for row in rows]
        if len(set(texts)) > 1:
            name = "pooled"
            if "data_set" in rows[0]:
                data_set = protocol.data_set(rows[0]["data_set"])
                name = f"{data_set.title}, {protocol.genders[rows[0]['gender']]}"
            for row, text in zip(rows, texts, strict=True):
                yield {**row, "name": name, "printed": text}


def _flagged(test: ListeningTest) -> Iterator[Row]:
    """Yield the agreement of flagged evaluators with the range of their ratings."""
    for e in test.flagged:
        ends = f"{e['rating_lowest']:g}\u2013{e['rating_highest']:g}"
        yield {**e, "metric": "agreement", "value": e["agreement"], "printed": ends}


def _units(test: ListeningTest) -> str:
    """Describe what the intervals of mean opinion scores are over."""
    unknown = " (speakers unknown: no column speaker)" * (test.opinion_units == "utterances")
    return (
        f"listeners and {test.opinion_units}{unknown}: variance clustered two ways (Cameron et al. "
        "2011)"
    )


def objective_subjective_table(cells: Cells, protocol: Protocol, split: str) -> Table | None:
    """Tabulate objective metrics and those of normalized similarity ratings: Table 18."""
    of_split = cells.rows.select(split=split)
    rated = {row["system"] for row in of_split if row["metric"].startswith(PREFIX)}
    systems = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in rated]
    if not systems:
        return None
    trial_sets = list(itertools.product(protocol.table_rows, protocol.genders))
    blocks: dict[Label, list[list[str]]] = {}
    for metric, (prefix, attack, kind) in itertools.product(
        DETECTION_METRICS, (("", ATTACK, "objective"), (PREFIX, None, "subjective"))
    ):
        rows = [
            [cells.get(prefix + metric, attack, split, *t, s) for s in systems] for t in trial_sets
        ]
        if any(map(any, rows)):
            blocks[heading_of(describe(metric), f" \u2013 {kind}")] = [
                [text_of(cell) if cell else "" for cell in row] for row in rows
            ]
    present = [i for i in range(len(trial_sets)) if any(any(b[i]) for b in blocks.values())]
    titles = [(protocol.data_set(d).title, protocol.genders[g]) for d, g in trial_sets]
    any_objective = any(label.title.endswith("objective") for label in blocks)
    variant = f" (submitted systems: {VARIANT})" if cells.own & set(systems) else ""
    objective = " Objective metrics are those of the ignorant attack model."
    table = Table(
        "objective_subjective",
        f"Objective and subjective metrics ({protocol.split_title(split)})."
        f"{objective if any_objective else ''}",
        (Column("Data", align="l", sparse=True), Column("Gender", align="l")),
        tuple(tuple((*titles[i], *block[i]) for i in present) for block in blocks.values()),
        headings=tuple(blocks),
        notes=(
            f"Subjective metrics: normalized ranks of similarity, used as LLRs{variant}",
            *cells.notes,
        ),
    )
    return table_of_systems(table, cells, systems)


def summary(test: ListeningTest) -> list[str]:
    """Describe the test in a few sentences."""
    rated = ", ".join(f"{test.n_ratings[m]} of {m}" for m in RATING_METRICS if test.n_ratings[m])
    lines = [
        f"{test.n_evaluators} evaluators, {len(test.systems)} systems with original speech. "
        f"Ratings: {rated}. Mean opinion scores and their tests are of the ratings as given "
        "(tables/subjective_opinions.*, subjective_opinion_tests.*). Other tables and the figures "
        f"are of normalized ranks per evaluator, variant {VARIANT}."
    ]
    if test.evaluators_left_out:
        lines.append(f"Left out on request: {', '.join(test.evaluators_left_out)}.")
    if test.ignored_columns:
        lines.append(f"Columns ignored: {abbreviate(test.ignored_columns)}.")
    flags: dict[str, dict[str, None]] = {}
    for e in test.flagged:
        flags.setdefault(e["evaluator"], {}).update(dict.fromkeys(e["flags"]))
    if flags:
        names = [f"{name} ({', '.join(reasons)})" for name, reasons in flags.items()]
        lines.append(
            f"Flagged evaluators: {abbreviate(names)}. Their ratings are included unless "
            "--leave-out names them; see evaluators.csv."
        )
    return lines


def _verification(test: ListeningTest) -> Measurements:
    """Return the metrics of similarity in tables: pooled, and by data set and gender."""
    rows = test.measurements.select(quantity=SIMILARITY, variant=VARIANTS)
    return Measurements.of(row for row in rows if ("data_set" in row) == ("gender" in row))


def _submitted_cells(test: ListeningTest, results: Results | None) -> Cells:
    """Return the values of the test, with the objective ones of the same systems."""
    rows: list[Row] = []
    notes: tuple[str, ...] = ()
    systems = tuple(system_column(s) for s in test.systems if s != ORIGINAL_SYSTEM)
    if results is not None:
        objective = cells_from_results(results.by_challenge())
        notes = objective.notes
        of_test = {
            "metric": DETECTION_METRICS,
            "attack_model": (ATTACK, ORIGINAL_ATTACK),
            "system": (*systems, ORIGINAL_COLUMN),
        }
        rows += _three_decimals(objective.rows.select(**of_test))
    for row in _verification(test).select(data_set=PRESENT, variant=VARIANT):
        place = None, test.split, row["data_set"], row["gender"], listening_column(row["system"])
        printed = format_metric(row["metric"], row["value"])
        counts = {name: row[name] for name in ("n_target", "n_nontarget")}
        identity = at(f"{PREFIX}{row['metric']}", *place)
        rows.append({**identity, **counts, "value": row["value"], "printed": printed})
    return Cells(Measurements.of(rows), systems, frozenset(systems), notes=notes)


def _three_decimals(rows: Iterable[Row]) -> Iterator[Row]:
    """Print values as in the supplement's Table 18."""
    return ({**row, "printed": format_metric(row["metric"], row["value"])} for row in rows)


def listening_column(system: str) -> str:
    """Name the column of a listening test's system beside other sources."""
    return ORIGINAL_COLUMN if system == ORIGINAL_SYSTEM else system_column(system)


def _published_p_values(name: str) -> Measurements:
    """Return published p-values in the document's order of systems."""
    rows: list[Row] = []
    for p in load_p_values(name):
        row, column = (
            ORIGINAL_SYSTEM if s == ORIGINAL_COLUMN else s for s in (p.system, p.other_system)
        )
        of = {"quantity": p.metric.removeprefix(PREFIX), "system": row, "against": column}
        of["printed"] = p.value.replace("<<", "<")
        rows.append({**of, "metric": "mann_whitney", "p": 0.0 if p.number is None else p.number})
    systems = list(dict.fromkeys(row["system"] for row in rows))
    return _by_pair(rows, systems)


def figures_source(folder: Path, objective: ReportSources) -> dict[str, str]:
    """Return digests of the inputs of a listening test's figures: its own and objective results."""
    # Figures do not depend on how systems are chosen and ranked.
    beside = ReportSources(objective.paths, objective.conf).digest() if objective.paths else ""
    return {"ratings": digest(read_bytes(folder / RESULTS)), "results": beside}
