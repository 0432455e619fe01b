"""Ratings of a listening test: CSV files of what evaluators answered.

One file holds all metrics, a column each and blank where an evaluator was not asked; or a
folder holds one file per metric, `naturalness.csv` and so on, with a column `score`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from .files import digest, read_text

#: What evaluators rate, in the order of the columns.
METRICS = ("naturalness", "intelligibility", "similarity")
#: Name of unchanged speech among the systems.
ORIGINAL_SYSTEM = "Original"
#: The column of the ratings in a file of one metric.
SCORE = "score"
#: The lowest and highest rating of the 2020 challenge's listening test.
SCALE = (1.0, 10.0)

_NEEDED = ("evaluator", "system", "trial")
_PLACE = ("data_set", "gender")
_PAIR = ("enrollment", "same_speaker")
COLUMNS = ("evaluator", "system", *_PLACE, "trial", *_PAIR, *METRICS)

_SAME = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0, "": -1}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
# Left out around a cell; other characters that cannot be seen are refused there as inside.
_BLANKS = " \t\xa0"
# Longer names are surely none, and would make every cell of their column as long.
_MOST_CHARACTERS = 256
_MOST_BYTES = 1 << 30

#: What `privacy-eval subjective --template` prints.
TEMPLATE = f"""{",".join(COLUMNS)}
listener01,Original,libri,f,1089-134686-0007,1089-134691-0002,yes,9,10,8
listener01,B1,libri,f,1089-134686-0007,1089-134691-0002,yes,5,7,3
listener01,B1,libri,m,1188-133604-0011,1221-135766-0003,no,4,7,2
listener02,Original,vctk_different,m,p226_012,p227_005,no,10,10,1
listener02,B1,vctk_different,m,p226_012,,,6,8,
"""

TextArray = NDArray[np.str_]
IntArray = NDArray[np.int64]
Known = Mapping[str, Collection[str] | None]


@dataclass(frozen=True)
class Ratings:
    """Ratings one by one: an element of every array is one answer to one question.

    Attributes
    ----------
    metric : str array, shape (R,)
        One of `METRICS`.
    score : float64 array, shape (R,)
        As given, within `scale`; higher is more natural, intelligible, similar.
    evaluator, system, trial : str arrays, shape (R,)
        Systems include `Original`: unchanged speech.
    data_set, gender, enrollment : str arrays, shape (R,)
        "" where the files do not say.
    same_speaker : int8 array, shape (R,)
        Whether enrollment and trial are of one speaker: 1 or 0, -1 where it is not said;
        always said of a rating of similarity.
    scale : (float, float)
        Lowest and highest possible rating.
    sources : mapping
        SHA-256 by path of the files that were read.
    """

    metric: TextArray
    score: NDArray[np.float64]
    evaluator: TextArray
    system: TextArray
    trial: TextArray
    data_set: TextArray
    gender: TextArray
    enrollment: TextArray
    same_speaker: NDArray[np.int8]
    scale: tuple[float, float]
    sources: Mapping[str, str]

    def __len__(self) -> int:
        return int(self.score.size)

    def take(self, kept: NDArray[np.bool_]) -> Ratings:
        """Select the ratings where the bool array `kept`, shape (R,), is true."""
        arrays = {
            name: value[kept] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return Ratings(**arrays, scale=self.scale, sources=self.sources)


def read_ratings(
    paths: Sequence[Path],
    *,
    systems: Collection[str] | None = None,
    data_sets: Collection[str] | None = None,
    genders: Collection[str] | None = None,
    scale: tuple[float, float] = SCALE,
) -> Ratings:
    """Read files of ratings, or folders of one file per metric, as one test.

    Columns `evaluator`, `system` and `trial` are required, `same_speaker` where similarity
    was rated, and a column of a metric. `data_set`, `gender` and `enrollment` may be absent;
    where a file has `data_set` or `gender`, every line has.

    Parameters
    ----------
    paths : sequence of Path
    systems, data_sets, genders : collections of str, optional
        Known names, beside `Original`; any, unless given.
    scale : (float, float)
        Lowest and highest possible rating.

    Returns
    -------
    Ratings

    Raises
    ------
    PrivacyEvalError
        With file and line: not such a CSV; a missing, unknown or duplicate column; a name that
        is blank or unknown; a rating that is not a number or off the scale; a line without a
        rating; a duplicate rating (same evaluator, system, trial, enrollment and metric, in any
        of the files); a trial of two data sets or genders, a pair that is both of the same and
        of different speakers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = file.write_text("evaluator,system,trial,naturalness\\nann,B1,u1,7\\n")
    >>> read_ratings([file]).score
    array([7.])
    """
    low, high = scale
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PrivacyEvalError(f"the scale of ratings from {low:g} to {high:g} has no extent")
    if systems is not None:
        systems = [ORIGINAL_SYSTEM, *(s for s in systems if s != ORIGINAL_SYSTEM)]
    known = {"system": systems, "data_set": data_sets, "gender": genders}
    sources: dict[str, str] = {}
    answers: list[tuple[str, _Row]] = []
    for path, metric in _files(paths):
        rows, sources[str(path)] = _read(path, metric)
        _refuse_first(rows, known, scale)
        answers += ((m, row) for m in METRICS for row in rows if row.cell(m))
    _check_duplicates(answers)
    _check_facts(answers)

    def column(name: str) -> TextArray:
        return np.array([row.cell(name) for _, row in answers], dtype=np.str_)

    return Ratings(
        metric=np.array([metric for metric, _ in answers], dtype=np.str_),
        score=np.array([float(row.cell(metric)) for metric, row in answers], dtype=np.float64),
        evaluator=column("evaluator"),
        system=column("system"),
        trial=column("trial"),
        data_set=column("data_set"),
        gender=column("gender"),
        enrollment=column("enrollment"),
        same_speaker=np.array([row.same_speaker for _, row in answers], dtype=np.int8),
        scale=scale,
        sources=sources,
    )


@dataclass(frozen=True)
class _Row:
    """A line of a file: its cells by column."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def cell(self, name: str) -> str:
        """Return a cell, blank where the file has no such column."""
        return self.cells.get(name, "")

    @property
    def same_speaker(self) -> int:
        return _SAME[self.cell("same_speaker").lower()]

    @property
    def pair(self) -> str:
        return " with ".join(filter(None, (self.cell("trial"), self.cell("enrollment"))))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def _files(paths: Sequence[Path]) -> list[tuple[Path, str | None]]:
    """List the files to read, each with its metric if it holds only one."""
    found: list[tuple[Path, str | None]] = []
    expected = [f"{metric}.csv" for metric in METRICS]
    for path in paths:
        if not path.is_dir():
            found.append((path, None))
            continue
        files = sorted(path.glob("*.csv"))
        for file in files:
            if file.name not in expected:
                raise PrivacyEvalError(
                    f"{file}: a folder of ratings has one file per metric: {', '.join(expected)}"
                )
            found.append((file, file.stem))
        if not files:
            raise PrivacyEvalError(f"{path}: no ratings, expected {' or '.join(expected)} in it")
    if len({path.resolve() for path, _ in found}) < len(found):
        raise PrivacyEvalError("the same file of ratings is given twice")
    return found


def _read(path: Path, metric: str | None) -> tuple[list[_Row], str]:
    """Read the rows of a file, and its SHA-256."""
    text = read_text(path)
    if len(text) > _MOST_BYTES:
        raise PrivacyEvalError(f"{path}: larger than {_MOST_BYTES} characters")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    rows: list[_Row] = []
    begin = 1
    try:
        for cells in reader:
            cells = [cell.strip(_BLANKS) for cell in cells]
            if cells and not header:
                _check_header(f"{path}:{begin}", cells, metric)
                first, header = begin, [metric or SCORE if n == SCORE else n for n in cells]
            elif cells:
                _check_cells(f"{path}:{begin}", header, cells)
                rows.append(_Row(path, begin, dict(zip(header, cells, strict=True))))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise PrivacyEvalError(f"{path}:{begin}: not CSV ({error})") from error
    if not header:
        raise PrivacyEvalError(f"{path}: empty file, expected the columns {','.join(COLUMNS)}")
    if not rows:
        raise PrivacyEvalError(f"{path}:{first}: no ratings below the names of the columns")
    return rows, digest(text.encode())


def _check_header(where: str, header: Sequence[str], metric: str | None) -> None:
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        raise PrivacyEvalError(f"{where}: expected cells separated by commas")
    known = (*COLUMNS[: -len(METRICS)], SCORE) if metric else COLUMNS
    for name in header:
        if name not in known:
            raise PrivacyEvalError(
                f"{where}: unknown column {name[:80]!r}, expected some of {','.join(known)}"
            )
        if header.count(name) > 1:
            raise PrivacyEvalError(f"{where}: duplicate column {name!r}")
    needed = [*_NEEDED, *([SCORE] if metric else [])]
    if metric == "similarity" or "similarity" in header:
        needed.append("same_speaker")
    for name in needed:
        if name not in header:
            why = " (needed with similarity)" if name == "same_speaker" else ""
            raise PrivacyEvalError(f"{where}: the column {name!r} is missing{why}")
    if metric is None and not set(METRICS) & set(header):
        raise PrivacyEvalError(f"{where}: no column of ratings: {', '.join(METRICS)}")


def _check_cells(where: str, header: Sequence[str], cells: Sequence[str]) -> None:
    if len(cells) != len(header):
        raise PrivacyEvalError(f"{where}: expected {len(header)} cells, found {len(cells)}")
    for name, cell in zip(header, cells, strict=True):
        if len(cell) > _MOST_CHARACTERS or not cell.isprintable():
            raise PrivacyEvalError(
                f"{where}: {name}: not a name or number: {cell[:40]!r} (at most "
                f"{_MOST_CHARACTERS} printable characters)"
            )


def _refuse_first(rows: Sequence[_Row], known: Known, scale: tuple[float, float]) -> None:
    """Raise for the first problem and say which other lines have the same."""
    found: dict[str, list[tuple[_Row, str]]] = {}
    for row in rows:
        for kind, message in _problems(row, known, scale):
            found.setdefault(kind, []).append((row, message))
    for (row, message), *others in found.values():
        raise PrivacyEvalError(f"{row}: {message}{_more([other for other, _ in others])}")


def _problems(row: _Row, known: Known, scale: tuple[float, float]) -> Iterator[tuple[str, str]]:
    """Yield the problems of a row, each with its kind."""
    for name in _NEEDED:
        if not row.cell(name):
            yield name, f"{name} is blank"
    system = row.cell("system")
    if system.lower() in ("original", "orig") and system != ORIGINAL_SYSTEM:
        yield "original", f"original speech is the system {ORIGINAL_SYSTEM!r}, spelled so"
    for name, names in known.items():
        cell = row.cells.get(name)
        if cell == "":
            yield name, f"{name} is blank; leave out the whole column, or fill it"
        elif cell is not None and names is not None and cell not in names:
            hint = " (others: --systems, --any-system)" if name == "system" else ""
            yield name, f"unknown {name} {cell!r}, known: {', '.join(names)}{hint}"
    if row.cell("same_speaker").lower() not in _SAME:
        yield "same_speaker", f"same_speaker: expected {', '.join(s for s in _SAME if s)}"
    elif row.cell("similarity") and row.same_speaker < 0:
        yield "same_speaker", "similarity is rated, but same_speaker is blank"
    for metric in METRICS:
        cell = row.cell(metric)
        if cell and _NUMBER.fullmatch(cell) is None:
            yield metric, f"{metric}: expected a number, found {cell!r}"
        elif cell and not scale[0] <= float(cell) <= scale[1]:
            yield (
                metric,
                f"{metric}: {cell} is not within the scale from {scale[0]:g} to {scale[1]:g}",
            )
    if not any(map(row.cell, METRICS)):
        yield "rating", "no rating in this line"


def _check_duplicates(answers: Sequence[tuple[str, _Row]]) -> None:
    seen: dict[tuple[str, ...], _Row] = {}
    again: dict[str, tuple[_Row, str]] = {}  # a line of several metrics counts once
    for metric, row in answers:
        names = [row.cell(name) for name in ("evaluator", "system", "trial", "enrollment")]
        earlier = seen.setdefault((metric, *names), row)
        if earlier is not row:
            message = (
                f"{metric} of {row.pair}, system {names[1]}, is rated by {names[0]} for the "
                f"second time, first in {earlier}"
            )
            again.setdefault(str(row), (row, message))
    if again:
        (row, message), *others = again.values()
        raise PrivacyEvalError(f"{row}: {message}{_more([other for other, _ in others])}")


def _check_facts(answers: Sequence[tuple[str, _Row]]) -> None:
    """Make sure that a trial has one data set and gender, and a pair one answer to whether it
    is of the same speaker."""
    facts: dict[tuple[str, ...], tuple[str, _Row]] = {}
    for _, row in answers:
        trial, enrollment = row.cell("trial"), row.cell("enrollment")
        stated = [(f"{name} of trial", trial, "", row.cell(name)) for name in _PLACE]
        if row.same_speaker >= 0 and enrollment:
            value = "yes" if row.same_speaker else "no"
            stated.append(("same_speaker of", trial, enrollment, value))
        for what, *pair, value in stated:
            before, earlier = facts.setdefault((what, *pair), (value, row))
            if value != before:
                raise PrivacyEvalError(
                    f"{row}: {what} {' with '.join(filter(None, pair))} is {value!r}, but "
                    f"{before!r} in {earlier}"
                )


def _more(rows: Sequence[_Row]) -> str:
    """Name the other lines with the same mistake."""
    lines = abbreviate([str(row.line) for row in rows])
    return f" (and {len(rows)} more: line {lines})" if rows else ""


def joint_codes(columns: Sequence[NDArray[np.generic]]) -> IntArray:
    """Enumerate the distinct rows of some columns.

    Parameters
    ----------
    columns : sequence of arrays, shape (R,)

    Returns
    -------
    int array, shape (R,)
        Equal where all columns are.

    Examples
    --------
    >>> joint_codes([np.array(["a", "a", "b"]), np.array([1, 1, 1])])
    array([0, 0, 1])
    """
    code: IntArray = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        texts, part = np.unique(column, return_inverse=True)
        # Renumbered at each step, so that no product outgrows an integer.
        _, code = np.unique(code * max(texts.size, 1) + part.reshape(-1), return_inverse=True)
        code = code.reshape(-1).astype(np.int64)
    return code
