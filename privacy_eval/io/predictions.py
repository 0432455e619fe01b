"""Predictions of a classifier: a CSV with the columns utterance, reference and prediction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..choices import MISSING, without_fraction
from ..errors import PrivacyEvalError
from .csv_text import UTTERANCES, read_table
from .files import read_text
from .names import is_printable

_NEEDED = ("utterance", "reference", "prediction")


@dataclass(frozen=True)
class Prediction:
    """Prediction of a classifier for an utterance.

    Attributes
    ----------
    reference, prediction : str
        Classes; whole floats are their integers.
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
        Table with a header, see `read_table`; further columns but `set` are ignored.

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
    table = read_table(read_text(path), path)
    found = {name: table.find(name) for name in (*_NEEDED, "set")}
    found["utterance"] = table.find("utterance", UTTERANCES)
    columns = {name: place for name, place in found.items() if place is not None}
    if not columns.keys() >= {*_NEEDED}:
        raise PrivacyEvalError(f"{path}:1: expected the columns {', '.join(_NEEDED)}")
    predictions: dict[tuple[str, str], Prediction] = {}
    for line, cells in table.rows:
        texts = {name: cells[index] for name, index in columns.items()}
        one = Prediction(**texts | {name: without_fraction(texts[name]) for name in _NEEDED[1:]})
        words = (one.utterance, one.reference, one.prediction)
        if not all(word not in MISSING and is_printable(word) for word in words):
            raise PrivacyEvalError(f"{path}:{line}: expected {', '.join(_NEEDED)}, found {words}")
        if (one.set, one.utterance) in predictions:
            raise PrivacyEvalError(f"{path}:{line}: duplicate utterance {one.utterance}")
        predictions[one.set, one.utterance] = one
    if not predictions:
        raise PrivacyEvalError(f"{path}: no predictions")
    return list(predictions.values())
