"""Read score files, trial keys and trial lists as `Trials`, in blocks that caches hold.

Their formats are those of `score_formats`. A file that cannot be read in blocks is read as a whole,
which also tells what is wrong with it.

Speakers of both sides are what a bootstrap over speakers draws. Kaldi's lists name the enrolled
speaker; those of VoxCeleb, wespeaker, SpeechBrain and NIST an enrolled utterance or model, whose
speaker a file or the prefix of its name tells.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import without_fraction
from ..errors import ChangedError, PrivacyEvalError, counted, refuse_names
from ..metrics.arguments import as_numbers as as_floats
from ..metrics.arguments import check_whole_numbers, truth_of
from ..metrics.trials import IDS, Ids, Origin, Trials
from .data_dir import read_utt2spk
from .files import LineLimit, Loaded, ask_if_cut, read_blocks, read_bytes, reading
from .names import decode_id
from .score_formats import (
    KEY_FORMATS,
    SCORE_FORMATS,
    Columns,
    Fields,
    Formats,
    RecognizedFormat,
    Split,
    ends_open,
    guess_key_format,
    guess_list_format,
    guess_score_format,
    read_named,
    split_format,
)
from .text_table import Coder, Column, NumberColumn, column_of, decimals, is_number, split_columns

_SWAPPED = "; are score file and trial key exchanged?"
_USUAL_NUMBER_BYTES = 32

#: Speaker of an id, and how it was told, for messages.
_Reading = tuple[str, str]
_NOBODY = ("", "")


def read_scores(
    path: Path | Loaded,
    *,
    format: str | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    distance: bool = False,
    log10: bool = False,
    limit: LineLimit | None = None,
) -> Trials:
    """Read a score file, plain or gzip.

    Parameters
    ----------
    path : Path
    format : str or None
        One of `SCORE_FORMATS`; None takes the only one that fits the file.
    columns : mapping of str to str
        Names of columns by field: enrolled, utterance, score, label, trial_speaker or any other;
        numbers from 1 where the file has no header. Columns of usual names need none.
    distance : bool
        The scores are distances, and are negated.
    log10 : bool
        The scores are decimal log-likelihood ratios, and become natural ones.
    limit : LineLimit, optional
        As of `line_limit`.

    Returns
    -------
    Trials
        With labels, in formats that have them.

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
    try:
        found, origin = _read(path, SCORE_FORMATS, guess_score_format, format, columns, limit)
    except ChangedError:
        raise
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{error}{_other_format(path, format)}") from error
    if "score" not in found:
        raise PrivacyEvalError(f"{path}:1: no column of scores: name it, --columns score=NAME")
    found["score"] = in_unit(found["score"], distance=distance, log10=log10)
    return Trials(**found, origins=(origin,))


def in_unit(scores: NDArray[np.float64], *, distance: bool, log10: bool) -> NDArray[np.float64]:
    """Negate scores that are distances, and make natural LLRs of decimal ones."""
    scores = -scores if distance else scores
    return scores * math.log(10) if log10 else scores


def _other_format(path: Path | Loaded, format: str | None) -> str:
    """Name the format that a file of another one seems to have, by more than its first line."""
    with contextlib.suppress(PrivacyEvalError):
        content = read_bytes(path)
        guess = guess_score_format(content, Path(path))
        rest = content.partition(b"\n")[2] or content
        if format not in (None, guess, guess_score_format(rest, Path(path))):
            option = f"metrics and count read it by --score-format {guess}"
            return f" (looks like the format {guess}; {option})"
    return ""


def read_trials(
    path: Path | Loaded,
    *,
    format: str | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> Trials:
    """Read a trial key, such as Kaldi's `<enrolled speaker> <utterance> target|nontarget` lines.

    Parameters
    ----------
    path : Path
    format : str or None
        One of `KEY_FORMATS`; None takes the only one that fits the file.
    columns : mapping of str to str
        As of `read_scores`; unused if the file has none of these names.

    Returns
    -------
    Trials

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
    found, origin = _read(path, KEY_FORMATS, guess_key_format, format, columns)
    if "label" not in found:
        raise PrivacyEvalError(f"{path}:1: no column of labels: name it, --columns label=NAME")
    found.pop("score", None)
    return Trials(**found, origins=(origin,))


def read_trial_list(path: Path | Loaded) -> Trials:
    """Read trials to be scored, with or without labels, which are ignored, in any of `KEY_FORMATS`.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate trial; several formats that fit.
    """
    content = read_bytes(path)
    fields = guess_list_format(content, Path(path))
    columns, origin = _gathered(path, "", fields, [content], ("enrolled", "utterance"))
    _ask(path, origin)
    return Trials(**columns, origins=(origin,))


def format_scores(trials: Trials) -> str:
    """Format a score file: float32 in 7 digits, as Kaldi does, and float64 in 17.

    Raises
    ------
    PrivacyEvalError
        An id that no line of text holds.

    Examples
    --------
    >>> format_scores(Trials(enrolled=["s1"], utterance=["u1"], score=[0.1]))
    's1 u1 0.10000000000000001\\n'
    """
    for side in IDS[:2]:
        where = f"{trials.name}: no score file can hold an id of the column {side}: rename it"
        for name in trials[side].used:
            decode_id(name.encode("utf-8", "surrogatepass"), where)
    digits = 7 if trials.score.dtype == np.float32 else 17
    line = f"{{}} {{}} {{:.{digits}g}}\n".format
    return "".join(map(line, trials.enrolled, trials.utterance, trials.score.tolist()))


def _read(
    path: Path | Loaded,
    formats: Formats,
    guess: Callable[[bytes, Path], str],
    format: str | None,
    columns: Mapping[str, str],
    limit: LineLimit | None = None,
) -> tuple[dict[str, Any], Origin]:
    """Read the columns of a file: in blocks, or as a whole where these are not enough."""
    if format is not None and (format not in formats or columns):
        what = "goes without columns" if columns else f"must be one of {', '.join(formats)}"
        raise ValueError(f"format {what}, not {format!r}")

    def guessed(content: bytes, path: Path) -> Columns:
        return split_format(content, path, formats[guess(content, path)])

    named: Formats = {
        **formats,
        "columns": partial(
            read_named, named=columns, otherwise=guessed if formats is KEY_FORMATS else None
        ),
    }
    format = "columns" if columns else format
    with reading(path):
        try:
            with contextlib.closing(read_blocks(path, limit=limit)) as blocks:
                first = next(blocks, b"")
                name = format or guess(first, Path(path))
                parts = itertools.chain([first], blocks)
                table, origin = _gathered(path, name, named[name], parts)
        except ChangedError:
            raise
        except PrivacyEvalError:  # perhaps of the block alone
            whole = Loaded(Path(path), read_bytes(path, limit=limit))
            name = format or guess(whole.content, whole.path)
            table, origin = _gathered(whole, name, named[name], [whole.content])
    _ask(path, origin)
    return table, origin


def _ask(path: Path | Loaded, origin: Origin) -> None:
    """Ask whether a file was cut, as stages, which load their files, do by themselves."""
    if origin.ends_open and not isinstance(path, Loaded):
        ask_if_cut(origin.path, "cut")


def _gathered(
    path: Path | Loaded,
    name: str,
    format: Fields | Split,
    blocks: Iterable[bytes],
    wanted: Collection[str] | None = None,
) -> tuple[dict[str, Any], Origin]:
    """Gather columns, all unless some are wanted, of the blocks of a file, or of a format that
    reads the file."""
    sha256, ends = hashlib.sha256(), [b"", b""]

    def hashed() -> Iterator[bytes]:
        for block in blocks:
            sha256.update(block)
            ends[:] = [ends[0] or block[:8], block[-1:]]
            yield block

    file = Path(path)
    tables: Iterable[Columns]
    if not callable(format):
        tables = (split_format(block, file, format) for block in hashed())
    elif isinstance(format, RecognizedFormat) and format.blocks and not isinstance(path, Loaded):
        tables = format.blocks(file)
    else:
        tables = [split_format(b"".join(hashed()), file, format)]
    numbers: dict[str, list[NDArray[Any]]] = defaultdict(list)
    coders: dict[str, Coder] = defaultdict(Coder)
    lines: list[tuple[int, int, NDArray[np.int64] | None]] = []
    for table in tables:
        first = next(iter(table.values()))
        lines.append((len(first), *first.lines))
        for field in [name for name in table if wanted is None or name in wanted]:
            if field in ("score", "weight"):
                numbers[field].append(parse_scores(table[field], file))
            else:
                numbers[field].append(_codes(table[field], coders[field]))
    for _ in hashed():  # what a format that reads the file has left
        pass
    if not lines:
        raise PrivacyEvalError(f"{file}: no rows")
    columns: dict[str, Any] = {}
    for field, of in numbers.items():
        columns[field] = of[0] if len(of) == 1 else np.concatenate(of)
        columns[field].setflags(write=False)
        of.clear()  # not needed any more
    columns |= {field: Ids(columns[field], coder.names) for field, coder in coders.items()}
    is_open = ends_open(b"".join(ends))
    origin = Origin(file, sha256.hexdigest(), name, is_open, _line_numbers(lines))
    if "label" in columns:
        columns["label"] = _truth(columns["label"], origin)
    return columns, origin


def _codes(column: Column, coder: Coder) -> NDArray[Any]:
    """Code the texts of a column as they first occur, in this block or one before."""
    if isinstance(column, NumberColumn):
        values, numbers = np.unique(column.values, return_inverse=True)
        texts = NumberColumn.of(values).tolist()
        codes = coder.codes(column_of(texts, range(1, len(texts) + 1)))[numbers.reshape(-1)]
    else:
        codes = coder.codes(column)
    return np.asarray(codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0)))))


def _line_numbers(
    blocks: Sequence[tuple[int, int, NDArray[np.int64] | None]],
) -> NDArray[np.int64] | None:
    """Return the line of each row of all blocks; None where row n is in line n + 1."""
    if all(numbers is None for *_, numbers in blocks):
        return None
    ends = itertools.accumulate(n for _, n, _ in blocks)
    return np.concatenate(
        [
            end - n + (np.arange(1, rows + 1) if numbers is None else numbers)
            for end, (rows, n, numbers) in zip(ends, blocks, strict=True)
        ]
    )


def _truth(labels: Ids, origin: Origin) -> NDArray[np.bool_]:
    """Convert labels to truth values."""
    truth, pair = truth_of(labels.names)
    if unknown := [code for code, name in enumerate(labels.names) if name not in truth]:
        row = int(np.isin(labels.codes, unknown).argmax())
        line = row + 1 if origin.lines is None else origin.lines[row]
        numbers = [is_number(name) and not name.isdecimal() for name in labels.names]
        swapped = sum(numbers) > 1
        raise PrivacyEvalError(
            f"{origin.path}:{line}: expected the label {pair[0]} or {pair[1]}, found "
            f"{labels.text(row)!r} (1 and 0, true and false are labels, too){_SWAPPED * swapped}"
        )
    return np.asarray(np.array([truth[name] for name in labels.names])[labels.codes])


def parse_scores(field: Column, path: Path) -> NDArray[np.float64]:
    """Parse a column of decimal numbers, by NumPy or, if it fails, one by one.

    Raises
    ------
    PrivacyEvalError
        With file and line: a score that is not a decimal number, NaN or infinite; a whole number
        with more digits than a float.
    """
    if isinstance(field, NumberColumn):
        values = field.values.astype(np.float64)
    else:
        values, others = decimals(field)
        values[others] = _numbers(field.take(others), np.delete(values, others))
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise PrivacyEvalError(
            f"{path}:{field.line(row)}: expected a finite decimal number as score, "
            f"found {field.text(row)!r} ({counted(bad.size, 'such line')} to correct)"
            + _SWAPPED
            * (field.text(row) in ("target", "nontarget"))
        )
    check_whole_numbers(values, field.text, lambda row: f"{path}:{field.line(row)}")
    return values


def read_score_array(path: Path) -> NDArray[np.float64]:
    """Read an array of scores.

    Parameters
    ----------
    path : Path
        A .npy file, or a text of one score a line.

    Returns
    -------
    float64 array, shape (N,)

    Raises
    ------
    PrivacyEvalError
        As `parse_array` and `as_numbers`; a score that is not finite; a whole number with more
        digits than a float.
    """
    from .arrays import NPY_MAGIC, as_numbers, parse_array

    content = read_bytes(path)
    if not content.startswith(NPY_MAGIC[:1]):
        (column,) = split_columns(content, ("score",), path)
        return parse_scores(column, path)
    array = as_numbers(parse_array(content, path), 1, path)
    with np.errstate(over="ignore"):
        scores = as_floats(array, f"{path}: scores")
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise PrivacyEvalError(f"{path}: score {bad[0]} (from 0) is {scores[bad[0]]}, not finite")
    return scores


def _numbers(field: Column, beside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parse numbers of any form, by NumPy or, if it fails, one by one; NaN where there is none.
    Commas are decimal if neither these nor the numbers beside them have points."""
    if len(field) and int(field.size.max()) <= _USUAL_NUMBER_BYTES:
        grid = field.first_words
        text, underscore = grid.view(np.uint8), ord("_")
        # Digit groups of Python are no number.
        if text.max(initial=0) < underscore or not np.any(text == underscore):
            with contextlib.suppress(ValueError):
                return grid.view(f"S{8 * grid.shape[1]}").ravel().astype(np.float64)
    texts = field.tolist()
    if not any("." in text for text in texts) and not np.any(beside % 1):
        texts = [text.replace(",", ".", 1) for text in texts]
    return np.array([float(text) if is_number(text) else math.nan for text in texts])


def with_speakers(
    trials: Trials, utt2spk: Path | Loaded | None, enroll_utt2spk: Path | None = None
) -> Trials:
    """Look up the enrolled and the trial speaker of each trial, unless they have these columns.

    Parameters
    ----------
    trials : Trials
        With labels.
    utt2spk : Path, Loaded or None
        Speakers of the trial utterances; without such a file, ids such as `id10290/x/1.wav` tell
        theirs by their first folder. Enrolled ids that it lists are utterances, too; those that
        it does not list are speakers, or begin with the folder of one.
    enroll_utt2spk : Path, optional
        Speakers of the enrolled utterances or models.

    Returns
    -------
    Trials
        With the columns `enrolled_speaker` and `trial_speaker`.

    Raises
    ------
    PrivacyEvalError
        As `read_utt2spk`; an utterance or model without a speaker; labels that contradict the
        speakers: how the speakers of the first such trial were read.

    Examples
    --------
    >>> trials = Trials(
    ...     enrolled=["id1", "id1"], utterance=["id1/x/1.wav", "id2/y/1.wav"], label=[1, 0]
    ... )
    >>> with_speakers(trials, None).trial_speaker.tolist()
    ['id1', 'id2']
    """
    by_column = "trial_speaker" in trials, "enrolled_speaker" in trials
    utterance = trials.trial_speaker if by_column[0] else trials.utterance
    enrolled_id = trials.enrolled_speaker if by_column[1] else trials.enrolled
    if by_column[0]:
        named = trials.utterance.tolist() if "utterance" in trials else []
        speaker_of = dict(zip(named, utterance.tolist(), strict=False))
        trial = {u: (u, "by its column") for u in utterance.used}
    elif utt2spk is not None and Path(utt2spk).is_file():
        speaker_of = read_utt2spk(utt2spk)
        trial = _listed(utterance, speaker_of, utt2spk, "trial utterances")
    elif all(map(_prefix, utterance.used)):
        speaker_of = {u: _prefix(u) for u in utterance.used}
        trial = {u: (speaker, "by its first folder") for u, speaker in speaker_of.items()}
    else:
        raise PrivacyEvalError(
            f"{utt2spk or 'utt2spk'}: no such file; a bootstrap over speakers needs the "
            "speakers of the trial utterances: put utt2spk beside the trials, or name it "
            "with --utt2spk, or their column with --columns trial_speaker=NAME (trial_speaker=...)"
        )
    if by_column[1]:
        enrolled = {e: (e, "by its column") for e in enrolled_id.used}
    elif enroll_utt2spk is not None:
        given = read_utt2spk(enroll_utt2spk)
        enrolled = _listed(enrolled_id, given, enroll_utt2spk, "enrolled ids")
    else:
        source = "its column" if by_column[0] else utt2spk
        speakers = {*speaker_of.values()}
        enrolled = {e: _enrolled_reading(e, speaker_of, speakers, source) for e in enrolled_id.used}
    first = enrolled_id.renamed(lambda e: without_fraction(enrolled.get(e, _NOBODY)[0]))
    second = utterance.renamed(lambda u: without_fraction(trial.get(u, _NOBODY)[0]))
    wrong = np.flatnonzero((first.codes == second.among(first.names).codes) != trials.is_target)
    if wrong.size:
        row = int(wrong[0])
        names = enrolled_id.text(row), utterance.text(row)
        raise PrivacyEvalError(
            f"labels of {wrong.size} trials contradict their speakers; the first: a "
            f"{'target' if trials.is_target[row] else 'nontarget'} trial of enrolled "
            f"{_describe(names[0], enrolled[names[0]])} and trial "
            f"{_describe(names[1], trial[names[1]])}; "
            "--utt2spk names the speakers of utterances, --enroll-utt2spk those of enrolled "
            "utterances or models"
        )
    return trials.with_columns(enrolled_speaker=first, trial_speaker=second)


def _enrolled_reading(
    enrolled: str,
    speaker_of: Mapping[str, str],
    speakers: Collection[str],
    source: Path | Loaded | str | None,
) -> _Reading:
    """Read an enrolled id as a speaker, an utterance or a file of a speaker."""
    if enrolled in speakers:
        return enrolled, "a speaker"
    if enrolled in speaker_of and source is not None:
        return speaker_of[enrolled], f"by {source}"
    if prefix := _prefix(enrolled):
        return prefix, "by its first folder"
    return enrolled, "taken for a speaker, as no file lists it"


def _prefix(name: str) -> str:
    """Return the first folder of a relative path; "" if there is none."""
    first, slash, _ = name.partition("/")
    return first if slash else ""


def _listed(
    ids: Ids, speaker_of: Mapping[str, str], path: Path | Loaded, what: str
) -> dict[str, _Reading]:
    """Read ids by a list of speakers."""
    unknown = sorted(name for name in ids.used if name not in speaker_of)
    refuse_names(unknown, f"{path}: {len(unknown)} {what} have no speaker")
    return {name: (speaker_of[name], f"by {path}") for name in ids.used}


def _describe(name: str, reading: _Reading) -> str:
    speaker, how = reading
    return f"{name} (speaker {speaker}, {how})" if speaker != name else f"{name} ({how})"
