"""Tables as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .table import Column, Style, Table, aligned_rows, rows_by_group, shown_cells, table_notes


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


def _latex_lines(table: Table, style: Style) -> tuple[str, str, list[str]]:
    """Columns, header and body of a tabular."""
    rules = _RULES[style]
    titles = []
    for c in table.columns:
        title = rules.bold(c.latex or escape_latex(c.title))
        titles.append(f"\\textcolor{{{c.colour}}}{{{title}}}" if c.colour else title)
    rows = []
    for row in shown_cells(table, _latex_cell):
        line = " & ".join(f"\\textbf{{{s}}}" if bold and s else s for s, bold in row)
        # \\ would take these for its own argument and star.
        rows.append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
    body: list[str] = []
    for number, group in enumerate(rows_by_group(table, rows)):
        body += [rules.between] if number else []
        if table.headings:
            heading = table.headings[number]
            title = heading.latex or escape_latex(heading.title)
            body.append(rules.heading(len(table.columns), title))
        body += group
    return rules.columns(table.columns, aligned_rows(table)), " & ".join(titles) + r" \\", body


def _latex_notes(table: Table) -> list[str]:
    found = table_notes(table, "Bold", "Shaded")
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


def _typesettable(character: str) -> bool:
    return " " <= character <= "~" or "\u00c0" <= character <= "\u00ff"


def _latex_cell(cell: str) -> str:
    if _NUMBERS.fullmatch(cell):
        return re.sub(r"inf", r"$\\infty$", re.sub(r"-", "$-$", cell))
    if _FAR_BELOW.fullmatch(cell):
        return cell.replace("<<", r"$\ll$")
    return escape_latex(cell)
