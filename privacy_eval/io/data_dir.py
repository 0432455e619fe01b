"""Kaldi data folders: utt2spk, spk2gender and the like."""

from __future__ import annotations

from pathlib import Path

from ..errors import PrivacyEvalError
from .text_table import line_number, read_columns


def read_mapping(path: Path, key: str, value: str) -> dict[str, str]:
    """A file of `<key> <value>` lines as a dictionary in file order.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a key that stands twice.
    """
    (keys, values), _ = read_columns(path, (key, value))
    names = keys.tolist()
    mapping = dict(zip(names, values.tolist(), strict=True))
    if len(mapping) < len(names):
        seen: set[str] = set()
        for row, name in enumerate(names):
            if name in seen:
                raise PrivacyEvalError(f"{path}:{line_number(keys, row)}: duplicate {key} {name!r}")
            seen.add(name)
    return mapping


def read_utt2spk(path: Path) -> dict[str, str]:
    """Speaker of every utterance."""
    return read_mapping(path, "utterance", "speaker")


def read_spk2gender(path: Path) -> dict[str, str]:
    """Gender, `f` or `m`, of every speaker."""
    genders = read_mapping(path, "speaker", "f|m")
    for line, (speaker, gender) in enumerate(genders.items(), start=1):
        if gender not in ("f", "m"):
            raise PrivacyEvalError(
                f"{path}:{line}: gender of {speaker!r} must be f or m, not {gender!r}"
            )
    return genders
