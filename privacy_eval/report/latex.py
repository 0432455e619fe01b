"""Tables as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .table import Column, Style, Table, marked_cells, one_line, rows_by_group, table_notes


def escape_latex(text: str) -> str:
    """Escape any text for LaTeX; characters without a glyph in pdflatex become their code
    points.

    Examples
    --------
    >>> escape_latex("50%_team & Co")
    '50\\\\%\\\\_team \\\\& Co'
    """
    escaped = "".join(
        _LATEX.get(c) or (c if _typesettable(c) else f"[U+{ord(c):04X}]") for c in text
    )
    return re.sub(r"([-,])(?=\1)", r"\1{}", escaped)  # no ligatures


def to_latex(table: Table, style: Style = "booktabs") -> str:
    """Write a `table` environment for a paper; needs the package booktabs in that style, and
    graphicx, colortbl and pdflscape where the table is shrunk, shaded or turned, and array where
    cells are wrapped.

    More rows than fit on a page make a `longtable` (package longtable).
    """
    comment = f"% {one_line(table.comment)}\n" if table.comment else ""
    if table.fit != "as is":
        text = _shrink_to_page(table, style)
        if table.fit == "landscape":
            text = f"\\begin{{landscape}}\n{text}\\end{{landscape}}\n"
        return text + comment
    rules = _RULES[style]
    caption = f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}"
    columns, head, body = _latex_lines(table, style)
    long = len(table.rows) > _ROWS_OF_A_PAGE
    if long:
        opening = ["{" + size, f"\\begin{{longtable}}{{{columns}}}", caption + r"\\"]
        closing = [r"\end{longtable}}", *_latex_notes(table)]
    else:
        opening = [r"\begin{table}[htbp]", r"\centering" + size, caption]
        opening.append(f"\\begin{{tabular}}{{{columns}}}")
        closing = [r"\end{tabular}", *_latex_notes(table), r"\end{table}"]
    heading = [rules.top, head, rules.middle]
    if long:  # only the first page has caption and label
        heading += [r"\endfirsthead", *heading, r"\endhead"]
    return "\n".join([*opening, *heading, *body, rules.bottom, *closing]) + "\n" + comment


def latex_document(title: str, inputs: Iterable[Iterable[str]]) -> str:
    """Write a document that includes files of tables, each group on a new page. The title heads
    every page: a turned table begins a page of its own."""
    body = [
        line for group in inputs for line in (*(rf"\input{{{n}}}" for n in group), r"\clearpage")
    ]
    head, middle, end = re.split("TITLE|BODY", _DOCUMENT)
    return head + escape_latex(title) + middle + "\n".join(body) + end


_DOCUMENT = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{graphicx}
\usepackage{colortbl}
\usepackage{pdflscape}
\usepackage[margin=20mm]{geometry}
\setlength{\belowcaptionskip}{4pt}
\raggedbottom
\makeatletter
\def\@oddhead{\raisebox{0pt}[0pt][0pt]{\parbox[b]{0.9\textwidth}{\raggedright
  TITLE}}\hfil\thepage}
\let\@oddfoot\@empty
\makeatother
\begin{document}
BODY
\end{document}
"""


def _latex_lines(table: Table, style: Style) -> tuple[str, str, list[str]]:
    """Return columns, header and body of a tabular."""
    rules = _RULES[style]
    titles = []
    for c in table.columns:
        title = rules.bold(c.latex or escape_latex(c.title))
        titles.append(f"\\textcolor{{{c.colour}}}{{{title}}}" if c.colour else title)
    rows = []
    for row in marked_cells(table, _latex_cell, r"\textbf{{{}}}".format):
        line = " & ".join(row)
        # \\ would take these for its own argument and star.
        rows.append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
    body: list[str] = []
    for number, group in enumerate(rows_by_group(table, rows)):
        body += [rules.between] if number else []
        if table.headings:
            heading = table.headings[number]
            body.append(rf"\blocktitle{{{heading.latex or escape_latex(heading.title)}}}%")
        body += group
    return rules.columns(table.columns), " & ".join(titles) + r" \\", body


def _latex_notes(table: Table) -> list[str]:
    parts = table_notes(table, "Bold", "Shaded")
    if table.colour_means and any(c.colour for c in table.columns):
        parts.append(f"{table.colour_means}.")
    notes = " ".join(escape_latex(note) for note in parts)
    return [rf"\par\smallskip{{\raggedright\scriptsize {notes}\par}}"] if notes else []


def _shrink_to_page(table: Table, style: Style) -> str:
    """Write a float shrunk to its page."""
    rules = _RULES[style]
    columns, head, body = _latex_lines(table, style)
    # Titles of blocks are broken at the width of the table without them, which TeX measures.
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}",
        f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}",
        rf"\def\wholetable{{\begin{{tabular}}{{{columns}}}",
        rules.top,
        head,
        rules.middle,
        *body,
        rules.bottom,
        r"\end{tabular}}%",
        r"\def\blocktitle#1{}\sbox0{\wholetable}\edef\tablewidth{\the\wd0}%",
        rf"\def\blocktitle#1{{{rules.heading(len(table.columns))}}}%",
        r"\resizebox*{!}{\ifdim\totalheight>0.8\textheight 0.8\textheight\else\totalheight\fi}{%",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\wholetable}}",
        *_latex_notes(table),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


#: Room for indices in headings.
_STRUT = r"\rule[-0.9ex]{0pt}{3.1ex}"


@dataclass(frozen=True)
class _Rules:
    """Horizontal rules of a style, and whether it has vertical ones and bold titles."""

    top: str
    middle: str
    between: str
    bottom: str
    ruled: bool

    def columns(self, columns: Sequence[Column]) -> str:
        if not self.ruled:
            return "".join(map(_aligned, columns))
        return "|" + "".join(("|" if c.rule else "") + _aligned(c) + "|" for c in columns)

    def bold(self, title: str) -> str:
        return rf"\textbf{{{title}}}" if self.ruled else title

    def heading(self, columns: int) -> str:
        bar, font, end = ("|", r"\textbf", r" \hline") if self.ruled else ("", r"\textit", "")
        width = r"\dimexpr\tablewidth-2\tabcolsep" + (r"-2\arrayrulewidth" if self.ruled else "")
        title = rf"{_STRUT}\raggedright{font}{{#1}}{_STRUT}"
        return rf"\multicolumn{{{columns}}}{{{bar}p{{{width}}}{bar}}}{{{title}}} \\{end}"


def _aligned(column: Column) -> str:
    wrap = column.wrap
    align = rf">{{\raggedright\arraybackslash}}p{{{wrap}em}}" if wrap else column.align
    return rf">{{\columncolor[gray]{{0.9}}}}{align}" if column.highlight else align


_RULES: Mapping[str, _Rules] = {
    "challenge": _Rules(r"\hline", r"\hline\hline", r"\hline", r"\hline", True),
    "booktabs": _Rules(r"\toprule", r"\midrule", r"\midrule", r"\bottomrule", False),
}

_ROWS_OF_A_PAGE = 48

_LATEX = {
    **{c: f"\\{c}" for c in "{}$&#%_"},
    **dict.fromkeys("\n\r\t", " "),
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "\u2013": r"\textendash{}",
    "\u00a7": r"\S{}",
    "\u2021": r"\ddag{}",
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
