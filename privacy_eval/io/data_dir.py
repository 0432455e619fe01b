"""Kaldi data folders: utt2spk, spk2gender and the like."""

from __future__ import annotations

from pathlib import Path

from ..errors import PrivacyEvalError
from .text_table import Column, line_number, read_columns


def read_utt2spk(path: Path) -> dict[str, str]:
    """Speaker of every utterance.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, an utterance that stands twice.
    """
    utterances, speakers = _read_unique(path, "utterance", "speaker")
    return dict(zip(utterances.tolist(), speakers.tolist(), strict=True))


def read_spk2gender(path: Path) -> dict[str, str]:
    """Gender, `f` or `m`, of every speaker; errors as of `read_utt2spk`."""
    speakers, genders = _read_unique(path, "speaker", "f|m")
    found = dict(zip(speakers.tolist(), genders.tolist(), strict=True))
    for row, (speaker, gender) in enumerate(found.items()):
        if gender not in ("f", "m"):
            raise PrivacyEvalError(
                f"{path}:{line_number(genders, row)}: gender of {speaker!r} must be f or m, "
                f"not {gender!r}"
            )
    return found


def _read_unique(path: Path, key: str, value: str) -> tuple[Column, Column]:
    """The two columns of a file; no key stands twice."""
    (keys, values), _ = read_columns(path, (key, value))
    seen: set[str] = set()
    for row, name in enumerate(keys.tolist()):
        if name in seen:
            raise PrivacyEvalError(f"{path}:{line_number(keys, row)}: duplicate {key} {name!r}")
        seen.add(name)
    return keys, values
