"""Two means compared by the differences of their bootstrap replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..choices import LEVEL
from ..metrics.comparison import subtract
from ..metrics.confidence import (
    difference_p_value,
    expanded_interval,
    least_replicates,
    what_is_too_few,
)
from .means import Mean, MeanReplicates


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
