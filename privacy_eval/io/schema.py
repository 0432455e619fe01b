"""Untrusted JSON, read strictly; YAML or JSON values to frozen dataclasses and back; lines of
`--name=value`.

Every entry must be there with the type its field says, and no other; the message
of the error says where. Infinite numbers are the strings "inf" and "-inf". The entries
of a field annotated as `INLINED` are merged into those of its owner; `Annotated[type, "name"]` is
an entry whose name differs from its field's.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import sys
import types
from collections.abc import Mapping
from pathlib import Path
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

from ..errors import PrivacyEvalError, located
from .files import Loaded, digest, read_text

T = TypeVar("T")

_MAX_FLOAT = sys.float_info.max

#: `Annotated[SomeDataclass, INLINED]`: its entries are merged into those of its owner.
INLINED = "inlined"

#: `Annotated[Mapping[str, X], SPARSE]`: the entry is left out where it is empty.
SPARSE = "sparse"

#: Limit for the values of a file: each takes far more memory than its text. A hundred systems
#: have some three million.
MAX_VALUES = 10_000_000


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
    return to_plain(value.to_rows()) if hasattr(value, "to_rows") else value  # Measurements


def _build(kind: Any, value: object, where: str) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if hasattr(kind, "from_plain"):  # Measurements
        return kind.from_plain(value, where)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return value if isinstance(value, kind) else _build_dataclass(kind, value, where)
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
    with located(where):
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
        entry = next((name for name in metadata if name not in (INLINED, SPARSE)), f.name)
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


def load_json(path: Path | Loaded) -> Any:
    """Read a JSON file.

    Returns
    -------
    object
        Plain values.

    Raises
    ------
    PrivacyEvalError
        Unreadable; as `parse_json`.
    """
    return parse_json(read_text(path), str(path))


def parse_json(text: str, path: str) -> Any:
    """Parse JSON.

    Parameters
    ----------
    path : str
        For messages.

    Returns
    -------
    object
        Plain values.

    Raises
    ------
    PrivacyEvalError
        Not JSON (with the line), more than `MAX_VALUES` values; NaN or infinite
        numbers; NUL or half of a surrogate pair in a text; a duplicate name in an object, one of
        whose values would be lost.
    """

    def refuse(constant: str) -> None:
        raise PrivacyEvalError(f"{path}: {constant} is not a JSON number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            again = next(n for i, (n, _) in enumerate(pairs) if n in dict(pairs[:i]))
            raise PrivacyEvalError(f"{path}: duplicate {again[:80]!r} in one object")
        return values

    try:
        if sum(map(text.count, ",{[")) > MAX_VALUES:
            raise PrivacyEvalError(f"{path}: more than {MAX_VALUES} values")
        plain = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
        if "\\u0000" in text:
            raise PrivacyEvalError(f"{path}: NUL within a text")
        if re.search(r"\\u[dD][89a-fA-F]", text):
            json.dumps(plain, ensure_ascii=False).encode()
        return plain
    except UnicodeEncodeError as error:
        raise PrivacyEvalError(f"{path}: not text (half of a surrogate pair)") from error
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise PrivacyEvalError(f"{path}{line}: not JSON ({error})") from error


def checksum(plain: dict[str, Any], data: bytes = b"") -> str:
    """Compute the SHA-256 of plain values and of the bytes that follow them in a file."""
    return digest(json.dumps(plain).encode() + b"\n" + data)


def take_checksum(plain: dict[str, Any], path: Path, verb: str, data: bytes = b"") -> None:
    """Take the checksum out of plain values that were read, and verify it.

    Parameters
    ----------
    plain : dict
        Changed in place.
    path : Path
        For messages.
    verb : str
        The one that writes such files, for messages.
    data : bytes
        What follows the values in the file.

    Raises
    ------
    PrivacyEvalError
        None, as in files of earlier versions; another one.
    """
    stated = plain.pop("sha256", None)
    if stated != checksum(plain, data):
        what = "the file has no checksum" if stated is None else "damaged: its checksum is another"
        raise PrivacyEvalError(f"{path}: {what}; make it anew with `privacy-eval {verb}`")


def read_option_lines(path: Path) -> list[tuple[str, str]]:
    """Read names and values of an option file; whatever follows `=` belongs to the value, so that
    comments stand on lines of their own."""
    options = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        option, equals, value = line.partition("=")
        if not option.startswith("--") or not equals:
            raise PrivacyEvalError(f"{path}:{number}: expected --name=value, found {line!r}")
        options.append((option[2:], value))
    return options
