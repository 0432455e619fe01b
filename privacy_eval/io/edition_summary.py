"""Read the summaries of the editions: `result_for_rank*` and `results_*.txt` of 2024 and 2026, and
`RESULTS_summary_*` of 2022."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import PrivacyEvalError


class TableForm(NamedTuple):
    """Form of a table: its heading, and the columns that identify a row and that hold values (a
    regular expression)."""

    heading: str
    identity: tuple[str, ...]
    values: str


_ASV = ("dataset", "split", "gender", "enrollment", "trial")
_EMOTIONS = "UAR|ACC_(?:ang|hap|neu|sad)"
#: Forms of tables by kind.
TABLES = {
    "ser": TableForm("SER results", ("dataset", "split", "ser"), _EMOTIONS),
    "asv": TableForm("ASV_eval results", _ASV, "EER"),
    "asr": TableForm("ASR results", ("dataset", "split", "asr"), "WER"),
    "asv_anon": TableForm("ASV_eval^anon results", _ASV, "EER"),
}
_LINE = re.compile("---- (?:Time: [0-9_:-]{1,20}|(?P<heading>.+)) ----")
_PERCENT = re.compile(r"[0-9]{1,3}\.[0-9]{1,6}")
_NUMBER = re.compile("[0-9]{1,6}")


@dataclass(frozen=True)
class SummaryTable:
    """A table of a summary.

    Attributes
    ----------
    kind : str
        `ser`, `asv`, `asr` or `asv_anon` (attacker trained on anonymized speech).
    columns : tuple of str
        Names of the columns with values, in order.
    rows : tuple of tuples of str
        What identifies each row: data set, split, gender, enrollment and trial speech, or data
        set, split and speech.
    values : tuple of tuples of float
        Percent, by row and column.
    line : int
        Of the first row in the file.
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[float, ...], ...]
    line: int


def parse_rank(text: str, path: str) -> list[SummaryTable]:
    """Parse a `result_for_rank*` or one of its parts.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a heading, column or row of another form, as superseded versions of
        March 2024 have them.
    """
    lines = text.removesuffix("\n").split("\n")
    tables: list[SummaryTable] = []
    at = 0
    while at < len(lines):
        match = _LINE.fullmatch(lines[at])
        if match is None:
            where = f"{path}:{at + 1}"
            raise PrivacyEvalError(f"{where}: expected '---- ... ----', found {lines[at][:80]!r}")
        at += 1
        if match["heading"]:
            end = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
            tables.append(_table(match["heading"], lines[at:end], path, at))
            at = end
        at = next((i for i in range(at, len(lines)) if lines[i]), len(lines))
    if not tables:
        raise PrivacyEvalError(f"{path}: no results")
    return tables


def _table(heading: str, lines: Sequence[str], path: str, at: int) -> SummaryTable:
    """Parse the lines of a table, of which the first has the index `at`."""
    kind = next((k for k, form in TABLES.items() if form.heading == heading), None)
    if kind is None:
        headings = ", ".join(form.heading for form in TABLES.values())
        raise PrivacyEvalError(
            f"{path}:{at}: unknown heading {heading[:80]!r} (expected one of {headings})"
        )
    header = lines[0] if lines else ""
    names, (_, identity, values_form) = header.split(), TABLES[kind]
    columns = tuple(names[len(identity) :])
    unknown = [name for name in columns if re.fullmatch(values_form, name) is None]
    if tuple(names[: len(identity)]) != identity or unknown or not columns:
        raise PrivacyEvalError(
            f"{path}:{at + 1}: expected the columns {' '.join(identity)} and "
            f"{values_form}, found {header.strip()[:120]!r}"
        )
    if len(set(columns)) < len(columns):
        raise PrivacyEvalError(f"{path}:{at + 1}: duplicate column")
    first = 1 + (kind == "ser")
    if first == 2 and " ".join(lines[1:2]).split() != ["mean"] * len(columns):
        raise PrivacyEvalError(f"{path}:{at + 2}: expected 'mean' below each column")
    rows, values, n_numbered = [], [], 0
    for number, line in enumerate(lines[first:], start=at + first + 1):
        cells = line.split()
        if len(cells) == len(names) + 1 and _NUMBER.fullmatch(cells[0]):
            n_numbered += 1
            del cells[0]
        texts = cells[len(identity) :]
        if len(cells) != len(names) or not all(map(_PERCENT.fullmatch, texts)):
            raise PrivacyEvalError(
                f"{path}:{number}: expected {' '.join(names)}, found {line.strip()[:120]!r}"
            )
        rows.append(tuple(cells[: len(identity)]))
        values.append(tuple(map(float, texts)))
        if max(values[-1]) > 100 and kind != "asr":
            raise PrivacyEvalError(f"{path}:{number}: more than 100 %: {line.strip()[:120]!r}")
    if n_numbered not in (0, len(rows)) or not rows:
        raise PrivacyEvalError(f"{path}:{at + 1}: expected rows, either all or none numbered")
    return SummaryTable(kind, columns, tuple(rows), tuple(values), at + first + 1)


_SUMMARY_LINE = re.compile(r"(?P<name>[^\s:]+)  ?(?P<rest>\S.*)")
_AVERAGE = re.compile(
    r"(?P<title>(?:Weighted a|A)verage [^:]+): (?P<value>-?\d{1,3}\.\d{3})", re.ASCII
)


def summary_averages(text: str) -> Iterator[tuple[int, str, float]]:
    """Yield the line number, title and value of each average of a `RESULTS_summary_*`.

    Examples
    --------
    >>> list(summary_averages("Average WER dev orig: 7.305\\n"))
    [(1, 'Average WER dev orig', 7.305)]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _AVERAGE.fullmatch(line):
            yield number, match["title"], float(match["value"])


def split_summary(text: str, path: str) -> str:
    """Convert a `RESULTS_summary_*` of 2022, a line per number, to the form of results.txt.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Returns
    -------
    str
        Line breaks instead of the blanks after a name; without the averages, the last lines, which
        follow from the other values.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a line of another form.
    """
    lines: list[str] = []
    averages: set[str] = set()
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        average = _AVERAGE.fullmatch(line)
        match = _SUMMARY_LINE.fullmatch(line)
        if average is not None and average["title"] not in averages:
            averages.add(average["title"])
        elif match is None or averages:
            raise PrivacyEvalError(f"{path}:{number}: not a line of a summary: {line[:100]!r}")
        elif match["rest"].startswith("Pitch_correlation"):
            lines.append(line)
        else:
            lines += [match["name"], f"  {match['rest']}"]
    if not text.endswith("\n"):
        raise PrivacyEvalError(f"{path}: truncated last line")
    return "".join(f"{line}\n" for line in lines)
