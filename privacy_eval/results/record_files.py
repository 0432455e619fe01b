"""Records on disk: one JSON file per condition or trial set, its curves (.npz) beside it.

A record notes the digests of its curves and of itself, so that one that was cut short,
changed by hand or written by another version is not taken for whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import PrivacyEvalError
from ..io.files import atomic_path, digest, read_bytes, sweep, write_text
from ..io.json_text import load_json
from ..io.schema import from_plain, to_plain
from .records import SimilarityRecord, VerificationRecord

Record = TypeVar("Record", VerificationRecord, SimilarityRecord)


def write_record(path: Path, record: Record, curves: Mapping[str, Any]) -> None:
    """Write a record with the digest of its curves, which figures are drawn from."""
    file = io.BytesIO()
    np.savez(file, **curves)
    with atomic_path(_curves(path)) as temporary:
        temporary.write_bytes(file.getvalue())
    # The record comes last: where it stands, its curves do.
    name = f"{path.parent.name}/{_curves(path).name}"
    plain = to_plain(replace(record, curves=name, curves_sha256=digest(file.getvalue())))
    plain = {"record_sha256": _digest(plain), **plain}
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_record(path: Path, kind: type[Record]) -> Record | None:
    """The record at a path, if it and its curves are whole."""
    if not path.is_file() or not _curves(path).is_file():
        return None
    try:
        plain = load_json(path)
        if not isinstance(plain, dict) or plain.pop("record_sha256", "") != _digest(plain):
            return None
        record = from_plain(kind, plain, str(path))
        whole = record.curves_sha256 == digest(read_bytes(_curves(path)))
    except PrivacyEvalError:
        return None  # of another version or damaged: made anew
    return record if whole else None


def sweep_record(path: Path) -> None:
    """Remove what a killed writer of a record left."""
    for file in (path, _curves(path)):
        sweep(file)


def _curves(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.json')}.npz")


def _digest(plain: dict[str, Any]) -> str:
    """Digest of a record's content: one that was changed by hand is made anew."""
    return digest(json.dumps(plain, sort_keys=True, allow_nan=False).encode())
