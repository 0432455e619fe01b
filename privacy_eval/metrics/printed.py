"""Results that print as tables, with what must be known about their values below, or as the
challenge's lines; any text as LaTeX.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError, enumerated, known_names, library
from .caveats import NOT_AVAILABLE, withholding_caveat
from .registry import METRICS, Kind, of_kind

if TYPE_CHECKING:
    import pandas as pd

#: The names of the numbers in a metric's line; what begins a line that is none.
LINE_KEY = re.compile(r"\{([^}]+)\}")
CAVEAT = "caveat: "


def escape_latex(text: str) -> str:
    """Escape any text for LaTeX; characters without a glyph in pdflatex become their code
    points.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> escape_latex("50%_team & Co")
    '50\\\\%\\\\_team \\\\& Co'
    """
    escaped = "".join(
        _LATEX.get(c) or (c if _typesettable(c) else f"[U+{ord(c):04X}]") for c in text
    )
    return re.sub(r"([-,])(?=\1)", r"\1{}", escaped)  # no ligatures


_LATEX = {
    **{c: f"\\{c}" for c in "{}$&#%_"},
    **dict.fromkeys("\n\r\t", " "),
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "\u2013": r"\textendash{}",
    "\u00a7": r"\S{}",
    "\u2020": r"\dag{}",
    "\u2021": r"\ddag{}",
    "\u2248": r"$\approx$",
    "\u00b1": r"$\pm$",
}

#: Numbers, alone, with an interval or with a standard error: `-1.5`, `-1.5 [-2.0, inf]`, and
#: `+1.5 2.0` with the sign for plus or minus between.
_NUMBERS = re.compile(
    r"[-+]?(?:\d[\d.]*|inf)|(?:[-+]?(?:\d[\d.]*|inf) )?"
    r"\[(?:n/a|-?(?:\d[\d.]*|inf), -?(?:\d[\d.]*|inf))\]"
    r"|[-+]\d[\d.]* \u00b1 \d[\d.]*"
)

#: A p-value without digits.
_FAR_BELOW = re.compile(r"<< [0-9.]+")


#: Without a glyph in LaTeX's default encoding.
_ABSENT = "\u00d0\u00de\u00f0\u00fe"


def _typesettable(character: str) -> bool:
    latin = "\u00c0" <= character <= "\u00ff" and character not in _ABSENT
    return " " <= character <= "~" or latin


def latex_cell(cell: str) -> str:
    """Escape a cell; minus signs and infinity of numbers are set as mathematics.

    Parameters
    ----------
    cell : str

    Returns
    -------
    str

    Examples
    --------
    >>> latex_cell("+0.79 [-0.12, inf]"), latex_cell("a-b")
    ('+0.79 [$-$0.12, $\\\\infty$]', 'a-b')
    """
    if _NUMBERS.fullmatch(cell):
        signs = {"-": "$-$", "inf": r"$\infty$", "\u00b1": r"$\pm$"}
        return re.sub("|".join(signs), lambda sign: signs[sign[0]], cell)
    if _FAR_BELOW.fullmatch(cell):
        return cell.replace("<<", r"$\ll$")
    return escape_latex(cell)


#: What chance alone reaches, from simulations of 50 to 1000 targets: docs/metrics.md.
CHANCE_OF_ZEBRA = (
    "By chance alone, 12 to 13 % of score sets get tag B. Tag A or a low B is no evidence of a "
    "leak. One set of scores in twenty exceeds 1.3 to 1.6 by chance"
)


def bias_notes(metrics: Sequence[str]) -> list[str]:
    """Return a note on the bootstrap intervals of metrics that repeated trials bias, if any.

    Parameters
    ----------
    metrics : sequence of str
        In `METRICS`.

    Returns
    -------
    list of str
    """
    names = [METRICS[key].name for key in metrics if METRICS[key].repeats_matter]
    return [
        f"Intervals of {enumerated(names)} are biased to the less private side. They need not "
        "include the value: replicates repeat trials, which counts as more evidence. Most of it "
        "cancels in differences"
    ][: len(names)]


class Printed:
    """A result that is a table where it is printed: as text, as HTML in a notebook, in LaTeX."""

    @property
    def heading(self) -> str:
        """What the table is of."""
        return ""

    @property
    def notes(self) -> list[str]:
        """What must be known about the values."""
        return []

    def __getitem__(self, metric: str) -> Any:
        """Return the values of a metric by what they are of: size, variant, attacker."""
        found: dict[str, dict[Any, Any]] = {}
        for row in self.to_rows():
            by = next(row[name] for name in row if name not in ("metric", "value"))
            of_row = {row["metric"]: row["value"]} if "metric" in row else dict([*row.items()][1:])
            for name, value in of_row.items():
                found.setdefault(name, {})[by] = value
        if metric not in found:
            raise PrivacyEvalError(f"no metric {metric}: {known_names(metric, found)}")
        return found[metric]

    def to_rows(self) -> list[dict[str, Any]]:
        """List the values as numbers in their units: rates are fractions."""
        raise NotImplementedError

    def cells(self) -> list[dict[str, str]]:
        """Format the values as rows of the printed table: numbers in four digits."""
        rows = self.to_rows()
        given = {name: None for row in rows for name, value in row.items() if value is not None}
        return [{name: _text(row.get(name)) for name in given} for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame of pandas, which must be installed, of `to_rows`."""
        return frame_of(self.to_rows())

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.heading, self._table("plain"), *self.notes)))

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note, quote=False)}</li>" for note in self.notes)
        return f"<p>{html.escape(self.heading)}</p>{self._table('html')}<ul>{notes}</ul>"

    def _repr_latex_(self) -> str:
        notes = [escape_latex(note) for note in (self.heading, *self.notes) if note]
        return "\n\n".join([latex_table(self.cells(), "longtable"), *notes])

    def _table(self, form: str) -> str:
        from tabulate import tabulate

        return tabulate(self.cells(), headers="keys", tablefmt=form, disable_numparse=True)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a data frame of pandas, in which blanks are missing and counts integers.

    Parameters
    ----------
    rows : sequence of mapping
        Values by column.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    PrivacyEvalError
        pandas, an optional package, is not installed.
    """
    pd = library("pandas", "data frames")
    columns: dict[str, list[Any]] = {name: [] for row in rows for name in row}
    for name, values in columns.items():
        values += [None if row.get(name) == "" else row.get(name) for row in rows]
    found = {name: {*map(type, of)} - {type(None)} for name, of in columns.items()}
    kinds = {name: "Int64" if of else "float64" for name, of in found.items() if of <= {int}}
    return pd.DataFrame(columns).astype(kinds)


def latex_table(rows: Sequence[Mapping[str, str]], environment: str) -> str:
    """Write rows as a table of LaTeX, with escaped cells.

    Parameters
    ----------
    rows : sequence of mapping of str to str
        Cells by title; titles that a row lacks are blank.
    environment : str
        Such as tabular.

    Returns
    -------
    str
    """
    heads = dict.fromkeys(title for row in rows for title in row)
    cells = [heads, *([row.get(title, "") for title in heads] for row in rows)]
    head, *lines = (" & ".join(map(latex_cell, of)) + r" \\" for of in cells)
    begin = rf"\begin{{{environment}}}{{{'l' * len(heads) or 'l'}}}"
    end = rf"\end{{{environment}}}"
    return "\n".join([begin, r"\hline", head, r"\hline", *lines, r"\hline", end])


def _text(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def format_metrics(
    values: Mapping[str, float],
    tag: str | None = None,
    caveats: Mapping[str, str] = MappingProxyType({}),
    *,
    kind: Kind = "scores",
) -> list[str]:
    """Format the challenge's lines of one condition or trial set.

    A value or category withheld for a caveat, or a missing category, is `n/a`; the reasons follow
    in lines of their own.

    Parameters
    ----------
    values : mapping of str to float
        In stored units; lines of missing metrics are skipped.
    tag : str, optional
        ZEBRA category.
    caveats : mapping of str to str, optional
        See `metrics.caveats`.
    kind : {"scores", "matrices", "utility"}
        Metrics to format.

    Returns
    -------
    list of str

    Examples
    --------
    >>> format_metrics({"eer": 0.205, "rocch_eer": 0.2})
    ['EER: 20.5%', 'ROCCH-EER: 20.000%']
    """
    lines = []
    withheld: dict[str, None] = {}
    for metric in of_kind(kind).values():
        names = LINE_KEY.findall(metric.line)
        if names and values.keys() >= set(names) - {"tag"}:
            line, graded = metric.line, tag
            for name in set(names) - {"tag"}:
                text = METRICS[name].line_number(values[name])
                if (caveat := withholding_caveat(caveats, name)) is not None:
                    withheld[caveat.reason], graded = None, None
                    text = text if caveat.printed else NOT_AVAILABLE
                line = line.replace(f"{{{name}}}", text)
            line = line.replace("{tag}", graded or NOT_AVAILABLE)
            lines.append(line)
    return [*lines, *(f"{CAVEAT}{reason}" for reason in withheld)]
