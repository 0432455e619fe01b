"""A table as LaTeX, Markdown, plain text, CSV or HTML. Names are escaped in each."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeVar

from tabulate import tabulate

from ..io.csv_text import csv_text

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
class Heading:
    """What stands above a group of rows: plain text, and LaTeX where that does not do."""

    title: str
    latex: str | None = None


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
    headings : tuple of Heading
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
    headings: tuple[Heading, ...] = ()
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


def escape_latex(text: str) -> str:
    """Any text as LaTeX that prints it; characters that pdflatex has no glyph for become
    their code point.

    Examples
    --------
    >>> escape_latex("50%_team & Co")
    '50\\\\%\\\\_team \\\\& Co'
    """
    escaped = "".join(
        _LATEX.get(c) or (c if _typesettable(c) else f"[U+{ord(c):04X}]") for c in text
    )
    return re.sub(r"([-,])(?=\1)", r"\1{}", escaped)  # no ligatures


def escape_markdown(text: str) -> str:
    """Any text as one line of Markdown that prints it.

    Examples
    --------
    >>> escape_markdown("a|b*c")
    'a\\\\|b\\\\*c'
    """
    line = " ".join(_one_line(text).split())
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~$^-])", r"\\\1", line) if _MARKUP.search(line) else line


def to_latex(table: Table, style: Style = "challenge") -> str:
    """A `table` environment for a paper; needs the package booktabs in that style, and
    graphicx, colortbl and lscape where the table is shrunk, shaded or turned, and array where
    a heading widens columns or cells are wrapped.

    More rows than a page holds make a `longtable` (package longtable), or several parts.
    """
    if table.fit != "as is":
        parts = _parts(table)
        turned = table.fit == "landscape"
        # lscape does not turn the page of a float that had to wait for one.
        between = "\\clearpage\n" if turned else ""
        text = between.join(_fitted(part, style, first=i == 0) for i, part in enumerate(parts))
        return f"\\begin{{landscape}}\n{text}\\end{{landscape}}\n" if turned else text
    rules = _RULES[style]
    caption = f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}"
    columns, head, body = _latex_lines(table, style)
    if len(table.rows) > _ROWS_OF_A_PAGE:
        lines = [
            "{" + size,
            f"\\begin{{longtable}}{{{columns}}}",
            caption + r"\\",
            rules.top,
            head,
            rules.middle,
            r"\endhead",
            *body,
            rules.bottom,
            r"\end{longtable}}",
            *_latex_notes(table),
        ]
    else:
        lines = [
            r"\begin{table}[htbp]",
            r"\centering" + size,
            caption,
            f"\\begin{{tabular}}{{{columns}}}",
            rules.top,
            head,
            rules.middle,
            *body,
            rules.bottom,
            r"\end{tabular}",
            *_latex_notes(table),
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def to_markdown(table: Table) -> str:
    """A pipe table under its caption, or one for each group that has a heading."""
    head = [escape_markdown(_marked_title(c)) for c in table.columns]
    rows = [
        [f"**{shown}**" if bold and shown else shown for shown, bold in row]
        for row in _shown(table, escape_markdown)
    ]
    parts = [escape_markdown(table.caption)]
    if table.headings:
        for heading, group in zip(table.headings, _grouped(table, rows), strict=True):
            parts += [
                f"**{escape_markdown(heading.title)}**",
                _tabulate(table, head, group, "pipe"),
            ]
    else:
        parts.append(_tabulate(table, head, rows, "pipe"))
    parts += [escape_markdown(note) for note in _notes(table, "bold")]
    return "\n\n".join(parts) + "\n"


def to_text(table: Table) -> str:
    """Columns set apart by blanks, groups by blank lines."""
    head = [_one_line(_marked_title(c)) for c in table.columns]
    rows = [
        [f"{shown}*" if bold and shown else shown for shown, bold in row]
        for row in _shown(table, _one_line)
    ]
    lines = _tabulate(table, head, rows, "simple").split("\n")
    spaced: list[str] = []
    for number, group in enumerate(_grouped(table, lines[2:])):
        spaced += [""] if number else []
        spaced += [_one_line(table.headings[number].title)] if table.headings else []
        spaced += group
    notes = [_one_line(note) for note in _notes(table, "*")]
    notes = ["", *notes] if notes else []
    return "\n".join([_one_line(table.caption), "", *lines[:2], *spaced, *notes]) + "\n"


def to_csv(table: Table) -> str:
    """The header and the rows; headings of groups are a first column."""
    titles = [c.title for c in table.columns]
    if not table.headings:
        return csv_text([titles, *table.rows])
    blocks = zip(table.headings, table.groups, strict=True)
    rows = ([heading.title, *row] for heading, group in blocks for row in group)
    return csv_text([["Block", *titles], *rows])


def to_html(table: Table) -> str:
    """A `table` element and its notes; the class `own` is for a style sheet."""
    shaded = [
        (' class="own"' if c.highlight else "")
        + (f' style="white-space: normal; min-width: {c.wrap}em"' if c.wrap else "")
        for c in table.columns
    ]
    wide = len(table.columns)
    lines = [f'<table id="tab-{html.escape(table.name)}">']
    lines.append(f"<caption>{_html(table.caption)}</caption>")
    cells = "".join(
        f"<th{shade}>{_html(c.title)}</th>" for c, shade in zip(table.columns, shaded, strict=True)
    )
    lines.append(f"<thead><tr>{cells}</tr></thead>")
    shown_rows = list(_shown(table, _html, sparse=False))  # rows may be sorted
    for number, group in enumerate(_grouped(table, shown_rows)):
        lines.append("<tbody>")
        if table.headings:
            title = _html(table.headings[number].title)
            lines.append(f'<tr><th colspan="{wide}">{title}</th></tr>')
        for row in group:
            cells = "".join(
                f"<td{shade}>{f'<b>{shown}</b>' if bold and shown else shown}</td>"
                for (shown, bold), shade in zip(row, shaded, strict=True)
            )
            lines.append(f"<tr>{cells}</tr>")
        lines.append("</tbody>")
    lines.append("</table>")
    lines += [f"<p>{_html(note)}</p>" for note in _notes(table, "bold", shaded="shaded")]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Format:
    """A way to write a table: extension of the file, and `write(table, style)`."""

    extension: str
    write: Callable[[Table, Style], str]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "latex": Format(".tex", to_latex),
        "markdown": Format(".md", lambda table, _: to_markdown(table)),
        "text": Format(".txt", lambda table, _: to_text(table)),
        "csv": Format(".csv", lambda table, _: to_csv(table)),
    }
)


def latex_document(title: str, inputs: Iterable[Iterable[str]]) -> str:
    """A document that includes files of tables, a new page after each group of files. The
    title heads every page: a table that is turned begins a page of its own."""
    body: list[str] = []
    for group in inputs:
        body += [f"\\input{{{name}}}" for name in group]
        body.append(r"\clearpage")
    return "\n".join(
        [
            r"\documentclass[a4paper,10pt]{article}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[utf8]{inputenc}",
            r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",
            r"\usepackage{textcomp}",
            r"\usepackage{booktabs}",
            r"\usepackage{longtable}",
            r"\usepackage{graphicx}",
            r"\usepackage{colortbl}",
            r"\usepackage{lscape}",
            r"\usepackage[margin=20mm]{geometry}",
            r"\setlength{\belowcaptionskip}{4pt}",
            r"\raggedbottom",
            r"\makeatletter",
            r"\def\@oddhead{\raisebox{0pt}[0pt][0pt]{\parbox[b]{0.9\textwidth}{\raggedright",
            f"  {escape_latex(title)}}}}}\\hfil\\thepage}}",
            r"\let\@oddfoot\@empty",
            r"\makeatother",
            r"\begin{document}",
            *body,
            r"\end{document}",
            "",
        ]
    )


def _html(text: str) -> str:
    return html.escape(_one_line(text))


def _marked_title(column: Column) -> str:
    return f"{column.title} {_OWN}" if column.highlight else column.title


def _notes(table: Table, bold: str, shaded: str = _OWN) -> list[str]:
    """What is said below a table; how marks look depends on the format."""
    notes = [f"{bold}: {table.bold_means}"] if table.bold and table.bold_means else []
    if table.highlight_means and any(c.highlight for c in table.columns):
        notes.append(f"{shaded}: {table.highlight_means}")
    return [f"{note}." for note in (*notes, *table.notes)]


def _shown(
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


def _grouped(table: Table, rows: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Something of every row, by the table's groups."""
    start = 0
    for group in table.groups:
        yield rows[start : start + len(group)]
        start += len(group)


def _latex_lines(table: Table, style: Style) -> tuple[str, str, list[str]]:
    """Columns, header and body of a tabular."""
    rules = _RULES[style]
    titles = []
    for c in table.columns:
        title = rules.bold(c.latex or escape_latex(c.title))
        titles.append(f"\\textcolor{{{c.colour}}}{{{title}}}" if c.colour else title)
    rows = []
    for row in _shown(table, _latex_cell):
        line = " & ".join(f"\\textbf{{{s}}}" if bold and s else s for s, bold in row)
        # \\ would take these for its own argument and star.
        rows.append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
    body: list[str] = []
    for number, group in enumerate(_grouped(table, rows)):
        body += [rules.between] if number else []
        if table.headings:
            heading = table.headings[number]
            title = heading.latex or escape_latex(heading.title)
            body.append(rules.heading(len(table.columns), title))
        body += group
    return rules.columns(table.columns, _aligned(table)), " & ".join(titles) + r" \\", body


def _aligned(table: Table) -> list[str]:
    """How LaTeX sets the columns. Where a heading is wider than the table, columns of values
    share what is lacking, which else widens the last column."""
    widths = [
        _SEPARATION + _CHARACTER * max(map(len, (c.title, *(row[i] for row in table.rows))))
        for i, c in enumerate(table.columns)
    ]
    longest = max((len(heading.title) for heading in table.headings), default=0)
    lacking = _SEPARATION + _CHARACTER * longest - sum(widths)
    values = [i for i, c in enumerate(table.columns) if c.align != "l"]
    even = (lacking + sum(widths[i] for i in values)) / max(1, len(values))
    aligned = []
    for column, width in zip(table.columns, widths, strict=True):
        align = column.align
        if column.wrap:
            align = rf">{{\raggedright\arraybackslash}}p{{{column.wrap}em}}"
        elif lacking > 0 and align != "l" and even > width:
            align = rf"w{{{align}}}{{{even - _SEPARATION:.2f}em}}"
        aligned.append(rf">{{\columncolor[gray]{{0.9}}}}{align}" if column.highlight else align)
    return aligned


def _latex_notes(table: Table) -> list[str]:
    found = _notes(table, "Bold", "Shaded")
    if table.colour_means and any(c.colour for c in table.columns):
        found.append(f"{table.colour_means}.")
    notes = " ".join(escape_latex(note) for note in found)
    return [rf"\par\smallskip{{\raggedright\scriptsize {notes}\par}}"] if notes else []


def _fitted(table: Table, style: Style, *, first: bool) -> str:
    """A float as small as it must be for its page."""
    rules = _RULES[style]
    label = f"\\label{{tab:{table.name}}}" if first else ""
    again = "" if first else " (continued)"
    # A later part keeps the number of the first.
    counter = [] if first else [r"\addtocounter{table}{-1}"]
    columns, head, body = _latex_lines(table, style)
    lines = [
        r"\begin{table}[htbp]",
        *counter,
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        f"\\caption{{{escape_latex(table.caption)}{again}}}{label}",
        r"\resizebox*{!}{\ifdim\totalheight>0.8\textheight 0.8\textheight\else\totalheight\fi}{%",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{{columns}}}",
        rules.top,
        head,
        rules.middle,
        *body,
        rules.bottom,
        r"\end{tabular}}}",
        *_latex_notes(table),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _parts(table: Table) -> list[Table]:
    """The table, or parts of it that are still read when shrunk to a page."""
    most_columns, most_rows = _READABLE[table.fit]
    free = max(1, most_columns - table.repeated)
    others = list(range(table.repeated, len(table.columns)))
    count = max(1, -(-len(others) // free))
    size = max(1, -(-len(others) // count))
    fixed = list(range(table.repeated))
    chosen = [fixed + others[i : i + size] for i in range(0, len(others), size)] or [fixed]
    pages = _pages(table, most_rows)
    # About as much on each, without breaking up what is whole.
    longest = max(map(len, table.groups), default=0)
    even = -(-(len(table.rows) + len(table.groups)) // len(pages))
    for most in range(max(even, min(longest, most_rows)), most_rows):
        fewer = _pages(table, most)
        if len(fewer) == len(pages):
            pages = fewer
            break
    rows_of = table.rows
    parts = []
    for page in pages:
        kept = [row for _, low, high in page for row in range(low, high)]
        new_row = {row: i for i, row in enumerate(kept)}
        for columns in chosen:
            new_column = {column: i for i, column in enumerate(columns)}
            parts.append(
                replace(
                    table,
                    columns=tuple(table.columns[c] for c in columns),
                    groups=tuple(
                        tuple(tuple(rows_of[r][c] for c in columns) for r in range(low, high))
                        for _, low, high in page
                    ),
                    headings=tuple(table.headings[n] for n, _, _ in page) if table.headings else (),
                    bold=frozenset(
                        (new_row[r], new_column[c])
                        for r, c in table.bold
                        if r in new_row and c in new_column
                    ),
                )
            )
    return parts


def _pages(table: Table, most_rows: int) -> list[list[tuple[int, int, int]]]:
    """What stands on each page: groups, each with its first row there and the one after its
    last."""
    pages: list[list[tuple[int, int, int]]] = [[]]
    used = start = 0
    for number, group in enumerate(table.groups):
        for first in range(0, len(group), most_rows):
            rows = min(most_rows, len(group) - first)
            if used and used + rows + 1 > most_rows:
                pages.append([])
                used = 0
            pages[-1].append((number, start + first, start + first + rows))
            used += rows + 1
        start += len(group)
    return pages


@dataclass(frozen=True)
class _Rules:
    top: str
    middle: str
    between: str
    bottom: str
    columns: Callable[[Sequence[Column], Sequence[str]], str]
    bold: Callable[[str], str]
    heading: Callable[[int, str], str]


def _ruled(columns: Sequence[Column], aligned: Sequence[str]) -> str:
    pairs = zip(columns, aligned, strict=True)
    return "|" + "".join(("|" if column.rule else "") + a + "|" for column, a in pairs)


def _plain(_: Sequence[Column], aligned: Sequence[str]) -> str:
    return "".join(aligned)


#: Width in em, about: of a character, and of the space between two columns.
_CHARACTER, _SEPARATION = 0.5, 0.7

#: Room for indices in headings.
_STRUT = r"\rule[-0.9ex]{0pt}{3.1ex}"


def _ruled_heading(columns: int, title: str) -> str:
    return rf"\multicolumn{{{columns}}}{{|l|}}{{{_STRUT}\textbf{{{title}}}}} \\ \hline"


def _plain_heading(columns: int, title: str) -> str:
    return rf"\multicolumn{{{columns}}}{{l}}{{{_STRUT}\textit{{{title}}}}} \\"


_RULES: Mapping[str, _Rules] = {
    "challenge": _Rules(
        r"\hline",
        r"\hline\hline",
        r"\hline",
        r"\hline",
        _ruled,
        lambda t: f"\\textbf{{{t}}}",
        _ruled_heading,
    ),
    "booktabs": _Rules(
        r"\toprule", r"\midrule", r"\midrule", r"\bottomrule", _plain, lambda t: t, _plain_heading
    ),
}

_ROWS_OF_A_PAGE = 48
#: Columns and rows (headings are rows, too) of a page, which is shrunk by a tenth at most.
_READABLE = {"shrunk": (14, 66), "landscape": (26, 44)}

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "\u2013": r"\textendash{}",
    "\u2021": r"\ddag{}",
    "\n": " ",
    "\r": " ",
    "\t": " ",
}

#: Numbers, alone or with an interval: `-1.5`, `-1.5 [-2.0, inf]`.
_NUMBERS = re.compile(
    r"-?(?:\d[\d.]*|inf)|(?:-?(?:\d[\d.]*|inf) )?\[-?(?:\d[\d.]*|inf), -?(?:\d[\d.]*|inf)\]"
)

#: A p-value without digits.
_FAR_BELOW = re.compile(r"<< [0-9.]+")

_MARKUP = re.compile(r"[\\`*_{}\[\]#|<>&~$^]|^[-+!]")


def _one_line(text: str) -> str:
    """Text without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _typesettable(character: str) -> bool:
    return " " <= character <= "~" or "\u00c0" <= character <= "\u00ff"


def _latex_cell(cell: str) -> str:
    if _NUMBERS.fullmatch(cell):
        return re.sub(r"inf", r"$\\infty$", re.sub(r"-", "$-$", cell))
    if _FAR_BELOW.fullmatch(cell):
        return cell.replace("<<", r"$\ll$")
    return escape_latex(cell)


def _tabulate(table: Table, head: list[str], rows: Iterable[Iterable[str]], kind: str) -> str:
    places = {"l": "left", "c": "center", "r": "right"}
    return tabulate(
        [list(row) for row in rows],
        headers=head,
        tablefmt=kind,
        disable_numparse=True,
        colalign=[places[c.align] for c in table.columns] if table.rows else None,
    )
