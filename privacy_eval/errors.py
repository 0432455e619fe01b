"""The exception for invalid data or options, as opposed to bugs."""

from __future__ import annotations

import difflib
import importlib
import os
import shlex
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

#: Environment variable: how progress is shown, `lines` in the log of a job.
PROGRESS = "PRIVACY_EVAL_PROGRESS"


#: Precedes the item of a message that is otherwise the same for many items.
FIRST = "; first: "


class PrivacyEvalError(Exception):
    """Invalid input. The message names the file, the line and what was expected.

    The command line prints it without a traceback and ends with exit code 1.

    Examples
    --------
    >>> try:
    ...     raise PrivacyEvalError("scores:3: not a number: x")
    ... except PrivacyEvalError as error:
    ...     print(error)
    scores:3: not a number: x
    """


class UsageError(PrivacyEvalError):
    """An option names what does not exist: exit code 2."""


class ContradictionError(PrivacyEvalError):
    """Numbers of one file cannot hold together."""


class ChangedError(PrivacyEvalError):
    """A file changed while it was read."""


class MissingLibraryError(PrivacyEvalError):
    """A package or model is not installed that not all uses need."""


class InputWarning(UserWarning):
    """A caveat about an input, which the command line prints."""


class OutputError(PrivacyEvalError):
    """Nothing can be written any more: the disk is full or read-only."""


def describe(error: Exception) -> str:
    """Describe why something failed: invalid input by its message, other errors by type and
    message.

    Examples
    --------
    >>> describe(PrivacyEvalError("scores: empty file")), describe(ZeroDivisionError("a / b"))
    ('scores: empty file', 'ZeroDivisionError: a / b')
    """
    if isinstance(error, PrivacyEvalError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    return f"{type(error).__name__}: {error}"


def check_values(checks: Mapping[str, bool]) -> None:
    """Raise a `ValueError` with the first message whose condition does not hold."""
    for message, holds in checks.items():
        if not holds:
            raise ValueError(message)


@contextmanager
def located(where: object, kind: type[PrivacyEvalError] = PrivacyEvalError) -> Iterator[None]:
    """Begin the message of an error with where it is: a file, or a part of it.

    Examples
    --------
    >>> with located("scores"):
    ...     raise PrivacyEvalError("empty")
    Traceback (most recent call last):
    ...
    privacy_eval.errors.PrivacyEvalError: scores: empty
    """
    try:
        yield
    except MissingLibraryError:
        raise
    except PrivacyEvalError as error:
        raise kind(f"{where}: {error}") from error


def missing_library(what: str, package: str, why: object = "") -> MissingLibraryError:
    """Return the error that a library is missing, with the command that installs it into the
    environment in use.

    Examples
    --------
    >>> str(missing_library("HDF5 files", "h5py"))
    'HDF5 files need h5py: ...python... -m pip install h5py'
    """
    command = f"{shlex.quote(sys.executable)} -m pip install {package}"
    return MissingLibraryError(f"{what} need {package}: {command}{f' ({why})' if why else ''}")


def library(module: str, what: str, package: str = "") -> Any:
    """Import an optional library; the error says how to install what is missing, or broken.

    Examples
    --------
    >>> library("no_such", "tables")
    Traceback (most recent call last):
    ...
    privacy_eval.errors.MissingLibraryError: tables need no_such: ... (No module named 'no_such')
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        raise missing_library(what, package or module, error) from error


#: What no run needs, and what is left out where it is missing or broken.
OPTIONAL = {
    "pdflatex": "tables.pdf",
    "matplotlib": "figures",
    "kaldialign": "word errors of transcripts",
    "onnxruntime": "predicted quality",
    "hama": "phone errors",
    "soundfile": "measures and audits of audio",
}


def is_usable(name: str, where: object) -> bool:
    """Tell whether an optional package can be imported; warn of what is left out without it."""
    try:
        importlib.import_module(name)
    except Exception as error:
        text = f"{where}: without {OPTIONAL[name]}, as {name} is missing or broken"
        warnings.warn(f"{text} ({describe(error)})", InputWarning, stacklevel=2)
        return False
    return True


def in_job() -> bool:
    """Tell whether stderr is the log of a job."""
    return os.environ.get(PROGRESS) == "lines"


def abbreviate(names: Sequence[str]) -> str:
    """Join the first five names, then "...".

    Examples
    --------
    >>> abbreviate(["a", "b"]), abbreviate("abcdef")
    ('a, b', 'a, b, c, d, e, ...')
    """
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def refuse_names(names: Collection[str], message: str, remedy: str = "") -> None:
    """Raise an error that ends with the first of some names, and a remedy, if there are names."""
    if names:
        raise PrivacyEvalError(f"{message}: {abbreviate([*names])}{remedy}")


def enumerated(words: Sequence[str]) -> str:
    """Join words as an enumeration.

    Examples
    --------
    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def known_names(name: str, known: Iterable[str]) -> str:
    """Say which names could be meant by an unknown one, or all that are known.

    Examples
    --------
    >>> known_names("EER", ["eer", "cllr"]), known_names("x", ["eer", "cllr"])
    ('did you mean eer?', 'only eer, cllr')
    """
    ordered = sorted(known) if isinstance(known, set | frozenset) else known
    folded = {str(of).lower(): str(of) for of in ordered if of}
    near = [folded[of] for of in difflib.get_close_matches(str(name).lower(), folded)]
    return f"did you mean {' or '.join(near)}?" if near else f"only {', '.join(folded.values())}"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun.

    Examples
    --------
    >>> counted(1, "condition"), counted(2, "voice similarity")
    ('1 condition', '2 voice similarities')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def printable(text: str) -> str:
    r"""Escape control and invisible characters of untrusted text for a terminal.

    Examples
    --------
    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shorten(text: str) -> str:
    """Shorten a long text for a message, keeping its end.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return text if len(text) <= _MAX_CHARACTERS else "..." + text[-_MAX_CHARACTERS:]


_MAX_CHARACTERS = 200
