"""Metrics of a user: functions of `TrialScores` in a file or module, named by an option."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..metrics import METRICS, Metric, TrialScores, registry
from .files import digest, read_bytes


@dataclass(frozen=True)
class UserMetric:
    """A user-defined metric: a function of `TrialScores` that returns a number.

    Attributes
    ----------
    name : str
    function : callable
    sha256 : str
        Of the file that defines it: results of another version are rebuilt.
    """

    name: str
    function: Callable[[TrialScores], float]
    sha256: str

    def __call__(self, scores: TrialScores, **_: object) -> float:
        """Compute the metric; the variant is ignored.

        Raises
        ------
        PrivacyEvalError
            The function raises an exception, or does not return a finite number.
        """
        try:
            value: object = self.function(scores)
        except Exception as error:  # user code may raise anything
            message = f"raised {type(error).__name__}: {error}"
        else:
            if isinstance(value, numbers.Real) and math.isfinite(value):
                return float(value)
            message = f"returned {value!r}, expected a finite number"
        trials = f"{scores.n_target} target, {scores.n_nontarget} nontarget trials"
        raise PrivacyEvalError(f"metric {self.name} of {trials}: {message}")


def check_user_metric(text: str) -> str:
    """Check the form `NAME=FILE.py:FUNCTION` or `NAME=MODULE:FUNCTION`, and that the name does not
    resemble the key or title of a built-in metric; return the text.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Raises
    ------
    PrivacyEvalError
        Another form, no identifier, or the name of a built-in metric.

    Examples
    --------
    >>> check_user_metric("spread=my.py:spread")
    'spread=my.py:spread'
    """
    name, equals, source = text.partition("=")
    origin, colon, function = source.rpartition(":")
    if not (name and equals and origin and colon and function):
        raise PrivacyEvalError(f"expected NAME=FILE.py:FUNCTION, not {text!r}")
    if not name.isidentifier():
        raise PrivacyEvalError(f"{text}: {name!r} is not a valid identifier")
    for metric in METRICS.values():
        titles = (metric.key, metric.name, metric.sentence, metric.column.title)
        if _letters(name) in map(_letters, titles):
            raise PrivacyEvalError(f"{text}: {name!r} reads like the built-in metric {metric.key}")
    return text


def _letters(title: str) -> str:
    """Letters and digits of a name or title, without regard to case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", title).casefold()))


def load_user_metrics(texts: Iterable[str]) -> list[UserMetric]:
    """Import metrics, each named as `check_user_metric` describes.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    list of UserMetric

    Raises
    ------
    PrivacyEvalError
        Not of this form, no such file or function, the name of a built-in metric, two of one name.

    Examples
    --------
    >>> load_user_metrics(["span=missing.py:span"])
    Traceback (most recent call last):
    privacy_eval.errors.PrivacyEvalError: span=missing.py:span: missing.py: cannot be imported ...
    """
    own = [_load(text) for text in texts]
    if len({metric.name.casefold() for metric in own}) < len(own):
        raise PrivacyEvalError("--metric: two metrics of one name")
    return own


def _load(text: str) -> UserMetric:
    name, _, source = check_user_metric(text).partition("=")
    origin, _, function = source.rpartition(":")
    try:
        if origin.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"user_metric_{name}", origin)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(origin)
    except (ImportError, OSError, SyntaxError) as error:
        raise PrivacyEvalError(f"{text}: {origin}: cannot be imported ({error})") from error
    imported = getattr(module, function, None)
    if not callable(imported):
        raise PrivacyEvalError(f"{text}: {origin} has no function {function!r}")
    content = read_bytes(Path(module.__file__)) if module.__file__ else origin.encode()
    return UserMetric(name, imported, digest(content))


def registered(metrics: Iterable[UserMetric]) -> contextlib.AbstractContextManager[None]:
    """Register metrics within a block, for evaluation, tables and figures.

    Parameters
    ----------
    metrics : iterable of UserMetric

    Returns
    -------
    context manager

    Examples
    --------
    >>> with registered([UserMetric("span", lambda scores: 1.0, "")]):
    ...     "span" in METRICS
    True
    >>> "span" in METRICS
    False
    """
    return registry.registered(
        Metric(own.name, "scores", "own", own.name, own, range=(-math.inf, math.inf))
        for own in metrics
    )


def user_digests() -> dict[str, str]:
    """Return the digests of the registered metrics of the user by their name.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> user_digests()
    {}
    """
    own = (metric.function for metric in METRICS.values())
    return {metric.name: metric.sha256 for metric in own if isinstance(metric, UserMetric)}
