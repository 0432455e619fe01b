"""Names of untrusted folders and files: printable, and not mistaken for one another; ids of
speakers and utterances in text files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from ..choices import grouped
from ..errors import PrivacyEvalError

# Without a mark on paper, though Unicode has them as letters, marks and symbols.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)

#: Separators; other white space of Unicode is part of a name.
BLANKS = " \t\r"
#: Longer ids are surely not ids (a missing line end, a binary file).
MAX_FIELD_BYTES = 1024

_NOT_IN_IDS = re.compile(rb"[\x00-\x20\x7f]")


def is_printable(text: str) -> bool:
    r"""Tell whether all characters of a text are visible, or plain blanks between others.

    Returns
    -------
    bool
        False for line ends, other control characters, marks of direction, characters without
        width, halves of surrogate pairs, and a blank at either end.

    Examples
    --------
    >>> is_printable("50 % & Co"), is_printable("a\nb"), is_printable("a\u200bb")
    (True, False, False)
    """
    return text.isprintable() and text == text.strip() and not _INVISIBLE.search(text)


def check_name(name: str, where: object) -> None:
    r"""Make sure that a name is printable.

    Parameters
    ----------
    where : object
        Beginning of the message: the file or folder.

    Raises
    ------
    PrivacyEvalError
        Quotes the name in ASCII.

    Examples
    --------
    >>> check_name("B1", "exp")
    """
    if not is_printable(name):
        raise PrivacyEvalError(
            f"{where}: the name {ascii(name[:80])} has unprintable characters, or leading or "
            "trailing blanks: rename it"
        )


def look_alike(names: Iterable[str]) -> list[list[str]]:
    """Group names that differ, but not after compatibility and case folding (NFKC, casefold).

    Returns
    -------
    list of list of str
        Groups of two names or more.

    Examples
    --------
    >>> look_alike(["B1", "b1", "B2"])
    [['B1', 'b1']]
    """

    def folded(name: str) -> str:
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())

    groups = grouped(dict.fromkeys(names), folded).values()
    return [group for group in groups if len(group) > 1]


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


def tell_sessions(speaker_of: Mapping[str, str]) -> bool:
    """Whether each id of an utterance has a part between the speaker and its last part."""
    return not any(session(u) in (u, speaker) for u, speaker in speaker_of.items())
