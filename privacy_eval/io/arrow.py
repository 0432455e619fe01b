"""Parquet and Arrow tables as columns, without a Python object for each cell."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, missing_library
from .files import PARQUET_MAGIC, max_unpacked_bytes, opened, reading
from .ids import MAX_FIELD_BYTES
from .text_table import PADDING, Column, IndexArray

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields that may be numbers; the others are ids.
NUMBERS = ("score", "label")

_SPACE = 32
_BATCH_ROWS = 1 << 17
_EMPTY: IndexArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class TextColumn(Column):
    """Texts of a table whose lines are its rows.

    Attributes
    ----------
    row_starts : int array, shape (rows of the file,)
        Where each row begins in `data`.
    """

    row_starts: IndexArray

    def line(self, row: int) -> int:
        """Return the row of the file, from 1."""
        return int(np.searchsorted(self.row_starts, self.start[row])) + 1

    @property
    def lines(self) -> tuple[int, None]:
        """Number of rows; each is a line."""
        return len(self), None


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, whose texts are only made for messages.

    Attributes
    ----------
    values : array, shape (rows,)
        Numbers, or truth values.
    """

    values: NDArray[Any]

    @classmethod
    def of(cls, values: NDArray[Any]) -> NumberColumn:
        """Make a column of an array."""
        return cls(np.empty(0, dtype=np.uint8), _EMPTY, _EMPTY, values)

    def __len__(self) -> int:
        return int(self.values.size)

    def text(self, row: int) -> str:
        """Return the number of one row, truth values as 0 and 1."""
        value = self.values[row].item()
        return str(int(value) if isinstance(value, bool) else value)

    def tolist(self) -> list[str]:
        """Return all numbers as strings."""
        return [self.text(row) for row in range(len(self))]

    def take(self, rows: IndexArray | slice) -> NumberColumn:
        """Select rows, by a slice or an int array of shape (R,)."""
        return replace(self, values=self.values[rows])

    def equals(self, text: bytes) -> NDArray[np.bool_]:
        """Tell which numbers are the whole number `text`; none if it is a word."""
        if not text.removeprefix(b"-").isdigit():
            return np.zeros(len(self), dtype=np.bool_)
        same: NDArray[np.bool_] = self.values == int(text)
        return same

    def line(self, row: int) -> int:
        """Return the row of the file, from 1."""
        return row + 1

    @property
    def lines(self) -> tuple[int, None]:
        """Number of rows; each is a line."""
        return len(self), None


def parse_arrow(content: bytes, path: Path, names: Mapping[str, str]) -> dict[str, Column]:
    """Parse the columns of a Parquet file or an Arrow IPC file (Feather).

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.
    names : mapping
        Field by name of the column in lower case; other columns are not read.

    Returns
    -------
    dict
        Columns by field.

    Raises
    ------
    PrivacyEvalError
        pyarrow is not installed; damaged, an archive bomb; a field of two columns, or one that is
        neither text nor numbers; with the row: an empty cell, an id that is no word.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise missing_library(f"{path}: Parquet and Arrow files", "pyarrow") from None
    with _damage(path):
        batches = list(_batches(pa.BufferReader(content), len(content), names))
        if not sum(map(len, batches)):
            raise ValueError("no rows")
        return _columns(pa.Table.from_batches(batches), path, names)


def arrow_blocks(path: Path, names: Mapping[str, str]) -> Iterator[dict[str, Column]]:
    """Parse a Parquet file or an Arrow IPC file (Feather) in parts, in their order.

    Parameters
    ----------
    path, names
        See `parse_arrow`; a file that is not packed.

    Returns
    -------
    iterator of dict
        Columns by field; lines count from 1 in each part.

    Raises
    ------
    PrivacyEvalError
        As `parse_arrow`, but for a file without rows; unreadable.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise missing_library(f"{path}: Parquet and Arrow files", "pyarrow") from None
    with opened(path, path) as raw, reading(path), _damage(path):
        for batch in _batches(pa.PythonFile(raw), os.fstat(raw.fileno()).st_size, names):
            if len(batch):
                yield _columns(pa.Table.from_batches([batch]), path, names)


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file raises into an error that names it."""
    try:
        yield
    except PrivacyEvalError:
        raise
    except Exception as error:  # pyarrow raises a dozen kinds of what is damaged
        raise PrivacyEvalError(
            f"{path}: not a Parquet or Arrow table that is read, or damaged: {error}"
        ) from error


def _columns(table: pa.Table, path: Path, names: Mapping[str, str]) -> dict[str, Column]:
    fields = [names[name.lower()] for name in table.column_names]
    if len(set(fields)) < len(fields):
        raise ValueError(f"several columns of one meaning: {', '.join(table.column_names)}")
    table.validate(full=True)
    return {
        field: _column(table.column(place), field in NUMBERS, f"{path}: column {name}")
        for place, (field, name) in enumerate(zip(fields, table.column_names, strict=True))
    }


def _batches(source: Any, size: int, names: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield parts of the named columns, at most as many bytes as a packed file may become."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    left = max_unpacked_bytes(size)
    magic = source.read(len(PARQUET_MAGIC))
    source.seek(0)
    if magic == PARQUET_MAGIC:
        file = pq.ParquetFile(source)
        wanted = _wanted(file.schema_arrow.names, names)
        batches = file.iter_batches(_BATCH_ROWS, columns=wanted, use_threads=False)
    else:
        reader = pa.ipc.open_file(source)
        wanted = _wanted(reader.schema.names, names)
        parts = (reader.get_batch(n) for n in range(reader.num_record_batches))
        batches = (part.select(wanted) for part in parts)
    for batch in batches:
        left -= batch.nbytes
        if left < 0:
            raise ValueError("larger than an archive may be, unpacked")
        yield batch


def _wanted(columns: list[str], names: Mapping[str, str]) -> list[str]:
    wanted = [name for name in columns if name.lower() in names]
    if not wanted:
        raise ValueError(f"expected columns such as enroll, test, score, label, found {columns}")
    return wanted


def _column(cells: pa.ChunkedArray, numbers: bool, where: str) -> Column:
    """Convert a column of texts, or of `numbers` and truth values if it has these."""
    import pyarrow as pa

    if cells.null_count:
        row = cells.is_null().to_numpy().argmax() + 1
        raise PrivacyEvalError(f"{where}: row {row}: no value ({cells.null_count} in all)")
    kinds = (pa.types.is_boolean, pa.types.is_floating, pa.types.is_integer)
    if numbers and any(is_kind(cells.type) for is_kind in kinds):
        return NumberColumn.of(cells.to_numpy())
    texts = cells.cast(pa.large_string()).combine_chunks()
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    content = np.empty(int(bounds[-1]) + PADDING, dtype=np.uint8)
    content[bounds[-1] :] = 0
    if data is not None:
        content[: bounds[-1]] = np.frombuffer(data, dtype=np.uint8)[: bounds[-1]]
    column = TextColumn(content, bounds[:-1], np.diff(bounds), bounds[:-1])
    _check_words(column, where)
    return column


def _check_words(column: Column, where: str) -> None:
    """Refuse texts that no line of a text file could hold as one word."""
    odd = (column.size < 1) | (column.size > MAX_FIELD_BYTES)
    begin, end = int(column.start[0]), int(column.start[-1] + column.size[-1])
    blanks = np.flatnonzero(column.data[begin:end] <= _SPACE) + begin
    odd[np.searchsorted(column.start, blanks, side="right") - 1] = True
    if odd.any():
        row = int(odd.argmax())
        raise PrivacyEvalError(
            f"{where}: row {row + 1}: expected a word, found {column.text(row)[:80]!r}"
        )
