"""Arguments as arrays: what is masked or missing is refused, names and truth values are read alike
by every function."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..choices import MISSING, TRUTH, missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate


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
    """Convert numbers to floats; of objects, such as data frames hold, missing ones to NaN.

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
        Masked values.
    TypeError
        No numbers, such as text.

    Examples
    --------
    >>> as_numbers([1, None], "scores")
    array([ 1., nan])
    """
    array = as_array(values, name)
    if array.dtype.kind == "O":
        given = [np.nan if str(x) in MISSING else x for x in array.ravel().tolist()]
        if any(x is not np.nan for x in given):
            array = np.array(given).reshape(array.shape)
    if array.dtype.kind not in "iuf":  # NumPy would parse text
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    return array.astype(np.float64, copy=False)


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
    texts = _as_text(as_array(values, name))
    distinct = set(texts.ravel().tolist())
    if missing := sorted(missing_among(distinct)):
        at = np.flatnonzero(np.isin(texts.ravel(), missing)).tolist()
        raise PrivacyEvalError(
            f"{len(at)} of {texts.size} {name} are missing ({abbreviate([*map(repr, missing)])}), "
            f"at index {abbreviate([*map(str, at)])}: leave them out, or give them a name"
        )
    floats = sorted(text for text in distinct if without_fraction(text) != text)
    if floats:
        as_integer = without_fraction(floats[0])
        warnings.warn(f"{name}: {floats[0]} is taken for {as_integer}", stacklevel=3)
        whole = [without_fraction(text) for text in texts.ravel().tolist()]
        texts = np.array(whole, dtype=np.str_).reshape(texts.shape)
    return texts


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
    if array.dtype == np.bool_ or not array.size:
        return array.astype(np.bool_, copy=False)
    values = array if array.dtype.kind in "iuf" else _as_text(array)
    distinct, number = np.unique(values, return_inverse=True)
    texts = [without_fraction(str(value)).lower() for value in distinct.tolist()]
    targets, nontargets = map(set, zip(*TRUTH, strict=True))
    alone = {"-1"} if "1" not in texts or "0" in texts else set()
    if unknown := sorted(set(texts) - (targets | nontargets) | alone.intersection(texts)):
        raise PrivacyEvalError(
            f"{name} must be true or false, 1 or 0, target or nontarget, not "
            + abbreviate([*map(repr, unknown)])
        )
    return np.array([text in targets for text in texts])[number].reshape(array.shape)


def _as_text(array: NDArray[Any]) -> NDArray[np.str_]:
    """Convert an array to text, also objects and strings of variable width."""
    if array.dtype.kind not in "biufSU":
        texts = [str(x) for x in array.ravel().tolist()]
        return np.array(texts, dtype=np.str_).reshape(array.shape)
    return array.astype(np.str_, copy=False)
