"""The main results in one table, which the recipe ends with."""

from __future__ import annotations

from ..metrics import describe
from ..metrics.caveats import marked_text, worst_caveat
from ..metrics.confidence import expanded_interval
from ..results.averages import weighted_mean
from ..results.records import VerificationRecord
from ..results.signature import network_notes
from .data import ReportData
from .per_system import few_replicates
from .provenance import coverage
from .ranking import average_replicates
from .table import Column, Table
from .values import Cells, caveat_notes, cells_from_results, system_column

_METRICS = ("eer", "cllr_min", "linkability", "deid")
_UNKNOWN = "n/a"


def summary_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model; None without evaluated systems.

    Values are averages over the conditions there are, with the protocol's weights.
    """
    results, protocol = data.results, data.protocol
    cells = cells_from_results(results)
    eer_key, *other_keys = map(protocol.shown, _METRICS)
    columns = [Column("System", align="l"), Column("Split"), Column("Attack model", align="l")]
    columns += [Column("Conditions"), Column(describe(eer_key).column.title)]
    columns += [Column("95 % interval")]
    columns += [Column(describe(key).column.title) for key in other_keys]
    shown: list[VerificationRecord] = []
    intervals: list[str] = []
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
                    eer, *others = (
                        _mean(data, cells, records, key) for key in (eer_key, *other_keys)
                    )
                    place = (system, protocol.split_title(split), attack.title)
                    intervals.append(_interval(data, records))
                    rows.append((*place, str(len(records)), eer, intervals[-1], *others))
                    shown += records
        groups.append(tuple(rows))
    if not shown:
        return None
    caption = (
        f"{protocol.title}: averages over data sets and genders with the protocol's weights, of "
        f"the conditions there are (all: {len(protocol.data_sets) * len(protocol.genders)})."
    )
    notes = [*coverage(results), *caveat_notes(shown, [eer_key, *other_keys], marked=True)]
    notes += network_notes(results)
    if not all(intervals) and any(r.speaker_intervals for r in shown):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    few = few_replicates(results, data.curves)
    notes += [few] if few else []
    return Table(
        "summary",
        caption,
        tuple(columns),
        tuple(filter(None, groups)),
        notes=tuple(notes),
        fit="shrunk",
    )


def _interval(data: ReportData, records: list[VerificationRecord]) -> str:
    """Format the interval of the average EER, which needs replicates of all conditions."""
    by_set = {(r.condition.data_set, r.condition.gender): r for r in records}
    eer = data.protocol.shown("eer")
    replicates = average_replicates(by_set, data.curves, data.protocol, eer)
    if replicates is None:
        return ""
    bounds = expanded_interval(replicates.values, replicates.n_speakers)
    return f"[{describe(eer).format(bounds.low)}, {describe(eer).format(bounds.high)}]"


def _mean(data: ReportData, cells: Cells, records: list[VerificationRecord], key: str) -> str:
    """Format the average of a metric; that of voice similarity does not depend on the attack."""
    metric, weights = describe(key), {d.id: d.weight for d in data.protocol.data_sets}
    found = []
    for c in (r.condition for r in records):
        attack = c.attack_model if metric.kind == "scores" else None
        cell = cells.get(key, attack, c.split, c.data_set, c.gender, system_column(c.system))
        if cell is not None:
            found.append((weights[c.data_set], cell))
    mean = weighted_mean((weight, cell.value) for weight, cell in found)
    if mean is None:
        return _UNKNOWN
    return marked_text(metric.format(mean), worst_caveat(c.caveat for _, c in found))
