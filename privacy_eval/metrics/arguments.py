"""Arguments as arrays: what is masked or missing is refused, names and truth values are read alike
by every function. Columns are those of data frames, mappings and arrays, whatever library made
them; none is imported.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..choices import COLUMNS, MISSING, TRUTH, fields_of, missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate, enumerated, known_names

#: Code of each row, -1 where its value is missing, and the values by code; some may be unused.
Coded = tuple[NDArray[np.integer[Any]], list[Any]]


class _Owned:
    """Makes an array keep the column alive that it is a view of: pandas writes in place where no
    other column shares the values."""

    def __init__(self, array: NDArray[Any], owner: object) -> None:
        self.__array_interface__, self.kept = array.__array_interface__, (array, owner)


def open_column(values: Any) -> NDArray[Any] | Coded | None:
    """Return the numbers and truth values of a column of pandas, polars or pyarrow as an array,
    without copying them, and others, such as text, coded; None of anything else.

    Parameters
    ----------
    values : column of a data frame, or anything else

    Returns
    -------
    array, (codes, values), or None
    """
    if hasattr(values, "factorize"):  # pandas
        if getattr(values.dtype, "kind", "O") in "biuf":
            array = values.to_numpy()
            return array if array.dtype == object else np.asarray(_Owned(array, values))
        categorical = getattr(values, "array", values)
        if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
            return categorical.codes, categorical.categories.tolist()
        codes, different = values.factorize()
        return codes, different.tolist()
    if hasattr(values, "to_physical"):  # polars
        library = sys.modules["polars"]
        if values.dtype not in (library.String, library.Categorical, library.Enum):
            return np.asarray(values.to_numpy())
        coded = values.cast(library.Categorical) if values.dtype == library.String else values
        physical = coded.to_physical().cast(library.Int64)
        codes = physical.fill_null((physical.max() or 0) + 1).to_numpy()
        row_of = np.full(int(codes.max(initial=-1)) + 1, -1)
        row_of[codes] = np.arange(codes.size)
        rows = row_of[row_of >= 0]
        place = np.cumsum(row_of >= 0) - 1
        return place[codes], coded.gather(rows).cast(library.String).to_list()
    if hasattr(values, "dictionary_encode"):  # pyarrow
        types = sys.modules["pyarrow"].types
        is_chunked = hasattr(values, "combine_chunks")
        if types.is_primitive(values.type) or types.is_nested(values.type):
            return np.asarray(values.to_numpy(**{} if is_chunked else {"zero_copy_only": False}))
        coded = values.dictionary_encode()
        coded = coded.unify_dictionaries().combine_chunks() if is_chunked else coded
        codes = coded.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
        return codes, coded.dictionary.to_pylist()
    return None


def is_table(values: Any) -> bool:
    """Tell whether anything has named columns.

    Parameters
    ----------
    values : object

    Returns
    -------
    bool
    """
    return isinstance(values, Mapping) or hasattr(values, "columns")


def snapshot(values: Any) -> Any:
    """Return a column that stays as it is now, whatever its user changes later: a copy, unless
    nobody can write to it or its library copies before it writes.

    Parameters
    ----------
    values : array_like, or column of a data frame

    Returns
    -------
    column
        Of the same kind.
    """
    if hasattr(values, "factorize"):  # pandas
        copies_on_write = sys.modules["pandas"].__version__ >= "3" and hasattr(values, "index")
        return values.copy(deep=False) if copies_on_write else values.copy()
    if hasattr(values, "clone"):  # polars and PyTorch
        return values.clone()
    if isinstance(values, np.ndarray):
        part: Any = values
        while isinstance(part, np.ndarray) and not part.flags.writeable:
            part = part.base
        return values.copy() if isinstance(part, np.ndarray) else values
    return [*values] if isinstance(values, list | tuple) else values


def find_columns(table: Any, given: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Find the columns of trials.

    Parameters
    ----------
    table : data frame, mapping, structured array or None
    given : mapping
        By field: the name of a column of the table, values, or None.

    Returns
    -------
    dict
        By field, or by name if it is a further column: its name in the table, and its values.

    Raises
    ------
    PrivacyEvalError
        No table; a column that is not there or there twice, or has another shape, length or index.
    """
    levels = getattr(getattr(table, "index", None), "names", None) or ()  # of pandas
    table = table.reset_index() if any(name is not None for name in levels) else table
    given = {"label" if field == "is_target" else field: of for field, of in given.items()}
    names = {} if table is None else _names(table)
    named = {field: of for field, of in given.items() if isinstance(of, str)}
    for field, name in named.items():
        if name not in names:
            raise PrivacyEvalError(
                f"no column {name!r} ({field}=...): {known_names(name, names)}"
                if names
                else f"{field}={name!r} names a column, but of no table: give the table first"
            )
    for field in (given.keys() - {*COLUMNS, *names}) if names else ():
        near = difflib.get_close_matches(field, COLUMNS, 1, cutoff=0.8)
        if near and abs(len(near[0]) - len(field)) < 3:  # enrolled_sex is a further column
            raise PrivacyEvalError(f"unknown column {field}=...: did you mean {near[0]}=...?")
    others = [n for n in names if n not in named.values()]
    found = {field: (field, of) for field, of in given.items() if of is not None}
    for field, meant in fields_of(others, known=found).items():
        if len(meant) > 1:
            raise PrivacyEvalError(
                f"the columns {enumerated(meant)} could all be {field}: name one of them, "
                f"{field}={meant[0]!r}"
            )
        found[field] = meant[0], meant[0]
    used = {name for _, name in found.values() if isinstance(name, str)}
    kept = [n for n in others if n not in {*used, *found, *COLUMNS, "is_target"}]
    found |= {name: (name, name) for name in kept}
    columns = {
        field: (of, table[names[of]]) if isinstance(of, str) else (shown, of)
        for field, (shown, of) in found.items()
    }
    _check_shapes(columns)
    return columns


def _names(table: Any) -> dict[str, Any]:
    """Return the names of the columns of a table as text, and as the table has them."""
    kind = type(table).__name__
    if isinstance(table, Mapping):
        names = [*table]
    else:
        dtype = getattr(table, "dtype", None)
        found = getattr(dtype, "names", None) or getattr(table, "column_names", None)
        if found is None and hasattr(table, "__len__"):  # a lazy frame has none
            found = getattr(table, "columns", None)
        if found is None:
            raise PrivacyEvalError(
                f"a {kind} has no columns with names yet: give a data frame (of a lazy one, what "
                "collect() returns), {name: values}, or each column by its keyword, score=..."
            )
        names = [*found]
    texts = [str(name) for name in names]
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise PrivacyEvalError(f"several columns of the {kind} are named {', '.join(twice)}")
    if any(isinstance(name, tuple) for name in names):
        raise PrivacyEvalError(
            f"the columns of the {kind} have names of several levels, such as {names[0]}: make "
            "one of them, frame.columns = frame.columns.map('_'.join)"
        )
    return dict(zip(texts, names, strict=True))


def _check_shapes(columns: Mapping[str, tuple[str, Any]]) -> None:
    lengths, indices = {}, {}
    for shown, values in columns.values():
        shape, kind = getattr(values, "shape", None), type(values).__name__
        if isinstance(values, list | tuple) and len(values):
            shape = len(values), *np.shape(values[0])
        is_one = isinstance(values, str | bytes | Mapping | set) or not hasattr(values, "__len__")
        if is_one or (shape is not None and len(shape) != 1):
            raise PrivacyEvalError(
                f"{shown} is a {kind}{f' of the shape {shape}' if shape else ''}: give one value "
                "of each trial, such as a list, or one column of the table"
            )
        lengths[shown] = len(values)
        if hasattr(getattr(values, "index", None), "equals"):
            indices[shown] = values.index
    if len(times := Counter(lengths.values())) > 1:  # the odd ones first
        texts = [f"{shown} {n}" for shown, n in sorted(lengths.items(), key=lambda x: times[x[1]])]
        raise PrivacyEvalError(
            f"the columns have different lengths: {abbreviate(texts)}: give each trial one value "
            "in every column"
        )
    first = next(iter(indices), "")
    if other := [shown for shown, index in indices.items() if not index.equals(indices[first])]:
        raise PrivacyEvalError(
            f"{first} and {other[0]} have different indices, so their rows may not belong "
            "together: take both from one frame, or reset_index(drop=True) if they do"
        )


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
