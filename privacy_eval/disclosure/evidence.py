"""JSON output of other verbs, as evidence of a statement: attributes, amount of speech, groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..choices import SITUATIONS
from ..errors import PrivacyEvalError, counted
from ..io.names import check_name
from ..io.schema import load_json


@dataclass(frozen=True)
class InferredAttribute:
    """Output of `attributes`: an attack on anonymized speech, and on original speech.

    Attributes
    ----------
    name : str
        Stem of the file, which should name the attribute.
    situation : str
        The reported one.
    uar, original : float
        Unweighted average recall of the reported situation, and of original speech.
    interval, risk_interval : (float, float)
    risk : float
    """

    name: str
    situation: str
    uar: float
    original: float
    interval: tuple[float, float]
    risk: float
    risk_interval: tuple[float, float]


@dataclass(frozen=True)
class SpeechAmount:
    """Output of `identification --sentences`: the first and the last length of equal speakers.

    Attributes
    ----------
    lengths : (int, int)
    found : (float, float)
        How often the right person is found.
    intervals : tuple of (float, float) or None
    speakers : int
    of : str
        Attack and trial set, if they are known.
    seconds : (float, float) or None
        Mean speech of a test, if it is known.
    """

    lengths: tuple[int, int]
    found: tuple[float, float]
    intervals: tuple[tuple[float, float] | None, tuple[float, float] | None]
    speakers: int
    of: str = ""
    seconds: tuple[float, float] | None = None

    def length_text(self) -> str:
        """Say how many sentences, and seconds, are compared with how many."""
        texts = [counted(self.lengths[1], "sentence"), f"{self.lengths[0]}"]
        if self.seconds is not None:
            both = zip(texts, reversed(self.seconds), strict=True)
            texts = [f"{text} ({seconds:.3g} s)" for text, seconds in both]
        return " instead of ".join(texts)


@dataclass(frozen=True)
class ComparedGroups:
    """Output of `metrics --by`: groups of one column of metadata.

    Attributes
    ----------
    name, column : str
        Stem of the file, which should name the condition, and column.
    eers : mapping of str to float
        Of trials within each group that has any.
    largest : str
        The group that differs most from the others, in standard errors; "" if none was tested.
    difference, se, p_value : float
        Of its EER; p is corrected over the groups.
    """

    name: str
    column: str
    eers: Mapping[str, float]
    largest: str = ""
    difference: float = 0.0
    se: float = 0.0
    p_value: float = 1.0


#: What a statement knows to read.
Read = InferredAttribute | SpeechAmount | ComparedGroups


def read_evidence(path: Path) -> list[Read]:
    """Read the output of a verb with `--format json`.

    Parameters
    ----------
    path : Path

    Raises
    ------
    PrivacyEvalError
        Unreadable, not the output of a verb that a statement knows, or a value out of range.
    """
    plain = load_json(path)
    try:
        if "reported" in plain:
            return [_attribute(path, plain)]
        if "groups" in plain:
            return [_groups(path, column, of) for column, of in plain["groups"].items()]
        return [_amount(plain["amount_of_equal_speakers"])]
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise PrivacyEvalError(
            f"{path}: not the JSON of attributes, identification --sentences or metrics --by "
            f"({error!r})"
        ) from error


def _attribute(path: Path, plain: Mapping[str, Any]) -> InferredAttribute:
    reported = SITUATIONS[SITUATIONS.index(plain["reported"])]
    values = plain[reported]
    return InferredAttribute(
        path.stem,
        reported,
        _rate(values["uar"]),
        _rate(plain["orig_to_orig"]["uar"]),
        _bounds(values["interval"]),
        _rate(values["risk"]),
        _bounds(values["risk_interval"]),
    )


def _groups(path: Path, column: str, plain: Mapping[str, Any]) -> ComparedGroups:
    within = {name: of["within"]["eer"] for name, of in plain["groups"].items()}
    eers = {name: _rate(eer) for name, eer in within.items() if eer is not None}
    tests = {name: test for name, test in plain["test"].items() if test is not None}
    for name in (column, *within):
        check_name(name, str(path))
    if not tests:
        return ComparedGroups(path.stem, column, eers)
    numbers = {
        name: (_finite(t["difference"]), _finite(t["se"]), _rate(t["p_value"]))
        for name, t in tests.items()
    }
    largest = max(numbers, key=lambda name: abs(numbers[name][0]) / (numbers[name][1] or math.inf))
    return ComparedGroups(path.stem, column, eers, largest, *numbers[largest])


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number, found {value!r}")
    return float(value)


def _amount(plain: Mapping[str, Any]) -> SpeechAmount:
    first, last = min(plain, key=int), max(plain, key=int)
    both = plain[first], plain[last]
    intervals = [
        None if v["rank1_interval"] is None else _bounds(v["rank1_interval"]) for v in both
    ]
    return SpeechAmount(
        (int(first), int(last)),
        (_rate(both[0]["rank1"]), _rate(both[1]["rank1"])),
        (intervals[0], intervals[1]),
        int(both[1]["speakers"]),
        seconds=_seconds(both),
    )


def _seconds(both: Iterable[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Read the seconds of two lengths; JSON of earlier versions has none."""
    values = [of.get("seconds") for of in both]
    if None in values:
        return None
    first, last = map(_finite, values)
    return first, last


def _rate(value: object) -> float:
    number = float(value)  # type: ignore[arg-type]
    if isinstance(value, bool | str) or not (math.isfinite(number) and 0 <= number <= 1):
        raise ValueError(f"expected a fraction, found {value!r}")
    return number


def _bounds(values: Any) -> tuple[float, float]:
    low, high = map(_rate, values)
    return low, high
