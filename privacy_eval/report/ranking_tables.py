"""Tables of rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..choices import LEVEL
from ..errors import enumerated
from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, NOT_AVAILABLE, Label, Metric
from ..metrics.caveats import LEFT_OUT_MARK
from ..metrics.confidence import least_replicates
from ..metrics.printed import bias_notes
from ..numbers.cells import interval_of, system_column
from ..numbers.challenge_averages import too_few_replicates
from ..numbers.means import least_p_value, size_of
from ..numbers.rankings import Ranking
from ..results.measurements import Measurements, Row
from .attackers_in_words import strongest_notes
from .declared import declared_table, entry_of
from .notes import averaged_text, caveat_notes
from .table import Table


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
        rows[0] |= {"statement": _statement(r)} if stated else {}
    for row in rows if mixed else ():
        row["source"] = "submitted" if row["system"] in own else "published"
    notes = [*ranking.lacking, *_notes(ranking)]
    if mixed or metric.kind == "scores":
        cells = ranking.means.cells
        of_scores = metric.kind == "scores"
        notes += cells.scores_not_comparable if of_scores else cells.not_comparable
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


def _statement(ranked: Row) -> str:
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
            f"In the order of the lowest EER as measured{_other_order(ranking)}; beside it that of "
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
        f"Intervals from {numbers} bootstrap replicates of speakers. Each system that "
        "has them is compared only with the next one of the same draws, which the statement names "
        f"(difference{units}, paired by replicate, two-sided p-value): tests of pairs, not "
        "corrected for their number. Intervals and p-values are widened for few speakers (expanded "
        f"percentiles, Hesterberg 2015): with {n_speakers} speakers and {numbers} "
        f"replicates no p-value can fall below {least:.3f}."
    )
