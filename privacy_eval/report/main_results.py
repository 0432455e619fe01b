"""The main results in one table, printed at the end of the recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..choices import LEVEL
from ..metrics import NOT_AVAILABLE, describe
from ..numbers.attackers import Tried
from ..numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.means import averaged_conditions
from ..numbers.report_data import ReportData
from ..numbers.trade_offs import UTILITY
from ..results.measurements import Row
from .attackers_in_words import (
    LIKE_LOWEST,
    PARTIAL,
    UNTESTED,
    attacker_notes,
    strongest_attacker_notes,
)
from .notes import averaged_text, blank_notes, caveat_notes, words_not_resampled
from .ranking_tables import p_value_text
from .table import ANSWER, Column, Table, aligned, nonempty

#: Follows statements that are of a single pair, and do not hold among all pairs.
_SINGLE = " (this pair alone)"


def attackers_table(data: ReportData) -> Table | None:
    """Make a row for every system and split, a column for every attacker; None where only the
    challenge's own was tried."""
    protocol, tried = data.protocol, data.tried
    order = [(s, split) for split in protocol.splits for s in data.systems_by_rank]
    rows = [tried[place] for place in order if place in tried]
    if not rows:
        return None
    titles = list(dict.fromkeys(a["title"] for row in rows for a in row.attackers))
    corrected = any(row.strongest is not None for row in rows)
    extra = [Column("Corrected", rule=True)] if corrected else []
    columns = (*aligned("l", "System", "Split"), *map(Column, titles), *extra)
    groups, bold, number = [], set(), 0
    for split in dict.fromkeys(row.split for row in rows):
        of_split = [row for row in rows if row.split == split]
        original = _original(of_split, titles, columns, data)
        number += len(original)
        for row in of_split:
            if row.lowest is not None:
                bold.add((number, 2 + titles.index(row.lowest_title)))
            number += 1
        groups.append((*original, *(_texts(row, titles, data, columns) for row in of_split)))
    name = describe(protocol.eer).name
    return Table(
        "attackers",
        f"{protocol.title}: {name} of every attacker that was tried, in %; "
        f"{averaged_text(protocol)}, of the available conditions. {_titles(rows, data)}.",
        columns,
        tuple(groups),
        bold=frozenset(bold),
        bold_means="the strongest attacker of the row",
        notes=tuple(attacker_notes(rows, data)),
        section=ANSWER,
        front=True,
    )


def _titles(rows: Iterable[Tried], data: ReportData) -> str:
    """Say whose the columns of attack models are."""
    own = data.protocol.own_attacker
    every = (a for row in rows for a in row.attackers)
    titles = dict.fromkeys(a["title"] for a in every if a["attacker"] == own)
    named = (a.title for a in data.protocol.attackers if a.id == own)
    return f"{', '.join(titles)}: the challenge's own attacker, {next(named, own)}"


def _original(
    rows: Sequence[Tried], titles: Sequence[str], columns: Sequence[Column], data: ReportData
) -> list[tuple[str, ...]]:
    """Return the row of original speech of a split, if another attacker than the challenge's own
    was tried on it."""
    protocol, split = data.protocol, rows[0].split
    every = [a for row in rows for a in row.attackers]
    scored = {a["title"]: a["original"]["printed"] for a in reversed(every) if a["original"]}
    eers = {title: text for title, text in scored.items() if text}
    if not eers:
        return []
    challenge = data.means.of(protocol.eer, ORIGINAL_ATTACK, split, ORIGINAL_COLUMN)["printed"]
    eers |= {a["title"]: challenge for a in every if a["attacker"] == protocol.own_attacker}
    texts = ["Original speech", protocol.split_title(split)]
    texts += [eers.get(title) or NOT_AVAILABLE for title in titles]
    return [tuple(texts + [NOT_AVAILABLE] * (len(columns) - len(texts)))]


def _texts(
    row: Tried, titles: Sequence[str], data: ReportData, columns: Sequence[Column]
) -> tuple[str, ...]:
    like_lowest, untested = row.like_lowest, row.untested
    partial = [a["title"] for a in row.partial]
    eers = {
        title: f"{a['printed']}{LIKE_LOWEST * (title in like_lowest)}"
        f"{UNTESTED * (title in untested)}{PARTIAL * (title in partial)}"
        for a in row.attackers
        for title in (a["title"],)
    }
    texts = [row.system, data.protocol.split_title(row.split)]
    texts += [eers.get(title) or NOT_AVAILABLE for title in titles]
    return *texts, *[row.corrected_text or NOT_AVAILABLE] * (len(columns) - len(texts))


def pairs_table(data: ReportData, system: str) -> Table:
    """Compare all attackers of a system in pairs, by the same bootstrap replicates."""
    protocol, metric = data.protocol, describe(data.protocol.eer)
    tried = [row for s in protocol.splits if (row := data.tried.get((system, s))) is not None]
    rows = [
        [
            (
                protocol.split_title(row.split),
                pair["one"]["title"],
                pair["other"]["title"],
                f"{metric.format(pair['value'])} "
                f"{metric.interval(interval_of(pair)) * (not pair['too_few'])}".rstrip(),
                p_value_text(pair),
                p_value_text(pair, pair["p_holm"]),
                _statement(pair),
            )
            for pair in row.pairs
        ]
        for row in tried
    ]
    heading = "Attackers compared in pairs"
    return Table(
        "attacker_pairs",
        f"{heading}: {system} ({metric.name} of the first less that of the other, in percentage "
        f"points; {averaged_text(protocol)}).",
        (
            *aligned("l", "Split", "Attacker"),
            Column("Other", align="l", rule=True),
            Column("Difference"),
            Column("p"),
            Column("p (Holm)"),
            Column("The first is", align="l"),
        ),
        nonempty(rows),
        notes=(
            "Paired by bootstrap replicate of speakers, two-sided; p (Holm) is adjusted for all "
            f"pairs of the split, after which those with{_SINGLE} are not significant",
            *dict.fromkeys(row.lacking_replicates for row in tried if row.lacking_replicates),
        ),
        title=heading,
    )


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
    rows = [[_row(a, m, keys, data) for a, m in group] for group in groups]
    for system, of_system in zip(data.systems_by_rank, rows[1:], strict=True):
        of_system += _strongest_rows(system, len(others), data)
    caption = (
        f"{protocol.title}: {averaged_text(protocol)}, of "
        f"the available conditions (all: {averaged_conditions(protocol)})."
    )
    of_speech = [describe(key).name for key in keys if describe(key).kind != "scores"]
    notes = [
        *([f"The same under every attack model: {', '.join(of_speech)}"] if of_speech else ()),
        *(f"{text[:1].upper()}{text[1:]}" for text in protocol.remarks),
        *data.gaps,
        *caveat_notes(records, keys, protocol.variant, marked=True),
        *blank_notes((a["system"], of[key]) for a, of in evaluated for key in keys if key in of),
        *data.cells.not_comparable,
    ]
    if not all(a.get("replicates") for a, _ in evaluated) and any(
        r.speaker_intervals for r in records
    ):
        notes.append("95 % interval: only where every condition of the protocol has replicates")
    notes += data.narrow_intervals
    titles = [Column(describe(key).column.title) for key in keys]
    rated = (a["system"] for a, m in evaluated if m["wer"]["value"] and not interval_of(m["wer"]))
    notes += words_not_resampled(data, map(system_column, dict.fromkeys(rated)))
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


def _means(attack: Row, data: ReportData) -> tuple[Row, Mapping[str, Row]]:
    """Return an attack with its means of all metrics."""
    system, split = attack["system"], attack["split"]
    column = ORIGINAL_COLUMN if attack["model"].is_original else system_column(system)
    deid = data.by_system[system].means.of("deid", None, split, column)
    means = data.unpublished.means
    utility = {m: means.of(m, None, split, column) for m in (*UTILITY, *means.cells.measures)}
    return attack, {**attack["means"], "deid": deid, **utility}


def _row(
    attack: Row, means: Mapping[str, Row], keys: Sequence[str], data: ReportData
) -> tuple[str, ...]:
    eer, *others = (means[key]["printed"] or NOT_AVAILABLE for key in keys)
    for key in _WITH_INTERVAL:
        if key in keys:
            bounds = describe(key).interval(interval_of(means[key]))
            others[keys[1:].index(key)] += f" {bounds}".rstrip()
    interval, model = describe(attack["metric"]).interval(interval_of(attack)), attack["model"]
    names = ("Original speech", "") if model.is_original else (attack["system"], model.title)
    place = (names[0], data.protocol.split_title(attack["split"]), names[1])
    return (*place, str(len(attack["parts"])), eer, interval, *others)


def _strongest_rows(system: str, others: int, data: ReportData) -> Iterator[tuple[str, ...]]:
    """Yield the lowest EER of several attackers for every split, then corrected for the choice;
    `others`: number of the metrics beside it, which are not of that attacker."""
    for split in data.protocol.splits:
        tried = data.tried.get((system, split))
        if tried is not None and tried.lowest is not None:
            attackers, mean = len(tried.compared), tried.lowest
            bounds = describe(mean["metric"]).interval(interval_of(mean))
            rows = [(f"Strongest of {attackers}", mean["printed"], bounds)]
            if tried.corrected_text:
                eer, _, bounds = tried.corrected_text.partition(" ")
                rows.append((f"Corrected (of {attackers})", eer, bounds))
            for title, *texts in rows:
                place = (system, data.protocol.split_title(split), title, str(len(mean["parts"])))
                yield (*place, *texts, *[""] * others)
