"""The main results in one table, printed at the end of the recipe."""

from __future__ import annotations

from ..metrics import NOT_AVAILABLE, describe
from ..numbers.attacks import Attack
from ..numbers.report_data import ReportData
from .notes import caveat_notes, too_few_replicates
from .table import ANSWER, Column, Table

_METRICS = ("cllr_min", "linkability", "deid")


def main_results_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model; None without evaluated systems."""
    results, protocol = data.results, data.protocol
    keys = (protocol.eer, *_METRICS)
    titles = [Column(describe(key).column.title) for key in keys]
    titles.insert(1, Column("95 % interval"))
    groups = []
    evaluated: list[Attack] = []
    for system in data.systems_by_rank:
        of_system = [a for a in data.attacks[system] if not a.model.is_original]
        evaluated += of_system
        rows = []
        for a in of_system:
            means = (*(a.means[key] for key in keys[:-1]), a.deid)
            eer, *others = (mean.text() or NOT_AVAILABLE for mean in means)
            interval = describe(protocol.eer).interval(a.eer.interval)
            place = (a.system, protocol.split_title(a.split), a.model.title)
            rows.append((*place, str(len(a.eer.parts)), eer, interval, *others))
        groups.append(tuple(rows))
    if not evaluated:
        return None
    models = {a.id for a in protocol.attack_models if not a.is_original}
    records = [r for r in results.verification if r.condition.attack_model in models]
    caption = (
        f"{protocol.title}: averages over data sets and genders with the protocol's weights, of "
        f"the available conditions (all: {len(protocol.data_sets) * len(protocol.genders)})."
    )
    notes = [
        "DeID does not depend on the attack model",
        *data.gaps,
        *caveat_notes(records, keys, marked=True),
        *data.cells.networks,
    ]
    if not all(a.eer.replicates for a in evaluated) and any(r.speaker_intervals for r in records):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    notes += too_few_replicates(data.lacking_replicates.values())
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
