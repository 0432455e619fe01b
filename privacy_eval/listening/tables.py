"""Tables of subjective evaluation: Tables 16, 17 and 18 of the supplement of the
VoicePrivacy 2020 Challenge, and what else a reader of them needs.

Table 18 is made of `Cells` like other multi-system tables, so that published systems stand
beside evaluated ones; p-values of a published test stand in tables of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..io.ratings import METRICS, ORIGINAL_SYSTEM
from ..metrics import VARIANTS, Label, Variant, describe
from ..protocol.protocol import Protocol
from ..protocol.published import FAR_BELOW, load_p_values
from ..report.across_systems import (
    HIGHLIGHT_MEANS,
    MOST_UPRIGHT,
    colours_mean,
    highlighted,
    system_columns,
)
from ..report.latex import escape_latex
from ..report.table import Column, Table
from ..report.values import (
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cell,
    Cells,
    Place,
    cells_of_published,
    cells_of_results,
    column_of,
    merged,
)
from ..results.records import Results
from .evaluation import (
    DETECTION_METRICS,
    DISAGREES,
    FEW_RATINGS,
    QUANTITIES,
    SIMILARITY,
    Subjective,
)

#: What metrics of ratings are called in cells: this and the objective metric's name.
PREFIX = "subjective_"

#: The variant that is shown: normalised ratings are full of ties.
VARIANT: Variant = "exact"

#: The table of the supplement with both objective and subjective metrics.
TABLE_18 = 18

#: A p-value below it is significant.
SIGNIFICANT = 0.01

#: The attack model of the objective metrics, and of original speech.
ATTACK = "ignorant"

#: What a quantity is called in tables and figures.
QUANTITY_TITLES: Mapping[str, str] = {
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
    "similarity_same_speaker": "Similarity, same speaker",
    "similarity_different_speaker": "Similarity, different speakers",
    SIMILARITY: "Similarity",
}

#: Tables of tests by name: number in the supplement, and quantities.
TESTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "subjective_tests_similarity": (16, QUANTITIES[2:]),
    "subjective_tests_speech": (17, QUANTITIES[:2]),
}

_NAMED = 10  # evaluators in a sentence

_FAR_BELOW_P, _FOUR_DECIMALS_P = 1e-4, 0.01


@dataclass(frozen=True)
class PValue:
    """A p-value as printed, and whether it is significant."""

    text: str
    significant: bool


PValues = Mapping[tuple[str, str], PValue]


def p_value_text(p_value: float) -> str:
    """A p-value as the supplement prints it: 3 decimals, 4 below 0.01, none below 1e-4.

    Examples
    --------
    >>> p_value_text(0.0268), p_value_text(0.00573), p_value_text(3e-9)
    ('0.027', '0.0057', '<< 0.01')
    """
    if p_value < _FAR_BELOW_P:
        return f"<< {SIGNIFICANT:g}"
    return f"{p_value:.{4 if p_value < _FOUR_DECIMALS_P else 3}f}"


def objective_and_subjective(
    subjective: Subjective | None,
    results: Results | None = None,
    published: str | None = None,
) -> Cells:
    """What Table 18 and Figures 27-30 are made of: metrics of speaker verification by
    machines and by ears, of the test that is given and of a published one."""
    parts = []
    if subjective is not None:
        parts.append(_own_cells(subjective, results))
    if published is not None:
        parts.append(cells_of_published(published, tables=(TABLE_18,)))
    cells = merged(parts)
    if subjective is not None and published is not None and results is None:
        note = "Original speech: objective values as published, subjective ones of this test"
        return replace(cells, notes=(*cells.notes, note))
    return cells


def subjective_tables(
    subjective: Subjective | None,
    cells: Cells,
    protocol: Protocol,
    split: str,
    *,
    published: str | None = None,
) -> list[Table]:
    """All tables that there is anything for.

    Parameters
    ----------
    subjective : Subjective or None
        None to have a published test's tables alone.
    cells : Cells
        Of `objective_and_subjective`.
    config, split
        Plan, and where the rated speech is from.
    published : str, optional
        Whose p-values are shown beside.
    """
    tables: list[Table | None] = []
    if subjective is not None:
        tables.append(summary_table(subjective))
        p_values = {q: _own_p_values(subjective, q) for q in QUANTITIES}
        corrected = (
            "with Holm's correction for" if subjective.holm else "not corrected for the number of"
        )
        notes = (
            "Two-sided Mann-Whitney U tests, normal approximation with corrections for ties and "
            f"continuity; p-values are {corrected} all pairs of systems of a block",
            "Ratings are taken for independent, which those of one evaluator are not",
        )
        where = _pooled(protocol, split)
        tables += [
            tests_table(name, p_values, subjective.systems, where, cells, notes) for name in TESTS
        ]
    if published is not None:
        p_values, systems = _published_p_values(published)
        of_paper = cells_of_published(published)
        for name in TESTS:
            table = tests_table(name, p_values, systems, "as published", of_paper, ())
            if table is not None and subjective is not None:
                table = replace(table, name=f"{name}_published")
            tables.append(table)
    tables.append(objective_subjective_table(cells, protocol, split))
    if subjective is not None:
        tables.append(pooled_table(subjective))
        tables.append(variants_table(subjective))
        tables.append(evaluators_table(subjective))
    return [table for table in tables if table is not None]


def summary_table(subjective: Subjective) -> Table:
    """Ratings of every system: how many, mean and median after normalisation."""
    present = [q for q in QUANTITIES if any(d.quantity == q for d in subjective.distributions)]
    groups = tuple(
        tuple(
            (
                d.system,
                str(d.n),
                *(f"{v:.3f}" for v in (d.mean, d.lower_quartile, d.median, d.upper_quartile)),
                f"{d.mean_rating:.2f}",
            )
            for d in subjective.distributions
            if d.quantity == quantity
        )
        for quantity in present
    )
    notes = [
        f"{subjective.n_evaluators} evaluators; higher naturalness and intelligibility are better "
        "utility, lower similarity of same-speaker pairs is better privacy"
    ]
    if subjective.evaluators_left_out:
        left_out = ", ".join(subjective.evaluators_left_out)
        notes.append(f"Evaluators left out on request: {left_out}")
    titles = ("Ratings", "Mean", "Lower quartile", "Median", "Upper quartile", "Mean as given")
    return Table(
        "subjective_summary",
        "Subjective evaluation: ratings as normalised ranks per evaluator, from 0 to 1 "
        f"({_pooled(subjective.protocol, subjective.split)}).",
        (Column("System", align="l"), *(Column(title, align="r") for title in titles)),
        groups,
        headings=tuple(Label(QUANTITY_TITLES[quantity]) for quantity in present),
        notes=tuple(notes),
        fit="shrunk",
        repeated=1,
    )


def tests_table(
    name: str,
    p_values: Mapping[str, PValues],
    systems: Sequence[str],
    where: str,
    cells: Cells,
    notes: tuple[str, ...],
) -> Table | None:
    """P-values between every two systems, a block for each quantity: Table 16 or 17.

    Parameters
    ----------
    p_values : mapping
        By quantity, then by row and column.
    where : str
        What the caption says of the ratings.
    """
    quantities = [q for q in TESTS[name][1] if p_values.get(q)]
    if not quantities:
        return None
    groups, bold, row = [], set(), 0
    for quantity in quantities:
        of_quantity = p_values[quantity]
        rated = [s for s in systems if any(s in pair for pair in of_quantity)]
        rows = []
        for system in rated:
            found = [of_quantity.get((system, other)) for other in systems]
            bold |= {(row, 1 + i) for i, p in enumerate(found) if p and p.significant}
            rows.append((system, *("" if p is None else p.text for p in found)))
            row += 1
        groups.append(tuple(rows))
    what = "speaker similarity" if name.endswith(SIMILARITY) else " and ".join(quantities)
    titles = [QUANTITY_TITLES[q].removeprefix("Similarity, ").capitalize() for q in quantities]
    upright = len(systems) <= MOST_UPRIGHT
    return Table(
        name,
        f"Significance tests on subjective {what} ({where}): p-values.",
        (
            Column("", align="l"),
            *system_columns(cells, systems, turned=not upright),
        ),
        tuple(groups),
        headings=tuple(Label(f"({'ab'[i]}) {t}") for i, t in enumerate(titles)),
        bold=frozenset(bold),
        bold_means=f"significant (p < {SIGNIFICANT:g})",
        colour_means=colours_mean(cells),
        notes=notes,
        fit="shrunk" if upright else "landscape",
        repeated=1,
    )


def objective_subjective_table(cells: Cells, protocol: Protocol, split: str) -> Table | None:
    """Objective metrics and those of normalised similarity ratings: Table 18."""
    places = [(d, g) for d in protocol.table_rows for g in protocol.genders]
    rated = {p.system for p in cells.values if p.metric.startswith(PREFIX) and p.split == split}
    systems = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in rated]
    if not systems:
        return None

    def found(metric: str, attack: str | None, data_set: str, gender: str) -> list[Cell | None]:
        return [cells.get(metric, attack, split, data_set, gender, s) for s in systems]

    kinds = [
        (metric, f"{prefix}{metric}", attack, kind)
        for metric in DETECTION_METRICS
        for prefix, attack, kind in (("", ATTACK, "objective"), (PREFIX, None, "subjective"))
    ]
    present = [
        place
        for place in places
        if any(cell for _, key, attack, _ in kinds for cell in found(key, attack, *place))
    ]
    groups, headings = [], []
    for metric, key, attack, kind in kinds:
        rows = []
        for data_set, gender in present:
            cells_of_row = found(key, attack, data_set, gender)
            texts = ("" if cell is None else cell.text for cell in cells_of_row)
            title = protocol.data_set(data_set).title
            rows.append((title, protocol.genders[gender], *texts))
        if any(any(row[2:]) for row in rows):
            heading, rest = describe(metric).heading, f" \u2013 {kind}"
            latex = (heading.latex or escape_latex(heading.title)) + escape_latex(rest)
            groups.append(tuple(rows))
            headings.append(Label(heading.title + rest, latex))
    ours = f" (own systems: {VARIANT})" if cells.own & set(systems) else ""
    own = highlighted(cells, systems)
    both = any(heading.title.endswith("objective") for heading in headings)
    objective = " Objective metrics are those of the ignorant attack model." if both else ""
    upright = len(systems) <= MOST_UPRIGHT
    return Table(
        "objective_subjective",
        f"Objective and subjective metrics ({protocol.split_title(split)}).{objective}",
        (
            Column("Data", align="l", sparse=True),
            Column("Gender", align="l"),
            *system_columns(cells, systems, own=own, turned=not upright),
        ),
        tuple(groups),
        headings=tuple(headings),
        highlight_means=HIGHLIGHT_MEANS,
        colour_means=colours_mean(cells),
        notes=(
            f"Subjective metrics: of normalised ranks of similarity, taken for LLRs{ours}",
            *cells.notes,
        ),
        fit="shrunk" if upright else "landscape",
        repeated=2,
    )


def pooled_table(subjective: Subjective) -> Table | None:
    """Metrics of all normalised similarity ratings of a system together."""
    rows = tuple(
        (
            d.system,
            *(metric_text(key, d.values(VARIANT)[key]) for key in DETECTION_METRICS),
            str(d.n_target),
            str(d.n_nontarget),
        )
        for d in subjective.detections
        if d.quantity == SIMILARITY and d.data_set is None
    )
    if not rows:
        return None
    return Table(
        "subjective_pooled",
        "Speaker verification by normalised ratings of similarity "
        f"({_pooled(subjective.protocol, subjective.split)}).",
        (
            Column("System", align="l"),
            *(Column(*describe(key).column) for key in DETECTION_METRICS),
            Column("Same-speaker ratings", align="r"),
            Column("Different-speaker ratings", align="r"),
        ),
        (rows,),
    )


def variants_table(subjective: Subjective) -> Table | None:
    """Values that the released scripts would print differently, ties being what they are."""
    rows = []
    for d in subjective.detections:
        if d.quantity != SIMILARITY or (d.data_set is None) != (d.gender is None):
            continue  # shown nowhere
        for key in DETECTION_METRICS:
            texts = [metric_text(key, d.values(variant)[key]) for variant in VARIANTS]
            if len(set(texts)) > 1:
                place = _place(d.data_set, d.gender, subjective.protocol)
                rows.append((d.system, place, describe(key).column.title, *texts))
    if not rows:
        return None
    grouped = tuple(tuple(g) for _, g in itertools.groupby(rows, key=lambda row: row[0]))
    columns = (
        Column("System", align="l"),
        Column("Trial set", align="l"),
        Column("Metric", align="l"),
        *(Column(variant, align="r") for variant in VARIANTS),
    )
    return Table(
        "subjective_variants",
        "Subjective metrics that the released scripts (challenge) print differently from their "
        "definition (exact), which is shown elsewhere: they break ties.",
        columns,
        grouped,
    )


def evaluators_table(subjective: Subjective) -> Table | None:
    """Evaluators that an organizer should look at; none of them was left out."""
    if not subjective.flagged:
        return None
    rows = tuple(
        (
            e.evaluator,
            e.metric,
            str(e.n),
            f"{e.lowest:g}\u2013{e.highest:g}",
            "" if e.agreement is None else f"{e.agreement:.2f}",
            "; ".join(e.flags),
        )
        for e in subjective.flagged
    )
    titles = ("Evaluator", "Metric", "Ratings", "Range", "Agreement", "Why")
    return Table(
        "subjective_evaluators",
        "Evaluators to look at; their ratings are counted like all others.",
        tuple(Column(t, align="r" if t in ("Ratings", "Agreement") else "l") for t in titles),
        tuple(tuple(g) for _, g in itertools.groupby(rows, key=lambda row: row[0])),
        notes=(
            "Agreement: Spearman's correlation of an evaluator's ratings with the others' mean "
            "ratings of the same system (and kind of pair)",
            f"{FEW_RATINGS}: fewer than {subjective.min_ratings}; {DISAGREES}: agreement below "
            f"{subjective.min_agreement:g}",
        ),
    )


def summary(subjective: Subjective) -> list[str]:
    """What the test was, in a few sentences."""
    rated = ", ".join(
        f"{subjective.n_ratings[m]} of {m}" for m in METRICS if subjective.n_ratings.get(m)
    )
    flags: dict[str, dict[str, None]] = {}
    for e in subjective.flagged:
        flags.setdefault(e.evaluator, {}).update(dict.fromkeys(e.flags))
    lines = [
        f"{subjective.n_evaluators} evaluators, {len(subjective.systems)} systems with original "
        f"speech; ratings: {rated}. Ratings were made normalised ranks per evaluator; tables and "
        f"figures show the variant {VARIANT}."
    ]
    if subjective.evaluators_left_out:
        lines.append(f"Left out on request: {', '.join(subjective.evaluators_left_out)}.")
    if flags:
        more = f" and {len(flags) - _NAMED} more" if len(flags) > _NAMED else ""
        named = [f"{name} ({', '.join(why)})" for name, why in flags.items()]
        lines.append(
            f"Evaluators to look at: {', '.join(named[:_NAMED])}{more}. Their ratings count unless "
            "--leave-out names them; see evaluators.csv."
        )
    return lines


def _own_cells(subjective: Subjective, results: Results | None) -> Cells:
    """Values of the test, and the objective ones of the same systems beside them."""
    values = {}
    notes: tuple[str, ...] = ()
    systems = tuple(column_of(s) for s in subjective.systems if s != ORIGINAL_SYSTEM)
    if results is not None:
        objective = cells_of_results(results)
        notes = objective.notes
        for place, cell in objective.values.items():
            if place.metric in DETECTION_METRICS and place.attack_model in (
                ATTACK,
                ORIGINAL_ATTACK,
            ):
                if place.system in (*systems, ORIGINAL_COLUMN):
                    values[place] = replace(cell, text=metric_text(place.metric, cell.value))
    values.update(_subjective_values(subjective))
    return Cells(values, systems, frozenset(systems), notes=notes)


def _subjective_values(subjective: Subjective) -> Iterator[tuple[Place, Cell]]:
    for d in subjective.detections:
        if d.quantity == SIMILARITY and d.data_set is not None and d.gender is not None:
            system = ORIGINAL_COLUMN if d.system == ORIGINAL_SYSTEM else column_of(d.system)
            for metric, value in d.values(VARIANT).items():
                yield (
                    Place(
                        f"{PREFIX}{metric}",
                        None,
                        subjective.split,
                        d.data_set,
                        d.gender,
                        system,
                    ),
                    Cell(
                        value,
                        metric_text(metric, value),
                        n_target=d.n_target,
                        n_nontarget=d.n_nontarget,
                    ),
                )


def _own_p_values(subjective: Subjective, quantity: str) -> PValues:
    found = {}
    for t in subjective.tests:
        if t.quantity == quantity:
            p = t.p_holm if subjective.holm else t.p_value
            one, other = t.system, t.other_system
            found[one, other] = found[other, one] = PValue(p_value_text(p), p < SIGNIFICANT)
    return found


def _published_p_values(name: str) -> tuple[dict[str, PValues], list[str]]:
    """By quantity, and the systems in the order of the document."""
    found: dict[str, dict[tuple[str, str], PValue]] = {}
    systems: dict[str, None] = {}
    for p in load_p_values(name):
        row, column = (
            ORIGINAL_SYSTEM if s == ORIGINAL_COLUMN else s for s in (p.system, p.other_system)
        )
        systems[row] = None
        significant = FAR_BELOW.fullmatch(p.value) is not None or float(p.value) < SIGNIFICANT
        quantity = p.metric.removeprefix(PREFIX)
        found.setdefault(quantity, {})[row, column] = PValue(p.value, significant)
    return dict(found), list(systems)


def _pooled(protocol: Protocol, split: str) -> str:
    return f"{protocol.split_title(split)}, all data sets pooled"


def metric_text(metric: str, value: float) -> str:
    """Table 18 has three decimals throughout."""
    return describe(metric).format(value, decimals=3)


def _place(data_set: str | None, gender: str | None, protocol: Protocol) -> str:
    if data_set is None or gender is None:
        return "pooled"
    return f"{protocol.data_set(data_set).title}, {protocol.genders[gender]}"
