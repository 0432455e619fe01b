"""Privacy against utility, as the editions from 2022 on weigh them: tables of several systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..metrics import Label, describe
from ..protocol.protocol import Protocol, RecognitionSet
from ..results.averages import weighted_mean
from .across_systems import table_of_systems
from .data import ReportData
from .ranking import rank
from .table import Column, Table
from .values import ORIGINAL_COLUMN, Cell, Cells

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
    utility : mapping-like tuple of (str, float)
        Averages of anonymized speech by metric: `wer`, `uar`; missing ones are left out.
    bounds : tuple of (str, (float, float))
        95 % bounds of them over speakers, by metric, of those that are of one data set.
    """

    system: str
    eer: float
    interval: tuple[float, float] | None
    utility: tuple[tuple[str, float], ...]
    bounds: tuple[tuple[str, tuple[float, float]], ...] = ()

    def get(self, metric: str) -> float | None:
        """Return the average of a metric of utility."""
        return dict(self.utility).get(metric)


def trade_offs(data: ReportData, split: str) -> list[TradeOff]:
    """List the systems that have an average EER, with their utility."""
    protocol = data.protocol
    ranking = rank(
        data.results,
        data.curves,
        metric=protocol.eer,
        attack_model=protocol.average_attack_model,
        split=split,
        cells=data.cells,
    )
    ranked = {r.system: r for r in ranking.ranked if r.system != ORIGINAL_COLUMN}
    found = []
    for system in (s for s in data.cells.systems if s in ranked):
        means = {m: mean_utility(data.cells, protocol, m, split, system) for m in UTILITY}
        utility = tuple((m, mean) for m, mean in means.items() if mean is not None)
        bounds = tuple(
            (m, cell.interval)
            for m in UTILITY
            for cell in _only_cell(data.cells, protocol, m, split, system)
            if cell.interval is not None
        )
        one = ranked[system]
        found.append(TradeOff(system, one.value, one.interval, utility, bounds))
    return found


def mean_utility(
    cells: Cells, protocol: Protocol, metric: str, split: str, system: str
) -> float | None:
    """Compute the weighted mean over data sets; None if a value is missing."""
    found = (
        (d.weight, cells.get(metric, None, split, d.id, "", system))
        for d in _sets(protocol, metric)
    )
    return weighted_mean((weight, cell.value if cell else None) for weight, cell in found)


def _only_cell(
    cells: Cells, protocol: Protocol, metric: str, split: str, system: str
) -> list[Cell]:
    """The value that is the average, where a single data set has a weight."""
    weighted = [d.id for d in _sets(protocol, metric) if d.weight]
    cell = cells.get(metric, None, split, weighted[0], "", system) if len(weighted) == 1 else None
    return [] if cell is None else [cell]


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
            found = [cells.get(metric, None, split, d.id, "", s) for s in systems]
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
    )
    return table_of_systems(table, cells, systems)


def _incomplete(data: ReportData, split: str) -> Iterator[tuple[str, str]]:
    """Yield systems with some metric of utility but not another."""
    for system in data.cells.systems:
        means = {
            m: mean_utility(data.cells, data.protocol, m, split, system)
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
    shown = [m for m in UTILITY if any(t.get(m) is not None for t in found)]
    groups, headings = [], []
    for threshold in protocol.eer_thresholds:
        reached = sorted(
            (t for t in found if t.eer >= threshold),
            key=lambda t: (t.get("wer") is None, t.get("wer") or 0.0),
        )
        if reached:
            groups.append(tuple(_row(t, reached, shown, protocol) for t in reached))
            headings.append(Label(f"EER of {100 * threshold:g} % or more"))
    if not groups:
        return None
    own = {t.system for t in found} & data.cells.own
    attack = protocol.attack(protocol.average_attack_model).title.lower()
    titles = (title for m in shown for title in (describe(m).column.title, "Rank"))
    note = f"Thresholds: {protocol.eer_thresholds_note}" if protocol.eer_thresholds_note else ""
    return Table(
        f"thresholds_{split}",
        f"Systems by the thresholds of the average EER ({attack}), "
        f"{protocol.split_title(split)}: ranked by utility among those at or above each.",
        (
            Column("System", align="l"),
            *((Column("Source"),) if own and len(own) < len(found) else ()),
            Column(describe(protocol.eer).column.title),
            *map(Column, titles),
        ),
        tuple(
            tuple(
                (row[0], *(("own" if row[0] in own else "published",)), *row[1:])
                if own and len(own) < len(found)
                else row
                for row in group
            )
            for group in groups
        ),
        headings=tuple(headings),
        notes=(note,) if note else (),
        fit="shrunk",
    )


def _row(
    one: TradeOff, reached: Sequence[TradeOff], shown: Sequence[str], protocol: Protocol
) -> tuple[str, ...]:
    cells = [one.system, describe(protocol.eer).format(one.eer)]
    for metric in shown:
        value = one.get(metric)
        others = [v for t in reached if (v := t.get(metric)) is not None]
        better = [v < value if metric == "wer" else v > value for v in others if value is not None]
        text = "" if value is None else describe(metric).format(value)
        cells += [text, "" if value is None else str(1 + sum(better))]
    return tuple(cells)
