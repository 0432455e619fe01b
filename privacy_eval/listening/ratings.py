"""Ratings of a listening test: CSV files of evaluators' answers.

Either one file has all metrics, a column each and blank if an evaluator was not asked; or a
folder has one file per metric, `naturalness.csv` and so on, with a column `score`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import MISSING, ORIGINAL_SYSTEM, RATING_COLUMNS, RATING_METRICS
from ..errors import PrivacyEvalError, abbreviate, printable
from ..io.csv_text import csv_rows
from ..io.files import digest, read_text
from ..io.names import is_printable
from . import SCALE

#: The column of the ratings in a file of one metric.
SCORE = "score"

_REQUIRED = ("evaluator", "system", "trial")
_TRIAL_SET = ("data_set", "gender")
#: Column of the rated speakers, which the ids of many corpora tell.
SPEAKER = "speaker"

_SAME = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0, "": -1}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
# Stripped around a cell; other invisible characters are refused.
_BLANKS = " \t\xa0"
_MOST_NAME = 80  # characters of a column's name in messages
_ALIKE = 0.8  # ratio of `difflib` for misspelt names
# Longest cell: one longer name would widen the whole column of the array.
_MOST_CHARACTERS = 256
_MOST_BYTES = 1 << 30

#: Printed by `privacy-eval listening --template`.
TEMPLATE = f"""{",".join(RATING_COLUMNS)}
listener01,Original,libri,f,1089-134686-0007,1089-134691-0002,yes,9,10,8
listener01,B1,libri,f,1089-134686-0007,1089-134691-0002,yes,5,7,3
listener01,B1,libri,m,1188-133604-0011,1221-135766-0003,no,4,7,2
listener02,Original,vctk_different,m,p226_012,p227_005,no,10,10,1
listener02,B1,vctk_different,m,p226_012,,,6,8,
"""

TextArray = NDArray[np.str_]


@dataclass(frozen=True)
class Ratings:
    """Ratings of a listening test, an element of every array for each rating.

    Attributes
    ----------
    metric : str array, shape (R,)
        One of `RATING_METRICS`.
    score : float64 array, shape (R,)
        As given, within `scale`; higher is more natural, intelligible, similar.
    evaluator, system, trial : str arrays, shape (R,)
        Systems include `Original`: unchanged speech.
    speaker, data_set, gender, enrollment : str arrays, shape (R,)
        "" if not given.
    same_speaker : int8 array, shape (R,)
        Whether enrollment and trial are of one speaker: 1 or 0, -1 if not given; always given
        for ratings of similarity.
    scale : (float, float)
        Lowest and highest possible rating.
    sources : mapping
        SHA-256 of the files by path.
    ignored_columns : tuple of str
        Other columns of the files.
    """

    metric: TextArray
    score: NDArray[np.float64]
    evaluator: TextArray
    system: TextArray
    trial: TextArray
    speaker: TextArray
    data_set: TextArray
    gender: TextArray
    enrollment: TextArray
    same_speaker: NDArray[np.int8]
    scale: tuple[float, float]
    sources: Mapping[str, str]
    ignored_columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.score.size)

    def take(self, selected: NDArray[np.bool_]) -> Ratings:
        """Select the ratings where the bool array, shape (R,), is true."""
        arrays: dict[str, Any] = {
            name: value[selected]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        }
        return replace(self, **arrays)


def read_ratings(
    paths: Sequence[Path],
    *,
    systems: Collection[str] | None = None,
    data_sets: Collection[str] | None = None,
    genders: Collection[str] | None = None,
    scale: tuple[float, float] = SCALE,
) -> Ratings:
    """Read files of ratings, or folders of one file per metric, as one test.

    The columns `evaluator`, `system` and `trial` are required, `same_speaker` if similarity
    was rated, and at least one column of ratings. `data_set`, `gender`, `speaker` and
    `enrollment` are optional; a file with one of the first three must fill it in every line. Other
    columns are ignored, unless their names look like misspelt ones of these.

    Parameters
    ----------
    paths : sequence of Path
        CSV files, or folders with one file per metric.
    systems, data_sets, genders : collections of str, optional
        Known names, in addition to `Original`; default: any.
    scale : (float, float)
        Lowest and highest possible rating.

    Returns
    -------
    Ratings
        By file, then by metric, then in the order of the lines.

    Raises
    ------
    PrivacyEvalError
        With file and line: malformed CSV; a missing, misspelt or duplicate column; a blank or
        unknown name; a rating that is not a number or outside the scale; a line without a
        rating; a duplicate rating (same evaluator, system, trial, enrollment and metric, in
        any of the files); a trial with two data sets, genders or speakers, a pair marked both as
        same and as different speakers.

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
        raise PrivacyEvalError(f"the scale of ratings from {low:g} to {high:g} is empty")
    if systems is not None:
        systems = [ORIGINAL_SYSTEM, *(s for s in systems if s != ORIGINAL_SYSTEM)]
    allowed = {"system": systems, "data_set": data_sets, "gender": genders, SPEAKER: None}
    sources: dict[str, str] = {}
    answers: list[_Answer] = []
    ignored: dict[str, None] = {}
    for path, metric in rating_files(paths):
        text = read_text(path)
        sources[str(path)] = digest(text.encode())
        rows, others = _read(path, text, metric)
        ignored |= dict.fromkeys(others)
        _check_names(rows, allowed)
        answers += _answers(rows, scale)
    _check_duplicates(answers)
    _check_consistency(answers)
    names = (*_REQUIRED, *_TRIAL_SET, SPEAKER, "enrollment")
    return Ratings(
        metric=np.array([metric for metric, _ in answers]),
        score=np.array([float(row.get(metric)) for metric, row in answers]),
        same_speaker=np.array([_SAME[row.get("same_speaker").lower()] for _, row in answers], "i1"),
        scale=scale,
        sources=sources,
        ignored_columns=tuple(ignored),
        **{name: np.array([row.get(name) for _, row in answers]) for name in names},
    )


@dataclass(frozen=True)
class _Row:
    """The cells of a line by column."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def get(self, name: str) -> str:
        """Return a cell; blank if the file has no such column."""
        return self.cells.get(name, "")

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


#: A rating: the cell of a metric in a row.
_Answer = tuple[str, _Row]


def _refuse(faults: Iterable[tuple[_Row, str]]) -> None:
    """Raise the first of several faults of one kind, with the lines of the others."""
    for row, message in faults:
        lines = dict.fromkeys(other.line for other, _ in faults if other is not row)
        more = f" (and {len(lines)} more: line {abbreviate([*map(str, lines)])})" if lines else ""
        raise PrivacyEvalError(f"{row.place}: {message}{more}")


def rating_files(paths: Sequence[Path]) -> list[tuple[Path, str | None]]:
    """List the files to read, with the metric of those that have one only."""
    files: list[tuple[Path, str | None]] = []
    expected = [f"{metric}.csv" for metric in RATING_METRICS]
    for path in paths:
        if not path.is_dir():
            files.append((path, None))
            continue
        in_folder = sorted(path.glob("*.csv"))
        for file in in_folder:
            if file.stem not in RATING_METRICS:
                raise PrivacyEvalError(
                    f"{file}: a folder of ratings has one file per metric: {', '.join(expected)}"
                )
            files.append((file, file.stem))
        if not in_folder:
            raise PrivacyEvalError(f"{path}: no ratings, expected {' or '.join(expected)} in it")
    if len({path.resolve() for path, _ in files}) < len(files):
        raise PrivacyEvalError("duplicate file of ratings")
    return files


def _read(path: Path, text: str, metric: str | None) -> tuple[list[_Row], list[str]]:
    """Read the rows of a file; also return the names of columns that are ignored."""
    if len(text) > _MOST_BYTES:
        raise PrivacyEvalError(f"{path}: larger than {_MOST_BYTES} characters")
    lines = ((n, [cell.strip(_BLANKS) for cell in row]) for n, row in csv_rows(text, path))
    first, header = next(lines, (0, []))
    if not header:
        raise PrivacyEvalError(
            f"{path}: empty file, expected the columns {','.join(RATING_COLUMNS)}"
        )
    ignored = _check_header(f"{path}:{first}", header, metric)
    names = [metric if metric is not None and name == SCORE else name for name in header]
    rows = []
    for line, cells in lines:
        for name, cell in zip(header, cells, strict=True):
            if name not in ignored and (len(cell) > _MOST_CHARACTERS or not is_printable(cell)):
                raise PrivacyEvalError(
                    f"{path}:{line}: {name}: expected at most {_MOST_CHARACTERS} printable "
                    f"characters, found {cell[:40]!r}"
                )
        rows.append(_Row(path, line, dict(zip(names, cells, strict=True))))
    if not rows:
        raise PrivacyEvalError(f"{path}:{first}: no ratings below the header")
    return rows, [printable(name[:_MOST_NAME]) for name in ignored if name]


def _check_header(where: str, header: list[str], metric: str | None) -> list[str]:
    """Check the names of columns; return those that mean nothing here."""
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        raise PrivacyEvalError(f"{where}: expected comma-separated cells")
    columns = (*RATING_COLUMNS[: -len(RATING_METRICS)], SCORE) if metric else RATING_COLUMNS
    allowed = (*columns, SPEAKER)
    misplaced = {*RATING_METRICS, SCORE} - set(allowed)
    for name in header:
        alike = difflib.get_close_matches(name[:_MOST_NAME].lower(), allowed, cutoff=_ALIKE)
        if name in misplaced or (alike and name not in allowed):
            meant = f", probably {alike[0]}" if alike else ""
            raise PrivacyEvalError(
                f"{where}: unknown column {name[:_MOST_NAME]!r}{meant}, expected some of "
                f"{','.join(allowed)}"
            )
        if name in allowed and header.count(name) > 1:
            raise PrivacyEvalError(f"{where}: duplicate column {name!r}")
    required = {name: "" for name in (*_REQUIRED, *([SCORE] if metric else []))}
    if "similarity" in (metric, *header):
        required["same_speaker"] = " (required with similarity)"
    for name, why in required.items():
        if name not in header:
            raise PrivacyEvalError(f"{where}: the column {name!r} is missing{why}")
    if metric is None and not set(RATING_METRICS) & set(header):
        raise PrivacyEvalError(f"{where}: no column of ratings: {', '.join(RATING_METRICS)}")
    return [name for name in dict.fromkeys(header) if name not in allowed]


def _require(
    cells: Sequence[tuple[_Row, str]], is_valid: Callable[[str], object], message: str
) -> None:
    """Refuse cells that are not valid."""
    _refuse(
        [
            (row, f"{message}, found {cell!r}" if cell else message)
            for row, cell in cells
            if not is_valid(cell)
        ]
    )


def _check_names(rows: Sequence[_Row], allowed: Mapping[str, Collection[str] | None]) -> None:
    for name in _REQUIRED:
        cells = [(row, row.cells[name]) for row in rows]
        _require(cells, lambda name: name not in MISSING, f"{name} is blank or missing")
    _require(
        [(row, row.cells["system"]) for row in rows],
        lambda name: name == ORIGINAL_SYSTEM or name.lower() not in ("original", "orig"),
        f"original speech must be named {ORIGINAL_SYSTEM!r}",
    )
    for column, names in allowed.items():
        cells = [(row, row.cells[column]) for row in rows if column in row.cells]
        blank = f"{column} is blank; fill the column, or leave it out"
        _require(cells, lambda name: name not in MISSING, blank)
        if names is not None:
            hint = " (others: --systems, --any-system)" if column == "system" else ""
            expected = f"unknown {column}: expected {', '.join(names)}{hint}"
            _require(cells, names.__contains__, expected)


def _answers(rows: Sequence[_Row], scale: tuple[float, float]) -> Iterator[_Answer]:
    """Yield the ratings of a file, metric by metric."""
    low, high = scale
    same_speaker = [(row, row.get("same_speaker").lower()) for row in rows]
    expected = f"same_speaker: expected {', '.join(filter(None, _SAME))}"
    _require(same_speaker, _SAME.__contains__, expected)
    for metric in RATING_METRICS:
        given = [(row, row.cells[metric]) for row in rows if row.get(metric)]
        if metric == "similarity":
            cells = [(row, row.get("same_speaker")) for row, _ in given]
            _require(cells, bool, "similarity is rated, but same_speaker is blank")
        _require(given, _NUMBER.fullmatch, f"{metric}: expected a number")
        bounds = f"{metric}: outside the scale from {low:g} to {high:g}"
        _require(given, lambda cell: low <= float(cell) <= high, bounds)
        yield from ((metric, row) for row, _ in given)
    ratings = [(row, "".join(map(row.get, RATING_METRICS))) for row in rows]
    _require(ratings, bool, "no rating in this line")


def _check_duplicates(answers: Sequence[_Answer]) -> None:
    seen: dict[tuple[str, ...], _Row] = {}
    faults = []
    for metric, row in answers:
        key = (metric, *map(row.get, (*_REQUIRED, "enrollment")))
        first = seen.setdefault(key, row)
        if first is not row:
            evaluator, system, *pair = filter(None, key[1:])
            message = (
                f"duplicate rating: {metric} of {' with '.join(pair)}, system {system}, by "
                f"{evaluator}; first in {first.place}"
            )
            faults.append((row, message))
    _refuse(faults)


def _check_consistency(answers: Sequence[_Answer]) -> None:
    """Check that a trial has one data set, gender and speaker, a pair one answer to
    same_speaker."""
    seen: dict[tuple[str, ...], tuple[str, _Row]] = {}

    def check(row: _Row, what: str, key: tuple[str, ...], value: str) -> None:
        first, where = seen.setdefault((what, *key), (value, row))
        if value != first:
            raise PrivacyEvalError(
                f"{row.place}: {what} {' with '.join(key)} is {value!r}, but {first!r} in "
                f"{where.place}"
            )

    for row in {id(row): row for _, row in answers}.values():
        trial, enrollment = row.get("trial"), row.get("enrollment")
        for name in (*_TRIAL_SET, SPEAKER):
            check(row, f"{name} of trial", (trial,), row.get(name))
        same = _SAME[row.get("same_speaker").lower()]
        if same >= 0 and enrollment:
            check(row, "same_speaker of", (trial, enrollment), "yes" if same else "no")


def joint_codes(columns: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """Enumerate the distinct rows of several columns.

    Parameters
    ----------
    columns : sequence of arrays, shape (R,)

    Returns
    -------
    int array, shape (R,)
        Equal where all columns are.

    Examples
    --------
    >>> joint_codes([np.array(["a", "a", "b"]), np.array(["x", "y", "x"])])
    array([0, 1, 2])
    """
    rows = np.rec.fromarrays(columns)
    return np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)
