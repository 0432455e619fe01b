"""Formats of score files and trial keys: which columns hold speakers, utterances, scores, labels.

A format is an entry of `SCORE_FORMATS` or `KEY_FORMATS`: the fields of its lines, or a function.
A file is read by the format that is named, or else by the only one that fits all of its lines.

The command line lists the names of the formats, also for `--help`: NumPy is imported by the
functions that need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..choices import COLUMNS, TRUTH, fields_of
from ..errors import PrivacyEvalError
from .csv_text import ROW_NUMBERS, cells_of, folded, read_table
from .files import ARROW_MAGIC, ARROW_STREAM, PARQUET_MAGIC, LineLimit, Loaded, read_text
from .names import decode_id

if TYPE_CHECKING:
    from .text_table import Column

#: Columns by the names in `COLUMNS`, and further ones.
Columns = Mapping[str, "Column"]
Split = Callable[[bytes, Path], Columns]
#: Fields of the lines of a format.
Fields = tuple[str, ...]
Formats = Mapping[str, Fields | Split]


@dataclass(frozen=True)
class RecognizedFormat:
    """A format that a function splits, and that the first line of a file tells.

    A function without `recognizes` is a format, too, but one that must be named.

    Attributes
    ----------
    split : callable
        Of the content of a file and its path, which messages name: returns its columns.
    recognizes : callable
        Of the first line of a file: something true if it has this format.
    blocks : callable, optional
        Of the path of a file: reads its columns in parts.
    """

    split: Split
    recognizes: Callable[[bytes], object]
    blocks: Callable[[Path], Iterator[Columns]] | None = None

    def __call__(self, content: bytes, path: Path) -> Columns:
        """Split the content of a file into its columns."""
        return self.split(content, path)


#: Lines of a score file per trial of the key, and beyond that. A few too many are read, and the
#: trials named that are not in the key.
_LINES_PER_TRIAL, _HARMLESS_LINES = 4, 10_000
#: What tools write for target and nontarget trials, in small letters; and those that are words.
_PAIRS = [frozenset(label.encode() for label in pair) for pair in TRUTH]
_ANY_LABEL: frozenset[bytes] = frozenset().union(*_PAIRS)
_DIGITS = frozenset((b"1", b"0"))
_ANY_WORD = _ANY_LABEL - {*_DIGITS, b"-1"}

_IDS = {"enrolled", "utterance"}
_REQUIRED = {*_IDS, "score", "label"}
#: A cell between tabs that is blank or several words.
_ODD_CELL = re.compile(rb"[ \v\f]|\t(?=[\t\r\n]|\Z)|\n\t")
#: Two whole numbers, or one with a decimal comma.
_WHOLE_OR_DECIMAL = re.compile(rb"-?\d+,\d+")
_DECIMAL = re.compile(rb"\d[.,]\d")
#: NIST's segments have two sides; keys of 2010 have no header.
_SRE10 = re.compile(rb"[^\s,]+,[^\s,]+,[ABab],\S+\s*")
_ESPNET = re.compile(rb"[^\s*]+\*[^\s*]+\s+-?\d+\.\d+\s+[01]\s+")
_COLUMNS_OPTION = "--columns enrolled=NAME,utterance=NAME,score=NAME,label=NAME (columns={...})"


def find_columns(
    header: Sequence[str], path: Path, named: Mapping[str, str] = MappingProxyType({})
) -> dict[str, int]:
    """Find the columns of trials by their names.

    Parameters
    ----------
    header : sequence of str
    path : Path
        For messages.
    named : mapping of str to str
        Names by field; the other fields have the names in `COLUMNS`. Names of ids, scores and
        labels must be there.

    Returns
    -------
    dict of str to int
        Place by field.

    Raises
    ------
    PrivacyEvalError
        Such a name that is not there; two columns of one field; columns that do not tell where
        the ids are.

    Examples
    --------
    >>> find_columns(["left", "test", "score"], Path("x.csv"), {"enrolled": "left"})
    {'enrolled': 0, 'utterance': 1, 'score': 2}
    """
    cells = ", ".join(map(repr, header))[:200]
    if "\ufffd" in cells:
        raise PrivacyEvalError(f"{path}:1: not UTF-8: save it as text in UTF-8, found {cells}")
    if absent := [n for field, n in named.items() if field in _REQUIRED and n not in header]:
        raise PrivacyEvalError(f"{path}:1: no column {absent[0]!r}, only {cells}")
    found = {field: header.index(name) for field, name in named.items() if name in header}
    others = [name for name in header if name not in named.values()]
    for field, meant in fields_of(others, known=found).items():
        places = [place for place, name in enumerate(header) if name in meant]
        if len(places) > 1:
            first, second = (header[place] for place in places[:2])
            raise PrivacyEvalError(
                f"{path}:1: the columns {first!r} and {second!r} both may be the {field}: name the "
                f"right one, --columns {field}={second} (columns={{...}}), or keep one of them"
            )
        found[field] = places[0]
    found |= {"side": header.index("side")} if "side" in header else {}
    n_index = sum(bool(re.fullmatch(ROW_NUMBERS, folded(name))) for name in others)
    unknown = len(header) > len(found) + n_index
    n_ids = len(_IDS & {*found})
    if not named and (n_ids == 1 or not found or (unknown and not n_ids)):
        raise PrivacyEvalError(
            f"{path}:1: expected a header that names the columns, such as enroll, test, score, "
            f"label, found {cells}: name them by {_COLUMNS_OPTION}"
        )
    return found


def _is_header(first: bytes) -> bool:
    """Tell whether a line names the columns of ids and something else, or only known ones."""
    try:
        header = cells_of(first.decode("utf-8", "replace"))[1]
        found = find_columns(header, Path())
    except PrivacyEvalError:
        return False
    return len(found) > 2 or len(found) == len([*filter(None, header)])


def read_named(
    content: bytes, path: Path, named: Mapping[str, str], otherwise: Split | None = None
) -> Columns:
    """Read a table by the names of its columns, in any format that has some.

    Parameters
    ----------
    content : bytes
    path : Path
        For messages.
    named : mapping of str to str
        By field: the name of its column, or in a file without a header its number from 1.
        Those of usual names need none.
    otherwise : callable, optional
        Reads a file that has none of the names.

    Raises
    ------
    PrivacyEvalError
        As `find_columns`; with file and line: a malformed line, an id that is not one word.

    Examples
    --------
    >>> columns = read_named(b"left;sim\\na;0,5\\n", Path(), {"utterance": "left", "score": "sim"})
    >>> columns["utterance"].tolist()
    ['a']
    """
    if _ARROW.recognizes(content[:8]):
        from .text_table import parse_arrow

        return parse_arrow(content, path, partial(find_columns, path=path, named=named))
    from .text_table import Coder, split_columns

    first = _first_line(content)
    separator, header = cells_of(first.decode("utf-8", "replace"))
    numbers = None
    if named and all(map(str.isdecimal, named.values())):
        if len(header) < max(map(int, named.values())):
            separator, header = " ", first.decode("utf-8", "replace").split()
        numbers = [str(n + 1) for n in range(len(header))]
        if "score" in named and not _is_score((cell := header[int(named["score"]) - 1]).encode()):
            raise PrivacyEvalError(
                f"{path}:1: {cell!r} is not a score: below a header, name columns"
            )
    elif otherwise is not None and {*named.values()}.isdisjoint(header):
        return otherwise(content, path)
    rest = content if numbers else content.replace(first, b"\n", 1)  # lines keep their numbers
    cells = rest if separator in " \t" else rest.replace(separator.encode(), b"\t")
    regular = b'"' not in rest and (separator in " \t" or b"\t" not in rest)
    width = len(_first_line(cells).split())
    if regular and width == len(header) and (separator == " " or not _ODD_CELL.search(cells)):
        places = find_columns(numbers or header, path, named)
        split = split_columns(cells, tuple(numbers or header), path)
        columns = {field: split[place] for field, place in places.items()}
        if "side" not in columns or not Coder().codes(columns["side"]).any():
            return columns
    table = read_table(read_text(Loaded(path, content)), path, numbers)
    places = find_columns(table.header, path, named)
    side, utterance = (places.get(field, -1) for field in ("side", "utterance"))
    if min(side, utterance) >= 0 and len({*table.cells(side)}) > 1:
        for _, row in table.rows:
            row[utterance] = f"{row[utterance]}_{row[side]}"
    return {field: table.column(place, words=field in COLUMNS) for field, place in places.items()}


def _espnet(content: bytes, path: Path) -> Columns:
    """Read lines of two ids that an asterisk joins, a score and a label."""
    return split_format(content.replace(b"*", b" "), path, SCORE_FORMATS["wespeaker"])


def _bosaris(content: bytes, path: Path) -> Columns:
    """Read a BOSARIS score matrix in HDF5: every pair that its mask does not leave out."""
    import numpy as np

    from ..metrics import arguments
    from .arrays import as_numbers, parse_hdf5
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


def _arrow_blocks(path: Path) -> Iterator[Columns]:
    """Read a Parquet or Arrow table in parts."""
    from .text_table import arrow_blocks

    return arrow_blocks(path, partial(find_columns, path=path))


def _table(recognizes: Callable[[bytes], object], **named: str) -> RecognizedFormat:
    return RecognizedFormat(partial(read_named, named=named), recognizes)


_NIST = _table(lambda first: not re.search(b"[,;|]", first) and _is_header(first))
_CSV = _table(lambda first: bool(re.search(b"[,;|]", first)) and _is_header(first))
_MAGICS = (PARQUET_MAGIC, ARROW_MAGIC, ARROW_STREAM)
_ARROW = RecognizedFormat(
    partial(read_named, named={}), lambda first: first.startswith(_MAGICS), _arrow_blocks
)
_ID_NUMBERS = {"enrolled": "1", "utterance": "2", "side": "3"}
_BOSARIS = RecognizedFormat(_bosaris, lambda first: first.startswith(b"\x89HDF"))

#: Formats of score files by name.
SCORE_FORMATS: Formats = {
    "kaldi": ("enrolled", "utterance", "score"),
    "wespeaker": ("enrolled", "utterance", "score", "label"),
    "speechbrain": ("enrolled", "utterance", "label", "score"),
    "3dspeaker": ("enrolled", "utterance", "label", "score"),
    "voxceleb_trainer": ("score", "enrolled", "utterance"),
    "espnet": RecognizedFormat(_espnet, _ESPNET.fullmatch),
    "compute_eer": ("score", "label"),
    "label_score": ("label", "score"),
    "scores": ("score",),
    "sre10": _table(_SRE10.fullmatch, score="4", **_ID_NUMBERS),
    "nist": _NIST,
    "csv": _CSV,
    "bosaris": _BOSARIS,
    "arrow": _ARROW,
}

#: Formats of trial keys by name.
KEY_FORMATS: Formats = {
    "kaldi": ("enrolled", "utterance", "label"),
    "voxceleb": ("label", "enrolled", "utterance"),
    "sre10": _table(_SRE10.fullmatch, label="4", **_ID_NUMBERS),
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
    return dict(zip(format, split_columns(_tabbed(content), format, path), strict=True))


def _tabbed(content: bytes) -> bytes:
    """Separate cells by tabs where the first line has no blanks, but other separators."""
    first = _first_line(content)[:-1]
    if re.search(rb'[\s"]', first.strip()) or _WHOLE_OR_DECIMAL.fullmatch(first.strip()):
        return content
    mark = next((mark for mark in (b";", b",", b"|") if mark in first), None)
    return content.replace(mark, b"\t") if mark else content


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
    content = _without_unknown_header(content, path)
    first = _first_line(content)
    layouts = _layouts(first, SCORE_FORMATS)
    if "kaldi" in layouts and _is_score(first.split()[-1]):  # also 0 or 1
        return "kaldi"
    fitting = _fitting(first, path, layouts)
    if len(fitting) > 1:
        fitting = _fitting(content, path, layouts)
    if len(fitting) == 1:
        return fitting[0]
    if "kaldi" in layouts or not layouts or (not fitting and len(first.split()) < 3):
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
    content = _without_unknown_header(content, path)
    layouts = _layouts(_first_line(content), KEY_FORMATS)
    if not layouts:
        return "kaldi"
    fitting = _fitting(content, path, layouts)
    if len(fitting) > 1:  # speakers may be called 0 and 1, but not target and nontarget
        fitting = _fitting(content, path, layouts, _ANY_WORD)
        if not fitting:
            raise _undecided(path, layouts, "label", "--key-format")
    return fitting[0] if fitting else "kaldi"


def _without_unknown_header(content: bytes, path: Path) -> bytes:
    """Refuse a line of names above lines with numbers; separate cells by blanks or tabs."""
    head = content[: 1 << 16].decode("utf-8", "replace")
    first, second = (head.lstrip().split("\n", 2) + ["", ""])[:2]
    words, below = ([w.lower().encode() for w in line.split()] for line in (first, second))
    separated = all(word.endswith((b",", b";", b"|")) for word in words[:-1])
    labelled = any(pair & {*words} and pair & {*(below or words)} for pair in _PAIRS)
    if len(words) > 2 and not separated and (labelled or any(map(_is_score, words))):
        return content  # of words, whatever their characters
    separator, names = cells_of(first)
    cells = cells_of(second, separator)[1][-len(names) :]  # without R's number of the row
    pairs = [(a.lower().encode(), b.lower().encode()) for a, b in zip(names, cells, strict=False)]
    has_label = any({*pair} <= _ANY_LABEL for pair in pairs)
    # Beside the label of three fields are two ids, of which one may be a number.
    has_word = len(names) == 3 and any({*pair} <= _ANY_WORD for pair in pairs)
    has_decimal = any(_DECIMAL.search(cell) and _is_score(cell) for _, cell in pairs)
    has_value = any(_is_score(cell) or cell in _ANY_LABEL for _, cell in pairs)
    is_header = (has_decimal and not has_word) or (has_value and not has_label)
    if is_header and len(cells) == len(names) and not any(_is_score(name) for name, _ in pairs):
        find_columns(names, path)
    return _tabbed(content)


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
    own = {name: f for name, f in formats.items() if isinstance(f, RecognizedFormat)}
    return next((name for name, format in own.items() if format.recognizes(first)), None)


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
    labels: Collection[bytes] = _ANY_LABEL,
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
    if len(fits_labels) == 1 < len(layouts):
        return list(fits_labels)
    return [name for name, by_field in fits_labels.items() if _fits_scores(by_field)]


def _fits_scores(columns: Columns) -> bool:
    """Tell whether the scores are numbers: the first ones, as reading all of them tells for sure.
    Without labels, a column of 0 and 1 is one of labels."""
    if (scores := columns.get("score")) is None:
        return True
    numeric = all(_is_score(scores.text(row).encode()) for row in range(min(len(scores), 1000)))
    return numeric and ("label" in columns or not _all(scores, _DIGITS))


def _is_score(field: bytes) -> bool:
    from .text_table import is_number

    return is_number(field.decode("utf-8", "replace").replace(",", "."))


def _undecided(
    path: Path, layouts: Mapping[str, Fields], field: str, option: str
) -> PrivacyEvalError:
    places = sorted({fields.index(field) + 1 for fields in layouts.values()})
    ways = (
        f"{option} {name} (--columns {','.join(f'{f}={n}' for n, f in enumerate(fields, 1))})"
        for name, fields in layouts.items()
    )
    return PrivacyEvalError(
        f"{path}: cannot tell whether column {' or '.join(map(str, places))} is the {field}: use "
        + " or ".join(ways)
        + " (in Python, format=...)"
    )


def _all(column: Column, texts: Collection[bytes]) -> bool:
    """Tell whether all texts, in small letters, are among some."""
    from .text_table import Coder

    if column.text(0).lower().encode() not in texts:
        return False
    coder = Coder()
    coder.codes(column)
    return {text.lower().encode() for text in coder.names} <= {*texts}


def columns_of_key(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a key among those of a score file: numbers are of the latter alone."""
    numbered = "score" in columns and all(map(str.isdecimal, columns.values()))
    return {f: name for f, name in columns.items() if f != "score" and not numbered}


def line_limit(key: Path, trials: int) -> LineLimit:
    """Limit the lines of a score file by the trial key, as it may be untrusted.

    Parameters
    ----------
    trials : int
        Number of its trials.
    """
    lines = _LINES_PER_TRIAL * trials + _HARMLESS_LINES
    return LineLimit(lines, f"{key} has only {trials} trials")
