"""The main results in one table, printed at the end of the recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..metrics import NOT_AVAILABLE, describe
from ..numbers.attacks import Attack
from ..numbers.cells import ORIGINAL_COLUMN, system_column
from ..numbers.means import Mean
from ..numbers.report_data import ReportData
from .attackers_in_words import strongest_attacker_notes
from .notes import averaged_text, blank_notes, caveat_notes, words_not_resampled
from .table import ANSWER, Column, Table

_METRICS = ("cllr_min", "linkability", "deid", "wer", "uar", "dnsmos_ovrl", "per", "per_original")
#: Those of them whose interval is printed beside the value.
_WITH_INTERVAL = ("wer", *_METRICS[-3:])


def main_results_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model, below those of original speech, then one
    for the strongest of several attackers; columns of the metrics that any system has. None without
    evaluated systems."""
    results, protocol = data.results, data.protocol
    systems = [data.attacks[system] for system in data.systems_by_rank]
    original = {a.split: a for of in systems[::-1] for a in of if a.model.is_original}
    groups = [[_means(a, data) for a in original.values()]]
    for attacks in systems:
        groups.append([_means(a, data) for a in attacks if not a.model.is_original])
    evaluated = [pair for group in groups[1:] for pair in group]
    if not evaluated:
        return None
    others = [
        key for key in _METRICS if any(key in m and m[key].value is not None for _, m in evaluated)
    ]
    keys = (protocol.eer, *others)
    models = {a.id for a in protocol.attack_models if not a.is_original}
    records = [r for r in results.verification if r.condition.attack_model in models]
    rows = [[_row(a, m, keys, data) for a, m in group] for group in groups]
    for system, of_system in zip(data.systems_by_rank, rows[1:], strict=True):
        of_system += _strongest_rows(system, len(others), data)
    caption = (
        f"{protocol.title}: {averaged_text(protocol)}, of "
        f"the available conditions (all: {data.averaged_conditions})."
    )
    of_speech = [describe(key).name for key in keys if describe(key).kind != "scores"]
    notes = [
        *([f"The same under every attack model: {', '.join(of_speech)}"] if of_speech else ()),
        *(f"{text[:1].upper()}{text[1:]}" for text in protocol.remarks),
        *data.gaps,
        *caveat_notes(records, keys, protocol.variant, marked=True),
        *blank_notes((a.system, of[key]) for a, of in evaluated for key in keys if key in of),
        *data.cells.not_comparable,
    ]
    if not all(a.eer.replicates for a, _ in evaluated) and any(
        r.speaker_intervals for r in records
    ):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    notes += data.narrow_intervals
    resampled = {
        key
        for _, means in evaluated
        for key in _WITH_INTERVAL
        if key in means and means[key].interval
    }
    titles = [Column(describe(key).column.title, interval=key in resampled) for key in keys]
    unresampled = [a.system for a, m in evaluated if m["wer"].value and not m["wer"].interval]
    notes += words_not_resampled(data, map(system_column, dict.fromkeys(unresampled)))
    notes += strongest_attacker_notes(data)
    titles.insert(1, Column("95 % interval"))
    columns = (
        Column("System", align="l"),
        Column("Split", align="l"),
        Column("Attack model", align="l"),
        Column("Conditions"),
        *titles,
    )
    return Table(
        "summary",
        caption,
        columns,
        tuple(tuple(group) for group in rows if group),
        notes=tuple(notes),
        section=ANSWER,
        front=True,
    )


def _means(attack: Attack, data: ReportData) -> tuple[Attack, Mapping[str, Mean]]:
    """Return an attack with its means of all metrics."""
    column = ORIGINAL_COLUMN if attack.model.is_original else system_column(attack.system)
    return attack, {
        **attack.means,
        "deid": attack.deid,
        **data.unpublished.utility[attack.split][column],
    }


def _row(
    attack: Attack, means: Mapping[str, Mean], keys: Sequence[str], data: ReportData
) -> tuple[str, ...]:
    eer, *others = (means[key].text() or NOT_AVAILABLE for key in keys)
    for key in _WITH_INTERVAL:
        if key in keys:
            bounds = describe(key).interval(means[key].interval)
            others[keys[1:].index(key)] += f" {bounds}".rstrip()
    interval = describe(data.protocol.eer).interval(attack.eer.interval)
    names = (attack.system, attack.model.title)
    system, model = ("Original speech", "") if attack.model.is_original else names
    place = (system, data.protocol.split_title(attack.split), model)
    return (*place, str(len(attack.eer.parts)), eer, interval, *others)


def _strongest_rows(system: str, others: int, data: ReportData) -> Iterator[tuple[str, ...]]:
    """Yield the lowest EER of several attackers for every split, then corrected for the choice;
    `others`: number of the metrics beside it, which are not of that attacker."""
    for split in data.protocol.splits:
        tried = data.tried.get((system, split))
        if tried is not None and tried.lowest is not None:
            attackers, mean = len(tried.compared), tried.lowest.eer
            bounds = describe(mean.metric).interval(mean.interval)
            rows = [(f"Strongest of {attackers}", mean.text(), bounds)]
            if tried.corrected_text:
                eer, _, bounds = tried.corrected_text.partition(" ")
                rows.append((f"Corrected (of {attackers})", eer, bounds))
            for title, *texts in rows:
                place = (system, data.protocol.split_title(split), title, str(len(mean.parts)))
                yield (*place, *texts, *[""] * others)
