"""Kaldi's option files (`--config`): lines of `--name=value`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PrivacyEvalError
from .files import read_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")

_BOOLS = {"true": True, "t": True, "": True, "false": False, "f": False}


def read_options(path: Path, kind: type[Options]) -> Options:
    """Read an option file.

    Parameters
    ----------
    path : Path
    kind : dataclass
        Its fields, bools, whole numbers, numbers or texts, are the options, `num_ceps` that of
        `--num-ceps`; what the file does not set keeps its default.

    Returns
    -------
    instance of `kind`

    Raises
    ------
    PrivacyEvalError
        With file and line: no option, an unknown or repeated one, a value of another type. With
        the file: values that `kind` refuses with a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> Vad = dataclasses.make_dataclass("Vad", [("context", "int", 0), ("scale", "float", 0.5)])
    >>> file = Path(tempfile.mkdtemp(), "vad.conf")
    >>> _ = file.write_text("--context=2 # frames\\n")
    >>> read_options(file, Vad)
    Vad(context=2, scale=0.5)
    """
    types = {f.name: str(f.type) for f in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        where = f"{path}:{number}"
        option, equals, value = (part.strip() for part in text.partition("="))
        name = option[2:].replace("-", "_")
        if not option.startswith("--") or name not in types:
            expected = ", ".join(f"--{n.replace('_', '-')}" for n in types)
            raise PrivacyEvalError(
                f"{where}: unknown option {option!r}, expected one of {expected}"
            )
        if name in values:
            raise PrivacyEvalError(f"{where}: duplicate option {option}")
        values[name] = _value(value, types[name], bool(equals), f"{where}: {option}")
    try:
        return kind(**values)
    except ValueError as error:
        raise PrivacyEvalError(f"{path}: {error}") from error


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


def _value(text: str, kind: str, given: bool, where: str) -> Any:
    if kind == "bool":
        if text in _BOOLS and given == bool(text):
            return _BOOLS[text]
        raise PrivacyEvalError(f"{where}: expected true or false, found {text!r}")
    if kind == "str" and text:
        return text
    try:
        value = {"int": int, "float": float}[kind](text)
        if text.isascii() and "_" not in text and abs(value) < 1e9:
            return value
    except (KeyError, ValueError):
        pass
    expected = {"int": "a whole number", "float": "a number", "str": "a value"}[kind]
    raise PrivacyEvalError(f"{where}: expected {expected}, found {text!r}")
