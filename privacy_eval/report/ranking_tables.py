"""Tables of rankings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, Metric
from ..metrics.caveats import LEFT_OUT_MARK
from ..numbers.cells import ORIGINAL_COLUMN, Cell, select, system_column
from ..numbers.rankings import LACKS, NO_VALUES, Difference, RankedSystem, Ranking, rank
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..results.records import VerificationRecord
from .notes import (
    bias_notes,
    caveat_notes,
    too_few_replicates,
)
from .table import SIDE_BY_SIDE, Column, Table


def ranking_table(
    data: ReportData, *, metric: str = "eer", attack_model: str | None = None, split: str
) -> Table | None:
    """Make a table of the ranking; None if no system has any of its values.

    Parameters
    ----------
    attack_model : str or None
        Default: the one that the protocol averages; None for metrics without attack models.
    data, metric, split
        As in `rank`.
    """
    results, protocol, described = data.results, data.protocol, METRICS[metric]
    if attack_model is None and described.kind == "scores":
        attack_model = protocol.average_attack_model
    ranking = rank(data, metric=metric, attack_model=attack_model, split=split)
    if not ranking.ranked and all(NO_VALUES == reason for reason in ranking.unranked.values()):
        return None
    own = {system_column(s) for s in results.systems}
    mixed = bool(own) and not own.issuperset(
        (*ranking.unranked, *(r.system for r in ranking.ranked))
    )
    tested = bool(ranking.replicates)
    stated = tested or bool(ranking.unranked)
    columns = _columns(described, mixed=mixed, tested=tested, stated=stated)

    def row(number: str, system: str, *cells: str) -> tuple[str, ...]:
        source = (("submitted" if system in own else "published"),) if mixed else ()
        return (number, system, *source, *cells)

    records = [
        r
        for r in results.verification
        if (r.condition.attack_model, r.condition.split) == (attack_model, split)
        and r.condition.data_set in {d.id for d in protocol.data_sets}
        and r.condition.gender in protocol.genders
    ]
    left_out = {system_column(v.condition.system) for v in records if v.left_out}
    left_out.intersection_update(r.system for r in ranking.ranked)
    ranked = []
    for number, r in enumerate(ranking.ranked, start=1):
        texts = [r.mean.text() + LEFT_OUT_MARK * (r.system in left_out)]
        if tested:
            texts += [
                described.interval(r.interval),
                *_format_difference(described, r.next),
            ]
        texts += [_statement(r)] if stated else []
        ranked.append(row(str(number), r.system, *texts))
    blanks = [""] * (5 if tested else 1)
    unranked = [row("", s, *blanks, reason) for s, reason in ranking.unranked.items()]
    name = f"ranking_{metric}_{attack_model or 'voice'}_{split}"
    compared = select(data.cells, metric=metric, attack_model=attack_model, split=split).values()
    notes = _notes(ranking, [*caveat_notes(records, [metric]), *_caveats(compared)])
    if mixed or described.kind == "scores":
        notes += data.cells.not_comparable
    if left_out:
        notes.append(f"{LEFT_OUT_MARK} Trials were left out of some of its values")
    return Table(
        file_names([name])[name],
        _caption(ranking, protocol, records),
        columns,
        tuple(tuple(group) for group in (ranked, unranked) if group),
        notes=tuple(notes),
        fit="shrunk",
        section=SIDE_BY_SIDE,
        title=_title(ranking, protocol),
    )


def _columns(described: Metric, *, mixed: bool, tested: bool, stated: bool) -> tuple[Column, ...]:
    """Return the columns: sources if they are mixed, tests and statements if there are any."""
    title, latex = described.heading
    columns = [Column("#"), Column("System", align="l")]
    columns += [Column("Source")] if mixed else []
    columns.append(Column(title.removeprefix(_ZEBRA), latex and latex.removeprefix(_ZEBRA)))
    if tested:
        columns += [
            Column("95 % interval"),
            Column("To the next", rule=True),
            Column("95 % interval"),
            Column("p"),
        ]
    return (*columns, Column("Statement", align="l")) if stated else tuple(columns)


def _notes(ranking: Ranking, caveats: Iterable[str]) -> list[str]:
    """Notes on intervals, with the caveats of values."""
    if not ranking.replicates:
        return list(caveats)
    notes = bias_notes([ranking.metric])
    if ranking.replicates[0] < ranking.least_replicates:
        notes += too_few_replicates([ranking.least_replicates])
    notes += caveats
    if any(r.interval is None for r in ranking.ranked):
        notes.append("Without intervals: systems without bootstrap replicates of all conditions")
    return notes


def _caveats(cells: Iterable[Cell]) -> Iterable[str]:
    """Return the reasons of caveats that concern systems, not single values."""
    caveats = [cell.caveat for cell in cells if cell.caveat is not None]
    return dict.fromkeys(c.reason for c in caveats if c not in CAVEATS.values())


def ranking_tables(data: ReportData, **options: Any) -> list[Table]:
    """Make the ranking table and, if systems have missing values, one over the data sets (and
    genders) that all systems have.

    Parameters
    ----------
    data, options
        As in `ranking_table`.
    """
    whole = ranking_table(data, **options)
    protocol, shared = data.protocol, _shared(data, **options)
    if whole is None or shared == protocol:
        return [] if whole is None else [whole]
    if shared is None:
        return [whole]
    of_shared = replace(data, results=replace(data.results, protocol=shared))
    part = ranking_table(of_shared, **options)
    assert part is not None
    named = ", ".join(d.title for d in shared.data_sets)
    if shared.genders != protocol.genders:
        named += f" ({', '.join(shared.genders.values())})"
    reasons = [f"{row[1]}: {row[-1]}" for row in whole.rows if row[-1].startswith(LACKS)]
    part = replace(
        part,
        name=f"{part.name}_shared",
        caption=f"{part.caption} Only {named}: values that all systems have.",
        notes=(*reasons, *part.notes),
    )
    return [part] if not any(row[0] for row in whole.rows) else [whole, part]


def _shared(
    data: ReportData, *, metric: str = "eer", attack_model: str | None = None, split: str
) -> Protocol | None:
    """Restrict the protocol to the data sets for which every system with any value has all
    values, of all genders or of one; None if there are none."""
    protocol = data.protocol
    if attack_model is None and METRICS[metric].kind == "scores":
        attack_model = protocol.average_attack_model
    present: dict[str, set[tuple[str, str]]] = {}
    for key in select(data.cells, metric=metric, attack_model=attack_model, split=split):
        if key.system != ORIGINAL_COLUMN:
            present.setdefault(key.system, set()).add((key.data_set, key.gender))
    common = set.intersection(*present.values()) if present else set()
    choices = []
    for genders in (tuple(protocol.genders), *((g,) for g in protocol.genders)):
        whole = tuple(d for d in protocol.data_sets if all((d.id, g) in common for g in genders))
        choices.append(
            (len(whole) * len(genders), whole, {g: protocol.genders[g] for g in genders})
        )
    number, data_sets, titles = max(choices, key=lambda choice: choice[0])
    return replace(protocol, data_sets=data_sets, genders=titles) if number else None


_ZEBRA = "ZEBRA: "


def _statement(ranked: RankedSystem) -> str:
    if ranked.next is None:
        return ranked.why_not
    if ranked.next.too_few:
        return f"too few speakers or replicates to compare with {ranked.next.other}"
    how = "better than" if ranked.next.better else "not significantly different from"
    return f"{how} {ranked.next.other}"


def difference_text(metric: Metric, ranked: RankedSystem) -> str:
    """Describe the difference between a system and the next comparable one of the ranking, and
    whether it is significant; "" if they are not compared."""
    if ranked.next is None:
        return ranked.why_not
    text = metric.format(ranked.next.value) + " points" * metric.percent
    return f"difference {text} {metric.interval(ranked.next.interval)}: {_statement(ranked)}"


def _format_difference(metric: Metric, difference: Difference | None) -> list[str]:
    if difference is None:
        return ["", "", ""]
    p = difference.p_value
    text = f"< {_bound_text(p)}" if difference.p_value_is_bound else f"{p:.3f}"
    text = "" if difference.too_few else text
    return [metric.format(difference.value), metric.interval(difference.interval), text]


def _bound_text(p_value: float) -> str:
    """Round up: a bound must stay one."""
    return f"{math.ceil(1000 * p_value) / 1000:.3f}"


def _title(ranking: Ranking, protocol: Protocol) -> str:
    titles = {a.id: a.title[:1].lower() + a.title[1:] for a in protocol.attack_models}
    model = ranking.attack_model
    under = f" under the {titles.get(model, model)} attack model" if model else ""
    return f"Ranking by {METRICS[ranking.metric].name}{under}"


def _caption(ranking: Ranking, protocol: Protocol, records: Sequence[VerificationRecord]) -> str:
    metric = METRICS[ranking.metric]
    split = protocol.split_title(ranking.split)
    best = "most private" if ranking.metric != "gvd_db" else "most distinct"
    caption = (
        f"{_title(ranking, protocol)} ({split}), the {best} first: averages "
        "over data sets and genders with the protocol's weights."
    )
    if ranking.attack_model is None:
        return f"{caption} Order and values only: no significance test is possible."
    if not ranking.replicates:
        evaluated = dict.fromkeys(system_column(r.condition.system) for r in records)
        resampled = {system_column(r.condition.system) for r in records if r.speaker_intervals}
        reasons = [
            f"{s}: {ranking.unranked.get(s, 'its stored replicates are missing or differ')}"
            for s in evaluated
            if s in resampled
        ]
        why = "without bootstrap replicates (option --bootstrap of the evaluation)"
        if reasons:
            why = f"no system with bootstrap replicates has an average ({'; '.join(reasons)}), so"
        return f"{caption} Order and values only: {why} no significance test is possible."
    numbers = " or ".join(map(str, ranking.replicates))
    units = " in percentage points" if metric.percent else ""
    return (
        f"{caption} Intervals from {numbers} bootstrap replicates of speakers. Each system that "
        "has them is compared only with the next one of the same draws, which the statement names "
        f"(difference{units}, paired by replicate, two-sided p-value): tests of pairs, not "
        "corrected for their number. Intervals and p-values are widened for few speakers (expanded "
        f"percentiles, Hesterberg 2015): with {ranking.n_speakers} speakers and {numbers} "
        f"replicates no p-value can fall below {_bound_text(ranking.least_p_value)}."
    )
