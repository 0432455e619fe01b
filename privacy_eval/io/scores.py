"""Score files and trial keys, and joining them on (enrolled speaker, utterance)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .files import digest, read_bytes
from .text_table import (
    Column,
    IndexArray,
    hash_rows,
    line_number,
    read_columns,
    same_fields,
)

_SHOWN = 5
#: What can be done about trials and scores that do not fit, where the option is offered.
ALLOW_MISSING = "--allow-missing leaves them out and says so in the results"
_USUAL_NUMBER_BYTES = 32


@dataclass(frozen=True)
class ScoreFile:
    """`<enrolled speaker> <utterance> <score>` lines.

    Attributes
    ----------
    path : Path
    speaker, utterance : Column
    score : float64 array, shape (rows,)
        All finite.
    digest : str
        SHA-256 of the content.
    """

    path: Path
    speaker: Column
    utterance: Column
    score: NDArray[np.float64]
    digest: str


@dataclass(frozen=True)
class TrialFile:
    """`<enrolled speaker> <utterance> target|nontarget` lines.

    Attributes
    ----------
    is_target : bool array, shape (rows,)
    """

    path: Path
    speaker: Column
    utterance: Column
    is_target: NDArray[np.bool_]
    digest: str


@dataclass(frozen=True)
class TrialList:
    """`<enrolled speaker> <utterance>` lines, with labels or without: what is to be scored."""

    path: Path
    speaker: Column
    utterance: Column
    digest: str


@dataclass(frozen=True)
class PairedTrials:
    """Scores with their labels, in the order of the score file.

    Attributes
    ----------
    score : float64 array, shape (P,)
    is_target : bool array, shape (P,)
    speaker, utterance : Column
        Enrolled speaker and trial utterance of each.
    missing, extra : int
        Trials without a score and scores without a trial that were left out; 0
        unless that was allowed.
    """

    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]
    speaker: Column
    utterance: Column
    missing: int
    extra: int


def read_scores(path: Path) -> ScoreFile:
    """Read a score file.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line (see `read_columns`), a score that is no
        decimal number, NaN or infinite; a trial that has two scores.
    """
    (speaker, utterance, field), content = read_columns(path, ("speaker", "utterance", "score"))
    score = _parse_numbers(field, path)
    _check_unique(path, speaker, utterance, "score")
    return ScoreFile(path, speaker, utterance, score, digest(content))


def read_trials(path: Path) -> TrialFile:
    """Read a trial key.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a label other than `target` and
        `nontarget`, a trial listed twice.
    """
    (speaker, utterance, label), content = read_columns(
        path, ("speaker", "utterance", "target|nontarget")
    )
    is_target = label.equals(b"target")
    unknown = np.flatnonzero(~(is_target | label.equals(b"nontarget")))
    if unknown.size:
        row = int(unknown[0])
        raise PrivacyEvalError(
            f"{path}:{line_number(label, row)}: expected the label target or nontarget, "
            f"found {label.text(row)!r}"
        )
    _check_unique(path, speaker, utterance, "trial")
    return TrialFile(path, speaker, utterance, is_target, digest(content))


def read_trial_list(path: Path) -> TrialList:
    """Read trials to be scored; their labels, if there are any, are not looked at.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a trial listed twice.
    """
    first = read_bytes(path).lstrip().split(b"\n", 1)[0]
    names = ("speaker", "utterance", "target|nontarget")
    (speaker, utterance, *_), content = read_columns(path, names[: max(2, len(first.split()))])
    _check_unique(path, speaker, utterance, "trial")
    return TrialList(path, speaker, utterance, digest(content))


def pair(
    scores: ScoreFile, trials: TrialFile, *, allow_missing: bool = False, hint: str = ALLOW_MISSING
) -> PairedTrials:
    """Join scores and trials on the pair (enrolled speaker, utterance), in any order.

    Parameters
    ----------
    allow_missing : bool
        Leave out trials without a score and scores without a trial, and count them.
    hint : str
        What the error says of a way out.

    Raises
    ------
    PrivacyEvalError
        Unless allowed: how many trials have no score, how many scores no trial, and
        the first five of each. In any case where nothing is left, or a class is empty.
    """
    score_row, trial_row = _join(
        (scores.speaker, scores.utterance), (trials.speaker, trials.utterance)
    )
    missing = len(trials.speaker) - trial_row.size
    extra = len(scores.speaker) - score_row.size
    if (missing or extra) and not allow_missing:
        raise PrivacyEvalError(_mismatch(scores, trials, score_row, trial_row, hint))
    is_target = trials.is_target[trial_row]
    for name, empty in (("target", not is_target.any()), ("nontarget", bool(is_target.all()))):
        if empty:
            raise PrivacyEvalError(f"{trials.path}: no {name} trials with a score")
    return PairedTrials(
        scores.score[score_row],
        is_target,
        scores.speaker.take(score_row),
        scores.utterance.take(score_row),
        missing,
        extra,
    )


def same_trials(a: TrialFile, b: TrialFile) -> bool:
    """Whether two keys hold the same trials with the same labels, in any order."""
    row_a, row_b = _join((a.speaker, a.utterance), (b.speaker, b.utterance))
    return row_a.size == a.is_target.size == b.is_target.size and bool(
        np.array_equal(a.is_target[row_a], b.is_target[row_b])
    )


def _join(a: tuple[Column, Column], b: tuple[Column, Column]) -> tuple[IndexArray, IndexArray]:
    """Rows of `a`, ascending, that occur in `b`, and where. Rows are unique in both."""
    if len(a[0]) == len(b[0]) and all(same_fields(x, y) for x, y in zip(a, b, strict=True)):
        rows = np.arange(len(a[0]))
        return rows, rows
    hash_a, hash_b = hash_rows(a), hash_rows(b)
    order_a, order_b = np.argsort(hash_a), np.argsort(hash_b)
    hash_a, hash_b = hash_a[order_a], hash_b[order_b]
    at = np.minimum(np.searchsorted(hash_b, hash_a), hash_b.size - 1)
    found = hash_b[at] == hash_a
    place = np.full(hash_a.size, -1, dtype=np.int64)
    place[order_a[found]] = order_b[at[found]]
    row_a = np.flatnonzero(place >= 0)
    row_b = place[row_a]
    no_collision = all(np.all(h[1:] != h[:-1]) for h in (hash_a, hash_b))
    if no_collision and all(same_fields(x, y, row_a, row_b) for x, y in zip(a, b, strict=True)):
        return row_a, row_b
    return _join_by_dictionary(a, b)


def _join_by_dictionary(
    a: tuple[Column, Column], b: tuple[Column, Column]
) -> tuple[IndexArray, IndexArray]:
    """The same join by text, for files whose ids collide in the hash."""
    place = {key: row for row, key in enumerate(zip(b[0].tolist(), b[1].tolist(), strict=True))}
    found = [
        (row, place[key])
        for row, key in enumerate(zip(a[0].tolist(), a[1].tolist(), strict=True))
        if key in place
    ]
    rows = np.array(found, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _parse_numbers(field: Column, path: Path) -> NDArray[np.float64]:
    """Decimal numbers of a column; NumPy reads the text, rows it balks at are named."""
    width = int(field.size.max())
    values: NDArray[np.float64] | None = None
    if width <= _USUAL_NUMBER_BYTES:
        place = np.arange(width)
        grid = field.data[field.start[:, None] + place]
        grid[place >= field.size[:, None]] = 0
        if not np.any(grid == ord("_")):  # Python's digit groups are no number here
            with contextlib.suppress(ValueError):
                values = grid.view(f"S{width}").ravel().astype(np.float64)
    if values is None:
        values = np.array([_number(text) for text in field.tolist()], dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise PrivacyEvalError(
            f"{path}:{line_number(field, row)}: expected a finite decimal number as score, "
            f"found {field.text(row)!r} ({bad.size} such lines)"
        )
    return values


def _number(text: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        return float("nan")


def _check_unique(path: Path, speaker: Column, utterance: Column, what: str) -> None:
    hashes = hash_rows((speaker, utterance))
    ascending = np.sort(hashes)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not repeated.size:
        return
    seen: dict[tuple[str, str], int] = {}
    duplicates: list[tuple[str, str]] = []
    first_line = 0
    for row in np.flatnonzero(np.isin(hashes, repeated)).tolist():
        key = (speaker.text(row), utterance.text(row))
        if key in seen:
            first_line = first_line or line_number(speaker, row)
            duplicates.append(key)
        else:
            seen[key] = row
    if duplicates:
        raise PrivacyEvalError(
            f"{path}:{first_line}: {len(duplicates)} duplicate {what} lines, each (speaker, "
            f"utterance) may stand once: {_some(duplicates)}"
        )


def _mismatch(
    scores: ScoreFile,
    trials: TrialFile,
    score_row: IndexArray,
    trial_row: IndexArray,
    hint: str,
) -> str:
    lines = [f"{scores.path} and {trials.path} do not hold the same trials:"]
    if not score_row.size:
        exchanged = _is_trial((scores.utterance, scores.speaker), trials)
        why = "not one trial is in both, so they are of different sets"
        lines.append(
            f"  {'the first two columns of the scores are exchanged' if exchanged else why}:"
        )
    for what, table, rows in (
        ("trials without a score", trials, trial_row),
        ("scores without a trial", scores, score_row),
    ):
        left = np.ones(len(table.speaker), dtype=np.bool_)
        left[rows] = False
        left_rows = np.flatnonzero(left)
        if left_rows.size:
            keys = [(table.speaker.text(r), table.utterance.text(r)) for r in left_rows[:_SHOWN]]
            line = line_number(table.speaker, int(left_rows[0]))
            lines.append(
                f"  {left_rows.size} {what} (first at {table.path}:{line}): "
                f"{_some(keys, left_rows.size)}"
            )
    lines.append(f"  ({hint})")
    return "\n".join(lines)


def _is_trial(ids: tuple[Column, Column], trials: TrialFile) -> bool:
    """Whether the first of some rows of ids is a trial."""
    hashes = hash_rows((trials.speaker, trials.utterance))
    first = tuple(column.text(0) for column in ids)
    return any(
        (trials.speaker.text(row), trials.utterance.text(row)) == first
        for row in np.flatnonzero(hashes == hash_rows(ids)[0]).tolist()
    )


def _some(keys: Sequence[tuple[str, str]], total: int | None = None) -> str:
    shown = ", ".join(_spelled(f"{speaker} {utterance}") for speaker, utterance in keys[:_SHOWN])
    return shown + (", ..." if (total or len(keys)) > _SHOWN else "")


def _spelled(text: str) -> str:
    """Ids for a message, also by their codes where some characters may look like others."""
    return text if text.isascii() else f"{text} ({ascii(text)[1:-1]})"
