"""Records on disk: one JSON file per condition or trial set, its arrays (.npz) beside it; and what
this user made or confirmed."""

from __future__ import annotations

import functools
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.files import Inputs, Loaded, digest
from ..io.schema import from_plain, load_json, to_plain
from ..products.freshness import NOTE, file_set

if TYPE_CHECKING:
    from .records import Record


_PACKAGE = Path(__file__).parents[1]
_DOCSTRING_OR_COMMENT = re.compile(r'""".*?"""|^\s*#[^\n]*$', re.DOTALL | re.MULTILINE)
#: The first line of a class and of each of its fields, and constants, whole: what records hold.
_FIELD = re.compile(r"^(?:class .*|    \w+: .*|[A-Z_]+\b.* = .*(?:\n[ )}\]].*)*)$", re.MULTILINE)


@functools.cache
def metrics_digest() -> str:
    """Compute the digest of the registry of metrics, without its documentation."""
    return digest(_code("metrics/registry.py").encode())


@functools.cache
def fields_digest() -> str:
    """Compute the digest of the fields of records, and of what each of their kinds has."""
    return digest("\n".join(_FIELD.findall(_code("results/records.py"))).encode())


def user_metrics() -> dict[str, str]:
    """Return the digests of the registered metrics of the user by their name."""
    if "privacy_eval.metrics.registry" not in sys.modules:
        return {}
    from ..io.user_metrics import user_digests

    return user_digests()


def _code(module: str) -> str:
    """Return the lines of a module without documentation."""
    text = _DOCSTRING_OR_COMMENT.sub("", _source(module))
    return "\n".join(filter(str.strip, text.splitlines()))


def _source(module: str) -> str:
    return (_PACKAGE / module).read_text(encoding="utf-8")


#: The fingerprint of results.json and the files beside it.
RESULTS_NOTE = f".results{NOTE}"


def record_paths(path: Path) -> tuple[Path, Path]:
    """Return the paths of a record's arrays and of the record, in the order of writing."""
    return path.with_name(f"{path.name.removesuffix('.json')}.npz"), path


def record_content(path: Path, record: Record, arrays: Mapping[str, Any]) -> dict[Path, bytes]:
    """Return the files of a record, which stores the digest of its arrays, and describes metrics
    that are not built in."""
    import numpy as np

    from ..metrics.registry import BUILT_IN, METRICS

    file = io.BytesIO()
    np.savez(file, **arrays)
    stored, _ = record_paths(path)
    name = f"{stored.parent.name}/{stored.name}"
    added = sorted(record.keys() & METRICS.keys() - BUILT_IN)
    described = {key: METRICS[key].description for key in added}
    record = replace(
        record, curves=name, curves_sha256=digest(file.getvalue()), described=described
    )
    return {stored: file.getvalue(), path: record_text(record)}


def record_text(record: object) -> bytes:
    """Return the JSON file of a record."""
    text = json.dumps(to_plain(record), indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def read_record(path: Path | Loaded) -> Record:
    """Read a record.

    Raises
    ------
    PrivacyEvalError
        Unreadable, or not a record.
    """
    from ..io.user_metrics import check_descriptions
    from .records import Record

    record = from_plain(Record, load_json(path), str(path))
    check_descriptions(record.described, str(path))
    return record


def import_note(path: Path) -> str:
    """Return the name of the fingerprint of imported results."""
    return f".{path.name}{NOTE}"


def confirmed_days(path: Path) -> dict[str, str]:
    """Return what this user confirmed in results, with its day; nothing of those of others, and of
    results that were edited since."""
    if not any(made_by_user(path, note) for note in (RESULTS_NOTE, import_note(path))):
        return {}
    return dict(load_json(path).get("confirmed", {}))


def made_by_user(path: Path, note: str = RESULTS_NOTE) -> bool:
    """Whether results.json and the files next to it are unchanged since this user's `collect`."""
    product = file_set(path.parent, {}, note=note)
    fingerprint = product.read_fingerprint()
    return (
        fingerprint is not None
        and path.name in fingerprint.files
        and product.is_whole(Inputs(), fingerprint)
    )
