"""Confidence intervals from a bootstrap over speakers.

A speaker takes part in many trials, on the enrollment and on the trial side, so trials are
far from independent: speakers are drawn, not trials.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from .pav import FloatArray, IntArray
from .trial_scores import TrialScores

Statistic = Callable[[TrialScores], Mapping[str, float]]


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of one metric.

    Attributes
    ----------
    low, high : float
        In the metric's unit.
    level : float
        Nominal coverage.
    replicates : int
        Number of bootstrap replicates.
    """

    low: float
    high: float
    level: float
    replicates: int


@dataclass(frozen=True, eq=False)
class BootstrapReplicates:
    """Metrics of bootstrap replicates.

    Two sets of trials of the same design, drawn with the same seed, have the same speakers in
    the same replicate: their values are paired.

    Attributes
    ----------
    values : mapping
        By metric: float64, shape (replicates,), in the order of the draws.
    n_speakers : int
        Speakers with target trials.
    design : str
        Digest of which speakers are compared and in how many trials.
    seed : int
    curves : float64 array, shape (replicates, P), or None
        Of the curve that was asked for.
    """

    values: Mapping[str, NDArray[np.float64]]
    n_speakers: int
    design: str
    seed: int
    curves: FloatArray | None = None

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Compute the expanded percentile interval of a metric."""
        return expanded_interval(self.values[name], self.n_speakers, level)

    def band(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Compute the expanded percentile intervals of the curve, point by point."""
        if self.curves is None:
            raise ValueError("the bootstrap was asked for no curve")
        tail = expanded_tail((1 - level) / 2, self.n_speakers)
        low, high = np.quantile(self.curves, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return low, high


def speaker_bootstrap(
    scores: ArrayLike,
    is_target: ArrayLike,
    enrolled_speaker: ArrayLike,
    trial_speaker: ArrayLike,
    *,
    statistic: Statistic,
    replicates: int,
    seed: int,
    curve: Callable[[TrialScores], FloatArray] | None = None,
) -> BootstrapReplicates:
    """Compute metrics under resampling of speakers on both sides of the trials.

    Every replicate draws speakers with replacement. One draw serves both sides, as the same
    people enroll and speak: a nontarget trial of speakers a and b counts (draws of a) x (draws
    of b) times, a target trial of a as often as a was drawn. Speakers on both sides, on the
    enrollment side only and on the trial side only are drawn separately, so that every replicate
    has as many of each.

    Metrics of calibrated scores (min Cllr, ZEBRA, linkability) are biased towards less privacy in
    a replicate, whose trials repeat: near chance their interval may not include the value.

    Parameters
    ----------
    scores : array_like, shape (P,)
    is_target : array_like of bool, shape (P,)
    enrolled_speaker, trial_speaker : array_like of str, shape (P,)
        Speakers of both sides of each trial.
    statistic : callable
        Metrics of one set of scores, by name.
    replicates : int
        At least 2; 1000 is usual.
    seed : int
        The same seed draws the same speakers for every condition that has the same, and
        independent ones where they differ: averages over conditions rely on both.
    curve : callable, optional
        Points of a curve of one set of scores: always as many.

    Returns
    -------
    BootstrapReplicates

    Raises
    ------
    PrivacyEvalError
        A target trial between two speakers or a nontarget trial within one; fewer than two
        speakers with target trials.
    ValueError
        Fewer than 2 replicates.
    TypeError
        `statistic` returns no mapping.

    References
    ----------
    Bootstrap of pairs by their members: Snijders & Borgatti (1999); Owen (2007). Percentiles
    for few units: Hesterberg (2015), see `expanded_tail`.

    Examples
    --------
    >>> from privacy_eval.metrics import rocch_eer
    >>> found = speaker_bootstrap(
    ...     [2.0, 0.0, 1.0, 3.0],
    ...     [True, False, False, True],
    ...     ["a", "a", "b", "b"],
    ...     ["a", "b", "a", "b"],
    ...     statistic=lambda scores: {"eer": rocch_eer(scores).value},
    ...     replicates=10,
    ...     seed=0,
    ... )
    >>> found.interval("eer").high
    0.0
    """
    if replicates < 2:
        raise ValueError(f"replicates must be at least 2, not {replicates}")
    trials = TrialScores.from_labels(scores, is_target)
    ascending, labels, order = trials.in_score_order
    names, enrolled, trial, strata = _speakers(
        np.asarray(enrolled_speaker)[order], np.asarray(trial_speaker)[order], labels
    )
    generator = seeded_by(seed, [names[members].tolist() for members in strata])
    values: dict[str, list[float]] = {}
    curves: list[FloatArray] = []
    done, presorted = 0, _Presorted(ascending, labels)
    draws = np.ones(names.size + 1, dtype=np.int64)  # the last one: always once
    other = np.where(labels, names.size, trial)  # a target trial is of one speaker
    while done < replicates:
        for members in strata:
            drawn = generator.integers(0, members.size, members.size)
            draws[members] = np.bincount(drawn, minlength=members.size)
        sample = _Replicate(presorted, draws[enrolled] * draws[other])
        if not sample.n_target or not sample.n_nontarget:
            continue  # no trial of a class is left: no statistic exists, draw again
        found = statistic(sample)
        if not isinstance(found, Mapping):
            raise TypeError(
                "statistic must return metrics by name, such as {'eer': 0.1}, not "
                f"{type(found).__name__}"
            )
        for name, value in found.items():
            values.setdefault(name, []).append(value)
        if curve is not None:
            curves.append(curve(sample))
        done += 1
    return BootstrapReplicates(
        values={name: np.array(of_samples) for name, of_samples in values.items()},
        n_speakers=int(np.unique(enrolled[labels]).size),
        design=_design(names, enrolled, trial),
        seed=seed,
        curves=np.array(curves) if curve is not None else None,
    )


class _Presorted:
    """All trials of a bootstrap in score order, and what every replicate asks of them."""

    def __init__(self, scores: NDArray[Any], is_target: NDArray[np.bool_]) -> None:
        self.scores, self.is_target = scores, is_target
        self.target_rows, self.nontarget_rows = (np.flatnonzero(r) for r in (is_target, ~is_target))
        self.target, self.nontarget = scores[self.target_rows], scores[self.nontarget_rows]
        self.below, self.up_to = (
            np.searchsorted(self.nontarget, self.target, side) for side in ("left", "right")
        )
        self.starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
        self.costs: dict[Callable[[FloatArray], FloatArray], FloatArray] = {}

    @cached_property
    def single(self) -> _Presorted:
        """The same in single precision."""
        with np.errstate(over="ignore"):
            return _Presorted(self.scores.astype(np.float32), self.is_target)


class _Replicate(TrialScores):
    """Trials that count several times or not at all: nontarget scores are counted, and repeated
    only for statistics that ask for them."""

    def __init__(self, of: _Presorted, times: IntArray) -> None:
        self._of, self._times = of, times
        self._target_times = times[of.target_rows]
        self._nontarget_times = times[of.nontarget_rows]
        self._ends = np.zeros(of.nontarget.size + 1, dtype=np.int64)
        np.cumsum(self._nontarget_times, out=self._ends[1:])
        self.target = np.repeat(of.target, self._target_times)

    @cached_property
    def nontarget(self) -> FloatArray:  # type: ignore[override]
        return np.repeat(self._of.nontarget, self._nontarget_times)

    @cached_property
    def _in_file(self) -> tuple[FloatArray, NDArray[np.bool_]]:  # type: ignore[override]
        repeated = (np.repeat(x, self._times) for x in (self._of.scores, self._of.is_target))
        return next(repeated), next(repeated)

    @property
    def n_nontarget(self) -> int:
        return int(self._ends[-1])

    def nontarget_at(self, index: Any) -> Any:
        return self._of.nontarget[np.searchsorted(self._ends, index, side="right") - 1]

    def count_nontargets(self, values: ArrayLike, side: Literal["left", "right"]) -> IntArray:
        return self._ends[np.searchsorted(self._of.nontarget, values, side=side)]

    @cached_property
    def nontargets_below(self) -> IntArray:
        return np.repeat(self._ends[self._of.below], self._target_times)

    @cached_property
    def nontargets_up_to(self) -> IntArray:
        return np.repeat(self._ends[self._of.up_to], self._target_times)

    @cached_property
    def has_mixed_ties(self) -> bool:
        return not np.array_equal(self.nontargets_below, self.nontargets_up_to)

    @property
    def distinct(self) -> NDArray[Any]:
        of, times = self._of, self._times
        if of.starts.size < times.size:
            times = np.add.reduceat(times, of.starts)
        return of.scores[of.starts[times > 0]]

    @cached_property
    def single(self) -> TrialScores:
        return _Replicate(self._of.single, self._times)

    def mean_nontarget(self, cost: Callable[[FloatArray], FloatArray]) -> float:
        if cost not in self._of.costs:
            self._of.costs[cost] = cost(self._of.nontarget)
        costs, total = self._of.costs[cost], self.n_nontarget
        with np.errstate(over="ignore"):
            found = float(costs @ self._nontarget_times)
        # Costs near the largest float: the mean is finite where the sum is not.
        return (
            found / total
            if math.isfinite(found)
            else float(costs @ (self._nontarget_times / total))
        )


def expanded_interval(values: ArrayLike, n: int, level: float = 0.95) -> Interval:
    """Compute expanded percentiles of the replicates of n units.

    Parameters
    ----------
    values : array_like, shape (replicates,)
        Infinite values are legal and sort to the ends.
    n : int
        Number of units drawn.
    level : float
        Nominal coverage.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        `level` out of range.

    Examples
    --------
    >>> expanded_interval(np.arange(1000), n=1000).low
    24.0
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    replicates = np.asarray(values)
    tail = expanded_tail((1 - level) / 2, n)
    low, high = np.quantile(replicates, [tail, 1 - tail], method="inverted_cdf")
    return Interval(float(low), float(high), level, replicates.size)


def difference_p_value(differences: ArrayLike, n: int) -> float:
    """Compute the two-sided p-value of "no difference" from replicates of a difference.

    It is the smallest 1 - level at which the expanded interval excludes 0, and never less than
    what the number of replicates can resolve.

    Parameters
    ----------
    differences : array_like, shape (replicates,)
    n : int
        Number of units drawn.

    Returns
    -------
    float

    Examples
    --------
    >>> round(difference_p_value([1.0] * 970 + [-1.0] * 30, n=1000), 3)
    0.06
    """
    replicates = np.asarray(differences)
    beyond = min(int(np.sum(replicates <= 0)), int(np.sum(replicates >= 0)))
    fraction = min(max(beyond, 1) / replicates.size, 0.5)
    return float(
        2 * scipy.special.stdtr(n - 1, np.sqrt((n - 1) / n) * scipy.special.ndtri(fraction))
    )


def least_replicates(n: int, level: float = 0.95) -> float:
    """Compute how many replicates `difference_p_value` needs to fall below 1 - level.

    With fewer, `expanded_interval` is the whole range of the replicates, and too narrow.

    Parameters
    ----------
    n : int
        Number of units drawn.
    level : float

    Returns
    -------
    float
        A whole number; inf where it is no float.

    Examples
    --------
    >>> least_replicates(6), least_replicates(30)
    (412.0, 54.0)
    """
    tail = expanded_tail((1 - level) / 2, n)
    return math.floor(1 / tail) + 1.0 if tail > 1e-300 else math.inf


def expanded_tail(tail: float, n: int) -> float:
    """Compute the fraction to cut off each end of n units' bootstrap distribution.

    Resampling n units understates the spread of their mean by sqrt((n-1)/n), and a
    normal tail that of Student's t: Phi(sqrt(n/(n-1)) t_tail(n-1)) corrects both (the expanded
    percentile interval, Hesterberg 2015).

    Parameters
    ----------
    tail : float
        Nominal fraction.
    n : int

    Returns
    -------
    float

    Examples
    --------
    >>> round(expanded_tail(0.025, 20), 4)
    0.0159
    """
    return float(scipy.special.ndtr(np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, tail)))


def _speakers(
    enrolled: NDArray[np.str_], trial_speaker: NDArray[np.str_], is_target: NDArray[np.bool_]
) -> tuple[NDArray[np.str_], IntArray, IntArray, list[IntArray]]:
    """Enumerate the speakers of both sides by name, and group those drawn together."""
    names, number = np.unique(np.concatenate([enrolled, trial_speaker]), return_inverse=True)
    first, second = number[: enrolled.size], number[enrolled.size :]
    wrong = np.flatnonzero((first == second) != is_target)
    if wrong.size:
        row = int(wrong[0])
        raise PrivacyEvalError(
            f"labels of {wrong.size} trials contradict their speakers; the first: a "
            f"{'target' if is_target[row] else 'nontarget'} trial of enrolled speaker "
            f"{enrolled[row]} and trial speaker {trial_speaker[row]}"
        )
    role = np.zeros(names.size, dtype=np.int64)
    role[np.unique(first)] |= 1
    role[np.unique(second)] |= 2
    # Without a target trial a speaker is an impostor on either side.
    has_target = np.zeros(names.size, dtype=np.bool_)
    has_target[first[is_target]] = True
    role[has_target] |= 4
    if np.unique(first[is_target]).size < 2:
        raise PrivacyEvalError("a bootstrap over speakers needs target trials of two speakers")
    strata = [np.flatnonzero(role == r).astype(np.int64) for r in np.unique(role)]
    return names, first.astype(np.int64), second.astype(np.int64), strata


def _design(names: NDArray[np.str_], enrolled: IntArray, trial: IntArray) -> str:
    pairs, trials = np.unique(enrolled * names.size + trial, return_counts=True)
    first, second = names[pairs // names.size], names[pairs % names.size]
    return text_digest([first.tolist(), second.tolist(), trials.tolist()])


def seeded_by(seed: int, people: list[list[str]]) -> np.random.Generator:
    """Make the random numbers that the same speakers and seed always draw.

    Parameters
    ----------
    seed : int
    people : list of lists of str
        Names of those drawn together.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> draws = [seeded_by(0, [["a", "b"]]).integers(100) for _ in range(2)]
    >>> bool(draws[0] == draws[1])
    True
    """
    return np.random.default_rng([seed, int(text_digest(people), 16)])


def text_digest(plain: list[Any]) -> str:
    """Compute the SHA-256 of names and numbers.

    Parameters
    ----------
    plain : list
        Of plain values.

    Returns
    -------
    str
        Hexadecimal.

    Examples
    --------
    >>> len(text_digest(["a", 1]))
    64
    """
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
