"""Names of untrusted folders and files: printable, and not mistaken for one another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..errors import PrivacyEvalError

# Without a mark on paper, though Unicode has them as letters, marks and symbols.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


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
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        groups.setdefault(folded, []).append(name)
    return [group for group in groups.values() if len(group) > 1]
