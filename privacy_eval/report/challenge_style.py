"""Tables as LaTeX in the style of the challenge's papers: shaded, shrunk to the page, turned."""

from __future__ import annotations

from .latex_text import escape_latex, latex_cell
from .table import Column, Table, marked_cells, rows_by_group, table_notes


def to_challenge_style(table: Table) -> str:
    """Write a `table` environment, or a `longtable` of more rows than fit on a page."""
    if table.fit == "landscape":
        return f"\\begin{{landscape}}\n{_shrink_to_page(table)}\\end{{landscape}}\n"
    if table.fit == "shrunk":
        return _shrink_to_page(table)
    caption = f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}"
    columns, head, body = _lines(table)
    long = len(table.rows) > _ROWS_OF_A_PAGE
    if long:
        opening = ["{" + size, f"\\begin{{longtable}}{{{columns}}}", caption + r"\\"]
        closing = [r"\end{longtable}}", *_notes(table)]
    else:
        opening = [r"\begin{table}[htbp]", r"\centering" + size, caption]
        opening.append(f"\\begin{{tabular}}{{{columns}}}")
        closing = [r"\end{tabular}", *_notes(table), r"\end{table}"]
    heading = [r"\hline", head, r"\hline\hline"]
    if long:  # only the first page has caption and label
        heading += [r"\endfirsthead", *heading, r"\endhead"]
    return "\n".join([*opening, *heading, *body, r"\hline", *closing]) + "\n"


def _lines(table: Table) -> tuple[str, str, list[str]]:
    """Return columns, header and body of a tabular."""
    titles = []
    for c in table.columns:
        title = c.latex or escape_latex(c.title)
        if c.turned:
            title = rf"\rotatebox{{90}}{{\scriptsize {title}\ }}"
        title = rf"\textbf{{{title}}}"
        titles.append(f"\\textcolor{{{c.colour}}}{{{title}}}" if c.colour else title)
    rows = []
    for row in marked_cells(table, latex_cell, r"\textbf{{{}}}".format):
        line = " & ".join(row)
        # \\ would take these for its own argument and star.
        rows.append(("{}" if line[:1] in ("[", "*") else "") + line + r" \\")
    body: list[str] = []
    for number, group in enumerate(rows_by_group(table, rows)):
        body += [r"\hline"] if number else []
        if table.headings:
            heading = table.headings[number]
            body.append(rf"\blocktitle{{{heading.latex or escape_latex(heading.title)}}}%")
        body += group
    columns = "".join(("|" if c.rule else "") + _aligned(c) + "|" for c in table.columns)
    return f"|{columns}", " & ".join(titles) + r" \\", body


def _notes(table: Table) -> list[str]:
    parts = table_notes(table, "Bold", "Shaded")
    if table.colour_means and any(c.colour for c in table.columns):
        parts.append(f"{table.colour_means}.")
    notes = " ".join(escape_latex(note) for note in parts)
    return [rf"\par\smallskip{{\raggedright\scriptsize {notes}\par}}"] if notes else []


def _shrink_to_page(table: Table) -> str:
    """Write a float shrunk to its page."""
    columns, head, body = _lines(table)
    # Titles of blocks are broken at the width of the table without them, which TeX measures.
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.1}",
        f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}",
        rf"\def\wholetable{{\begin{{tabular}}{{{columns}}}",
        r"\hline",
        head,
        r"\hline\hline",
        *body,
        r"\hline",
        r"\end{tabular}}%",
        r"\def\blocktitle#1{}\sbox0{\wholetable}\edef\tablewidth{\the\wd0}%",
        rf"\def\blocktitle#1{{{_heading(len(table.columns))}}}%",
        r"\resizebox*{!}{\ifdim\totalheight>0.8\textheight 0.8\textheight\else\totalheight\fi}{%",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\wholetable}}",
        *_notes(table),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


#: Room for indices in headings.
_STRUT = r"\rule[-0.9ex]{0pt}{3.1ex}"


def _heading(columns: int) -> str:
    width = r"\dimexpr\tablewidth-2\tabcolsep-2\arrayrulewidth"
    title = rf"{_STRUT}\raggedright\textbf{{#1}}{_STRUT}"
    return rf"\multicolumn{{{columns}}}{{|p{{{width}}}|}}{{{title}}} \\ \hline"


def _aligned(column: Column) -> str:
    wrap = column.wrap
    align = rf">{{\raggedright\arraybackslash}}p{{{wrap}em}}" if wrap else column.align
    return rf">{{\columncolor[gray]{{0.9}}}}{align}" if column.highlight else align


_ROWS_OF_A_PAGE = 48
