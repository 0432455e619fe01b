"""CSV: read strictly; written so that it is safe to open in a spreadsheet, and that every reader
reads it alike."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from ..errors import PrivacyEvalError

# What a spreadsheet may run as a formula, also in full width and other forms that it may
# normalize; numbers, intervals and rows of labels are excepted. Of some countries it splits lines
# at semicolons and tabs, whatever is quoted for commas.
_START = "-+=@\uff0b\uff0d\uff1d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a\u207c\u208a\u208c"
_FORMULA = re.compile(rf"^(?=[\t\r]|[ \"']*[{_START}])|(?<=[;\t\r\n])(?=[ \"']*[{_START}])")
_NUMBERS = re.compile(r"(?:[-+0-9 .,eH\[\]]|inf|nan)*")
_QUOTED = re.compile(r'[,;"\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]|^\s|\s\Z')


def csv_rows(text: str, path: object) -> Iterator[tuple[int, list[str]]]:
    """Read the rows of CSV, without blank ones.

    Parameters
    ----------
    path : object
        For messages.

    Yields
    ------
    int, list of str
        Number of the line where a row begins, from 1, and its cells: as many as of the first.

    Raises
    ------
    PrivacyEvalError
        With file and line: malformed CSV, another number of cells.

    Examples
    --------
    >>> list(csv_rows('a,b\\n\\n1,"2,3"\\n', "x.csv"))
    [(1, ['a', 'b']), (3, ['1', '2,3'])]
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begin, expected = 1, 0
    try:
        for cells in reader:
            expected = expected or len(cells)
            if len(cells) not in (0, expected):
                raise PrivacyEvalError(
                    f"{path}:{begin}: expected {expected} cells, found {len(cells)}"
                )
            if cells:
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise PrivacyEvalError(f"{path}:{begin}: malformed CSV ({error})") from error


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Format rows as CSV that is safe from formula injection in a spreadsheet.

    Parameters
    ----------
    rows : iterable of iterables
        None is a blank cell; text that a spreadsheet would take for a formula, as untrusted
        names may be, gets an apostrophe in front.

    Examples
    --------
    >>> print(csv_text([("=A1()", -1.5), ("a,b", None), ("-0.5 [-1.0, 2.0]", "-x")]), end="")
    '=A1(),-1.5
    "a,b",
    "-0.5 [-1.0, 2.0]",'-x
    """
    return "".join(f"{','.join(map(_cell, row))}\n" for row in rows)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, str) and not _NUMBERS.fullmatch(text):
        text = _FORMULA.sub("'", text)
    # Before 3.13, Python's own writer leaves a lone carriage return without quotes.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text
