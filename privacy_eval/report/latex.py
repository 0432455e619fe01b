"""Tables as LaTeX. Their fonts, floats and pages depend on the document: macros choose them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from .latex_layout import Layout
from .latex_text import escape_latex
from .table import Column, Style, Table, one_line, table_notes

#: Packages of the challenge's style by what needs them, in the order in which they are loaded.
_PACKAGES = {
    "array": r"\arraybackslash",
    "graphicx": "",
    "colortbl": r"\columncolor",
    "color": r"\textcolor",
    "pdflscape": r"\privacyevalturned",
}


def to_latex(table: Table, style: Style = "booktabs") -> str:
    """Write a table, or its parts, for any document; the first line names the packages that it
    needs: in the style booktabs no other."""
    challenge = style == "challenge"
    text = "".join(_in_style(part, challenge) for part in table.parts or (table,))
    needed = [package for package, command in _PACKAGES.items() if command in text]
    needed = needed if challenge else ["booktabs"]
    first = f"% needs \\usepackage{{{','.join(needed)}}}\n"
    macros = Path(__file__).with_name("table.tex").read_text("utf-8")
    return first + macros + text + (f"% {one_line(table.comment)}\n" if table.comment else "")


def _in_style(table: Table, challenge: bool) -> str:
    if not challenge:
        return _table(table, challenge)
    lines = [r"\begingroup\let\toprule\hline\def\midrule{\hline\hline}\let\bottomrule\hline"]
    lines += [r"\def\privacyevalrule{\hline}\def\arraystretch{1.1}", _HEADING]
    text = "\n".join(lines) + "\n" + _table(table, challenge) + "\\endgroup\n"
    return f"\\privacyevalturned{{%\n{text}}}\n" if table.turned else text


#: A heading in the challenge's style.
_HEADING = (
    r"\def\privacyevalheading#1{\multicolumn{\privacyevalcolumns}{|p{\dimexpr\privacyevalwidth"
    r"-2\tabcolsep-2\arrayrulewidth}|}{\rule[-0.9ex]{0pt}{3.1ex}\raggedright\textbf{#1}"
    r"\rule[-0.9ex]{0pt}{3.1ex}}\\\hline}"
)


def _table(table: Table, challenge: bool) -> str:
    """Write a call of the macro for each part of the columns."""
    layout = Layout(table)
    notes = table_notes(table, "Bold", *["Shaded"] * challenge)
    if challenge and table.colour_means and any(c.colour for c in table.columns):
        notes.append(f"{table.colour_means}.")
    parts = [[*range(len(table.columns))]] if challenge else layout.parts()
    lines = []
    for number, columns in enumerate(parts):
        caption = "" if number else _prose(table.caption)
        aligned, titles = zip(
            *(
                (_challenge if challenge else _plain)(table.columns[c], layout.widths[c])
                for c in columns
            ),
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
    return "\n".join(lines) + "\n"


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


def _plain(column: Column, width: float) -> tuple[str, str]:
    """Return the alignment of a column, and its title."""
    flag = r" \dag{}" if column.highlight else ""
    title = (column.latex or escape_latex(column.title)) + flag
    return (rf"p{{{width:.1f}em}}" if column.wrap else column.align), title


def _challenge(column: Column, _: float) -> tuple[str, str]:
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
    head, middle, end = re.split("TITLE|BODY", _DOCUMENT)
    return head + escape_latex(title) + middle + "\n".join(body) + end


_DOCUMENT = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{colortbl}
\usepackage{pdflscape}
\usepackage[margin=20mm]{geometry}
\setlength{\belowcaptionskip}{4pt}
\raggedbottom
\maxdeadcycles=10000
\extrafloats{1000}
\makeatletter
\def\@oddhead{\raisebox{0pt}[0pt][0pt]{\parbox[b]{0.9\textwidth}{\raggedright
  TITLE}}\hfil\thepage}
\let\@oddfoot\@empty
\makeatother
\begin{document}
BODY
\end{document}
"""
