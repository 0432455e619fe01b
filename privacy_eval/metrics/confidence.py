"""Confidence intervals that respect what trials share: their speakers.

A speaker has part in many trials, as the enrolled one and as the one who speaks,
so trials are far from independent. The bootstrap here draws speakers, not trials.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from .pav import IntArray
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
        How many resamplings it is taken from.
    """

    low: float
    high: float
    level: float
    replicates: int


@dataclass(frozen=True, eq=False)
class Resamples:
    """Metrics of resampled trials, one value per replicate.

    Two sets of trials of the same design, resampled with the same seed, hold the same
    speakers in the same replicate: their values are paired.

    Attributes
    ----------
    values : mapping
        By metric: float64, shape (replicates,), in the order of the draws.
    n_speakers : int
        Speakers with target trials.
    design : str
        Digest of which speakers are compared and in how many trials.
    seed : int
    """

    values: Mapping[str, NDArray[np.float64]]
    n_speakers: int
    design: str
    seed: int

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Expanded percentile interval of a metric."""
        return expanded_interval(self.values[name], self.n_speakers, level)


def speaker_bootstrap(
    scores: ArrayLike,
    is_target: ArrayLike,
    enrolled_speaker: ArrayLike,
    trial_speaker: ArrayLike,
    *,
    statistic: Statistic,
    replicates: int,
    seed: int,
    level: float = 0.95,
) -> dict[str, Interval]:
    """Expanded percentile intervals under resampling of speakers on both sides of the trials.

    Parameters
    ----------
    scores, is_target, enrolled_speaker, trial_speaker, statistic, replicates, seed
        As in `resample_speakers`.
    level : float
        Nominal coverage.

    References
    ----------
    Percentiles for few units: Hesterberg (2015), see `expanded_tail`.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    resamples = resample_speakers(
        scores,
        is_target,
        enrolled_speaker,
        trial_speaker,
        statistic=statistic,
        replicates=replicates,
        seed=seed,
    )
    return {name: resamples.interval(name, level) for name in resamples.values}


def resample_speakers(
    scores: ArrayLike,
    is_target: ArrayLike,
    enrolled_speaker: ArrayLike,
    trial_speaker: ArrayLike,
    *,
    statistic: Statistic,
    replicates: int,
    seed: int,
) -> Resamples:
    """Metrics under resampling of speakers on both sides of the trials.

    Every replicate draws speakers with replacement. One draw serves both sides, as
    it is the same people who enrol and who speak: a nontarget trial of speakers a
    and b counts (draws of a) x (draws of b) times, a target trial of a as often as
    a was drawn. Speakers who stand on both sides, only among the enrolled, or only
    among the trials are drawn apart, so that the design keeps its numbers.

    Metrics of calibrated scores (min Cllr, ZEBRA, linkability) see a little more
    evidence in a resample, whose trials repeat, than in the trials themselves: near
    chance their interval may lie wholly on the less private side of the value.

    Parameters
    ----------
    scores : array_like, shape (P,)
    is_target : array_like of bool, shape (P,)
    enrolled_speaker, trial_speaker : array_like of str, shape (P,)
        Who is enrolled and who speaks in each trial.
    statistic : callable
        Metrics of one set of scores, by name.
    replicates : int
        Number of resamplings, at least 2; 1000 is usual.
    seed : int
        The same seed draws the same speakers for every condition that has the same, and
        independent ones where they are others: averages over conditions rely on both.

    Raises
    ------
    PrivacyEvalError
        A target trial between two speakers or a nontarget trial within one; fewer
        than two speakers with target trials.

    References
    ----------
    Bootstrap of pairs by their members: Snijders & Borgatti (1999); Owen (2007).
    """
    if replicates < 2:
        raise ValueError(f"replicates must be at least 2, not {replicates}")
    trials = TrialScores.from_labels(scores, is_target)
    ascending, labels, order = trials.in_score_order
    names, enrolled, speaking, strata = _speakers(
        np.asarray(enrolled_speaker)[order], np.asarray(trial_speaker)[order], labels
    )
    people = _digest([names[members].tolist() for members in strata])
    generator = np.random.default_rng([seed, int(people, 16)])
    values: dict[str, list[float]] = {}
    done = 0
    while done < replicates:
        draws = np.zeros(sum(s.size for s in strata), dtype=np.int64)
        for members in strata:
            drawn = generator.integers(0, members.size, members.size)
            draws[members] = np.bincount(drawn, minlength=members.size)
        times = np.where(labels, draws[enrolled], draws[enrolled] * draws[speaking])
        if not times[labels].any() or not times[~labels].any():
            continue  # all trials of a class gone: no statistic exists, draw again
        sample = TrialScores.from_sorted_labels(
            np.repeat(ascending, times), np.repeat(labels, times)
        )
        for name, value in statistic(sample).items():
            values.setdefault(name, []).append(value)
        done += 1
    return Resamples(
        values={name: np.array(of_samples) for name, of_samples in values.items()},
        n_speakers=int(np.unique(enrolled[labels]).size),
        design=_design(names, enrolled, speaking),
        seed=seed,
    )


def expanded_interval(values: ArrayLike, n: int, level: float = 0.95) -> Interval:
    """Expanded percentiles of the replicates of n units; infinite values are legal and
    sort to the end."""
    replicates = np.asarray(values)
    tail = expanded_tail((1 - level) / 2, n)
    low, high = np.quantile(replicates, [tail, 1 - tail], method="inverted_cdf")
    return Interval(float(low), float(high), level, replicates.size)


def difference_p_value(differences: ArrayLike, n: int) -> float:
    """Two-sided p-value of "no difference" from replicates of a difference of n units.

    It is the smallest 1 - level at which the expanded interval leaves 0 out, and never
    less than what the number of replicates can tell.

    Examples
    --------
    >>> round(difference_p_value([1.0] * 970 + [-1.0] * 30, n=1000), 3)
    0.06
    """
    replicates = np.asarray(differences)
    beyond = min(int(np.sum(replicates <= 0)), int(np.sum(replicates >= 0)))
    share = min(max(beyond, 1) / replicates.size, 0.5)
    return float(2 * scipy.special.stdtr(n - 1, np.sqrt((n - 1) / n) * scipy.special.ndtri(share)))


def expanded_tail(tail: float, n: int) -> float:
    """Share to cut off each end of n units' bootstrap distribution for a nominal one.

    Resampling n units understates the spread of their mean by sqrt((n-1)/n), and a
    normal tail that of Student's t: Phi(sqrt(n/(n-1)) t_tail(n-1)) makes up for both
    (the expanded percentile interval, Hesterberg 2015).

    Examples
    --------
    >>> round(expanded_tail(0.025, 20), 4)
    0.0159
    """
    return float(scipy.special.ndtr(np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, tail)))


def _speakers(
    enrolled: NDArray[np.str_], speaking: NDArray[np.str_], is_target: NDArray[np.bool_]
) -> tuple[NDArray[np.str_], IntArray, IntArray, list[IntArray]]:
    """Names of the speakers, both sides as numbers of names, and which are drawn together."""
    names, number = np.unique(np.concatenate([enrolled, speaking]), return_inverse=True)
    first, second = number[: enrolled.size], number[enrolled.size :]
    wrong = np.flatnonzero((first == second) != is_target)
    if wrong.size:
        row = int(wrong[0])
        raise PrivacyEvalError(
            f"{wrong.size} trials contradict their speakers; the first is a "
            f"{'target' if is_target[row] else 'nontarget'} trial of enrolled speaker "
            f"{enrolled[row]} and trial speaker {speaking[row]}"
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


def _design(names: NDArray[np.str_], enrolled: IntArray, speaking: IntArray) -> str:
    pairs, trials = np.unique(enrolled * names.size + speaking, return_counts=True)
    first, second = names[pairs // names.size], names[pairs % names.size]
    return _digest([first.tolist(), second.tolist(), trials.tolist()])


def _digest(plain: list[Any]) -> str:
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
