"""Systems in order of one metric under one attack model, and where the order can be told
from chance: intervals and paired tests from the resamples of speakers stored in evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..io.files import file_names
from ..metrics import METRICS
from ..metrics.confidence import difference_p_value, expanded_interval
from ..protocol.protocol import Protocol
from ..results.arrays import Curves
from ..results.records import Results, VerificationRecord
from .across_systems import higher_is_better, metric_name, metric_title
from .table import Column, Table
from .values import (
    LEFT_OUT_MARK,
    PERCENT,
    Cells,
    average,
    caveats,
    cells_of_results,
    column_of,
    text_of,
)

LEVEL = 0.95
#: Metrics that find more evidence in a resample, whose trials repeat (see `metrics.confidence`).
_SEE_MORE = frozenset(
    {"cllr_min", "rocch_eer", "linkability", "zebra_population", "zebra_individual"}
)


#: Metrics that have no attack model, and no resamples.
WITHOUT_ATTACK = ("deid", "gvd_db")
#: What systems can be ranked by: metrics that have a best value.
RANKED_BY = tuple(m for m in (*METRICS, *WITHOUT_ATTACK) if higher_is_better(m) is not None)


@dataclass(frozen=True)
class Difference:
    """A system against the next one of the order.

    Attributes
    ----------
    value : float
        Its average less the other's, in the unit of records.
    interval : (float, float)
        95 % bounds, from the differences of the two systems replicate by replicate.
    p_value : float
        Two-sided, of no difference.
    p_value_is_bound : bool
        So few replicates contradict that their number only bounds it.
    better : bool
        The interval lies on the more private side of 0.
    """

    value: float
    interval: tuple[float, float]
    p_value: float
    p_value_is_bound: bool
    better: bool


@dataclass(frozen=True)
class Ranked:
    """One system in the order.

    Attributes
    ----------
    system : str
    value : float
        Its average, in the unit of records.
    interval : (float, float) or None
        95 % bounds; None without replicates.
    next : Difference or None
        None for the last, and where the two cannot be paired.
    why_not : str
        Why they cannot.
    """

    system: str
    value: float
    interval: tuple[float, float] | None = None
    next: Difference | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Ranking:
    """All systems, the most private one first.

    Attributes
    ----------
    metric : str
    attack_model : str or None
    split : str
    ranked : tuple of Ranked
    unranked : mapping
        Systems that lack a value, and which.
    replicates : tuple of int
        Numbers of resamplings in use; empty where there are none.
    """

    metric: str
    attack_model: str | None
    split: str
    ranked: tuple[Ranked, ...]
    unranked: Mapping[str, str]
    replicates: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Replicates:
    """A system's average in every replicate.

    Attributes
    ----------
    values : array, shape (replicates,)
    n_speakers : int
        Of the condition that has the fewest: the interval is rather too wide.
    drawn : tuple
        What decides which speakers each replicate holds.
    """

    values: NDArray[np.float64]
    n_speakers: int
    drawn: tuple[tuple[str, str, str, int], ...]


def rank(
    results: Results,
    curves: Curves,
    *,
    metric: str,
    attack_model: str | None,
    split: str,
    cells: Cells | None = None,
) -> Ranking:
    """Systems by their average over data sets and genders, as the plan weighs them.

    The average of every replicate is made of the replicates of the conditions: those of
    the same speakers hold the same draws, others independent ones. Two systems are paired
    only if every condition has the same design, seed and number of replicates in both.

    Parameters
    ----------
    results : Results
        Evaluated systems.
    curves : Curves
        Where the replicates are.
    metric, attack_model, split : str
        `metric` is one of `RANKED_BY`; `attack_model` is None for metrics that have none,
        which have no replicates either.
    cells : Cells or None
        All systems, where published ones are to be among them; default: those of `results`.

    Raises
    ------
    ValueError
        A metric that has no best value.
    """
    if metric not in RANKED_BY:
        raise ValueError(f"no ranking by {metric}, only by {', '.join(RANKED_BY)}")
    protocol = results.protocol
    cells = cells_of_results(results) if cells is None else cells
    means = {s: average(cells, protocol, metric, attack_model, split, s) for s in cells.systems}
    sign = 1 if higher_is_better(metric) else -1
    own = {column_of(s): s for s in results.systems}
    records: dict[str, dict[tuple[str, str], VerificationRecord]] = {}
    for r in results.verification:
        if (r.condition.attack_model, r.condition.split) == (attack_model, split):
            records.setdefault(column_of(r.condition.system), {})[
                r.condition.data_set, r.condition.gender
            ] = r
    doubted = {
        s for s, of_set in records.items() if caveats(of_set.values(), [metric], protocol.variant)
    }
    # A stable sort: equal systems keep the order of the columns.
    order = sorted(
        ((s, m) for s, m in means.items() if m is not None and s not in doubted),
        key=lambda pair: -sign * pair[1],
    )
    replicates = {
        s: _replicates(records.get(s, {}), curves, protocol, metric) for s, _ in order if s in own
    }
    ranked = []
    for index, (system, mean) in enumerate(order):
        found = replicates.get(system)
        interval, difference, why_not = None, None, ""
        if found is not None:
            bounds = expanded_interval(found.values, found.n_speakers, LEVEL)
            interval = (bounds.low, bounds.high)
        if index + 1 < len(order):
            # Published systems, which have no replicates, may stand between.
            after = [pair for pair in order[index + 1 :] if replicates.get(pair[0]) is not None]
            other, other_mean = (after or order[index + 1 :])[0]
            second = replicates.get(other)
            if found is not None and second is not None:
                if found.drawn == second.drawn:
                    difference = _difference(mean, other_mean, found, second, sign)
                else:
                    why_not = "not paired: other trials, speakers, seed or number of replicates"
            elif found is not None and any(s in own for s, _ in order[index + 1 :]):
                why_not = "not paired: no replicates of one of the two"
        ranked.append(Ranked(system, mean, interval, difference, why_not))
    numbers = {r.values.size for r in replicates.values() if r is not None}
    unranked = {
        s: _DOUBTED if s in doubted else _lacking(cells, protocol, metric, attack_model, split, s)
        for s, m in means.items()
        if m is None or s in doubted
    }
    return Ranking(metric, attack_model, split, tuple(ranked), unranked, tuple(sorted(numbers)))


def ranking_table(
    results: Results,
    curves: Curves,
    *,
    metric: str = "eer",
    attack_model: str | None = None,
    split: str,
    cells: Cells | None = None,
) -> Table | None:
    """The ranking as a table; None where no system has any of its values.

    Parameters
    ----------
    attack_model : str or None
        Default: the one the plan averages; metrics without attack models take none.
    results, curves, metric, split, cells
        As in `rank`.
    """
    protocol = results.protocol
    if attack_model is None and metric not in WITHOUT_ATTACK:
        attack_model = protocol.average_attack_model
    ranking = rank(
        results, curves, metric=metric, attack_model=attack_model, split=split, cells=cells
    )
    if not ranking.ranked and all(_NOTHING == reason for reason in ranking.unranked.values()):
        return None
    own = {column_of(s) for s in results.systems}
    mixed = bool(own) and not own.issuperset(
        (*ranking.unranked, *(r.system for r in ranking.ranked))
    )
    tested = bool(ranking.replicates)
    title = metric_title(metric)
    columns = [Column("#"), Column("System", align="l")]
    columns += [Column("Source")] if mixed else []
    columns.append(Column(title.title.removeprefix("ZEBRA: "), _without_prefix(title.latex)))
    if tested:
        columns += [
            Column("95 % interval"),
            Column("To the next", rule=True),
            Column("95 % interval"),
            Column("p"),
        ]

    def row(number: str, system: str, *cells: str) -> tuple[str, ...]:
        source = (("own" if system in own else "published"),) if mixed else ()
        return (number, system, *source, *cells)

    stated = tested or bool(ranking.unranked)
    columns += [Column("Statement", align="l")] if stated else []
    place = (attack_model, split)
    records = [
        v for v in results.verification if (v.condition.attack_model, v.condition.split) == place
    ]
    left_out = {column_of(v.condition.system) for v in records if v.left_out}
    ranked = []
    for number, r in enumerate(ranking.ranked, start=1):
        shown = [text_of(metric, r.value) + LEFT_OUT_MARK * (r.system in left_out)]
        if tested:
            shown += [_bounds(metric, r.interval), *_shown_difference(metric, r.next)]
        shown += [_statement(r)] if stated else []
        ranked.append(row(str(number), r.system, *shown))
    blanks = [""] * (5 if tested else 1)
    unranked = [row("", s, *blanks, reason) for s, reason in ranking.unranked.items()]
    name = f"ranking_{metric}_{attack_model or 'voice'}_{split}"
    notes = [_BIAS] if tested and metric in _SEE_MORE else []
    notes += caveats(records, [metric], protocol.variant)
    if left_out:
        notes.append(f"{LEFT_OUT_MARK} Trials were left out of some of its values")
    return Table(
        file_names([name])[name],
        _caption(ranking, protocol),
        tuple(columns),
        tuple(tuple(group) for group in (ranked, unranked) if group),
        notes=tuple(notes),
        fit="shrunk",
    )


_BIAS = (
    "Resampled trials repeat, in which this metric sees more evidence: intervals of values lie too "
    "far on the less private side, which cancels in most of a difference"
)
_NOTHING = "no values"
_DOUBTED = "a value that says nothing"


def _replicates(
    records: Mapping[tuple[str, str], VerificationRecord],
    curves: Curves,
    protocol: Protocol,
    metric: str,
) -> _Replicates | None:
    """Of one system; None where a condition has none. One condition is read at a time."""
    name = f"bootstrap_{protocol.variant}_{metric}"
    total: NDArray[np.float64] | None = None
    weights, speakers = 0.0, []
    drawn = []
    for data_set in protocol.data_sets:
        for gender in protocol.genders:
            record = records.get((data_set.id, gender))
            arrays = curves.of(record) if record is not None else None
            if arrays is None or not {name, *_DESIGN} <= arrays.keys():
                return None
            values = arrays[name].astype(np.float64)
            if total is not None and values.size != total.size:
                return None
            design, seed = str(arrays["bootstrap_design"]), int(arrays["bootstrap_seed"])
            drawn.append((data_set.id, gender, design, seed))
            speakers.append(int(arrays["bootstrap_speakers"]))
            part = data_set.weight * values if data_set.weight else np.zeros(values.size)
            total = part if total is None else total + part
            weights += data_set.weight
    if total is None or not weights or total.size < 2 or min(speakers) < 2:
        return None
    # The number of replicates goes with what was drawn: the first n of more are the same.
    return _Replicates(total / weights, min(speakers), (*drawn, ("", "", "", total.size)))


_DESIGN = ("bootstrap_design", "bootstrap_seed", "bootstrap_speakers")


def _difference(
    mean: float, other_mean: float, first: _Replicates, second: _Replicates, sign: int
) -> Difference:
    with np.errstate(invalid="ignore"):
        differences = first.values - second.values
    # Both infinite: nothing tells the two apart in that replicate.
    differences = np.nan_to_num(differences, nan=0.0, posinf=np.inf, neginf=-np.inf)
    bounds = expanded_interval(differences, first.n_speakers, LEVEL)
    p_value = difference_p_value(differences, first.n_speakers)
    least = difference_p_value(np.ones(differences.size), first.n_speakers)
    low = min(sign * bounds.low, sign * bounds.high)
    value = 0.0 if mean == other_mean else mean - other_mean
    # The p-value says more than the interval only where the replicates are too few for 95 %.
    better = low > 0 and p_value < 1 - LEVEL
    return Difference(value, (bounds.low, bounds.high), p_value, p_value <= least, better)


def _lacking(
    cells: Cells,
    protocol: Protocol,
    metric: str,
    attack_model: str | None,
    split: str,
    system: str,
) -> str:
    places = [(d.id, g) for d in protocol.data_sets for g in protocol.genders]
    absent = [
        f"{data_set} {gender}"
        for data_set, gender in places
        if cells.get(metric, attack_model, split, data_set, gender, system) is None
    ]
    if len(absent) == len(places):
        return _NOTHING
    shown = ", ".join(absent[:3]) + (", ..." if len(absent) > 3 else "")
    return f"no value of {len(absent)} of {len(places)}: {shown}"


def _statement(ranked: Ranked) -> str:
    if ranked.next is None:
        return ranked.why_not
    return "better than the next" if ranked.next.better else "not told from the next"


def _shown_difference(metric: str, difference: Difference | None) -> list[str]:
    if difference is None:
        return ["", "", ""]
    p = difference.p_value
    # Rounded up: a bound must stay one.
    text = f"< {math.ceil(1000 * p) / 1000:.3f}" if difference.p_value_is_bound else f"{p:.3f}"
    return [text_of(metric, difference.value), _bounds(metric, difference.interval), text]


def _bounds(metric: str, interval: Sequence[float] | None) -> str:
    if interval is None:
        return ""
    return f"[{text_of(metric, interval[0])}, {text_of(metric, interval[1])}]"


def _caption(ranking: Ranking, protocol: Protocol) -> str:
    titles = {a.id: a.title[:1].lower() + a.title[1:] for a in protocol.attack_models}
    model = ranking.attack_model
    under = f" under the {titles.get(model, model)} attack model" if model else ""
    split = protocol.split_title(ranking.split)
    best = "most private" if ranking.metric != "gvd_db" else "most distinct"
    caption = (
        f"Ranking by {metric_name(ranking.metric)}{under} ({split}), the {best} first: averages "
        "over data sets and genders as the plan weighs them."
    )
    if ranking.attack_model is None:
        return f"{caption} Order and values only: no difference is told from chance."
    if not ranking.replicates:
        return (
            f"{caption} Order and values only: without resamples of speakers (option --bootstrap "
            "of the evaluation) no difference is told from chance."
        )
    numbers = " or ".join(map(str, ranking.replicates))
    units = " in percentage points" if ranking.metric in PERCENT else ""
    return (
        f"{caption} Intervals from {numbers} resamplings of speakers. Each system is compared "
        f"with the next one that has them only (difference{units}, paired over resamplings, "
        "two-sided p-value): tests of pairs, not corrected for their number."
    )


def _without_prefix(latex: str | None) -> str | None:
    return latex.removeprefix("ZEBRA: ") if latex else None
