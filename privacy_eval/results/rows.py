"""The rows of measurements that records stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..asv.attributes import few_speakers
from ..metrics import CAVEATS
from ..metrics.caveats import FEW_SPEAKERS, STATED, caveats_of, find_caveats
from ..metrics.groups import GroupErrors, GroupValues
from .measurements import CIRCUMSTANCES, COUNTS, TITLES, WHOLE, Measurements, metric_of
from .measurements import measured as _row

#: Any of the records of `records`, which imports this module.
Record = Any
Rows = Iterator[dict[str, Any]]

#: Metrics of groups of speakers, by their fields.
GROUP_METRICS = ("eer", "cllr_min", "linkability", "rank1")


def measurements_of(records: Iterable[Record]) -> Measurements:
    """Return the table of the rows of records."""
    return Measurements.of(row for record in records for row in rows_of(record))


def rows_of(record: Record, *, whole: bool = False) -> Rows:
    """Yield the rows of a record, each with the circumstances and counts of the record; `whole`:
    only those of whole sets."""
    shared = _shared(record)
    for row in _KINDS.get(type(record).__name__, _of_values)(record):
        if whole and not row.keys().isdisjoint(WHOLE):
            continue
        caveats = {**record.caveats, **row.get("caveats", {})}
        concerning = caveats_of(caveats, row.get("variant", ""))
        row["unit"] = row.get("unit") or metric_of(row["metric"]).unit
        row["caveats"] = {k: r for k, r in concerning.items() if CAVEATS[k].concerns(row["metric"])}
        yield {name: value for name, value in {**shared, **row}.items() if value not in (None, "")}


def _shared(record: Record) -> dict[str, Any]:
    """Return the circumstances and counts that all rows of a record share."""
    of = record.entries
    known = (name for name in (*CIRCUMSTANCES, *COUNTS) if name not in TITLES)
    plain = (name for name in known if isinstance(of.get(name), str | int))
    return {name: of[name] for name in plain}


def _of_values(record: Record) -> Rows:
    """Yield the metrics of a record, by variant."""
    for variant, values in record.by_variant().items():
        for key, value in values.items():
            bounds, unit = record.interval(variant, key), record.metric(key).unit
            yield _row(key, value, bounds, variant=variant, unit=unit)
    yield from _stated(record)


def _stated(record: Record) -> Rows:
    """Yield the further numbers of an imported file."""
    for name, value in record.stated.items():
        reason = {STATED: CAVEATS[STATED].reason}
        of_first = {"unit": "fraction", "variant": record.variants[0], "caveats": reason}
        yield _row(f"stated_{name}", value, **of_first)


def _verification(record: Record) -> Rows:
    for row in _of_values(record):
        tag = record.tag(row["variant"]) if row["metric"] == "zebra_individual" else None
        yield {**row, "tag": tag}
    for column, groups in record.groups.items():
        for name, of in groups.items():
            place = {"group_by": column, "group": name}
            yield from _of_trials(of.within, of.intervals, **place)
            if of.test is not None:
                test = {"se": of.test.se, "p": of.test.p_value, "against": "others"}
                yield _row("eer", of.test.difference, variant="exact", **place, **test)
    for column, errors in record.group_errors.items():
        yield from _of_errors(column, errors)
    for name, stratum in record.sessions.items():
        yield from _of_trials(stratum.values, stratum.intervals, session=name)


def _of_trials(values: GroupValues, intervals: Mapping[str, Sequence[float]], **place: str) -> Rows:
    """Yield the metrics of some of the trials, with their numbers."""
    counts = {name: getattr(values, name) for name in ("n_target", "n_nontarget", "n_speakers")}
    for key in GROUP_METRICS:
        if (value := getattr(values, key)) is not None:
            of: dict[str, Any] = {**place, **counts, "caveats": values.caveats}
            yield _row(key, value, intervals.get(key), variant="exact", **of)


def _of_errors(column: str, errors: GroupErrors) -> Rows:
    """Yield the error rates of groups at common thresholds, and their disparities."""
    for rate, matches in errors.false_match.items():
        place: dict[str, Any] = {"group_by": column, "threshold": rate, "variant": "exact"}
        for enrolled, of_tested in matches.fmr_matrix.items():
            for tested, value in of_tested.items():
                n_nontarget = errors.n_nontarget[enrolled][tested]
                of: dict[str, Any] = {"group": enrolled, "against_group": tested}
                yield _row("fmr", value, **place, **of, n_nontarget=n_nontarget)
        for group, missed in zip(matches.groups, matches.fnmr, strict=True):
            yield _row("fnmr", missed, **place, group=group)
        if (of_groups := errors.disparities[rate]) is not None:
            within = (matches.fmr_matrix[group][group] for group in matches.groups)
            both = sum(None not in pair for pair in zip(within, matches.fnmr, strict=True))
            for key, value in vars(of_groups).items():
                yield _row(key, value, **place, n_groups=both)


def _of_few(record: Record) -> dict[str, str]:
    """Return the caveat of a classifier of few speakers."""
    few = few_speakers(record.facts["classes"]) if record.kind == "attributes" else None
    return {FEW_SPEAKERS: few} if few else {}


def _rows(record: Record) -> Rows:
    few = _of_few(record)
    for row in record.rows:
        metric = record.described.get(row["metric"]) or metric_of(row["metric"])
        if metric.kind == "scores" and record.kind == "rows":
            eer = row.get("value") if row["metric"] == "eer" else None
            few = find_caveats(eer, row.get("n_target"), row.get("n_nontarget"))
        yield {"unit": metric.unit, **row, "caveats": few}
    yield from _stated(record)


#: What records hold beside their metrics.
_KINDS: Mapping[str, Callable[[Any], Rows]] = {
    "VerificationRecord": _verification,
    "RowsRecord": _rows,
}
