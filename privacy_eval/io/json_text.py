"""Untrusted JSON files, read strictly."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError
from .files import Loaded, digest, read_text

#: Limit for the values of a file: each takes far more memory than its text. A hundred systems
#: have some three million.
MAX_VALUES = 10_000_000


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
