"""Kaldi's text tables: lines of a fixed number of fields, as columns of byte ranges.

Millions of lines are split, compared and looked up without a Python object per
field: a field is a byte range of the file, compared in words of 8 bytes. So are the texts of
Parquet and Arrow tables; their numbers are columns of values.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..choices import COLUMNS
from ..errors import PrivacyEvalError, missing_library
from .files import (
    ARROW_MAGIC,
    PARQUET_MAGIC,
    Loaded,
    ask_if_cut,
    max_unpacked_bytes,
    no_text,
    opened,
    read_bytes,
    reading,
)
from .names import MAX_FIELD_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

ByteArray = NDArray[np.uint8]
WordArray = NDArray[np.uint64]
IndexArray = NDArray[np.int64]

#: Fields are a few, and white space between them is no content.
_MAX_LINE_BYTES = 1 << 20

_SPACE, _TAB, _NEWLINE, _RETURN = 32, 9, 10, 13
#: Zero bytes behind the last field: more than the longest field.
PADDING = MAX_FIELD_BYTES + 16
# Bytes split at a time; they fit in the cache of a processor.
_BLOCK = 1 << 18
#: Words that are compared at once; ids of challenges have up to 4.
_WORDS_OF_ALL = 16
_HASH_FACTOR = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, odd
#: Digits of whole numbers that floats hold all, and powers of ten up to them.
_EXACT_DIGITS = 15
_POWERS = 10.0 ** np.arange(_EXACT_DIGITS + 1)
#: Texts that repeat in runs of so many rows, on average, are compared once a run.
_LONG_RUNS = 6
#: Texts are found in a table of so many bits, at least and at most.
_FEWEST_SLOT_BITS, _MOST_SLOT_BITS = 12, 22
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_WORD_MASK = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [(1 << 64) - 1], dtype=np.uint64)

#: Fields that may be numbers; the others are ids.
NUMBERS = ("score", "label", "weight")

#: Of the names of all columns: the place of each field.
Find = Callable[[Sequence[str]], Mapping[str, int]]

_BATCH_ROWS = 1 << 17
_EMPTY: IndexArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    data : uint8 array
        All bytes of the file, padded by more than the longest field.
    start, size : int arrays, shape (rows,)
        Where each field begins and how many bytes it has.
    row_starts : int array, shape (rows of the file,), optional
        Of a table without lines: where each row begins in `data`.
    """

    data: ByteArray
    start: IndexArray
    size: IndexArray
    row_starts: IndexArray | None = None

    def __len__(self) -> int:
        return int(self.start.size)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def text(self, row: int) -> str:
        """Return the field of one row."""
        begin = int(self.start[row])
        return self.data[begin : begin + int(self.size[row])].tobytes().decode("utf-8")

    def tolist(self) -> list[str]:
        """Return all fields as strings."""
        raw, ends = self.data.data, (self.start + self.size).tolist()
        return [str(raw[a:b], "utf-8") for a, b in zip(self.start.tolist(), ends, strict=True)]

    def take(self, rows: IndexArray | slice) -> Column:
        """Select rows, by a slice or an int array of shape (R,)."""
        return replace(self, start=self.start[rows], size=self.size[rows])

    def line(self, row: int) -> int:
        """Return the number, from 1, of the line, or row, of the file that holds a row."""
        if self.row_starts is not None:
            return int(np.searchsorted(self.row_starts, self.start[row])) + 1
        before = self.data[: int(self.start[row])]
        return int(np.count_nonzero(before == _NEWLINE)) + 1

    @property
    def lines(self) -> tuple[int, IndexArray | None]:
        """Number of lines, and the number of each row's, from 1; None if each has a row."""
        if self.row_starts is not None:
            return len(self), None
        is_end = self.data == _NEWLINE
        n = int(np.count_nonzero(is_end))
        if n == len(self):
            return n, None
        return n, np.searchsorted(np.flatnonzero(is_end), self.start).astype(np.int64) + 1

    @cached_property
    def first_words(self) -> WordArray:
        """The first words of 8 bytes of each field, as many as the longest has, but not too many,
        zero behind its end; shape (rows, words)."""
        longest = int(self.size.max(initial=0))
        shortest = int(self.size.min(initial=longest))
        count = min(-(-longest // 8), _WORDS_OF_ALL)
        if not count:
            return np.empty((len(self), 0), dtype="<u8")
        size = 8 * count
        view: NDArray[np.void] = np.ndarray(
            (self.data.size - size + 1,), dtype=f"V{size}", buffer=self.data, strides=(1,)
        )
        words: WordArray = view[self.start].view("<u8").reshape(-1, count)
        sizes = self.size if shortest < longest else np.int64(longest)  # mostly equal ones
        for number in range(shortest // 8, count):
            words[:, number] &= _WORD_MASK[np.clip(sizes - 8 * number, 0, 8)]
        return words


def column_of(texts: Sequence[str], lines: Sequence[int]) -> Column:
    """Make a column of texts in lines whose numbers, from 1, ascend.

    Examples
    --------
    >>> column = column_of(["a", "bc"], [2, 3])
    >>> column.tolist(), column.line(1)
    (['a', 'bc'], 3)
    """
    raw = [text.encode() for text in texts]
    breaks, size = np.diff(lines, prepend=1), np.array([*map(len, raw)], dtype=np.int64)
    start = np.cumsum(breaks) + np.cumsum(size) - size
    content = b"".join(b"\n" * n + text for n, text in zip(breaks.tolist(), raw, strict=True))
    return Column(np.frombuffer(content + b"\n" + bytes(PADDING), dtype=np.uint8), start, size)


def numbered(first: Column, second: Column) -> list[tuple[int, str, str]]:
    """Return the number of the line, from 1, and both fields of each row."""
    _, lines = first.lines
    numbers = range(1, len(first) + 1) if lines is None else lines.tolist()
    return list(zip(numbers, first.tolist(), second.tolist(), strict=True))


def check_words(column: Column, name: str, path: object) -> None:
    """Refuse the cells of a table that are blank, or several words, which no line of text holds.

    Raises
    ------
    PrivacyEvalError
        With file and line, or row: the first of them.
    """
    odd = (column.size < 1) | (column.size > MAX_FIELD_BYTES)
    begin, end = int(column.start[0]), int(column.start[-1] + column.size[-1])
    blanks = np.flatnonzero(column.data[begin:end] <= _SPACE) + begin
    rows = np.searchsorted(column.start, blanks, side="right") - 1
    odd[rows[blanks < (column.start + column.size)[rows]]] = True
    if odd.any():
        row = int(odd.argmax())
        raise PrivacyEvalError(
            f"{path}:{column.line(row)}: expected a word in the column {name}, "
            f"found {column.text(row)[:80]!r}"
        )


class Coder:
    """Codes of texts, in the order in which they first occur, of one block after the other."""

    def __init__(self) -> None:
        self._place: dict[bytes, int] = {}
        self._words = np.zeros((1, 1), dtype=np.uint64)
        self._slots = np.full(1 << _FEWEST_SLOT_BITS, -1, dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """The texts."""
        return [text.decode() for text in self._place]

    def codes(self, column: Column) -> IndexArray:
        """Code a block, shape (rows,)."""
        if column.size.max(initial=0) > 8 * _WORDS_OF_ALL:
            return self._added([text.encode() for text in column])
        words = column.first_words
        begins = _begins(words)
        if begins.size <= len(words) // _LONG_RUNS:
            runs = np.diff(np.append(begins, len(words)))
            return np.repeat(self.codes(column.take(begins)), runs)
        width = max(words.shape[1], self._words.shape[1])
        words, self._words = (_widened(of, width) for of in (words, self._words))
        codes = self._slots[_slots(words, self._slots.size)]
        unknown = np.flatnonzero((codes < 0) | _differ(words, self._words.take(codes, axis=0)))
        if unknown.size:
            rows, numbers = distinct_rows(words[unknown])
            new, before = words[unknown[rows]], len(self._place)
            found = self._added(_as_bytes(new))
            codes[unknown] = found[numbers]
            self._remember(new[found >= before])
        return codes

    def _added(self, texts: Sequence[bytes]) -> IndexArray:
        place = self._place
        return np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int64)

    def _remember(self, words: WordArray) -> None:
        """Keep the words of new texts, in a larger table where it gets crowded."""
        n = len(self._place)
        if n > len(self._words):
            more = np.zeros((2 * n - len(self._words), self._words.shape[1]), dtype=np.uint64)
            self._words = np.concatenate([self._words, more])
        self._words[n - len(words) : n] = words
        first = n - len(words)
        if 4 * n > self._slots.size and n < 1 << _MOST_SLOT_BITS:
            first, self._slots = 0, np.full(8 << n.bit_length(), -1, dtype=np.int64)
        slots, codes = _slots(self._words[first:n], self._slots.size), np.arange(first, n)
        free = self._slots[slots] < 0
        self._slots[slots[free]] = codes[free]


def _widened(words: WordArray, width: int) -> WordArray:
    return np.pad(words, ((0, 0), (0, width - words.shape[1]))) if words.shape[1] < width else words


def _as_bytes(words: WordArray) -> list[bytes]:
    texts: list[bytes] = np.ascontiguousarray(words).view(f"S{8 * words.shape[1]}").ravel().tolist()
    return texts


def distinct_rows(words: WordArray) -> tuple[IndexArray, IndexArray]:
    """Find the different rows of an array of words, as `distinct`."""
    n = len(words)
    every = np.arange(n)
    first_in = np.empty(2 << min(n.bit_length(), _MOST_SLOT_BITS), dtype=np.int64)
    slots = _slots(words, first_in.size)
    first_in[slots[::-1]] = every[::-1]  # the last one assigned stays
    first = first_in[slots]
    if (others := np.flatnonzero(_differ(words, words.take(first, axis=0)))).size:
        texts, first_row = _as_bytes(words[others]), dict[bytes, int]()
        rows_of_texts = zip(texts, others.tolist(), strict=True)
        first[others] = [first_row.setdefault(text, row) for text, row in rows_of_texts]
    rows = np.flatnonzero(first == every)
    numbers = np.empty(n, dtype=np.int64)
    numbers[rows] = every[: rows.size]
    return rows, numbers[first]


def _slots(words: WordArray, number: int) -> IndexArray:
    """Hash rows of words to a number of slots, a power of two."""
    factors = np.uint64(_HASH_FACTOR) ** np.arange(1, words.shape[1] + 1, dtype=np.uint64)
    hashes = words[:, 0] * factors[0]  # products and sums wrap
    for column in range(1, words.shape[1]):
        hashes += words[:, column] * factors[column]
    return np.asarray((hashes >> np.uint64(65 - number.bit_length())).astype(np.int64))


def _begins(words: WordArray) -> IndexArray:
    """Return the rows that differ from the one before."""
    return np.flatnonzero(np.append(True, _differ(words[1:], words[:-1])))


def _differ(a: WordArray, b: WordArray) -> NDArray[np.bool_]:
    """Tell which rows of words differ, shape (rows,)."""
    differs: NDArray[np.bool_] = a[:, 0] != b[:, 0]
    for number in range(1, a.shape[1]):
        differs |= a[:, number] != b[:, number]
    return differs


def decimals(column: Column) -> tuple[NDArray[np.float64], IndexArray]:
    """Parse decimal numbers of a sign, digits and a point, of at most 15 digits.

    Returns
    -------
    values : float64 array, shape (rows,)
        Correctly rounded.
    others : int array
        Rows that are not such numbers.
    """
    grid = np.ascontiguousarray(column.first_words.view(np.uint8).T)
    digits, points, behind = np.zeros((3, len(column)), dtype=np.uint8)
    whole = np.zeros(len(column), dtype=np.int64)
    for byte in grid[: int(column.size.max(initial=0))]:
        digit = byte - np.uint8(ord("0"))
        is_digit = digit < 10
        whole *= np.where(is_digit, 10, 1)
        whole += digit * is_digit
        digits += is_digit
        behind += is_digit & (points > 0)
        points += byte == ord(".")
    negative = grid[0] == ord("-") if len(grid) else points > 0
    regular = (digits + points + negative == column.size) & (points < 2)
    regular &= (digits > 0) & (digits <= _EXACT_DIGITS)
    values = whole / _POWERS[np.minimum(behind, _EXACT_DIGITS)]
    return np.where(negative, -values, values), np.flatnonzero(~regular)


def is_number(text: str) -> bool:
    """Tell whether a text is a decimal number, NaN or infinite, without Python's digit groups.

    Examples
    --------
    >>> is_number("-1e3"), is_number("1_000")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def read_columns(path: Path | Loaded, fields: tuple[str, ...]) -> tuple[Column, ...]:
    """Read a table whose every line has the named fields, separated by spaces or tabs.

    Blank lines and a carriage return before the line end are ignored; gzip is unpacked.

    Parameters
    ----------
    fields : tuple of str
        Their names, for messages.

    Returns
    -------
    tuple of Column
        One per field.

    Raises
    ------
    PrivacyEvalError
        With file and line: another number of fields, a control character, bytes
        that are not UTF-8, a field over 1024 bytes, a line over 1 MiB; an empty file.
    """
    content = read_bytes(path)
    ask_if_cut(path, content)
    return split_columns(content, fields, Path(path))


def split_columns(content: bytes, fields: tuple[str, ...], path: Path) -> tuple[Column, ...]:
    """Split bytes as `read_columns` does.

    Parameters
    ----------
    path : Path
        For messages.

    Returns
    -------
    tuple of Column
        One per field.

    Raises
    ------
    PrivacyEvalError
        As `read_columns`.

    Examples
    --------
    >>> speaker, utterance = split_columns(b"s1 u1\\ns1 u2\\n", ("speaker", "utterance"), Path())
    >>> utterance.tolist()
    ['u1', 'u2']
    """
    try:
        _check_lines(content, path)
        return _split(content, fields, path)
    except MemoryError as error:
        raise PrivacyEvalError(
            f"{path}: not enough memory for a table of {len(content)} bytes"
        ) from error


def _split(content: bytes, fields: tuple[str, ...], path: Path) -> tuple[Column, ...]:
    ends_open = not content.endswith(b"\n")
    padded = content + (b"\n" if ends_open else b"") + bytes(PADDING)
    data = np.frombuffer(padded, dtype=np.uint8)
    text = data[: data.size - PADDING]
    _check_characters(content, text, path)
    blocks: list[IndexArray] = []
    begin = lines = 0
    while begin < text.size:  # in blocks of whole lines, which caches hold
        end = padded.rfind(b"\n", begin, begin + _BLOCK) + 1 or padded.find(b"\n", begin) + 1
        block = text[begin:end]
        table = _regular_fields(block, len(fields))
        if table is None:
            if control := _CONTROL.search(block.tobytes()):
                what = f"control character {control[0][0]:#04x}, expected text"
                raise no_text(content, begin + control.start(), path, what)
            cut = ends_open and end == text.size
            table = _fields(block, fields, lines, cut, path)
        table[0::2] += begin
        blocks.append(table)
        begin, lines = end, lines + int(np.count_nonzero(block == _NEWLINE))
    starts_and_sizes = np.concatenate(blocks, axis=1)
    starts, sizes = starts_and_sizes[0::2], starts_and_sizes[1::2]
    if not sizes.size:
        raise PrivacyEvalError(f"{path}: empty file, expected lines of {_describe(fields)}")
    if sizes.max() > MAX_FIELD_BYTES:
        row, column = np.argwhere(sizes.T > MAX_FIELD_BYTES)[0]
        raise PrivacyEvalError(
            f"{path}:{_line_of(content, int(starts[column, row]))}: "
            f"a field of {int(sizes[column, row])} bytes (at most {MAX_FIELD_BYTES})"
        )
    return tuple(Column(data, starts[i], sizes[i]) for i in range(len(fields)))


def _regular_fields(block: ByteArray, fields: int) -> IndexArray | None:
    """Find where the fields begin, and their sizes, in lines of fields that one space or tab
    separates; None for any other lines. Shape (2 fields, rows): a row for each field's."""
    ends: IndexArray = np.flatnonzero(block <= _SPACE)
    if ends.size % fields:
        return None
    ends = np.ascontiguousarray(ends.reshape(-1, fields).T)
    after = block[ends]
    table: IndexArray = np.empty((2 * fields, ends[0].size), dtype=np.int64)
    table[2::2] = ends[:-1] + 1
    table[0, :1] = 0
    table[0, 1:] = ends[-1, :-1] + 1
    np.subtract(ends, table[0::2], out=table[1::2])
    separated = (after[:-1] == _SPACE) | (after[:-1] == _TAB)
    whole = separated.all() and np.all(after[-1] == _NEWLINE) and table[1::2].all()
    return table if whole else None


def _fields(
    block: ByteArray, fields: tuple[str, ...], lines_before: int, cut: bool, path: Path
) -> IndexArray:
    """Find the fields as `_regular_fields` does, with any white space and blank lines."""
    blank = np.concatenate([[True], block <= _SPACE])
    # A field begins where a blank is followed by none, and ends where the reverse.
    bounds = np.flatnonzero(blank[1:] != blank[:-1])
    start = bounds[0::2]
    newline = np.flatnonzero(block == _NEWLINE)
    per_line = np.diff(np.searchsorted(start, newline), prepend=0)
    wrong = np.flatnonzero((per_line != len(fields)) & (per_line != 0))
    if wrong.size:
        line = int(wrong[0])
        begin = 0 if line == 0 else int(newline[line - 1]) + 1
        excerpt = block[begin : int(newline[line])][:80].tobytes().decode("utf-8", "replace")
        cut = cut and line == newline.size - 1 and per_line[line] < len(fields)
        raise PrivacyEvalError(
            f"{path}:{lines_before + line + 1}: expected {len(fields)} fields "
            f"({_describe(fields)}), found {per_line[line]}: {excerpt.strip()!r}"
            + "; the file is truncated: copy it again"
            * bool(cut)
        )
    table = np.ascontiguousarray(bounds.reshape(-1, 2 * len(fields)).T)
    table[1::2] -= table[0::2]
    return table


def _check_lines(content: bytes, path: Path) -> None:
    """Refuse endless lines before they are split."""
    begin = 0
    while len(content) - begin > _MAX_LINE_BYTES:
        end = content.rfind(b"\n", begin, begin + _MAX_LINE_BYTES)
        if end < 0:
            raise PrivacyEvalError(
                f"{path}:{_line_of(content, begin)}: a line of over {_MAX_LINE_BYTES} bytes"
            )
        begin = end + 1


def _check_characters(content: bytes, text: ByteArray, path: Path) -> None:
    """Refuse carriage returns within lines, and bytes that are not UTF-8."""
    if b"\r" in content:
        returns = np.flatnonzero(text == _RETURN)
        inside = returns[text[np.minimum(returns + 1, text.size - 1)] != _NEWLINE]
        if inside.size:
            raise PrivacyEvalError(
                f"{path}:{_line_of(content, int(inside[0]))}: carriage return within the line"
            )
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise no_text(content, error.start, path) from error


def _line_of(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def _describe(fields: tuple[str, ...]) -> str:
    return " ".join(f"<{name}>" for name in fields)


@dataclass(frozen=True, kw_only=True)
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
        return cls(np.empty(0, dtype=np.uint8), _EMPTY, _EMPTY, _EMPTY, values=values)

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
    column = Column(content, bounds[:-1], np.diff(bounds), bounds[:-1])
    if field in COLUMNS:
        check_words(column, name, path)
    return column
