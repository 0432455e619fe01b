"""Tables as text, Markdown, CSV and HTML, and sets of them as files."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ..io.csv_text import csv_text
from ..io.files import file_names
from ..metrics import METRICS
from ..metrics.caveats import IMPLAUSIBLE_MARK, LEFT_OUT_MARK
from ..products.freshness import write_set
from .latex import latex_document, to_latex
from .markup import Markup, tag
from .table import (
    AVERAGE,
    Style,
    Table,
    by_group,
    marked_cells,
    marked_title,
    one_line,
    table_notes,
)


def escape_markdown(text: str) -> str:
    """Escape any text for one line of Markdown.

    Examples
    --------
    >>> escape_markdown("a|b*c")
    'a\\\\|b\\\\*c'
    """
    line = " ".join(one_line(text).split())
    parts = _INTERVAL.split(line)
    parts[::2] = (_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2])
    return "".join(parts)


def to_markdown(table: Table) -> str:
    """Write a pipe table below its caption, or one for each group with a heading."""
    head = [escape_markdown(marked_title(c)) for c in table.columns]
    rows = list(marked_cells(table, escape_markdown, "**{}**".format))
    parts = [escape_markdown(table.caption)]
    for heading, group in by_group(table, rows) if table.headings else [("", rows)]:
        parts += [f"**{escape_markdown(heading)}**"] * bool(table.headings)
        parts.append(_pipes(table, head, group))
    parts += [escape_markdown(note) for note in table_notes(table, "Bold")]
    if table.comment:
        parts.append(f"<!-- {html.escape(one_line(table.comment)).replace('--', '- -')} -->")
    return "\n\n".join(parts) + "\n"


def to_text(table: Table) -> str:
    """Separate columns by blanks, groups by blank lines."""
    head = [one_line(marked_title(c)) for c in table.columns]
    rows = list(marked_cells(table, one_line, "{}*".format))
    lines = _aligned([head, *rows], [c.align if rows else "l" for c in table.columns])
    spaced: list[str] = []
    for heading, group in by_group(table, lines[2:]):
        spaced += [""] * bool(spaced) + [one_line(heading)] * bool(table.headings)
        spaced += group
    notes = [one_line(note) for note in table_notes(table, "*")]
    notes = ["", *notes] if notes else []
    return "\n".join([one_line(table.caption), "", *lines[:2], *spaced, *notes]) + "\n"


#: How Python writes an alignment.
_PADDED = {"l": "<", "c": "^", "r": ">"}


def _aligned(cells: Sequence[Sequence[str]], aligns: Sequence[str]) -> list[str]:
    """Return the lines of head and rows as tabulate's `simple` has them; importing that takes as
    long as most verbs."""
    widths = [
        max(len(head) + 2, *map(len, column), 0) for head, *column in zip(*cells, strict=True)
    ]
    forms = [f"{{:{_PADDED[align]}{width}}}" for align, width in zip(aligns, widths, strict=True)]
    head, *rows = ("  ".join(forms).format(*of).rstrip() for of in cells)
    return [head, "  ".join("-" * width for width in widths), *rows]


def to_csv(tables: Iterable[Table]) -> str:
    """Write all tables as one: a line for each cell that is not blank, with its number and interval
    if it has them; `row` counts from 1, and headings of groups are cells of the column Block."""
    lines = [["table", "row", "column", "text", "value", "low", "high"]]
    for table in tables:
        headings = [heading for heading, of in by_group(table, table.rows) for _ in of]
        for number, (heading, row) in enumerate(zip(headings, table.rows, strict=True)):
            place = [table.name, str(number + 1)]
            if heading:
                lines.append([*place, "Block", one_line(heading), "", "", ""])
            for index, (column, text) in enumerate(zip(table.columns, row, strict=True)):
                exact = table.exact.get((number, index), text)
                numbers = ["", "", ""] if column.align == "l" else _numbers(exact)
                lines += [[*place, one_line(column.title), one_line(text), *numbers]] * bool(text)
    return csv_text(lines)


def _numbers(text: str) -> Sequence[str]:
    """Return the number at the beginning of a cell, and the bounds of its interval; "" without, and
    of values that are marked as uninformative."""
    found = _CELL.match(text)
    return [(of or "").replace("\u2212", "-") for of in found.groups()] if found else ["", "", ""]


_NUMBER_TEXT = r"([-+\u2212]?(?:\d+(?:\.\d+)?|inf))"
_CELL = re.compile(
    rf"(?:{_NUMBER_TEXT}(?![\w.:/{IMPLAUSIBLE_MARK}{LEFT_OUT_MARK}])[^\[]*)?"
    rf"(?:\[{_NUMBER_TEXT}, {_NUMBER_TEXT}\])?.*"
)


def to_html(table: Table) -> Markup:
    """Write a `table` element with its caption and notes, folded if there are several.

    Classes are for a style sheet: `own` columns, `l` for text, `mean` for rows of averages.
    """
    by_column = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    attributes = [
        {
            "class_": " ".join(
                ["own"] * c.highlight + ["l"] * (not all(map(_NUMBER.match, filter(None, cells))))
            ),
            "style": f"white-space: normal; min-width: {c.wrap}em" if c.wrap else None,
        }
        for c, cells in zip(table.columns, by_column, strict=True)
    ]
    heads = (
        tag("th", one_line(c.title), **given, data_tex=one_line(c.latex or ""))
        for c, given in zip(table.columns, attributes, strict=True)
    )

    def bold(text: str) -> Markup:
        return tag("b", text)

    # Pages may sort rows: none leaves out what the one above says.
    rows = list(marked_cells(table, one_line, bold, sparse=False))
    bodies = []
    for heading, group in by_group(table, rows):
        lines = []
        if table.headings:
            title = tag("span", one_line(heading))
            lines.append(tag("tr", tag("th", title, colspan=len(table.columns))))
        for row in group:
            cells = (tag("td", cell, **a) for cell, a in zip(row, attributes, strict=True))
            lines.append(tag("tr", *cells, class_="mean" if row[0] == AVERAGE else None))
        bodies.append(tag("tbody", *lines))
    grid = tag("table", tag("thead", tag("tr", *heads)), *bodies, id=f"tab-{table.name}")
    notes = table_notes(table, "Bold", shaded="Shaded")
    return tag(
        "figure",
        tag("figcaption", one_line(table.caption)),
        tag("div", grid, class_="scroll", tabindex=0),
        *_below(notes),
        class_="table",
    )


#: Notes below a table that are shown without a click.
_OPEN_NOTES = 2


def _below(notes: Sequence[str]) -> list[Markup]:
    lines = [tag("p", one_line(note), class_="note") for note in notes]
    if len(lines) <= _OPEN_NOTES:
        return lines
    return [tag("details", tag("summary", f"{len(lines)} notes"), *lines, class_="notes")]


def explanations(tables: Iterable[Table]) -> list[tuple[str, str]]:
    """Return the metrics in the columns or headings of tables, with their meaning."""
    tables = list(tables)
    titles = {c.title for table in tables for c in table.columns}
    headings = {heading.title for table in tables for heading in table.headings}
    return [
        (m.sentence, m.explanation.removeprefix(f"{m.sentence}: ").removesuffix("."))
        for m in METRICS.values()
        if m.explanation
        and (
            {m.column.title, m.heading.title, m.heading.title.removeprefix("ZEBRA: ")} & titles
            or any(h.startswith(m.heading.title) for h in headings)
        )
    ]


#: Formats of a table, and the extensions of their files.
FORMATS: Mapping[str, str] = MappingProxyType(
    {"latex": ".tex", "markdown": ".md", "text": ".txt", "csv": ".csv"}
)


def in_format(table: Table, form: str, style: Style = "booktabs") -> str:
    """Return the content of a table's file in one of `FORMATS`."""
    if form == "csv":
        return to_csv([table])
    parts = table.parts or (table,)
    if form == "latex":
        return "\n".join(to_latex(part, style) for part in parts)
    return "\n".join(map(to_markdown if form == "markdown" else to_text, parts))


#: A number, or what stands for one, whatever comes after it.
_NUMBER = re.compile(r"[-+\u2212<]? ?[\d.]|n/a|inf|\[")


_MARKUP = re.compile(r"[\\`*_{}\[\]#|<>&~$^]|^[-+]")

#: Brackets around two numbers that are no link.
_INTERVAL = re.compile(r"(\[[-\u2212]?[\d.]+, [-\u2212]?[\d.]+\])(?![\[(:])")


def _pipes(table: Table, head: list[str], rows: Iterable[Iterable[str]]) -> str:
    places = {"l": "left", "c": "center", "r": "right"}
    from tabulate import tabulate

    return tabulate(
        [list(row) for row in rows],
        headers=head,
        tablefmt="pipe",
        disable_numparse=True,
        colalign=[places[c.align] for c in table.columns] if table.rows else None,
    )


#: Folder of the tables that are not for the front.
_BELOW = "more/"
#: Indent of what Markdown shows as it is.
_CODE = "    "


def write_tables(
    out: Path,
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "booktabs",
    formats: Collection[str] = (),
) -> list[Path]:
    """Write `table_files`; remove other tables that an earlier call wrote."""
    files = table_files(groups, title, style=style, formats=formats)
    return write_set(out, files)


def table_files(
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "booktabs",
    formats: Collection[str] = (),
    text: str = "",
) -> dict[str, str]:
    """Return tables in LaTeX by file name, `tables.tex`, a document of them, and `tables.csv`, with
    all their cells. Where any is for the front, the others are in the folder `more/`, those for the
    front are also text, and `README.md` is an index of all.

    Parameters
    ----------
    groups : iterable of groups of tables
        Each begins a new page of the document, without duplicates in a group.
    title : str
        Of the document.
    formats : collection of str
        Further formats of each table, see `FORMATS`.
    text : str
        Of the index, for a paper.
    """
    groups = [list(group) for group in groups]
    apart = any(table.front for group in groups for table in group)
    names = file_names(table.name for group in groups for table in group)
    listed: list[Table] = []
    files: dict[str, str] = {}
    captions: dict[str, str] = {}
    included: list[list[str]] = []
    for group in groups:
        unique: dict[str, object] = {}
        for table in group:
            table = replace(table, name=names[table.name])
            path = ("" if table.front or not apart else _BELOW) + table.name
            captions[path] = table.caption
            for form in dict.fromkeys(("latex", *formats, *["text"] * table.front)):
                files[path + FORMATS[form]] = in_format(table, form, style)
            listed.append(table)
            if (table.columns, table.groups) not in unique.values():
                unique[f"{path}.tex"] = (table.columns, table.groups)
        included.append(list(unique))
    files["tables.tex"] = latex_document(title, included)
    files["tables.csv"] = to_csv(listed)
    if apart:
        files["README.md"] = _index(title, text, captions, files)
    return files


def _index(title: str, text: str, captions: Mapping[str, str], files: Collection[str]) -> str:
    """Write an index: the files of each table, and its caption; those for the front first."""
    lines = [f"# {escape_markdown(title)}", ""]
    if text:
        wrapped = textwrap.wrap(one_line(text), 100, initial_indent=_CODE, subsequent_indent=_CODE)
        lines += ["For the text of a paper:", "", *wrapped, ""]
    lines += ["| file | table |", "| --- | --- |"]
    for path in sorted(captions, key=lambda path: path.startswith(_BELOW)):
        links = " ".join(f"[{e}]({path}{e})" for e in FORMATS.values() if f"{path}{e}" in files)
        lines.append(f"| {path} {links} | {escape_markdown(captions[path])} |")
    lines.append("| tables [.csv](tables.csv) | all cells, a line each: text, value and interval |")
    return "\n".join(lines) + "\n"
