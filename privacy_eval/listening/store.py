"""Files of a listening test: subjective.json, its arrays and CSV files."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..choices import RATING_METRICS
from ..errors import PrivacyEvalError
from ..io.arrays import parse_arrays
from ..io.csv_text import csv_text
from ..io.files import digest, read_bytes
from ..io.schema import from_plain, load_json, to_plain
from ..metrics import VARIANTS
from ..protocol.protocol import protocol_from_dict
from ..results.measurements import PRESENT, RANKS
from . import RESULTS
from .evaluation import (
    DETECTION_METRICS,
    EVALUATOR_METRICS,
    QUANTITIES,
    SIMILARITY,
    ListeningTest,
    ListeningTestCurves,
    detection_metrics,
)

FORMAT = "privacy_eval subjective 4"

_STEM = "subjective"

#: Names of the files of a listening test. The JSON file comes last: if it exists, so do the others.
FILES = (f"{_STEM}.npz", f"{_STEM}.csv", "evaluators.csv", RESULTS)


def listening_files(test: ListeningTest, curves: ListeningTestCurves) -> tuple[bytes, ...]:
    """Return the contents of `FILES`, reproducibly."""
    det = curves.det.values()
    arrays: dict[str, Any] = {
        "at": curves.at,
        "densities": np.array([*curves.densities.values()]).reshape(-1, curves.at.size),
        "det_points": np.array([miss.size for miss, _ in det], dtype=np.int64),
    }
    for at, rate in enumerate(("miss", "false_alarm")):
        rates = [curve[at] for curve in det]
        arrays[f"det_{rate}"] = np.concatenate([*rates, np.zeros(0)])
    file = io.BytesIO()
    np.savez(file, **arrays)
    plain = to_plain(replace(test, curves_sha256=digest(file.getvalue())))
    protocol = plain.pop("protocol")
    plain = {"format": FORMAT, **plain, "protocol": protocol}
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    of_values = csv_text(test.measurements.compact_csv_rows)
    return file.getvalue(), *(t.encode() for t in (of_values, evaluators_csv(test), text))


def read_listening_test(path: Path) -> tuple[ListeningTest, ListeningTestCurves]:
    """Read a subjective.json and its arrays.

    Raises
    ------
    PrivacyEvalError
        Unreadable file, another format, a missing, unknown or invalid entry, or arrays of other
        results.
    """
    plain = load_json(path)
    if not isinstance(plain, dict) or plain.pop("format", None) != FORMAT:
        raise PrivacyEvalError(
            f"{path}: not a subjective.json (expected the format {FORMAT!r}); evaluate the ratings "
            "again with privacy-eval listening (stage 11)"
        )
    protocol_from_dict(plain.get("protocol"), f"{path}: protocol")
    test = from_plain(ListeningTest, plain, str(path))
    _check(test, path)
    return test, _read_curves(path.with_suffix(".npz"), test)


#: What rows of a metric have, by metric.
_OF_SYSTEM, _OF_EVALUATOR = ("quantity", "system", "value"), ("evaluator", "quantity", "n_ratings")
_COLUMNS: Mapping[str, Sequence[str]] = {
    "opinion": _OF_SYSTEM,
    "mann_whitney": (*_OF_SYSTEM, "against", "p", "p_corrected"),
    **dict.fromkeys(RANKS, (*_OF_SYSTEM, "n_ratings")),
    **dict.fromkeys((*DETECTION_METRICS, "curve_eer"), (*_OF_SYSTEM, "n_target", "n_nontarget")),
    **dict.fromkeys(EVALUATOR_METRICS, ("value", *_OF_EVALUATOR)),
    "rating_mean": ("quantity", "value", "n_ratings"),  # also of systems
    "agreement": _OF_EVALUATOR,  # which may be unknown
}


def _check(test: ListeningTest, path: Path) -> None:
    """Check that rows are complete, and that names belong to the protocol or the test."""
    rows, protocol = test.measurements, test.protocol
    for number, row in enumerate(rows):
        needed = ("metric", *_COLUMNS.get(row.get("metric", ""), ()))
        if lacking := [name for name in needed if name not in row]:
            raise PrivacyEvalError(f"{path}: measurements[{number}]: no {', '.join(lacking)}")
    for what, named, allowed in (
        ("metrics", rows.values("metric"), _COLUMNS),
        ("systems", [*rows.values("system"), *rows.values("against")], test.systems),
        ("systems", [test.reference], (*test.systems, None)),
        ("quantities", rows.values("quantity"), (*QUANTITIES, SIMILARITY)),
        ("data sets", rows.values("data_set"), [d.id for d in protocol.data_sets]),
        ("genders", rows.values("gender"), protocol.genders),
        ("splits", [test.split], protocol.splits),
        ("rated metrics", test.n_ratings, RATING_METRICS),
    ):
        unknown = sorted(map(str, set(named) - set(allowed)))
        if unknown:
            raise PrivacyEvalError(f"{path}: unknown {what}: {', '.join(unknown)[:200]}")
    for place, names in _missing(test):
        where = ", ".join(filter(None, place))
        raise PrivacyEvalError(f"{path}: measurements of {where}: missing: {', '.join(names)}")


def _missing(test: ListeningTest) -> Iterator[tuple[tuple[str | None, ...], list[str]]]:
    """Yield systems, evaluators and detection tasks without all of their metrics, and the names of
    these."""
    rows = test.measurements
    alike = (
        (rows.select(metric=RANKS).groups("quantity", "system"), RANKS),
        (rows.select(evaluator=PRESENT).groups("evaluator", "quantity"), EVALUATOR_METRICS),
    )
    expected = [(place, of, {*names}) for groups, names in alike for place, of in groups.items()]
    for place, tasks in test.detections.items():
        every = itertools.product(VARIANTS, detection_metrics(place[0]))
        expected.append((place, tasks, {"curve_eer", *map(" ".join, every)}))
    for place, of, names in expected:
        found = {f"{row.get('variant', '')} {row['metric']}".strip() for row in of}
        if missing := sorted(names - found):
            yield place, missing


def _read_curves(path: Path, test: ListeningTest) -> ListeningTestCurves:
    content = read_bytes(path)
    if digest(content) != test.curves_sha256:
        raise PrivacyEvalError(f"{path}: does not match {_STEM}.json")
    arrays = parse_arrays(content, path)
    try:
        ends = np.cumsum(arrays["det_points"])[:-1]
        rates = (np.split(arrays[name], ends) for name in ("det_miss", "det_false_alarm"))
        det = tuple(zip(*rates, strict=True)) if test.detections else ()
        densities = dict(zip(test.distributions, arrays["densities"], strict=True))
        return ListeningTestCurves(
            arrays["at"], densities, dict(zip(test.detections, det, strict=True))
        )
    except (ValueError, KeyError) as error:
        raise PrivacyEvalError(f"{path}: damaged, or not of {_STEM}.json ({error})") from error


def evaluators_csv(test: ListeningTest) -> str:
    """Format evaluators as CSV, a line per evaluator and metric."""
    columns = "evaluator,metric,ratings,lowest,highest,mean,values,agreement,flags".split(",")
    rows = []
    for e in test.evaluators:
        ends = (f"{e[f'rating_{end}']:g}" for end in ("lowest", "highest"))
        agreement = None if e["agreement"] is None else f"{e['agreement']:.3f}"
        numbers = (e["n_ratings"], *ends, f"{e['rating_mean']:.3f}", int(e["rating_values"]))
        rows.append((e["evaluator"], e["quantity"], *numbers, agreement, "; ".join(e["flags"])))
    return csv_text([columns, *rows])
