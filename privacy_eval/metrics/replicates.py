"""Bootstrap replicates of a set of trials, many at once, as repetition counts of the trials.

Trials are sorted once; all trials of one pair of speakers count equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .pav import FloatArray, IntArray, Sets
from .trial_scores import ErrorCost, TrialScores, TrialSets

#: Elementwise cost of scores.
Cost = Callable[[FloatArray], FloatArray]


class PresortedTrials:
    """Sorted trials with the precomputed ranks and counts that all replicates share.

    Parameters
    ----------
    scores : float array, shape (P,)
        Ascending.
    is_target : bool array, shape (P,)
    pairs : int array, shape (P,)
        Number of the pair of speakers of each trial, from 0.
    """

    def __init__(self, scores: NDArray[Any], is_target: NDArray[np.bool_], pairs: IntArray) -> None:
        self.scores, self.is_target, self.pairs = scores, is_target, pairs
        self.target_rows, self.nontarget_rows = (np.flatnonzero(r) for r in (is_target, ~is_target))
        self.target, self.nontarget = scores[self.target_rows], scores[self.nontarget_rows]
        self.below, self.up_to = (
            np.searchsorted(self.nontarget, self.target, side) for side in ("left", "right")
        )
        self.starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
        self._mean_costs: dict[Cost, tuple[FloatArray, FloatArray]] = {}

    @cached_property
    def single(self) -> PresortedTrials:
        """The trials with scores in single precision."""
        with np.errstate(over="ignore"):
            return PresortedTrials(self.scores.astype(np.float32), self.is_target, self.pairs)

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """Cumulative counts of targets and of nontargets up to each trial, shapes (P,)."""
        targets = np.cumsum(self.is_target, dtype=np.int64)
        return targets, np.cumsum(~self.is_target, dtype=np.int64)

    @cached_property
    def counts_up_to_scores(self) -> tuple[IntArray, IntArray]:
        """Cumulative counts of targets and of nontargets up to each distinct score, shapes (D,)."""
        ends = np.append(self.starts[1:], self.scores.size) - 1
        return self.counts[0][ends], self.counts[1][ends]

    @cached_property
    def counts_within_ties(self) -> tuple[IntArray, IntArray]:
        """Cumulative counts of targets and of nontargets up to each trial of a mixed tie, shapes
        (K,)."""
        targets = np.add.reduceat(self.is_target.astype(np.int64), self.starts)
        size = np.diff(np.append(self.starts, self.scores.size))
        mixed = np.repeat((targets > 0) & (targets < size), size)
        return self.counts[0][mixed], self.counts[1][mixed]

    def sum_by_pair(self, of_trials: ArrayLike, rows: IntArray) -> FloatArray:
        """Sum the values of some trials by pair of speakers."""
        n_pairs = int(self.pairs.max()) + 1
        return np.asarray(np.bincount(self.pairs[rows], of_trials, n_pairs), dtype=np.float64)

    def mean_costs(self, cost: Cost) -> tuple[FloatArray, FloatArray]:
        """Compute the contribution of each pair of speakers to the mean of cost(-score) over
        targets and of cost(score) over nontargets, both of shape (pairs,)."""
        if cost not in self._mean_costs:
            n_target, n_nontarget = self.target.size, self.nontarget.size
            self._mean_costs[cost] = (
                self.sum_by_pair(cost(-self.target) / n_target, self.target_rows),
                self.sum_by_pair(cost(self.nontarget) / n_nontarget, self.nontarget_rows),
            )
        return self._mean_costs[cost]


class Replicates(TrialSets):
    """Bootstrap replicates of one set of trials, each with at least one target and nontarget.

    Parameters
    ----------
    of : PresortedTrials
    times : int array, shape (R, pairs)
        How often the trials of each pair of speakers count in each replicate.
    """

    def __init__(self, of: PresortedTrials, times: IntArray) -> None:
        self.of, self.times = of, times
        #: Cumulative counts over the sorted targets and nontargets, from 0: (R, T+1) and (R, N+1),
        #: where T and N are the numbers of targets and nontargets in the original trials.
        self.cumulative_targets, self.cumulative_nontargets = (
            _cumulated(times[:, of.pairs[rows]]) for rows in (of.target_rows, of.nontarget_rows)
        )
        self.target_counts = self.cumulative_targets[:, -1]
        self.nontarget_counts = self.cumulative_nontargets[:, -1]
        counted = np.diff(self.cumulative_targets).ravel()
        self._number, self._row = np.divmod(
            np.repeat(np.arange(counted.size), counted), of.target.size
        )
        self.target = of.target[self._row]

    def __iter__(self) -> Iterator[TrialScores]:
        """Yield each replicate as scores of its own, with repeated trials."""
        for of_pairs in self.times:
            times = of_pairs[self.of.pairs]
            trials = (
                np.repeat(of_trials, times) for of_trials in (self.of.scores, self.of.is_target)
            )
            yield TrialScores.from_labels(*trials)

    @property
    def nontargets_below_in_single(self) -> IntArray:
        """`nontargets_below` for scores in single precision, shape (T,)."""
        return np.asarray(self.cumulative_nontargets[self._number, self.of.single.below[self._row]])

    @cached_property
    def nontargets_below(self) -> IntArray:
        """See `TrialSets.nontargets_below`."""
        return np.asarray(self.cumulative_nontargets[self._number, self.of.below[self._row]])

    @cached_property
    def nontargets_up_to(self) -> IntArray:
        """See `TrialSets.nontargets_up_to`."""
        return np.asarray(self.cumulative_nontargets[self._number, self.of.up_to[self._row]])

    @cached_property
    def nontarget_ends(self) -> tuple[IntArray, IntArray]:
        """Rows of the lowest and of the highest nontarget drawn, shapes (R,)."""
        rows = [
            np.searchsorted(ends, [0, ends[-1] - 1], side="right") - 1
            for ends in self.cumulative_nontargets
        ]
        lowest, highest = np.array(rows).T
        return lowest, highest

    @cached_property
    def extremes(self) -> FloatArray:
        """See `TrialSets.extremes`."""
        targets = self.target[[self.target_sets.first, self.target_sets.last]]
        return np.concatenate([targets, self.of.nontarget[np.array(self.nontarget_ends)]])

    def counts_below(self, values: FloatArray, sets: Sets) -> tuple[IntArray, IntArray]:
        """See `TrialSets.counts_below`."""
        return (
            self.cumulative_targets[sets.number, np.searchsorted(self.of.target, values)],
            self.cumulative_nontargets[sets.number, np.searchsorted(self.of.nontarget, values)],
        )

    def least_within_ties(self, cost: ErrorCost, least: FloatArray) -> FloatArray:
        """See `TrialSets.least_within_ties`."""
        missed, rejected = (
            of_class[:, counts]
            for of_class, counts in zip(
                (self.cumulative_targets, self.cumulative_nontargets),
                self.of.counts_within_ties,
                strict=True,
            )
        )
        totals = self.target_counts, self.nontarget_counts
        costs = cost(missed, rejected, totals[0][:, None], totals[1][:, None])
        costs[missed + rejected == 0] = np.inf
        least = np.minimum(least, costs.min(axis=1, initial=np.inf))
        # The threshold after the first trial, if that is a target, rejects nothing else.
        one = cost(np.array(1), np.array(0), *totals)
        first_target = self.of.target_rows[self._row[self.target_sets.first]]
        is_first = first_target < self.of.nontarget_rows[self.nontarget_ends[0]]
        return np.where(is_first, np.minimum(least, one), least)


def _cumulated(counts: IntArray) -> IntArray:
    """Compute cumulative sums along the last axis, with a leading 0."""
    sums = np.zeros((*counts.shape[:-1], counts.shape[-1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=-1, out=sums[..., 1:])
    return sums
