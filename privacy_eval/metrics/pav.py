"""Pool adjacent violators (PAV): the isotonic regression of labels on scores.

Its posteriors are the best any monotone calibration can do; log-likelihood
ratios follow by taking the prior log odds off. All work is on groups of trials,
since PAV depends on nothing but runs of equal labels in score order. The groups of many
sets of trials, such as bootstrap replicates, are solved at once.

Reference: Bruemmer & du Preez, "The PAV algorithm optimizes binary proper
scoring rules" (2009), as cited by the ZEBRA paper [16].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The released scripts add k * 1e-6 / (T + N) to the LLR of the k-th trial.
CHALLENGE_SLOPE = 1e-6


@dataclass(frozen=True)
class Sets:
    """Row ranges of concatenated, nonempty sets.

    Attributes
    ----------
    first : int array, shape (R,)
        First row of each set.
    size : int
        Number of rows.
    """

    first: IntArray
    size: int

    @cached_property
    def last(self) -> IntArray:
        """Last row of each set, shape (R,)."""
        return np.append(self.first[1:], self.size) - 1

    @cached_property
    def number(self) -> IntArray:
        """Index of the set of each row, shape (size,)."""
        return np.repeat(np.arange(self.first.size), self.last - self.first + 1)

    def spread(self, of_sets: NDArray[Any]) -> NDArray[Any]:
        """Repeat the value of each set over its rows; a single set broadcasts its one value."""
        return of_sets if self.first.size == 1 else of_sets[self.number]

    def sums(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """Add the rows of each set."""
        if self.first.size == 1:  # NumPy's pairwise summation: less rounding
            return np.asarray(of_rows.sum(keepdims=True))
        return np.asarray(np.add.reduceat(of_rows, self.first))

    def before(self, of_rows: IntArray) -> IntArray:
        """Compute the exclusive cumulative sum within each set."""
        sums = np.cumsum(of_rows) - of_rows
        return np.asarray(sums - self.spread(sums[self.first]))

    def kept(self, rows: NDArray[np.bool_]) -> Sets:
        """Return the sets restricted to the masked rows; every set must retain at least one."""
        if self.first.size == 1:
            return Sets(self.first, int(np.count_nonzero(rows)))
        number = np.cumsum(rows)
        return Sets((number - rows)[self.first], int(number[-1]))


@dataclass(frozen=True)
class Groups:
    """Consecutive trials in ascending score order, as counts: the input of PAV.

    Attributes
    ----------
    targets, nontargets : int arrays, shape (G,)
        Trials of each class per group; no group is empty.
    first : int array, shape (R,)
        First group of each set of trials.
    """

    targets: IntArray
    nontargets: IntArray
    first: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @cached_property
    def sets(self) -> Sets:
        """Partition of the groups into sets of trials."""
        return Sets(self.first, self.targets.size)


@dataclass(frozen=True)
class PavBlocks(Groups):
    """PAV's solution: groups of trials, the blocks, that share one posterior.

    Attributes
    ----------
    llr : float array, shape (B,)
        Natural-log likelihood ratio of each block, strictly increasing; -inf and
        inf are legal for a block of one class only.
    """

    llr: FloatArray = field(kw_only=True)


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
    pooled = _pool_violators(groups)
    return PavBlocks(pooled.targets, pooled.nontargets, pooled.first, llr=_llr(pooled, pooled))


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
    >>> one = PavBlocks(np.array([3]), np.array([3]), llr=np.array([0.0]))
    >>> with_laplace(one).llr
    array([0.])
    """
    # A point that is not a corner of the trials' hull is not one of a larger set's hull, so
    # the dummies may join the blocks instead of the single trials.
    four = 4 * np.arange(blocks.first.size)
    first, last = blocks.first + four, blocks.sets.last + four + 4
    of_targets, of_nontargets = np.zeros((2, int(last[-1]) + 1), dtype=np.int64)
    joined = Groups(of_targets, of_nontargets, first)
    rows = np.arange(blocks.llr.size) + 2 + blocks.sets.spread(four)
    joined.targets[rows], joined.nontargets[rows] = blocks.targets, blocks.nontargets
    joined.targets[first] = joined.targets[last - 1] = 1
    joined.nontargets[first + 1] = joined.nontargets[last] = 1
    pooled = _pool_violators(joined)
    llr = _llr(pooled, blocks)
    for edge in (pooled.first, pooled.sets.last):
        pooled.targets[edge] -= 1
        pooled.nontargets[edge] -= 1
    real = pooled.targets + pooled.nontargets > 0
    kept = pooled.sets.kept(real)
    return PavBlocks(pooled.targets[real], pooled.nontargets[real], kept.first, llr=llr[real])


def sloped_llr(blocks: PavBlocks, target_position: IntArray) -> tuple[FloatArray, FloatArray]:
    """Add the released scripts' k * 1e-6 / (T + N) to the LLR of the k-th trial.

    The term varies by less than 1e-6 within a block, so the mean over a block of a smooth
    function of the LLR is its value at the mean LLR to about 1e-13.

    Parameters
    ----------
    blocks : PavBlocks
    target_position : int array, shape (T,)
        Rank k of each target among all trials of its set, ascending.

    Returns
    -------
    of_targets, of_nontargets : float arrays, shape (B,)
        Mean LLR over the targets and over the nontargets of each block.

    Examples
    --------
    >>> one = PavBlocks(np.array([1]), np.array([1]), llr=np.array([0.0]))
    >>> sloped_llr(one, np.array([1]))
    (array([5.e-07]), array([0.]))
    """
    trials = blocks.targets + blocks.nontargets
    slope = CHALLENGE_SLOPE / blocks.sets.spread(blocks.sets.sums(trials))
    cumulated = np.concatenate([[0], np.cumsum(target_position)])
    target_end = np.cumsum(blocks.targets)
    of_targets = cumulated[target_end] - cumulated[target_end - blocks.targets]
    start = blocks.sets.before(trials)
    of_nontargets = (2 * start + trials - 1) * trials // 2 - of_targets
    return (
        blocks.llr + slope * of_targets / np.maximum(blocks.targets, 1),
        blocks.llr + slope * of_nontargets / np.maximum(blocks.nontargets, 1),
    )


def _pool_violators(groups: Groups) -> Groups:
    """Pool neighbours whose share of targets does not rise, all at once, until there are none."""
    targets, nontargets, last = groups.targets, groups.nontargets, groups.sets.last
    targets_up_to, nontargets_up_to = targets.cumsum(), nontargets.cumsum()
    # A large group that pools with those before it one by one would need a round for each.
    budget: float = 10 * targets.size + 10**6
    while True:
        rises = np.empty(targets.size, dtype=bool)
        below, above = targets[:-1] * nontargets[1:], targets[1:] * nontargets[:-1]
        np.less(below, above, out=rises[:-1])
        rises[last] = True
        ends = rises.nonzero()[0]
        if ends.size == targets.size:
            return Groups(targets, nontargets, np.append(0, last[:-1] + 1))
        budget -= targets.size + 1000  # what a round takes at least is that of a thousand groups
        if budget < 0:
            ends, budget = _regression_ends(targets, nontargets, last), math.inf
        last = ends.searchsorted(last)
        targets_up_to, nontargets_up_to = targets_up_to[ends], nontargets_up_to[ends]
        targets, nontargets = targets_up_to.copy(), nontargets_up_to.copy()
        targets[1:] -= targets_up_to[:-1]
        nontargets[1:] -= nontargets_up_to[:-1]


def _regression_ends(targets: IntArray, nontargets: IntArray, last: IntArray) -> IntArray:
    """Find the last group of each block in one pass; means that differ by rounding only may
    stay apart."""
    from scipy.optimize import isotonic_regression  # slow to import, and hardly ever needed

    size = targets + nontargets
    # Offset each set above the one before, so that groups of different sets are never pooled.
    apart = 2.0 * np.repeat(np.arange(last.size), np.diff(last, prepend=-1))
    solution = isotonic_regression(targets / size + apart, weights=size.astype(np.float64))
    return np.asarray(solution.blocks[1:] - 1, dtype=np.int64)


def _llr(pooled: Groups, trials: Groups) -> FloatArray:
    """Subtract the prior log odds of each set from its posterior log odds."""
    sets = trials.sets
    prior = np.log(sets.sums(trials.targets) / sets.sums(trials.nontargets))
    with np.errstate(divide="ignore"):
        odds = np.log(pooled.targets) - np.log(pooled.nontargets)
    return np.asarray(odds - pooled.sets.spread(prior), dtype=np.float64)
