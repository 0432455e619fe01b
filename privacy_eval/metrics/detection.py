"""Operating points: min DCF, as in the challenge's EER files, and miss rates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

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
