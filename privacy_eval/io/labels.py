"""Labels of speakers or utterances: a column of a CSV, or a Kaldi file such as `spk2gender`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError, UsageError, abbreviate
from .csv_text import csv_rows
from .files import read_text
from .names import is_printable


@dataclass(frozen=True)
class Labels:
    """Labels by speaker or by utterance.

    Attributes
    ----------
    path : Path
    column : str
        What the labels are: the name of the column.
    by_id : mapping of str to str
        By speaker or utterance; "" where the cell is empty.
    """

    path: Path
    column: str
    by_id: Mapping[str, str]

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
            label = self.by_id.get(speaker, self.by_id.get(utterance))
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
                f"{self.column}: {abbreviate(sorted(unknown))} (an empty cell leaves one out)"
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
        `FILE:COLUMN`: a CSV with a header, whose first column is the speaker or the utterance. Or a
        file of two fields per line, such as `spk2gender`.

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
        from .text_table import read_columns

        (ids, labels), _ = read_columns(path, ("speaker or utterance", "label"))
        column = path.name.rpartition("2")[2]
        pairs = zip(ids.tolist(), labels.tolist(), strict=True)
        rows = ((ids.line(row), *pair) for row, pair in enumerate(pairs))
    else:
        lines = csv_rows(read_text(path), path)
        _, header = next(lines, (1, []))
        if header[1:].count(column) != 1:
            columns = abbreviate([repr(cell) for cell in header[1:]]) or "none"
            raise UsageError(f"{path}:1: expected one column {column!r}, found {columns}")
        place = header.index(column, 1)
        rows = ((line, cells[0].strip(), cells[place].strip()) for line, cells in lines)
    by_id: dict[str, str] = {}
    for line, key, label in rows:
        if not key or not is_printable(key + label):
            raise PrivacyEvalError(f"{path}:{line}: not a name and a label: {key!r}, {label!r}")
        if key in by_id:
            contradiction = "" if by_id[key] == label else " with another label"
            raise PrivacyEvalError(f"{path}:{line}: duplicate {key!r}{contradiction}")
        by_id[key] = label
    if not by_id:
        raise PrivacyEvalError(f"{path}: no labels")
    return Labels(path, column, by_id)


def age_bands(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the bands of ages in years: under 30, 30 to 49, from 50; other labels as they are.

    Examples
    --------
    >>> age_bands({"a": "29", "b": "30", "c": "50"})
    {'a': 'under_30', 'b': '30_to_49', 'c': 'from_50'}
    >>> age_bands({"a": "29", "b": "old"})
    {'a': '29', 'b': 'old'}
    """
    if not all(label.isascii() and label.isdigit() for label in labels.values()):
        return dict(labels)
    years = {name: int(label) for name, label in labels.items()}
    return {
        name: "under_30" if age < 30 else "30_to_49" if age < 50 else "from_50"
        for name, age in years.items()
    }
