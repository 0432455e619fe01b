"""THE average: a metric's weighted mean over data sets and genders, with what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..choices import LEVEL
from ..metrics import Caveat, describe, of_kind
from ..metrics.caveats import worst_caveat
from ..metrics.confidence import (
    BootstrapReplicates,
    difference_p_value,
    expanded_interval,
    least_replicates,
    subtract,
    what_is_too_few,
)
from ..protocol.protocol import Protocol, RecognitionSet
from ..results.arrays import StoredArrays
from ..results.measurements import Row, weighted_mean
from .cells import Cells, Place, conflicting_originals, interval_of, is_withheld

#: Why a mean has no value; the second is followed by numbers and names of parts.
NO_VALUES, LACKS = "no values", "no value of"

#: Utility that editions weigh.
UTILITY = ("wer", "uar")


def averaged_sets(protocol: Protocol, metric: str) -> list[tuple[str, str, float]]:
    """List data set, gender and weight of what a mean is over; the gender is "" for metrics of
    decoded sets."""
    if decoded := decoded_sets(protocol, metric):
        return [(d.id, "", d.weight) for d in decoded]
    weights = {gender: protocol.gender_weights.get(gender, 1) for gender in protocol.genders}
    return [(d.id, g, d.weight * w) for d in protocol.data_sets for g, w in weights.items()]


def averaged_conditions(protocol: Protocol) -> int:
    """Count the conditions of an attack model and split that averages are over."""
    return sum(weight > 0 for *_, weight in averaged_sets(protocol, protocol.eer))


def decoded_sets(protocol: Protocol, metric: str) -> Sequence[RecognitionSet]:
    """Return the sets with a word error rate, or with recalls of emotions; none of other
    metrics."""
    return {"wer": protocol.recognition.data_sets, "uar": protocol.emotion}.get(metric, ())


def mean_of(cells: Cells, metric: str, weights: Mapping[Place, float]) -> dict[str, Any]:
    """Average the values of places by their weights; one without weight is no part.

    Returns
    -------
    dict
        A row: its `value` is blank, and `why_blank` says why, if any of the `parts` (rows, with
        their `weights`) is `missing` or `withheld`: names of those without a value, or why they
        cannot be averaged, and of those that must be neither ranked nor averaged, or that failed.
        `of_present`, as `printed`, is the mean of those with a value, unless one is withheld. It
        has no ZEBRA category.
    """
    weights = {place: weight for place, weight in weights.items() if weight}
    present = {place: row for place in weights if (row := cells.get(*place)) is not None}
    names = {place: " ".join(filter(None, place[3:5])) for place in weights}
    missing = [name for place, name in names.items() if place not in present]
    withheld = [names[place] for place, row in present.items() if is_withheld(row)]
    if present and not withheld and any(place[-1] in cells.failed for place in weights):
        withheld = list(missing)
    if conflict := conflicting_originals(cells, present.values()):
        missing.append(conflict)
    values = [] if withheld else [(weights[place], row["value"]) for place, row in present.items()]
    mean, caveat = weighted_mean(values), worst_caveat(r.get("caveat") for r in present.values())
    return {
        "metric": metric,
        "value": None if missing else mean,
        "of_present": mean,
        "printed": "" if mean is None else describe(metric).format(mean, mean=True),
        "tag": "",
        "caveat": caveat,
        "why_blank": _why_blank(withheld or missing, len(missing), len(present), caveat),
        "parts": tuple(present.values()),
        "weights": [weights[place] for place in present],
        "missing": missing,
        "withheld": withheld,
        "left_out": any(row.get("left_out") for row in present.values()),
    }


def _why_blank(names: Sequence[str], missing: int, present: int, caveat: Caveat | None) -> str:
    """Say why a mean has no value, with the first of the parts; "" if it has one."""
    listed = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
    share = f"{len(names)} of {missing + present}"
    if not present:
        return NO_VALUES
    if caveat is not None:
        return f"{caveat.word}: {share} values, {listed}"
    return f"{LACKS} {share}: {listed}" if names else ""


@dataclass(frozen=True)
class Means:
    """Averages of values, each computed once, and their replicates when they are needed.

    Attributes
    ----------
    cells : Cells
    protocol : Protocol
        Its data sets and genders are averaged over, with its weights.
    arrays : StoredArrays
        Replicates of the records.
    """

    cells: Cells
    protocol: Protocol
    arrays: StoredArrays = field(default_factory=lambda: StoredArrays(()))
    _computed: dict[tuple[str, str | None, str, str], Row] = field(
        default_factory=dict, init=False, repr=False
    )

    def of(self, metric: str, attack_model: str | None, split: str, system: str) -> Row:
        """Average a metric over data sets and genders with the protocol's weights: a row as of
        `mean_of`, with its bounds and, if every part has them, its `replicates`. Values of original
        speech are averaged only if a single source has them all."""
        key = metric, attack_model, split, system
        if key not in self._computed:
            weights: dict[Place, float] = {
                (metric, attack_model, split, data_set, gender, system): weight
                for data_set, gender, weight in averaged_sets(self.protocol, metric)
            }
            mean = mean_of(self.cells, metric, weights)
            drawn = self._replicates(mean) if mean["value"] is not None else None
            is_of_one = len(mean["parts"]) == 1 and not mean["missing"]
            bounds = interval_of(mean["parts"][0]) if is_of_one else None
            if drawn is not None:
                of_drawn = drawn.interval(metric, LEVEL)
                bounds = of_drawn.low, of_drawn.high
            low, high = bounds or (None, None)
            of = {"attack_model": attack_model, "split": split, "system": system}
            self._computed[key] = {**mean, **of, "replicates": drawn, "low": low, "high": high}
        return self._computed[key]

    def _replicates(self, mean: Row) -> BootstrapReplicates | None:
        """Average the replicates of a mean's parts; None if any of them has none. Its design tells
        which speakers were drawn in each, and its speakers are the fewest of any part, so that the
        interval is rather too wide."""
        parts = [self._of_row(row) for row in mean["parts"]]
        drawn = [part for part in parts if part is not None]
        values = [value for _, of in drawn for value in of.values.values()]
        size = values[0].size if drawn else 0
        if len(drawn) < len(parts) or any(of_part.size != size for of_part in values):
            return None
        n_speakers = min(of.n_speakers for _, of in drawn)
        if size < 2 or n_speakers < 2:
            return None
        weighted = [w * of_part for w, of_part in zip(mean["weights"], values, strict=True)]
        average = np.sum(weighted, axis=0) / sum(mean["weights"])
        # The number of replicates goes with what was drawn: the first n of more are the same.
        design = repr(([(*place, of.design, of.seed) for place, of in drawn], size))
        return BootstrapReplicates({mean["metric"]: average}, n_speakers, design, 0)

    def _of_row(self, row: Row) -> tuple[tuple[str, ...], BootstrapReplicates] | None:
        """Draw the replicates of a word error rate or measure, or read those of a condition with
        its place, as speakers of other places are other ones."""
        record, metric = row.get("record"), row["metric"]
        if record is None:
            return None
        if (sums := record.speaker_sums(metric)) is not None:
            return (), sums.bootstrap()
        if describe(metric).kind != "scores":
            return None
        drawn = self.arrays.replicates(record, self.protocol.variant, metric)
        return None if drawn is None else ((row["data_set"], row["gender"]), drawn)


def is_paired(one: Row, other: Row) -> bool:
    """Tell whether two means have replicates of the same draws of speakers."""
    first, second = one.get("replicates"), other.get("replicates")
    return first is not None and second is not None and first.design == second.design


def difference(one: Row, other: Row, *, named: str, sign: int = 1) -> dict[str, Any]:
    """Compare a mean of available parts with another one of the same draws.

    Parameters
    ----------
    named : str
        What has the other mean.
    sign : {1, -1}
        -1 if lower values are more private.

    Returns
    -------
    dict
        A row `against` what has the other mean, with its bounds from the differences in each
        replicate, and the two-sided `p`, or an upper bound of it if `p_is_bound`: too few
        replicates. `too_few` names what is too few for any difference to be significant (speakers
        or replicates), `better` whether the interval is on the more private side of 0.
    """
    metric = one["metric"]
    first, second = (of["replicates"].values[metric] for of in (one, other))
    differences, n_speakers = subtract(first, second), one["replicates"].n_speakers
    bounds = expanded_interval(differences, n_speakers, LEVEL)
    p = difference_p_value(differences, n_speakers)
    least = least_p_value(one["replicates"])
    needed = least_replicates(n_speakers, LEVEL)
    # The p-value is stricter than the interval only if the replicates are too few for 95 %.
    is_clear, low = p < 1 - LEVEL, min(sign * bounds.low, sign * bounds.high)
    return {
        "metric": metric,
        "against": named,
        "value": float(subtract(one["of_present"], other["of_present"])),
        "low": bounds.low,
        "high": bounds.high,
        "p": p,
        "p_is_bound": p <= least,
        "too_few": what_is_too_few(needed) if least >= 1 - LEVEL else "",
        "better": low > 0 and is_clear,
        "significant": (bounds.low > 0 or bounds.high < 0) and is_clear,
    }


def size_of(replicates: BootstrapReplicates) -> int:
    """Return the number of replicates."""
    return next(of.size for of in replicates.values.values())


def least_p_value(replicates: BootstrapReplicates) -> float:
    """Compute the p-value where every replicate has the same sign."""
    return difference_p_value(np.ones(size_of(replicates)), replicates.n_speakers)


def utility_metrics() -> list[str]:
    """List the metrics of utility that systems can be compared by."""
    return [*UTILITY, *of_kind("measures")]


def trade_offs(means: Means, split: str) -> list[Row]:
    """List the average EERs of systems that have one, each with `utility`: averages of anonymized
    speech, by metric."""
    protocol, metrics = means.protocol, (*UTILITY, *means.cells.measures)
    found: list[Row] = []
    for system in means.cells.systems:
        eer = means.of(protocol.eer, protocol.average_attack_model, split, system)
        utility = {m: means.of(m, None, split, system) for m in metrics}
        if eer["value"] is not None:
            rated = {m: mean for m, mean in utility.items() if mean["value"] is not None}
            found.append({**eer, "utility": rated})
    return found
