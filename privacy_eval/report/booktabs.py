"""Tables as LaTeX that needs the package booktabs alone: what is too wide or too long for a page of
a paper is continued in another table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .latex_text import escape_latex, latex_cell
from .table import Column, Table, marked_cells, table_notes

#: Widths of a column and of the text of a two-column paper, and the height of a table, in points.
_COLUMN, _TEXT, _HEIGHT = 238.0, 480.0, 560.0

#: Widths of letters in quads, of Computer Modern.
_NARROW, _WIDE = "ijlt.,:;'|![]()I/ ", "mwMW%@&+="


@dataclass(frozen=True)
class _Font:
    """A size of letters: a quad, a line, and the space between columns, in points."""

    name: str
    quad: float
    line: float
    gap: float


_FONTS = (
    _Font(r"\footnotesize\setlength{\tabcolsep}{3pt}", 8.5, 9.9, 6.0),
    _Font(r"\scriptsize\setlength{\tabcolsep}{2pt}", 8.0, 8.4, 4.0),
)


def to_booktabs(table: Table) -> str:
    """Write a `table` of one column of a paper, or a `table*` of both, and its continuations."""
    layout = next((fitting for f in _FONTS if (fitting := _Layout(table, f)).width <= _TEXT), None)
    layout = layout or _Layout(table, _FONTS[-1])
    star = "" if layout.width <= _COLUMN else "*"
    notes = " ".join(map(escape_latex, table_notes(table, "Bold")))
    pages = [(columns, lines) for columns in layout.parts() for lines in layout.pages(columns)]
    text = []
    for number, (columns, lines) in enumerate(pages):
        above = rf"Table~\ref{{tab:{table.name}}}, continued\par\smallskip"
        if number == 0:
            above = f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"
        text += [rf"\begin{{table{star}}}[htbp]", rf"\centering{layout.font.name}", above]
        text += [rf"\begin{{tabular}}{{{layout.alignment(columns)}}}", r"\toprule", *lines]
        text += [r"\bottomrule", r"\end{tabular}"]
        if notes and number == len(pages) - 1:
            text.append(rf"\par\smallskip{{\raggedright\scriptsize {notes}\par}}")
        text.append(rf"\end{{table{star}}}")
    return "\n".join(text) + "\n"


class _Layout:
    """A table in a font: the widths of its columns, and its parts that fit on a page."""

    def __init__(self, table: Table, font: _Font) -> None:
        self.table, self.font = table, font
        self.cells = list(marked_cells(table, latex_cell, r"\textbf{{{}}}".format))
        self.widths = [self._column_width(c) for c in range(len(table.columns))]
        self.width = self._whole(range(len(self.widths)))
        least = {n: self._longest_word(n) for n, c in enumerate(table.columns) if c.wrap}
        slack = sum(max(0.0, self.widths[n] - word) for n, word in least.items())
        share = min(1.0, max(0.0, self.width - _TEXT) / slack) if slack else 0.0
        for n, word in least.items():
            self.widths[n] -= share * max(0.0, self.widths[n] - word)

    def _column_width(self, column: int) -> float:
        described = self.table.columns[column]
        if described.wrap:
            return described.wrap * self.font.quad
        rows = enumerate(self.table.rows)
        cells = (_width(row[column], (n, column) in self.table.bold) for n, row in rows)
        title = _width(described.title) + (0.8 if described.highlight else 0.0)
        return self.font.quad * max(title, *cells, 0.0)

    def _longest_word(self, column: int) -> float:
        texts = [self.table.columns[column].title, *(row[column] for row in self.table.rows)]
        return self.font.quad * max(_width(word) for text in texts for word in [*text.split(), ""])

    def _whole(self, columns: Sequence[int]) -> float:
        return sum(self.widths[c] + self.font.gap for c in columns)

    def parts(self) -> list[list[int]]:
        """Divide the columns evenly into what fits beside those that identify a row."""
        titles = self.table.columns
        fixed = [0]
        while len(fixed) < len(titles) and titles[len(fixed)].align == "l":
            fixed.append(len(fixed))
        others = list(range(len(fixed), len(titles)))
        if self.width <= _TEXT or not others or any(column.wrap for column in titles):
            return [[*fixed, *others]]
        room = max(_TEXT - self._whole(fixed), _TEXT / 4)
        for number in range(2, len(others)):
            parts = self._fill(others, room, self._whole(others) / number)
            if len(parts) <= number:
                return [[*fixed, *part] for part in parts]
        return [[*fixed, column] for column in others]

    def _fill(self, columns: Sequence[int], room: float, even: float) -> list[list[int]]:
        """Divide columns into parts that fit, each of about the width `even`."""
        parts: list[list[int]] = [[]]
        for column in columns:
            part = parts[-1]
            if part and (self._whole([*part, column]) > room or self._whole(part) >= even):
                parts.append([])
            parts[-1].append(column)
        return parts

    def pages(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """Write the rows that fit on a page, below the titles."""
        titles = " & ".join(_title(self.table.columns[c]) for c in columns) + r" \\"
        page, height, number = [titles, r"\midrule"], 0.0, 0
        for index, group in enumerate(self.table.groups):
            heading = self._heading(index, columns)
            needed = sum(map(self._height, group)) + self.font.line * len(heading)
            rule = [r"\midrule"] if height else []
            if height and height + min(needed, _HEIGHT / 2) > _HEIGHT:
                yield page
                page, height, rule = [titles, r"\midrule"], 0.0, []
            page += [*rule, *heading]
            height += self.font.line * len(heading)
            for row in group:
                if height and height + self._height(row) > _HEIGHT:
                    yield page
                    page, height = [titles, r"\midrule", *heading], 0.0
                line = " & ".join(self.cells[number][c] for c in columns)
                # \\ would take these for its own argument and star.
                page.append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
                height += self._height(row)
                number += 1
        yield page

    def _height(self, row: Sequence[str]) -> float:
        lines = (
            math.ceil(1.1 * self.font.quad * _width(cell) / width)
            for cell, width, column in zip(row, self.widths, self.table.columns, strict=True)
            if column.wrap
        )
        return self.font.line * max(1, *lines, 1)

    def _heading(self, group: int, columns: Sequence[int]) -> list[str]:
        if not self.table.headings:
            return []
        label, width = self.table.headings[group], self._whole(columns)
        long = self.font.quad * _width(label.title) + self.font.gap > width
        align = rf"p{{{width - self.font.gap:.0f}pt}}" if long else "l"
        title = rf"\textit{{{label.latex or escape_latex(label.title)}}}"
        return [rf"\multicolumn{{{len(columns)}}}{{{align}}}{{{title}}} \\"]

    def alignment(self, columns: Sequence[int]) -> str:
        """Return the columns of the tabular."""
        described = self.table.columns
        return "".join(
            rf"p{{{self.widths[c]:.0f}pt}}" if described[c].wrap else described[c].align
            for c in columns
        )


def _title(column: Column) -> str:
    flag = r" \dag{}" if column.highlight else ""
    return (column.latex or escape_latex(column.title)) + flag


def _width(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in quads."""
    widths = (
        0.31 if c in _NARROW else 0.85 if c in _WIDE else 0.72 if c.isupper() else 0.52
        for c in text
    )
    return sum(widths) * (1.15 if bold else 1.0)
