"""Arguments as arrays: what is masked or missing is refused, names and truth values are read alike
by every function."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..choices import TRUTH, missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate

#: Up to here every whole number is a float; beyond it, every second one at most.
_MAX_WHOLE = 1 << 53
_WHOLE = re.compile(r"[-+]?[0-9]+(\.0*)?")


def as_array(values: ArrayLike, name: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Convert an argument to an array, unless values of it are masked: NumPy drops masks silently.

    Parameters
    ----------
    values : array_like
    name : str
        What the values are, for messages.
    dtype : dtype, optional

    Returns
    -------
    array

    Raises
    ------
    PrivacyEvalError
        Masked values: how many.

    Examples
    --------
    >>> as_array([1, 2], "scores", np.float64)
    array([1., 2.])
    """
    parts: list[Any] = [*values] if isinstance(values, list | tuple) else [values]
    masks = [np.ma.getmaskarray(part) for part in parts if isinstance(part, np.ma.MaskedArray)]
    if masked := sum(int(mask.sum()) for mask in masks):
        raise PrivacyEvalError(f"{masked} {name} are masked, so missing: leave them out")
    return np.asarray(values, dtype=dtype)


def as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert numbers to floats.

    Parameters
    ----------
    values : array_like
    name : str
        What the values are, for messages.

    Returns
    -------
    float64 array

    Raises
    ------
    PrivacyEvalError
        Masked values; as `check_whole_numbers`.
    TypeError
        No numbers, such as text.

    Examples
    --------
    >>> as_numbers([1, 2], "scores")
    array([1., 2.])
    """
    array = as_array(values, name)
    given, is_number = array.ravel(), array.dtype.kind in "iuf"
    if array.ndim == 1 and isinstance(values, list | tuple):
        given = np.array(values, dtype=object)  # NumPy makes floats of integers beside floats
    floats = array.astype(np.float64, copy=False) if is_number else np.full(array.shape, np.inf)
    if given.dtype.kind in "iuO":
        check_whole_numbers(floats.ravel(), lambda n: str(given[n]), f"{name}, index {{}}".format)
    if not is_number:  # NumPy would parse text
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    return floats


def check_whole_numbers(
    values: NDArray[np.float64], text: Callable[[int], str], where: Callable[[int], str]
) -> None:
    """Refuse whole numbers that have more digits than floats: neighbours of them become ties.

    Parameters
    ----------
    values : float64 array, shape (rows,)
        Only the large ones are examined.
    text, where : callable
        Of a row: what was given, and the place that the message names.

    Raises
    ------
    PrivacyEvalError
        The first such number. Floats beyond 2^53 in all their digits, or in the fewest that tell
        them apart, are none.

    Examples
    --------
    >>> check_whole_numbers(np.array([1e20]), lambda row: "1e20", str)
    """
    for row in np.flatnonzero(np.abs(values) >= _MAX_WHOLE).tolist():
        if _WHOLE.fullmatch(given := text(row)):
            whole, nearest = int(given.partition(".")[0]), float(given)
            if whole not in (Decimal(nearest), Decimal(repr(nearest))):
                raise PrivacyEvalError(
                    f"{where(row)}: the whole number {given} has more digits than a float: scores "
                    "would become ties; subtract one number from all of them, or divide them, so "
                    f"that they stay below 2^53 = {_MAX_WHOLE}"
                )


def as_names(values: ArrayLike, name: str) -> NDArray[np.str_]:
    """Convert ids or labels to text; whole floats, such as 235.0, to their integers.

    Parameters
    ----------
    values : array_like
    name : str
        What the values are, for messages.

    Returns
    -------
    str array

    Raises
    ------
    PrivacyEvalError
        Masked or missing values: how many, and the first ones. Missing are None, NaN and the like,
        their texts, and the code -1 among codes from 0.

    Warns
    -----
    UserWarning
        Whole floats.

    Examples
    --------
    >>> as_names([235, 1089], "speakers").tolist()
    ['235', '1089']
    """
    array = as_array(values, name)
    given = array.ravel().tolist()
    texts = {x: _text(x) for x in set(given)}
    if missing := missing_among(set(texts.values())):
        at = [str(n) for n, x in enumerate(given) if texts[x] in missing]
        raise PrivacyEvalError(
            f"{len(at)} of {len(given)} {name} are missing ({abbreviate(sorted(missing))}), "
            f"at index {abbreviate(at)}: leave them out, or give them a name"
        )
    names = {x: without_fraction(text) for x, text in texts.items()}
    if floats := [x for x in names if names[x] != texts[x]]:
        text = f"{name}: {texts[floats[0]]} is taken for {names[floats[0]]}"
        warnings.warn(text, stacklevel=3)
    return np.array([names[x] for x in given], dtype=np.str_).reshape(array.shape)


def as_truth(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    """Convert labels of trials to true for target and false for nontarget trials.

    Parameters
    ----------
    values : array_like
        Truth values, or the names and codes of `TRUTH` in any case.
    name : str
        What the values are, for messages.

    Returns
    -------
    bool array

    Raises
    ------
    PrivacyEvalError
        Masked values; other labels, with their names.

    Examples
    --------
    >>> as_truth(["target", "nontarget"], "labels").tolist(), as_truth([1, -1], "labels").tolist()
    ([True, False], [True, False])
    """
    array = as_array(values, name)
    if array.dtype == np.bool_:
        return array
    given = array.ravel().tolist()
    texts = {x: _text(x) for x in set(given)}
    truth, _ = truth_of(texts.values())
    if unknown := sorted(set(texts.values()) - truth.keys()):
        raise PrivacyEvalError(
            f"{name} must be true or false, 1 or 0, target or nontarget, not "
            + abbreviate([*map(repr, unknown)])
        )
    return np.array([truth[texts[x]] for x in given], np.bool_).reshape(array.shape)


def truth_of(labels: Iterable[str]) -> tuple[dict[str, bool], tuple[str, str]]:
    """Tell which labels mean target trials: both are those of one pair of `TRUTH`, in any case.

    Parameters
    ----------
    labels : iterable of str

    Returns
    -------
    truth : dict of str to bool
        Without those that are no labels beside the others.
    pair : (str, str)
        Labels of target and nontarget trials that were expected.

    Examples
    --------
    >>> truth_of(["Target", "imp", "x"])
    ({'Target': True, 'imp': False}, ('target', 'imp'))
    """
    folded = {label: without_fraction(label).lower() for label in labels}
    found = [*folded.values()]
    pairs = [pair for pair in TRUTH if "1" in found or pair != ("1", "-1")]
    pair = max(pairs, key=lambda pair: sum(map(found.count, pair)))
    return {label: of == pair[0] for label, of in folded.items() if of in pair}, pair


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
