"""Write and read results.json."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

from ..errors import ContradictionError, PrivacyEvalError, located, printable
from ..io.schema import from_plain, load_json, to_plain
from ..io.user_metrics import check_descriptions, register
from ..metrics import METRICS, MetricDescription
from ..protocol.protocol import check_protocol
from ..version import __version__
from .measurements import Measurements
from .record_files import confirmed_days
from .records import KINDS, Results

FORMAT = "privacy_eval results 6"
#: Kinds of records that are left out where there are none.
_OPTIONAL = ("measures", "amounts", "attributes", "audio", "rows")
_REQUIRED = ("protocol", "metrics", *KINDS, "not_evaluated")


def to_json(results: Results) -> str:
    """Write results.json: the same results give the same bytes."""
    body = to_plain(results)
    del body["protocol"]
    for record in itertools.chain.from_iterable(body.get(kind, ()) for kind in KINDS):
        del record["described"]
    keys = {key for record in results.records() for key in record.keys()}
    registered = {key: m.description for key, m in METRICS.items() if key in keys}
    plain = {
        "format": FORMAT,
        "version": __version__,
        "metrics": to_plain(registered | results.described),
        **body,
        "protocol": results.protocol.to_dict(),
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a results.json; what others confirmed in theirs is not believed.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Results

    Raises
    ------
    PrivacyEvalError
        Unreadable, not JSON, another format, a missing, unknown or wrong entry.

    Examples
    --------
    >>> import tempfile
    >>> from privacy_eval.protocol.protocol import load_protocol
    >>> path = Path(tempfile.mkdtemp(), "results.json")
    >>> _ = path.write_text(to_json(Results(load_protocol("vpc2020"))))
    >>> read_results(path)
    Results(vpc2020: no systems; records: none)
    """
    path = Path(path)
    plain = load_json(path)
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise PrivacyEvalError(f"{path}: not a results.json (expected the format {FORMAT!r})")
    for entry in _REQUIRED:
        if entry not in plain and entry not in _OPTIONAL:
            raise PrivacyEvalError(f"{path}: entry {entry!r} is missing")
    described = _read_descriptions(plain["metrics"], f"{path}: metrics")
    body = {k: v for k, v in plain.items() if k not in ("format", "version", "metrics")}
    results = from_plain(Results, body, str(path)).with_descriptions(described)
    check_protocol(results.protocol, f"{path}: protocol")
    with located(path):
        check_descriptions(results.described, "metrics")
    with located(path, ContradictionError):
        results.check()
    if results.confirmed:
        results = replace(results, confirmed=confirmed_days(path))
    for text in _texts(body):
        if not text.replace("\n", "").isprintable():
            raise PrivacyEvalError(f"{path}: {ascii(text[:80])} has unprintable characters")
    return results


def load(path: str | os.PathLike[str]) -> Measurements:
    """Read all numbers of a results.json as one table, see `read_results`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Measurements
        A row for each number; with unranked and withheld values, whose caveats say so.

    Raises
    ------
    PrivacyEvalError
        As `read_results`.

    Examples
    --------
    >>> load("recipes/demo/work/results/results.json").values("system")  # doctest: +SKIP
    ['B1', 'B2']
    """
    results = read_results(path)
    register(results.described)  # `rank` asks which values are best
    return results.measurements


def _texts(value: object) -> Iterator[str]:
    """Yield the texts that tables and reports print; provenance and error messages are escaped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("provenance", "not_evaluated", "failed"):
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _read_descriptions(plain: object, where: str) -> dict[str, MetricDescription]:
    """Read the descriptions of metrics; return those of metrics that this version does not have.

    Further entries of a description, which later versions may write, are ignored.
    """
    names = [f.name for f in fields(MetricDescription)]
    if not isinstance(plain, dict):
        raise PrivacyEvalError(f"{where}: expected a mapping")
    described: dict[str, MetricDescription] = {}
    for key, entry in plain.items():
        if isinstance(entry, dict):
            entry = {name: entry[name] for name in names if name in entry}
        description = from_plain(MetricDescription, entry, f"{where}.{printable(key)}")
        if key not in METRICS:
            described[key] = description
        elif (description.kind, description.unit) != (METRICS[key].kind, METRICS[key].unit):
            raise PrivacyEvalError(
                f"{where}.{key}: expected the kind {METRICS[key].kind!r} and the unit "
                f"{METRICS[key].unit!r}, found {description.kind!r} and {description.unit[:80]!r}"
            )
    return described
