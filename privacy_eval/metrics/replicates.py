"""Bootstrap replicates of a set of trials, many at once, as repetition counts of the trials.

Trials are sorted once; all trials of one pair of speakers count equally often.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .pav import FloatArray, IntArray, Sets
from .trial_scores import ErrorCost, TrialScores, TrialSets


class Replicates(TrialSets):
    """Bootstrap replicates of one set of trials, each with at least one target and nontarget.

    Parameters
    ----------
    of : TrialScores
    pairs : int array, shape (P,)
        Number of the pair of speakers of each trial, from 0, in ascending order of scores.
    times : int array, shape (R, pairs)
        How often the trials of each pair of speakers count in each replicate.
    """

    def __init__(self, of: TrialScores, pairs: IntArray, times: IntArray) -> None:
        self.of, self.times, self._pairs = of, times, pairs
        #: Pair of each target and of each nontarget, ascending by score: (T,) and (N,).
        self.pairs = [pairs[rows] for rows in of.rows_in_order]
        #: Cumulative counts over the sorted targets and nontargets, from 0: (R, T+1) and (R, N+1),
        #: where T and N are the numbers of targets and nontargets in the original trials.
        self.cumulative_targets, self.cumulative_nontargets = (
            _cumulated(times[:, of_class]) for of_class in self.pairs
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
        scores, is_target, _ = self.of.in_score_order
        for of_pairs in self.times:
            times = of_pairs[self._pairs]
            yield TrialScores.from_labels(np.repeat(scores, times), np.repeat(is_target, times))

    def _drawn(self, counts: IntArray) -> IntArray:
        """Count the drawn ones of so many lowest nontargets for each target score, shape (T,)."""
        return np.asarray(self.cumulative_nontargets[self._number, counts[self._row]])

    @property
    def nontargets_below_in_single(self) -> IntArray:
        """`nontargets_below` for scores in single precision, shape (T,)."""
        return self._drawn(self.of.single.nontargets_below)

    @cached_property
    def nontargets_below(self) -> IntArray:
        """See `TrialSets.nontargets_below`."""
        return self._drawn(self.of.nontargets_below)

    @cached_property
    def nontargets_up_to(self) -> IntArray:
        """See `TrialSets.nontargets_up_to`."""
        return self._drawn(self.of.nontargets_up_to)

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
        target_rows, nontarget_rows = self.of.rows_in_order
        first_target = target_rows[self._row[self.target_sets.first]]
        is_first = first_target < nontarget_rows[self.nontarget_ends[0]]
        return np.where(is_first, np.minimum(least, one), least)


def _cumulated(counts: IntArray) -> IntArray:
    """Compute cumulative sums along the last axis, with a leading 0."""
    sums = np.zeros((*counts.shape[:-1], counts.shape[-1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=-1, out=sums[..., 1:])
    return sums
