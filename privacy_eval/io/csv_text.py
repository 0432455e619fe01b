"""Tables with a header, read strictly and by the names of their columns; CSV, written so that it
is safe to open in a spreadsheet, and that every reader reads it alike."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from .files import ask_if_cut

if TYPE_CHECKING:
    from .text_table import Column

# What a spreadsheet may run as a formula, also in full width and other forms that it may
# normalize; numbers, intervals and rows of labels are excepted. Of some countries it splits lines
# at semicolons and tabs, whatever is quoted for commas.
_START = "-+=@\uff0b\uff0d\uff1d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a\u207c\u208a\u208c"
_FORMULA = re.compile(rf"^(?=[\t\r]|[ \"']*[{_START}])|(?<=[;\t\r\n])(?=[ \"']*[{_START}])")
_NUMBERS = re.compile(r"(?:[-+0-9 .,eH\[\]]|inf|nan)*")
_QUOTED = re.compile(r'[,;"\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]|^\s|\s\Z')

#: Patterns of columns' names in small letters, without blanks and marks: ids of speakers, of
#: utterances, and of either.
SPEAKERS = (
    r"(speaker|spkr?|client|reader|talker|subject|participant|person|user|actor|"
    r"voxceleb\d)(id|name)?"
)
UTTERANCES = (
    r"(utt(erance)?|seg(ment)?|(wav|audio)?file|wav|audio|clip|reco(rding)?|path|deg)"
    r"(id|name|path)?(deg)?"
)
IDS = f"{SPEAKERS}|{UTTERANCES}"
#: What pandas, R and readr call a column that numbers the rows.
ROW_NUMBERS = r"|unnamed\d.*|index|level\d|row\.?names?|\.\.\.1"
# Blanks are stripped around a cell; other invisible characters are left to be refused.
_WORD = re.compile(r"[^\W\d_]")
_SEPARATORS, _BLANKS = "\t;,|", " \t\xa0"
# Lines before the header of some corpora's tables, whose header begins with a semicolon, too.
_COMMENTS = re.compile(r"\A((?:;.*\n)*);(?=[^;\n]+\n[^;\n]*(?:\n|\Z))")


@dataclass(frozen=True)
class NamedColumns:
    """Table whose first line names the columns.

    Attributes
    ----------
    header : list of str
    rows : list of (int, list of str)
        Number of the line, and the cells without blanks around them.
    """

    path: object
    header: list[str]
    rows: list[tuple[int, list[str]]]

    def cells(self, place: int) -> list[str]:
        """Return the cells of a column."""
        return [cells[place] for _, cells in self.rows]

    def column(self, place: int, *, words: bool = True) -> Column:
        """Return a column of texts, of which each is a word unless that is not asked.

        Raises
        ------
        PrivacyEvalError
            No rows; with file and line: a cell that is blank, or several words.
        """
        from .text_table import check_words, column_of

        if not self.rows:
            raise PrivacyEvalError(f"{self.path}: no rows below the header")
        column = column_of(self.cells(place), [line for line, _ in self.rows])
        if words:
            check_words(column, self.header[place], self.path)
        return column

    def places(self, pattern: str) -> list[int]:
        """Return the columns whose names have a pattern."""
        return [n for n, name in enumerate(self.header) if re.fullmatch(pattern, folded(name))]

    def find(self, *patterns: str) -> int | None:
        """Find the column with the first of several patterns, or with the second if none has that.

        Raises
        ------
        PrivacyEvalError
            Several such columns, unless only one has another value in each row.
        """
        places = next(filter(None, map(self.places, patterns)), [])
        distinct = [n for n in places if len(set(self.cells(n))) == len(self.rows)]
        if len(places) > 1 != len(distinct):
            named = " or ".join(repr(self.header[n]) for n in places)
            raise PrivacyEvalError(f"{self.path}:1: which column is it, {named}? Keep one of them")
        return next(iter(distinct or places), None)

    def id_column(self, *patterns: str, other: int = -1) -> int:
        """Find the column of ids by its name; else it is the first that does not number the rows.

        Parameters
        ----------
        *patterns : str
            As of `find`.
        other : int
            A column of something else.

        Raises
        ------
        PrivacyEvalError
            Several such columns, or none.
        """
        if (place := self.find(*patterns, "ids?")) is not None:
            return place
        index = [n for n in self.places(ROW_NUMBERS) if self._numbers_rows(n)]
        rest = [n for n in range(len(self.header)) if n not in (*index, other)]
        if not rest or (index and not any(map(_WORD.search, self.cells(rest[0])))):
            missing = "rows are numbered, without ids: name their column speaker or utterance"
            raise PrivacyEvalError(f"{self.path}:1: {missing}")
        return rest[0]

    def _numbers_rows(self, place: int) -> bool:
        """Tell whether a column of integers counts the rows, or is the index of several columns."""
        cells = {*self.cells(place)}
        counted = cells >= {*map(str, range(1, len(self.rows)))}
        return all(map(str.isdecimal, cells)) and (counted or len(self.header) > 2)


def read_table(text: str, path: object, header: Sequence[str] | None = None) -> NamedColumns:
    r"""Read a table with a header, whose cells tabs, commas, semicolons, bars or blanks separate.

    Parameters
    ----------
    path : object
        For messages.
    header : sequence of str, optional
        Names of the columns of a table without a header.

    Raises
    ------
    PrivacyEvalError
        As `csv_rows`.

    Examples
    --------
    >>> table = read_table("\tspeaker\tsex\n0\ts1\tf\n", "x.tsv")
    >>> table.header[table.id_column(SPEAKERS)], table.rows
    ('speaker', [(2, ['0', 's1', 'f'])])
    """
    ask_if_cut(path, text)
    text = _COMMENTS.sub(lambda match: "\n" * match[1].count("\n"), text)
    lines = [line.strip(" \r") for line in text.strip("\r\n").split("\n", 2)[:2]]
    separator, first = cells_of(lines[0])
    if separator == " ":
        text = "\n".join(map(str.strip, text.split("\n")))
    second = next(csv.reader(lines[1:], delimiter=separator, skipinitialspace=True), [])
    if len(second) == len(first) + 1 and second[0].isdecimal():  # R's numbers of rows
        text = text.replace(lines[0], f'""{separator}{lines[0]}', 1)
    rows = [(n, [c.strip(_BLANKS) for c in cells]) for n, cells in csv_rows(text, path, separator)]
    if header is not None:
        return NamedColumns(path, [*header], rows)
    return NamedColumns(path, rows[0][1] if rows else [], rows[1:])


def cells_of(line: str, separator: str = "") -> tuple[str, list[str]]:
    """Return what separates the cells of a line, unless that is known, and the cells.

    Examples
    --------
    >>> cells_of('"left";"sim";0,5')
    (';', ['left', 'sim', '0,5'])
    """
    line = re.sub("[\r\n\0]", " ", line).strip(" ")
    bare = re.sub('"[^"]*"', "", line)
    if not separator:
        separator = max(_SEPARATORS, key=bare.count)
        separator = " " if separator not in bare and " " in bare else separator
    reader = csv.reader(
        [line],
        delimiter=separator,
        skipinitialspace=True,
        quoting=csv.QUOTE_NONE if '"' in bare else csv.QUOTE_MINIMAL,  # an open one is of a word
    )
    cells = next(reader, [])
    return separator, [cell.strip(_BLANKS) for cell in cells]


def is_header(first: str, *patterns: str) -> bool:
    """Tell whether a line names columns, of each pattern one.

    Examples
    --------
    >>> is_header(",speaker,sex", SPEAKERS), is_header("speaker-1 sex", SPEAKERS)
    (True, False)
    """
    names = list(map(folded, re.split(f"[{_SEPARATORS} ]", first)))
    return all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns)


def folded(name: str) -> str:
    """Return the name of a column in small letters, without blanks and marks."""
    return re.sub(r"[^\w.]|_", "", name.lower())


def csv_rows(text: str, path: object, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Read the rows of CSV, without blank ones.

    Parameters
    ----------
    path : object
        For messages.
    separator : str
        A bar within the last cell belongs to it; several blanks are one.

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
    lines, blank = io.StringIO(text, newline=""), separator == " "
    reader = csv.reader(lines, strict=True, delimiter=separator, skipinitialspace=blank)
    begin, expected = 1, 0
    try:
        for cells in reader:
            expected = expected or len(cells)
            if separator != "," and any("\n" in cell for cell in cells):  # quotes may mean nothing
                what = "a quoted cell goes on in the next line: remove its quotes"
                raise PrivacyEvalError(f"{path}:{begin}: {what}")
            if separator == "|" and len(cells) > expected:
                cells[expected - 1 :] = [separator.join(cells[expected - 1 :])]
            if len(cells) not in (0, expected):
                raise PrivacyEvalError(
                    f"{path}:{begin}: expected {expected} cells, found {len(cells)}"
                    + " separated by blanks" * blank
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
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) else _text_cell(str(value))


@functools.lru_cache(maxsize=1 << 16)
def _text_cell(text: str) -> str:
    """Format a text; most of a table's are those of other rows, too."""
    if not _NUMBERS.fullmatch(text):
        text = _FORMULA.sub("'", text)
    # Before 3.13, Python's own writer leaves a lone carriage return without quotes.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text
