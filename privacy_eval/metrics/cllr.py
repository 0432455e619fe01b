"""Cllr, the cost of log-likelihood ratios, and its minimum over calibrations.

In bit; 0 is perfect recognition (no privacy), 1 carries no information. Actual
Cllr exceeds 1 where scores are badly calibrated; min Cllr never does in `exact`.
Reference: Bruemmer & du Preez (2006); VoicePrivacy 2020 supplement, eq. (1); comparative
study of metrics, section 3.2, whose eq. (2) omits the factor 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .pav import FloatArray, IntArray, PavBlocks, Sets, sloped_llr
from .trial_scores import Replicates, TrialScores, Variant, check_scores

_LOG_MAX = float(np.log(np.finfo(np.float64).max))
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Cllr:
    """A cost in bit, with the numbers of trials.

    Attributes
    ----------
    value : float
        In bit; actual Cllr may be inf, see `cllr`. Of `Replicates` an array.
    n_target, n_nontarget : int
    variant : str
    """

    value: float
    n_target: int
    n_nontarget: int
    variant: Variant


def cllr(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> Cllr:
    """Compute actual Cllr, taking scores as natural-log LLRs.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        `exact` is inf only where the cost itself exceeds the largest float: mean wrong scores
        near it in both classes. `challenge` reproduces the released script: inf as soon as one
        target is below -709.78 or one nontarget above 709.78.

    Returns
    -------
    Cllr

    Examples
    --------
    >>> cllr(TrialScores([0.0], [0.0])).value
    1.0
    """
    check_scores(scores, variant)
    counts = scores.n_target, scores.n_nontarget
    if isinstance(scores, Replicates):
        return Cllr(scores.each(_cllr_of_replicates(scores, variant)), *counts, variant)
    worst = max(-scores.target[0], scores.nontarget[-1])
    if variant == "challenge" and worst > _LOG_MAX:
        value = float("inf")
    else:
        # Each half is finite, their sum wherever the cost is.
        value = _half_cost(scores.target, -1.0) + _half_cost(scores.nontarget, 1.0)
    return Cllr(value, *counts, variant)


def min_cllr(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> Cllr:
    """Compute Cllr after PAV calibration, the least that any monotone calibration reaches.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        They differ in the treatment of ties and by up to about 1e-6, see `TrialScores.pav`
        and `sloped_llr`.

    Returns
    -------
    Cllr

    Examples
    --------
    >>> round(min_cllr(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).value, 9)
    0.5
    """
    check_scores(scores, variant)
    blocks = scores.pav(variant)
    llrs = () if variant == "exact" else sloped_llr(blocks, scores.target_rank)
    value = scores.each(cllr_of_blocks(blocks, *llrs))
    return Cllr(value, scores.n_target, scores.n_nontarget, variant)


def cllr_of_blocks(
    blocks: PavBlocks,
    of_targets: FloatArray | None = None,
    of_nontargets: FloatArray | None = None,
) -> FloatArray:
    """Compute the Cllr of calibrated trials.

    Parameters
    ----------
    blocks : PavBlocks
        B of them, in R sets.
    of_targets, of_nontargets : float arrays, shape (B,), optional
        LLR of the trials of each class per block; by default that of the block.

    Returns
    -------
    float array, shape (R,)
        In bits.

    Examples
    --------
    >>> cllr_of_blocks(TrialScores([1, 3], [0, 2]).pav())
    array([0.5])
    """
    targets = blocks.llr if of_targets is None else of_targets
    nontargets = blocks.llr if of_nontargets is None else of_nontargets
    return (
        _weighted_softplus(-targets, blocks.targets, blocks.sets)
        + _weighted_softplus(nontargets, blocks.nontargets, blocks.sets)
    ) / 2


def _cllr_of_replicates(replicates: Replicates, variant: Variant) -> FloatArray:
    """Compute `cllr` of all replicates at once, shape (R,)."""
    of, times = replicates.of, replicates.times
    counts = replicates.target_counts, replicates.nontarget_counts
    if "costs" not in of.memo:
        classes = (-of.target, of.nontarget)
        of.memo["costs"] = [softplus(of_class) / of_class.size for of_class in classes]
    halves = [
        (times / n[:, None])
        @ np.bincount(pairs, cost, times.shape[1])
        * (cost.size / (2 * math.log(2)))
        for cost, pairs, n in zip(of.memo["costs"], replicates.pairs, counts, strict=True)
    ]
    with np.errstate(over="ignore"):  # each half is finite, their sum wherever the cost is
        costs = halves[0] + halves[1]
    if variant == "challenge":
        lowest, _, _, highest = replicates.extremes
        costs[(-lowest > _LOG_MAX) | (highest > _LOG_MAX)] = np.inf
    return np.asarray(costs)


def softplus(x: FloatArray) -> FloatArray:
    """Compute log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : float array

    Returns
    -------
    float array of the same shape

    Examples
    --------
    >>> softplus(np.array([-1000.0, 1000.0]))
    array([   0., 1000.])
    """
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), dtype=np.float64)


def _half_cost(values: FloatArray, sign: float) -> float:
    """Average log2(1 + exp(sign * values)) / 2, in pieces that fit into the cache."""
    total = 0.0
    for start in range(0, values.size, _CHUNK):
        costs = softplus(sign * values[start : start + _CHUNK])
        with np.errstate(over="ignore"):
            part = float(costs.sum())
        # Costs near the largest float: the mean is finite where the sum is not.
        total += part / values.size if math.isfinite(part) else float((costs / values.size).sum())
    return total / (2 * math.log(2))


def _weighted_softplus(llr: FloatArray, weight: IntArray, sets: Sets) -> FloatArray:
    """Average log2(1 + exp(llr)) over the blocks of each set, by their trials of one class; an
    infinite llr must cost nothing."""
    costs = softplus(np.where(weight > 0, llr, 0)) * weight
    return np.asarray(sets.sums(costs) / sets.sums(weight) / np.log(2))
