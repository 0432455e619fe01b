"""Predictions of emotions, a CSV with utterance, reference and prediction; and their recalls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..choices import MISSING, without_fraction
from ..errors import PrivacyEvalError, abbreviate
from ..io.csv_text import UTTERANCES, read_table
from ..io.files import read_text
from ..io.names import is_printable
from ..metrics.arguments import as_names

_NEEDED = ("utterance", "reference", "prediction")
# What is said of names that only references, or only predictions have.
_ONE_SIDED = ("is never predicted ({} references)", "is never a reference ({} predictions)")
# What stands before the number of a class: e0, 00.
_CODE = re.compile(r"\A[^\W\d]?0*(?=\d)")
#: Excited speech of IEMOCAP, which the challenges count as happy.
MERGED = {"exc": "hap", "excited": "happy", "excitement": "happiness"}


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


def vocabulary_notes(
    path: object, sides: Sequence[Iterable[str]], counted_as: Mapping[str, str]
) -> list[str]:
    """Say which names only one of two sides has that should have the same.

    Parameters
    ----------
    path : object
        For messages.
    sides : (iterable of str, iterable of str)
        References and predictions.
    counted_as : mapping
        Names that the challenge takes for another one.

    Raises
    ------
    PrivacyEvalError
        No name is on both sides.

    Examples
    --------
    >>> vocabulary_notes("x.csv", [["ang", "sad", "sad"], ["ang", "sadness"]], {})[0]
    'x.csv: sad is never predicted (2 of 3 references): is it sadness?'
    """
    counts = [Counter(side) for side in sides]
    if counts[0].keys().isdisjoint(counts[1]):
        references, predictions = (abbreviate(sorted(side)) for side in counts)
        text = f"references ({references}) and predictions ({predictions})"
        raise PrivacyEvalError(f"{path}: {text} share no name: rename those of one side")
    notes = []
    for own, other, text in zip(counts, counts[::-1], _ONE_SIDED, strict=True):
        for name in sorted(own.keys() - other.keys()):
            alike = [x for x in sorted(other.keys() - own.keys()) if _may_be_one(name, x)]
            note = f"{path}: {name} {text.format(f'{own[name]} of {own.total()}')}"
            note += f"; the challenge counts it as {counted_as[name]}" if name in counted_as else ""
            notes.append(note + (f": is it {' or '.join(alike)}?" if alike else ""))
    return notes


def _may_be_one(*names: str) -> bool:
    """Tell whether two names are one but for case, an abbreviation or the form of a number."""
    short, long = sorted((_CODE.sub("", without_fraction(n).casefold()) for n in names), key=len)
    return short == long or (len(short) > 2 and long.startswith(short))


def recalls(reference: ArrayLike, prediction: ArrayLike) -> dict[str, float]:
    """Compute the unweighted average recall and the recall of each class.

    Parameters
    ----------
    reference, prediction : array_like of str, shape (U,)
        Class of each utterance.

    Returns
    -------
    dict of str to float
        `uar`, the mean over all classes that occur in either: one that is only predicted counts
        0. `acc_<class>` of each class in `reference`. Fractions; higher is better utility.

    Raises
    ------
    PrivacyEvalError
        No utterance.

    Examples
    --------
    >>> recalls(["sad", "sad", "hap"], ["sad", "hap", "hap"])
    {'uar': 0.75, 'acc_hap': 1.0, 'acc_sad': 0.5}
    """
    actual, predicted = as_names(reference, "references"), as_names(prediction, "predictions")
    if not actual.size:
        raise PrivacyEvalError("no utterances: recall is undefined")
    by_class = {
        str(name): float(np.mean(predicted[actual == name] == name)) for name in np.unique(actual)
    }
    classes = np.union1d(actual, predicted).size
    uar = sum(by_class.values()) / classes
    return {"uar": uar, **{f"acc_{name}": value for name, value in by_class.items()}}
