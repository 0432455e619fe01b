"""Plain YAML or JSON values to frozen dataclasses and back, strictly typed.

Every entry must be there with the type its field says, and no other; the message
of the error says where. Infinite numbers are the strings "inf" and "-inf".
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import PrivacyEvalError

T = TypeVar("T")


def from_plain(kind: type[T], value: object, where: str) -> T:
    """A dataclass from plain values; `where` opens the message of any error.

    Understands dataclasses, `tuple[X, ...]`, `Mapping[str, X]`, unions with None,
    literals, numbers, strings and booleans. An entry whose field has a default may
    be left out.
    """
    return cast(T, _build(kind, value, where))


def to_plain(value: object) -> Any:
    """Plain values of a dataclass, in field order; fields at their defaults are kept."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("NaN is no result")
        return value if math.isfinite(value) else str(value)
    return value


def _build(kind: Any, value: object, where: str) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, value, where)
    if origin in (Union, types.UnionType):
        inner = [a for a in arguments if a is not type(None)]
        return None if value is None else _build(inner[0], value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise _expected("a list", value, where)
        return tuple(_build(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _expected("a mapping", value, where)
        return {str(k): _build(arguments[1], v, f"{where}.{k}") for k, v in value.items()}
    if origin is Literal:
        if value not in arguments:
            raise _expected(" or ".join(map(str, arguments)), value, where)
        return value
    if kind is float and value in ("inf", "-inf"):
        return float(str(value))
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _finite(value, where)
    if kind in (str, bool) and type(value) is kind or (kind is int and type(value) is int):
        return value
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    raise _expected(names.get(kind, str(kind)), value, where)


def _finite(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError as error:
        raise _expected("a number", value, where) from error
    if not math.isfinite(number):
        raise _expected("a finite number", value, where)
    return number


def _build_dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _expected("a mapping", value, where)
    hints = _hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise PrivacyEvalError(f"{where}: unknown entry {name!r}, expected {', '.join(fields)}")
    built = {}
    for name, field in fields.items():
        if name in value:
            built[name] = _build(hints[name], value[name], f"{where}: {name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise PrivacyEvalError(f"{where}: entry {name!r} is missing")
    return kind(**built)


#: Types of the fields of a dataclass; finding them takes longer than building one.
_hints = functools.cache(get_type_hints)


def _expected(what: str, value: object, where: str) -> PrivacyEvalError:
    if isinstance(value, (list, tuple, dict)):  # its text may be endless
        found = f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    elif isinstance(value, int) and abs(value) >= 1 << 64:
        found = "a huge number"
    else:
        found = repr(str(value)[:100])
    return PrivacyEvalError(f"{where}: expected {what}, found {found}")
