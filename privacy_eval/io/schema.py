"""Plain YAML or JSON values to frozen dataclasses and back, strictly typed.

Every entry must be there with the type its field says, and no other; the message
of the error says where. Infinite numbers are the strings "inf" and "-inf". The entries
of a field annotated as `INLINED` are merged into those of its owner.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import types
from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import PrivacyEvalError

T = TypeVar("T")

_MAX_FLOAT = sys.float_info.max

#: `Annotated[SomeDataclass, INLINED]`: its entries are merged into those of its owner.
INLINED = "inlined"

#: `Annotated[Mapping[str, X], SPARSE]`: the entry is left out where it is empty.
SPARSE = "sparse"


@dataclasses.dataclass(frozen=True)
class Entry:
    """`Annotated[type, Entry("name")]`: an entry whose name differs from its field's."""

    name: str


def from_plain(kind: type[T], value: object, where: str) -> T:
    """Build a dataclass from plain values; entries that it derives itself are not read.

    Understands dataclasses, `tuple[X, ...]`, `Mapping[str, X]`, unions with None, literals,
    numbers, strings and booleans. An entry whose field has a default may be left out.

    Parameters
    ----------
    kind : type
        The dataclass.
    where : str
        Beginning of the message of any error.

    Raises
    ------
    PrivacyEvalError
        A missing, unknown or wrong entry.
    """
    return cast(T, _build(kind, value, where))


def to_plain(value: object) -> Any:
    """Turn a dataclass into plain values, in field order; defaults are kept, but for `SPARSE` ones.

    Raises
    ------
    ValueError
        NaN, which is not allowed.
    """
    if value is None or isinstance(value, (str, int)):  # the most frequent first
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {}
        for f in _fields(type(value)):
            entry = to_plain(getattr(value, f.name))
            if f.sparse and not entry:
                continue
            plain.update(entry if f.inlined else {f.entry: entry})
        return plain
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("NaN is not allowed")
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
    if kind is float and type(value) in (int, float):
        number = cast(float, value)
        if not -_MAX_FLOAT <= number <= _MAX_FLOAT:  # also of huge whole numbers, and NaN
            raise _expected("a finite number", value, where)
        return float(number)
    if kind in (str, bool) and type(value) is kind or (kind is int and type(value) is int):
        return value
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    raise _expected(names.get(kind, str(kind)), value, where)


def _build_dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _expected("a mapping", value, where)
    entries = _entries(kind)
    for name in value:
        if name not in entries:
            raise PrivacyEvalError(
                f"{where}: unknown entry {name!r}, expected {', '.join(entries)}"
            )
    built = {}
    for field in _fields(kind):
        if field.derived:
            continue
        if field.inlined:
            inlined = {entry: value[entry] for entry in _entries(field.kind) if entry in value}
            built[field.name] = _build(field.kind, inlined, where)
        elif field.entry in value:
            built[field.name] = _build(field.kind, value[field.entry], f"{where}: {field.entry}")
        elif field.required:
            raise PrivacyEvalError(f"{where}: entry {field.entry!r} is missing")
    return kind(**built)


class _Field(NamedTuple):
    name: str
    entry: str
    kind: Any
    inlined: bool
    required: bool
    derived: bool
    sparse: bool


@functools.cache
def _fields(kind: type) -> tuple[_Field, ...]:
    """List the fields of a dataclass; finding their types takes longer than building one."""
    hints, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    fields = []
    for f in dataclasses.fields(kind):
        metadata = getattr(annotated[f.name], "__metadata__", ())
        entry = next((item.name for item in metadata if isinstance(item, Entry)), f.name)
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        inlined, sparse = INLINED in metadata, SPARSE in metadata
        fields.append(_Field(f.name, entry, hints[f.name], inlined, required, not f.init, sparse))
    return tuple(fields)


@functools.cache
def _entries(kind: type) -> tuple[str, ...]:
    """Names of the entries of a dataclass."""
    names: list[str] = []
    for field in _fields(kind):
        names += _entries(field.kind) if field.inlined else [field.entry]
    return tuple(names)


def _expected(what: str, value: object, where: str) -> PrivacyEvalError:
    if isinstance(value, (list, tuple, dict)):  # their text may be very long
        actual = f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    elif isinstance(value, int) and abs(value) >= 1 << 64:
        actual = "a huge number"
    else:
        actual = repr(str(value)[:100])
    return PrivacyEvalError(f"{where}: expected {what}, found {actual}")
