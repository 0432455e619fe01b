"""Tables as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .booktabs import to_booktabs
from .challenge_style import to_challenge_style
from .latex_text import escape_latex
from .table import Style, Table, one_line

#: Packages by what needs them, in the order in which they are loaded.
_PACKAGES = {
    "booktabs": r"\toprule",
    "array": r"\arraybackslash",
    "longtable": r"\begin{longtable}",
    "graphicx": r"\resizebox",
    "colortbl": r"\columncolor",
    "color": r"\textcolor",
    "pdflscape": r"\begin{landscape}",
}


def to_latex(table: Table, style: Style = "booktabs") -> str:
    """Write a table for a paper; its first line names the packages that it needs: in the style
    booktabs no other."""
    text = to_booktabs(table) if style == "booktabs" else to_challenge_style(table)
    needed = ",".join(package for package, command in _PACKAGES.items() if command in text)
    first = f"% needs \\usepackage{{{needed}}}\n" if needed else ""
    return first + text + (f"% {one_line(table.comment)}\n" if table.comment else "")


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
