"""Tables: columns, headings and rows of cells, without a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from ..metrics.registry import Label

Style = Literal["challenge", "booktabs"]

Item = TypeVar("Item")

#: After the title of a highlighted column where nothing can be shaded.
_OWN = "\u2020"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
        Plain text.
    latex : str
        LaTeX of the title, where plain text does not do.
    align : str
        l, c or r.
    rule : bool
        Whether a double rule comes before it in the challenge's style.
    sparse : bool
        A cell like the one above it in its group is left blank, but in CSV.
    highlight : bool
        Shaded in LaTeX and HTML, its title marked in Markdown and text.
    colour : str or None
        LaTeX colour of the title.
    wrap : int or None
        Width in em at which lines are broken, in LaTeX and HTML.
    """

    title: str
    latex: str | None = None
    align: str = "c"
    rule: bool = False
    sparse: bool = False
    highlight: bool = False
    colour: str | None = None
    wrap: int | None = None


@dataclass(frozen=True)
class Table:
    """A table of text, ready to be set.

    Attributes
    ----------
    name : str
        Name of its files and of its LaTeX label: ASCII without blanks.
    caption : str
    columns : tuple of Column
    groups : tuple of groups of rows
        A rule is drawn between groups; a cell is plain text, "" is blank.
    headings : tuple of Label
        One for each group, or none at all.
    bold : set of (int, int)
        Cells to be marked, by row (of all groups) and column.
    bold_means, highlight_means, colour_means : str
        What marked cells, highlighted columns and colours are: said below the table, in
        formats that show them.
    notes : tuple of str
        More that is said there.
    fit : str
        What LaTeX does where the page is too small: nothing ("as is"; many rows make a
        `longtable`), or the table is "shrunk", or also set in "landscape"; what would be
        too small to read is set in several parts.
    repeated : int
        The first columns, which each of these parts has.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    headings: tuple[Label, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    bold_means: str = ""
    highlight_means: str = ""
    colour_means: str = ""
    notes: tuple[str, ...] = ()
    fit: Literal["as is", "shrunk", "landscape"] = "as is"
    repeated: int = 0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """All rows."""
        return [row for group in self.groups for row in group]


def marked_title(column: Column) -> str:
    return f"{column.title} {_OWN}" if column.highlight else column.title


def table_notes(table: Table, bold: str, shaded: str = _OWN) -> list[str]:
    """What is said below a table; how marks look depends on the format."""
    notes = [f"{bold}: {table.bold_means}"] if table.bold and table.bold_means else []
    if table.highlight_means and any(c.highlight for c in table.columns):
        notes.append(f"{shaded}: {table.highlight_means}")
    return [f"{note}." for note in (*notes, *table.notes)]


def shown_cells(
    table: Table, escape: Callable[[str], str], *, sparse: bool = True
) -> Iterator[list[tuple[str, bool]]]:
    """Escaped cells, and whether each is marked."""
    number = 0
    for group in table.groups:
        above: tuple[str, ...] = ()
        for row in group:
            yield [
                (
                    "" if sparse and column.sparse and above and above[i] == cell else escape(cell),
                    (number, i) in table.bold,
                )
                for i, (column, cell) in enumerate(zip(table.columns, row, strict=True))
            ]
            above = row
            number += 1


def rows_by_group(table: Table, rows: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Something of every row, by the table's groups."""
    start = 0
    for group in table.groups:
        yield rows[start : start + len(group)]
        start += len(group)


def one_line(text: str) -> str:
    """Text without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
