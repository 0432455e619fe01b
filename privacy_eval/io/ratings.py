"""Ratings of a listening test: CSV files of what evaluators answered.

One file holds all metrics, a column each and blank where an evaluator was not asked; or a
folder holds one file per metric, `naturalness.csv` and so on, with a column `score`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .files import digest, read_text

#: What evaluators rate, in the order of the columns.
METRICS = ("naturalness", "intelligibility", "similarity")
#: What a system is called that changed nothing.
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
_SHOWN = 5

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
        """Some of the ratings."""
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

    Columns `evaluator`, `system` and `trial` are needed, `same_speaker` where similarity
    was rated, and one column of a metric. `data_set`, `gender` and `enrollment` may be
    missing; where a file has `data_set` or `gender`, every line has.

    Parameters
    ----------
    systems, data_sets, genders : collections of str, optional
        What is known, beside `Original`; any, unless given.
    scale : (float, float)

    Raises
    ------
    PrivacyEvalError
        With file and line: no such CSV; a column that is missing, unknown or there twice;
        a name that is blank or unknown; a rating that is no number or off the scale; a
        line without a rating; a rating given twice (same evaluator, system, trial,
        enrollment and metric, in any of the files); a trial of two data sets or genders,
        a pair that is both of the same and of different speakers.

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
    tables = [_read(path, metric) for path, metric in _files(paths)]
    for table in tables:
        _check_names(table, systems, data_sets, genders)
    parts = [part for number, table in enumerate(tables) for part in _ratings(table, number, scale)]
    names = ("metric", "evaluator", "system", "trial", "data_set", "gender", "enrollment")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    same = np.concatenate([part["same_speaker"] for part in parts])
    places = _Places(
        tuple(str(t.path) for t in tables),
        np.concatenate([part["file"] for part in parts]),
        np.concatenate([part["line"] for part in parts]),
    )
    _check_duplicates(columns, places)
    _check_facts(columns, same, places)
    return Ratings(
        score=np.concatenate([part["score"] for part in parts]),
        same_speaker=same.astype(np.int8),
        scale=scale,
        sources={str(t.path): t.sha256 for t in tables},
        **columns,
    )


@dataclass(frozen=True)
class _Table:
    """The cells of a file by column, and the line that each row begins on."""

    path: Path
    cells: Mapping[str, TextArray]
    line: IntArray
    sha256: str

    def column(self, name: str) -> TextArray:
        """The cells of a column; blank ones where the file has no such column."""
        return self.cells.get(name, np.zeros(self.line.size, dtype="<U1"))

    def refuse(self, wrong: NDArray[np.bool_], message: str) -> None:
        """Raise for the first wrong row and say how many more there are."""
        rows = np.flatnonzero(wrong)
        if rows.size:
            raise PrivacyEvalError(
                f"{self.path}:{self.line[rows[0]]}: {message}{_more(self.line[rows[1:]])}"
            )


@dataclass(frozen=True)
class _Places:
    """File and line of every rating."""

    paths: tuple[str, ...]
    file: IntArray
    line: IntArray

    def of(self, rating: int) -> str:
        return f"{self.paths[int(self.file[rating])]}:{self.line[rating]}"


def _files(paths: Sequence[Path]) -> list[tuple[Path, str | None]]:
    """The files to read, each with its metric if it holds one only."""
    found: list[tuple[Path, str | None]] = []
    for path in paths:
        if not path.is_dir():
            found.append((path, None))
            continue
        files = sorted(path.glob("*.csv"))
        for file in files:
            if file.stem not in METRICS:
                raise PrivacyEvalError(
                    f"{file}: a folder of ratings has one file per metric: "
                    f"{', '.join(f'{m}.csv' for m in METRICS)}"
                )
            found.append((file, file.stem))
        if not files:
            raise PrivacyEvalError(
                f"{path}: no ratings, expected {' or '.join(f'{m}.csv' for m in METRICS)} in it"
            )
    if len({path.resolve() for path, _ in found}) < len(found):
        raise PrivacyEvalError("the same file of ratings is given twice")
    return found


def _read(path: Path, metric: str | None) -> _Table:
    text = read_text(path)
    if len(text) > _MOST_BYTES:
        raise PrivacyEvalError(f"{path}: larger than {_MOST_BYTES} characters")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    begin = 1
    try:
        for row in reader:
            if row:
                rows.append([cell.strip(_BLANKS) for cell in row])
                lines.append(begin)
            begin = reader.line_num + 1
    except csv.Error as error:
        raise PrivacyEvalError(f"{path}:{begin}: no CSV ({error})") from error
    if not rows:
        raise PrivacyEvalError(f"{path}: empty file, expected the columns {','.join(COLUMNS)}")
    header, *rows = rows
    _check_header(path, lines[0], header, metric)
    if not rows:
        raise PrivacyEvalError(f"{path}:{lines[0]}: no ratings below the names of the columns")
    for line, row in zip(lines[1:], rows, strict=True):
        if len(row) != len(header):
            raise PrivacyEvalError(f"{path}:{line}: expected {len(header)} cells, found {len(row)}")
        for name, cell in zip(header, row, strict=True):
            if len(cell) > _MOST_CHARACTERS or not cell.isprintable():
                raise PrivacyEvalError(
                    f"{path}:{line}: {name}: no name or number: {cell[:40]!r} (at most "
                    f"{_MOST_CHARACTERS} printable characters)"
                )
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(header)}
    if metric is not None:
        columns[metric] = columns.pop(SCORE)
    return _Table(path, columns, np.array(lines[1:]), digest(text.encode()))


def _check_header(path: Path, line: int, header: list[str], metric: str | None) -> None:
    where = f"{path}:{line}"
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        raise PrivacyEvalError(f"{where}: expected cells set apart by commas")
    known = (*COLUMNS[: -len(METRICS)], SCORE) if metric else COLUMNS
    for name in header:
        if name not in known:
            raise PrivacyEvalError(
                f"{where}: unknown column {name[:80]!r}, expected some of {','.join(known)}"
            )
        if header.count(name) > 1:
            raise PrivacyEvalError(f"{where}: two columns {name!r}")
    needed = [*_NEEDED, *([SCORE] if metric else [])]
    rates_similarity = metric == "similarity" or "similarity" in header
    if rates_similarity:
        needed.append("same_speaker")
    for name in needed:
        if name not in header:
            why = " (needed with similarity)" if name == "same_speaker" else ""
            raise PrivacyEvalError(f"{where}: the column {name!r} is missing{why}")
    if metric is None and not set(METRICS) & set(header):
        raise PrivacyEvalError(f"{where}: no column of ratings: {', '.join(METRICS)}")


def _check_names(
    table: _Table,
    systems: Collection[str] | None,
    data_sets: Collection[str] | None,
    genders: Collection[str] | None,
) -> None:
    for name in _NEEDED:
        table.refuse(table.cells[name] == "", f"{name} is blank")
    of_original = np.char.lower(table.cells["system"])
    nearly = np.isin(of_original, ("original", "orig")) & (table.cells["system"] != ORIGINAL_SYSTEM)
    table.refuse(nearly, f"original speech is the system {ORIGINAL_SYSTEM!r}, spelled so")
    if systems is not None:
        systems = [ORIGINAL_SYSTEM, *(s for s in systems if s != ORIGINAL_SYSTEM)]
    for name, known in (("system", systems), ("data_set", data_sets), ("gender", genders)):
        cells = table.cells.get(name)
        if cells is None:
            continue
        table.refuse(cells == "", f"{name} is blank; leave out the whole column, or fill it")
        if known is not None:
            wrong = ~np.isin(cells, list(known))
            found = str(cells[wrong][0]) if wrong.any() else ""
            hint = " (others: --systems, --any-system)" if name == "system" else ""
            table.refuse(wrong, f"unknown {name} {found!r}, known: {', '.join(known)}{hint}")


def _ratings(
    table: _Table, number: int, scale: tuple[float, float]
) -> list[dict[str, NDArray[np.generic]]]:
    """The ratings of a file, metric by metric."""
    rows = table.line.size
    said = np.char.lower(table.column("same_speaker"))
    table.refuse(
        ~np.isin(said, list(_SAME)), f"same_speaker: expected {', '.join(s for s in _SAME if s)}"
    )
    same = np.array([_SAME[s] for s in said.tolist()], dtype=np.int8)
    parts = []
    rated = np.zeros(rows, dtype=np.bool_)
    for metric in METRICS:
        cells = table.column(metric)
        given = cells != ""
        rated |= given
        if metric == "similarity":
            table.refuse(given & (same < 0), "similarity is rated, but same_speaker is blank")
        texts = cells.tolist()
        wrong = np.array([bool(c) and _NUMBER.fullmatch(c) is None for c in texts])
        found = cells[wrong][0] if wrong.any() else ""
        table.refuse(wrong, f"{metric}: expected a number, found {str(found)!r}")
        score = np.array([float(c) for c in texts if c], dtype=np.float64)
        off = np.zeros(rows, dtype=np.bool_)
        off[given] = (score < scale[0]) | (score > scale[1])
        found = cells[off][0] if off.any() else ""
        table.refuse(
            off, f"{metric}: {found!s} is not within the scale from {scale[0]:g} to {scale[1]:g}"
        )
        part = {
            name: table.column(name)[given]
            for name in ("evaluator", "system", "trial", "data_set", "gender", "enrollment")
        }
        parts.append(
            {
                **part,
                "metric": np.full(score.size, metric),
                "score": score,
                "same_speaker": same[given],
                "file": np.full(score.size, number),
                "line": table.line[given],
            }
        )
    table.refuse(~rated, "no rating in this line")
    return parts


def _check_duplicates(columns: Mapping[str, TextArray], places: _Places) -> None:
    keys = ("metric", "evaluator", "system", "trial", "enrollment")
    code = joint_codes([columns[key] for key in keys])
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(code.size))
    if again.size:
        row = int(again[0])
        earlier = int(first[inverse[row]])
        pair = " with ".join(filter(None, (columns[k][row] for k in ("trial", "enrollment"))))
        # A line of several metrics counts once.
        lines = np.unique(np.column_stack([places.file[again], places.line[again]]), axis=0)
        others = lines[(lines != [places.file[row], places.line[row]]).any(axis=1), 1]
        raise PrivacyEvalError(
            f"{places.of(row)}: {columns['metric'][row]} of {pair}, system "
            f"{columns['system'][row]}, is rated by {columns['evaluator'][row]} for the second "
            f"time, first in {places.of(earlier)}{_more(others)}"
        )


def _check_facts(columns: Mapping[str, TextArray], same: IntArray, places: _Places) -> None:
    """Whether data set and gender of a trial, and what a pair is, are always the same."""
    trials = joint_codes([columns["trial"]])
    for name in _PLACE:
        _check_fact(trials, columns[name], places, f"{name} of trial", columns["trial"])
    said = (same >= 0) & (columns["enrollment"] != "")
    pairs = joint_codes([columns["trial"], columns["enrollment"]])
    names = np.char.add(np.char.add(columns["trial"], " with "), columns["enrollment"])
    words = np.where(same == 1, "yes", "no")
    _check_fact(pairs, words, places, "same_speaker of", names, said)


def _check_fact(
    owner: IntArray,
    value: TextArray,
    places: _Places,
    what: str,
    names: TextArray,
    kept: NDArray[np.bool_] | None = None,
) -> None:
    rows = np.arange(owner.size) if kept is None else np.flatnonzero(kept)
    _, first, inverse = np.unique(owner[rows], return_index=True, return_inverse=True)
    before = rows[first[inverse]]
    wrong = np.flatnonzero(value[rows] != value[before])
    if wrong.size:
        row, earlier = int(rows[wrong[0]]), int(before[wrong[0]])
        raise PrivacyEvalError(
            f"{places.of(row)}: {what} {names[row]} is {str(value[row])!r}, but "
            f"{str(value[earlier])!r} in {places.of(earlier)}"
        )


def joint_codes(columns: Sequence[NDArray[np.generic]]) -> IntArray:
    """A number for every row: equal where all columns are, shape (R,)."""
    code: IntArray = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        texts, part = np.unique(column, return_inverse=True)
        # Renumbered at each step, so that no product outgrows an integer.
        _, code = np.unique(code * max(texts.size, 1) + part.reshape(-1), return_inverse=True)
        code = code.reshape(-1).astype(np.int64)
    return code


def _more(lines: IntArray) -> str:
    """The other lines with the same mistake."""
    if not lines.size:
        return ""
    shown = ", ".join(map(str, lines[:_SHOWN].tolist()))
    rest = ", ..." if lines.size > _SHOWN else ""
    return f" (and {lines.size} more: line {shown}{rest})"
