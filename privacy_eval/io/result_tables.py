"""Tables of results of the editions since 2024: the rows of `results*.csv`, `results_folds*.csv`
and of the tables in `result_for_rank*`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from ..errors import InputWarning, PrivacyEvalError
from .csv_text import csv_rows


class TableForm(NamedTuple):
    """Form of a table: its heading, and the columns that identify a row and that hold values (a
    regular expression)."""

    heading: str
    identity: tuple[str, ...]
    values: str


_ASV = ("dataset", "split", "gender", "enrollment", "trial")
_EMOTIONS = "UAR|ACC_(?:ang|hap|neu|sad)"
#: A table of 2024 before March, which does not tell what its ASV model was trained on.
UNTOLD = "asv"
#: Forms of tables by kind; of those with the same columns, the first is that of CSV.
TABLES = {
    UNTOLD: TableForm("ASV results", _ASV, "EER"),
    "asv_orig": TableForm("ASV_eval results", _ASV, "EER"),
    "asv_anon": TableForm("ASV_eval^anon results", _ASV, "EER"),
    "asr": TableForm("ASR results", ("dataset", "split", "asr"), "WER"),
    "folds": TableForm("", ("dataset", "split", "fold", "ser"), _EMOTIONS),  # of CSV
    "ser": TableForm("SER results", ("dataset", "split", "ser"), _EMOTIONS),
}
#: What a file states beside a value: an interval, or what is over the folds of UAR.
_STATED = re.compile("[-_](?=(?:ci[-_](?:lower|upper)|min|max|std)$)")
STATISTICS = ("mean", "min", "max", "std")
_PERCENT = re.compile(r"[0-9]{1,5}(?:\.[0-9]{0,17})?(?:[eE][-+]?[0-9]{1,2})?", re.ASCII)
_MISSING = ("nan", "NaN", "None", "<NA>", "NA", "n/a")


def fraction(percent: float) -> float:
    """Divide by 100 without more digits than were printed."""
    return float(Decimal(repr(percent)) / 100)


@dataclass(frozen=True)
class SummaryRow:
    """A row of a table: location, identifying cells, and values in percent by column; what the file
    states beside a value is named as in `UAR-min`, `EER-ci_lower`."""

    where: str
    identity: tuple[str, ...]
    values: Mapping[str, float]

    def stated(self) -> dict[str, float]:
        """Return what the file states beside its values, as fractions."""
        return {name: fraction(value) for name, value in self.values.items() if "-" in name}


@dataclass(frozen=True)
class SummaryTable:
    """A table of a summary.

    Attributes
    ----------
    kind : str
        `ser`, `asr`, `asv_orig`, `asv_anon` (attacker trained on anonymized speech), or `asv`
        (not told).
    rows : tuple of SummaryRow
        What identifies each: data set, split, gender, enrollment and trial speech, or data
        set, split and speech.
    run : int
        Number of `Time` lines before it.
    """

    kind: str
    rows: tuple[SummaryRow, ...]
    run: int

    @property
    def content(self) -> tuple[tuple[Sequence[str], tuple[tuple[str, float], ...]], ...]:
        """The cells of all rows."""
        return tuple((row.identity, tuple(row.values.items())) for row in self.rows)


def table_rows(
    kind: str, names: Sequence[str], at: str, lines: Iterable[tuple[str, Sequence[str]]]
) -> tuple[SummaryRow, ...]:
    """Make the rows of a table.

    Parameters
    ----------
    kind : str
    names : sequence of str
        The header, in any order, with the statistic of a second line: `UAR-mean`, `UAR-min`.
    at : str
        File and line of the header.
    lines : iterable of (str, sequence of str)
        File and line, and cells, with or without a number before them. One that is nan is left out,
        with a warning; a fold may lack an emotion, which is blank then.
    """
    _, identity, values = TABLES[kind]
    of_recall = kind == "ser"
    columns = [f"UAR-{n}" if of_recall and n in STATISTICS else n for n in names]
    columns = [_STATED.sub("-", n.removesuffix("-mean")).replace("ci-", "ci_") for n in columns]
    form = re.compile(rf"(?:{values})(?:-(?:ci_lower|ci_upper|min|max|std))?")
    known = (name in identity or form.fullmatch(name) for name in columns)
    needed = {*identity, values.partition("|")[0]}
    if not all(known) or not needed <= {*columns} or len({*columns}) < len(columns):
        raise PrivacyEvalError(
            f"{at}: expected the columns {' '.join(identity)} and {values}, each once, found "
            f"{' '.join(names)[:120]!r}"
        )
    return tuple(_row(kind, columns, cells, where) for where, cells in lines)


def _row(kind: str, columns: Sequence[str], cells: Sequence[str], where: str) -> SummaryRow:
    """Make a row of its cells."""
    if len(cells) == len(columns) + 1 and cells[0].isdecimal():
        cells = cells[1:]
    of, identity = dict(zip(columns, cells, strict=False)), TABLES[kind].identity
    nans = [f"{name} is {text}" for name, text in of.items() if text in _MISSING]
    if nans:
        said = f"{where}: {', '.join(nans)}: left out, so that no average has it (evaluate again)"
        warnings.warn(InputWarning(said), stacklevel=2)
    values = {
        name: float(text) if _PERCENT.fullmatch(text) else math.inf
        for name, text in of.items()
        if not (name in identity or text in _MISSING or (not text and name.startswith("ACC_")))
    }
    highest = 1e6 if kind == "asr" else 100
    if len(cells) != len(columns) or any(value > highest for value in values.values()):
        raise PrivacyEvalError(
            f"{where}: expected {' '.join(columns)}, at most 100 % but for WER, found "
            f"{' '.join(cells)[:120]!r}"
        )
    return SummaryRow(where, tuple(of[name] for name in identity), values)


def read_table(text: str, path: str) -> SummaryTable:
    """Read a `results*.csv` or `results_folds*.csv`.

    Raises
    ------
    PrivacyEvalError
        An empty file; a column, row or value of another form.
    """
    if not text.strip():
        raise PrivacyEvalError(f"{path}: empty file: no results (evaluation stopped?)")
    (_, header), *lines = csv_rows(text, path)
    n_index = int(header[0] == "")
    names = header[n_index:]
    kinds = [kind for kind, form in TABLES.items() if {*form.identity} <= {*names}]
    if not kinds or not lines:
        raise PrivacyEvalError(f"{path}:1: not a table of results: {','.join(header)}")
    if n_index and not lines[0][1][0]:  # below UAR and ACC_*: mean
        below = lines.pop(0)[1][1:]
        names = [f"{n}-{cell}" if cell else n for n, cell in zip(names, below, strict=True)]
    located_cells = ((f"{path}:{number}", cells[n_index:]) for number, cells in lines)
    rows = table_rows(kinds[0], names, f"{path}:1", located_cells)
    return SummaryTable(kinds[0], rows, 0)
