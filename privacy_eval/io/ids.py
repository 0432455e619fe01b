"""Ids of speakers and utterances in text files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import PrivacyEvalError

#: Longer ids are surely not ids (a missing line end, a binary file).
MAX_FIELD_BYTES = 1024

_NOT_IN_IDS = re.compile(rb"[\x00-\x20\x7f]")


def decode_id(word: bytes, where: str) -> str:
    """Decode an id: of a speaker, an utterance.

    Parameters
    ----------
    where : str
        Beginning of errors.

    Raises
    ------
    PrivacyEvalError
        Empty or of over `MAX_FIELD_BYTES`, not UTF-8, with blanks or control characters.

    Examples
    --------
    >>> decode_id(b"s1", "utt2spk:1")
    's1'
    """
    if not 0 < len(word) <= MAX_FIELD_BYTES or _NOT_IN_IDS.search(word):
        raise PrivacyEvalError(
            f"{where}: expected an id of 1 to {MAX_FIELD_BYTES} bytes without blanks and "
            f"control characters, found {word[:40]!r}"
        )
    return decode_text(word, where)


def decode_text(content: bytes, where: str) -> str:
    """Decode UTF-8.

    Parameters
    ----------
    where : str
        Beginning of the error.

    Raises
    ------
    PrivacyEvalError
        Not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PrivacyEvalError(f"{where}: not UTF-8 text: {content[:40]!r}") from error


def session(utterance: str) -> str:
    """Return the session of an utterance: its id without the last part, which a hyphen begins.

    Parameters
    ----------
    utterance : str

    Returns
    -------
    str

    Examples
    --------
    >>> session("121-123852-0000")
    '121-123852'
    """
    return utterance.rpartition("-")[0] or utterance


def sessions_of(speaker_of: Mapping[str, str]) -> dict[str, str]:
    """Return the session of every utterance, if ids tell sessions: each has a part between the
    speaker and its last part, and some speaker has several sessions.

    Parameters
    ----------
    speaker_of : mapping of str to str
        By utterance.

    Returns
    -------
    dict of str to str
        Empty if ids do not tell sessions.

    Examples
    --------
    >>> sessions_of({"121-1-0": "121", "121-1-1": "121", "121-2-0": "121"})
    {'121-1-0': '121-1', '121-1-1': '121-1', '121-2-0': '121-2'}
    >>> sessions_of({"s1-u1": "s1", "s1-u2": "s1"})
    {}
    """
    found = {utterance: session(utterance) for utterance in speaker_of}
    if any(name in (u, speaker_of[u]) for u, name in found.items()):
        return {}
    pairs = {(speaker_of[u], name) for u, name in found.items()}
    return found if len(pairs) > len({speaker for speaker, _ in pairs}) else {}
