"""Privacy-utility trade-off, as in the editions since 2022: tables of several systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..metrics import Label, describe
from ..protocol.protocol import Protocol, RecognitionSet
from ..results.averages import weighted_mean
from .across_systems import table_of_systems
from .data import ReportData
from .ranking import average_ranking
from .table import SIDE_BY_SIDE, Column, Table
from .values import ORIGINAL_COLUMN, Cell, CellKey

UTILITY = ("wer", "uar")


@dataclass(frozen=True)
class TradeOff:
    """Privacy and utility of a system on one split.

    Attributes
    ----------
    system : str
    eer : float
        Average under the protocol's attack model, a fraction.
    interval : (float, float) or None
        95 % bounds of it over speakers.
    utility : mapping
        Averages of anonymized speech by metric: `wer`, `uar`; missing ones are left out.
    bounds : mapping
        95 % bounds over speakers of those averages that are of a single data set, by metric.
    """

    system: str
    eer: float
    interval: tuple[float, float] | None
    utility: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]


def trade_offs(data: ReportData, split: str) -> list[TradeOff]:
    """List the systems that have an average EER, with their utility."""
    ranked = {r.system: r for r in average_ranking(data, split).ranked}
    found = []
    for system in (s for s in data.cells.systems if s in ranked):
        means = {m: mean_utility(data, m, split, system) for m in UTILITY}
        bounds = {}
        for metric in UTILITY:
            cells = [c for weight, c in _weighted(data, metric, split, system) if weight]
            if len(cells) == 1 and cells[0] is not None and cells[0].interval is not None:
                bounds[metric] = cells[0].interval
        utility = {m: mean for m, mean in means.items() if mean is not None}
        one = ranked[system]
        found.append(TradeOff(system, one.value, one.interval, utility, bounds))
    return found


def mean_utility(data: ReportData, metric: str, split: str, system: str) -> float | None:
    """Compute the weighted mean over data sets; None if a value is missing."""
    found = _weighted(data, metric, split, system)
    return weighted_mean((weight, cell.value if cell else None) for weight, cell in found)


def _weighted(
    data: ReportData, metric: str, split: str, system: str
) -> list[tuple[float, Cell | None]]:
    """List the values of all data sets with their weights."""
    return [
        (d.weight, data.cells.get(CellKey(metric, None, split, d.id, "", system)))
        for d in _sets(data.protocol, metric)
    ]


def utility_tables(data: ReportData) -> list[Table]:
    """Make the tables of utility and of the thresholds, for each split with values; none under a
    protocol that does not weigh utility."""
    if not data.protocol.weighs_utility:
        return []
    tables = (f(data, split) for split in data.protocol.splits for f in (_utility, _thresholds))
    return [table for table in tables if table is not None]


def _sets(protocol: Protocol, metric: str) -> Sequence[RecognitionSet]:
    return protocol.recognition.data_sets if metric == "wer" else protocol.emotion


def _utility(data: ReportData, split: str) -> Table | None:
    """Word error rates and recalls of emotions, a column per system."""
    cells, protocol = data.cells, data.protocol
    rows: dict[str, list[tuple[str, ...]]] = {}
    systems = [ORIGINAL_COLUMN, *cells.systems]
    present = {k.system for k in cells.values if k.metric in UTILITY and k.split == split}
    systems = [s for s in systems if s in present]
    for metric in UTILITY:
        for d in _sets(protocol, metric):
            found = [cells.get(CellKey(metric, None, split, d.id, "", s)) for s in systems]
            if any(found):
                texts = (cell.text if cell else "" for cell in found)
                rows.setdefault(metric, []).append((d.row_name(split), *texts))
    if not rows or set(systems) <= {ORIGINAL_COLUMN}:
        return None
    table = Table(
        f"utility_{split}",
        f"Utility, {protocol.split_title(split)}: word error rate (smaller is better) and "
        "unweighted average recall of emotions (larger is better).",
        (Column("Data", align="l"),),
        tuple(tuple(lines) for lines in rows.values()),
        headings=tuple(Label(*describe(metric).heading) for metric in rows),
        notes=tuple(f"{s}: no {describe(m).name}" for s, m in _incomplete(data, split)),
        section=SIDE_BY_SIDE,
        title="Utility",
    )
    return table_of_systems(table, cells, systems)


def _incomplete(data: ReportData, split: str) -> Iterator[tuple[str, str]]:
    """Yield systems with some metric of utility but not another."""
    for system in data.cells.systems:
        means = {
            m: mean_utility(data, m, split, system)
            for m in UTILITY
            if any(d.weight for d in _sets(data.protocol, m))
        }
        if any(v is not None for v in means.values()):
            yield from ((system, m) for m, v in means.items() if v is None)


def _thresholds(data: ReportData, split: str) -> Table | None:
    """For every threshold of EER the systems at or above it, ranked by WER and by UAR."""
    protocol = data.protocol
    found = [t for t in trade_offs(data, split) if t.utility]
    if not found or not protocol.eer_thresholds:
        return None
    shown = [m for m in UTILITY if any(m in t.utility for t in found)]
    groups, headings = [], []
    for threshold in protocol.eer_thresholds:
        reached = sorted(
            (t for t in found if t.eer >= threshold),
            key=lambda t: t.utility.get("wer", math.inf),
        )
        if reached:
            groups.append([_row(t, reached, shown, protocol) for t in reached])
            headings.append(Label(f"EER of {100 * threshold:g} % or more"))
    if not groups:
        return None
    own = {t.system for t in found} & data.cells.own
    columns = [Column("System", align="l"), Column(describe(protocol.eer).column.title)]
    columns += [Column(t) for m in shown for t in (describe(m).column.title, "Rank")]
    if own and len(own) < len(found):
        columns.insert(1, Column("Source"))
        for group in groups:
            for row in group:
                row.insert(1, "submitted" if row[0] in own else "published")
    attack = protocol.attack(protocol.average_attack_model).title.lower()
    note = f"Thresholds: {protocol.eer_thresholds_note}" if protocol.eer_thresholds_note else ""
    title = f"Systems by the thresholds of the average EER ({attack})"
    return Table(
        f"thresholds_{split}",
        f"{title}, {protocol.split_title(split)}: ranked by utility among those at or above each.",
        tuple(columns),
        tuple(tuple(map(tuple, group)) for group in groups),
        headings=tuple(headings),
        notes=(note,) if note else (),
        fit="shrunk",
        section=SIDE_BY_SIDE,
        title=title,
    )


def _row(
    one: TradeOff, reached: Sequence[TradeOff], shown: Sequence[str], protocol: Protocol
) -> list[str]:
    cells = [one.system, describe(protocol.eer).format(one.eer)]
    for metric in shown:
        value = one.utility.get(metric)
        if value is None:
            cells += ["", ""]
            continue
        others = [t.utility[metric] for t in reached if metric in t.utility]
        better = [v < value if metric == "wer" else v > value for v in others]
        cells += [describe(metric).format(value), str(1 + sum(better))]
    return cells
