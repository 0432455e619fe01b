"""Tables as LaTeX. Their fonts, floats and pages depend on the document: macros choose them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..metrics.printed import escape_latex, latex_cell
from .table import Column, Style, Table, asset, marked_cells, one_line, table_notes

#: Packages of the challenge's style by what needs them, in the order in which they are loaded.
_PACKAGES = {
    "array": r"\arraybackslash",
    "graphicx": "",
    "colortbl": r"\columncolor",
    "color": r"\textcolor",
    "pdflscape": r"\privacyevalturned",
}


#: Widths of the text of a two-column paper and of one of its columns, in quads of a small font, of
#: the space between the columns of a table; most lines between two places where it may go on.
_TEXT, _COLUMN, _GAP, _LINES = 58.0, 26.0, 0.5, 10

#: Widths of letters in quads, of Computer Modern.
_WIDTHS = {"ijlt.,:;'|![]()I/ ": 0.31, "cersz": 0.43, "mwMW%@&+=": 0.85}

#: A number with a category.
_TAGGED = re.compile(r"(-?\d+\.\d+) ([A-F])")


class Layout:
    """A table: the widths of its columns in quads, its parts and blocks."""

    def __init__(self, table: Table) -> None:
        self.table, self.stacks_titles = table, False
        self.widths = [self._column_width(c) for c in range(len(table.columns))]
        if self._whole(range(len(self.widths))) > _COLUMN:
            self.stacks_titles = True
            self.widths = [self._column_width(c) for c in range(len(table.columns))]
        self.width = self._whole(range(len(self.widths)))
        least = {n: self._longest_word(n) for n, c in enumerate(table.columns) if c.wrap}
        slack = sum(max(0.0, self.widths[n] - word) for n, word in least.items())
        share = min(1.0, max(0.0, self.width - _TEXT) / slack) if slack else 0.0
        for n, word in least.items():
            self.widths[n] -= share * max(0.0, self.widths[n] - word)
        left = (n for n, c in enumerate(table.columns) if n and c.align != "l")
        first = next(left, len(table.columns))
        self.named = [n for n, c in enumerate(table.columns) if n < first or c.identity]

    def _column_width(self, column: int) -> float:
        described = self.table.columns[column]
        if described.wrap:
            return described.wrap
        cells = [0.0]
        for n, row in enumerate(self.table.rows):
            room = self._column_width(column + 1) + _GAP if self._spills(row, column) else 0.0
            cells.append(_width(row[column], (n, column) in self.table.bold) - room)
        lines = self.title_lines(column, max(cells))
        return max(*map(_width, lines), *cells) + (0.8 if described.highlight else 0.0)

    def _spills(self, row: Sequence[str], column: int) -> bool:
        """Return whether a cell may reach into the next column, as of an average of all genders."""
        both = self.table.columns[column : column + 2]
        return [(c.align, c.wrap) for c in both] == [("l", None)] * 2 and not row[column + 1]

    def title_lines(self, column: int, width: float) -> list[str]:
        """Break the title of a column of numbers at blanks, where the table is wide and the title
        wider than what is below it."""
        described = self.table.columns[column]
        words = described.title.split(" ")
        if not self.stacks_titles or described.align == "l" or described.latex or described.wrap:
            return [described.title]
        width = max(width, *map(_width, words))
        lines = words[:1]
        for word in words[1:]:
            joined = f"{lines[-1]} {word}"
            lines[-1:] = [joined] if _width(joined) <= width else [lines[-1], word]
        return lines

    def _longest_word(self, column: int) -> float:
        texts = [self.table.columns[column].title, *(row[column] for row in self.table.rows)]
        return max(_width(word) for text in texts for word in [*text.split(), ""])

    def _whole(self, columns: Sequence[int]) -> float:
        return sum(self.widths[c] + _GAP for c in columns)

    def parts(self) -> list[list[int]]:
        """Divide the columns evenly into what fits beside those that identify a row."""
        fixed, every = self.named, range(len(self.widths))
        others = [column for column in every if column not in fixed]
        if self._whole(every) <= _TEXT + _GAP or not others:
            return [[*every]]
        room = max(_TEXT - self._whole(fixed), _TEXT / 4)
        for number in range(2, len(others)):
            parts = self._fill(others, room, self._whole(others) / number)
            if len(parts) <= number:
                return [sorted([*fixed, *part]) for part in parts]
        return [sorted([*fixed, column]) for column in others]

    def _fill(self, columns: Sequence[int], room: float, even: float) -> list[list[int]]:
        """Divide columns into parts that fit, each of about the width `even`. A rule begins what
        its column names: the next one is beside it."""
        parts: list[list[int]] = [[]]
        for column in columns:
            part, rule = parts[-1], self.table.columns[column].rule
            *titled, last = [c for c in columns if column <= c <= column + rule]
            so_far = self._whole([*part, *titled])
            if part and (so_far + self._whole([last]) > room or so_far >= even):
                parts.append([])
            parts[-1].append(column)
        return parts

    def blocks(self, columns: Sequence[int]) -> Iterator[tuple[int | None, int, list[str]]]:
        """Yield the rows that stay together: their group, None for the rest of one, their number of
        lines, and the rows. The first one repeats what identifies it. Parts after the first leave
        out rows without values."""
        sparse, whole = (
            list(marked_cells(self.table, _cell, r"\textbf{{{}}}".format, sparse=sparse))
            for sparse in (True, False)
        )
        named = [n for n, c in enumerate(self.table.columns) if c.sparse]
        others = [c for c in range(len(self.widths)) if c not in self.named]
        values = [c for c in others if c in columns]
        number, every = 0, others[:1] == values[:1]
        for index, group in enumerate(self.table.groups):
            block: tuple[int | None, int, list[str]] = (index, 0, [])
            heights = [self._height(row) for row in group]
            divided, above = sum(heights) > _LINES, group[0] if group else ()
            for row, height in zip(group, heights, strict=True):
                number += 1
                if not every and not any(row[c] for c in values):
                    above = ()
                    continue
                another = bool(named) and row[named[0]] not in above[named[0] :][:1]
                if divided and block[1] >= (_LINES // 2 if another else _LINES):
                    yield block
                    block = (None, 0, [])
                cells = (sparse if block[2] and above else whole)[number - 1]
                for c in self.named:
                    if self._spills(row, c) and _width(row[c]) > self.widths[c]:
                        cells[c] = rf"\rlap{{{cells[c]}}}"
                line = " & ".join(cells[c] for c in columns)
                # \\ would take these for its own argument and star.
                block[2].append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
                block = (block[0], block[1] + height, block[2])
                above = row
            if block[2] or not group:
                yield block

    def _height(self, row: Sequence[str]) -> int:
        lines = (
            math.ceil(1.1 * _width(cell) / width)
            for cell, width, column in zip(row, self.widths, self.table.columns, strict=True)
            if column.wrap
        )
        return max(1, *lines, 1)


@functools.lru_cache(1 << 14)
def _width(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in quads."""
    text = _TAGGED.sub(r"\1.", text)
    widths = (
        next((w for letters, w in _WIDTHS.items() if c in letters), 0.72 if c.isupper() else 0.52)
        for c in text
    )
    return sum(widths) * (1.15 if bold else 1.0)


def _cell(cell: str) -> str:
    """Escape a cell; raise the category of a number, which makes columns narrower."""
    tagged = _TAGGED.fullmatch(cell)
    return (
        rf"{latex_cell(tagged[1])}\textsuperscript{{{tagged[2]}}}" if tagged else latex_cell(cell)
    )


def to_latex(table: Table, style: Style = "booktabs") -> str:
    """Write a table, or its parts, for any document; the first line names the packages that it
    needs: in the style booktabs no other."""
    challenge = style == "challenge"
    text = "".join(_table(part, challenge) for part in table.parts or (table,))
    needed = [package for package, command in _PACKAGES.items() if command in text]
    needed = needed if challenge else ["booktabs"]
    first = f"% needs \\usepackage{{{','.join(needed)}}}\n"
    comment = f"% {one_line(table.comment)}\n" if table.comment else ""
    return f"{first}{asset('table.tex')}{text}{comment}"


def _table(table: Table, challenge: bool) -> str:
    """Write a call of the macro for each part of the columns."""
    table = table if challenge else _shortened(table)
    layout = Layout(table)
    notes = table_notes(table, "Bold", *["Shaded"] * challenge)
    if challenge and table.colour_means and any(c.colour for c in table.columns):
        notes.append(f"{table.colour_means}.")
    parts = [[*range(len(table.columns))]] if challenge else layout.parts()
    lines = []
    for number, columns in enumerate(parts):
        caption = "" if number else _prose(table.caption)
        aligned, titles = zip(
            *((_challenge(table.columns[c]) if challenge else _plain(layout, c)) for c in columns),
            strict=True,
        )
        rules = "|" * challenge
        lines += [
            rf"\privacyevaltable{{{table.name}}}{{{caption}}}{{{len(columns)}}}"
            rf"{{{rules}{''.join(aligned)}}}{{%",
            rf"{' & '.join(titles)} \\",
            "}{%",
        ]
        for group, height, rows in layout.blocks(columns):
            lines += [_block(table, group, height), *rows, "}"]
        below = " ".join(map(_prose, notes)) if number == len(parts) - 1 else ""
        lines.append(f"}}{{{below}}}")
    text = "\n".join(lines) + "\n"
    if not challenge:
        return text
    text = f"{asset('challenge.tex')}{text}\\endgroup\n"
    return f"\\privacyevalturned{{%\n{text}}}\n" if table.turned else text


def _prose(text: str) -> str:
    """Escape a text whose lines may break within paths."""
    return escape_latex(text).replace("/", r"/\allowbreak{}")


def _block(table: Table, group: int | None, height: int) -> str:
    if group is None:
        return rf"\privacyevalmore{{{height}}}{{%"
    if not table.headings:
        return rf"\privacyevalblock{{{height}}}{{}}{{%"
    label = table.headings[group]
    title = label.latex or escape_latex(label.title)
    return rf"\privacyevalblock{{{height + 2}}}{{\privacyevalheading{{{title}}}}}{{%"


def _shortened(table: Table) -> Table:
    """Shorten cells and titles, and explain them below the table."""
    short = [c.short for c in table.columns]
    groups = tuple(
        tuple(
            tuple(of.get(cell, cell) for of, cell in zip(short, row, strict=True)) for row in rows
        )
        for rows in table.groups
    )
    columns = tuple(replace(c, title=c.short.get(c.title, c.title)) for c in table.columns)
    meanings = {of[x]: x for row in table.rows for of, x in zip(short, row, strict=True) if x in of}
    note = [", ".join(f"{text}: {meaning}" for text, meaning in meanings.items())] * bool(meanings)
    return replace(table, columns=columns, groups=groups, notes=(*note, *table.notes))


def _plain(layout: Layout, number: int) -> tuple[str, str]:
    """Return the alignment of a column, and its title."""
    column, width = layout.table.columns[number], layout.widths[number]
    flag = r" \dag{}" if column.highlight else ""
    title = r"\\".join(map(escape_latex, layout.title_lines(number, width)))
    title = rf"\shortstack{{{title}}}" if r"\\" in title else title
    return (rf"p{{{width:.1f}em}}" if column.wrap else column.align), (column.latex or title) + flag


def _challenge(column: Column) -> tuple[str, str]:
    """Return the same in the challenge's style: with rules, shaded, turned, in colour."""
    title = column.latex or escape_latex(column.title)
    if column.turned:
        title = rf"\rotatebox{{90}}{{\scriptsize {title}\ }}"
    title = rf"\textbf{{{title}}}"
    title = f"\\textcolor{{{column.colour}}}{{{title}}}" if column.colour else title
    wrap = column.wrap
    align = rf">{{\raggedright\arraybackslash}}p{{{wrap}em}}" if wrap else column.align
    align = rf">{{\columncolor[gray]{{0.9}}}}{align}" if column.highlight else align
    return ("|" if column.rule else "") + align + "|", title


def latex_document(title: str, inputs: Iterable[Iterable[str]]) -> str:
    """Write a document that includes files of tables, each group on a new page. The title heads
    every page: a turned table begins a page of its own."""
    body = [
        line for group in inputs for line in (*(rf"\input{{{n}}}" for n in group), r"\clearpage")
    ]
    head, middle, end = re.split("TITLE|BODY", asset("document.tex"))
    return head + escape_latex(title) + middle + "\n".join(body) + end
