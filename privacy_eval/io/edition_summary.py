"""Summaries of the editions: `result_for_rank*` and `results_*.txt` of 2024 and 2026, and
`RESULTS_summary_*` of 2022, in and out.

What varies between files (row numbers, order of columns, times, blank lines) is read into a
`SummaryLayout`, with which the same values give the same bytes again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..errors import PrivacyEvalError

#: Values of a table, in percent.
Rows = Sequence[Sequence[float]]


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
_LINE = re.compile("---- (?:Time: (?P<time>[0-9_:-]{1,20})|(?P<heading>.+)) ----")
_PERCENT = re.compile(r"[0-9]{1,3}\.[0-9]{1,6}")
_NUMBER = re.compile("[0-9]{1,6}")
_DECIMALS = 6  # of pandas


@dataclass(frozen=True)
class SummaryBlock:
    """Layout of one block.

    Attributes
    ----------
    kind : str
        `time`, `ser`, `asv`, `asr` or `asv_anon` (attacker trained on anonymized speech).
    time : str
        When it was written.
    columns : tuple of str
        Names of the columns with values, in order.
    rows : tuple of tuples of str
        What identifies each row: data set, split, gender, enrollment and trial speech, or data
        set, split and speech.
    numbers : tuple of int
        Numbers of the rows; empty if they have none.
    number_widths : tuple of int
        Width of the numbers' column in the header and in each row; files edited by hand have
        several.
    header_blanks, blank_lines : int
        Blanks at the end of the header; empty lines after the block.
    """

    kind: str
    time: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numbers: tuple[int, ...] = ()
    number_widths: tuple[int, ...] = ()
    header_blanks: int = 0
    blank_lines: int = 0


@dataclass(frozen=True)
class SummaryLayout:
    """Layout of a summary of one system.

    Attributes
    ----------
    system : str
    blocks : tuple of SummaryBlock
        Of 2024 and 2026.
    order : tuple of str
        Of 2022: names of conditions and sets in order, each with its kind: `scores`, `wer`,
        `pitch` or `similarity`, a blank between.
    averages : mapping
        Of 2022: the printed averages by title.
    newline : bool
        Whether the last line ends.
    """

    system: str
    blocks: tuple[SummaryBlock, ...] = ()
    order: tuple[str, ...] = ()
    averages: Mapping[str, float] = field(default_factory=dict)
    newline: bool = True


@dataclass(frozen=True)
class ReadBlock:
    """A block as it was read.

    Attributes
    ----------
    layout : SummaryBlock
    values : tuple of tuples of float
        Percent, by row and column.
    line : int
        Of the first row in the file.
    """

    layout: SummaryBlock
    values: tuple[tuple[float, ...], ...]
    line: int


def parse_rank(text: str, path: str) -> list[ReadBlock]:
    """Parse a `result_for_rank*` or one of its parts.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Returns
    -------
    list of ReadBlock

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a heading, column or row of another form, as superseded versions of
        March 2024 have them.
    """
    text += "" if text.endswith("\n") else "\n"
    lines = text.split("\n")[:-1]
    blocks: list[ReadBlock] = []
    at = 0
    while at < len(lines):
        where = f"{path}:{at + 1}"
        match = _LINE.fullmatch(lines[at])
        if match is None:
            raise PrivacyEvalError(f"{where}: expected '---- ... ----', found {lines[at][:80]!r}")
        at += 1
        if match["time"]:
            block = ReadBlock(SummaryBlock("time", time=match["time"]), (), at)
        else:
            end = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
            block = _table(match["heading"], lines[at:end], path, at)
            at = end
        blank = next((i for i in range(at, len(lines)) if lines[i]), len(lines)) - at
        at += blank
        blocks.append(replace(block, layout=replace(block.layout, blank_lines=blank)))
    if not any(block.values for block in blocks):
        raise PrivacyEvalError(f"{path}: no results")
    again = format_rank([b.layout for b in blocks], [b.values for b in blocks])
    if again != text:
        pairs = zip(again.split("\n"), text.split("\n"), strict=False)
        line = next((n for n, (a, b) in enumerate(pairs, start=1) if a != b), len(lines))
        raise PrivacyEvalError(f"{path}:{line}: not aligned as pandas aligns tables")
    return blocks


def _table(heading: str, lines: Sequence[str], path: str, at: int) -> ReadBlock:
    """Parse the lines of a table, of which the first has the index `at`."""
    kind = next((k for k, form in TABLES.items() if form.heading == heading), None)
    if kind is None:
        known = ", ".join(form.heading for form in TABLES.values())
        raise PrivacyEvalError(f"{path}:{at}: unknown heading {heading[:80]!r} (known: {known})")
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
    rows, numbers, values = [], [], []
    for number, line in enumerate(lines[first:], start=at + first + 1):
        cells = line.split()
        if len(cells) == len(names) + 1 and _NUMBER.fullmatch(cells[0]):
            numbers.append(int(cells.pop(0)))
        texts = cells[len(identity) :]
        if len(cells) != len(names) or not all(map(_PERCENT.fullmatch, texts)):
            raise PrivacyEvalError(
                f"{path}:{number}: expected {' '.join(names)}, found {line.strip()[:120]!r}"
            )
        rows.append(tuple(cells[: len(identity)]))
        values.append(tuple(map(float, texts)))
        if max(values[-1]) > 100 and kind != "asr":
            raise PrivacyEvalError(f"{path}:{number}: more than 100 %: {line.strip()[:120]!r}")
    if len(numbers) not in (0, len(rows)) or not rows:
        raise PrivacyEvalError(f"{path}:{at + 1}: expected rows, either all or none numbered")
    blanks = len(header) - len(header.rstrip(" "))
    widths: list[int] = []
    if numbers:
        first_cells = [identity[0], *(row[0] for row in rows)]
        widest = max(len(identity[0]), *(len(row[0]) + 1 for row in rows))
        for line, cell in zip([header, *lines[first:]], first_cells, strict=True):
            widths.append(line.find(f" {cell} ") + 1 + len(cell) - widest - 1)
    layout = SummaryBlock(
        kind, "", columns, tuple(rows), tuple(numbers), tuple(widths), header_blanks=blanks
    )
    return ReadBlock(layout, tuple(values), at + first + 1)


def format_rank(blocks: Sequence[SummaryBlock], values: Sequence[Rows]) -> str:
    """Format the text that `parse_rank` parses.

    Parameters
    ----------
    blocks : sequence of SummaryBlock
    values : sequence of sequences of sequences of float
        Percent, by block, row and column.

    Returns
    -------
    str
    """
    lines: list[str] = []
    for block, rows in zip(blocks, values, strict=True):
        if block.kind == "time":
            lines.append(f"---- Time: {block.time} ----")
        else:
            lines.append(f"---- {TABLES[block.kind].heading} ----")
            lines += _format_table(block, rows)
        lines += [""] * block.blank_lines
    return "".join(f"{line}\n" for line in lines)


def _format_table(block: SummaryBlock, values: Rows) -> Iterator[str]:
    """Format a table as pandas' `to_string` does."""
    identity = TABLES[block.kind].identity
    columns = [
        [name, *cells] for name, cells in zip(identity, zip(*block.rows, strict=True), strict=True)
    ]
    for name, numbers in zip(block.columns, zip(*values, strict=True), strict=True):
        texts = [f"{number:.{_DECIMALS}f}" for number in numbers]
        kept = max(len(text.rstrip("0").partition(".")[2]) for text in texts)
        columns.append([name, *(text[: len(text) - _DECIMALS + max(kept, 1)] for text in texts)])
    if block.kind == "ser":
        for number, column in enumerate(columns):
            column.insert(1, "mean" if number >= len(identity) else "")
    leading = " " if block.numbers else ""
    heads = 1 + (block.kind == "ser")
    aligned = []
    for column in columns:
        cells = column[:heads] + [leading + cell for cell in column[heads:]]
        width = max(map(len, cells))
        aligned.append([cell.rjust(width) for cell in cells])
    if block.numbers:
        texts = [*([""] * heads), *map(str, block.numbers)]
        widths = (*block.number_widths[:1] * heads, *block.number_widths[1:])
        aligned.insert(0, [t.ljust(w) for t, w in zip(texts, widths, strict=True)])
    for index, cells_ in enumerate(zip(*aligned, strict=True)):
        yield " ".join(cells_) + " " * (block.header_blanks if index == 0 else 0)


#: Kinds of the lines of 2022 by the beginning of the name.
_KINDS = {"ASV-": "scores", "ASR-": "wer", "": "similarity"}
_SUMMARY_LINE = re.compile(r"(?P<name>[^\s:]+)  ?(?P<rest>\S.*)")
_AVERAGE = re.compile(r"(?P<title>(?:Weighted a|A)verage [^:]+): (?P<value>-?\d{1,3}\.\d{3})")


def split_summary(text: str, path: str) -> tuple[str, tuple[str, ...], dict[str, float]]:
    """Convert a `RESULTS_summary_*` of 2022, a line per number, to the form of results.txt.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Returns
    -------
    results_txt : str
        Line breaks instead of the blanks after a name.
    order : tuple of str
        Kinds and names of conditions and sets, in the order of the lines.
    averages : dict of str to float
        By title.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a line of another form.
    """
    lines: list[str] = []
    order: list[str] = []
    averages: dict[str, float] = {}
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        average = _AVERAGE.fullmatch(line)
        match = _SUMMARY_LINE.fullmatch(line)
        if average is not None and average["title"] not in averages:
            averages[average["title"]] = float(average["value"])
        elif match is None or averages:
            raise PrivacyEvalError(f"{path}:{number}: not a line of a summary: {line[:100]!r}")
        elif match["rest"].startswith("Pitch_correlation"):
            lines.append(line)
            order.append(f"pitch {match['name']}")
        else:
            lines += [match["name"], f"  {match['rest']}"]
            kinds = (k for start, k in _KINDS.items() if match["name"].startswith(start))
            order.append(f"{next(kinds)} {match['name']}")
    if not text.endswith("\n") or not all(map(math.isfinite, averages.values())):
        raise PrivacyEvalError(f"{path}: truncated last line, or an average is not finite")
    return "".join(f"{line}\n" for line in lines), tuple(order), averages
