"""Paired comparison of systems on the same trials.

Systems are compared by a bootstrap over speakers: replicates of one seed and one design draw the
same speakers for every system, so that what the systems share cancels out in the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .confidence import (
    BootstrapReplicates,
    Interval,
    difference_p_value,
    expanded_interval,
    speaker_bootstrap,
)
from .evaluation import Speakers, trial_sides
from .pav import FloatArray
from .registry import METRICS, score_metrics
from .trial_scores import TrialScores, Variant


@dataclass(frozen=True)
class Difference:
    """A metric of another system, and how much the first system's differs from it.

    Attributes
    ----------
    value : float
        The other system's.
    difference : float
        The first system's value minus the other's; 0 where both are the same infinity.
    interval : Interval
        95 % interval of the difference.
    p_value : float
        Two-sided, for the hypothesis of no difference.
    p_value_holm : float
        Adjusted by Holm's method for the number of other systems.
    """

    value: float
    difference: float
    interval: Interval
    p_value: float
    p_value_holm: float


@dataclass(frozen=True)
class Comparison:
    """A system compared with others on the same trials; a table when printed.

    Attributes
    ----------
    values : mapping of str to float
        The first system's, by key of `METRICS`.
    differences : tuple of mappings of str to Difference
        By key, for each other system.
    variant : str
    n_speakers : int
        Speakers with target trials.
    least_p_value : float
        The smallest p-value that this number of speakers and replicates can reach.
    """

    values: Mapping[str, float]
    differences: tuple[Mapping[str, Difference], ...]
    variant: Variant
    n_speakers: int
    least_p_value: float

    def to_rows(self, other: int = 0, keys: Iterable[str] | None = None) -> list[dict[str, str]]:
        """Format the comparison with one other system: a row per metric, or for those of `keys`."""
        rows = []
        for key in self.values if keys is None else keys:
            metric, difference = METRICS[key], self.differences[other][key]
            low, high = (
                metric.format(end, detailed=True)
                for end in (difference.interval.low, difference.interval.high)
            )
            row = {
                "metric": f"{metric.sentence}, {metric.printed_unit}".rstrip(", "),
                "value": metric.format(self.values[key], detailed=True),
                "other": metric.format(difference.value, detailed=True),
                "difference": metric.format(difference.difference, detailed=True),
                "95 % interval": f"[{low}, {high}]",
                "p": self._p_text(difference.p_value),
            }
            if len(self.differences) > 1:
                row["p (Holm)"] = self._p_text(difference.p_value_holm)
            rows.append(row)
        return rows

    def _p_text(self, p_value: float) -> str:
        # Rounded up: a bound must stay one.
        bound = "<= " if p_value <= self.least_p_value else ""
        return f"{bound}{np.ceil(1000 * p_value) / 1000:.3f}"

    def __repr__(self) -> str:
        from tabulate import tabulate

        tables = (
            tabulate(self.to_rows(number), headers="keys", disable_numparse=True)
            for number in range(len(self.differences))
        )
        return "\n\n".join((f"{self.n_speakers} speakers, variant {self.variant}", *tables))


def compare(
    first: tuple[ArrayLike, ArrayLike],
    *others: tuple[ArrayLike, ArrayLike],
    speakers: Speakers,
    variant: Variant = "exact",
    bootstrap: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare a system with others that scored the same trials.

    Parameters
    ----------
    first : pair of array_like, shapes (T,) and (N,)
        Target and nontarget scores, as of `evaluate`.
    *others : pairs of array_like, shapes (T,) and (N,)
        Those of each other system.
    speakers : pair of array_like
        Speaker of each target trial, shape (T,), and enrolled and trial speaker of each
        nontarget trial, shape (N, 2).
    variant : {"exact", "challenge"}
    bootstrap : int
        Replicates of the bootstrap over speakers.
    seed : int

    Returns
    -------
    Comparison

    Raises
    ------
    PrivacyEvalError
        As `evaluate`.
    ValueError
        No other system; another number of trials than speakers; fewer than 2 replicates.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure". Intervals and
    p-values: see `expanded_interval` and `difference_p_value`.

    Examples
    --------
    >>> own, others = ["a", "a", "b", "b"], [["a", "b"], ["a", "b"], ["b", "a"], ["b", "a"]]
    >>> result = compare(
    ...     ([3, 5, 7, 8], [1, 2, 4, 6]),
    ...     ([3, 5, 7, 8], [1, 2, 4, 2]),
    ...     speakers=(own, others),
    ...     bootstrap=20,
    ... )
    >>> result.differences[0]["rocch_eer"].value, result.differences[0]["rocch_eer"].difference
    (0.125, 0.125)
    """
    if not others:
        raise ValueError("nothing to compare with: pass the scores of another system")
    values, replicates = [], []
    for target, nontarget in (first, *others):
        scores = TrialScores(target, nontarget)
        counts = scores.n_target, scores.n_nontarget
        values.append(score_metrics(scores, variant=variant))
        drawn = speaker_bootstrap(
            np.append(target, nontarget),
            np.repeat([True, False], counts),
            *trial_sides(speakers, *counts),
            replicates=bootstrap,
            seed=seed,
        )
        replicates.append(drawn)
    return paired_comparison(values, replicates, variant)


def paired_comparison(
    values: Sequence[Mapping[str, float]],
    replicates: Sequence[BootstrapReplicates],
    variant: Variant,
) -> Comparison:
    """Compare the first system with the others, given their values and replicates.

    Parameters
    ----------
    values : sequence of mappings
        Metrics of each system by key.
    replicates : sequence of BootstrapReplicates
        Paired: of one design, seed and number.
    variant : {"exact", "challenge"}

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        Replicates that are not paired.
    """
    first, *others = replicates
    if any((r.design, r.seed) != (first.design, first.seed) for r in others):
        raise ValueError("replicates are not paired: they are of different trials or seeds")
    n_speakers = first.n_speakers
    by_system = [
        {
            key: _difference(
                values[0][key],
                values[number][key],
                first.values[f"{variant} {key}"],
                other.values[f"{variant} {key}"],
                n_speakers,
            )
            for key in values[0]
        }
        for number, other in enumerate(others, start=1)
    ]
    for key in values[0]:
        adjusted = holm([of_system[key].p_value for of_system in by_system])
        for of_system, p_value in zip(by_system, adjusted, strict=True):
            of_system[key] = replace(of_system[key], p_value_holm=p_value)
    size = next(iter(first.values.values())).size
    least = difference_p_value(np.ones(size), n_speakers)
    return Comparison(values[0], tuple(by_system), variant, n_speakers, least)


def _difference(
    value: float, other: float, drawn: ArrayLike, drawn_other: ArrayLike, n_speakers: int
) -> Difference:
    differences = subtract(drawn, drawn_other)
    p_value = difference_p_value(differences, n_speakers)
    return Difference(
        other,
        float(subtract(value, other)),
        expanded_interval(differences, n_speakers),
        p_value,
        p_value,
    )


def subtract(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Subtract values of a metric; two equal infinities do not differ.

    Parameters
    ----------
    first, second : array_like, equal shapes

    Returns
    -------
    float array

    Examples
    --------
    >>> subtract([np.inf, 2.0], [np.inf, 0.5])
    array([0. , 1.5])
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, a - b)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests by Holm's step-down method.

    Parameters
    ----------
    p_values : sequence of float

    Returns
    -------
    list of float
        In the same order, at most 1.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1)
    return [float(p) for p in adjusted]
