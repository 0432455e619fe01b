"""The rows of measurements that records stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..metrics import CAVEATS, VARIANTS
from ..metrics.caveats import FEW_SPEAKERS, STATED, caveats_of, few_speakers, find_caveats
from .measurements import CIRCUMSTANCES, COUNTS, TITLES, WHOLE, Measurements, metric_of
from .measurements import measured as _row

#: Any of the records of `records`, which imports this module.
Record = Any
Rows = Iterator[dict[str, Any]]


def measurements_of(records: Iterable[Record]) -> Measurements:
    """Return the table of the rows of records."""
    return Measurements.of(row for record in records for row in rows_of(record))


def rows_of(record: Record, *, whole: bool = False) -> Rows:
    """Yield the rows of a record, each with the circumstances and counts of the record; `whole`:
    only those of whole sets."""
    shared = _shared(record)
    for row in _rows(record):
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


def _stated(record: Record) -> Rows:
    """Yield the further numbers of an imported file."""
    for name, value in record.stated.items():
        variant = VARIANTS[0] if record.kind == "verification" else ""
        reason = {STATED: CAVEATS[STATED].reason}
        of_first: dict[str, Any] = {"unit": "fraction", "variant": variant, "caveats": reason}
        yield _row(f"stated_{name}", value, **of_first)


def _of_few(record: Record) -> dict[str, str]:
    """Return the caveat of a classifier of few speakers."""
    few = few_speakers(record.facts["classes"]) if record.kind == "attributes" else None
    return {FEW_SPEAKERS: few} if few else {}


def _rows(record: Record) -> Rows:
    """Yield the stored rows with their own caveats: of a wing's scores, of some of the trials, of a
    classifier of few speakers."""
    few, eers = _of_few(record), _part_eers(record)
    for row in record.rows:
        metric = record.described.get(row["metric"]) or metric_of(row["metric"])
        counts = row.get("n_target"), row.get("n_nontarget")
        if metric.kind == "scores" and record.kind == "rows":
            few = find_caveats(row.get("value") if row["metric"] == "eer" else None, *counts)
        elif record.kind == "verification":
            eer = eers.get(_part(row))
            few = find_caveats(eer, *counts, variant="exact") if "n_target" in row else {}
            if "tag" in row and record.caveat("zebra_individual") is not None:
                row = {name: value for name, value in row.items() if name != "tag"}
        yield {"unit": metric.unit, **row, "caveats": few}
    yield from _stated(record)


def _part(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("group_by", "group", "against_group", "session"))


def _part_eers(record: Record) -> dict[tuple[Any, ...], float | None]:
    """Return the EERs of some of the trials, by what these are."""
    rows = (row for row in record.rows if row["metric"] == "eer" and "n_target" in row)
    return {_part(row): row.get("value") for row in rows}
