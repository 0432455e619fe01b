"""Large score files whose trials are in the key's order, read in blocks without keeping the ids.

Only regular text, Parquet and Arrow take this way: for everything else, also for every error,
`scores` reads whole files, pairs them by id, and tells what is wrong.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ChangedError, PrivacyEvalError
from ..metrics.caveats import may_be_constant
from .files import (
    GZIP_MAGIC,
    UTF8_BOM,
    BinaryStream,
    max_unpacked_bytes,
    opened,
    reading,
)
from .score_formats import (
    KEY_FORMATS,
    LABELS,
    SCORE_FORMATS,
    WORDS,
    RecognizedFormat,
    guess_key_format,
    guess_score_format,
    parse_labels,
    split_format,
)
from .scores import has_common, in_unit, parse_scores
from .text_table import Column, WordArray, hash_rows, same_fields

if TYPE_CHECKING:
    from .score_formats import Columns, Formats

Gathered = TypeVar("Gathered")

_BLOCK_BYTES = 8 << 20
#: Every how many blocks are searched for scores that do not differ within an id.
_EXAMINED = 3
#: How many ids of a side, and trials of theirs in a block, are searched.
_SAMPLED_IDS, _SAMPLED_ROWS = 1000, 1 << 16
#: That tell formats which are not text.
_HEAD_BYTES = 8
#: Bytes of memory per byte of a file that is read as a whole, plain and gzip; measured.
_MEMORY, _MEMORY_PACKED = 5, 40


@dataclass(frozen=True)
class LabelledScores:
    """Scores and labels in the order of the files.

    Attributes
    ----------
    score : float64 array, shape (trials,)
    is_target : bool array, shape (trials,)
    speaker, utterance : Column or None
        Of blocks.
    """

    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]
    speaker: Column | None = None
    utterance: Column | None = None


@dataclass
class _Table:
    """The columns of a file, block by block.

    Attributes
    ----------
    format : str or None
        None until the first block tells.
    """

    path: Path
    format: str | None
    formats: Formats
    guess: Callable[[bytes, Path], str]

    def __iter__(self) -> Iterator[Columns]:
        with opened(self.path, self.path) as raw, reading(self.path):
            head = raw.read(_HEAD_BYTES)
        for name, format in self.formats.items():
            if isinstance(format, RecognizedFormat) and format.blocks and format.recognizes(head):
                if self.format not in (None, name):
                    raise _IrregularError
                self.format = name
                yield from format.blocks(self.path)
                return
        for block in _blocks(self.path):
            self.format = self.format or self.guess(block, self.path)
            fields = self.formats[self.format]
            if callable(fields):
                raise _IrregularError
            yield split_format(block, self.path, fields)


class _IrregularError(Exception):
    """A file that must be read as a whole."""


def read_in_key_order(
    scores: Path,
    trials: Path | None,
    gather: Callable[[Iterator[LabelledScores]], Gathered],
    *,
    formats: tuple[str | None, str | None] = (None, None),
    distance: bool = False,
    log10: bool = False,
) -> tuple[str, Gathered] | None:
    """Read the scores and labels of all trials, if both files list them in one order.

    Beside what is gathered, only a hash of each trial is kept, 8 bytes.

    Parameters
    ----------
    scores : Path
    trials : Path or None
        None if the scores have labels.
    gather : callable
        Takes the blocks of scores one after the other, all of them, such as `join_blocks`.
    formats : (str or None, str or None)
        Formats of scores and trials; None detects them.
    distance : bool
        The scores are distances, and are negated.
    log10 : bool
        The scores are decimal log-likelihood ratios, and become natural ones.

    Returns
    -------
    (str, gathered) or None
        Format of the scores, one of `SCORE_FORMATS`, and what `gather` made of them; None for any
        other order, any error, also of `gather`, and any other format.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores").write_text("s1 u1 1.5\\ns1 u2 -2\\n")
    >>> _ = (folder / "trials").write_text("s1 u1 target\\ns1 u2 nontarget\\n")
    >>> _, labelled = read_in_key_order(folder / "scores", folder / "trials", join_blocks)
    >>> labelled.is_target
    array([ True, False])
    """
    table = _Table(scores, formats[0], SCORE_FORMATS, guess_score_format)
    key = None if trials is None else _Table(trials, formats[1], KEY_FORMATS, guess_key_format)
    hashes: list[NDArray[np.uint64]] = []
    try:
        blocks = _labelled_blocks(table, key, hashes)
        unit = {"distance": distance, "log10": log10}
        gathered = gather(replace(b, score=in_unit(b.score, **unit)) for b in blocks)
    except ChangedError:
        raise
    except (PrivacyEvalError, _IrregularError, KeyError, IndexError):
        return None
    if table.format is None or _repeats(np.concatenate(hashes)):
        return None
    return table.format, gathered


def join_blocks(blocks: Iterator[LabelledScores]) -> LabelledScores:
    """Join all blocks.

    Raises
    ------
    PrivacyEvalError
        Trials of one class alone; scores that may be constant, or trials of an utterance with
        itself, which their ids tell.
    """
    values, labels = [], []
    sampled: tuple[list[tuple[NDArray[np.float64], WordArray]], ...] = ([], [])
    last = [0, 0]  # the largest hash of a sampled id
    for number, block in enumerate(blocks):
        values.append(block.score)
        labels.append(block.is_target)
        if block.speaker is None or block.utterance is None or number % _EXAMINED:
            continue
        sides = hash_rows((block.speaker,)), hash_rows((block.utterance,))
        if has_common(*sides):
            raise PrivacyEvalError("trials that may be of an utterance with itself")
        for place, side in enumerate(sides):
            last[place] = last[place] or int(np.unique(side)[:_SAMPLED_IDS][-1])
            rows = np.flatnonzero(side <= last[place])[:_SAMPLED_ROWS]
            sampled[place].append((block.score[rows], side[rows]))
    score, is_target = np.concatenate(values), np.concatenate(labels)
    samples = (map(np.concatenate, zip(*side, strict=True)) for side in sampled if side)
    if any(may_be_constant(*sample) for sample in samples):
        raise PrivacyEvalError("scores that may be constant")
    if is_target.all() or not is_target.any():
        raise PrivacyEvalError("trials of one class alone")
    return LabelledScores(score, is_target)


def _labelled_blocks(
    table: _Table, key: _Table | None, hashes: list[NDArray[np.uint64]]
) -> Iterator[LabelledScores]:
    """Yield the scores of equally many trials of both files, and keep the hashes of these."""
    pairs: tuple[tuple[bytes, bytes], ...] = LABELS
    for block, labelled in _in_step(table, key):
        if key is not None and key.format == "kaldi":
            pairs = WORDS
        first = labelled["label"].text(0).lower().encode()
        pairs = tuple(p for p in pairs if first in p)
        is_target = parse_labels(labelled["label"], table.path, pairs)
        if labelled is not block and "label" in block:
            own = parse_labels(block["label"], table.path)
            if not np.array_equal(own, is_target):
                raise _IrregularError
        score = parse_scores(block["score"], table.path)
        ids = block["enrolled"], block["utterance"]
        hashes.append(hash_rows(ids))
        yield LabelledScores(score, is_target, *ids)
    if not hashes:
        raise _IrregularError


def memory_of_whole_files(paths: Iterable[Path]) -> int:
    """Estimate the bytes of memory that reading and pairing whole files takes."""
    needed = 0
    for path in paths:
        with contextlib.suppress(OSError, PrivacyEvalError), opened(path, path) as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            needed += file.seek(0, os.SEEK_END) * (_MEMORY_PACKED if packed else _MEMORY)
    return needed


def _in_step(table: _Table, key: _Table | None) -> Iterator[tuple[Columns, Columns]]:
    """Pair blocks of equally many rows of the same trials; without a key, of the table itself."""
    if key is None:
        yield from ((block, block) for block in table)
        return
    left: list[Columns | None] = [None, None]
    sides = iter(table), iter(key)
    while True:
        for place, side in enumerate(sides):
            left[place] = left[place] or next(side, None)
        first, second = left
        if first is None and second is None:
            return
        if first is None or second is None:
            raise _IrregularError
        rows = min(len(first["enrolled"]), len(second["enrolled"]))
        a, b = ({n: c.take(slice(rows)) for n, c in of.items()} for of in (first, second))
        if not all(same_fields(a[name], b[name]) for name in ("enrolled", "utterance")):
            raise _IrregularError
        yield a, b
        left = [_rest(first, rows), _rest(second, rows)]


def _rest(columns: Columns, rows: int) -> Columns | None:
    """Return the rows behind the first ones, if there are any."""
    if len(columns["enrolled"]) == rows:
        return None
    return {name: column.take(slice(rows, None)) for name, column in columns.items()}


def _blocks(path: Path) -> Iterator[bytes]:
    """Read a file, plain or gzip, in blocks of whole lines."""
    with opened(path, path) as raw, reading(path):
        packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        left = max_unpacked_bytes(raw.seek(0, os.SEEK_END)) if packed else sys.maxsize
        raw.seek(0)
        file: BinaryStream = gzip.GzipFile(fileobj=raw) if packed else raw
        block = file.read(_BLOCK_BYTES).removeprefix(UTF8_BOM)
        while block:
            left -= len(block)
            end = block.rfind(b"\n") + 1
            if not end or left < 0:  # no end of the last line or of a very long one; a gzip bomb
                raise _IrregularError
            yield block[:end]
            block = block[end:] + file.read(_BLOCK_BYTES)


def _repeats(hashes: NDArray[np.uint64]) -> bool:
    """Tell whether two trials may be the same; sorts the hashes in place."""
    hashes.sort()
    return bool(np.any(hashes[1:] == hashes[:-1]))
