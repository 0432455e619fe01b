"""Arguments as arrays: what is masked or missing is refused, names and truth values are read alike
by every function."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..choices import MISSING, TRUTH, missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate
from .frames import open_column

#: Up to here every whole number is a float; beyond it, every second one at most.
_MAX_WHOLE = 1 << 53
#: Whole numbers within so many are coded by their differences.
_MOST_CODES = 1 << 16
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
        Masked values: how many; a tensor that NumPy cannot read.

    Examples
    --------
    >>> as_array([1, 2], "scores", np.float64)
    array([1., 2.])
    """
    parts: list[Any] = [*values] if isinstance(values, list | tuple) else [values]
    masks = [np.ma.getmaskarray(part) for part in parts if isinstance(part, np.ma.MaskedArray)]
    if masked := sum(int(mask.sum()) for mask in masks):
        rows = np.flatnonzero(np.concatenate([mask.ravel() for mask in masks]))
        raise PrivacyEvalError(
            f"{masked} {name} are masked, so missing, {at_rows(rows)}: leave them out"
        )
    opened = open_column(values)
    if isinstance(opened, tuple):
        opened = np.fromiter([*opened[1], None], dtype=object)[opened[0]]
    try:
        return np.asarray(values if opened is None else opened, dtype)
    except (TypeError, RuntimeError) as error:
        if not hasattr(parts[0], "detach"):
            raise
        raise PrivacyEvalError(
            f"{name} are a tensor that NumPy cannot read: give "
            "tensor.detach().float().cpu().numpy()"
        ) from error


def at_rows(rows: NDArray[np.integer[Any]]) -> str:
    """Name the first rows for a message.

    Parameters
    ----------
    rows : int array

    Returns
    -------
    str
    """
    return f"row {abbreviate([*map(str, rows[:6])])} (from 0)"


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
        Masked or missing values, and values that are not numbers, such as text: how many, and the
        first ones; as `check_whole_numbers`.

    Examples
    --------
    >>> as_numbers([1, 2], "scores")
    array([1., 2.])
    """
    array = as_array(values, name)
    given, is_number = array.ravel(), array.dtype.kind in "iuf"
    if array.ndim == 1 and isinstance(values, list | tuple):
        given = np.array(values, dtype=object)  # NumPy makes floats of integers beside floats
    if not is_number:  # NumPy would parse text
        _check_numbers(given, name)
    try:
        floats = array.astype(np.float64, copy=False)
    except OverflowError:
        floats = np.full(array.shape, np.inf)
    if given.dtype.kind in "iuO":
        check_whole_numbers(floats.ravel(), lambda n: str(given[n]), f"{name}, row {{}}".format)
    return floats


def _check_numbers(given: NDArray[Any], name: str) -> None:
    """Refuse values that are not numbers, all of one kind at once."""
    kinds = np.array([_kind(value) for value in given.tolist()], dtype=np.str_)
    for kind in dict.fromkeys(kinds[kinds != ""].tolist()):
        rows = np.flatnonzero(kinds == kind)
        remedy = "leave them out" if kind == "missing" else "convert them to floats"
        if kind == "truth values":
            remedy = "these are decisions or labels; give the scores behind them"
        raise PrivacyEvalError(
            f"{name} must be numbers: {rows.size} of {given.size} are {kind}, such as "
            f"{given[rows[0]]!s:.40}, {at_rows(rows)}: {remedy}"
        )


def _kind(value: object) -> str:
    """Return what a value is in place of a number; "" if it is one."""
    if isinstance(value, bool | np.bool_):
        return "truth values"
    if isinstance(value, Real):
        return ""
    if isinstance(value, str | bytes):
        return "text"
    return "missing" if str(value) in MISSING else f"of the type {type(value).__name__}"


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
    codes, names = coded_names(values, name)
    return np.array(names, dtype=np.str_)[codes]


def coded_names(
    values: Any, name: str, *, may_miss: bool = False
) -> tuple[NDArray[np.int32], list[str]]:
    """Code ids or labels as `as_names` converts them: code of each, and the different names.

    Parameters
    ----------
    values : array_like
    name : str
        What the values are, for messages.
    may_miss : bool
        Missing values have the code -1; else they are refused.

    Returns
    -------
    codes : int32 array
        Of the shape of the values.
    names : list of str

    Raises
    ------
    PrivacyEvalError
        Masked or missing values.

    Examples
    --------
    >>> coded_names(["b", "a", "b"], "speakers")
    (array([0, 1, 0], dtype=int32), ['b', 'a'])
    """
    codes, different = _coded(values, name)
    texts = different if {*map(type, different)} == {str} else [*map(_text, different)]
    names, missing = texts, missing_among({*texts})
    if re.search(r"\.0*\n", "\n".join([*texts, ""])):
        names = [*map(without_fraction, texts)]
        if floats := [pair for pair in zip(texts, names, strict=True) if pair[0] != pair[1]]:
            text = f"{name}: {floats[0][0]} is taken for {floats[0][1]}"
            warnings.warn(text, stacklevel=4)
    if missing or names is not different:
        names = ["" if text in missing else of for text, of in zip(texts, names, strict=True)]
        place = {of: code for code, of in enumerate(dict.fromkeys(filter(None, names)))}
        codes = np.array([place.get(of, -1) for of in names], dtype=np.int32)[codes]
        names = [*place]
    if missing and not may_miss:
        rows = np.flatnonzero(codes < 0)
        raise PrivacyEvalError(
            f"{rows.size} of {codes.size} {name} are missing ({abbreviate(sorted(missing))}), "
            f"{at_rows(rows)}: leave them out, or give them a name"
        )
    return codes, names


def _coded(values: Any, name: str) -> tuple[NDArray[np.int32], list[Any]]:
    """Code values: code of each, and the different ones, all of which occur."""
    opened = open_column(values)
    if isinstance(opened, tuple):
        codes, different = opened[0].astype(np.int32), opened[1]
    else:
        array = as_array(values if opened is None else opened, name)
        low, high = (
            (array.min(), array.max()) if array.dtype.kind in "bi" and array.size else (0, -1)
        )
        if 0 <= int(high) - int(low) <= _MOST_CODES:
            codes = (array.astype(np.int64) - int(low)).astype(np.int32)
            different = np.arange(int(low), int(high) + 1).astype(array.dtype).tolist()
        else:
            given = array.ravel().tolist()
            try:
                place = {value: code for code, value in enumerate(dict.fromkeys(given))}
            except TypeError as error:
                raise PrivacyEvalError(
                    f"{name} must be one text or number each: {error}"
                ) from error
            codes = np.fromiter(map(place.__getitem__, given), np.int32, len(given))
            return codes.reshape(array.shape), [*place]
    counts = np.bincount(codes.ravel() + 1, minlength=len(different) + 1)
    if counts[0] or not counts[1:].all():
        kept, different = np.flatnonzero(counts), [None, *different]
        place_of = np.zeros(counts.size, dtype=np.int32)
        place_of[kept] = np.arange(kept.size)
        codes, different = place_of[codes + 1], [different[code] for code in kept]
    return codes, different


def as_truth(values: Any, name: str) -> NDArray[np.bool_]:
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
    if getattr(values, "dtype", None) == np.bool_ and isinstance(values, np.ndarray):
        return as_array(values, name)
    codes, different = _coded(values, name)
    texts = [*map(_text, different)]
    truth, _ = truth_of(texts)
    if unknown := sorted({*texts} - truth.keys()):
        wrong = np.isin(texts, unknown)[codes]
        are_scores = len(unknown) > 2 and isinstance(different[0], float)
        raise PrivacyEvalError(
            f"{name} must be true or false, 1 or 0, target or nontarget, not "
            f"{abbreviate([*map(repr, unknown)])} ({np.count_nonzero(wrong)} of {wrong.size}, "
            f"{at_rows(np.flatnonzero(wrong))}): "
            + ("are they the scores?" if are_scores else "leave them out or rename them")
        )
    return np.array([truth[text] for text in texts], dtype=np.bool_)[codes]


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
