"""Operating points: min DCF, as the challenge's EER files carry it, and miss rates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .pav import IntArray
from .trial_scores import TrialScores, Variant, check_scores, check_variant


@dataclass(frozen=True)
class MinDcf:
    """Minimum detection cost, normalized by that of the best decision without scores.

    Attributes
    ----------
    value : float
        0 (perfect recognition) to 1 (scores are useless); `challenge` may exceed 1 for
        p_target > 0.5.
    p_target : float
    n_target, n_nontarget : int
    variant : str
    """

    value: float
    p_target: float
    n_target: int
    n_nontarget: int
    variant: Variant


def min_dcf(scores: TrialScores, *, p_target: float, variant: Variant = "exact") -> MinDcf:
    """Compute min over thresholds of p miss + (1-p) false alarm, over min(p, 1-p); costs are 1.

    Parameters
    ----------
    scores : TrialScores
    p_target : float
        Prior of target trials, within 0 and 1.
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
        `p_target` out of range.

    Examples
    --------
    >>> min_dcf(TrialScores([1.0, 3.0], [0.0, 2.0]), p_target=0.5).value
    0.5
    """
    check_scores(scores)
    check_variant(variant)
    if not 0 < p_target < 1:
        raise ValueError(f"p_target must lie between 0 and 1, not {p_target}")
    # The cost falls with every rejected nontarget and rises with every rejected
    # target: it is least just before a target, or where all is rejected.
    missed = scores.targets_below
    rejected = scores.nontargets_below
    if variant == "challenge":
        missed, rejected = _thresholds_after_trials(scores, missed, rejected)
    miss = np.append(missed, scores.n_target) / scores.n_target
    false_alarm = 1 - np.append(rejected, scores.n_nontarget) / scores.n_nontarget
    cost = p_target * miss + (1 - p_target) * false_alarm
    value = float(cost.min()) / min(p_target, 1 - p_target)
    return MinDcf(value, p_target, scores.n_target, scores.n_nontarget, variant)


def miss_rate(scores: TrialScores, *, false_alarm: float) -> float:
    """Compute the least miss rate of all thresholds with at most a false-alarm rate.

    Thresholds lie between distinct scores, so that equal scores are accepted or rejected together;
    nothing is interpolated. The number of false alarms that N nontargets allow is the integer part
    of N times the decimal fraction that is given.

    Parameters
    ----------
    scores : TrialScores
    false_alarm : float
        From 0 to below 1.

    Returns
    -------
    float
        0 to 1: what an attacker misses who may accuse so few wrongly.

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
    allowed = int(Fraction(str(false_alarm)) * scores.n_nontarget)
    highest_rejected = scores.nontarget_at(scores.n_nontarget - 1 - allowed)
    missed = np.searchsorted(scores.target, highest_rejected, side="right")
    return float(missed / scores.n_target)


def _thresholds_after_trials(
    scores: TrialScores, missed: IntArray, rejected: IntArray
) -> tuple[IntArray, IntArray]:
    """Count missed targets and rejected nontargets at the thresholds that can be best when
    one lies after every trial of a stable sort in file order."""
    below_something = missed + rejected > 0
    missed, rejected = missed[below_something], rejected[below_something]
    if scores.nontargets_up_to[0] == 0:  # the lowest trial is a target
        missed, rejected = np.append(missed, 1), np.append(rejected, 0)
    if scores.has_mixed_ties:
        within = scores.errors_within_ties
        missed, rejected = np.append(missed, within[0]), np.append(rejected, within[1])
    return missed, rejected
