"""What verbs on single files find, as tables: of measurements, of results that notebooks print, and
of score files in both variants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import enumerated
from ..metrics import Evaluation, Label, Variant, withholding_caveat
from ..metrics.caveats import NOT_AVAILABLE, marked_text
from ..metrics.evaluation import Comparison
from ..metrics.printed import Printed
from ..results.measurements import CIRCUMSTANCES, VALUES, Row, metric_of
from .table import Column, Table

#: Cells of a row by title.
Cells = Mapping[str, str]
#: Of each variant the evaluated systems by name, the first one compared with the others.
Evaluations = Mapping[Variant, Mapping[str, Evaluation]]
Comparisons = Mapping[Variant, Comparison]

#: Intervals in cells, which depend on the bootstrap.
_INTERVAL = re.compile(r" ?\[.*\]")

#: Cells of a column of numbers.
_NUMBER = re.compile(rf"({NOT_AVAILABLE}|(<= )?[-+]?(\d[\d.e-]*|inf)[?*]?( %)?( ?\[.*\])?|\[.*\])?")


@dataclass(frozen=True)
class Found:
    """What a verb on single files found.

    Attributes
    ----------
    plain : mapping or sequence
        For JSON; dataclasses are entries.
    rows : sequence of Row
        Measurements, for CSV.
    tables : sequence of Table
        For every other format.
    """

    plain: Any
    rows: Sequence[Row]
    tables: Sequence[Table]


def text_table(
    name: str,
    caption: str,
    groups: Mapping[str, Sequence[Cells]],
    notes: Sequence[str] = (),
) -> Table:
    """Make a table of rows in groups by heading, without blank columns."""
    some = {heading: of for heading, of in groups.items() if of}
    cells = [row for of in some.values() for row in of]
    titles = list(dict.fromkeys(title for row in cells for title, text in row.items() if text))

    def column(title: str) -> Column:
        numbers = all(_NUMBER.fullmatch(row.get(title, "")) for row in cells)
        name = title if len(title.split()[0]) == 1 else f"{title[0].upper()}{title[1:]}"
        first = title == titles[0]
        return Column(name, align="r" if numbers and not first else "l", sparse=first)

    return Table(
        name,
        f"{caption}.",
        tuple(map(column, titles)),
        tuple(tuple(tuple(row.get(t, "") for t in titles) for row in of) for of in some.values()),
        headings=tuple(map(Label, some)) if any(some) else (),
        notes=tuple(dict.fromkeys(notes)),
    )


def table_of(name: str, result: Printed, caption: str = "", notes: Sequence[str] = ()) -> Table:
    """Make the table that a notebook prints of a result."""
    return text_table(
        name, caption or result.heading, {"": result.cells()}, [*result.notes, *notes]
    )


def ends(interval: Any) -> dict[str, float | None]:
    """Return the ends of an interval, or of none, as those of a row."""
    of = interval if isinstance(interval, Mapping) else vars(interval) if interval else {}
    return {"low": of.get("low"), "high": of.get("high")}


#: What rows without a part are of.
_WHOLE = {"speaker": "all", "fold": "all"}


def number_table(name: str, caption: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Table:
    """Make a table of measurements: what they are of, where that differs, and their counts."""
    differ = [n for n in (*CIRCUMSTANCES, "variant") if len({str(r.get(n)) for r in rows}) > 1]
    known = {*CIRCUMSTANCES, *VALUES, "tag", "caveats"} - {"p"}
    more = [n for n in dict.fromkeys(n for row in rows for n in row) if n not in known]
    cells = [
        {n.replace("_", " "): str(row.get(n) or _WHOLE.get(n, "")) for n in differ}
        | _number(row)
        | {n.removeprefix("n_").replace("_", " "): _further(row, n) for n in more}
        for row in rows
    ]
    return text_table(name, caption, {"": cells}, notes)


def _number(row: Row) -> dict[str, str]:
    """Format the value of a measurement, with its unit, and its interval."""
    metric, value, low = metric_of(row["metric"]), row["value"], row.get("low")
    text = NOT_AVAILABLE
    if value is not None:
        caveat = withholding_caveat(row.get("caveats", {}), row["metric"])
        text = marked_text(metric.format(value, detailed=True), caveat)
    if text != NOT_AVAILABLE:
        text = f"{text} {metric.printed_unit}".rstrip()
    ends = None if low is None else (low, row["high"])
    interval = {"95 % interval": metric.interval(ends, detailed=True)} if "low" in row else {}
    return {"metric": metric.sentence, "value": text, **interval}


def _further(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, float):
        return "" if value is None else str(value)
    metric = metric_of(row["metric"])
    text = f"{value:.3g}" if name == "p" else f"{metric.format(value)} {metric.printed_unit}"
    return text.rstrip()


def score_rows(evaluations: Evaluations, comparisons: Comparisons) -> Iterator[dict[str, Any]]:
    """Yield the metrics of score files, and the differences of the first one from the others."""
    for variant, systems in evaluations.items():
        for name, evaluation in systems.items():
            yield from ({"system": name, **row} for row in evaluation.to_rows())
        if compared := comparisons.get(variant):
            yield from ({"system": next(iter(systems)), **row} for row in compared.to_rows())


def score_table(
    evaluations: Evaluations, comparisons: Comparisons, notes: Sequence[str] = ()
) -> Table:
    """Make a table of the metrics of one score file, or of its comparison with others, a row per
    metric and system; of further variants it has what differs."""
    systems = next(iter(evaluations.values()))
    names, first = list(systems), next(iter(systems.values()))
    trials = f"{first.n_target} target and {first.n_nontarget} nontarget trials"
    if (drawn := first.replicates) is not None:
        trials += f", {drawn.n_speakers} speakers with target trials"
    told = [note for of in evaluations.values() for note in of[names[0]].notes]
    replicates = {bounds.replicates for bounds in first.intervals.values()}
    told += [f"95 % intervals: bootstrap over speakers ({n} replicates)" for n in replicates]
    if not comparisons:
        rows = {v: of[names[0]].cells() for v, of in evaluations.items()}
        caption = f"Privacy metrics of {names[0]} on {trials}"
        return _of_variants("metrics", caption, rows, [*told, *notes])
    titles = distinct_parts(names)
    rows = {v: list(_compared(of, comparisons[v], titles)) for v, of in evaluations.items()}
    for name, title in zip(names[1:], titles[1:], strict=True):
        reasons = (why for of in evaluations.values() for why in of[name].reasons)
        told += [f"{title}: {why}" for why in reasons]
    told += [f"Difference: {titles[0]} minus the other"]
    told += next(iter(comparisons.values())).notes
    caption = f"{enumerated(titles)} on the same {trials}"
    table = _of_variants("versus", caption, rows, [*told, *notes])
    files = "; ".join(f"{t}: {n}" for t, n in zip(titles, names, strict=True) if t != n)
    metric, *more = table.columns
    return replace(table, comment=files, columns=(replace(metric, wrap=16), *more))


def _compared(
    systems: Mapping[str, Evaluation], comparison: Comparison, titles: Sequence[str]
) -> Iterator[dict[str, str]]:
    """Yield, for each metric, a row of the first system and one of each other."""
    intervals = [[row.get("95 % interval", "") for row in of.cells()] for of in systems.values()]
    others = [comparison.cells(name) for name in comparison.differences]
    for number, rows in enumerate(zip(*others, strict=True)):
        values = [rows[0]["value"], *(row["other"] for row in rows)]
        for place, value in enumerate(values):
            printed = f"{value} {intervals[place][number]}".rstrip()
            row = {"metric": rows[0]["metric"], "system": titles[place], "value": printed}
            if place:
                tested = dict(rows[place - 1])
                difference, ends = (tested.pop(k, "") for k in ("difference", "95 % interval"))
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


def _of_variants(
    name: str, caption: str, rows: Mapping[Variant, Sequence[Cells]], notes: Sequence[str]
) -> Table:
    """Make a table with a group per variant, of further ones with the rows that differ."""
    groups: dict[str, Sequence[Cells]] = {}
    printed = set[tuple[str, ...]]()
    for variant, of_variant in rows.items():
        values = {
            tuple(_INTERVAL.sub("", text) for title, text in row.items() if title[0] != "p"): row
            for row in of_variant
        }
        if different := [row for key, row in values.items() if key not in printed]:
            groups[f"{variant}, where it differs" if groups else variant] = different
        printed |= values.keys()
    if len(groups) == 1:
        caption, groups = f"{caption}, variant {' and '.join(rows)}", {"": [*groups.values()][0]}
    return text_table(name, caption, groups, notes)
