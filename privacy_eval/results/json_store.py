"""Write and read results.json."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.json_text import load_json
from ..io.schema import from_plain, to_plain
from ..metrics import METRICS
from ..protocol.protocol import check_protocol
from ..version import __version__
from .records import Results

FORMAT = "privacy_eval results 3"
#: Previous format, still read with its former entry names.
_BEFORE = "privacy_eval results 2"
_RENAMED = {"config": "protocol", "pitch": "utility"}
_REQUIRED = ("protocol", "verification", "recognition", "utility", "similarity", "not_evaluated")


def to_json(results: Results) -> str:
    """Write results.json: the same results give the same bytes."""
    plain = {
        "format": FORMAT,
        "version": __version__,
        "units": {key: metric.unit for key, metric in METRICS.items()},
        **{key: value for key, value in to_plain(results).items() if key != "protocol"},
        "protocol": results.protocol.to_dict(),
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> Results:
    """Read a results.json.

    Raises
    ------
    PrivacyEvalError
        Unreadable, not JSON, another format, a missing, unknown or wrong entry.
    """
    plain = load_json(path)
    if isinstance(plain, dict) and plain.get("format") == _BEFORE and "protocol" not in plain:
        plain = {_RENAMED.get(name, name): value for name, value in plain.items()}
        plain["format"] = FORMAT
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise PrivacyEvalError(f"{path}: not a results.json (expected the format {FORMAT!r})")
    for entry in _REQUIRED:
        if entry not in plain:
            raise PrivacyEvalError(f"{path}: entry {entry!r} is missing")
    body = {k: v for k, v in plain.items() if k not in ("format", "version", "units")}
    results = from_plain(Results, body, str(path))
    check_protocol(results.protocol, f"{path}: protocol")
    try:
        results.check()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{path}: {error}") from error
    return results
