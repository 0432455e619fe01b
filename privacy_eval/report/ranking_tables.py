"""Tables of rankings."""

from __future__ import annotations

import math

from ..choices import LEVEL
from ..errors import enumerated
from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, NOT_AVAILABLE, Metric
from ..metrics.caveats import LEFT_OUT_MARK
from ..metrics.confidence import least_replicates
from ..metrics.printed import bias_notes
from ..numbers.cells import interval_of, system_column
from ..numbers.challenge_averages import too_few_replicates
from ..numbers.means import least_p_value, size_of
from ..numbers.rankings import Ranking
from ..results.measurements import Row
from .attackers_in_words import strongest_notes
from .notes import averaged_text, caveat_notes
from .table import SIDE_BY_SIDE, Column, Table


def ranking_table(ranking: Ranking) -> Table:
    """Make the table of a ranking."""
    metric, own = METRICS[ranking.metric], ranking.own
    systems = {*ranking.unranked, *(r["system"] for r in ranking.ranked)}
    mixed = bool(own) and not systems <= own
    resampled = bool(ranking.replicates)
    tested = resampled and not ranking.by_strongest
    stated = tested or bool(ranking.unranked)
    attacked = any(r.get("tried") for r in ranking.ranked) or ranking.by_strongest

    def row(number: str, system: str, *cells: str) -> tuple[str, ...]:
        source = (("submitted" if system in own else "published"),) if mixed else ()
        return (number, system, *source, *cells)

    left_out = {system_column(v.condition.system) for v in ranking.records if v.left_out}
    left_out.intersection_update(r["system"] for r in ranking.ranked)
    ranked = []
    for number, r in enumerate(ranking.ranked, start=1):
        texts = [r["printed"] + LEFT_OUT_MARK * (r["system"] in left_out)]
        texts += [metric.interval(interval_of(r))] if resampled else []
        texts = [" ".join(texts).rstrip(), *_strongest(r)] if attacked else texts
        compared = _format_difference(metric, r.get("next")) if tested else []
        if attacked and tested:
            compared[:2] = [" ".join(compared[:2]).strip()]
        texts += compared
        texts += [_statement(r)] if stated else []
        ranked.append(row(str(number), r["system"], *texts))
    columns = _columns(metric, ranking, mixed=mixed, attacked=attacked, stated=stated)
    blanks = [""] * (len(columns) - len(row("", "")) - 1)
    unranked = [row("", s, *blanks, reason) for s, reason in ranking.unranked.items()]
    notes = [*ranking.lacking, *_notes(ranking)]
    if mixed or metric.kind == "scores":
        cells = ranking.means.cells
        of_scores = metric.kind == "scores"
        notes += cells.scores_not_comparable if of_scores else cells.not_comparable
    if left_out:
        notes.append(f"{LEFT_OUT_MARK} Trials were left out of some of its values")
    if attacked:
        notes += strongest_notes([r["tried"] for r in ranking.ranked if r["tried"] is not None])
    under = "strongest" if ranking.by_strongest else ranking.attack_model or "voice"
    name = f"ranking_{ranking.metric}_{under}_{ranking.split}"
    name = file_names([name])[name]
    return Table(
        f"{name}_shared" if ranking.shared_sets else name,
        _caption(ranking),
        columns,
        tuple(tuple(group) for group in (ranked, unranked) if group),
        notes=tuple(notes),
        section=SIDE_BY_SIDE,
        title=_title(ranking),
    )


def _columns(
    described: Metric, ranking: Ranking, *, mixed: bool, attacked: bool, stated: bool
) -> tuple[Column, ...]:
    """Return the columns: sources if they are mixed, the strongest attackers, tests and statements
    if there are any."""
    title, latex = described.heading
    columns = [Column("#"), Column("System", align="l")]
    columns += [Column("Source")] if mixed else []
    short = title.removeprefix(_ZEBRA), latex and latex.removeprefix(_ZEBRA)
    resampled = bool(ranking.replicates)
    columns.append(Column(*short))
    columns += [Column("95 % interval")] if resampled and not attacked else []
    if attacked:
        columns += [Column("Lowest", rule=True), Column("Attacker", align="l")]
        columns.append(Column("Corrected"))
    if resampled and not ranking.by_strongest:
        columns.append(Column("To the next", rule=True))
        columns += [*([] if attacked else [Column("95 % interval")]), Column("p")]
    return (*columns, Column("Statement", align="l")) if stated else tuple(columns)


def _strongest(ranked: Row) -> list[str]:
    """Write the lowest EER of all attackers, whose it is, and corrected for the choice."""
    tried = ranked["tried"]
    if tried is None or tried.lowest is None:
        return ["", "", ""]
    return [tried.lowest["printed"], tried.lowest["title"], tried.corrected_text or NOT_AVAILABLE]


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


def _title(ranking: Ranking) -> str:
    if ranking.by_strongest:
        return f"Ranking by {METRICS[ranking.metric].name} of the strongest attacker"
    titles = {a.id: a.phrase for a in ranking.protocol.attack_models}
    model = ranking.attack_model
    under = f" under the {titles.get(model, model)} attack model" if model else ""
    return f"Ranking by {METRICS[ranking.metric].name}{under}"


def _caption(ranking: Ranking) -> str:
    split = ranking.protocol.split_name(ranking.split)
    best = {"gvd_db": "most distinct", "wer": "most useful"}.get(ranking.metric, "most private")
    averages = averaged_text(ranking.protocol)
    if ranking.metric == "wer":
        sets = [d.id for d in ranking.protocol.recognition.data_sets if d.weight]
        averages = f"average over {enumerated(sets)}" if len(sets) > 1 else sets[0]
    if ranking.shared_sets:
        averages += f", only {ranking.shared_sets}, which all systems have"
    return f"{_title(ranking)} ({split}), the {best} first: {averages}."


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
        resampled = {
            system_column(r.condition.system) for r in ranking.records if r.speaker_intervals
        }
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
