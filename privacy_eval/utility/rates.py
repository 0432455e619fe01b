"""Rates of groups of speakers, and differences of two systems.

Rates are fractions. Intervals are over speakers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..metrics.arguments import as_array
from ..metrics.confidence import difference_p_value, expanded_interval
from ..metrics.strata import MIN_TESTED
from ..metrics.utility import GroupRate, SpeakerSums, ratio_bootstrap


def group_rates(sums: SpeakerSums, group_of: Mapping[str, str]) -> dict[str, GroupRate]:
    """Compute the rate of each group of speakers.

    Parameters
    ----------
    sums : SpeakerSums
        Of all speakers; without replicates, groups have no intervals.
    group_of : mapping of str to str
        Groups of speakers; others have none.

    Returns
    -------
    dict of str to GroupRate
        Sorted by name.

    Examples
    --------
    >>> sums = SpeakerSums(("a", "b", "c"), (10, 30, 0), (1, 3, 0), replicates=0, seed=0)
    >>> group_rates(sums, {"a": "us", "b": "us", "c": "uk"})["us"]
    GroupRate(rate=0.1, count=40, n_speakers=2, interval=())
    """
    rates = {}
    for group in sorted({group_of[s] for s in sums.speakers if s in group_of}):
        at = [i for i, s in enumerate(sums.speakers) if group_of.get(s) == group]
        own = replace(
            sums,
            speakers=tuple(sums.speakers[i] for i in at),
            counts=tuple(sums.counts[i] for i in at),
            sums=tuple(sums.sums[i] for i in at),
        )
        count, n_speakers = sum(own.counts), sum(n > 0 for n in own.counts)
        bounds: tuple[float, ...] = ()
        if own.replicates and n_speakers >= MIN_TESTED:
            drawn = own.bootstrap().interval("rate")
            bounds = drawn.low, drawn.high
        rates[group] = GroupRate(own.rate if count else None, count, n_speakers, bounds)
    return rates


def rate_difference(
    counts: ArrayLike, sums: ArrayLike, *, speakers: Sequence[str], replicates: int, seed: int
) -> dict[str, Any]:
    """Compare the rates or means of two systems by a paired bootstrap over speakers.

    Parameters
    ----------
    counts : array_like of int, shape (2, S)
        Words, phones or utterances of each speaker, by system.
    sums : array_like, shape (2, S)
        Errors, or sums of values, of each speaker, by system.
    speakers : sequence of str
        Distinct names.
    replicates : int
        At least 2; 1000 is usual.
    seed : int

    Returns
    -------
    dict
        `difference`, the second system's minus the first's; `interval`, over speakers; `p_value`,
        two-sided, for the null hypothesis of no difference.

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers with counts.

    Examples
    --------
    >>> options = {"speakers": ["a", "b"], "replicates": 100, "seed": 0}
    >>> rate_difference([[1, 1], [1, 1]], [[3.0, 4.0], [2.5, 3.5]], **options)["difference"]
    -0.5
    """
    of_systems = as_array(counts, "counts", np.int64), as_array(sums, "sums", np.float64)
    drawn = ratio_bootstrap(
        *of_systems, name="rate", speakers=speakers, replicates=replicates, seed=seed
    )
    first, second = (
        math.fsum(row) / int(count.sum()) for count, row in zip(*of_systems, strict=True)
    )
    differences = drawn.values["rate 1"] - drawn.values["rate 0"]
    return {
        "difference": second - first,
        "interval": expanded_interval(differences, drawn.n_speakers),
        "p_value": difference_p_value(differences, drawn.n_speakers),
    }
