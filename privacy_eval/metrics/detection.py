"""Operating points: min DCF, as in the challenge's EER files, miss rates, and the DET curve.

The size of the curve is independent of the number of trials, and so is its time once scores are
sorted. Reference: Martin et al., "The DET curve" (1997).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .pav import FloatArray, IntArray
from .trial_scores import Replicates, TrialScores, Variant, check_scores


@dataclass(frozen=True)
class MinDcf:
    """Minimum detection cost, normalized by that of the best decision without scores.

    Attributes
    ----------
    value : float
        0 (perfect recognition) to 1 (scores are useless); `challenge` may exceed 1 for
        p_target > 0.5. Of `Replicates` an array.
    p_target : float
    n_target, n_nontarget : int
    variant : str
    """

    value: float
    p_target: float
    n_target: int
    n_nontarget: int
    variant: Variant


def min_dcf(
    scores: TrialScores | Replicates,
    p_target: float,
    *,
    c_miss: float = 1.0,
    c_fa: float = 1.0,
    variant: Variant = "exact",
) -> MinDcf:
    """Compute min over thresholds of p miss + (1-p) false alarm, over min(p, 1-p).

    The prior p is `effective_prior`, so that costs of errors count like a prior.

    Parameters
    ----------
    scores : TrialScores or Replicates
    p_target : float
        Prior of target trials, within 0 and 1.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, above 0.
    variant : {"exact", "challenge"}
        `exact`: thresholds between distinct scores, accept-all and reject-all included.
        `challenge`: a stable sort of the trials in file order and a threshold after every
        trial, so that ties count by their place in the file and accepting all is not a choice.

    Returns
    -------
    MinDcf

    Raises
    ------
    ValueError
        `p_target` or a cost out of range.

    Examples
    --------
    >>> min_dcf(TrialScores([1.0, 3.0], [0.0, 2.0]), p_target=0.5).value
    0.5
    """
    check_scores(scores, variant)
    prior = effective_prior(p_target, c_miss, c_fa)

    def cost(
        missed: IntArray, rejected: IntArray, n_target: IntArray, n_nontarget: IntArray
    ) -> FloatArray:
        false_alarm = 1 - rejected / n_nontarget
        return np.asarray(prior * (missed / n_target) + (1 - prior) * false_alarm)

    # The cost falls with every rejected nontarget and rises with every rejected
    # target: it is least just before a target, or where all is rejected.
    rows, sets = scores.threshold_rows, scores.threshold_sets
    missed, rejected = scores.targets_below[rows], scores.nontargets_below[rows]
    counts = scores.target_counts, scores.nontarget_counts
    costs = cost(missed, rejected, *map(sets.spread, counts))
    if variant == "challenge":
        costs[missed + rejected == 0] = np.inf
    least = np.minimum(np.minimum.reduceat(costs, sets.first), prior)
    if variant == "challenge":
        least = scores.least_within_ties(cost, least)
        # A threshold after the first trial, if that is a target: nothing else is rejected.
        one = cost(np.array(1), np.array(0), *counts)
        is_first = scores.nontargets_up_to[sets.first] == 0
        least = np.where(is_first, np.minimum(least, one), least)
    value = scores.each(least / min(prior, 1 - prior))
    return MinDcf(value, p_target, scores.n_target, scores.n_nontarget, variant)


def effective_prior(p_target: float, c_miss: float = 1.0, c_fa: float = 1.0) -> float:
    """Compute the prior that gives the same normalized costs of decisions where both errors cost 1.

    Parameters
    ----------
    p_target : float
        Prior of target trials, within 0 and 1.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, above 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        A value out of range.

    References
    ----------
    Brümmer and du Preez (2006), "Application-independent evaluation of speaker detection".

    Examples
    --------
    >>> effective_prior(0.01, c_miss=99)
    0.5
    """
    if not 0 < p_target < 1:
        raise ValueError(f"p_target must lie between 0 and 1, not {p_target}")
    if not (0 < c_miss < np.inf and 0 < c_fa < np.inf):
        raise ValueError(f"costs must be above 0, not {c_miss} and {c_fa}")
    if c_miss == c_fa:
        return p_target
    missed, accepted = c_miss * p_target, c_fa * (1 - p_target)
    return missed / (missed + accepted)


def miss_rate(scores: TrialScores | Replicates, *, false_alarm: float) -> float:
    """Compute the minimum miss rate of all thresholds within a limit of the false-alarm rate.

    Thresholds lie between distinct scores, so that equal scores are accepted or rejected together;
    nothing is interpolated. The number of false alarms that N nontargets allow is the integer part
    of N times the decimal fraction that is given.

    Parameters
    ----------
    scores : TrialScores or Replicates
    false_alarm : float
        From 0 to below 1.

    Returns
    -------
    float, or float array of shape (R,)
        0 to 1.

    Raises
    ------
    ValueError
        `false_alarm` out of range.

    Examples
    --------
    >>> miss_rate(TrialScores([1.0, 3.0], [0.0, 2.0]), false_alarm=0.5)
    0.0
    >>> miss_rate(TrialScores([1.0, 3.0], [0.0, 2.0]), false_alarm=0.01)
    0.5
    """
    check_scores(scores)
    if not 0 <= false_alarm < 1:
        raise ValueError(f"false_alarm must be 0 or more and below 1, not {false_alarm}")
    rate = Fraction(str(false_alarm))  # exact for any decimal fraction
    allowed = [int(rate * n) for n in scores.nontarget_counts.tolist()]
    rejected = scores.nontarget_counts - np.array(allowed)
    # A target is missed if fewer than `rejected` nontargets are below it.
    missed = scores.nontargets_below < scores.target_sets.spread(rejected)
    return scores.each(scores.target_sets.sums(missed.astype(np.int64)) / scores.target_counts)


_DET_BINS = 249


#: Rates at which bands about DET curves are computed: values of the normal distribution function,
#: computed without `scipy.special`, which every command would load.
BAND_FALSE_ALARM = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in np.linspace(-3.2, 3.2, 65)])


def det_curve(scores: TrialScores) -> tuple[FloatArray, FloatArray]:
    """Compute the DET curve in at most 500 operating points.

    Ties are pooled. Up to 500 corners of the curve are all kept. Of more, the curve is divided
    into 249 pieces of equal u = probit(miss) - probit(false alarm), which never falls, and the
    corners next to the cuts are kept: every other corner lies between two of them in both rates,
    and so within one piece's length (0.03 to 0.08 probits). Rates of 0 and 1 count as half a
    trial's in u.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    miss, false_alarm : float arrays, shape (P,)
        Rates at thresholds between distinct scores, from accepting all (0, 1) to rejecting
        all (1, 0): `miss` ascends, `false_alarm` descends.

    Examples
    --------
    >>> det_curve(TrialScores([1.0, 3.0], [0.0, 2.0]))
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([1. , 0.5, 0.5, 0. , 0. ]))
    """
    check_scores(scores)
    # A corner before and one after every target, and both ends. Those of tied targets
    # coincide.
    corners = 2 * scores.n_target + 2
    if corners > 2 * _DET_BINS + 2:
        first, last = _spread(scores, np.array([0, corners - 1]))
        cuts = np.linspace(first, last, _DET_BINS + 1)[1:-1]
        below: IntArray = np.zeros(cuts.size, dtype=np.int64)
        above: IntArray = np.full(cuts.size, corners - 1, dtype=np.int64)
        while np.any(above - below > 1):  # bisection for all cuts at once
            middle = (below + above) // 2
            reached = _spread(scores, middle) >= cuts
            above = np.where(reached, middle, above)
            below = np.where(reached, below, middle)
        corner = np.unique(np.concatenate([[0], below, above, [corners - 1]]))
    else:
        corner = np.arange(corners)
    missed, rejected = _errors(scores, corner)
    new = np.append(True, (np.diff(missed) != 0) | (np.diff(rejected) != 0))
    return missed[new] / scores.n_target, 1 - rejected[new] / scores.n_nontarget


def miss_rates(scores: TrialScores | Replicates, false_alarm: ArrayLike) -> FloatArray:
    """Compute the minimum miss rates of each set of trials under limits of the false-alarm rate.

    Parameters
    ----------
    scores : TrialScores or Replicates
    false_alarm : array_like, shape (P,)
        From 0 to below 1.

    Returns
    -------
    float array, shape (R, P)
        The DET curve of each set at these rates, from above.

    See Also
    --------
    miss_rate : a single one, where rounding counts.

    Examples
    --------
    >>> miss_rates(TrialScores([1.0, 3.0], [0.0, 2.0]), [0.5, 0.01])
    array([[0. , 0.5]])
    """
    check_scores(scores)
    sets, totals = scores.target_sets, scores.nontarget_counts[:, None]
    # A rate that is k/N up to rounding allows k false alarms.
    rejected = totals - (np.asarray(false_alarm) * totals * (1 + 1e-12)).astype(np.int64)
    # A target is missed if fewer than `rejected` nontargets are below it. Offsets keep the sets
    # apart, so that one search serves all.
    apart = np.arange(sets.first.size) * (totals.max() + 1)
    below = scores.nontargets_below + sets.spread(apart)
    missed = np.searchsorted(below, rejected + apart[:, None]) - sets.first[:, None]
    return np.asarray(missed / scores.target_counts[:, None])


def _errors(scores: TrialScores, corner: IntArray) -> tuple[IntArray, IntArray]:
    """Count missed targets and rejected nontargets at corners of the curve: 0 accepts all, the
    odd ones lie before a target and the even ones after it (within tied targets: before
    them), the last rejects all."""
    last = 2 * scores.n_target + 1
    trial = np.clip((corner - 1) // 2, 0, scores.n_target - 1)
    value = scores.target[trial]
    tied = scores.target[np.minimum(trial + 1, scores.n_target - 1)] == value
    before = (corner % 2 == 1) | (tied & (trial < scores.n_target - 1))
    counts = []
    for ascending in (scores.target, scores.nontarget):
        left = np.searchsorted(ascending, value, side="left")
        right = np.searchsorted(ascending, value, side="right")
        count = np.where(before, left, right)
        counts.append(np.where(corner == 0, 0, np.where(corner == last, ascending.size, count)))
    return counts[0], counts[1]


def _spread(scores: TrialScores, corner: IntArray) -> FloatArray:
    """Compute probit(miss) - probit(false alarm), rates clipped to half a trial from 0 and 1."""
    from scipy.special import ndtri  # slow to import

    missed, rejected = _errors(scores, corner)
    n_target, n_nontarget = scores.n_target, scores.n_nontarget
    miss = np.clip(missed, 0.5, n_target - 0.5) / n_target
    correct = np.clip(rejected, 0.5, n_nontarget - 0.5) / n_nontarget
    return np.asarray(ndtri(miss) + ndtri(correct), dtype=np.float64)
