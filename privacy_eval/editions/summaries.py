"""The summaries of the challenge's editions: `result_for_rank*` and `results_*.txt` of 2024 and
2026, of every revision, and `RESULTS_summary_*` of 2022.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence

from ..errors import InputWarning, PrivacyEvalError
from ..io.result_tables import STATISTICS, TABLES, SummaryRow, SummaryTable, table_rows

_HEADING = re.compile(r"-{2,9} *(?:Time\b.{0,40}?|(?P<heading>[^- ].{1,60}?)) *-{2,9}")


def parse_rank(text: str, path: str) -> list[SummaryTable]:
    """Parse a `result_for_rank*` or one of its parts.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a heading, column or row of another form.
    """
    tables: list[SummaryTable] = []
    run, kind, at = 0, "", ""
    body: list[tuple[str, str]] = []
    headings = {form.heading: kind for kind, form in TABLES.items() if form.heading}
    for number, line in enumerate([*text.split("\n"), "---- Time ----"], start=1):
        where, line = f"{path}:{number}", " ".join(line.split())
        if match := _HEADING.fullmatch(line):
            if kind:
                tables.append(SummaryTable(kind, _rows(kind, body, at), run))
            run += match["heading"] is None
            kind, at, body = headings.get(match["heading"] or "", ""), where, []
            if match["heading"] and not kind:
                expected = ", ".join(headings)
                raise PrivacyEvalError(f"{where}: unknown heading {line[:80]!r} (not {expected})")
        elif line and kind:
            body.append((where, line))
        elif line:
            raise PrivacyEvalError(f"{where}: expected '---- ... ----', found {line[:80]!r}")
    if not any(table.rows for table in tables):
        raise PrivacyEvalError(f"{path}: no results: no table has rows (evaluation stopped?)")
    return tables


def _rows(kind: str, body: Sequence[tuple[str, str]], where: str) -> tuple[SummaryRow, ...]:
    """Parse the lines of a table below its heading."""
    if len(body) < 2 or body[0][1] == "Empty DataFrame":
        warnings.warn(InputWarning(f"{where}: {TABLES[kind].heading}: no rows"), stacklevel=4)
        return ()
    (at, header), *lines = body
    names, second = header.split(), iter(lines[0][1].split())
    if {*lines[0][1].split()} <= {*STATISTICS}:
        names = [n if n in TABLES[kind].identity else f"{n}-{next(second, '')}" for n in names]
        del lines[0]
    return table_rows(kind, names, at, ((where, line.split()) for where, line in lines))


_AVERAGE = re.compile(r"((?:Weighted a|A)verage [^:]+): (-?\d{1,3}\.\d{3})", re.ASCII)


def summary_averages(text: str) -> Iterator[tuple[int, str, float]]:
    """Yield the line number, title and value of each average of a `RESULTS_summary_*`.

    Examples
    --------
    >>> list(summary_averages("Average WER dev orig: 7.305\\n"))
    [(1, 'Average WER dev orig', 7.305)]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _AVERAGE.fullmatch(line.strip()):
            yield number, match[1], float(match[2])
