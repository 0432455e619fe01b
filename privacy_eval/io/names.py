"""Names of untrusted folders and files: printable, and not mistaken for one another; ids of
speakers and utterances in text files."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..choices import grouped, without_fraction
from ..errors import InputWarning, PrivacyEvalError, abbreviate

# What is said of names that only references, or only predictions have.
_ONE_SIDED = ("is never predicted ({} references)", "is never a reference ({} predictions)")
# What stands before the number of a class: e0, 00.
_CODE = re.compile(r"\A[^\W\d]?0*(?=\d)")
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


def vocabulary_notes(
    path: object, sides: Sequence[Iterable[str]], counted_as: Mapping[str, str]
) -> list[str]:
    """Say which names only one of two sides has that should have the same.

    Parameters
    ----------
    path : object
        For messages.
    sides : (iterable of str, iterable of str)
        References and predictions.
    counted_as : mapping
        Names that the challenge takes for another one.

    Raises
    ------
    PrivacyEvalError
        No name is on both sides.

    Examples
    --------
    >>> vocabulary_notes("x.csv", [["ang", "sad", "sad"], ["ang", "sadness"]], {})[0]
    'x.csv: sad is never predicted (2 of 3 references): is it sadness?'
    """
    counts = [Counter(side) for side in sides]
    if counts[0].keys().isdisjoint(counts[1]):
        references, predictions = (abbreviate(sorted(side)) for side in counts)
        text = f"references ({references}) and predictions ({predictions})"
        raise PrivacyEvalError(f"{path}: {text} share no name: rename those of one side")
    notes = []
    for own, other, text in zip(counts, counts[::-1], _ONE_SIDED, strict=True):
        for name in sorted(own.keys() - other.keys()):
            alike = [x for x in sorted(other.keys() - own.keys()) if _may_be_one(name, x)]
            note = f"{path}: {name} {text.format(f'{own[name]} of {own.total()}')}"
            note += f"; the challenge counts it as {counted_as[name]}" if name in counted_as else ""
            notes.append(note + (f": is it {' or '.join(alike)}?" if alike else ""))
    return notes


def _may_be_one(*names: str) -> bool:
    """Tell whether two names are one but for case, an abbreviation or the form of a number."""
    short, long = sorted((_CODE.sub("", without_fraction(n).casefold()) for n in names), key=len)
    return short == long or (len(short) > 2 and long.startswith(short))


def composed(names: Iterable[str], where: object) -> dict[str, str]:
    """Map names to their composed form (NFC); macOS decomposes those of files (NFD).

    Parameters
    ----------
    where : object
        Beginning of messages.

    Raises
    ------
    PrivacyEvalError
        Two names have one form.

    Examples
    --------
    >>> composed(["Zoe"], "wav")
    {'Zoe': 'Zoe'}
    """
    form = {name: unicodedata.normalize("NFC", name) for name in sorted(names)}
    if twice := [n for n, count in Counter(form.values()).items() if count > 1]:
        text = f"names that differ only in Unicode's form (composed or not): {abbreviate(twice)}"
        raise PrivacyEvalError(f"{where}: {text}; rename one of each")
    if changed := [form[name] for name in form if form[name] != name]:
        text = f"{len(changed)} decomposed names, as of macOS, are read as composed ones"
        warnings.warn(f"{where}: {text}: {abbreviate(changed)}", InputWarning, stacklevel=2)
    return form


def composed_table(table: Mapping[str, str], where: object) -> dict[str, str]:
    """Return a table with composed names and values, see `composed`."""
    form = composed(table, where)
    return {form[name]: unicodedata.normalize("NFC", value) for name, value in table.items()}


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
    if not tell_sessions(speaker_of):
        return {}
    found = {utterance: session(utterance) for utterance in speaker_of}
    pairs = {(speaker_of[u], name) for u, name in found.items()}
    return found if len(pairs) > len({speaker for speaker, _ in pairs}) else {}
