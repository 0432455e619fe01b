"""Metrics of score files, and paired differences between them, as CSV and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ..io.csv_text import csv_text
from ..io.schema import to_plain
from ..metrics import Comparison, Evaluation, Label, Variant
from ..metrics.caveats import withholding_key
from .latex import to_latex
from .notes import bias_notes
from .table import Column, Table

#: Of each variant the evaluated systems by name, the first one compared with the others.
Evaluations = Mapping[Variant, Mapping[str, Evaluation]]
Comparisons = Mapping[Variant, Comparison]
#: A row of a printed table, by title; those of `_VALUES` do not depend on the bootstrap.
Row = dict[str, str]
_VALUES = ("metric", "value", "other")

_HEAD = "system variant metric value low_95 high_95 caveat".split()
_DIFFERENCE = (
    "difference difference_low_95 difference_high_95 p_value p_value_holm difference_caveat".split()
)


def score_files_csv(evaluations: Evaluations, comparisons: Comparisons) -> str:
    """Write a row per system, variant and metric in stored units: rates are fractions. Differences
    are those of the first system minus the system of the row."""
    rows = [[*_HEAD, *(_DIFFERENCE if comparisons else ())]]
    for variant, systems in evaluations.items():
        for place, (name, evaluation) in enumerate(systems.items()):
            for key, value in evaluation.values.items():
                bounds = evaluation.intervals.get(key)
                ends = (None, None) if bounds is None else (bounds.low, bounds.high)
                caveat = withholding_key(evaluation.caveats, key)
                row = [name, variant, key, *map(to_plain, (value, *ends)), caveat]
                if comparisons:
                    row += _difference_cells(comparisons[variant], place, key)
                rows.append(row)
    return csv_text(rows)


def _difference_cells(comparison: Comparison, place: int, key: str) -> list[object]:
    """Return the cells of the difference of the first system minus another."""
    if place == 0:
        return [None] * len(_DIFFERENCE)
    d = comparison.differences[place - 1][key]
    numbers = (d.difference, d.interval.low, d.interval.high, d.p_value, d.p_value_holm)
    return [*map(to_plain, numbers), d.caveat]


def score_files_latex(evaluations: Evaluations, comparisons: Comparisons) -> str:
    """Write a booktabs table of the first system, and one of its comparison with each other."""
    names = list(next(iter(evaluations.values())))
    rows = {v: of[names[0]].to_rows() for v, of in evaluations.items()}
    first = next(iter(evaluations.values()))[names[0]]
    trials = f"{first.n_target} target and {first.n_nontarget} nontarget trials"
    caption = f"Privacy metrics of {names[0]} on {trials}"
    drawn = [bounds.replicates for bounds in first.intervals.values()][:1]
    notes = [f"95 % intervals: bootstrap over speakers ({n} replicates)" for n in drawn]
    notes += bias_notes(list(first.intervals))
    tables = [_table("metrics", caption, rows, notes)]
    for place, name in enumerate(names[1:]):
        rows = {v: list(map(_narrower, c.to_rows(place))) for v, c in comparisons.items()}
        caption = f"{names[0]} and {name} on the same trials"
        tested = [
            *notes[:1],
            "Difference: the first system minus the other",
            "p: two-sided, paired",
        ]
        columns = {"value": names[0], "other": name}
        tables.append(_table(f"metrics_versus_{place + 1}", caption, rows, tested, columns))
    return "\n".join(map(to_latex, tables))


def _narrower(row: Row) -> Row:
    """Put the interval behind the difference."""
    ends = row.get("95 % interval")
    joined = {} if ends is None else {"difference": f"{row['difference']} {ends}"}
    return {key: text for key, text in (row | joined).items() if key != "95 % interval"}


def _table(
    name: str,
    caption: str,
    rows: Mapping[Variant, Sequence[Row]],
    notes: Sequence[str],
    systems: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Make a table of printed rows, whose other variants have only what differs."""
    keys = list(dict.fromkeys(key for of in rows.values() for row in of for key in row))
    groups = [(variant, of) for variant, of in differing_rows(rows) if of]
    headings = [Label(f"{v}, where it differs" if n else v) for n, (v, _) in enumerate(groups)]
    if len(groups) == 1:
        headings, caption = [], f"{caption}, variant {' and '.join(rows)}"
    titles = (systems.get(key, key.capitalize() if len(key) > 1 else key) for key in keys)
    return Table(
        name,
        f"{caption}.",
        tuple(Column(title, align="r" if n else "l") for n, title in enumerate(titles)),
        tuple(tuple(tuple(row.get(key, "") for key in keys) for row in of) for _, of in groups),
        headings=tuple(headings),
        notes=tuple(notes),
    )


def differing_rows(rows: Mapping[Variant, Sequence[Row]]) -> Iterator[tuple[Variant, list[Row]]]:
    """Yield the rows of each variant whose values no earlier variant has."""
    printed: set[tuple[str, ...]] = set()
    for variant, of_variant in rows.items():
        values = [tuple(row[n] for n in row if n in _VALUES) for row in of_variant]
        yield (
            variant,
            [row for row, of in zip(of_variant, values, strict=True) if of not in printed],
        )
        printed.update(values)
