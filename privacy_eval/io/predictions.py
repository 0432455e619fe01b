"""Predictions of a classifier: a CSV with the columns utterance, reference and prediction."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from .files import read_text

_NEEDED = ("utterance", "reference", "prediction")


@dataclass(frozen=True)
class Prediction:
    """What a classifier found in an utterance.

    Attributes
    ----------
    utterance, reference, prediction : str
    set : str
        Name of the set; "" if the file has no such column.
    """

    utterance: str
    reference: str
    prediction: str
    set: str = ""


def read_predictions(path: Path) -> list[Prediction]:
    """Read predictions.

    Parameters
    ----------
    path : Path
        CSV with a header; further columns but `set` are ignored.

    Returns
    -------
    list of Prediction

    Raises
    ------
    PrivacyEvalError
        With file and line: a missing column or value, a duplicate utterance of a set, a quote
        without its end; no prediction.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "predictions.csv")
    >>> _ = path.write_text("utterance,reference,prediction\\nu1,sad,hap\\n")
    >>> read_predictions(path)
    [Prediction(utterance='u1', reference='sad', prediction='hap', set='')]
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    found: list[Prediction] = []
    seen: set[tuple[str, str]] = set()
    try:
        header = next(reader, [])
        if any(header.count(name) != 1 for name in _NEEDED) or header.count("set") > 1:
            raise PrivacyEvalError(f"{path}:1: expected the columns {', '.join(_NEEDED)}")
        columns = {name: header.index(name) for name in (*_NEEDED, "set") if name in header}
        for cells in reader:
            where = f"{path}:{reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(header):
                raise PrivacyEvalError(
                    f"{where}: expected {len(header)} columns, found {len(cells)}"
                )
            one = Prediction(**{name: cells[index] for name, index in columns.items()})
            words = (one.utterance, one.reference, one.prediction)
            if not all(word and word.isprintable() and word.strip() == word for word in words):
                raise PrivacyEvalError(f"{where}: expected {', '.join(_NEEDED)}, found {words}")
            if (one.set, one.utterance) in seen:
                raise PrivacyEvalError(f"{where}: duplicate utterance {one.utterance}")
            seen.add((one.set, one.utterance))
            found.append(one)
    except csv.Error as error:
        raise PrivacyEvalError(f"{path}:{reader.line_num}: {error}") from error
    if not found:
        raise PrivacyEvalError(f"{path}: no predictions")
    return found
