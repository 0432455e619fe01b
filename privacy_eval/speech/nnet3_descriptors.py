"""Descriptors of Kaldi's nnet3 networks: what a node reads, and when."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, printable

#: Limits for the parts of a descriptor, for how deeply they nest, and for a number.
MAX_PARTS = 1000
MAX_DEPTH = 50
MAX_NUMBER = 2**31
#: A time that no speech reaches.
FOREVER = 1 << 62

#: Times are always ascending and unique.
Times = NDArray[np.int64]
Matrix = NDArray[np.float32]

_WORD = re.compile(
    r"\s*(?:([A-Za-z_][\w.-]*)|([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([(),]))", re.ASCII
)
#: Descriptors: number of parts, None for any from 1; then the numbers after them.
_OPERATORS: dict[str, tuple[int | None, int]] = {
    "Append": (None, 0),
    "Sum": (None, 0),
    "Switch": (None, 0),
    "Failover": (2, 0),
    "IfDefined": (1, 0),
    "Offset": (1, 1),
    "Round": (1, 1),
    "ReplaceIndex": (1, 1),
    "Scale": (1, 1),
    "Const": (0, 2),
}


@dataclass(frozen=True)
class Descriptor:
    """An expression over nodes.

    Attributes
    ----------
    operator : str
        One of Kaldi's, or blank for a node at the same time.
    parts : tuple of Descriptor
    numbers : tuple of float
        Offset, modulus, time, scale, or value and dimension.
    node : str
        Name, where `operator` is blank.
    """

    operator: str
    parts: tuple[Descriptor, ...] = ()
    numbers: tuple[float, ...] = ()
    node: str = ""

    def reads(self) -> Iterator[str]:
        """Yield the nodes that it reads."""
        if not self.operator:
            yield self.node
        for part in self.parts:
            yield from part.reads()

    def range(self, known: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Return a first and a last time that it may exist at from those of nodes."""
        if not self.operator:
            return known[self.node]
        if self.operator in ("Const", "IfDefined", "ReplaceIndex"):
            return -FOREVER, FOREVER
        firsts, lasts = zip(*(part.range(known) for part in self.parts), strict=True)
        if self.operator == "Sum":
            return max(firsts), min(lasts)
        shift = int(self.numbers[0]) if self.operator == "Offset" else 0
        later = int(self.numbers[0]) - 1 if self.operator == "Round" else 0
        return min(firsts) - shift, max(lasts) - shift + later

    def needs(self, times: Times) -> Iterator[tuple[str, Times]]:
        """Yield the nodes that it reads, and when, to exist at some times."""
        if not self.operator:
            yield self.node, times
        elif self.operator == "Switch":
            for number, part in enumerate(self.parts):
                yield from part.needs(times[times % len(self.parts) == number])
        else:
            once = self._read_at(times)[0]
            for part in self.parts:
                yield from part.needs(once)

    def exists(self, times: Times, known: Mapping[str, Times]) -> NDArray[np.bool_]:
        """Tell at which times it exists from those at which nodes exist."""
        if not self.operator:
            return members(known[self.node], times)
        result = np.ones(len(times), dtype=bool)
        if self.operator in ("Const", "IfDefined"):
            return result
        if self.operator == "Switch":
            for number, part in enumerate(self.parts):
                mine = times % len(self.parts) == number
                result[mine] = part.exists(times[mine], known)
            return result
        once, rows = self._read_at(times)
        combine = np.logical_or if self.operator == "Failover" else np.logical_and
        found: NDArray[np.bool_] = combine.reduce([p.exists(once, known) for p in self.parts])
        return found[rows]

    def values(self, times: Times, known: Mapping[str, tuple[Times, Matrix]]) -> Matrix:
        """Compute it at times at which it exists from the values of nodes."""
        if not self.operator:
            return _take(*known[self.node], times)
        if self.operator == "Const":
            number, columns = self.numbers
            return np.full((len(times), int(columns)), number, dtype=np.float32)
        first = self.parts[0]
        if self.operator == "Scale":
            return first.values(times, known) * np.float32(self.numbers[0])
        if self.operator == "Sum":
            total = first.values(times, known)
            for part in self.parts[1:]:
                total = total + part.values(times, known)
            return total
        if self.operator not in ("Switch", "IfDefined", "Failover"):
            once, rows = self._read_at(times)
            return first.values(once, known)[rows]
        if self.operator == "Switch":
            chosen = times % len(self.parts)
        else:
            when = {name: at for name, (at, _) in known.items()}
            chosen = np.where(first.exists(times, when), 0, 1)
        found = [p.values(times[chosen == i], known) for i, p in enumerate(self.parts)]
        result = np.zeros((len(times), found[0].shape[1]), dtype=np.float32)
        for number, values in enumerate(found):
            result[chosen == number] = values
        return result

    def _read_at(self, times: Times) -> tuple[Times, slice | NDArray[np.int64]]:
        """Return when its parts are read, and which of these belongs to each of the times."""
        if self.operator == "Offset":
            return times + int(self.numbers[0]), slice(None)
        if self.operator == "Round":
            modulus = int(self.numbers[0])
            if modulus == 1:
                return times, slice(None)
            return np.unique(times // modulus * modulus, return_inverse=True)
        if self.operator == "ReplaceIndex":
            once = np.array([int(self.numbers[0])])[: len(times)]
            return once, np.zeros(len(times), dtype=np.int64)
        return times, slice(None)


def parse_descriptor(text: str, where: str) -> tuple[Descriptor, ...]:
    """Parse a descriptor.

    Parameters
    ----------
    text : str
        Such as "Append(Offset(a, -1), a, Scale(0.5, b))".
    where : str
        Beginning of errors.

    Returns
    -------
    tuple of Descriptor
        Its columns from left to right: Append is moved out of the other operators.

    Raises
    ------
    PrivacyEvalError
        A descriptor that is not understood or unsupported, nested too deeply or too long.

    Examples
    --------
    >>> first, second = parse_descriptor("Offset(Append(a, b), 2)", "final.raw")
    >>> second.operator, second.parts[0].node, second.numbers
    ('Offset', 'b', (2.0,))
    """
    words: list[tuple[str, ...]] = []
    at = 0
    text = text.strip()
    while at < len(text) and len(words) <= 4 * MAX_PARTS:
        match = _WORD.match(text, at)
        if match is None:
            raise PrivacyEvalError(f"{where}: unexpected {printable(text[at : at + 20])!r}")
        words.append(match.groups(default=""))
        at = match.end()
    parser = _DescriptorParser(words, where)
    if at < len(text):
        raise parser.error(f"more than {MAX_PARTS} parts")
    terms = parser.descriptor(0)
    if parser.words:
        raise parser.error("unexpected text after its end")
    return terms


class _DescriptorParser:
    """Recursive descent over words: (name, number, punctuation), one of them nonblank."""

    def __init__(self, words: list[tuple[str, ...]], where: str) -> None:
        self.words = words[::-1]
        self.where = where

    def error(self, message: str) -> PrivacyEvalError:
        return PrivacyEvalError(f"{self.where}: descriptor: {message}")

    def take(self, kind: int, *expected: str) -> str:
        found = self.words.pop() if self.words else ("", "", "")
        if not found[kind] or (expected and found[kind] not in expected):
            wanted = " or ".join(expected) or ("a name", "a number")[kind]
            raise self.error(f"expected {wanted}, found {''.join(found)!r}")
        return found[kind]

    def descriptor(self, depth: int) -> tuple[Descriptor, ...]:
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} times")
        name = self.take(0)
        if not self.words or self.words[-1][2] != "(":
            return (Descriptor("", node=name),)
        if name not in _OPERATORS:
            raise self.error(f"unsupported: {name}(...)")
        self.take(2, "(")
        parts: list[tuple[Descriptor, ...]] = []
        numbers: list[float] = []
        while True:
            if name == "ReplaceIndex" and len(parts) == 1 and not numbers:
                self.take(0, "t")
                self.take(2, ",")
            if self.words and self.words[-1][1]:
                numbers.append(float(self.take(1)))
            else:
                parts.append(self.descriptor(depth + 1))
            if self.take(2, ",", ")") == ")":
                return self._combine(name, parts, numbers)

    def _combine(
        self, name: str, parts: list[tuple[Descriptor, ...]], numbers: list[float]
    ) -> tuple[Descriptor, ...]:
        if name == "Offset" and numbers[1:] == [0.0]:  # of the second index, which is always 0
            numbers = numbers[:1]
        least, count = _OPERATORS[name]
        if (len(parts) != least if least is not None else not parts) or len(numbers) != count:
            raise self.error(f"{name} of {len(parts)} parts and {len(numbers)} numbers")
        whole = numbers[1:] if name == "Const" else [] if name == "Scale" else numbers
        if any(n != int(n) or abs(n) > MAX_NUMBER for n in whole if math.isfinite(n)) or not all(
            abs(n) < 1e38 for n in numbers
        ):
            raise self.error(f"{name} of {numbers}, expected whole numbers up to {MAX_NUMBER}")
        if (name == "Round" or name == "Const") and not 1 <= numbers[-1] <= MAX_NUMBER:
            raise self.error(f"{name} of {numbers[-1]:g}, expected at least 1")
        if name == "Append":
            return tuple(term for part in parts for term in part)
        if len({len(part) for part in parts}) > 1:
            raise self.error(f"{name} of different numbers of appended parts")
        columns = zip(*parts, strict=True) if parts else [()]
        return tuple(Descriptor(name, column, tuple(numbers)) for column in columns)


def members(known: Times, times: Times) -> NDArray[np.bool_]:
    """Tell which times are among known ones.

    Parameters
    ----------
    known, times : int64 array, shape (K,) and (T,)
        Ascending and unique.

    Returns
    -------
    bool array, shape (T,)
    """
    if not len(known):
        return np.zeros(len(times), dtype=bool)
    if is_contiguous(known):
        found: NDArray[np.bool_] = (times >= known[0]) & (times <= known[-1])
    else:
        found = known[np.minimum(np.searchsorted(known, times), len(known) - 1)] == times
    return found


def is_contiguous(times: Times) -> bool:
    """Tell whether times follow each other without a gap.

    Parameters
    ----------
    times : int64 array, shape (T,)
        Ascending and unique.

    Returns
    -------
    bool
        False for no times.
    """
    return len(times) > 0 and bool(times[-1] - times[0] + 1 == len(times))


def _take(known: Times, values: Matrix, times: Times) -> Matrix:
    """Return the rows of some times, without copying them if they follow each other."""
    if not len(times):
        return values[:0]
    if not is_contiguous(known):
        return values[np.searchsorted(known, times)]
    first = times[0] - known[0]
    return values[first : first + len(times)] if is_contiguous(times) else values[times - known[0]]
