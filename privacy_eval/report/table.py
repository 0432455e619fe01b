"""Tables: columns, headings and rows of cells, independent of the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from ..metrics.registry import NO_WIDTH, NO_WIDTH_NOTE, Label

Style = Literal["challenge", "booktabs"]

Item = TypeVar("Item")

#: Cells of a row, or its first ones, which identify it.
Key = tuple[str, ...]

#: Sections of the report, by which tables and figures are placed in it; others are in `sections`.
ANSWER = "Answer"
SIDE_BY_SIDE = "Systems side by side"

#: Section of tables that are in files only.
FILES_ONLY = "Files only"

#: First cell of a row of averages, which stays last where rows are sorted.
AVERAGE = "Weighted average"

#: Flag of the titles of highlighted columns, in formats without shading.
_FLAG = "\u2020"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
        Plain text.
    latex : str
        LaTeX of the title, if it is not the plain text.
    align : str
        l, c or r.
    rule : bool
        Whether a double rule comes before it in the challenge's style.
    sparse : bool
        Leave a cell blank if it is equal to the one above it in its group, except in CSV.
    highlight : bool
        Shaded in LaTeX and HTML, its title flagged in Markdown and text.
    colour : str or None
        LaTeX colour of the title.
    wrap : int or None
        Line width in em, in LaTeX and HTML.
    turned : bool
        Its title is turned in the challenge's style.
    identity : bool
        It identifies rows, as the columns on the left do: every part of a divided table has it.
    short : mapping
        Shorter texts of its title and cells in LaTeX, which a note explains.
    """

    title: str
    latex: str | None = None
    align: str = "c"
    rule: bool = False
    sparse: bool = False
    highlight: bool = False
    colour: str | None = None
    wrap: int | None = None
    turned: bool = False
    identity: bool = False
    short: Mapping[str, str] = field(default_factory=dict, hash=False)


def aligned(align: str, *titles: str, sparse: bool = False) -> list[Column]:
    """Make columns of an alignment."""
    return [Column(title, align=align, sparse=sparse) for title in titles]


@dataclass(frozen=True)
class Table:
    """A table of text in no format yet.

    Attributes
    ----------
    name : str
        Name of its files and LaTeX label: ASCII without blanks.
    caption : str
    section, title : str
        Its section of the report, and its title there.
    exact : mapping
        Cells of CSV with more digits, by row (of all groups) and column.
    parts : tuple of Table
        Tables that its files contain instead, but for CSV, where it is one.
    front : bool
        Whether its files are beside the index, and those of other tables in a folder below.
    columns : tuple of Column
    groups : tuple of groups of rows
        A rule is drawn between groups; a cell is plain text, "" is blank.
    headings : tuple of Label
        One for each group, or none at all.
    bold : set of (int, int)
        Bold cells, by row (of all groups) and column.
    bold_means, highlight_means, colour_means : str
        Meaning of bold cells, highlighted columns and colours: a note below the table, in
        formats with them.
    notes : tuple of str
        More notes below the table.
    comment : str
        Comment after the table in LaTeX and Markdown sources: how the results were made.
    turned : bool
        In landscape in the challenge's style.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[Key, ...], ...] = ()
    headings: tuple[Label, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    bold_means: str = ""
    highlight_means: str = ""
    colour_means: str = ""
    notes: tuple[str, ...] = ()
    comment: str = ""
    turned: bool = False
    section: str = ""
    title: str = ""
    exact: Mapping[tuple[int, int], str] = field(default_factory=dict)
    parts: tuple[Table, ...] = ()
    front: bool = False

    @property
    def rows(self) -> list[Key]:
        """Rows of all groups."""
        return [row for group in self.groups for row in group]


def marked_title(column: Column) -> str:
    return f"{column.title} {_FLAG}" if column.highlight else column.title


def table_notes(table: Table, bold: str, shaded: str = _FLAG) -> list[str]:
    """Return the notes below a table; flags depend on the format."""
    notes = [f"{bold}: {table.bold_means}"] if table.bold and table.bold_means else []
    if table.highlight_means and any(c.highlight for c in table.columns):
        notes.append(f"{shaded}: {table.highlight_means}")
    notes += table.notes
    if any(NO_WIDTH in cell for row in table.rows for cell in row):
        notes.append(NO_WIDTH_NOTE)
    return [f"{note}." for note in notes]


def marked_cells(
    table: Table, escape: Callable[[str], str], bold: Callable[[str], str], *, sparse: bool = True
) -> Iterator[list[str]]:
    """Escape cells, and mark bold ones that are not blank."""
    number = 0
    for group in table.groups:
        above: tuple[str, ...] = ()
        for row in group:
            cells = []
            for i, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
                repeated = sparse and column.sparse and above and above[i] == cell
                text = "" if repeated else escape(cell)
                cells.append(bold(text) if text and (number, i) in table.bold else text)
            yield cells
            above = row
            number += 1


def nonempty(groups: Iterable[Iterable[Key]]) -> tuple[tuple[Key, ...], ...]:
    """Return the groups that have rows."""
    return tuple(rows for group in groups if (rows := tuple(group)))


def by_group(table: Table, rows: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
    """Group what belongs to the rows by the table's groups, each with its heading; "" for none."""
    start = 0
    for number, group in enumerate(table.groups):
        heading = table.headings[number].title if table.headings else ""
        yield heading, rows[start : start + len(group)]
        start += len(group)


def one_line(text: str) -> str:
    """Replace line ends and control characters by blanks."""
    return "".join(c if c.isprintable() else " " for c in text)


def asset(name: str) -> str:
    """Read a file beside this module: macros, a style sheet, a template."""
    return Path(__file__).with_name(name).read_text("utf-8")
