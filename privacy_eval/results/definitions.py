"""Digests of what defines the values of records, from the sources of this package: whether records
are current is decided without importing metrics, and with them NumPy."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

from ..io.files import digest

_PACKAGE = Path(__file__).parents[1]
_DOCSTRING_OR_COMMENT = re.compile(r'""".*?"""|^\s*#[^\n]*$', re.DOTALL | re.MULTILINE)
#: The first line of a class and of each of its fields.
_FIELD = re.compile(r"^(?:class .*|    \w+: .*)$", re.MULTILINE)


@functools.cache
def metrics_digest() -> str:
    """Compute the digest of the registry of metrics, without its documentation."""
    return digest(_DOCSTRING_OR_COMMENT.sub("", _source("metrics/registry.py")).encode())


@functools.cache
def fields_digest() -> str:
    """Compute the digest of the fields of all records."""
    return digest("\n".join(_FIELD.findall(_source("results/records.py"))).encode())


def user_metrics() -> dict[str, str]:
    """Return the digests of the registered metrics of the user by their name."""
    if "privacy_eval.metrics.registry" not in sys.modules:
        return {}
    from ..io.user_metrics import user_digests

    return user_digests()


def _source(module: str) -> str:
    return (_PACKAGE / module).read_text(encoding="utf-8")
