"""The main results in one table, printed at the end of the recipe."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ..metrics import NOT_AVAILABLE, describe
from ..metrics.caveats import marked_text, worst_caveat
from ..protocol.protocol import AttackModel
from ..results.averages import weighted_mean
from ..results.records import VerificationRecord
from ..results.signature import network_notes
from .data import ReportData
from .per_system import few_replicates
from .provenance import coverage
from .ranking import average_replicates, interval_text
from .table import ANSWER, Column, Table
from .values import ORIGINAL_COLUMN, CellKey, caveat_notes, system_column

_METRICS = ("cllr_min", "linkability", "deid")


@dataclass(frozen=True)
class Average:
    """Average of a system under an attack model, over the available conditions of a split.

    Attributes
    ----------
    system, split : str
    attack : AttackModel
    records : tuple of VerificationRecord
    interval : str
        95 % interval of the EER; "" without replicates of all conditions.
    """

    system: str
    split: str
    attack: AttackModel
    records: tuple[VerificationRecord, ...]
    interval: str

    def text(self, data: ReportData, metric: str) -> str:
        """Format the average of a metric, with the mark of its caveat; that of voice similarity
        does not depend on the attack."""
        info, weights = describe(metric), {d.id: d.weight for d in data.protocol.data_sets}
        found = []
        for c in (r.condition for r in self.records):
            attack = c.attack_model if info.kind == "scores" else None
            system = ORIGINAL_COLUMN if c.is_original else system_column(c.system)
            key = CellKey(metric, attack, c.split, c.data_set, c.gender, system)
            if (cell := data.cells.get(key)) is not None:
                found.append((weights[c.data_set], cell))
        mean = weighted_mean((weight, cell.value) for weight, cell in found)
        if mean is None:
            return NOT_AVAILABLE
        return marked_text(info.format(mean), worst_caveat(c.caveat for _, c in found))


def averages_by_attack(data: ReportData) -> Iterator[Average]:
    """Average the available conditions over data sets and genders with the protocol's weights,
    for every system, split and attack model, and for original speech."""
    for system, split, attack in itertools.product(
        data.results.systems, data.protocol.splits, data.protocol.attack_models
    ):
        records = tuple(
            r
            for r in data.results.verification
            if (r.condition.system, r.condition.split, r.condition.attack_model)
            == (system, split, attack.id)
        )
        if records:
            # Without replicates of all conditions there is no interval.
            by_set = {(r.condition.data_set, r.condition.gender): r for r in records}
            eer = data.protocol.eer
            replicates = average_replicates(by_set, data.curves, data.protocol, eer)
            interval = interval_text(describe(eer), replicates.interval if replicates else None)
            yield Average(system, split, attack, records, interval)


def summary_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model; None without evaluated systems."""
    results, protocol = data.results, data.protocol
    shown = (protocol.eer, *_METRICS)
    titles = [Column(describe(key).column.title) for key in shown]
    titles.insert(1, Column("95 % interval"))
    averages = [a for a in averages_by_attack(data) if not a.attack.is_original]
    groups = []
    for _, of_system in itertools.groupby(averages, key=lambda a: a.system):
        rows = []
        for a in of_system:
            eer, *others = (a.text(data, key) for key in shown)
            place = (a.system, protocol.split_title(a.split), a.attack.title)
            rows.append((*place, str(len(a.records)), eer, a.interval, *others))
        groups.append(tuple(rows))
    if not averages:
        return None
    records = [r for a in averages for r in a.records]
    caption = (
        f"{protocol.title}: averages over data sets and genders with the protocol's weights, of "
        f"the available conditions (all: {len(protocol.data_sets) * len(protocol.genders)})."
    )
    notes = [
        "DeID does not depend on the attack model",
        *coverage(results),
        *caveat_notes(records, shown, marked=True),
    ]
    notes += network_notes(results)
    if not all(a.interval for a in averages) and any(r.speaker_intervals for r in records):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    few = few_replicates(results, data.curves)
    notes += [few] if few else []
    columns = (
        Column("System", align="l"),
        Column("Split"),
        Column("Attack model", align="l"),
        Column("Conditions"),
        *titles,
    )
    return Table(
        "summary",
        caption,
        columns,
        tuple(groups),
        notes=tuple(notes),
        fit="shrunk",
        section=ANSWER,
    )
