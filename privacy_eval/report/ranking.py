"""Rankings of systems by one metric under one attack model, with intervals and paired tests
from the stored bootstrap replicates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, Metric
from ..metrics.confidence import difference_p_value, expanded_interval, least_replicates
from ..protocol.protocol import Protocol
from ..results.arrays import Curves
from ..results.averages import weighted_mean
from ..results.records import Results, VerificationRecord
from .data import ReportData
from .table import SIDE_BY_SIDE, Column, Table
from .values import (
    LEFT_OUT_MARK,
    ORIGINAL_COLUMN,
    Cell,
    CellKey,
    average,
    caveat_notes,
    select,
    system_column,
)

LEVEL = 0.95

_MOST_REPLICATES = 1e6  # that --bootstrap accepts


def ranking_metrics() -> list[str]:
    """List the metrics for rankings: those with a best value, of trial sets."""
    return [key for key, m in METRICS.items() if m.best is not None and key not in ("wer", "uar")]


@dataclass(frozen=True)
class Difference:
    """A system compared with the next one of the ranking.

    Attributes
    ----------
    value : float
        Difference of the averages, in the unit of records.
    interval : (float, float)
        95 % bounds, from the differences in each replicate.
    p_value : float
        Two-sided, for the hypothesis of no difference.
    p_value_is_bound : bool
        Whether the number of replicates only gives an upper bound.
    better : bool
        Whether the interval is on the more private side of 0.
    too_few : bool
        Whether only the number of replicates keeps the p-value from being smaller.
    """

    value: float
    interval: tuple[float, float]
    p_value: float
    p_value_is_bound: bool
    better: bool
    too_few: bool = False


@dataclass(frozen=True)
class RankedSystem:
    """One system of the ranking.

    Attributes
    ----------
    system : str
    value : float
        Average, in the unit of records.
    interval : (float, float) or None
        95 % bounds; None without replicates.
    next : Difference or None
        None for the last, and if the two cannot be paired.
    why_not : str
        Why they cannot be paired.
    """

    system: str
    value: float
    interval: tuple[float, float] | None = None
    next: Difference | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Ranking:
    """A ranking of systems, the most private first.

    Attributes
    ----------
    metric : str
    attack_model : str or None
    split : str
    ranked : tuple of RankedSystem
    unranked : mapping
        Systems without a rank, each with the reason.
    replicates : tuple of int
        Numbers of bootstrap replicates; empty if there are none.
    least_replicates : float
        Number of replicates that the level requires for the system with the fewest speakers.
    """

    metric: str
    attack_model: str | None
    split: str
    ranked: tuple[RankedSystem, ...]
    unranked: Mapping[str, str]
    replicates: tuple[int, ...]
    least_replicates: float = 0.0


@dataclass(frozen=True, eq=False)
class Replicates:
    """A system's average in each bootstrap replicate.

    Attributes
    ----------
    values : array, shape (replicates,)
    n_speakers : int
        Fewest of any condition, so that the interval is rather too wide.
    drawn : tuple
        What determines the speakers of each replicate.
    """

    values: NDArray[np.float64]
    n_speakers: int
    drawn: tuple[tuple[str, str, str, int], ...]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % bounds of the average."""
        bounds = expanded_interval(self.values, self.n_speakers, LEVEL)
        return bounds.low, bounds.high


def rank(data: ReportData, *, metric: str, attack_model: str | None, split: str) -> Ranking:
    """Rank systems by their average over data sets and genders, with the protocol's weights.

    The average of each replicate is over the replicates of the conditions: those of the same
    speakers are the same draws, others independent ones. Two systems are paired
    only if every condition has the same design, seed and number of replicates in both.

    Parameters
    ----------
    data : ReportData
        Evaluated systems with their replicates, and published ones.
    metric, attack_model, split : str
        `metric` is one of `ranking_metrics()`; `attack_model` is None for metrics without
        attack models, which have no replicates either.

    Raises
    ------
    ValueError
        A metric without a best value.
    """
    if metric not in ranking_metrics():
        raise ValueError(f"no ranking by {metric}, only by {', '.join(ranking_metrics())}")
    results, cells, protocol = data.results, data.cells, data.protocol
    means = {s: average(cells, protocol, metric, attack_model, split, s) for s in cells.systems}
    sign = 1 if METRICS[metric].best == "higher" else -1
    records: dict[str, dict[tuple[str, str], VerificationRecord]] = {
        system_column(s): {} for s in results.systems
    }
    for r in _records(results, attack_model, split):
        c = r.condition
        records[system_column(c.system)][c.data_set, c.gender] = r
    found = select(cells, metric=metric, attack_model=attack_model, split=split)
    uninformative = {key.system for key, cell in found.items() if cell.withheld}
    # A stable sort: equal systems keep the order of the columns.
    order = sorted(
        ((s, m) for s, m in means.items() if m is not None and s not in uninformative),
        key=lambda pair: -sign * pair[1],
    )
    read = {
        s: average_replicates(records.get(s, {}), data.curves, protocol, metric) for s, _ in order
    }
    replicates = {s: of_system for s, of_system in read.items() if of_system is not None}
    ranked = []
    for index, (system, mean) in enumerate(order):
        if system not in replicates:
            ranked.append(RankedSystem(system, mean))
            continue
        first, difference, why_not = replicates[system], None, ""
        # Published systems, which have no replicates, may be in between.
        after = [pair for pair in order[index + 1 :] if pair[0] in replicates]
        if not after:
            if any(s in records for s, _ in order[index + 1 :]):
                why_not = "not paired: no replicates of one of the two"
        elif first.drawn == replicates[after[0][0]].drawn:
            difference = _difference(mean, after[0][1], first, replicates[after[0][0]], sign)
        else:
            why_not = "not paired: different trials, speakers, seed or number of replicates"
        ranked.append(RankedSystem(system, mean, first.interval, difference, why_not))
    unranked = {
        s: _UNINFORMATIVE if s in uninformative else _missing(found, protocol, s)
        for s, m in means.items()
        if m is None or s in uninformative
    }
    numbers = tuple(sorted({r.values.size for r in replicates.values()}))
    least = max((least_replicates(r.n_speakers, LEVEL) for r in replicates.values()), default=0.0)
    return Ranking(metric, attack_model, split, tuple(ranked), unranked, numbers, least)


def average_ranking(data: ReportData, split: str) -> Ranking:
    """Rank all systems as the protocol does."""
    protocol = data.protocol
    attack = protocol.average_attack_model
    return rank(data, metric=protocol.eer, attack_model=attack, split=split)


def _records(results: Results, attack_model: str | None, split: str) -> list[VerificationRecord]:
    return [
        r
        for r in results.verification
        if (r.condition.attack_model, r.condition.split) == (attack_model, split)
        and r.condition.data_set in {d.id for d in results.protocol.data_sets}
        and r.condition.gender in results.protocol.genders
    ]


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
    results, protocol, known = data.results, data.protocol, METRICS[metric]
    if attack_model is None and known.kind == "scores":
        attack_model = protocol.average_attack_model
    ranking = rank(data, metric=metric, attack_model=attack_model, split=split)
    if not ranking.ranked and all(_NOTHING == reason for reason in ranking.unranked.values()):
        return None
    own = {system_column(s) for s in results.systems}
    mixed = bool(own) and not own.issuperset(
        (*ranking.unranked, *(r.system for r in ranking.ranked))
    )
    tested = bool(ranking.replicates)
    stated = tested or bool(ranking.unranked)
    title, latex = known.heading
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
    columns += [Column("Statement", align="l")] if stated else []

    def row(number: str, system: str, *cells: str) -> tuple[str, ...]:
        source = (("submitted" if system in own else "published"),) if mixed else ()
        return (number, system, *source, *cells)

    records = _records(results, attack_model, split)
    left_out = {system_column(v.condition.system) for v in records if v.left_out}
    ranked = []
    for number, r in enumerate(ranking.ranked, start=1):
        shown = [known.format(r.value) + LEFT_OUT_MARK * (r.system in left_out)]
        if tested:
            shown += [interval_text(known, r.interval), *_format_difference(known, r.next)]
        shown += [_statement(r)] if stated else []
        ranked.append(row(str(number), r.system, *shown))
    blanks = [""] * (5 if tested else 1)
    unranked = [row("", s, *blanks, reason) for s, reason in ranking.unranked.items()]
    name = f"ranking_{metric}_{attack_model or 'voice'}_{split}"
    found = select(data.cells, metric=metric, attack_model=attack_model, split=split).values()
    notes = _notes(ranking, [*caveat_notes(records, [metric]), *_caveats(found)])
    if mixed or known.kind == "scores":
        notes += data.cells.not_comparable
    if left_out:
        notes.append(f"{LEFT_OUT_MARK} Trials were left out of some of its values")
    return Table(
        file_names([name])[name],
        _caption(ranking, protocol, records),
        tuple(columns),
        tuple(tuple(group) for group in (ranked, unranked) if group),
        notes=tuple(notes),
        fit="shrunk",
        section=SIDE_BY_SIDE,
        title=_title(ranking, protocol),
    )


def _notes(ranking: Ranking, caveats: Iterable[str]) -> list[str]:
    """Notes on intervals, with the caveats of values."""
    if not ranking.replicates:
        return list(caveats)
    notes = bias_notes([ranking.metric])
    if ranking.replicates[0] < ranking.least_replicates:
        notes.append(too_few_replicates(ranking.least_replicates))
    notes += caveats
    if any(r.interval is None for r in ranking.ranked):
        notes.append("Without intervals: systems without bootstrap replicates of all conditions")
    return notes


def _caveats(found: Iterable[Cell]) -> Iterable[str]:
    """Return the reasons of caveats that concern systems, not single values."""
    caveats = [cell.caveat for cell in found if cell.caveat is not None]
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
    reasons = [f"{row[1]}: {row[-1]}" for row in whole.rows if row[-1].startswith(_LACKS)]
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
_NOTHING = "no values"
_LACKS = "no value of"
_UNINFORMATIVE = "implausible or uninformative values"


def average_replicates(
    records: Mapping[tuple[str, str], VerificationRecord],
    curves: Curves,
    protocol: Protocol,
    metric: str,
) -> Replicates | None:
    """Read the replicates of a system's average; None if a condition has none."""
    name = f"bootstrap_{protocol.variant}_{metric}"
    values: list[tuple[float, NDArray[np.float64]]] = []
    speakers: list[int] = []
    drawn: list[tuple[str, str, str, int]] = []
    for data_set in protocol.data_sets:
        for gender in protocol.genders:
            record = records.get((data_set.id, gender))
            arrays = curves.of(record) if record is not None else None
            if arrays is None or not {name, *_DESIGN} <= arrays.keys():
                return None
            values.append((data_set.weight, arrays[name].astype(np.float64)))
            design, seed = str(arrays["bootstrap_design"]), int(arrays["bootstrap_seed"])
            drawn.append((data_set.id, gender, design, seed))
            speakers.append(int(arrays["bootstrap_speakers"]))
    sizes = {of_condition.size for _, of_condition in values}
    mean = weighted_mean(values) if len(sizes) == 1 else None
    if mean is None or mean.size < 2 or min(speakers) < 2:
        return None
    # The number of replicates goes with what was drawn: the first n of more are the same.
    return Replicates(mean, min(speakers), (*drawn, ("", "", "", mean.size)))


_DESIGN = ("bootstrap_design", "bootstrap_seed", "bootstrap_speakers")


def _difference(
    mean: float, other_mean: float, first: Replicates, second: Replicates, sign: int
) -> Difference:
    with np.errstate(invalid="ignore"):
        differences = first.values - second.values
    # Both infinite: no difference in that replicate.
    differences = np.nan_to_num(differences, nan=0.0, posinf=np.inf, neginf=-np.inf)
    bounds = expanded_interval(differences, first.n_speakers, LEVEL)
    p_value = difference_p_value(differences, first.n_speakers)
    least = difference_p_value(np.ones(differences.size), first.n_speakers)
    low = min(sign * bounds.low, sign * bounds.high)
    value = 0.0 if mean == other_mean else mean - other_mean
    # The p-value is stricter than the interval only if the replicates are too few for 95 %.
    better = low > 0 and p_value < 1 - LEVEL
    is_bound = p_value <= least
    too_few = is_bound and p_value >= 1 - LEVEL
    return Difference(value, (bounds.low, bounds.high), p_value, is_bound, better, too_few)


def _missing(found: Iterable[CellKey], protocol: Protocol, system: str) -> str:
    """List the values missing for the average of a system."""
    found = [key for key in found if key.system == system]
    present = {(key.data_set, key.gender) for key in found}
    expected = [(d.id, g) for d in protocol.data_sets for g in protocol.genders]
    missing = [" ".join(key) for key in expected if key not in present]
    if len(missing) == len(expected):
        return _NOTHING
    names = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
    return f"{_LACKS} {len(missing)} of {len(expected)}: {names}"


def _statement(ranked: RankedSystem) -> str:
    if ranked.next is None:
        return ranked.why_not
    if ranked.next.too_few:
        return "too few replicates to tell"
    return "better than the next" if ranked.next.better else "not significantly different"


def difference_text(metric: Metric, ranked: RankedSystem) -> str:
    """Describe the difference between a system and the next one of the ranking, and whether it is
    significant; "" if they are not compared."""
    if ranked.next is None:
        return ranked.why_not
    found = metric.format(ranked.next.value) + " points" * metric.percent
    return f"difference {found} {interval_text(metric, ranked.next.interval)}: {_statement(ranked)}"


def _format_difference(metric: Metric, difference: Difference | None) -> list[str]:
    if difference is None:
        return ["", "", ""]
    p = difference.p_value
    # Rounded up: a bound must stay one.
    text = f"< {math.ceil(1000 * p) / 1000:.3f}" if difference.p_value_is_bound else f"{p:.3f}"
    text = "" if difference.too_few else text
    return [metric.format(difference.value), interval_text(metric, difference.interval), text]


def bias_notes(metrics: Sequence[str]) -> list[str]:
    """Return a note on the bootstrap intervals of metrics that repeated trials bias, if any."""
    names = [METRICS[key].name for key in metrics if METRICS[key].repeats_matter]
    return [
        f"Intervals of {' and '.join(names)} are biased to the less private side: bootstrap "
        "replicates repeat trials, which counts as more evidence; most of it "
        "cancels in differences"
    ][: len(names)]


def too_few_replicates(least: float) -> str:
    """Return a note on intervals from fewer bootstrap replicates than their level needs."""
    needed = f"at least {least:.0f}" if least < _MOST_REPLICATES else "more than can be drawn"
    return (
        f"Too few bootstrap replicates for {100 * LEVEL:g} % with so few speakers (needed: "
        f"{needed}): intervals are too narrow"
    )


def interval_text(metric: Metric, interval: Sequence[float] | None) -> str:
    """Format an interval; "" for none."""
    if interval is None:
        return ""
    return f"[{metric.format(interval[0])}, {metric.format(interval[1])}]"


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
        f"has them is compared with the next such system only (difference{units}, paired by "
        "replicate, two-sided p-value, bounded below by the number of replicates): tests of pairs, "
        "not corrected for their number."
    )
