"""CSV that others open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

# A spreadsheet takes what begins so for a formula, and runs it; not numbers, intervals and rows
# of labels, which name no function.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?!(?:[-+0-9 .,eH\[\]]|inf|nan)*$)")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV. None is a blank cell; a text that a spreadsheet would take for a formula,
    as names from strangers may be, gets an apostrophe in front.

    Examples
    --------
    >>> print(csv_text([("=A1()", -1.5), ("a,b", None), ("-0.5 [-1.0, 2.0]", "-x")]), end="")
    '=A1(),-1.5
    "a,b",
    "-0.5 [-1.0, 2.0]",'-x
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value
