"""Results of a listening test on disk: subjective.json, its curves and CSV files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError
from ..io.csv_text import csv_text
from ..io.files import atomic_path, digest, read_bytes, write_text
from ..io.json_text import load_json
from ..io.ratings import METRICS
from ..io.schema import from_plain, to_plain
from ..metrics import VARIANTS
from ..protocol.protocol import protocol_from_dict
from .evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    SIMILARITY,
    Detection,
    Distribution,
    Evaluator,
    Subjective,
    SubjectiveCurves,
    SystemTest,
)

FORMAT = "privacy_eval subjective 2"
#: Still read; it calls the protocol `config`.
_BEFORE = "privacy_eval subjective 1"

_STEM = "subjective"

# Files


def write_subjective(folder: Path, result: Subjective, curves: SubjectiveCurves) -> Subjective:
    """Write `subjective.json`, its curves (`.npz`), and both CSV files: the same results
    give the same bytes.

    Returns
    -------
    Subjective
        With the digest of the curves.
    """
    arrays: dict[str, Any] = {
        "at": curves.at,
        "densities": np.array(curves.densities).reshape(-1, curves.at.size),
        "det_points": np.array([m.size for m in curves.miss], dtype=np.int64),
        "det_miss": np.concatenate([*curves.miss, np.zeros(0)]),
        "det_false_alarm": np.concatenate([*curves.false_alarm, np.zeros(0)]),
    }
    file = io.BytesIO()
    np.savez(file, **arrays)
    with atomic_path(folder / f"{_STEM}.npz") as temporary:
        temporary.write_bytes(file.getvalue())
    result = replace(result, curves_sha256=digest(file.getvalue()))
    write_text(folder / f"{_STEM}.csv", to_csv(result))
    write_text(folder / "evaluators.csv", evaluators_csv(result))
    # The JSON comes last: where it stands, the rest does.
    write_text(folder / f"{_STEM}.json", to_json(result))
    return result


def to_json(result: Subjective) -> str:
    """subjective.json."""
    plain = {
        "format": FORMAT,
        **{key: value for key, value in to_plain(result).items() if key != "protocol"},
        "protocol": result.protocol.to_dict(),
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_subjective(path: Path) -> tuple[Subjective, SubjectiveCurves]:
    """Read a subjective.json, and the curves beside it.

    Raises
    ------
    PrivacyEvalError
        Unreadable, another format, a missing, unknown or wrong entry; curves that are not
        those it was written with.
    """
    plain = load_json(path)
    if isinstance(plain, dict) and plain.get("format") == _BEFORE and "protocol" not in plain:
        plain = {"protocol" if name == "config" else name: value for name, value in plain.items()}
        plain["format"] = FORMAT
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise PrivacyEvalError(f"{path}: not a subjective.json (expected the format {FORMAT!r})")
    protocol = protocol_from_dict(plain.get("protocol"), f"{path}: protocol")
    body = {key: value for key, value in plain.items() if key not in ("format", "protocol")}
    read = from_plain(_Body, body, str(path))
    result = Subjective(protocol, **vars(read))
    _check(result, path)
    return result, _read_curves(path.with_suffix(".npz"), result)


@dataclass(frozen=True)
class _Body:
    """Entries of subjective.json beside its header: `Subjective` without its plan."""

    systems: tuple[str, ...]
    split: str
    n_evaluators: int
    n_ratings: Mapping[str, int]
    distributions: tuple[Distribution, ...]
    tests: tuple[SystemTest, ...]
    detections: tuple[Detection, ...]
    evaluators: tuple[Evaluator, ...]
    evaluators_left_out: tuple[str, ...]
    min_ratings: int
    min_agreement: float
    holm: bool
    reference: str | None
    provenance: Mapping[str, Any]
    curves_sha256: str | None


def _check(result: Subjective, path: Path) -> None:
    """Whether all that is named is known."""
    protocol = result.protocol
    known: dict[str, set[str | None]] = {
        "systems": set(result.systems),
        "quantities": {*QUANTITIES, SIMILARITY},
        "data sets": {None, *(d.id for d in protocol.data_sets)},
        "genders": {None, *protocol.genders},
        "splits": set(protocol.splits),
        "metrics": set(METRICS),
    }
    entries: list[Distribution | SystemTest | Detection]
    entries = [*result.distributions, *result.tests, *result.detections]
    named: dict[str, set[Any]] = {
        "systems": {e.system for e in entries}
        | {t.other_system for t in result.tests}
        | {result.reference} - {None},
        "quantities": {e.quantity for e in entries},
        "data sets": {d.data_set for d in result.detections},
        "genders": {d.gender for d in result.detections},
        "splits": {result.split},
        "metrics": {e.metric for e in result.evaluators} | set(result.n_ratings),
    }
    for what, names in named.items():
        strange = sorted(map(str, names - known[what]))
        if strange:
            raise PrivacyEvalError(f"{path}: unknown {what}: {', '.join(strange)[:200]}")
    for d in result.detections:
        keys = set(DETECTION_METRICS[: None if d.quantity == SIMILARITY else 2])
        if set(d.metrics) != set(VARIANTS) or any(set(m) != keys for m in d.metrics.values()):
            raise PrivacyEvalError(
                f"{path}: detections: {d.system}, {d.quantity}: expected "
                f"{', '.join(sorted(keys))} in the variants {' and '.join(VARIANTS)}"
            )


def _read_curves(path: Path, result: Subjective) -> SubjectiveCurves:
    content = read_bytes(path)
    if digest(content) != result.curves_sha256:
        raise PrivacyEvalError(f"{path}: not the curves that {_STEM}.json was written with")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            ends = np.cumsum(arrays["det_points"])[:-1]
            miss, false_alarm = (
                tuple(np.split(arrays[name], ends)) if len(result.detections) else ()
                for name in ("det_miss", "det_false_alarm")
            )
            curves = SubjectiveCurves(arrays["at"], tuple(arrays["densities"]), miss, false_alarm)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise PrivacyEvalError(f"{path}: damaged ({error})") from error
    if len(curves.densities) != len(result.distributions) or len(miss) != len(result.detections):
        raise PrivacyEvalError(f"{path}: not as many curves as {_STEM}.json has entries")
    return curves


def to_csv(result: Subjective) -> str:
    """Every number in one table, the unit beside it."""
    units = {"eer": "fraction", "rocch_eer": "fraction", "cllr_min": "bit", "cllr": "bit"}
    lines: list[tuple[object, ...]] = []
    for d in result.distributions:
        for name in ("mean", "lower_quartile", "median", "upper_quartile", "mean_rating"):
            unit = "rating" if name == "mean_rating" else "normalised rank"
            value = repr(getattr(d, name))
            lines.append((d.quantity, d.system, "", "", "", name, "", value, unit, d.n, ""))
    for t in result.tests:
        for name in ("statistic", "p_value", "p_holm"):
            unit = "pairs" if name == "statistic" else "probability"
            value = repr(getattr(t, name))
            systems = (t.system, t.other_system)
            lines.append((t.quantity, *systems, "", "", name, "", value, unit, "", ""))
    for e in result.detections:
        place = (e.data_set or "", e.gender or "")
        for variant, metrics in e.metrics.items():
            for name, number in metrics.items():
                what = (e.quantity, e.system, "", *place, name, variant, repr(number))
                lines.append((*what, units[name], e.n_target, e.n_nontarget))
    columns = "quantity,system,other_system,data_set,gender,metric,variant,value,unit,n,n_nontarget"
    return _csv(columns, lines)


def evaluators_csv(result: Subjective) -> str:
    """A line per evaluator and metric."""
    columns = "evaluator,metric,ratings,lowest,highest,mean,values,agreement,flags"
    return _csv(
        columns,
        (
            (
                e.evaluator,
                e.metric,
                e.n,
                f"{e.lowest:g}",
                f"{e.highest:g}",
                f"{e.mean:.3f}",
                e.values,
                "" if e.agreement is None else f"{e.agreement:.3f}",
                "; ".join(e.flags),
            )
            for e in result.evaluators
        ),
    )


def _csv(columns: str, lines: Iterable[Iterable[object]]) -> str:
    return csv_text([columns.split(","), *lines])
