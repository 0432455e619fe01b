"""Confidence intervals from a bootstrap over speakers, and how wide they will be.

A speaker takes part in many trials, on the enrollment and on the trial side, so trials are
far from independent: speakers are drawn, not trials.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..choices import MOST_REPLICATES
from ..errors import PrivacyEvalError
from .detection import miss_rates
from .pav import FloatArray, IntArray
from .registry import replicate_metrics
from .trial_scores import BoolArray, Replicates, TrialScores
from .trials import Trials

Statistic = Callable[[TrialScores], Mapping[str, float]]

# Trials of replicates computed at a time; they fit in the cache of a processor.
_TRIALS_AT_ONCE = 1 << 20


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
    curves : float64 array, shape (replicates, Q), or None
        Miss rates at the false-alarm rates that were asked for.
    """

    values: Mapping[str, NDArray[np.float64]]
    n_speakers: int
    design: str
    seed: int
    curves: FloatArray | None = None

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Compute the expanded percentile interval of a metric."""
        return expanded_interval(self.values[name], self.n_speakers, level)

    def above(self, others: BootstrapReplicates, name: str) -> tuple[float, float] | None:
        """Compute the 95 % bounds of a metric minus that of others; None unless of enough of the
        same draws."""
        one, other = self.values[name], others.values[name]
        draws = ((r.design, r.seed, r.n_speakers) for r in (self, others))
        is_paired = len({*draws}) == 1 and one.shape == other.shape
        return paired_bounds(one, other, self.n_speakers) if is_paired else None

    def band(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Compute the expanded percentile intervals of the curve, point by point."""
        if self.curves is None:
            raise ValueError("no DET curves: pass det_at to speaker_bootstrap")
        return _expanded_bounds(self.curves, self.n_speakers, level)


def speaker_bootstrap(
    trials: Trials,
    *,
    statistic: Statistic | None = None,
    replicates: int,
    seed: int,
    det_at: ArrayLike | None = None,
    metrics: Collection[str] | None = None,
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
    trials : Trials
        With scores, labels and the speakers of both sides.
    statistic : callable, optional
        Metrics of one set of scores, by name. By default every metric in both variants, named
        such as "exact eer", of many replicates at once: several times faster than one by one,
        and equal to that up to 1e-12.
    replicates : int
        At least 2; 1000 is usual.
    seed : int
        The same seed gives the same draws for conditions with the same speakers, and independent
        draws for different speakers: averages over conditions rely on both.
    det_at : array_like, shape (Q,), optional
        False-alarm rates at which the DET curve of every replicate is computed.
    metrics : collection of str, optional
        Only these of the default statistic, by names such as "exact eer".

    Returns
    -------
    BootstrapReplicates

    Raises
    ------
    PrivacyEvalError
        Speakers that are not known; a target trial between two speakers or a nontarget trial
        within one; fewer than two speakers with target trials.
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
    >>> trials = Trials(
    ...     score=[2.0, 0.0, 1.0, 3.0],
    ...     label=[True, False, False, True],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> eer = lambda scores: {"eer": rocch_eer(scores).value}
    >>> bootstrap = speaker_bootstrap(trials, statistic=eer, replicates=10, seed=0)
    >>> bootstrap.interval("eer").high
    0.0
    """
    if replicates < 2:
        raise ValueError(f"replicates must be at least 2, not {replicates}")
    trials = Trials.of(trials)
    scores = trials.scores
    _, labels, order = scores.in_score_order
    names, sides, strata = _speakers(trials.counted)
    enrolled, trial = (side[order] for side in sides)
    pair, times_of = pairs_of_speakers((enrolled, trial), labels, names.size)
    generator = seeded_by(seed, [names[members].tolist() for members in strata])
    values: list[Mapping[str, ArrayLike]] = []
    curves: list[FloatArray] = []
    done, at_once = 0, max(_TRIALS_AT_ONCE // labels.size, 1)
    while done < replicates:
        draws = np.ones((min(at_once, replicates - done), names.size + 1), dtype=np.int64)
        for draw in draws:
            for members in strata:
                drawn = generator.integers(0, members.size, members.size)
                draw[members] = np.bincount(drawn, minlength=members.size)
        if (times := times_of(draws)).size:
            sample = Replicates(scores, pair, times)
            values += (
                [replicate_metrics(sample, metrics)]
                if statistic is None
                else [_by_name(statistic(one)) for one in sample]
            )
            curves += [] if det_at is None else [miss_rates(sample, det_at)]
            done += len(times)
    return BootstrapReplicates(
        values={name: np.hstack([sample[name] for sample in values]) for name in values[0]},
        n_speakers=int(np.unique(enrolled[labels]).size),
        design=_design(names, enrolled, trial),
        seed=seed,
        curves=np.concatenate(curves) if curves else None,
    )


def pairs_of_speakers(
    sides: Iterable[IntArray], labels: BoolArray, n: int
) -> tuple[IntArray, Callable[[IntArray], IntArray]]:
    """Find the pairs of speakers of trials: all trials of one count equally often in a replicate.

    Parameters
    ----------
    sides : int arrays, shape (P,)
        Numbers of the enrolled and of the trial speakers, below n.
    labels : bool array, shape (P,)
        True for target trials: they count as often as their speaker was drawn.
    n : int

    Returns
    -------
    pair : int array, shape (P,)
        Of each trial.
    times_of : callable
        From draws of speakers, shape (R, n + 1), the last of which is 1, to how often the trials
        of each pair count; replicates without a trial of a class are left out.

    Examples
    --------
    >>> sides = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> pair, times_of = pairs_of_speakers(sides, np.array([True, False, True]), 2)
    >>> pair, times_of(np.array([[2, 1, 1], [2, 0, 1]]))
    (array([1, 0, 2]), array([[2, 2, 1]]))
    """
    enrolled, trial = sides
    # Target trials involve one speaker: pair it with a dummy, the last index.
    pairs, pair = np.unique(enrolled * (n + 1) + np.where(labels, n, trial), return_inverse=True)
    first, second = np.divmod(pairs, n + 1)
    own = second == n

    def times_of(draws: IntArray) -> IntArray:
        times = draws[:, first] * draws[:, second]
        return np.asarray(times[times[:, own].any(axis=1) & times[:, ~own].any(axis=1)])

    return pair, times_of


def expanded_interval(values: ArrayLike, n: int, level: float = 0.95) -> Interval:
    """Compute expanded percentiles of the replicates of n units.

    The bounds are the order statistics (R + 1) tail from either end of R replicates, as a new
    replicate falls below the k-th smallest with probability k / (R + 1).

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
    23.0
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    replicates = np.asarray(values)
    low, high = _expanded_bounds(replicates, n, level)
    return Interval(float(low), float(high), level, replicates.size)


def _expanded_bounds(replicates: FloatArray, n: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Compute the bounds along the first axis; the whole range if the replicates are too few."""
    ordered = np.sort(replicates, axis=0)
    expanded = (len(ordered) + 1) * expanded_tail((1 - level) / 2, n)
    beyond = max(math.ceil(expanded) - 2, 0)
    return ordered[beyond], ordered[-1 - beyond]


def difference_p_value(differences: ArrayLike, n: int) -> float:
    """Compute the two-sided p-value of "no difference" from replicates of a difference.

    It is the smallest 1 - level at which the expanded interval excludes 0, from the fraction
    (b + 1) / (R + 1), where b of R replicates are on the other side of 0: b / R would reject too
    often, the more so with few replicates, and could be 0.

    Parameters
    ----------
    differences : array_like, shape (replicates,)
    n : int
        Number of units drawn.

    Returns
    -------
    float

    References
    ----------
    Davison & Hinkley (1997), "Bootstrap Methods and their Application"; Phipson & Smyth (2010),
    "Permutation P-values should never be zero".

    Examples
    --------
    >>> round(difference_p_value([1.0] * 970 + [-1.0] * 29, n=1000), 3)
    0.06
    """
    from scipy.special import ndtri, stdtr  # slow to import

    replicates = np.asarray(differences)
    beyond = min(int(np.sum(replicates <= 0)), int(np.sum(replicates >= 0)))
    fraction = min((beyond + 1) / (replicates.size + 1), 0.5)
    return float(2 * stdtr(n - 1, np.sqrt((n - 1) / n) * ndtri(fraction)))


def least_replicates(n: int, level: float = 0.95, *, tests: int = 1) -> float:
    """Compute the fewest replicates with which `difference_p_value` can fall below 1 - level.

    With fewer, `expanded_interval` is the whole range of the replicates, and too narrow.

    Parameters
    ----------
    n : int
        Number of units drawn.
    level : float
    tests : int
        Number of tests that p-values are corrected for, as by Holm's method.

    Returns
    -------
    float
        A whole number; inf where it is no float.

    Examples
    --------
    >>> least_replicates(6), least_replicates(30), least_replicates(30, tests=21)
    (411.0, 53.0, 2820.0)
    """
    tail = expanded_tail((1 - level) / tests / 2, n)
    return float(math.floor(1 / tail)) if tail > 1e-300 else math.inf


def what_is_too_few(needed: float) -> str:
    """Tell what is too few where intervals need more bootstrap replicates.

    Parameters
    ----------
    needed : float
        As `least_replicates` gives it.

    Returns
    -------
    {"speakers", "replicates"}
        Speakers where no number of replicates that can be drawn is enough.

    Examples
    --------
    >>> what_is_too_few(least_replicates(2)), what_is_too_few(least_replicates(6))
    ('speakers', 'replicates')
    """
    return "speakers" if needed >= MOST_REPLICATES else "replicates"


def needed_for_tests(n: int, tests: int) -> str:
    """Say what a significant difference among several tests needs, by Holm's correction.

    Parameters
    ----------
    n : int
        Number of speakers.
    tests : int

    Returns
    -------
    str

    Examples
    --------
    >>> needed_for_tests(30, 21)
    'Significance among all 21 comparisons needs --bootstrap 2820 or more'
    """
    needed = least_replicates(n, tests=tests)
    remedy = f"needs --bootstrap {needed:.0f} or more"
    if what_is_too_few(needed) == "speakers":
        remedy = f"cannot be reached with {n} speakers: compare fewer, or more speakers"
    return f"Significance among all {tests} comparisons {remedy}"


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


def paired_bounds(
    first: ArrayLike, second: ArrayLike, n_speakers: int
) -> tuple[float, float] | None:
    """Compute the 95 % bounds of the difference of two values, from replicates of the same draws.

    Parameters
    ----------
    first, second : array_like, shape (replicates,)
        Bootstrap replicates of the values.
    n_speakers : int
        Number of speakers drawn.

    Returns
    -------
    tuple of float, or None
        Bounds of the first minus the second; None if the replicates are too few for 95 %.

    Examples
    --------
    >>> paired_bounds([0.5, 0.75] * 50, [0.25, 0.25] * 50, n_speakers=1000)
    (0.25, 0.5)
    >>> paired_bounds([0.5, 0.75], [0.25, 0.25], n_speakers=1000) is None
    True
    """
    differences = subtract(first, second)
    if n_speakers < 2 or differences.size < least_replicates(n_speakers):
        return None
    bounds = expanded_interval(differences, n_speakers)
    return bounds.low, bounds.high


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
    from scipy.special import ndtr, stdtrit  # slow to import

    return float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, tail)))


def _by_name(values: object) -> Mapping[str, float]:
    if isinstance(values, Mapping):
        return values
    kind = type(values).__name__
    raise TypeError(f"statistic must return metrics by name, such as {{'eer': 0.1}}, not {kind}")


def _speakers(
    trials: Trials,
) -> tuple[NDArray[np.str_], tuple[IntArray, IntArray], list[IntArray]]:
    """Enumerate the speakers of both sides by name, and group those that are drawn together."""
    of_names, is_target = trials.speakers, trials.is_target
    names = np.array(of_names[0].names)
    first, second = (side.codes.astype(np.int64) for side in of_names)
    role = np.zeros(names.size, dtype=np.int64)
    role[np.unique(first)] |= 1
    role[np.unique(second)] |= 2
    # A speaker without target trials is an impostor, on either side.
    has_target = np.zeros(names.size, dtype=np.bool_)
    has_target[first[is_target]] = True
    role[has_target] |= 4
    if np.unique(first[is_target]).size < 2:
        raise PrivacyEvalError("a bootstrap over speakers needs target trials of two speakers")
    strata = [np.flatnonzero(role == r).astype(np.int64) for r in np.unique(role)]
    return names, (first, second), strata


def _design(names: NDArray[np.str_], enrolled: IntArray, trial: IntArray) -> str:
    pairs, trials = np.unique(enrolled * names.size + trial, return_counts=True)
    first, second = names[pairs // names.size], names[pairs % names.size]
    return text_digest([first.tolist(), second.tolist(), trials.tolist()])


def seeded_by(seed: int, people: list[list[str]]) -> np.random.Generator:
    """Return a random generator determined by the seed and the speakers.

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
    """Return the SHA-256 of names and numbers.

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


#: Intra-speaker correlation of errors, from the bootstrap over speakers of 22 sets of scores (two
#: encoders, ignorant and lazy-informed, ten speakers with five trials each): median 0.6.
CORRELATION = 0.6


def anticipated_interval(
    eer: float, speakers: int, trials: float, *, level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval that an EER will have, roughly, from the numbers of a trial design.

    The variance is eer (1 - eer) / (m (S - 1)) of S speakers with m effective decisions each,
    m = 4 n / (1 + (n - 1) r) of n target trials with the correlation r = 0.6; the factor 4, as the
    EER is the mean of two error rates of which that of nontargets is far more precise. The interval
    is that of Student's t with S - 1 degrees of freedom.

    Parameters
    ----------
    eer : float
        Fraction, 0 to 1.
    speakers : int
        At least 2.
    trials : float
        Target trials per speaker, at least 1.
    level : float
        Coverage.

    Returns
    -------
    tuple of two floats
        Fractions, within 0 and 1.

    Raises
    ------
    ValueError
        A parameter out of its range.

    References
    ----------
    Kish (1965), Survey Sampling, section 5.4: design effect of clusters.

    Examples
    --------
    >>> [round(end, 2) for end in anticipated_interval(0.2, 10, 5)]
    [0.08, 0.32]
    >>> [round(end, 2) for end in anticipated_interval(0.2, 40, 5)]
    [0.15, 0.25]
    """
    from scipy.special import stdtrit  # slow to import

    if not (0 <= eer <= 1 and speakers > 1 and trials >= 1 and 0 < level < 1):
        raise ValueError(f"eer {eer}, speakers {speakers}, trials {trials}, level {level}")
    decisions = 4 * trials / (1 + (trials - 1) * CORRELATION)
    deviation = math.sqrt(eer * (1 - eer) / (decisions * (speakers - 1)))
    half = float(stdtrit(speakers - 1, (1 + level) / 2)) * deviation
    return max(0.0, eer - half), min(1.0, eer + half)
