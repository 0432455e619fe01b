"""Pool adjacent violators (PAV): the isotonic regression of labels on scores.

Its posteriors are the best any monotone calibration can do; log-likelihood
ratios follow by taking the prior log odds off. All work is on groups of trials,
since PAV depends on nothing but runs of equal labels in score order.

Reference: Bruemmer & du Preez, "The PAV algorithm optimizes binary proper
scoring rules" (2009), as cited by the ZEBRA paper [16].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The released scripts add k * 1e-6 / (T + N) to the LLR of the k-th trial.
CHALLENGE_SLOPE = 1e-6


@dataclass(frozen=True)
class Groups:
    """Consecutive trials in ascending score order, as counts: the input of PAV.

    Attributes
    ----------
    targets, nontargets : int arrays, shape (G,)
        Trials of each class per group; no group is empty.
    """

    targets: IntArray
    nontargets: IntArray


@dataclass(frozen=True)
class PavBlocks:
    """PAV's solution: blocks of trials that share one posterior, in score order.

    Attributes
    ----------
    targets, nontargets : int arrays, shape (B,)
        Real trials of each block.
    llr : float array, shape (B,)
        Natural-log likelihood ratio of each block, strictly increasing; -inf and
        inf are legal for a block of one class only.
    """

    targets: IntArray
    nontargets: IntArray
    llr: FloatArray


def pav(groups: Groups) -> PavBlocks:
    """Pool adjacent violators; LLR = logit(posterior) - log(T/N).

    Parameters
    ----------
    groups : Groups

    Returns
    -------
    PavBlocks

    Examples
    --------
    >>> blocks = pav(Groups(np.array([0, 1, 0, 2]), np.array([2, 0, 1, 0])))
    >>> blocks.targets, blocks.nontargets
    (array([0, 1, 2]), array([2, 1, 0]))
    """
    targets, nontargets = _pool_violators(groups.targets, groups.nontargets)
    prior = np.log(targets.sum() / nontargets.sum())
    return PavBlocks(targets, nontargets, _log_odds(targets, nontargets) - prior)


def with_laplace(blocks: PavBlocks) -> PavBlocks:
    """Apply Laplace's rule of succession to PAV of the same trials: finite LLRs.

    Below every score come one dummy target and one dummy nontarget, above every score likewise
    (ZEBRA paper, footnote 6). The prior odds stay T/N; blocks of dummies alone are left out.

    Parameters
    ----------
    blocks : PavBlocks

    Returns
    -------
    PavBlocks

    Examples
    --------
    >>> one = PavBlocks(np.array([3]), np.array([3]), np.array([0.0]))
    >>> with_laplace(one).llr
    array([0.])
    """
    # A point that is not a corner of the trials' hull is not one of a larger set's hull, so
    # the dummies may join the blocks instead of the single trials.
    targets, nontargets = _pool_violators(
        np.concatenate([[1, 0], blocks.targets, [1, 0]]).astype(np.int64),
        np.concatenate([[0, 1], blocks.nontargets, [0, 1]]).astype(np.int64),
    )
    llr = _log_odds(targets, nontargets) - np.log(blocks.targets.sum() / blocks.nontargets.sum())
    for edge in (0, -1):
        targets[edge] -= 1
        nontargets[edge] -= 1
    real = targets + nontargets > 0
    return PavBlocks(targets[real], nontargets[real], llr[real])


def sloped_llr(blocks: PavBlocks, target_position: IntArray) -> tuple[FloatArray, FloatArray]:
    """Add the released scripts' k * 1e-6 / (T + N) to the LLR of the k-th trial.

    The term varies by less than 1e-6 within a block, so the mean over a block of a smooth
    function of the LLR is its value at the mean LLR to about 1e-13.

    Parameters
    ----------
    blocks : PavBlocks
    target_position : int array, shape (T,)
        Rank k of each target among all trials, ascending.

    Returns
    -------
    of_targets, of_nontargets : float arrays, shape (B,)
        Mean LLR over the targets and over the nontargets of each block.

    Examples
    --------
    >>> one = PavBlocks(np.array([1]), np.array([1]), np.array([0.0]))
    >>> sloped_llr(one, np.array([1]))
    (array([5.e-07]), array([0.]))
    """
    slope = CHALLENGE_SLOPE / int(blocks.targets.sum() + blocks.nontargets.sum())
    cumulated = np.concatenate([[0], np.cumsum(target_position)])
    target_end = np.cumsum(blocks.targets)
    of_targets = cumulated[target_end] - cumulated[target_end - blocks.targets]
    end = np.cumsum(blocks.targets + blocks.nontargets)
    start = end - blocks.targets - blocks.nontargets
    of_nontargets = (start + end - 1) * (end - start) // 2 - of_targets
    return (
        blocks.llr + slope * of_targets / np.maximum(blocks.targets, 1),
        blocks.llr + slope * of_nontargets / np.maximum(blocks.nontargets, 1),
    )


def _pool_violators(targets: IntArray, nontargets: IntArray) -> tuple[IntArray, IntArray]:
    from scipy.optimize import isotonic_regression  # slow to import, and not always needed

    size = targets + nontargets
    solution = isotonic_regression(targets / size, weights=size.astype(np.float64))
    starts = np.asarray(solution.blocks[:-1], dtype=np.intp)
    # The regression compares rounded means; the counts decide exactly. Neighbours
    # that do not increase share a block in the solution, so they are pooled here.
    while True:
        targets = np.add.reduceat(targets, starts)
        nontargets = np.add.reduceat(nontargets, starts)
        increases = targets[:-1] * nontargets[1:] < targets[1:] * nontargets[:-1]
        if increases.all():
            return targets, nontargets
        starts = np.flatnonzero(np.concatenate([[True], increases]))


def _log_odds(targets: IntArray, nontargets: IntArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        odds = np.log(targets) - np.log(nontargets)
    return np.asarray(odds, dtype=np.float64)
