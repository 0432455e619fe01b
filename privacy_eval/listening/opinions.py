"""Mean opinion scores, with intervals over listeners and speakers.

Both factors are crossed. Ratings of one listener are alike, as are those of one speaker, so that an
interval that takes ratings for independent is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..metrics.arguments import as_array, as_names
from ..metrics.pav import FloatArray


@dataclass(frozen=True)
class OpinionEstimate:
    """A mean opinion score, or the difference of two.

    Attributes
    ----------
    value : float
        On the scale of the ratings.
    low, high : float or None
        95 % interval; None with fewer than two listeners or speakers, and without variation.
    p_value : float or None
        Two-sided, for the hypothesis that the value is 0.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None


#: Ratings, and the listener and speaker of each.
Sample = tuple[ArrayLike, ArrayLike, ArrayLike]


def mean_opinion(ratings: ArrayLike, listeners: ArrayLike, speakers: ArrayLike) -> OpinionEstimate:
    """Compute the mean of ratings with its interval over listeners and speakers.

    Parameters
    ----------
    ratings : array_like, shape (R,)
        At least one.
    listeners, speakers : array_like, shape (R,)
        Listener and rated speaker of each rating.

    Returns
    -------
    OpinionEstimate

    Raises
    ------
    ValueError
        No ratings; arrays of different lengths.

    References
    ----------
    The variance is clustered two ways: that over listeners plus that over speakers minus that over
    their pairs, each with the factor G / (G - 1) for G clusters, and at least the larger of the
    first two; the interval is Student's with the smaller G minus 1 degrees of freedom. Cameron,
    Gelbach and Miller (2011), "Robust inference with multiway clustering".

    Examples
    --------
    >>> estimate = mean_opinion([8, 6, 7, 5], ["ann", "ann", "bob", "bob"], ["s", "t", "s", "t"])
    >>> estimate.value, round(estimate.high - estimate.low, 1)
    (6.5, 25.4)
    """
    sample = _checked((ratings, listeners, speakers))
    return _estimate(float(sample[0].mean()), *_influence([sample]))


def opinion_difference(first: Sample, second: Sample) -> OpinionEstimate:
    """Compute the difference of two systems' mean opinion scores, first minus second.

    Systems that the same listeners rated, or of the same speakers, are compared in pairs: what they
    share cancels out.

    Parameters
    ----------
    first, second : (ratings, listeners, speakers)
        Of each system, as of `mean_opinion`.

    Returns
    -------
    OpinionEstimate

    Raises
    ------
    ValueError
        As `mean_opinion`.

    References
    ----------
    As of `mean_opinion`.

    Examples
    --------
    >>> pairs = ["ann", "ann", "bob", "bob"], ["s", "t", "s", "t"]
    >>> estimate = opinion_difference(([8, 6, 7, 5], *pairs), ([5, 4, 4, 2], *pairs))
    >>> estimate.value, round(estimate.p_value, 2)
    (2.75, 0.06)
    """
    samples = [_checked(sample) for sample in (first, second)]
    means = [float(values.mean()) for values, *_ in samples]
    return _estimate(means[0] - means[1], *_influence(samples))


def rating_variances(first: Sample, second: Sample | None = None) -> tuple[float, float, float]:
    """Compute variances over listeners, over speakers, and within pairs of both, by moments.

    Parameters
    ----------
    first, second : (ratings, listeners, speakers)
        Of a system, or of two as many ratings: then of their difference.

    Returns
    -------
    tuple of float
        Nonnegative. The mean of L listeners, S speakers and R ratings has the variance first / L +
        second / S + third / R. All are 0 with fewer than two listeners or speakers.

    References
    ----------
    The variances of `mean_opinion`, v_L over listeners, v_S over speakers and v_P over their P
    pairs, solved for those of effects: v_P is (first + second) / P + third / R, and v_L the same
    with first / L.

    Examples
    --------
    >>> pairs = ["ann", "ann", "bob", "bob"], ["s", "t", "s", "t"]
    >>> [round(v, 9) for v in rating_variances(([8, 2, 4, 4], *pairs))]
    [0.0, 2.666666667, 3.666666667]
    """
    samples = [_checked(sample) for sample in (first, second) if sample is not None]
    influence, units = _influence(samples)
    counts, (*factors, of_pairs) = _clustered(influence, units)
    ratings = influence.size / len(samples)
    pairs = min(np.unique(np.stack(units), axis=1).shape[1], ratings)
    listeners, speakers = (
        max(of - of_pairs, 0.0) / (1 / n - 1 / pairs) if 1 < n < pairs else 0.0
        for n, of in zip(counts, factors, strict=True)
    )
    rest = ratings * max(of_pairs - (listeners + speakers) / pairs, 0.0)
    return (listeners, speakers, rest) if min(counts) > 1 else (0.0, 0.0, 0.0)


def _influence(
    samples: Sequence[tuple[FloatArray, NDArray[np.str_], NDArray[np.str_]]],
) -> tuple[FloatArray, list[NDArray[np.str_]]]:
    """Compute each rating's influence on the mean, or on the difference, with listeners and
    speakers."""
    influence = [
        sign * (values - values.mean()) / values.size
        for sign, (values, *_) in zip((1, -1), samples, strict=False)
    ]
    units = [np.concatenate([sample[factor] for sample in samples]) for factor in (1, 2)]
    return np.concatenate(influence), units


def _checked(sample: Sample) -> tuple[FloatArray, NDArray[np.str_], NDArray[np.str_]]:
    values = as_array(sample[0], "ratings", np.float64)
    listeners, speakers = (as_names(units, "listeners or speakers") for units in sample[1:])
    if not values.size or not values.shape == listeners.shape == speakers.shape:
        raise ValueError(
            f"expected ratings with their listeners and speakers, found arrays of shapes "
            f"{values.shape}, {listeners.shape} and {speakers.shape}"
        )
    return values, listeners, speakers


def _estimate(
    value: float, influence: FloatArray, units: list[NDArray[np.str_]]
) -> OpinionEstimate:
    """Add interval and p-value, given each rating's influence on the value."""
    counts, (of_listeners, of_speakers, of_pairs) = _clustered(influence, units)
    if min(counts) < 2:
        return OpinionEstimate(value)
    variance = max(of_listeners + of_speakers - of_pairs, of_listeners, of_speakers)
    if not variance > 1e-24 * max(value * value, 1):  # but for rounding, all are equal
        return OpinionEstimate(value)
    from scipy import special  # slow to import

    error, freedom = math.sqrt(variance), min(counts) - 1
    half = float(special.stdtrit(freedom, 0.975)) * error
    p_value = 2 * float(special.stdtr(freedom, -abs(value) / error))
    return OpinionEstimate(value, value - half, value + half, p_value)


def _clustered(
    influence: FloatArray, units: list[NDArray[np.str_]]
) -> tuple[list[int], tuple[float, ...]]:
    """Count listeners and speakers; compute the variances over them and over their pairs."""
    codes = [np.unique(names, return_inverse=True)[1].reshape(-1) for names in units]
    counts = [int(code.max()) + 1 for code in codes]
    if min(counts) < 2:
        return counts, (0.0, 0.0, 0.0)
    pairs = np.unique(codes[0] * counts[1] + codes[1], return_inverse=True)[1].reshape(-1)
    return counts, tuple(_variance(influence, c) for c in (*codes, pairs))


def _variance(influence: FloatArray, cluster: NDArray[np.int64]) -> float:
    """Compute the variance of the sum of influences, independent between clusters."""
    sums = np.bincount(cluster, influence)
    return float(sums.size / (sums.size - 1) * (sums**2).sum())
