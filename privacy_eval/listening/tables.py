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

from ..choices import LEVEL, grouped
from ..errors import PrivacyEvalError, abbreviate
from ..io.files import digest, read_bytes
from ..io.ratings import ORIGINAL_SYSTEM, RATING_METRICS
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
from ..numbers.report_data import ReportData
from ..numbers.report_sources import ReportSources
from ..protocol.protocol import Protocol
from ..protocol.published import load_p_values, load_published_results
from ..report.comparison_tables import heading_of, table_of_systems
from ..report.figure_folder import drawn_from, folder_digest, pictures
from ..report.page import Section
from ..report.table import Column, Table, aligned
from ..report.tables_and_report import Insert
from ..results.measurements import Measurements, Row
from ..results.records import Results
from .evaluation import (
    DETECTION_METRICS,
    DISAGREES,
    FEW_RATINGS,
    QUANTITIES,
    SIMILARITY,
    Detection,
    ListeningTest,
)
from .store import read_listening_test

#: Results and figures in the folder of an evaluated listening test.
RESULTS, FIGURES = "subjective.json", "figures"

#: Prefix of metrics of ratings in cells, before the objective metric's name.
PREFIX = "subjective_"

#: Variant in tables: normalized ratings are full of ties.
VARIANT: Variant = "exact"

#: Significance level of the 2020 challenge's tests; that of others is the one of intervals.
SIGNIFICANT = 0.01

#: Attack model of the objective metrics.
ATTACK = "ignorant"

#: Titles of quantities in tables and figures.
QUANTITY_TITLES: Mapping[str, str] = {
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
    "similarity_same_speaker": "Similarity, same speaker",
    "similarity_different_speaker": "Similarity, different speakers",
    SIMILARITY: "Similarity",
}

#: Quantities of the tables of significance tests.
TESTS: Mapping[str, tuple[str, ...]] = {
    "subjective_tests_similarity": QUANTITIES[2:],
    "subjective_tests_speech": QUANTITIES[:2],
}

#: Note on these tests.
_OVERSTATED = (
    "Done as in the 2020 paper; the tests assume independent ratings, which those of one evaluator "
    "are not, and find differences too often: rely on those of mean opinion scores"
)

#: Printed p-values with their significance, by row and column.
PValues = Mapping[tuple[str, str], tuple[str, bool]]


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
    tables: list[Table | None] = []
    if test is not None:
        tables += [opinions_table(test), opinion_tests_table(test), summary_table(test)]
        p_values = {quantity: _submitted_p_values(test, quantity) for quantity in QUANTITIES}
        corrected = "with Holm's correction for" if test.holm else "not corrected for the number of"
        notes = (
            "Two-sided Mann-Whitney U tests, normal approximation with corrections for ties and "
            f"continuity; p-values are {corrected} all pairs of systems of a block",
        )
        where = _pooled(test)
        for name in TESTS:
            tables.append(significance_table(name, p_values, test.systems, where, cells, notes))
    if published is not None:
        p_values, systems = _published_p_values(published)
        of_paper = cells_from_published(load_published_results(published))
        for name in TESTS:
            table = significance_table(name, p_values, systems, "as published", of_paper)
            if table is not None and test is not None:
                table = replace(table, name=f"{name}_published")
            tables.append(table)
    tables.append(objective_subjective_table(cells, protocol, split))
    if test is not None:
        tables += [pooled_table(test), variants_table(test), evaluators_table(test)]
    return [table for table in tables if table is not None]


def opinions_table(test: ListeningTest) -> Table:
    """Tabulate the mean opinion score of each system with its interval."""
    low, high = (f"{end:g}" for end in test.provenance["scale"])
    rows = []
    for o in test.opinions:
        numbers = (str(n) for n in (o.n, o.n_listeners, o.n_speakers))
        score = with_interval(o.opinion, o.opinion_low, o.opinion_high)
        rows.append((o.quantity, o.system, *numbers, score))
    titles = ("Ratings", "Listeners", test.opinion_units.capitalize(), "MOS [95 % interval]")
    return Table(
        "subjective_opinions",
        f"Mean opinion scores (MOS) on the scale from {low} to {high} ({_pooled(test)}).",
        (*aligned("l", "System"), *aligned("r", *titles)),
        *_by_quantity(rows),
        notes=(f"Intervals over {_units(test)}",),
    )


def opinion_tests_table(test: ListeningTest) -> Table | None:
    """Tabulate the differences of mean opinion scores of every two systems."""
    rows, bold = [], set()
    for number, t in enumerate(test.opinion_tests):
        difference = with_interval(t.difference, t.difference_low, t.difference_high, signed=True)
        p_values = (
            "" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"
            for p in (t.difference_p, t.difference_p_holm)
        )
        if t.difference_p_holm is not None and t.difference_p_holm < 1 - LEVEL:
            bold.add((number, 4))
        rows.append((t.quantity, t.system, t.other_system, difference, *p_values))
    if not rows:
        return None
    return Table(
        "subjective_opinion_tests",
        f"Differences of mean opinion scores, system minus other system ({_pooled(test)}).",
        (
            *aligned("l", "System", "Other system"),
            *aligned("r", "Difference [95 % interval]", "p", "p (Holm)"),
        ),
        *_by_quantity(rows),
        bold=frozenset(bold),
        bold_means=f"significant (p < {1 - LEVEL:g}, corrected)",
        notes=(
            f"Paired over {_units(test)}; p (Holm): corrected for all pairs of systems of a block, "
            "which intervals and p are not",
        ),
    )


def with_interval(
    value: float, low: float | None, high: float | None, *, signed: bool = False
) -> str:
    """Format a value with its interval, if it has one.

    Examples
    --------
    >>> with_interval(3.416, 2.9, 3.93), with_interval(0.5, None, None, signed=True)
    ('3.42 [2.90, 3.93]', '+0.50')
    >>> with_interval(-0.001, -0.5, 0.5)
    '0.00 [-0.50, 0.50]'
    """
    # No zero has a minus sign.
    text = f"{round(value, 2) + 0.0:{'+' * signed}.2f}"
    if low is None or high is None:
        return text
    return f"{text} [{round(low, 2) + 0.0:.2f}, {round(high, 2) + 0.0:.2f}]"


def _units(test: ListeningTest) -> str:
    """Describe what the intervals of mean opinion scores are over."""
    unknown = " (speakers unknown: no column speaker)" * (test.opinion_units == "utterances")
    return (
        f"listeners and {test.opinion_units}{unknown}: variance clustered two ways (Cameron et al. "
        "2011)"
    )


def summary_table(test: ListeningTest) -> Table:
    """Tabulate the ratings of each system: number, mean and quartiles after normalization."""
    rows = []
    for d in test.distributions:
        normalized = (d.mean, d.lower_quartile, d.median, d.upper_quartile)
        numbers = (*(f"{value:.3f}" for value in normalized), f"{d.mean_rating:.2f}")
        rows.append((d.quantity, d.system, str(d.n), *numbers))
    notes = [
        f"{test.n_evaluators} evaluators; higher naturalness and intelligibility are better "
        "utility, lower similarity of same-speaker pairs is better privacy"
    ]
    if test.evaluators_left_out:
        notes.append(f"Evaluators left out on request: {', '.join(test.evaluators_left_out)}")
    titles = ("Ratings", "Mean", "Lower quartile", "Median", "Upper quartile", "Mean as given")
    return Table(
        "subjective_summary",
        "Subjective evaluation: ratings as normalized ranks per evaluator, from 0 to 1 "
        f"({_pooled(test)}).",
        (*aligned("l", "System"), *aligned("r", *titles)),
        *_by_quantity(rows),
        notes=tuple(notes),
    )


def significance_table(
    name: str,
    p_values: Mapping[str, PValues],
    systems: Sequence[str],
    where: str,
    cells: Cells,
    notes: tuple[str, ...] = (),
) -> Table | None:
    """Tabulate the p-values of every pair of systems, in a block per quantity: Table 16 or 17.

    Parameters
    ----------
    p_values : mapping
        By quantity, then by row and column.
    where : str
        Description of the ratings in the caption.
    cells : Cells
        For the colours of names.
    """
    quantities = [q for q in TESTS[name] if p_values.get(q)]
    if not quantities:
        return None
    groups, bold, row = [], set(), 0
    for quantity in quantities:
        rows = []
        for system in (s for s in systems if any(s in pair for pair in p_values[quantity])):
            values = [p_values[quantity].get((system, other), ("", False)) for other in systems]
            bold |= {(row, i) for i, (_, significant) in enumerate(values, 1) if significant}
            rows.append((system, *(text for text, _ in values)))
            row += 1
        groups.append(tuple(rows))
    subject = "speaker similarity" if name.endswith(SIMILARITY) else " and ".join(quantities)
    titles = [QUANTITY_TITLES[q].removeprefix("Similarity, ").capitalize() for q in quantities]
    table = Table(
        name,
        "Mann-Whitney tests of the 2020 paper, which overstate significance, on subjective "
        f"{subject} ({where}): p-values.",
        (Column("", align="l"),),
        tuple(groups),
        headings=tuple(Label(f"({'ab'[i]}) {t}") for i, t in enumerate(titles)),
        bold=frozenset(bold),
        bold_means=f"significant (p < {SIGNIFICANT:g})",
        notes=(_OVERSTATED, *notes),
    )
    return table_of_systems(table, cells, systems, highlight=False)


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


def pooled_table(test: ListeningTest) -> Table | None:
    """Tabulate the metrics of all normalized similarity ratings of each system."""
    rows = tuple(
        (
            d.system,
            *(format_metric(key, d.metrics[VARIANT][key]) for key in DETECTION_METRICS),
            str(d.n_target),
            str(d.n_nontarget),
        )
        for d in _verification(test)
        if d.data_set is None
    )
    if not rows:
        return None
    return Table(
        "subjective_pooled",
        f"Speaker verification by normalized ratings of similarity ({_pooled(test)}).",
        (
            Column("System", align="l"),
            *(Column(*describe(key).column) for key in DETECTION_METRICS),
            *aligned("r", "Same-speaker ratings", "Different-speaker ratings"),
        ),
        (rows,),
    )


def variants_table(test: ListeningTest) -> Table | None:
    """Tabulate values that print differently in the two variants, as ratings have many ties."""
    protocol = test.protocol
    rows = []
    for d, key in itertools.product(_verification(test), DETECTION_METRICS):
        texts = [format_metric(key, d.metrics[variant][key]) for variant in VARIANTS]
        if len(set(texts)) > 1:
            trial_set = "pooled"
            if d.data_set is not None and d.gender is not None:
                trial_set = f"{protocol.data_set(d.data_set).title}, {protocol.genders[d.gender]}"
            rows.append((d.system, trial_set, describe(key).column.title, *texts))
    if not rows:
        return None
    return Table(
        "subjective_variants",
        "Subjective metrics whose values by the released scripts (challenge), which break ties, "
        "differ from those by definition (exact), which are shown elsewhere.",
        (*aligned("l", "System", "Trial set", "Metric"), *aligned("r", *VARIANTS)),
        _by_first_cell(rows),
    )


def evaluators_table(test: ListeningTest) -> Table | None:
    """Tabulate flagged evaluators, whose ratings are included."""
    if not test.flagged:
        return None
    rows = [
        (
            e.evaluator,
            e.metric,
            str(e.n),
            f"{e.lowest:g}\u2013{e.highest:g}",
            "" if e.agreement is None else f"{e.agreement:.2f}",
            "; ".join(e.flags),
        )
        for e in test.flagged
    ]
    titles = ("Evaluator", "Metric", "Ratings", "Range", "Agreement", "Reason")
    return Table(
        "subjective_evaluators",
        "Flagged evaluators; their ratings are included.",
        tuple(Column(t, align="r" if t in ("Ratings", "Agreement") else "l") for t in titles),
        _by_first_cell(rows),
        notes=(
            "Agreement: Spearman's correlation of an evaluator's ratings with the others' mean "
            "ratings of the same system (and kind of pair)",
            f"{FEW_RATINGS}: fewer than {test.min_ratings}; {DISAGREES}: agreement below "
            f"{test.min_agreement:g}",
        ),
    )


def summary(test: ListeningTest) -> list[str]:
    """Describe the test in a few sentences."""
    rated = ", ".join(
        f"{test.n_ratings[m]} of {m}" for m in RATING_METRICS if test.n_ratings.get(m)
    )
    lines = [
        f"{test.n_evaluators} evaluators, {len(test.systems)} systems with original speech; "
        f"ratings: {rated}. Mean opinion scores and their tests are of the ratings as given "
        "(tables/subjective_opinions.*, subjective_opinion_tests.*); other tables and the figures, "
        f"of normalized ranks per evaluator, variant {VARIANT}."
    ]
    if test.evaluators_left_out:
        lines.append(f"Left out on request: {', '.join(test.evaluators_left_out)}.")
    if test.ignored_columns:
        lines.append(f"Columns ignored: {abbreviate(test.ignored_columns)}.")
    flags: dict[str, dict[str, None]] = {}
    for e in test.flagged:
        flags.setdefault(e.evaluator, {}).update(dict.fromkeys(e.flags))
    if flags:
        names = [f"{name} ({', '.join(reasons)})" for name, reasons in flags.items()]
        lines.append(
            f"Flagged evaluators: {abbreviate(names)}. Their ratings are included unless "
            "--leave-out names them; see evaluators.csv."
        )
    return lines


def _verification(test: ListeningTest) -> Iterator[Detection]:
    """List detections by similarity in tables: pooled, and by data set and gender."""
    for d in test.detections:
        if d.quantity == SIMILARITY and (d.data_set is None) == (d.gender is None):
            yield d


def _by_first_cell(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(map(tuple, grouped(rows, lambda row: row[0]).values()))


def _by_quantity(
    rows: Iterable[tuple[str, ...]],
) -> tuple[tuple[tuple[tuple[str, ...], ...], ...], tuple[Label, ...]]:
    """Return the groups of a table, and their headings, of rows that begin with a quantity."""
    groups = grouped(rows, lambda row: QUANTITY_TITLES[row[0]])
    return tuple(tuple(r[1:] for r in of) for of in groups.values()), tuple(map(Label, groups))


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
    for d in _verification(test):
        if d.data_set is not None and d.gender is not None:
            place = None, test.split, d.data_set, d.gender, listening_column(d.system)
            values = (
                {**at(f"{PREFIX}{m}", *place), "value": v} for m, v in d.metrics[VARIANT].items()
            )
            rows += _three_decimals(values)
    return Cells(Measurements.of(rows), systems, frozenset(systems), notes=notes)


def _three_decimals(rows: Iterable[Row]) -> Iterator[Row]:
    """Print values as in the supplement's Table 18."""
    return ({**row, "printed": format_metric(row["metric"], row["value"])} for row in rows)


def listening_column(system: str) -> str:
    """Name the column of a listening test's system beside other sources."""
    return ORIGINAL_COLUMN if system == ORIGINAL_SYSTEM else system_column(system)


def _submitted_p_values(test: ListeningTest, quantity: str) -> PValues:
    values = {}
    for t in (t for t in test.tests if t.quantity == quantity):
        p = t.p_holm if test.holm else t.p_value
        value = (p_value_text(p), p < SIGNIFICANT)
        values[t.system, t.other_system] = values[t.other_system, t.system] = value
    return values


def _published_p_values(name: str) -> tuple[dict[str, PValues], list[str]]:
    """Return published p-values by quantity, and the systems in the document's order."""
    values: dict[str, dict[tuple[str, str], tuple[str, bool]]] = {}
    systems: dict[str, None] = {}
    for p in load_p_values(name):
        row, column = (
            ORIGINAL_SYSTEM if s == ORIGINAL_COLUMN else s for s in (p.system, p.other_system)
        )
        systems[row] = None
        significant = p.number is None or p.number < SIGNIFICANT
        text = p.value.replace("<<", "<")
        values.setdefault(p.metric.removeprefix(PREFIX), {})[row, column] = text, significant
    return dict(values), list(systems)


def _pooled(test: ListeningTest) -> str:
    return f"{test.protocol.split_title(test.split)}, all data sets pooled"


# The section of the report


def listening_section(folder: Path, data: ReportData) -> Section:
    """Compose the section on a listening test, with figures, beside objective results.

    Raises
    ------
    PrivacyEvalError
        The test is under another protocol, its figures are of other ratings or results.
    """
    path, figures = folder / RESULTS, folder / FIGURES
    subjective, _ = read_listening_test(path)
    if subjective.protocol.name != data.protocol.name:
        raise PrivacyEvalError(
            f"{path}: protocol {subjective.protocol.name}, but the results are of protocol "
            f"{data.protocol.name}; evaluate the ratings again with privacy-eval listening "
            "(stage 11)"
        )
    if not figures_source(folder, data.sources).items() <= drawn_from(figures).items():
        raise PrivacyEvalError(
            f"{figures}: figures of other ratings or results; draw them again with privacy-eval "
            "listening (stage 11)"
        )
    published = data.sources.published or None
    cells = objective_and_subjective(subjective, data.results, published)
    tables = listening_test_tables(
        subjective, cells, data.protocol, subjective.split, published=published
    )
    return Section(
        "Subjective evaluation",
        tuple(summary(subjective)),
        tuple(tables),
        tuple(pictures(figures)),
    )


def listening_insert(folder: Path) -> Insert:
    """Return the section on a listening test as part of a report."""
    key = digest(read_bytes(folder / RESULTS)), folder_digest(folder / FIGURES)
    return Insert(key, lambda data: listening_section(folder, data))


def figures_source(folder: Path, objective: ReportSources) -> dict[str, str]:
    """Return digests of the inputs of a listening test's figures: its own and objective results."""
    # Figures do not depend on how systems are chosen and ranked.
    beside = ReportSources(objective.paths, objective.conf).digest() if objective.paths else ""
    return {"ratings": digest(read_bytes(folder / RESULTS)), "results": beside}
