"""THE average: a metric's weighted mean over data sets and genders, with what is missing."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..choices import LEVEL
from ..metrics import Caveat, describe
from ..metrics.caveats import worst_caveat
from ..metrics.confidence import (
    difference_p_value,
    expanded_interval,
    least_replicates,
    subtract,
    what_is_too_few,
)
from ..protocol.protocol import Protocol, RecognitionSet
from ..results.arrays import StoredArrays
from ..results.measurements import Row
from .cells import Cells, Place, conflicting_originals, interval_of, is_withheld

# Significant digits of a mean, fewer than a double has: the mean of 0.1 and 0.2 is 0.15.
_DIGITS = 14

#: Why a mean has no value; the second is followed by numbers and names of parts.
NO_VALUES, LACKS = "no values", "no value of"

_DESIGN = ("bootstrap_design", "bootstrap_seed", "bootstrap_speakers")


@dataclass(frozen=True, eq=False)
class MeanReplicates:
    """A mean in each bootstrap replicate.

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
        """95 % bounds of the mean."""
        bounds = expanded_interval(self.values, self.n_speakers, LEVEL)
        return bounds.low, bounds.high


@dataclass(frozen=True)
class Mean:
    """A weighted mean of a metric.

    Attributes
    ----------
    metric : str
    of_present : float or None
        Mean of the parts that have a value, in the unit of records; None if none has, or if one
        must not be ranked.
    parts : tuple of mapping
        Their rows. A part without weight is neither here nor missing.
    weights : tuple of float
        Of the parts.
    missing : tuple of str
        Names of the parts without a value, or why the parts cannot be averaged.
    withheld : tuple of str
        Names of the parts that must be neither ranked nor averaged, or that failed.
    means : Means or None
        Where the parts have bootstrap replicates.
    """

    metric: str
    of_present: float | None
    parts: tuple[Row, ...] = ()
    missing: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    means: Means | None = field(default=None, repr=False, compare=False)

    @functools.cached_property
    def replicates(self) -> MeanReplicates | None:
        """The mean in each bootstrap replicate; None unless every part has replicates."""
        return self.means.replicates(self) if self.means is not None else None

    @property
    def value(self) -> float | None:
        """The mean in the unit of records; None if any part is missing or withheld."""
        return None if self.missing else self.of_present

    @property
    def caveat(self) -> Caveat | None:
        """The reason why parts of it are withheld, if there is one."""
        return worst_caveat(row.get("caveat") for row in self.parts)

    @property
    def why_blank(self) -> str:
        """Why it has no value, with the first of the parts; "" if it has one."""
        if not self.parts:
            return NO_VALUES
        names = self.withheld or self.missing
        listed = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
        share = f"{len(names)} of {len(self.missing) + len(self.parts)}"
        if self.caveat is not None:
            return f"{self.caveat.word}: {share} values, {listed}"
        return f"{LACKS} {share}: {listed}" if names else ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % bounds; without replicates that of the only part, if it has one."""
        if self.replicates is None and len(self.parts) == 1 and not self.missing:
            return interval_of(self.parts[0])
        return self.replicates.interval if self.replicates is not None else None

    def text(self, *, detailed: bool = False, decimals: int | None = None) -> str:
        """Format the mean of the parts that have a value; "" if none has, or one is withheld."""
        if self.of_present is None:
            return ""
        form = describe(self.metric).format
        return form(self.of_present, detailed=detailed, decimals=decimals, mean=True)

    @property
    def row(self) -> Row | None:
        """The mean beside the values of a table or figure; None if it has no value."""
        if self.value is None:
            return None
        left_out = any(row.get("left_out") for row in self.parts)
        of = {"metric": self.metric, "value": self.value, "printed": self.text()}
        return {**of, "left_out": left_out, "parts": self.parts}


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


def mean_of(cells: Cells, metric: str, weights: Mapping[Place, float]) -> Mean:
    """Average the values of places by their weights."""
    weights = {place: weight for place, weight in weights.items() if weight}
    present = {place: row for place in weights if (row := cells.get(*place)) is not None}
    names = {place: " ".join(filter(None, place[3:5])) for place in weights}
    missing = [name for place, name in names.items() if place not in present]
    withheld = tuple(names[place] for place, row in present.items() if is_withheld(row))
    if present and not withheld and any(place[-1] in cells.failed for place in weights):
        withheld = tuple(missing)
    if conflict := conflicting_originals(cells, present.values()):
        missing.append(conflict)
    values = [] if withheld else [(weights[place], row["value"]) for place, row in present.items()]
    of_present = tuple(weights[place] for place in present)
    parts = tuple(present.values())
    return Mean(metric, _weighted_mean(values), parts, tuple(missing), withheld, of_present)


def _weighted_mean(parts: Sequence[tuple[float, float]]) -> float | None:
    """Compute a weighted mean that does not depend on the order of its parts, nor on the binary
    digits of decimal values, so that it is rounded alike everywhere."""
    if not parts:
        return None
    products = [weight * value for weight, value in parts]
    if not all(map(math.isfinite, products)):
        return sum(products)
    mean = math.fsum(products) / math.fsum(weight for weight, _ in parts)
    return float(f"{mean:.{_DIGITS}g}")


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
    _computed: dict[tuple[str, str | None, str, str], Mean] = field(
        default_factory=dict, init=False, repr=False
    )

    def of(self, metric: str, attack_model: str | None, split: str, system: str) -> Mean:
        """Average a metric over data sets and genders with the protocol's weights. Values of
        original speech are averaged only if a single source has them all."""
        key = metric, attack_model, split, system
        if key not in self._computed:
            weights: dict[Place, float] = {
                (metric, attack_model, split, data_set, gender, system): weight
                for data_set, gender, weight in averaged_sets(self.protocol, metric)
            }
            mean = mean_of(self.cells, metric, weights)
            self._computed[key] = replace(mean, means=self)
        return self._computed[key]

    def replicates(self, mean: Mean) -> MeanReplicates | None:
        """Average the replicates of a mean's parts; None if any of them has none."""
        if mean.value is None:
            return None
        parts = [self._of_row(row) for row in mean.parts]
        drawn = [part for part in parts if part is not None]
        size = drawn[0].values.size if drawn else 0
        if len(drawn) < len(parts) or any(part.values.size != size for part in drawn):
            return None
        n_speakers = min(part.n_speakers for part in drawn)
        if size < 2 or n_speakers < 2:
            return None
        weighted = [w * part.values for w, part in zip(mean.weights, drawn, strict=True)]
        # The number of replicates goes with what was drawn: the first n of more are the same.
        design = tuple(entry for part in drawn for entry in part.drawn)
        values = np.sum(weighted, axis=0) / sum(mean.weights)
        return MeanReplicates(values, n_speakers, (*design, ("", "", "", size)))

    def _of_row(self, row: Row) -> MeanReplicates | None:
        """Draw the replicates of a word error rate or measure, or read those of a condition."""
        record, metric = row.get("record"), row["metric"]
        if record is None:
            return None
        if (sums := record.speaker_sums(metric)) is not None:
            drawn = sums.bootstrap()
            design = "", "", drawn.design, drawn.seed
            (values,) = drawn.values.values()
            return MeanReplicates(values, drawn.n_speakers, (design,))
        name = f"bootstrap_{self.protocol.variant}_{metric}"
        of_scores = describe(metric).kind == "scores"
        arrays = self.arrays.replicates(record, self.protocol.variant) if of_scores else {}
        if not {name, *_DESIGN} <= arrays.keys():
            return None
        seed = int(arrays["bootstrap_seed"])
        place = row["data_set"], row["gender"], str(arrays["bootstrap_design"]), seed
        values, n_speakers = arrays[name].astype(np.float64), int(arrays["bootstrap_speakers"])
        return MeanReplicates(values, n_speakers, (place,))


@dataclass(frozen=True)
class Difference:
    """A mean compared with another one of the same draws.

    Attributes
    ----------
    other : str
        Name of what has the other mean.
    value : float
        Difference of the means, in the unit of records.
    interval : (float, float)
        95 % bounds, from the differences in each replicate.
    p_value : float
        Two-sided, for the hypothesis of no difference.
    p_value_is_bound : bool
        Whether the number of replicates only gives an upper bound.
    better : bool
        Whether the interval is on the more private side of 0.
    too_few : {"", "speakers", "replicates"}
        What is too few for any difference to be significant.
    """

    other: str
    value: float
    interval: tuple[float, float]
    p_value: float
    p_value_is_bound: bool
    better: bool
    too_few: str = ""

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0, from enough replicates."""
        low, high = self.interval
        return (low > 0 or high < 0) and self.p_value < 1 - LEVEL


def is_paired(one: Mean, other: Mean) -> bool:
    """Tell whether two means have replicates of the same draws of speakers."""
    first, second = one.replicates, other.replicates
    return first is not None and second is not None and first.drawn == second.drawn


def difference(one: Mean, other: Mean, *, named: str, sign: int = 1) -> Difference:
    """Compare a mean with another one of the same draws.

    Parameters
    ----------
    named : str
        What has the other mean.
    sign : {1, -1}
        -1 if lower values are more private.
    """
    first, second = one.replicates, other.replicates
    assert first is not None and second is not None
    assert one.of_present is not None and other.of_present is not None
    differences = subtract(first.values, second.values)
    bounds = expanded_interval(differences, first.n_speakers, LEVEL)
    p_value = difference_p_value(differences, first.n_speakers)
    low = min(sign * bounds.low, sign * bounds.high)
    # The p-value is stricter than the interval only if the replicates are too few for 95 %.
    better = low > 0 and p_value < 1 - LEVEL
    least = least_p_value(first)
    needed = least_replicates(first.n_speakers, LEVEL)
    is_bound, too_few = p_value <= least, what_is_too_few(needed) if least >= 1 - LEVEL else ""
    value = float(subtract(one.of_present, other.of_present))
    return Difference(named, value, (bounds.low, bounds.high), p_value, is_bound, better, too_few)


def least_p_value(replicates: MeanReplicates) -> float:
    """Compute the p-value where every replicate has the same sign."""
    return difference_p_value(np.ones(replicates.values.size), replicates.n_speakers)
