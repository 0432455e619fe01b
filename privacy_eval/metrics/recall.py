"""Recalls of emotion recognition, as the challenges of 2024 and 2026 compute them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError
from .arguments import as_names

#: Excited speech of IEMOCAP, which the challenges count as happy.
MERGED = {"exc": "hap", "excited": "happy", "excitement": "happiness"}


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


def mean_of_folds(folds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Compute the plain mean of each value over the folds (speakers) that have it.

    Parameters
    ----------
    folds : mapping
        Values of `recalls` by fold.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> mean_of_folds({"1": {"uar": 0.5, "acc_sad": 1.0}, "2": {"uar": 1.0}})
    {'uar': 0.75, 'acc_sad': 1.0}
    """
    keys = dict.fromkeys(key for values in folds.values() for key in values)
    by_key = {key: [values[key] for values in folds.values() if key in values] for key in keys}
    return {key: sum(values) / len(values) for key, values in by_key.items()}
