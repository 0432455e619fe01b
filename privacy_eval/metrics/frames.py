"""Columns of data frames, mappings and arrays, whatever library made them; none is imported."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import COLUMNS, fields_of
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
