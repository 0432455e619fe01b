"""Options of the command line as fields of dataclasses, from which parsers are made: an option's
name, type, default and help stand once. This module loads at once."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection
from dataclasses import field, fields
from pathlib import Path
from typing import Any, TypeVar

from .choices import MOST_REPLICATES

T = TypeVar("T")

_LARGEST_COEFFICIENT = 10


def natural(text: str) -> int:
    """Parse a non-negative integer."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, not {text!r}")
    return int(text)


def replicates(text: str) -> int:
    """Parse a number of bootstrap replicates."""
    if natural(text) == 1 or natural(text) > MOST_REPLICATES:
        raise argparse.ArgumentTypeError(
            f"expected 0 or 2 to {MOST_REPLICATES} replicates, not {text}"
        )
    return int(text)


def positive(text: str) -> int:
    """Parse a positive integer."""
    if natural(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def one_of(numbers: range, what: str = "") -> Callable[[str], int]:
    """Return the option type of whole numbers in a range."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or natural(text) not in numbers:
            named = what or f"a whole number from {numbers[0]} to {numbers[-1]}"
            raise argparse.ArgumentTypeError(f"expected {named}, not {text!r}")
        return int(text)

    return number


def number(text: str) -> float:
    """Parse a non-negative number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number from 0, not {text!r}")
    return value


def coefficient(text: str) -> float:
    """Parse a McAdams coefficient."""
    if not 0 < number(text) <= _LARGEST_COEFFICIENT:
        raise argparse.ArgumentTypeError(
            f"expected a number above 0, at most {_LARGEST_COEFFICIENT}"
        )
    return number(text)


def sizes(text: str) -> tuple[int, ...]:
    """Parse a list of positive integers; repeated ones count once."""
    return tuple(dict.fromkeys(map(positive, text.split(","))))


def job(text: str) -> tuple[int, int]:
    """Parse a job split J/N."""
    number, slash, total = text.partition("/")
    split = (positive(number), positive(total)) if slash else (0, 0)
    if not 1 <= split[0] <= split[1]:
        raise argparse.ArgumentTypeError(f"expected J/N with 1 <= J <= N, not {text!r}")
    return split


def value(metavar: str, help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with a value."""
    return {"metavar": metavar, "help": help, **settings}


def path(metavar: str, help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with a path."""
    return {"metavar": metavar, "help": help, "type": Path, **settings}


def choice(choices: Collection[str], help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with one of several values."""
    return {"choices": choices, "help": help, **settings}


def flag(help: str) -> dict[str, Any]:
    """Describe an option without a value."""
    return {"action": "store_true", "help": help}


def option(description: dict[str, Any], default: Any = None) -> Any:
    """Return a field of a dataclass that is an option, described as by `value`, ..., `flag`."""
    return field(default=default, metadata=description)


def described(kind: Any) -> dict[str, dict[str, Any]]:
    """Return the options of a dataclass: their settings, as `add_argument` takes them, by name."""
    return {
        f"--{one.name.replace('_', '-')}": {**one.metadata, "default": one.default}
        for one in fields(kind)
        if one.metadata
    }


def fill(kind: type[T], arguments: object, **others: Any) -> T:
    """Return options as a dataclass, whose fields have the names of the options; those that the
    verb does not have keep their defaults."""
    values = {**vars(arguments), **others}
    names = [f.name for f in fields(kind) if f.name in values]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})
