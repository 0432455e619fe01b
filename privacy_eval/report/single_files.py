"""Metrics of score files, and paired differences between them, as CSV and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import enumerated
from ..io.schema import to_plain
from ..metrics import Evaluation, Label, Variant
from ..metrics.printed import bias_notes

if TYPE_CHECKING:
    from ..metrics.evaluation import Comparison
    from .table import Table

#: Of each variant the evaluated systems by name, the first one compared with the others.
Evaluations = Mapping[Variant, Mapping[str, Evaluation]]
Comparisons = Mapping[Variant, "Comparison"]
#: A row of a printed table, by title.
Row = dict[str, str]
# What is not printed: the values of a row without intervals, which depend on the bootstrap.
_IDENTITY = "identity"

_HEAD = "system variant metric value low_95 high_95 caveat".split()
_DIFFERENCE = (
    *("difference", "difference_low_95", "difference_high_95", "p_value", "p_value_holm"),
    *("p_value_is_bound", "difference_caveat"),
)


def score_files_csv(evaluations: Evaluations, comparisons: Comparisons) -> str:
    """Write a row per system, variant and metric in stored units: rates are fractions. Differences
    are those of the first system minus the system of the row."""
    from ..io.csv_text import csv_text

    rows = [[*_HEAD, *(_DIFFERENCE if comparisons else ())]]
    for variant, systems in evaluations.items():
        compared = comparisons[variant] if comparisons else None
        for name, evaluation in systems.items():
            for of in evaluation.to_rows():
                values = (of["value"], of["low"], of["high"])
                row = [name, variant, of["metric"], *map(to_plain, values), of["caveat"]]
                rows.append(
                    row + (_difference_cells(compared, name, of["metric"]) if compared else [])
                )
    return csv_text(rows)


def _difference_cells(comparison: Comparison, name: str, key: str) -> list[object]:
    """Return the cells of the difference of the first system minus another."""
    if name not in comparison.differences:
        return [None] * len(_DIFFERENCE)
    d = comparison.differences[name][key]
    numbers = (d.difference, d.interval.low, d.interval.high, d.p_value, d.p_value_holm)
    return [*map(to_plain, numbers), "yes" if comparison.is_bound(d) else "no", d.caveat]


def score_files_latex(evaluations: Evaluations, comparisons: Comparisons) -> str:
    """Write a booktabs table of one system, or of its comparison with others: a row per metric and
    system."""
    from .latex import to_latex

    names = list(next(iter(evaluations.values())))
    first = next(iter(evaluations.values()))[names[0]]
    trials = f"{first.n_target} target and {first.n_nontarget} nontarget trials"
    drawn = [bounds.replicates for bounds in first.intervals.values()][:1]
    notes = [f"95 % intervals: bootstrap over speakers ({n} replicates)" for n in drawn]
    notes += bias_notes(list(first.intervals))
    if not comparisons:
        rows = {v: of[names[0]].cells() for v, of in evaluations.items()}
        return to_latex(_table(f"Privacy metrics of {names[0]} on {trials}", rows, notes))
    titles = distinct_parts(names)
    rows = {v: list(_compared(of, comparisons[v], titles)) for v, of in evaluations.items()}
    notes += [f"Difference: {titles[0]} minus the other", "p: two-sided, paired"]
    table = _table(f"{enumerated(titles)} on the same {trials}", rows, notes)
    files = "; ".join(f"{t}: {n}" for t, n in zip(titles, names, strict=True) if t != n)
    return to_latex(replace(table, comment=files))


def _compared(
    systems: Mapping[str, Evaluation], comparison: Comparison, titles: Sequence[str]
) -> Iterator[Row]:
    """Yield, for each metric, a row of the first system and one of each other."""
    intervals = [[row.get("95 % interval", "") for row in of.cells()] for of in systems.values()]
    others = [comparison.cells(name) for name in comparison.differences]
    for number, rows in enumerate(zip(*others, strict=True)):
        values = [rows[0]["value"], *(row["other"] for row in rows)]
        for place, value in enumerate(values):
            printed = f"{value} {intervals[place][number]}".rstrip()
            row = {"metric": rows[0]["metric"], "system": titles[place], "value": printed}
            row[_IDENTITY] = f"{titles[place]} {value}"
            if place:
                tested = dict(rows[place - 1])
                difference, ends = (tested.pop(k, "") for k in ("difference", "95 % interval"))
                row[_IDENTITY] += f" {difference}"
                row["difference"] = f"{difference} {ends}".rstrip()
                row |= {key: text for key, text in tested.items() if key.startswith("p")}
            yield row


def distinct_parts(names: Sequence[str]) -> list[str]:
    """Shorten paths of one depth to the first folder or file in which they all differ.

    Examples
    --------
    >>> distinct_parts(["exp/B1/x_B1/scores", "exp/B2/x_B2/scores"])
    ['B1', 'B2']
    >>> distinct_parts(["scores", "other/scores"])
    ['scores', 'other/scores']
    """
    of_all = [Path(name).parts for name in names]
    if len({len(parts) for parts in of_all}) > 1 or len({Path(n).is_absolute() for n in names}) > 1:
        return list(names)
    distinct = (parts for parts in zip(*of_all, strict=True) if len({*parts}) == len(parts))
    return list(next(distinct, names))


def _table(caption: str, rows: Mapping[Variant, Sequence[Row]], notes: Sequence[str]) -> Table:
    """Make a table of printed rows, whose other variants have only what differs."""
    from .table import Column, Table

    every = (key for of in rows.values() for row in of for key in row if key != _IDENTITY)
    keys = list(dict.fromkeys(every))
    groups = [(variant, of) for variant, of in differing_rows(rows) if of]
    headings = [Label(f"{v}, where it differs" if n else v) for n, (v, _) in enumerate(groups)]
    if len(groups) == 1:
        headings, caption = [], f"{caption}, variant {' and '.join(rows)}"
    left, compared = ("metric", "system"), "system" in keys
    return Table(
        "versus" if compared else "metrics",
        f"{caption}.",
        tuple(
            Column(
                key.capitalize() if len(key.partition(" ")[0]) > 1 else key,
                align="l" if key in left else "r",
                sparse=key == "metric",
                wrap=16 if compared and key == "metric" else None,
            )
            for key in keys
        ),
        tuple(tuple(tuple(row.get(key, "") for key in keys) for row in of) for _, of in groups),
        headings=tuple(headings),
        notes=tuple(notes),
    )


def differing_rows(rows: Mapping[Variant, Sequence[Row]]) -> Iterator[tuple[Variant, list[Row]]]:
    """Yield the rows of each variant whose values no earlier variant has."""
    printed: set[tuple[str, ...]] = set()
    for variant, of_variant in rows.items():
        values = [
            (row["metric"], row.get(_IDENTITY, row["value"]), row.get("other", ""))
            for row in of_variant
        ]
        yield (
            variant,
            [row for row, of in zip(of_variant, values, strict=True) if of not in printed],
        )
        printed.update(values)
