"""Ids of speakers and utterances in text files."""

from __future__ import annotations

import re

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
