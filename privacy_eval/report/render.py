"""A table as LaTeX, Markdown, plain text or CSV. Names are escaped in each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tabulate import tabulate

Style = Literal["challenge", "booktabs"]


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
    """

    title: str
    latex: str | None = None
    align: str = "c"
    rule: bool = False


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
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]

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
    """A `table` environment for a paper; needs the package booktabs in that style.

    More rows than a page holds make a `longtable` (package longtable).
    """
    rules = _RULES[style]
    long = len(table.rows) > _ROWS_OF_A_PAGE
    head = " & ".join(rules.bold(c.latex or escape_latex(c.title)) for c in table.columns)
    body: list[str] = []
    for number, group in enumerate(table.groups):
        if number:
            body.append(rules.between)
        for row in group:
            body.append(" & ".join(_latex_cell(cell) for cell in row) + r" \\")
    caption = f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"
    columns = rules.columns(table.columns)
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}"
    if long:
        lines = [
            "{" + size,
            f"\\begin{{longtable}}{{{columns}}}",
            caption + r"\\",
            rules.top,
            head + r" \\",
            rules.middle,
            r"\endhead",
            *body,
            rules.bottom,
            r"\end{longtable}}",
        ]
    else:
        lines = [
            r"\begin{table}[htbp]",
            r"\centering" + size,
            caption,
            f"\\begin{{tabular}}{{{columns}}}",
            rules.top,
            head + r" \\",
            rules.middle,
            *body,
            rules.bottom,
            r"\end{tabular}",
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def to_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    head = [escape_markdown(c.title) for c in table.columns]
    rows = [[escape_markdown(cell) for cell in row] for row in table.rows]
    return f"{escape_markdown(table.caption)}\n\n{_tabulate(table, head, rows, 'pipe')}\n"


def to_text(table: Table) -> str:
    """Columns set apart by blanks, groups by blank lines."""
    head = [_one_line(c.title) for c in table.columns]
    rows = [[_one_line(cell) for cell in row] for row in table.rows]
    lines = _tabulate(table, head, rows, "simple").split("\n")
    body = lines[2:]
    spaced: list[str] = []
    for group in table.groups:
        spaced += ([""] if spaced else []) + body[: len(group)]
        body = body[len(group) :]
    return "\n".join([_one_line(table.caption), "", *lines[:2], *spaced]) + "\n"


def to_csv(table: Table) -> str:
    """The header and the rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(c.title for c in table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


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
    """A document that includes files of tables, a new page after each group of files."""
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
            r"\usepackage[margin=20mm]{geometry}",
            r"\setlength{\belowcaptionskip}{4pt}",
            r"\raggedbottom",
            r"\begin{document}",
            f"\\begin{{center}}\\Large {escape_latex(title)}\\end{{center}}",
            *body,
            r"\end{document}",
            "",
        ]
    )


@dataclass(frozen=True)
class _Rules:
    top: str
    middle: str
    between: str
    bottom: str
    columns: Callable[[tuple[Column, ...]], str]
    bold: Callable[[str], str]


def _ruled(columns: tuple[Column, ...]) -> str:
    return "|" + "".join(("|" if c.rule else "") + c.align + "|" for c in columns)


def _plain(columns: tuple[Column, ...]) -> str:
    return "".join(c.align for c in columns)


_RULES: Mapping[str, _Rules] = {
    "challenge": _Rules(
        r"\hline", r"\hline\hline", r"\hline", r"\hline", _ruled, lambda t: f"\\textbf{{{t}}}"
    ),
    "booktabs": _Rules(r"\toprule", r"\midrule", r"\midrule", r"\bottomrule", _plain, lambda t: t),
}

_ROWS_OF_A_PAGE = 48

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
    "\n": " ",
    "\r": " ",
    "\t": " ",
}

_MARKUP = re.compile(r"[\\`*_{}\[\]#|<>&~$^]|^[-+!]")


def _one_line(text: str) -> str:
    """Text without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _typesettable(character: str) -> bool:
    return " " <= character <= "~" or "\u00c0" <= character <= "\u00ff"


def _latex_cell(cell: str) -> str:
    if cell in ("inf", "-inf"):
        return cell.replace("inf", r"$\infty$").replace("-", "$-$")
    if re.fullmatch(r"-\d[\d.]*", cell):
        return f"$-${cell[1:]}"
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
