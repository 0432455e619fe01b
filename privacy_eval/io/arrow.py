"""Parquet and Arrow tables as columns, without a Python object for each cell."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..choices import COLUMNS
from ..errors import PrivacyEvalError, missing_library
from .files import ARROW_MAGIC, PARQUET_MAGIC, max_unpacked_bytes, opened, reading
from .text_table import PADDING, Column, IndexArray, check_words

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields that may be numbers; the others are ids.
NUMBERS = ("score", "label", "weight")

#: Of the names of all columns: the place of each field.
Find = Callable[[Sequence[str]], Mapping[str, int]]

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
class NumberColumn(TextColumn):
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
        return cls(np.empty(0, dtype=np.uint8), _EMPTY, _EMPTY, _EMPTY, values)

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

    def line(self, row: int) -> int:
        """Return the row of the file, from 1."""
        return row + 1


def parse_arrow(content: bytes, path: Path, find: Find) -> dict[str, Column]:
    """Parse the columns of a Parquet file, an Arrow IPC file (Feather) or an Arrow stream.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.
    find : callable
        Of the names of all columns: the place of each field; other columns are not read.

    Returns
    -------
    dict
        Columns by field.

    Raises
    ------
    PrivacyEvalError
        pyarrow is not installed; damaged, an archive bomb; a column that is neither text nor
        numbers; with the row: an empty cell, an id that is not one word.
    """
    with _reading(path):
        import pyarrow as pa

        parts = list(_parts(pa.BufferReader(content), len(content), find))
        if not sum(len(batch) for _, batch in parts):
            raise ValueError("no rows")
        return _columns(pa.Table.from_batches([batch for _, batch in parts]), path, parts[0][0])


def arrow_blocks(path: Path, find: Find) -> Iterator[dict[str, Column]]:
    """Parse such a file in parts, in their order.

    Parameters
    ----------
    path, find
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
    with opened(path, path) as raw, reading(path), _reading(path):
        import pyarrow as pa

        for fields, batch in _parts(pa.PythonFile(raw), os.fstat(raw.fileno()).st_size, find):
            if len(batch):
                yield _columns(pa.Table.from_batches([batch]), path, fields)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file raises, or that pyarrow is missing, into an error that names
    the file."""
    try:
        yield
    except ImportError:
        raise missing_library(f"{path}: Parquet and Arrow files", "pyarrow") from None
    except PrivacyEvalError:
        raise
    except Exception as error:  # pyarrow raises a dozen kinds of what is damaged
        raise PrivacyEvalError(
            f"{path}: not a Parquet or Arrow table that is read, or damaged: {error}"
        ) from error


def _columns(table: pa.Table, path: Path, fields: Sequence[str]) -> dict[str, Column]:
    table.validate(full=True)
    return {
        field: _column(table.column(place), field, table.column_names[place], path)
        for place, field in enumerate(fields)
    }


def _parts(source: Any, size: int, find: Find) -> Iterator[tuple[list[str], pa.RecordBatch]]:
    """Yield parts of the columns that are found, and their fields; at most as many bytes as a
    packed file may become."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    left = max_unpacked_bytes(size)
    magic = source.read(len(ARROW_MAGIC))
    source.seek(0)
    if magic.startswith(PARQUET_MAGIC):
        file = pq.ParquetFile(source)
        names = file.schema_arrow.names
        wanted = [names[place] for place in find(names).values()]
        batches = file.iter_batches(_BATCH_ROWS, columns=wanted, use_threads=False)
    elif magic == ARROW_MAGIC:
        reader = pa.ipc.open_file(source)
        names = reader.schema.names
        batches = (reader.get_batch(n) for n in range(reader.num_record_batches))
    else:
        batches = pa.ipc.open_stream(source)
        names = batches.schema.names
    fields = {names[place]: field for field, place in find(names).items()}
    for batch in batches:
        part = batch.select([*fields])
        left -= part.nbytes
        if left < 0:
            raise ValueError("larger than an archive may be, unpacked")
        yield [*fields.values()], part


def _column(cells: pa.ChunkedArray, field: str, name: str, path: Path) -> Column:
    """Convert a column of texts, or of numbers and truth values if the field may have these."""
    import pyarrow as pa

    if cells.null_count:
        row = cells.is_null().to_numpy().argmax() + 1
        what = f"column {name}: row {row}: no value ({cells.null_count} in all)"
        raise PrivacyEvalError(f"{path}: {what}")
    kinds = (pa.types.is_boolean, pa.types.is_floating, pa.types.is_integer)
    if field in NUMBERS and any(is_kind(cells.type) for is_kind in kinds):
        return NumberColumn.of(cells.to_numpy())
    if pa.types.is_dictionary(cells.type):  # of views, as polars writes them, none can be taken
        cells = cells.cast(pa.dictionary(cells.type.index_type, pa.large_string()))
    texts = cells.cast(pa.large_string()).combine_chunks()
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    content = np.empty(int(bounds[-1]) + PADDING, dtype=np.uint8)
    content[bounds[-1] :] = 0
    if data is not None:
        content[: bounds[-1]] = np.frombuffer(data, dtype=np.uint8)[: bounds[-1]]
    column = TextColumn(content, bounds[:-1], np.diff(bounds), bounds[:-1])
    if field in COLUMNS:
        check_words(column, name, path)
    return column
