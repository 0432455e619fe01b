"""CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

# What a spreadsheet would run as a formula; numbers, intervals and rows of labels are excepted.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?!(?:[-+0-9 .,eH\[\]]|inf|nan)*$)")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Format rows as CSV that runs nothing in a spreadsheet.

    Parameters
    ----------
    rows : iterable of iterables
        None is a blank cell; text that a spreadsheet would take for a formula, as untrusted
        names may be, gets an apostrophe in front.

    Returns
    -------
    str

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
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
