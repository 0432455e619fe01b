"""The main results in one table, printed at the end of the recipe, attackers, and rankings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..choices import LEVEL
from ..errors import enumerated
from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, NOT_AVAILABLE, Label, Metric, describe
from ..metrics.caveats import LEFT_OUT_MARK
from ..metrics.confidence import least_replicates
from ..metrics.printed import bias_notes
from ..numbers.attackers import Tried
from ..numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.challenge_averages import too_few_replicates
from ..numbers.means import UTILITY, averaged_conditions, least_p_value, size_of
from ..numbers.rankings import Ranking
from ..numbers.report_data import ReportData
from ..results.measurements import Measurements, Row
from .answer import UNPROTECTED, attack_rows, best_attack, costs
from .attackers_in_words import (
    LIKE_LOWEST,
    PARTIAL,
    UNTESTED,
    attacker_notes,
    strongest_attacker_notes,
    strongest_notes,
)
from .cautions import front_cautions
from .declared import declared_table, entry_of
from .notes import averaged_text, blank_notes, caveat_notes, words_not_resampled
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
            add(UNPROTECTED, split, original)
        for row in of_split:
            corrected = {"corrected": row.corrected_text} if row.corrected_text else {}
            add(row.system, split, _eers(row), row.lowest_title, **corrected)
    own = protocol.own_attacker
    named = ", ".join(dict.fromkeys(a["title"] for a in every if a["attacker"] == own))
    title = next((a.title for a in protocol.attackers if a.id == own), own)
    words = {
        "protocol": protocol.title,
        "eer": describe(protocol.eer).name,
        "averaged": averaged_text(protocol),
        "challenge": f" {named}: the challenge's own attacker, {title}." if named else "",
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


#: The name of the closing summary, and the most columns and notes of it.
SUMMARY, _COLUMNS, _NOTES = "summary", 8, 5


def summary_table(data: ReportData) -> Table | None:
    """Make the closing summary of the main split: a row for original speech and every system, with
    its best attack, what the anonymization costs, and who is least protected. None without
    evaluated systems."""
    if not data.results.systems:
        return None
    eer, beside = describe(data.protocol.eer), dict[str, Mapping[str, str]]()
    for metric, of_systems in costs(data).items():
        beside[describe(metric).column.title] = {s: r["printed"] for s, r in of_systems.items()}
    named = data.disclosed.columns() if data.disclosed else {}
    beside |= {title: named[title] for title in [*named][-1:]}  # the least protected speaker
    rows: list[Row] = []
    for system, attacks in attack_rows(data).items():
        best = best_attack(attacks) or {"printed": NOT_AVAILABLE, "title": ""}
        row = {"system": system, "attack": best["title"], "eer": best["printed"]}
        row["interval"] = eer.interval(interval_of(best))
        more = [*beside.items()][: _COLUMNS - len(row)]
        rows += [row, *({**row, "quantity": t, "printed": of.get(system, "")} for t, of in more)]
    notes = [*data.unsigned, *(text.removesuffix(".") for text in front_cautions(data))]
    if len(notes) > _NOTES:
        notes[_NOTES - 1 :] = [f"{len(notes) - _NOTES + 1} more notes stand in the report"]
    words = {"protocol": data.protocol.title, "eer": eer.column.title}
    words["split"] = data.protocol.split_name(data.main_split)
    table = declared_table(entry_of(SUMMARY), Measurements.of(rows), words, notes)
    return table and replace(table, front=True)


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
    table = declared_table(entry_of("main_results"), Measurements.of(blocks), words, notes)
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
    original = (UNPROTECTED, ""), (attack["system"], model.title)
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


def ranking_table(ranking: Ranking) -> Table:
    """Make the table of a ranking."""
    metric, own = METRICS[ranking.metric], ranking.own
    systems = {*ranking.unranked, *(r["system"] for r in ranking.ranked)}
    mixed = bool(own) and not systems <= own
    stated = (bool(ranking.replicates) and not ranking.by_strongest) or bool(ranking.unranked)
    left_out = {system_column(v.condition.system) for v in ranking.records if v.left_out}
    left_out.intersection_update(r["system"] for r in ranking.ranked)
    rows: list[dict[str, Any]] = [
        {"block": "unranked", "system": system, "statement": reason, "heading": _heading(metric)}
        for system, reason in ranking.unranked.items()
    ]
    for number, r in reversed([*enumerate(ranking.ranked, start=1)]):
        rows.insert(0, {"block": "ranked", "number": number, "system": r["system"]})
        rows[0] |= _texts(metric, r, ranking, LEFT_OUT_MARK * (r["system"] in left_out))
        rows[0] |= {"statement": _compared_with_next(r)} if stated else {}
    for row in rows if mixed else ():
        row["source"] = "submitted" if row["system"] in own else "published"
    notes = [*ranking.lacking, *_notes(ranking)]
    if mixed or metric.kind == "scores":
        notes += ranking.means.cells.comparability(utility=metric.kind != "scores")
    if left_out:
        notes.append(f"{LEFT_OUT_MARK} Trials were left out of some of its values")
    tried = [of for r in ranking.ranked if (of := r.get("tried")) is not None]
    if tried or ranking.by_strongest:
        notes += strongest_notes(tried)
    under = "strongest" if ranking.by_strongest else ranking.attack_model or "voice"
    name = f"ranking_{ranking.metric}_{under}_{ranking.split}"
    name = file_names([name])[name] + "_shared" * bool(ranking.shared_sets)
    words = {"name": name, **_words(ranking)}
    table = declared_table(entry_of("{name}"), Measurements.of(rows), words, notes)
    assert table is not None  # no ranking is without systems
    return table


def _heading(metric: Metric) -> Label:
    title, latex = metric.heading
    return Label(title.removeprefix(_ZEBRA), latex and latex.removeprefix(_ZEBRA))


def _texts(metric: Metric, ranked: Row, ranking: Ranking, mark: str) -> dict[str, Any]:
    """Write the value, the lowest EER of all attackers, whose it is, and corrected for the choice,
    and the difference to the next system; with attackers, intervals stand beside values."""
    texts: dict[str, Any] = {"heading": _heading(metric), "printed": ranked["printed"] + mark}
    if ranking.replicates:
        texts["printed_interval"] = metric.interval(interval_of(ranked))
    if ranking.replicates and not ranking.by_strongest:
        names = ("next", "next_interval", "p_text")
        texts |= zip(names, _format_difference(metric, ranked.get("next")), strict=True)
    if any(r.get("tried") for r in ranking.ranked) or ranking.by_strongest:
        for name in texts.keys() & {"printed", "next"}:
            texts[name] = f"{texts[name]} {texts.pop(f'{name}_interval', '')}".strip()
        tried = ranked["tried"]
        lowest = tried.lowest if tried is not None else None
        of = (lowest["printed"], lowest["title"]) if lowest else ("", "")
        corrected = (tried.corrected_text or NOT_AVAILABLE) if lowest else ""
        texts |= zip(("lowest", "attacker", "corrected"), (*of, corrected), strict=True)
    return texts


def _notes(ranking: Ranking) -> list[str]:
    """Notes on intervals, with the caveats of values."""
    caveats = caveat_notes(ranking.records, [ranking.metric], ranking.protocol.variant)
    place = {"attack_model": ranking.attack_model, "split": ranking.split}
    rows = ranking.means.cells.rows.select(metric=ranking.metric, **place)
    # Caveats on systems, not on single values.
    of_systems = (c.reason for c in rows.values("caveat") if c not in CAVEATS.values())
    caveats += dict.fromkeys(of_systems)
    notes = [_tests(ranking).removesuffix(".")]
    if not ranking.replicates:
        return notes + caveats
    notes += bias_notes([ranking.metric])
    least = max(least_replicates(r.n_speakers, LEVEL) for r in ranking.replicates)
    if min(map(size_of, ranking.replicates)) < least:
        notes += too_few_replicates([least])
    notes += caveats
    if any(interval_of(r) is None for r in ranking.ranked):
        notes.append("Without intervals: systems without bootstrap replicates of all conditions")
    return notes


_ZEBRA = "ZEBRA: "


def _compared_with_next(ranked: Row) -> str:
    following = ranked.get("next")
    if following is None:
        return str(ranked.get("why_not", ""))
    if following["too_few"]:
        return f"too few {following['too_few']} to compare with {following['against']}"
    how = "better than" if following["better"] else "not significantly different from"
    return f"{how} {following['against']}"


def _format_difference(metric: Metric, difference: Row | None) -> list[str]:
    if difference is None:
        return ["", "", ""]
    interval = metric.interval(interval_of(difference)) * (not difference["too_few"])
    return [metric.format(difference["value"]), interval, p_value_text(difference)]


def p_value_text(difference: Row, p: float | None = None) -> str:
    """Write a p-value, or another `p` made from it; "" where there are too few replicates."""
    if difference["too_few"]:
        return ""
    p = float(difference["p"]) if p is None else p
    if not difference["p_is_bound"] or p >= 1:  # no p-value is above
        return f"{p:.3f}"
    return f"< {(math.floor(1000 * p) + 1) / 1000:.3f}"  # p is below, also where it is a thousandth


def _words(ranking: Ranking) -> Mapping[str, str]:
    """Return what the title and the caption say."""
    titles = {a.id: a.phrase for a in ranking.protocol.attack_models}
    model = ranking.attack_model
    under = f" under the {titles.get(model, model)} attack model" if model else ""
    averages = averaged_text(ranking.protocol)
    if ranking.metric == "wer":
        sets = [d.id for d in ranking.protocol.recognition.data_sets if d.weight]
        averages = f"average over {enumerated(sets)}" if len(sets) > 1 else sets[0]
    if ranking.shared_sets:
        averages += f", only {ranking.shared_sets}, which all systems have"
    best = {"gvd_db": "most distinct", "wer": "most useful"}
    return {
        "metric": METRICS[ranking.metric].name,
        "under": " of the strongest attacker" if ranking.by_strongest else under,
        "split": ranking.protocol.split_name(ranking.split),
        "best": best.get(ranking.metric, "most private"),
        "averaged": averages,
    }


def _other_order(ranking: Ranking) -> str:
    """Name the order of the corrected EERs, if it is another; "" if it is the same or unknown."""
    tried = ((r["system"], r["tried"].strongest) for r in ranking.ranked if r["tried"])
    given = {system: best.corrected for system, best in tried if best is not None}
    order = sorted(given, key=lambda s: -given[s])
    changes = len(given) == len(ranking.ranked) and order != list(given)
    return f" (of the corrected one: {enumerated(order)})" * changes


def _tests(ranking: Ranking) -> str:
    """Say how systems are compared, or why they are not."""
    metric = METRICS[ranking.metric]
    if ranking.by_strongest:
        own = ranking.protocol.average_attack.phrase
        return (
            f"In the order of the lowest EER as measured{_other_order(ranking)}. Beside it stands "
            f"the challenge's {own} attacker. Differences are not tested: the attackers differ"
        )
    if ranking.attack_model is None and not ranking.replicates:
        return "Order and values only: no significance test is possible."
    if not ranking.replicates:
        evaluated = dict.fromkeys(system_column(r.condition.system) for r in ranking.records)
        resampled = {system_column(r.condition.system) for r in ranking.records if r.has_intervals}
        reasons = [
            f"{s}: {ranking.unranked.get(s, 'its stored replicates are missing or differ')}"
            for s in evaluated
            if s in resampled
        ]
        why = "without bootstrap replicates (option --bootstrap of the evaluation)"
        if reasons:
            why = f"no system with bootstrap replicates has an average ({'; '.join(reasons)}), so"
        return f"Order and values only: {why} no significance test is possible."
    numbers = " or ".join(map(str, sorted(set(map(size_of, ranking.replicates)))))
    n_speakers = min(r.n_speakers for r in ranking.replicates)
    units = " in percentage points" if metric.percent else ""
    least = math.ceil(1000 * max(map(least_p_value, ranking.replicates))) / 1000
    return (
        f"Intervals from {numbers} bootstrap replicates of speakers. Each system that has them is "
        "compared with the next one of the same draws, which the statement names. The difference"
        f"{units} is paired by replicate, its p-value two-sided. Pairs are tested one by one, "
        "without correction for their number. Intervals and p-values are widened for few speakers "
        f"(expanded percentiles, Hesterberg 2015). With {n_speakers} speakers no p-value can fall "
        f"below {least:.3f}."
    )
