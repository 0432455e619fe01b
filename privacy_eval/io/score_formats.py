"""Formats of score files and trial keys: which columns hold speakers, utterances, scores, labels.

A format is an entry of `SCORE_FORMATS` or `KEY_FORMATS`: the fields of its lines, or a function.
A file is read by the format that is named, or else by the only one that fits all of its lines.

The command line lists the names of the formats, also for `--help`: NumPy is imported by the
functions that need it.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import COLUMNS, TRUTH
from ..errors import PrivacyEvalError
from .files import ARROW_MAGIC, PARQUET_MAGIC, LineLimit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .text_table import Column

    #: Columns by name: enrolled, utterance, and score or label or both.
    Columns = Mapping[str, Column]
    Split = Callable[[bytes, Path], Columns]
    Formats = Mapping[str, "Fields | Split"]

#: Fields of the lines of a format.
Fields = tuple[str, ...]


@dataclass(frozen=True)
class RecognizedFormat:
    """A format that a function splits, and that the first line of a file tells.

    A function without `recognizes` is a format, too, but one that must be named.

    Attributes
    ----------
    split : callable
        Of the content of a file and its path, which messages name: returns its columns.
    recognizes : callable
        Of the first line of a file: whether it has this format.
    blocks : callable, optional
        Of the path of a file: reads its columns in parts.
    """

    split: Split
    recognizes: Callable[[bytes], bool]
    blocks: Callable[[Path], Iterator[Columns]] | None = None

    def __call__(self, content: bytes, path: Path) -> Columns:
        """Split the content of a file into its columns."""
        return self.split(content, path)


#: Lines of a score file per trial of the key, and beyond that. A few too many are read, and the
#: trials named that are not in the key.
_LINES_PER_TRIAL, _HARMLESS_LINES = 4, 10_000
#: What tools write for target and nontarget trials, in small letters; and those that are words.
LABELS = tuple((target.encode(), nontarget.encode()) for target, nontarget in TRUTH)
WORDS = tuple(pair for pair in LABELS if pair[0] != b"1")
_DIGITS = (b"1", b"0")
_ANY_LABEL, _ANY_WORD = (tuple(dict.fromkeys(sum(pairs, ()))) for pairs in (LABELS, WORDS))

_HEADERS = {field: COLUMNS[field] for field in ("enrolled", "utterance", "score", "label")}
_FIELD_OF = {alias: field for field, aliases in _HEADERS.items() for alias in aliases}

#: A cell between tabs that is blank or several words.
_ODD_CELL = re.compile(r"[ \v\f]|\t(?=[\t\r\n]|\Z)|\n\t")


def _with_header(content: bytes, path: Path) -> Columns:
    """Read a table whose first line names the columns, separated by tabs, commas or blanks."""
    from .csv_text import read_table
    from .text_table import split_columns

    text = content.decode("utf-8", "backslashreplace")
    first, _, rest = text.partition("\n")
    is_odd = "," in first or ("\t" in first and _ODD_CELL.search(rest))  # else each cell is a word
    table = read_table(text, path) if is_odd else None
    names = table.header if table else first.split("\t" if "\t" in first else None)
    fields = tuple(_FIELD_OF.get(name.strip(' "\r').lower(), f"({name})") for name in names)
    kept = [n for n, field in enumerate(fields) if field in _HEADERS]
    if not {"enrolled", "utterance"} <= set(fields) or len({fields[n] for n in kept}) < len(kept):
        raise PrivacyEvalError(
            f"{path}:1: expected a header that names the columns, such as modelid segmentid LLR, "
            f"found {first.strip()[:80]!r}"
        )
    # An empty line in place of the header keeps the numbers of the lines.
    lines = table.words(kept) if table else b"\n" + rest.encode()
    fields = tuple(fields[n] for n in kept) if table else fields
    return dict(zip(fields, split_columns(lines, fields, path), strict=True))


def _bosaris(content: bytes, path: Path) -> Columns:
    """Read a BOSARIS score matrix in HDF5: every pair that its mask does not leave out."""
    import numpy as np

    from ..metrics import arguments
    from .arrays import as_numbers
    from .hdf5 import parse_hdf5
    from .ids import decode_id
    from .text_table import split_columns

    names = ("ID/row_ids", "ID/column_ids", "scores", "score_mask")
    arrays = parse_hdf5(content, path, only=names)
    try:
        *ids, scores, mask = (arrays[name] for name in names)
        rows, columns = ([decode_id(x, str(path)) for x in axis.ravel().tolist()] for axis in ids)
        if mask.dtype.kind not in "biu":
            raise ValueError(f"score_mask of {mask.dtype}")
        scores, mask = as_numbers(scores, 2, path), mask != 0
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise PrivacyEvalError(
            f"{path}: expected BOSARIS scores ({', '.join(names)}): {error}"
        ) from error
    if scores.shape != (len(rows), len(columns)) or mask.shape != scores.shape:
        raise PrivacyEvalError(
            f"{path}: scores of shape {scores.shape} and a mask of {mask.shape}, but {len(rows)} "
            f"row and {len(columns)} column ids"
        )
    given = np.argwhere(mask).tolist()
    values = arguments.as_numbers(scores[mask], f"{path}: scores").tolist()
    lines = [f"{rows[i]} {columns[j]} {x!r}\n" for (i, j), x in zip(given, values, strict=True)]
    fields = ("enrolled", "utterance", "score")
    split = split_columns("".join(lines).encode(), fields, path)
    return dict(zip(fields, split, strict=True))


def _arrow(content: bytes, path: Path) -> Columns:
    """Read a Parquet or Arrow table with columns of the names that headers have."""
    from .arrow import parse_arrow

    return _with_ids(parse_arrow(content, path, _FIELD_OF), path)


def _arrow_blocks(path: Path) -> Iterator[Columns]:
    """Read a Parquet or Arrow table in parts."""
    from .arrow import arrow_blocks

    return (_with_ids(columns, path) for columns in arrow_blocks(path, _FIELD_OF))


def _with_ids(columns: Columns, path: Path) -> Columns:
    if not {"enrolled", "utterance"} <= set(columns):
        raise PrivacyEvalError(
            f"{path}: expected the columns enroll and test, and score or label or both"
        )
    return columns


def _has_header(first: bytes) -> bool:
    """Tell whether a line names the columns of speaker, utterance and something else."""
    names = set(first.decode("utf-8", "replace").lower().replace(",", " ").split())
    fields = {field for field, aliases in _HEADERS.items() if names & set(aliases)}
    return {"enrolled", "utterance"} < fields


_NIST = RecognizedFormat(_with_header, lambda first: b"," not in first and _has_header(first))
_CSV = RecognizedFormat(_with_header, lambda first: b"," in first and _has_header(first))
_ARROW = RecognizedFormat(
    _arrow, lambda first: first.startswith((PARQUET_MAGIC, ARROW_MAGIC)), _arrow_blocks
)
_BOSARIS = RecognizedFormat(_bosaris, lambda first: first.startswith(b"\x89HDF"))

#: Formats of score files by name.
SCORE_FORMATS: Formats = {
    "kaldi": ("enrolled", "utterance", "score"),
    "wespeaker": ("enrolled", "utterance", "score", "label"),
    "speechbrain": ("enrolled", "utterance", "label", "score"),
    "3dspeaker": ("enrolled", "utterance", "label", "score"),
    "voxceleb_trainer": ("score", "enrolled", "utterance"),
    "nist": _NIST,
    "csv": _CSV,
    "bosaris": _BOSARIS,
    "arrow": _ARROW,
}

#: Formats of trial keys by name.
KEY_FORMATS: Formats = {
    "kaldi": ("enrolled", "utterance", "label"),
    "dca_plda": ("enrolled", "utterance", "label"),
    "voxceleb": ("label", "enrolled", "utterance"),
    "nist": _NIST,
    "csv": _CSV,
    "arrow": _ARROW,
}


def ends_open(content: bytes) -> bool:
    """Tell whether the last line of a file lacks the newline; formats without lines never do."""
    has_lines = not any(format.recognizes(content[:8]) for format in (_ARROW, _BOSARIS))
    return has_lines and not content.endswith(b"\n")


def split_format(content: bytes, path: Path, format: Fields | Split) -> Columns:
    """Split the content of a file into the columns of a format.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.
    format : tuple of str or callable
        A value of `SCORE_FORMATS` or `KEY_FORMATS`.

    Returns
    -------
    Columns

    Raises
    ------
    PrivacyEvalError
        With file and line: as `split_columns`; another header.

    Examples
    --------
    >>> columns = split_format(b"0.5 a.wav b.wav\\n", Path(), SCORE_FORMATS["voxceleb_trainer"])
    >>> columns["enrolled"].tolist()
    ['a.wav']
    """
    from .text_table import split_columns

    if callable(format):
        return format(content, path)
    return dict(zip(format, split_columns(content, format, path), strict=True))


def parse_labels(
    label: Column, path: Path, pairs: tuple[tuple[bytes, bytes], ...] = LABELS
) -> NDArray[np.bool_]:
    """Parse labels into target (True) and nontarget (False) trials.

    Parameters
    ----------
    label : Column
    path : Path
        For messages.
    pairs : tuple of (bytes, bytes)
        Accepted labels of target and nontarget trials; all in small letters, in capitals, or with
        a capital first.

    Returns
    -------
    bool array, shape (rows,)

    Raises
    ------
    PrivacyEvalError
        With file and line: another label than those of one pair.
    """
    first = label.text(0).encode()
    style = _style(first)
    fitting = [pair for pair in pairs if first.lower() in pair] or [pairs[0]]
    for target, nontarget in (*fitting, fitting[0]):  # the error is of the first
        is_target = label.equals(style(target))
        (unknown,) = (~(is_target | label.equals(style(nontarget)))).nonzero()
        if not unknown.size:
            return is_target
    row = int(unknown[0])
    raise PrivacyEvalError(
        f"{path}:{label.line(row)}: expected the label {style(target).decode()} or "
        f"{style(nontarget).decode()}, found {label.text(row)!r}"
    )


def guess_score_format(content: bytes, path: Path) -> str:
    """Find the only format that fits all lines of a score file.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.

    Returns
    -------
    str
        A key of `SCORE_FORMATS`; `kaldi` if none fits, so that its reader reports the error.

    Raises
    ------
    PrivacyEvalError
        More than one fits, or four columns without labels.

    Examples
    --------
    >>> guess_score_format(b"a.wav b.wav 1 0.3\\n", Path())
    'speechbrain'
    """
    first = _first_line(content)
    if (name := _recognized(first, SCORE_FORMATS)) is not None:
        return name
    layouts = _layouts(first, SCORE_FORMATS)
    if "kaldi" in layouts and _is_score(first.split()[-1]):  # also 0 or 1
        return "kaldi"
    fitting = _fitting(first, path, layouts)
    if len(fitting) > 1:
        fitting = _fitting(content, path, layouts)
    if len(fitting) == 1:
        return fitting[0]
    if "kaldi" in layouts or not layouts:
        return "kaldi"
    raise _undecided(path, layouts, "score", "--score-format")


def guess_key_format(content: bytes, path: Path) -> str:
    """Find the only format that fits all lines of a trial key.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.

    Returns
    -------
    str
        A key of `KEY_FORMATS`; `kaldi` if none fits, so that its reader reports the error.

    Raises
    ------
    PrivacyEvalError
        More than one fits.
    """
    first = _first_line(content)
    if (name := _recognized(first, KEY_FORMATS)) is not None:
        return name
    layouts = _layouts(first, KEY_FORMATS)
    if not layouts:
        return "kaldi"
    fitting = _fitting(content, path, layouts)
    if len(fitting) > 1:  # speakers may be called 0 and 1, but not target and nontarget
        fitting = _fitting(content, path, layouts, _ANY_WORD)
        if not fitting:
            raise _undecided(path, layouts, "label", "--key-format")
    name = fitting[0] if fitting else "kaldi"
    is_dca_plda = name == "kaldi" and first.split()[-1] in (b"tgt", b"imp")
    return "dca_plda" if is_dca_plda else name


def guess_list_format(content: bytes, path: Path) -> Fields | Split:
    """Find the fields of a list of trials, whose lines may have labels.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.

    Returns
    -------
    tuple of str or callable
        As of `split_format`: those of the key's format, where its first line has a label or a
        header; else enrolled speaker and utterance, and a field that is ignored.

    Raises
    ------
    PrivacyEvalError
        More than one format of keys fits.

    Examples
    --------
    >>> guess_list_format(b"1 a.wav b.wav\\n", Path()), guess_list_format(b"a b\\n", Path())
    (('label', 'enrolled', 'utterance'), ('enrolled', 'utterance'))
    """
    first = _first_line(content)
    begins_with_label = len(first.split()) == 3 and first.split()[0].lower() in _ANY_LABEL
    if begins_with_label or _recognized(first, KEY_FORMATS) is not None:
        return KEY_FORMATS[guess_key_format(content, path)]
    return ("enrolled", "utterance", "target|nontarget")[: max(2, len(first.split()))]


def _first_line(content: bytes) -> bytes:
    text = content.lstrip()
    end = text.find(b"\n")
    return text[: end if end >= 0 else None] + b"\n"


def _recognized(first: bytes, formats: Formats) -> str | None:
    """Return the format that the first line of a file tells."""
    return next(
        (
            name
            for name, format in formats.items()
            if isinstance(format, RecognizedFormat) and format.recognizes(first)
        ),
        None,
    )


def _layouts(first: bytes, formats: Formats) -> dict[str, Fields]:
    """Return the formats with as many fields as a line, and no two with the same."""
    number = len(first.split())
    layouts: dict[Fields, str] = {}
    for name, format in formats.items():
        if isinstance(format, tuple) and len(format) == number:
            layouts.setdefault(format, name)
    return {name: fields for fields, name in layouts.items()}


def _fitting(
    content: bytes,
    path: Path,
    layouts: Mapping[str, Fields],
    labels: tuple[bytes, ...] = _ANY_LABEL,
) -> list[str]:
    """Return the formats that fit all lines by their labels, and where these are several by their
    scores."""
    from .text_table import split_columns

    if not layouts:
        return []
    number = len(next(iter(layouts.values())))
    columns = split_columns(content, tuple(f"field {n + 1}" for n in range(number)), path)
    fits_labels = {
        name: dict(zip(fields, columns, strict=True))
        for name, fields in layouts.items()
        if "label" not in fields or _all(columns[fields.index("label")], labels)
    }
    if len(fits_labels) == 1:
        return list(fits_labels)
    return [name for name, by_field in fits_labels.items() if _fits_scores(by_field)]


def _fits_scores(columns: Columns) -> bool:
    """Tell whether the scores are numbers: the first ones, as reading all of them tells for sure.
    Without labels, a column of 0 and 1 is one of labels."""
    from .text_table import is_number

    if (scores := columns.get("score")) is None:
        return True
    numeric = all(map(is_number, map(scores.text, range(min(len(scores), 1000)))))
    return numeric and ("label" in columns or not _all(scores, _DIGITS))


def _is_score(field: bytes) -> bool:
    from .text_table import is_number

    return is_number(field.decode("utf-8", "replace"))


def _undecided(
    path: Path, layouts: Mapping[str, Fields], field: str, option: str
) -> PrivacyEvalError:
    places = sorted({fields.index(field) + 1 for fields in layouts.values()})
    ways = (f"{option} {name} ({', '.join(fields)})" for name, fields in layouts.items())
    return PrivacyEvalError(
        f"{path}: cannot tell whether column {' or '.join(map(str, places))} is the {field}: use "
        + " or ".join(ways)
    )


def _style(text: bytes) -> Callable[[bytes], bytes]:
    """Return how the letters of a label are written."""
    return next((s for s in (bytes.upper, bytes.capitalize) if s(text) == text), bytes.lower)


def _all(column: Column, texts: tuple[bytes, ...]) -> bool:
    first = column.text(0).encode()
    if first.lower() not in texts:
        return False
    known = (column.equals(_style(first)(text)) for text in texts)
    return any(so_far.all() for so_far in itertools.accumulate(known, operator.or_))


def line_limit(key: Path, trials: int) -> LineLimit:
    """Limit the lines of a score file by the trial key, as it may be untrusted.

    Parameters
    ----------
    trials : int
        Number of its trials.
    """
    lines = _LINES_PER_TRIAL * trials + _HARMLESS_LINES
    return LineLimit(lines, f"{key} has only {trials} trials")
