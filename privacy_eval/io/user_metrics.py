"""Metrics that are not built in: functions of `TrialScores` that an option names, and metrics
that results files describe."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..metrics import METRICS, Metric, MetricDescription, TrialScores, registry
from ..metrics.registry import BUILT_IN, SUBJECTIVE
from ..wings import of_wings
from .files import digest, read_bytes
from .names import check_name

# Longest name and description of a metric, and most decimals, that results files may state.
_MAX_NAME, _MAX_TEXT, _MAX_DECIMALS = 64, 200, 12

#: Names of other tables, whose files the table of a metric would replace.
_TABLES = frozenset(
    "asr asv averages consistency eers emotion identification identified intervals main_results "
    "measures min_dcf miss_rate overlap pitch ranking ser sets similarity speakers strongest "
    "summary thresholds utility variants voice zebra".split()
)


@dataclass(frozen=True)
class UserMetric:
    """A user-defined metric: a function of `TrialScores` that returns a number.

    Attributes
    ----------
    function : callable
    sha256 : str
        Of the file that defines it, without modules that it imports: results of another version
        are rebuilt.
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
            if isinstance(value, numbers.Real) and math.isfinite(value):
                return float(value)
            message = f"returned {value!r}, expected a finite number"
        except (Exception, SystemExit) as error:  # user code may raise anything
            message = f"raised {type(error).__name__}: {error}"
        trials = f"{scores.n_target} target, {scores.n_nontarget} nontarget trials"
        raise PrivacyEvalError(f"metric {self.name} of {trials}: {message}")


def check_user_metric(text: str) -> str:
    """Check the form `NAME=FILE.py:FUNCTION` or `NAME=MODULE:FUNCTION`, and that the name does not
    resemble the key or title of a built-in metric; return the text.

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
    if not name.isidentifier() or len(name) > _MAX_NAME:
        raise PrivacyEvalError(f"{text}: {name[:80]!r} is not a valid identifier")
    _check_not_built_in(name, text)
    return text


def check_descriptions(described: Mapping[str, MetricDescription], where: str) -> None:
    """Check descriptions of metrics that are not built in, as untrusted results files state them.

    Parameters
    ----------
    described : mapping
        By key.
    where : str
        Beginning of the message of any error.

    Raises
    ------
    PrivacyEvalError
        A key that is no identifier; texts that are long, not printable, or markup; an empty range;
        a key, name or title that reads like one of a built-in or another of these metrics.
    """
    keys: dict[str, str] = {}
    for key, metric in described.items():
        at = f"{where}: metric {ascii(key[:_MAX_NAME])}"
        texts = (metric.name, metric.title, metric.unit, metric.meaning, metric.chance)
        # A dot within a number, as in min_dcf_0.01.
        identifier = key.replace(".", "").isidentifier() and not key.startswith(SUBJECTIVE)
        if not identifier or ".." in key or len(key) > _MAX_NAME:
            raise PrivacyEvalError(f"{at}: the key is not a valid identifier")
        for text in texts:
            check_name(text, at)
            if len(text) > _MAX_TEXT or {"$", "\\"} & set(text):
                raise PrivacyEvalError(
                    f"{at}: expected at most {_MAX_TEXT} characters without $ and \\, "
                    f"found {text[:80]!r}"
                )
        if not metric.name or len(metric.range) != 2 or not metric.range[0] < metric.range[1]:
            raise PrivacyEvalError(f"{at}: expected a name and a range of two numbers")
        if not (0 <= metric.decimals <= _MAX_DECIMALS and 0 <= metric.detail <= _MAX_DECIMALS):
            raise PrivacyEvalError(f"{at}: expected 0 to {_MAX_DECIMALS} decimals")
        for name in {key, metric.name, metric.title} - {""}:
            _check_not_built_in(name, at)
        other = keys.setdefault(_letters(key), key)
        if other != key:
            raise PrivacyEvalError(f"{at}: reads like the metric {other!r}")


def _check_not_built_in(name: str, where: str) -> None:
    """Check that a name is not mistaken for a built-in metric or a table."""
    if name in _TABLES:
        raise PrivacyEvalError(f"{where}: {name!r} is the name of a table")
    for metric in map(METRICS.__getitem__, sorted(BUILT_IN)):
        titles = (metric.key, metric.name, metric.sentence, metric.column.title)
        if _letters(name) in map(_letters, titles):
            raise PrivacyEvalError(f"{where}: {name!r} reads like the built-in metric {metric.key}")


def _letters(title: str) -> str:
    """Letters and digits of a name or title, without regard to case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", title).casefold()))


def load_user_metrics(texts: Iterable[str]) -> list[UserMetric]:
    """Import metrics, each named as `check_user_metric` describes.

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
    except (Exception, SystemExit) as error:  # user code may raise anything
        why = f"{type(error).__name__}: {error}"
        raise PrivacyEvalError(f"{text}: {origin}: cannot be imported ({why})") from error
    imported = getattr(module, function, None)
    if not callable(imported):
        raise PrivacyEvalError(f"{text}: {origin} has no function {function!r}")
    content = read_bytes(Path(module.__file__)) if module.__file__ else origin.encode()
    return UserMetric(name, imported, digest(content))


def registered(metrics: Iterable[UserMetric]) -> contextlib.AbstractContextManager[None]:
    """Register metrics within a block, for evaluation, tables and figures; forget at its end also
    those registered by `register`.

    Examples
    --------
    >>> with registered([UserMetric("span", lambda scores: 1.0, "")]):
    ...     "span" in METRICS
    True
    >>> "span" in METRICS
    False
    """
    return registry.registered(
        Metric("scores", "own", own.name, key=own.name, function=own, range=(-math.inf, math.inf))
        for own in metrics
    )


def register(described: Mapping[str, MetricDescription]) -> None:
    """Register metrics that results describe, for tables and figures.

    Parameters
    ----------
    described : mapping
        By key, see `Results.described`.

    Raises
    ------
    PrivacyEvalError
        As `check_descriptions`, or of another description than a registered metric's.
    """
    check_descriptions(described, "results")
    for key, description in described.items():
        if METRICS.setdefault(key, description.metric(key)).description != description:
            raise PrivacyEvalError(
                f"metric {key!r}: the results describe it otherwise than --metric does"
            )


def user_digests() -> dict[str, str]:
    """Return the digests of the registered metrics of the user, and of the modules of those of
    wings, by their name.

    Examples
    --------
    >>> user_digests()
    {}
    """
    own = (metric.function for metric in METRICS.values())
    digests = {metric.name: metric.sha256 for metric in own if isinstance(metric, UserMetric)}
    for key, entry in of_wings("metrics").items():
        module = entry.get("function", "").partition(":")[0]
        if module and (spec := importlib.util.find_spec(module)) is not None and spec.origin:
            digests[key] = digest(read_bytes(Path(spec.origin)))
    return digests
