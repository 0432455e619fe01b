"""Any text as LaTeX."""

from __future__ import annotations

import re


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
