"""Tables that users and other tools make: labels of speakers or utterances (a column of a CSV, or a
Kaldi file such as `spk2gender`), and measures of utterances (CSV with a header, or Kaldi's `utt
value`)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..choices import MISSING, missing_among, without_fraction
from ..errors import PrivacyEvalError, UsageError, abbreviate, printable
from .csv_text import IDS, ROW_NUMBERS, UTTERANCES, is_header, read_table
from .files import Loaded, ask_if_cut, read_text
from .names import MAX_FIELD_BYTES, check_name, is_printable, look_alike

#: Line, id and label.
_Row = tuple[int, str, str]


#: The column of ids, before others that `UTTERANCES` names.
UTTERANCE = "utterance"
#: Name of the only measure of a file without a header.
VALUE = "value"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_AUDIO = (".wav", ".flac")


@dataclass(frozen=True)
class Labels:
    """Labels by speaker or by utterance.

    Attributes
    ----------
    path : Path
    column : str
        What the labels are: the name of the column.
    by_id : mapping of str to str
        By speaker or utterance; "" where it is missing. Whole floats are their integers.
    notes : tuple of str
        What was taken for ids and labels.
    """

    path: Path
    column: str
    by_id: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def of_speakers(
        self, utt2spk: Mapping[str, str], *, allow_unknown: bool = False
    ) -> dict[str, str]:
        """Return the label of each speaker, sorted; those with an empty cell are left out, and on
        request those that the file does not name.

        Raises
        ------
        PrivacyEvalError
            A speaker whose utterances have several labels, or without a label.
        """
        labels: dict[str, str] = {}
        unknown = set()
        for utterance, speaker in utt2spk.items():
            ids = without_fraction(speaker), without_fraction(utterance)
            label = self.by_id.get(ids[0], self.by_id.get(ids[1]))
            if label is None:
                unknown.add(speaker)
            elif labels.setdefault(speaker, label) != label:
                both = " and ".join(repr(name) for name in (labels[speaker], label))
                raise PrivacyEvalError(
                    f"{self.path}: speaker {speaker!r} has several labels of {self.column}: {both}"
                )
        if unknown and not allow_unknown:
            raise PrivacyEvalError(
                f"{self.path}: {len(unknown)} of {len(set(utt2spk.values()))} speakers have no "
                f"{self.column}: {abbreviate(sorted(unknown))} (an empty cell leaves one out); the "
                f"file names {abbreviate([*self.by_id])}"
            )
        return {speaker: label for speaker, label in sorted(labels.items()) if label}

    def groups(self, utt2spk: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Return the group of each speaker, of a column `age` the band, and the speakers without.

        Raises
        ------
        PrivacyEvalError
            A speaker whose utterances have several labels.
        """
        group_of = self.of_speakers(utt2spk, allow_unknown=True)
        without = sorted({*utt2spk.values()} - group_of.keys())
        return (age_bands(group_of) if self.column.lower() == "age" else group_of), without


def path_of_labels(text: str | Path) -> Path:
    """Return the file of `FILE:COLUMN`, or of `FILE` alone.

    Examples
    --------
    >>> path_of_labels("data/speakers.csv:accent").name, path_of_labels("spk2gender").name
    ('speakers.csv', 'spk2gender')
    """
    name, colon, _ = str(text).rpartition(":")
    return Path(text) if not colon or Path(text).is_file() else Path(name)


def read_labels(text: str) -> Labels:
    """Read labels.

    Parameters
    ----------
    text : str
        `FILE:COLUMN`: a table with a header, see `read_table`, with a column of speakers or
        utterances. Or a file of two fields per line, such as `spk2gender`.

    Raises
    ------
    UsageError
        No such column.
    PrivacyEvalError
        With file and line: malformed, a duplicate speaker or utterance.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "speakers.csv")
    >>> _ = path.write_text("speaker,gender,accent\\na,f,us\\nb,m,\\n")
    >>> read_labels(f"{path}:accent").by_id
    {'a': 'us', 'b': ''}
    """
    path, column = path_of_labels(text), text.rpartition(":")[2]
    if path == Path(text):
        column, rows, where = path.name.rpartition("2")[2], _kaldi_rows(path), ""
    else:
        rows, where = _table_rows(path, column)
    missing = missing_among({label for *_, label in rows})
    by_id: dict[str, str] = {}
    for line, key, label in rows:
        if (key in MISSING and where) or not is_printable(key + label):
            raise PrivacyEvalError(f"{path}:{line}: not a name and a label: {key!r}, {label!r}")
        key, label = without_fraction(key), "" if label in missing else without_fraction(label)
        if key in by_id:
            contradiction = "" if by_id[key] == label else " with another label"
            raise PrivacyEvalError(f"{path}:{line}: duplicate {key!r}{contradiction}{where}")
        by_id[key] = label
    if not by_id:
        raise PrivacyEvalError(f"{path}: no labels")
    counts = Counter(by_id.values())
    of = [f"{label or 'missing'} ({number})" for label, number in sorted(counts.items())]
    floats = [text for _, *pair in rows for text in pair if without_fraction(text) != text]
    notes = [f"labels of {column}{where}: {abbreviate(of)}"]
    notes += [f"{text} is taken for {without_fraction(text)}" for text in floats[:1]]
    notes += [f"labels look alike: {', '.join(group)}" for group in look_alike(counts)]
    return Labels(path, column, by_id, tuple(f"{path}: {note}" for note in notes))


def _kaldi_rows(path: Path) -> list[_Row]:
    """Read the lines of an id and a label."""
    from .text_table import numbered, read_columns

    if is_header("".join(read_text(path).split("\n", 1)[0].split()[:1]), IDS):
        raise UsageError(f"{path}:1: a table with a header: name its column, {path}:COLUMN")
    return numbered(*read_columns(path, ("speaker or utterance", "label")))


def _table_rows(path: Path, column: str) -> tuple[list[_Row], str]:
    """Read the ids and labels of a table; also say which column the ids are."""
    table = read_table(read_text(path), path)
    fold = str if column in table.header else str.casefold
    places = [n for n, name in enumerate(table.header) if fold(name) == fold(column)]
    at = table.id_column(IDS, other=places[0]) if len(places) == 1 else -1
    if len(places) != 1 or places == [at]:
        columns = abbreviate([repr(h) for n, h in enumerate(table.header) if n != at]) or "none"
        raise UsageError(f"{path}:1: expected one column {column!r}, found {columns}")
    rows = [(line, cells[at], cells[places[0]]) for line, cells in table.rows]
    return rows, f", by the column {table.header[at]!r}"


def age_bands(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the bands of ages in years: under 30, 30 to 49, from 50; other labels as they are.

    Examples
    --------
    >>> age_bands({"a": "29", "b": "30", "c": "50"})
    {'a': 'under_30', 'b': '30_to_49', 'c': 'from_50'}
    >>> age_bands({"a": "29", "b": "old"})
    {'a': '29', 'b': 'old'}
    """
    if not all(t.isascii() and t.isdigit() and int(t) < 130 for t in labels.values()):
        return dict(labels)
    years = {name: int(label) for name, label in labels.items()}
    return {
        name: "under_30" if age < 30 else "30_to_49" if age < 50 else "from_50"
        for name, age in years.items()
    }


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
