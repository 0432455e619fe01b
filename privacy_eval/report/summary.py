"""The main results in one table, which the recipe ends with."""

from __future__ import annotations

from ..metrics import describe
from ..protocol.protocol import AttackModel
from ..results.averages import weighted_mean
from ..results.records import VerificationRecord
from .data import ReportData
from .ranking import bounds_text, rank
from .table import Column, Table
from .values import Cells, caveats, cells_from_results, system_column

_METRICS = ("eer", "cllr_min", "linkability", "deid")
_UNKNOWN = "n/a"


def summary_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model; None without evaluated systems.

    Values are averages over the conditions there are, with the protocol's weights.
    """
    results, protocol = data.results, data.protocol
    cells = cells_from_results(results)
    intervals = _intervals(data, cells)
    columns = [Column("System", align="l"), Column("Split"), Column("Attack model", align="l")]
    columns += [Column("Conditions"), Column("EER, %"), Column("95 % interval")]
    columns += [Column(describe(key).column.title) for key in _METRICS[1:]]
    notes: dict[str, None] = {}
    groups = []
    for system in results.systems:
        rows = []
        for split in protocol.splits:
            for attack in (a for a in protocol.attack_models if not a.is_original):
                records = [
                    r
                    for r in results.verification
                    if (r.condition.system, r.condition.split, r.condition.attack_model)
                    == (system, split, attack.id)
                ]
                if records:
                    interval = intervals.get((split, attack.id, system_column(system)), "")
                    rows.append(_row(data, cells, records, attack, interval))
                    notes |= dict.fromkeys(caveats(records, _METRICS[:3], protocol.variant))
        groups.append(tuple(rows))
    groups = [rows for rows in groups if rows]
    if not groups:
        return None
    all_conditions = len(protocol.data_sets) * len(protocol.genders)
    caption = (
        f"{protocol.title}: averages over data sets and genders with the protocol's weights, of "
        f"the conditions there are (all: {all_conditions})."
    )
    return Table("summary", caption, tuple(columns), tuple(groups), notes=tuple(notes))


def _intervals(data: ReportData, cells: Cells) -> dict[tuple[str, str, str], str]:
    """Intervals of the average EER, by split, attack model and system."""
    if not any(record.speaker_intervals for record in data.results.verification):
        return {}
    return {
        (split, attack.id, ranked.system): bounds_text(describe("eer"), ranked.interval)
        for split in data.protocol.splits
        for attack in data.protocol.attack_models
        if not attack.is_original
        for ranked in rank(
            data.results,
            data.curves,
            metric="eer",
            attack_model=attack.id,
            split=split,
            cells=cells,
        ).ranked
    }


def _row(
    data: ReportData,
    cells: Cells,
    records: list[VerificationRecord],
    attack: AttackModel,
    interval: str,
) -> tuple[str, ...]:
    protocol, condition = data.protocol, records[0].condition
    values = [_mean(data, cells, records, key) for key in _METRICS]
    return (
        condition.system,
        protocol.split_title(condition.split),
        attack.title,
        str(len(records)),
        values[0],
        interval,
        *values[1:],
    )


def _mean(data: ReportData, cells: Cells, records: list[VerificationRecord], key: str) -> str:
    """Format the average of a metric; that of voice similarity does not depend on the attack."""
    metric, weights = describe(key), {d.id: d.weight for d in data.protocol.data_sets}
    found = []
    for c in (r.condition for r in records):
        attack = c.attack_model if metric.kind == "scores" else None
        cell = cells.get(key, attack, c.split, c.data_set, c.gender, system_column(c.system))
        if cell is not None:
            found.append((weights[c.data_set], cell.value))
    mean = weighted_mean(found)
    withheld = key == "linkability" and caveats(records, [key], data.protocol.variant)
    return _UNKNOWN if mean is None or withheld else metric.format(mean)
