"""Score files, trial keys and trial lists, joined on (enrolled speaker, utterance).

Their formats are those of `score_formats`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from ..metrics.arguments import check_whole_numbers
from .arrow import NumberColumn
from .files import LineLimit, Loaded, ask_if_cut, digest, digesting, read_bytes
from .score_formats import (
    KEY_FORMATS,
    LABELS,
    SCORE_FORMATS,
    WORDS,
    ends_open,
    guess_key_format,
    guess_list_format,
    guess_score_format,
    parse_labels,
    split_format,
)
from .text_table import Column, IndexArray, WordArray, hash_rows, is_number, same_fields
from .trial_speakers import trial_speakers

#: Remedy for trials and scores that do not match.
ALLOW_MISSING = "use --allow-missing to leave them out; the results record it"
_SWAPPED = "; are score file and trial key exchanged?"
_USUAL_NUMBER_BYTES = 32
_ID = ("enrolled", "utterance")


@dataclass(frozen=True)
class TrialList:
    """`<enrolled speaker> <utterance>` lines, with further fields ignored: trials to be scored.

    Attributes
    ----------
    speaker, utterance : Column
        Enrolled speaker and trial utterance.
    digest : str
        SHA-256 of the content.
    ends_open : bool
        Whether its last line lacks the newline.
    """

    path: Path
    speaker: Column
    utterance: Column
    digest: str
    ends_open: bool = field(default=False, kw_only=True)

    def where(self, row: int) -> str:
        """Return file and line of a trial, as messages begin."""
        return f"{self.path}:{self.speaker.line(row)}"

    def quote(self, rows: Sequence[int]) -> str:
        """Quote some trials for a message, non-ASCII ids also by their codes."""
        names = [f"{self.speaker.text(row)} {self.utterance.text(row)}" for row in rows[:6]]
        return abbreviate([t if t.isascii() else f"{t} ({ascii(t)[1:-1]})" for t in names])

    @cached_property
    def hashes(self) -> WordArray:
        """A hash of each trial, shape (rows,)."""
        return hash_rows((self.speaker, self.utterance))

    @cached_property
    def in_hash_order(self) -> tuple[WordArray, IndexArray]:
        """First bits of the hashes, ascending, and the rows that have them: rows take the place of
        the last bits, as numbers are sorted several times as fast as by `argsort`."""
        last = np.uint64((1 << self.row_bits) - 1)
        packed = (self.hashes & ~last) | np.arange(len(self.speaker), dtype=np.uint64)
        packed.sort()
        return packed & ~last, (packed & last).astype(np.int64)

    @property
    def row_bits(self) -> int:
        """Bits of the number of rows."""
        return len(self.speaker).bit_length()


@dataclass(frozen=True)
class ScoreFile(TrialList):
    """Trials with a score each.

    Attributes
    ----------
    score : float64 array, shape (rows,)
        All finite.
    format : str
        One of `SCORE_FORMATS`.
    is_target : bool array, shape (rows,), or None
        Labels, in formats that have them.
    """

    score: NDArray[np.float64]
    format: str = "kaldi"
    is_target: NDArray[np.bool_] | None = None

    def key(self) -> TrialKey:
        """Return the labels of the scores themselves as a trial key.

        Raises
        ------
        PrivacyEvalError
            The format has no labels.
        """
        if self.is_target is None:
            raise PrivacyEvalError(
                f"{self.path}: no labels (format {self.format}): a trial key is needed"
            )
        return TrialKey(self.path, self.speaker, self.utterance, self.digest, self.is_target)


@dataclass(frozen=True)
class TrialKey(TrialList):
    """Trials with a label each, target or nontarget.

    Attributes
    ----------
    is_target : bool array, shape (rows,)
    """

    is_target: NDArray[np.bool_]


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
    ends_open : tuple of Path
        Those of the two files whose last line lacks the newline.
    """

    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]
    speaker: Column
    utterance: Column
    missing: int
    extra: int
    ends_open: tuple[Path, ...] = ()

    @cached_property
    def sides(self) -> tuple[WordArray, WordArray]:
        """A hash of the enrolled speaker and of the utterance of each trial."""
        return hash_rows((self.speaker,)), hash_rows((self.utterance,))

    def without_self(self) -> PairedTrials:
        """Leave out the trials of an utterance with itself."""
        rows = np.flatnonzero(self.sides[0] != self.sides[1])
        speaker, utterance = self.speaker.take(rows), self.utterance.take(rows)
        return replace(
            self,
            score=self.score[rows],
            is_target=self.is_target[rows],
            speaker=speaker,
            utterance=utterance,
        )

    @property
    def n_self(self) -> int:
        """Number of target trials of an utterance with itself."""
        return int(np.count_nonzero(self.is_target & (self.sides[0] == self.sides[1])))

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What is wrong with trials of ids that are on both sides: of an utterance with itself, or
        the same in both orders."""
        if not has_common(*self.sides):
            return ()
        n, pairs = self.n_self, np.sort(np.column_stack(self.sides), axis=1)
        found = {
            f"{n} target trials compare an utterance with itself (metrics --leave-out-self)": n
        }
        twice = len(pairs) - len(np.unique(pairs, axis=0))
        found[f"{twice} pairs of trials are the same in both orders"] = twice
        return tuple(text for text, number in found.items() if number)

    def speakers(
        self, utt2spk: str | Path | None = None, enroll_utt2spk: str | Path | None = None
    ) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
        """Look up the speakers of the trials, as `evaluate` and `compare` take them.

        Parameters
        ----------
        utt2spk : Path, optional
            Kaldi's file of the speakers of the trial utterances, and of enrolled utterances that
            it lists. Without it, ids such as `id10290/x/1.wav` tell theirs by their first folder.
        enroll_utt2spk : Path, optional
            Speakers of the enrolled utterances or models, if these are not in `utt2spk`.

        Returns
        -------
        own : str array, shape (T,)
            Speaker of each target trial.
        pairs : str array, shape (N, 2)
            Enrolled and trial speaker of each nontarget trial.

        Raises
        ------
        PrivacyEvalError
            A file that is missing or malformed; an id without a speaker; labels that contradict
            the speakers.

        Examples
        --------
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "scores")
        >>> _ = file.write_text("a/1.wav a/2.wav 1.5 1\\na/1.wav b/1.wav -2 0\\n")
        >>> scores = read_scores(file, format="wespeaker")
        >>> own, pairs = pair(scores, scores.key()).speakers()
        >>> own.tolist(), pairs.tolist()
        (['a'], [['a', 'b']])
        """
        given = [None if file is None else Path(file) for file in (utt2spk, enroll_utt2spk)]
        for file in given:
            if file is not None and not file.is_file():
                raise PrivacyEvalError(f"{file}: no such file")
        sides = np.column_stack(trial_speakers(self, *given))
        return sides[self.is_target, 0], sides[~self.is_target]

    def rows_in(self, other: PairedTrials) -> IndexArray:
        """Return the row of each trial in the same trials of another system.

        Raises
        ------
        PrivacyEvalError
            The trials or their labels differ: how many, and the first ones.
        """
        lists = [TrialList(Path(), t.speaker, t.utterance, "") for t in (self, other)]
        rows = _join(*lists)
        for trials, matched in zip(lists, rows, strict=True):
            left = np.delete(np.arange(len(trials.speaker)), matched).tolist()
            if left:
                raise PrivacyEvalError(
                    "systems are compared on the same trials, but one of them lacks "
                    f"{len(left)}: {trials.quote(left)}"
                )
        contrary = np.flatnonzero(self.is_target != other.is_target[rows[1]]).tolist()
        if contrary:
            raise PrivacyEvalError(
                f"systems have different labels of {len(contrary)} trials: "
                f"{lists[0].quote(contrary)}"
            )
        return rows[1]


def read_scores(
    path: Path | Loaded,
    *,
    format: str | None = None,
    distance: bool = False,
    log10: bool = False,
    limit: LineLimit | None = None,
) -> ScoreFile:
    """Read a score file, plain or gzip.

    Parameters
    ----------
    path : Path
    format : str or None
        One of `SCORE_FORMATS`; None takes the only one that fits the file.
    distance : bool
        The scores are distances, and are negated.
    log10 : bool
        The scores are decimal log-likelihood ratios, and become natural ones.
    limit : LineLimit, optional
        As of `line_limit`.

    Returns
    -------
    ScoreFile

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line (see `read_columns`), a score that is not a
        decimal number, NaN or infinite; a trial with two scores; no format that fits, or
        several.
    ValueError
        An unknown format.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "scores")
    >>> _ = file.write_text("s1 u1 1.5\\ns1 u2 -2\\n")
    >>> read_scores(file).score
    array([ 1.5, -2. ])
    """
    content = read_bytes(path, limit=limit)
    is_open, path = _ends_open(path, content), Path(path)
    with digesting(content) as sha256:
        name = guess_score_format(content, path) if format is None else format
        if name not in SCORE_FORMATS:
            raise ValueError(f"format must be one of {', '.join(SCORE_FORMATS)}, not {name!r}")
        try:
            columns = split_format(content, path, SCORE_FORMATS[name])
        except PrivacyEvalError as error:
            raise PrivacyEvalError(f"{error}{_other_format(content, path, name)}") from error
        if "score" not in columns:
            raise PrivacyEvalError(f"{path}:1: no column of scores")
        speaker, utterance, score = (columns[field] for field in (*_ID, "score"))
        values = parse_scores(score, path)
        labels = parse_labels(columns["label"], path) if "label" in columns else None
        values = in_unit(values, distance=distance, log10=log10)
        scores = ScoreFile(
            path, speaker, utterance, sha256(), values, name, labels, ends_open=is_open
        )
    _check_unique(scores, "score")
    return scores


def in_unit(scores: NDArray[np.float64], *, distance: bool, log10: bool) -> NDArray[np.float64]:
    """Negate scores that are distances, and make natural LLRs of decimal ones."""
    scores = -scores if distance else scores
    return scores * math.log(10) if log10 else scores


def _ends_open(path: Path | Loaded, content: bytes) -> bool:
    """Tell whether the last line of a file lacks the newline, and ask whether it was cut, as
    stages, which load their files, do by themselves."""
    if (is_open := ends_open(content)) and not isinstance(path, Loaded):
        ask_if_cut(path, content)
    return is_open


def _other_format(content: bytes, path: Path, name: str) -> str:
    """Name the format that a file of another one seems to have."""
    try:
        guess = guess_score_format(content, path)
    except PrivacyEvalError:
        return ""
    option = f"metrics and count read it by --score-format {guess}"
    return "" if guess == name else f" (looks like the format {guess}; {option})"


def read_trials(path: Path | Loaded, *, format: str | None = None) -> TrialKey:
    """Read a trial key, such as Kaldi's `<enrolled speaker> <utterance> target|nontarget` lines.

    Parameters
    ----------
    path : Path
    format : str or None
        One of `KEY_FORMATS`; None takes the only one that fits the file.

    Returns
    -------
    TrialKey

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, an unknown label, a duplicate trial; several
        formats that fit.
    ValueError
        An unknown format.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "trials")
    >>> _ = file.write_text("s1 u1 target\\ns1 u2 nontarget\\n")
    >>> read_trials(file).is_target
    array([ True, False])
    """
    content = read_bytes(path)
    is_open, path = _ends_open(path, content), Path(path)
    with digesting(content) as sha256:
        name = guess_key_format(content, path) if format is None else format
        if name not in KEY_FORMATS:
            raise ValueError(f"format must be one of {', '.join(KEY_FORMATS)}, not {name!r}")
        columns = split_format(content, path, KEY_FORMATS[name])
        if "label" not in columns:
            raise PrivacyEvalError(f"{path}:1: no column of labels")
        speaker, utterance, label = (columns[field] for field in (*_ID, "label"))
        try:
            is_target = parse_labels(label, path, WORDS if name == "kaldi" else LABELS)
        except PrivacyEvalError as error:
            swapped = all(map(is_number, label.tolist()))
            raise PrivacyEvalError(f"{error}{_SWAPPED * swapped}") from error
        fields = (path, speaker, utterance, sha256(), is_target)
        key = TrialKey(*fields, ends_open=is_open)
    _check_unique(key, "trial")
    return key


def read_trial_list(path: Path | Loaded) -> TrialList:
    """Read trials to be scored, with or without labels, which are ignored, in any of `KEY_FORMATS`.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate trial; several formats that fit.
    """
    content = read_bytes(path)
    is_open, path = _ends_open(path, content), Path(path)
    columns = split_format(content, path, guess_list_format(content, path))
    speaker, utterance = (columns[field] for field in _ID)
    trials = TrialList(path, speaker, utterance, digest(content), ends_open=is_open)
    _check_unique(trials, "trial")
    return trials


def has_common(enrolled: WordArray, tried: WordArray) -> bool:
    """Tell whether an id is on both sides, as in lists of all pairs; of hashes of the ids."""
    return bool(np.isin(np.unique(enrolled), tried).any())


def pair(
    scores: ScoreFile, trials: TrialKey, *, allow_missing: bool = False, hint: str = ALLOW_MISSING
) -> PairedTrials:
    """Join scores and trials on the pair (enrolled speaker, utterance), in any order.

    Parameters
    ----------
    scores : ScoreFile
    trials : TrialKey
    allow_missing : bool
        Leave out trials without a score and scores without a trial, and count them.
    hint : str
        Remedy that the error suggests.

    Returns
    -------
    PairedTrials

    Raises
    ------
    PrivacyEvalError
        Unless allowed: how many trials have no score, how many scores no trial, and the first
        five of each. In any case: no target or no nontarget trial with a score; labels of the
        scores that contradict the key.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores").write_text("s1 u1 1.5\\ns1 u2 -2\\n")
    >>> _ = (folder / "trials").write_text("s1 u2 nontarget\\ns1 u1 target\\n")
    >>> pair(read_scores(folder / "scores"), read_trials(folder / "trials")).is_target
    array([ True, False])
    """
    score_row, trial_row = _join(scores, trials)
    missing = len(trials.speaker) - trial_row.size
    extra = len(scores.speaker) - score_row.size
    if (missing or extra) and not allow_missing:
        raise PrivacyEvalError(_mismatch(scores, trials, score_row, trial_row, hint))
    is_target = _labels(scores, trials, score_row, trial_row)
    for name, empty in (("target", not is_target.any()), ("nontarget", bool(is_target.all()))):
        if empty:
            raise PrivacyEvalError(f"{trials.path}: no {name} trials with a score")
    score, speaker, utterance = scores.score, scores.speaker, scores.utterance
    if extra:  # else these are all rows, as they ascend
        score = score[score_row]
        speaker, utterance = (column.take(score_row) for column in (speaker, utterance))
    ends_open = tuple(file.path for file in (scores, trials) if file.ends_open)
    return PairedTrials(score, is_target, speaker, utterance, missing, extra, ends_open)


def pair_shard(
    scores: ScoreFile, trials: TrialKey
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Look up the labels of scores whose trials may be only a part of the key's.

    Returns
    -------
    target, nontarget : float64 arrays
        Scores; one of the two may be empty.

    Raises
    ------
    PrivacyEvalError
        Scores without a trial; labels of the scores that contradict the key.
    """
    score_row, trial_row = _join(scores, trials)
    if score_row.size < len(scores.speaker):
        left = np.delete(np.arange(len(scores.speaker)), score_row).tolist()
        raise PrivacyEvalError(
            f"{scores.where(left[0])}: {len(left)} scores without a trial in {trials.path}: "
            f"{scores.quote(left)}"
        )
    is_target = _labels(scores, trials, score_row, trial_row)
    return scores.score[is_target], scores.score[~is_target]


def _labels(
    scores: ScoreFile, trials: TrialKey, score_row: IndexArray, trial_row: IndexArray
) -> NDArray[np.bool_]:
    """Return the labels of paired rows; those of the scores, if any, must be the same."""
    is_target = trials.is_target[trial_row]
    if scores.is_target is not None:
        contrary = np.flatnonzero(scores.is_target[score_row] != is_target)
        if contrary.size:
            row = int(score_row[contrary[0]])
            raise PrivacyEvalError(
                f"{scores.where(row)}: {contrary.size} labels contradict {trials.path} "
                f"(first: {scores.quote([row])})"
            )
    return is_target


def score_table(
    files: Sequence[ScoreFile], trials: TrialKey, *, hint: str = "scores are of the same trials"
) -> tuple[PairedTrials, NDArray[np.float64]]:
    """Join the scores of several files for the same trials, in the order of the key.

    Returns
    -------
    paired : PairedTrials
        Of the first file.
    scores : float64 array, shape (P, files)

    Raises
    ------
    PrivacyEvalError
        As `pair`: a file has other trials than the key.
    """
    table = np.empty((len(trials.speaker), len(files)))
    for column, file in enumerate(files):
        pair(file, trials, hint=hint)
        score_row, trial_row = _join(file, trials)
        table[trial_row, column] = file.score[score_row]
    columns = trials.speaker, trials.utterance
    return PairedTrials(table[:, 0], trials.is_target, *columns, 0, 0), table


def format_scores(
    speakers: Iterable[str], utterances: Iterable[str], scores: NDArray[np.floating]
) -> str:
    """Format a score file: float32 in 7 digits, as Kaldi does, and float64 in 17.

    Examples
    --------
    >>> format_scores(["s1"], ["u1"], np.array([0.1]))
    's1 u1 0.10000000000000001\\n'
    """
    digits = 7 if scores.dtype == np.float32 else 17
    line = f"{{}} {{}} {{:.{digits}g}}\n".format
    return "".join(map(line, speakers, utterances, scores.tolist()))


def check_same_trials(key: TrialKey, other: TrialKey) -> None:
    """Check that two keys have the same trials with the same labels, in any order.

    Raises
    ------
    PrivacyEvalError
        Names both files, and the first trial of `other` with another label, else the first
        trial that only one of them has; how many labels differ and how many trials are in one
        key only.
    """
    key_row, other_row = _join(key, other)
    contrary = other_row[key.is_target[key_row] != other.is_target[other_row]]
    only_other = np.delete(np.arange(len(other.speaker)), other_row)
    only_key = np.delete(np.arange(len(key.speaker)), key_row)
    for at, rows, file, what in (
        (other, contrary, key, "has another label"),
        (other, only_other, key, "is missing"),
        (key, only_key, other, "is missing"),
    ):
        if rows.size:
            row, unmatched = int(rows.min()), only_key.size + only_other.size
            raise PrivacyEvalError(
                f"{at.where(row)}: trial {at.quote([row])} {what} in {file.path}: two keys of one "
                f"trial set ({contrary.size} of {key_row.size} labels differ, {unmatched} trials "
                "are in one only); remove the wrong one, or name a folder with --keys"
            )


def _join(first: TrialList, second: TrialList) -> tuple[IndexArray, IndexArray]:
    """Return row indices of the trials present in both lists, ascending in the first."""
    a, b = ((trials.speaker, trials.utterance) for trials in (first, second))
    if np.array_equal(first.hashes, second.hashes) and all(map(same_fields, a, b)):
        rows = np.arange(len(a[0]))
        return rows, rows
    for whole in (False, True):  # first bits of the hashes, or all
        if not whole and first.row_bits != second.row_bits:
            continue
        ordered = (_in_order(t.hashes) if whole else t.in_hash_order for t in (first, second))
        matched = _match(*next(ordered), *next(ordered))
        if matched is None:
            continue
        row_a, row_b = matched
        some = row_a if row_a.size < len(a[0]) else None
        if all(same_fields(x, y, some, row_b) for x, y in zip(a, b, strict=True)):
            return row_a, row_b
    return _join_by_dictionary(a, b)


def _in_order(hashes: WordArray) -> tuple[WordArray, IndexArray]:
    order = np.argsort(hashes)
    return hashes[order], order


def _match(
    hash_a: WordArray, order_a: IndexArray, hash_b: WordArray, order_b: IndexArray
) -> tuple[IndexArray, IndexArray] | None:
    """Rows of the first, ascending, whose hashes occur in the second, and where; None if rows of
    one file have the same hash."""
    if any(np.any(h[1:] == h[:-1]) for h in (hash_a, hash_b)):
        return None
    position = np.full(hash_a.size, -1, dtype=np.int64)
    if np.array_equal(hash_a, hash_b):
        position[order_a] = order_b
        return np.arange(hash_a.size), position
    at = np.minimum(np.searchsorted(hash_b, hash_a), hash_b.size - 1)
    matches = hash_b[at] == hash_a
    position[order_a[matches]] = order_b[at[matches]]
    row_a = np.flatnonzero(position >= 0)
    return row_a, position[row_a]


def _join_by_dictionary(
    a: tuple[Column, Column], b: tuple[Column, Column]
) -> tuple[IndexArray, IndexArray]:
    """Join by text, for files whose ids collide in the hash."""
    position = {key: row for row, key in enumerate(zip(b[0].tolist(), b[1].tolist(), strict=True))}
    pairs = [
        (row, position[key])
        for row, key in enumerate(zip(a[0].tolist(), a[1].tolist(), strict=True))
        if key in position
    ]
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def parse_scores(field: Column, path: Path) -> NDArray[np.float64]:
    """Parse a column of decimal numbers, by NumPy or, if it fails, one by one.

    Raises
    ------
    PrivacyEvalError
        With file and line: a score that is not a decimal number, NaN or infinite; a whole number
        with more digits than a float.
    """
    values: NDArray[np.float64] | None = None
    if isinstance(field, NumberColumn):
        values = field.values.astype(np.float64)
    elif int(field.size.max()) <= _USUAL_NUMBER_BYTES:
        grid = field.first_words
        text, underscore = grid.view(np.uint8), ord("_")
        # Digit groups of Python are no number.
        if text.max(initial=0) < underscore or not np.any(text == underscore):
            with contextlib.suppress(ValueError):
                values = grid.view(f"S{8 * grid.shape[1]}").ravel().astype(np.float64)
    if values is None:
        texts = field.tolist()
        values = np.array([float(text) if is_number(text) else math.nan for text in texts])
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise PrivacyEvalError(
            f"{path}:{field.line(row)}: expected a finite decimal number as score, "
            f"found {field.text(row)!r} ({bad.size} such lines)"
            + _SWAPPED
            * (field.text(row) in ("target", "nontarget"))
        )
    check_whole_numbers(values, field.text, lambda row: f"{path}:{field.line(row)}")
    return values


def _check_unique(trials: TrialList, what: str) -> None:
    speaker, utterance, (ascending, rows) = trials.speaker, trials.utterance, trials.in_hash_order
    same = ascending[1:] == ascending[:-1]
    if not same.any():
        return
    repeated = np.append(same, False) | np.append(False, same)
    seen: set[tuple[str, str]] = set()
    duplicates: list[int] = []
    for row in np.sort(rows[repeated]).tolist():
        key = (speaker.text(row), utterance.text(row))
        if key in seen:
            duplicates.append(row)
        seen.add(key)
    if duplicates:
        where, names = trials.where(duplicates[0]), trials.quote(duplicates)
        raise PrivacyEvalError(f"{where}: {len(duplicates)} duplicate {what} lines: {names}")


def _mismatch(
    scores: ScoreFile, trials: TrialKey, score_row: IndexArray, trial_row: IndexArray, hint: str
) -> str:
    lines = [f"{scores.path} and {trials.path} do not contain the same trials:"]
    missing = np.delete(np.arange(len(trials.speaker)), trial_row)
    if not score_row.size:
        swapped = TrialList(scores.path, scores.utterance, scores.speaker, scores.digest)
        exchanged = _join(swapped, trials)[0].size
        why = "no trial is in both, so they are of different sets: name the key of these scores"
        lines.append(
            f"  {'the first two columns of the scores are exchanged' if exchanged else why}:"
        )
        hint = "" if hint == ALLOW_MISSING else hint
    elif score_row.size == len(scores.speaker) and trial_row.max() < missing[0]:
        lines.append("  the scores end early, as in a truncated file; copy it again:")
    files: tuple[tuple[str, TrialList, IndexArray], ...] = (
        ("trials without a score", trials, trial_row),
        ("scores without a trial", scores, score_row),
    )
    for what, file, rows in files:
        left = np.delete(np.arange(len(file.speaker)), rows).tolist()
        if left:
            where, names = file.where(left[0]), file.quote(left)
            lines.append(f"  {len(left)} {what} (first at {where}): {names}")
    if hint:
        lines.append(f"  ({hint})")
    return "\n".join(lines)
