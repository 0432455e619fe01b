"""Measures of utterances that other tools left: CSV with a header, or Kaldi's `utt value`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..choices import MISSING
from ..errors import PrivacyEvalError, printable
from .csv_text import IDS, ROW_NUMBERS, UTTERANCES, is_header, read_table
from .files import Loaded, ask_if_cut, read_text
from .ids import MAX_FIELD_BYTES
from .names import check_name, is_printable

#: The column of ids, before others that `UTTERANCES` names.
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
        Other columns: words, such as names of speakers, and numbers of rows.
    ids : str
        The column of utterances; "" of lines of an id and a number.
    """

    values: dict[str, dict[str, float]]
    ignored: tuple[str, ...] = ()
    ids: str = ""


def read_measures(path: Path | Loaded) -> Measures:
    """Read measures of utterances.

    Parameters
    ----------
    path : Path or Loaded
        Table with a header, see `read_table`: ids are in the column `utterance`, or else one named
        such as `file`, or the first that does not number the rows; of paths of audio files, the
        file name without its ending is the id. Or lines of an id and a number, whose measure is
        called `value`.

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
    from .text_table import numbered, split_columns

    text = read_text(path)
    ask_if_cut(path, text)
    first = next((line for line in text.split("\n") if line.strip()), "")
    if len(first.split()) == 2 and not (set(",;|") & set(first) or is_header(first, UTTERANCES)):
        columns = split_columns(text.encode(), ("utterance", "number"), Path(path))
        return Measures({VALUE: _collect(numbered(*columns), VALUE, path)})
    return _read_csv(text, path)


def _read_csv(text: str, path: object) -> Measures:
    table = read_table(text, path)
    header = table.header
    is_named = not any(re.fullmatch(r"-?[0-9]+[.][0-9]+", name) for name in header)
    if len(header) < 2 or len(set(header)) < len(header) or not is_named:
        raise PrivacyEvalError(
            f"{path}:1: expected a header of distinct columns, the utterance and measures, or "
            "lines of an utterance and a number"
        )
    for name in header:
        check_name(name, f"{path}:1")
    if not table.rows:
        raise PrivacyEvalError(f"{path}: no utterances")
    at = table.id_column(UTTERANCE, UTTERANCES)
    ids = {at, *table.places(f"{IDS}|ids?|{ROW_NUMBERS}")}
    # Numbers with a decimal comma, or after missing ones, are refused below.
    given = (next((c for c in table.cells(n) if c not in MISSING), "") for n in range(len(header)))
    is_number = [_NUMBER.fullmatch(cell.replace(",", ".")) for cell in given]
    numbers = [n for n, numeric in enumerate(is_number) if numeric and n not in ids]
    if not numbers:
        raise PrivacyEvalError(f"{path}:{table.rows[0][0]}: no column has a number")
    values = {
        header[n]: _collect(((line, c[at], c[n]) for line, c in table.rows), header[n], path)
        for n in numbers
    }
    others = (h or "(no name)" for n, h in enumerate(header) if n not in (at, *numbers))
    return Measures(values, tuple(others), header[at])


def _collect(
    entries: Iterable[tuple[int, str, str]], measure: str, path: object
) -> dict[str, float]:
    """Collect the values of a measure from triples of line, id and number."""
    values: dict[str, float] = {}
    for line, word, cell in entries:
        name = PurePosixPath(word).stem if word.lower().endswith(_AUDIO) else word
        if name in MISSING or not is_printable(name) or len(name.encode()) > MAX_FIELD_BYTES:
            raise PrivacyEvalError(f"{path}:{line}: not an utterance: {word[:80]!r}")
        if not _NUMBER.fullmatch(cell) or not math.isfinite(float(cell)):
            raise PrivacyEvalError(
                f"{path}:{line}: expected a number with a decimal point, found "
                f"{printable(cell[:40])!r} ({measure})"
            )
        if name in values:
            raise PrivacyEvalError(f"{path}:{line}: duplicate utterance {name}")
        values[name] = float(cell)
    if not values:
        raise PrivacyEvalError(f"{path}: no utterances")
    return values
