"""Files of a listening test: subjective.json, its arrays and CSV files."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError
from ..io.arrays import parse_arrays
from ..io.csv_text import csv_text
from ..io.files import digest, read_bytes
from ..io.ratings import RATING_METRICS
from ..io.schema import from_plain, load_json, to_plain
from ..metrics import VARIANTS
from ..metrics.detection import Det
from ..protocol.protocol import protocol_from_dict
from .evaluation import (
    QUANTITIES,
    SIMILARITY,
    Detection,
    Distribution,
    ListeningTest,
    ListeningTestCurves,
    MeanOpinion,
    OpinionTest,
    SignificanceTest,
    detection_metrics,
)

FORMAT = "privacy_eval subjective 3"

_STEM = "subjective"

_UNITS = {
    **dict.fromkeys(("mean", "lower_quartile", "median", "upper_quartile"), "normalized rank"),
    **dict.fromkeys(("mean_rating", "opinion", "opinion_low", "opinion_high"), "rating"),
    **dict.fromkeys(("difference", "difference_low", "difference_high"), "rating"),
    "statistic": "pairs",
    **dict.fromkeys(("p_value", "p_holm", "difference_p", "difference_p_holm"), "probability"),
    **dict.fromkeys(("eer", "rocch_eer"), "fraction"),
    **dict.fromkeys(("cllr", "cllr_min"), "bit"),
}

_COLUMNS = "quantity,system,other_system,data_set,gender,metric,variant,value,unit,n,n_nontarget"


#: Names of the files of a listening test. The JSON file comes last: if it exists, so do the others.
FILES = (f"{_STEM}.npz", f"{_STEM}.csv", "evaluators.csv", f"{_STEM}.json")


def listening_files(test: ListeningTest, curves: ListeningTestCurves) -> tuple[bytes, ...]:
    """Return the contents of `FILES`, reproducibly."""
    arrays: dict[str, Any] = {
        "at": curves.at,
        "densities": np.array(curves.densities).reshape(-1, curves.at.size),
        "det_points": np.array([curve.miss.size for curve in curves.det], dtype=np.int64),
    }
    for rate in ("miss", "false_alarm"):
        rates = [getattr(curve, rate) for curve in curves.det]
        arrays[f"det_{rate}"] = np.concatenate([*rates, np.zeros(0)])
    file = io.BytesIO()
    np.savez(file, **arrays)
    test = replace(test, curves_sha256=digest(file.getvalue()))
    plain = to_plain(test)
    protocol = plain.pop("protocol")
    plain = {"format": FORMAT, **plain, "protocol": protocol}
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return file.getvalue(), *(t.encode() for t in (to_csv(test), evaluators_csv(test), text))


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
        raise PrivacyEvalError(f"{path}: not a subjective.json (expected the format {FORMAT!r})")
    protocol_from_dict(plain.get("protocol"), f"{path}: protocol")
    test = from_plain(ListeningTest, plain, str(path))
    _check(test, path)
    return test, _read_curves(path.with_suffix(".npz"), test)


def _check(test: ListeningTest, path: Path) -> None:
    """Check that names belong to the protocol or the test."""
    protocol = test.protocol
    entries = _entries(test)
    systems = [e.system for e in entries]
    systems += [t.other_system for t in test.tests]
    systems += [t.other_system for t in test.opinion_tests]
    metrics = [*test.n_ratings, *(e.metric for e in test.evaluators)]
    data_sets = [d.id for d in protocol.data_sets]
    for what, named, allowed in (
        ("systems", [*systems, test.reference], (*test.systems, None)),
        ("quantities", [e.quantity for e in entries], (*QUANTITIES, SIMILARITY)),
        ("data sets", [d.data_set for d in test.detections], (*data_sets, None)),
        ("genders", [d.gender for d in test.detections], (*protocol.genders, None)),
        ("splits", [test.split], protocol.splits),
        ("metrics", metrics, RATING_METRICS),
    ):
        unknown = sorted(map(str, set(named) - set(allowed)))
        if unknown:
            raise PrivacyEvalError(f"{path}: unknown {what}: {', '.join(unknown)[:200]}")
    for d in test.detections:
        keys = set(detection_metrics(d.quantity))
        if set(d.metrics) != set(VARIANTS) or any(set(m) != keys for m in d.metrics.values()):
            raise PrivacyEvalError(
                f"{path}: detections: {d.system}, {d.quantity}: expected the "
                f"metrics {', '.join(sorted(keys))} in the variants {' and '.join(VARIANTS)}"
            )


def _read_curves(path: Path, test: ListeningTest) -> ListeningTestCurves:
    content = read_bytes(path)
    if digest(content) != test.curves_sha256:
        raise PrivacyEvalError(f"{path}: does not match {_STEM}.json")
    arrays = parse_arrays(content, path)
    try:
        ends = np.cumsum(arrays["det_points"])[:-1]
        rates = (np.split(arrays[name], ends) for name in ("det_miss", "det_false_alarm"))
        det = tuple(itertools.starmap(Det, zip(*rates, strict=True))) if test.detections else ()
        curves = ListeningTestCurves(arrays["at"], tuple(arrays["densities"]), det)
    except (ValueError, KeyError) as error:
        raise PrivacyEvalError(f"{path}: damaged ({error})") from error
    numbers = (len(curves.densities), len(curves.det))
    if numbers != (len(test.distributions), len(test.detections)):
        raise PrivacyEvalError(f"{path}: the number of arrays differs from {_STEM}.json")
    return curves


_Entry = Distribution | SignificanceTest | Detection | MeanOpinion | OpinionTest


def _entries(test: ListeningTest) -> list[_Entry]:
    entries = test.distributions, test.tests, test.detections, test.opinions, test.opinion_tests
    return list(itertools.chain.from_iterable(entries))


def to_csv(test: ListeningTest) -> str:
    """Format all values as CSV, with their units."""
    rows = []
    for e in _entries(test):
        place = (getattr(e, name, None) for name in ("other_system", "data_set", "gender"))
        shared = (e.quantity, e.system, *place)
        counts: tuple[int | None, int | None] = (getattr(e, "n", None), None)
        variants: Mapping[str, Mapping[str, float]]
        values_of = {name: v for name, v in vars(e).items() if name in _UNITS and v is not None}
        variants = {"": values_of}
        if isinstance(e, Detection):
            variants, counts = e.metrics, (e.n_target, e.n_nontarget)
        for variant, values in variants.items():
            for name, value in values.items():
                rows.append((*shared, name, variant, repr(value), _UNITS[name], *counts))
    return csv_text([_COLUMNS.split(","), *rows])


def evaluators_csv(test: ListeningTest) -> str:
    """Format evaluators as CSV, a line per evaluator and metric."""
    columns = "evaluator,metric,ratings,lowest,highest,mean,values,agreement,flags".split(",")
    rows = []
    for e in test.evaluators:
        agreement = None if e.agreement is None else f"{e.agreement:.3f}"
        numbers = (e.n, f"{e.lowest:g}", f"{e.highest:g}", f"{e.mean:.3f}", e.values)
        rows.append((e.evaluator, e.metric, *numbers, agreement, "; ".join(e.flags)))
    return csv_text([columns, *rows])
