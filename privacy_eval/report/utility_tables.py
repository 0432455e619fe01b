"""Tables of the privacy-utility trade-off, as in the editions since 2022."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..metrics import Label, describe
from ..numbers.cells import ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.means import UTILITY, decoded_sets
from ..numbers.report_data import ReportData
from ..protocol.protocol import ORIGINAL, Protocol
from ..results.measurements import PRESENT, Measurements, Row
from .attackers_in_words import overestimates
from .comparison_tables import Block, Line, caveats_in, table_of_blocks
from .declared import declared_table, entry_of
from .notes import interval_notes, words_not_resampled
from .table import SIDE_BY_SIDE, Column, Table


def utility_tables(data: ReportData) -> list[Table]:
    """Make the tables of utility and of the thresholds, for each split with values; under a
    protocol that does not weigh utility, only where speech was measured."""
    if not (data.protocol.weighs_utility or data.cells.measures):
        return []
    tables = (f(data, split) for split in data.protocol.splits for f in (_utility, _thresholds))
    return [table for table in tables if table is not None]


def _utility(data: ReportData, split: str) -> Table | None:
    """Word error rates, recalls of emotions and measures of speech, a column per system."""
    cells, protocol = data.cells, data.protocol
    metrics = (*UTILITY, *cells.measures)
    present = cells.rows.select(metric=metrics, split=split).values("system")
    systems = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in present]
    blocks = []
    for metric in metrics:
        lines = []
        for name, data_set, gender in _rows_of_sets(protocol, metric, split):
            lines.append(Line(name, "", cells.of(systems, metric, None, split, data_set, gender)))
        if lines := [line for line in lines if line.cells]:
            heading = Label(*describe(metric).heading)
            blocks.append(Block(heading, tuple(lines), describe(metric)))
    if not blocks or set(systems) <= {ORIGINAL_COLUMN}:
        return None
    rated_by = [block.metric.key for block in blocks if block.metric]
    of_words = {s for b in blocks if b.metric and b.metric.key == "wer" for s in b.resampled}
    notes = [f"{s}: no {describe(m).name}" for s, m in _incomplete(data, split)]
    if any(block.resampled for block in blocks):
        notes += interval_notes(data.results.records(), ["wer"])
    rated = cells.own.intersection(cells.rows.select(metric="wer", split=split).values("system"))
    notes += words_not_resampled(data, (s for s in systems if s in rated - of_words))
    notes += [describe(m).explanation.rstrip(".") for m in cells.measures if m in rated_by]
    caveats = caveats_in(blocks)
    notes += [*caveats, *(cells.not_comparable if caveats else ())]
    table = Table(
        f"utility_{split}",
        f"Utility, {protocol.split_name(split)}: word error rate (lower is better) and "
        "unweighted average recall of emotions (higher is better)"
        + f"; {measures_in_words(rated_by)}" * any(m in rated_by for m in cells.measures)
        + ".",
        (Column("Data", align="l"),),
        notes=tuple(notes),
        section=SIDE_BY_SIDE,
        title="Utility",
    )
    return table_of_blocks(table, blocks, systems, cells, intervals=True)


def measures_in_words(metrics: Iterable[str]) -> str:
    """List measures of speech, with the direction of better values."""
    of_kind = (describe(m) for m in metrics if describe(m).kind == "measures")
    return ", ".join(f"{m.name} ({m.best} is better)" if m.best else m.name for m in of_kind)


def _rows_of_sets(protocol: Protocol, metric: str, split: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of the row, the data set and the gender of the sets of a metric."""
    if describe(metric).kind != "measures":
        for decoded in decoded_sets(protocol, metric):
            yield decoded.row_name(split), decoded.id, ""
        return
    for name, gender in itertools.product(protocol.table_rows, protocol.genders):
        yield f"{protocol.data_set(name).row_name(split)} {gender}", name, gender


def _incomplete(data: ReportData, split: str) -> Iterator[tuple[str, str]]:
    """Yield systems with some metric of utility but not another."""
    for system in data.cells.systems:
        means = {
            m: data.means.of(m, None, split, system)["value"]
            for m in UTILITY
            if any(d.weight for d in decoded_sets(data.protocol, m))
        }
        if any(v is not None for v in means.values()):
            yield from ((system, m) for m, v in means.items() if v is None)


def _thresholds(data: ReportData, split: str) -> Table | None:
    """For every threshold of EER the systems at or above it, ranked by WER and by UAR."""
    protocol = data.protocol
    compared = [t for t in data.trade_offs[split] if t["utility"]]
    if not compared or not protocol.eer_thresholds:
        return None
    own = {t["system"] for t in compared} & data.cells.own
    mixed = bool(own) and len(own) < len(compared)
    rated = [m for m in UTILITY if any(m in t["utility"] for t in compared)]
    blank = {name: "" for m in rated for name in (m, f"{m}_rank")}
    rows: list[Row] = []
    for threshold in protocol.eer_thresholds:
        reached = sorted(
            (t for t in compared if t["value"] >= threshold),
            key=lambda t: t["utility"]["wer"]["value"] if "wer" in t["utility"] else math.inf,
        )
        block = {"threshold": f"EER of {100 * threshold:g} % or more", **blank}
        for t in reached:
            of = {"system": t["system"], "eer": t["printed"], **dict(_ranks(t, reached))}
            if mixed:
                of["source"] = "submitted" if t["system"] in own else "published"
            rows.append({**block, **of})
        rows += [] if reached else [{**block, "system": "none"}]
    attack = protocol.average_attack
    words = {
        "split": split,
        "split_name": protocol.split_name(split),
        "attack": attack.phrase,
        "eer": describe(protocol.eer).column.title,
    }
    notes = [threshold_note(data, split), *overestimates(data, [split], [attack])]
    notes += data.cells.not_comparable if "wer" in rated else ()
    headings = {row["threshold"]: row["threshold"] for row in rows}
    entry = replace(entry_of("thresholds_{split}"), headings=headings)
    return declared_table(entry, Measurements.of(rows), words, notes)


def threshold_note(data: ReportData, split: str) -> str:
    """Say that thresholds and ranks disregard uncertainty, and which systems may be on either side
    of a threshold."""
    protocol = data.protocol
    either = [
        f"{t['system']} ({100 * threshold:g} %)"
        for t in data.trade_offs[split]
        if t["utility"] and t.get("low") is not None
        for threshold in protocol.eer_thresholds
        if t["low"] < threshold <= t["high"]
    ]
    note = "Thresholds and ranks are of the values as they are, without their uncertainty"
    return f"{note}; 95 % intervals of the EER include a threshold: {', '.join(either)}"[
        : None if either else len(note)
    ]


def recalls_of_folds(data: ReportData, metric: str, data_set: str, split: str) -> dict[str, str]:
    """Map systems to the least and the greatest recall of the folds of a set, each a speaker, which
    are too few for an interval."""
    ranges: dict[str, str] = {}
    for r in data.results.emotion:
        place = r.condition.data_set, r.condition.split
        recalls = r.measurements.select(metric=metric, fold=PRESENT).values("value")
        if place == (data_set, split) and recalls:
            original = r.condition.trial == ORIGINAL
            system = ORIGINAL_COLUMN if original else system_column(r.condition.system)
            ends = (describe(metric).format(end) for end in (min(recalls), max(recalls)))
            ranges.setdefault(system, " to ".join(ends))
    return ranges


def _ranks(one: Row, reached: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the value of each metric of utility of a system, and its rank, by name."""
    for metric, mean in one["utility"].items():
        interval = describe(metric).interval(interval_of(mean))
        yield metric, f"{mean['printed']} {interval}".rstrip()
        yield f"{metric}_rank", str(utility_rank(mean["value"], reached, metric))


def utility_rank(value: float, among: Sequence[Row], metric: str) -> int:
    """Return the rank of a value by utility."""
    others: list[float] = [t["utility"][metric]["value"] for t in among if metric in t["utility"]]
    return 1 + sum(v < value if metric == "wer" else v > value for v in others)
