"""Measures of utterances that other tools left: CSV with a header, or Kaldi's `utt value`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import PrivacyEvalError, printable
from .csv_text import csv_rows
from .files import Loaded, read_text
from .ids import MAX_FIELD_BYTES
from .names import check_name, is_printable

#: The column of ids; without one, the first column.
UTTERANCE = "utterance"
#: Name of the only measure of a file without a header.
VALUE = "value"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_AUDIO = (".wav", ".flac")


@dataclass(frozen=True)
class Measures:
    """Measures of utterances.

    Attributes
    ----------
    values : dict
        By measure, the value of each utterance, in the order of the file.
    ignored : tuple of str
        Columns without a number in the first row: words, such as names of speakers.
    """

    values: dict[str, dict[str, float]]
    ignored: tuple[str, ...] = ()


def read_measures(path: Path | Loaded) -> Measures:
    """Read measures of utterances.

    Parameters
    ----------
    path : Path or Loaded
        CSV with a header: ids are in the column `utterance`, or else in the first one; of paths of
        audio files, the file name without its ending is the id. Or lines of an id and a number,
        whose measure is called `value`.

    Returns
    -------
    Measures

    Raises
    ------
    PrivacyEvalError
        With file and line: something else than a finite number, a duplicate utterance, an id that
        is none, malformed CSV; no utterances or no column of numbers.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "nisqa.csv")
    >>> _ = path.write_text("deg,mos_pred\\nwav/u1.wav,3.5\\nwav/u2.wav,4\\n")
    >>> read_measures(path).values
    {'mos_pred': {'u1': 3.5, 'u2': 4.0}}
    """
    text = read_text(path)
    first = next((line for line in text.split("\n") if line.strip()), "").split()
    if len(first) == 2 and "," not in "".join(first):
        return Measures({VALUE: _collect(_lines(text, path), VALUE, path)})
    return _read_csv(text, path)


def _lines(text: str, path: object) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if len(words) not in (0, 2):
            raise PrivacyEvalError(f"{path}:{number}: expected an utterance and a number")
        if words:
            yield number, words[0], words[1]


def _read_csv(text: str, path: object) -> Measures:
    rows = [(line, [cell.strip() for cell in cells]) for line, cells in csv_rows(text, path)]
    header = rows[0][1] if rows else []
    if len(header) < 2 or len(set(header)) < len(header):
        raise PrivacyEvalError(
            f"{path}:1: expected a header of distinct columns, the utterance and measures, or "
            "lines of an utterance and a number"
        )
    for name in header:
        check_name(name, f"{path}:1")
    at = header.index(UTTERANCE) if UTTERANCE in header else 0
    if len(rows) < 2:
        raise PrivacyEvalError(f"{path}: no utterances")
    numbers = [n for n, cell in enumerate(rows[1][1]) if n != at and _NUMBER.fullmatch(cell)]
    if not numbers:
        raise PrivacyEvalError(f"{path}:{rows[1][0]}: no column has a number")
    values = {
        header[n]: _collect(((line, c[at], c[n]) for line, c in rows[1:]), header[n], path)
        for n in numbers
    }
    return Measures(values, tuple(h for n, h in enumerate(header) if n not in (at, *numbers)))


def _collect(
    entries: Iterable[tuple[int, str, str]], measure: str, path: object
) -> dict[str, float]:
    """Collect the values of a measure from triples of line, id and number."""
    values: dict[str, float] = {}
    for line, word, cell in entries:
        name = PurePosixPath(word).stem if word.lower().endswith(_AUDIO) else word
        if not is_printable(name) or not 0 < len(name.encode()) <= MAX_FIELD_BYTES:
            raise PrivacyEvalError(f"{path}:{line}: not an utterance: {word[:80]!r}")
        if not _NUMBER.fullmatch(cell) or not math.isfinite(float(cell)):
            raise PrivacyEvalError(
                f"{path}:{line}: expected a number, found {printable(cell[:40])!r} ({measure})"
            )
        if name in values:
            raise PrivacyEvalError(f"{path}:{line}: duplicate utterance {name}")
        values[name] = float(cell)
    if not values:
        raise PrivacyEvalError(f"{path}: no utterances")
    return values
