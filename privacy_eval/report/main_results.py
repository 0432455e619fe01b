"""The main results in one table, printed at the end of the recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..choices import LEVEL
from ..metrics import NOT_AVAILABLE, describe
from ..numbers.attackers import Tried
from ..numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.means import UTILITY, averaged_conditions
from ..numbers.report_data import ReportData
from ..results.measurements import Measurements, Row
from .attackers_in_words import (
    LIKE_LOWEST,
    PARTIAL,
    UNTESTED,
    attacker_notes,
    strongest_attacker_notes,
)
from .declared import declared_table, entry_of
from .notes import averaged_text, blank_notes, caveat_notes, words_not_resampled
from .ranking_tables import p_value_text
from .table import Table

#: Follows statements that are of a single pair, and do not hold among all pairs.
_SINGLE = " (this pair alone)"


def attackers_table(data: ReportData) -> Table | None:
    """Make a row for every system and split, a column for every attacker; None where only the
    challenge's own was tried."""
    protocol, tried = data.protocol, data.tried
    order = [(s, split) for split in protocol.splits for s in data.systems_by_rank]
    rows = [tried[place] for place in order if place in tried]
    every = [a for row in rows for a in row.attackers]
    shown: list[Row] = []

    def add(system: str, split: str, eers: Mapping[str, str], bold: str = "", **more: str) -> None:
        place = {"system": system, "split": protocol.split_title(split), **more}
        for title in dict.fromkeys(a["title"] for a in every):
            text = eers.get(title) or NOT_AVAILABLE
            shown.append({**place, "title": title, "printed": text, "is_bold": title == bold})

    for split in dict.fromkeys(row.split for row in rows):
        of_split = [row for row in rows if row.split == split]
        if original := _original(of_split, data):
            add("Original speech", split, original)
        for row in of_split:
            corrected = {"corrected": row.corrected_text} if row.corrected_text else {}
            add(row.system, split, _eers(row), row.lowest_title, **corrected)
    own = protocol.own_attacker
    words = {
        "protocol": protocol.title,
        "eer": describe(protocol.eer).name,
        "averaged": averaged_text(protocol),
        "titles": ", ".join(dict.fromkeys(a["title"] for a in every if a["attacker"] == own)),
        "own": next((a.title for a in protocol.attackers if a.id == own), own),
    }
    table = declared_table(
        entry_of("attackers"), Measurements.of(shown), words, attacker_notes(rows, data)
    )
    return table and replace(table, front=True)


def _original(rows: Sequence[Tried], data: ReportData) -> Mapping[str, str]:
    """Return the EERs on original speech of a split by attacker, if another one than the
    challenge's own was tried on it."""
    protocol, split = data.protocol, rows[0].split
    every = [a for row in rows for a in row.attackers]
    scored = {a["title"]: a["original"]["printed"] for a in reversed(every) if a["original"]}
    eers = {title: text for title, text in scored.items() if text}
    if eers:
        own = data.means.of(protocol.eer, ORIGINAL_ATTACK, split, ORIGINAL_COLUMN)["printed"]
        eers |= {a["title"]: own for a in every if a["attacker"] == protocol.own_attacker}
    return eers


def _eers(row: Tried) -> Mapping[str, str]:
    """Return the EERs of a system by attacker, with their marks."""
    marked = {LIKE_LOWEST: row.like_lowest, UNTESTED: row.untested}
    marked[PARTIAL] = {a["title"] for a in row.partial}
    marks = {
        a["title"]: "".join(m for m, titles in marked.items() if a["title"] in titles)
        for a in row.attackers
    }
    return {a["title"]: f"{a['printed']}{marks[a['title']]}" for a in row.attackers}


def pairs_table(data: ReportData, system: str) -> Table | None:
    """Compare all attackers of a system in pairs, by the same bootstrap replicates."""
    protocol, metric = data.protocol, describe(data.protocol.eer)
    tried = [row for s in protocol.splits if (row := data.tried.get((system, s))) is not None]
    rows = [
        {
            "split": protocol.split_title(row.split),
            "attacker": pair["one"]["title"],
            "other": pair["other"]["title"],
            "printed": f"{metric.format(pair['value'])} "
            f"{metric.interval(interval_of(pair)) * (not pair['too_few'])}".rstrip(),
            "p_text": p_value_text(pair),
            "p_holm": p_value_text(pair, pair["p_holm"]),
            "statement": _statement(pair),
        }
        for row in tried
        for pair in row.pairs
    ]
    words = {"system": system, "eer": metric.name, "averaged": averaged_text(protocol)}
    lacking = dict.fromkeys(row.lacking_replicates for row in tried if row.lacking_replicates)
    return declared_table(entry_of("attacker_pairs"), Measurements.of(rows), words, [*lacking])


def _statement(pair: Row) -> str:
    if pair["too_few"]:
        return f"not tested: too few {pair['too_few']}"
    if not pair["significant"]:
        return "not significantly different"
    stated = "weaker" if pair["value"] > 0 else "stronger"
    return stated if pair["p_holm"] < 1 - LEVEL else f"{stated}{_SINGLE}"


_METRICS = ("cllr_min", "linkability", "deid", "wer", "uar", "dnsmos_ovrl", "per", "per_original")
#: Those of them whose interval is printed beside the value.
_WITH_INTERVAL = ("wer", *_METRICS[-3:])


def main_results_table(data: ReportData) -> Table | None:
    """Make a row for every system, split and attack model, below those of original speech, then one
    for the strongest of several attackers; columns of the metrics that any system has. None without
    evaluated systems."""
    results, protocol = data.results, data.protocol
    systems = [data.attacks[system] for system in data.systems_by_rank]
    original = {a["split"]: a for of in systems[::-1] for a in of if a["model"].is_original}
    groups = [[_means(a, data) for a in original.values()]]
    for attacks in systems:
        groups.append([_means(a, data) for a in attacks if not a["model"].is_original])
    evaluated = [pair for group in groups[1:] for pair in group]
    if not evaluated:
        return None
    none: Row = {"value": None}
    others = [
        key for key in _METRICS if any(m.get(key, none)["value"] is not None for _, m in evaluated)
    ]
    keys = (protocol.eer, *others)
    models = {a.id for a in protocol.attack_models if not a.is_original}
    records = [r for r in results.verification if r.condition.attack_model in models]
    rows = [[cell for a, m in group for cell in _cells(a, m, keys, data)] for group in groups]
    for system, of_system in zip(data.systems_by_rank, rows[1:], strict=True):
        of_system += _strongest_cells(system, data)
    words = {
        "protocol": protocol.title,
        "averaged": averaged_text(protocol),
        "conditions": str(averaged_conditions(protocol)),
        "eer": describe(protocol.eer).column.title,
    }
    of_speech = [describe(key).name for key in keys if describe(key).kind != "scores"]
    notes = [
        *([f"The same under every attack model: {', '.join(of_speech)}"] if of_speech else ()),
        *(f"{text[:1].upper()}{text[1:]}" for text in protocol.remarks),
        *data.gaps,
        *caveat_notes(records, keys, protocol.variant, marked=True),
        *blank_notes((a["system"], of[key]) for a, of in evaluated for key in keys if key in of),
        *data.cells.not_comparable,
    ]
    if not all(a.get("replicates") for a, _ in evaluated) and any(r.has_intervals for r in records):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    notes += data.narrow_intervals
    rated = (a["system"] for a, m in evaluated if m["wer"]["value"] and not interval_of(m["wer"]))
    notes += words_not_resampled(data, map(system_column, dict.fromkeys(rated)))
    notes += strongest_attacker_notes(data)
    blocks = ({**cell, "block": str(n)} for n, group in enumerate(rows) for cell in group)
    table = declared_table(entry_of("summary"), Measurements.of(blocks), words, notes)
    return table and replace(table, front=True)


def _means(attack: Row, data: ReportData) -> tuple[Row, Mapping[str, Row]]:
    """Return an attack with its means of all metrics."""
    system, split = attack["system"], attack["split"]
    column = ORIGINAL_COLUMN if attack["model"].is_original else system_column(system)
    deid = data.by_system[system].means.of("deid", None, split, column)
    means = data.unpublished.means
    utility = {m: means.of(m, None, split, column) for m in (*UTILITY, *means.cells.measures)}
    return attack, {**attack["means"], "deid": deid, **utility}


def _cells(
    attack: Row, means: Mapping[str, Row], keys: Sequence[str], data: ReportData
) -> Iterator[Row]:
    """Yield the cells of an attack model."""
    model = attack["model"]
    original = ("Original speech", ""), (attack["system"], model.title)
    system, title = original[not model.is_original]
    of = {
        "system": system,
        "split": data.protocol.split_title(attack["split"]),
        "attack_model": title,
        "n_parts": str(len(attack["parts"])),
        "eer": means[keys[0]]["printed"] or NOT_AVAILABLE,
        "interval": describe(attack["metric"]).interval(interval_of(attack)),
    }
    yield of
    for key in keys[1:]:
        bounds = describe(key).interval(interval_of(means[key])) if key in _WITH_INTERVAL else ""
        text = f"{means[key]['printed'] or NOT_AVAILABLE} {bounds}".rstrip()
        yield {**of, "quantity": describe(key).column.title, "printed": text}


def _strongest_cells(system: str, data: ReportData) -> Iterator[Row]:
    """Yield the lowest EER of several attackers for every split, then corrected for the choice;
    other metrics are not of that attacker."""
    for split in data.protocol.splits:
        tried = data.tried.get((system, split))
        if tried is None or tried.lowest is None:
            continue
        number, mean = len(tried.compared), tried.lowest
        bounds = describe(mean["metric"]).interval(interval_of(mean))
        eers = {f"Strongest of {number}": (mean["printed"], bounds)}
        if tried.corrected_text:
            eer, _, bounds = tried.corrected_text.partition(" ")
            eers[f"Corrected (of {number})"] = eer, bounds
        for title, (eer, bounds) in eers.items():
            of = {"system": system, "split": data.protocol.split_title(split)}
            of |= {"attack_model": title, "n_parts": str(len(mean["parts"]))}
            of |= {"eer": eer, "interval": bounds}
            yield of
