"""Formats of score files and trial keys: which columns hold speakers, utterances, scores, labels.

A format is an entry of `SCORE_FORMATS` or `KEY_FORMATS`: the fields of its lines, or a function.
Formats differ in the order of the columns only, so a file is read by the one it is known to
have, or by the only one that fits all of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .arrays import as_numbers
from .csv_text import csv_rows
from .hdf5 import parse_hdf5
from .text_table import Column, is_number, line_number, split_columns

#: Columns by name: speaker, utterance, and score or label or both.
Columns = Mapping[str, Column]
Split = Callable[[bytes, Path], Columns]

#: Fields of the lines of a format.
Fields = tuple[str, ...]

#: What tools write for target and nontarget trials.
LABELS = ((b"target", b"nontarget"), (b"tgt", b"imp"), (b"1", b"0"))
_WORDS, _IMPOSTORS, _DIGITS = LABELS
_ANY_LABEL = tuple(text for pair in LABELS for text in pair)

#: Names of columns in the headers of tables.
_HEADERS = {
    "speaker": ("modelid", "enroll", "enrolled", "enrollment", "speaker", "model"),
    "utterance": ("segmentid", "segment", "test", "trial", "utterance"),
    "score": ("llr", "score"),
    "label": ("targettype", "label", "key"),
}


def _with_header(content: bytes, path: Path) -> Columns:
    """Read a table whose first line names the columns, separated by tabs, commas or blanks."""
    text = content.decode("utf-8", "backslashreplace")
    first, _, rest = text.partition("\n")
    names = first.replace(",", " ").split()
    known = {alias: field for field, aliases in _HEADERS.items() for alias in aliases}
    fields = tuple(known.get(name.lower(), f"({name})") for name in names)
    if not {"speaker", "utterance"} <= set(fields) or len(set(fields)) < len(fields):
        raise PrivacyEvalError(
            f"{path}:1: expected a header that names the columns, such as modelid segmentid LLR, "
            f"found {first.strip()[:80]!r}"
        )
    if "," in first:
        rows = dict(csv_rows(text, path))
        rest = "".join(" ".join(rows.get(n, ())) + "\n" for n in range(2, max(rows) + 1))
    # An empty line in place of the header keeps the numbers of the lines.
    columns = split_columns(b"\n" + rest.encode("utf-8"), fields, path)
    return dict(zip(fields, columns, strict=True))


def _bosaris(content: bytes, path: Path) -> Columns:
    """Read a BOSARIS score matrix in HDF5: every pair that its mask does not leave out."""
    names = ("ID/row_ids", "ID/column_ids", "scores", "score_mask")
    found = parse_hdf5(content, path, only=names)
    try:
        *ids, scores, mask = (found[name] for name in names)
        rows, columns = ([x.decode() for x in axis.ravel().tolist()] for axis in ids)
        if mask.dtype.kind not in "biu":
            raise ValueError(f"score_mask of {mask.dtype}")
        scores, mask = as_numbers(scores, 2, path), mask != 0
    except (KeyError, AttributeError, ValueError) as error:
        raise PrivacyEvalError(
            f"{path}: expected BOSARIS scores ({', '.join(names)}): {error}"
        ) from error
    if scores.shape != (len(rows), len(columns)) or mask.shape != scores.shape:
        raise PrivacyEvalError(
            f"{path}: scores of shape {scores.shape} and a mask of {mask.shape}, but {len(rows)} "
            f"row and {len(columns)} column ids"
        )
    given = np.argwhere(mask).tolist()
    values = scores[mask].astype(np.float64).tolist()
    lines = [f"{rows[i]} {columns[j]} {x!r}\n" for (i, j), x in zip(given, values, strict=True)]
    fields = ("speaker", "utterance", "score")
    split = split_columns("".join(lines).encode(), fields, path)
    return dict(zip(fields, split, strict=True))


#: Formats of score files by name.
SCORE_FORMATS: Mapping[str, Fields | Split] = {
    "kaldi": ("speaker", "utterance", "score"),
    "wespeaker": ("speaker", "utterance", "score", "label"),
    "speechbrain": ("speaker", "utterance", "label", "score"),
    "3dspeaker": ("speaker", "utterance", "label", "score"),
    "voxceleb_trainer": ("score", "speaker", "utterance"),
    "nist": _with_header,
    "csv": _with_header,
    "bosaris": _bosaris,
}

#: Formats of trial keys by name.
KEY_FORMATS: Mapping[str, Fields | Split] = {
    "kaldi": ("speaker", "utterance", "label"),
    "dca_plda": ("speaker", "utterance", "label"),
    "voxceleb": ("label", "speaker", "utterance"),
    "nist": _with_header,
    "csv": _with_header,
}


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
    >>> columns["speaker"].tolist()
    ['a.wav']
    """
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
        Accepted labels of target and nontarget trials.

    Returns
    -------
    bool array, shape (rows,)

    Raises
    ------
    PrivacyEvalError
        With file and line: another label than those of one pair.
    """
    target, nontarget = next((p for p in pairs if label.text(0).encode() in p), pairs[0])
    is_target = label.equals(target)
    unknown = np.flatnonzero(~(is_target | label.equals(nontarget)))
    if unknown.size:
        row = int(unknown[0])
        raise PrivacyEvalError(
            f"{path}:{line_number(label, row)}: expected the label {target.decode()} or "
            f"{nontarget.decode()}, found {label.text(row)!r}"
        )
    return is_target


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
    if content.startswith(b"\x89HDF"):
        return "bosaris"
    first = content.lstrip().split(b"\n", 1)[0]
    if (headed := _headed(first)) is not None:
        return headed
    words = first.decode("utf-8", "replace").split()
    if len(words) == 3 and is_number(words[0]) and not is_number(words[2]):
        return "kaldi" if words[0] in ("0", "1") else "voxceleb_trainer"
    if len(words) != 4:
        return "kaldi"
    columns = split_columns(content, ("field 1", "field 2", "field 3", "field 4"), path)
    third, fourth = ("label" if _all(c, _ANY_LABEL) else "score" for c in columns[2:])
    if third == fourth == "label":
        # The first fields; reading all of them tells for sure.
        third, fourth = (
            "score" if all(map(is_number, map(c.text, range(min(len(c), 1000))))) else "label"
            for c in columns[2:]
        )
    if {third, fourth} != {"score", "label"}:
        raise PrivacyEvalError(
            f"{path}: cannot tell whether column 3 or 4 is the score: use --format "
            "wespeaker (score, then label) or --format speechbrain (label, then score)"
        )
    return "wespeaker" if third == "score" else "speechbrain"


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
    first = content.lstrip().split(b"\n", 1)[0]
    if (headed := _headed(first)) is not None:
        return headed
    if len(first.split()) != 3:
        return "kaldi"
    columns = split_columns(content, ("field 1", "field 2", "field 3"), path)
    leading, trailing = (_all(columns[n], _ANY_LABEL) for n in (0, 2))
    if leading and trailing and not _all(columns[2], _WORDS):
        raise PrivacyEvalError(
            f"{path}: cannot tell whether column 1 or 3 is the label: use --key-format "
            "kaldi (label last) or --key-format voxceleb (label first)"
        )
    if leading and not trailing:
        return "voxceleb"
    return "dca_plda" if _all(columns[2], _IMPOSTORS) else "kaldi"


def _headed(first: bytes) -> str | None:
    """Detect the format from a header."""
    names = first.decode("utf-8", "replace").lower().replace(",", " ").split()
    found = {field for field, aliases in _HEADERS.items() if set(aliases) & set(names)}
    if not {"speaker", "utterance"} < found:
        return None
    return "csv" if b"," in first else "nist"


def _all(column: Column, texts: tuple[bytes, ...]) -> bool:
    return bool(np.logical_or.reduce([column.equals(text) for text in texts]).all())
