"""Sets of verification scores, sorted once and shared by every metric: one set, or many bootstrap
replicates at once.

Conventions: a *target* trial compares two utterances of one speaker (in biometrics: mated),
a *nontarget* trial utterances of two speakers (non-mated); a higher score supports the same
speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..choices import VARIANTS as VARIANTS
from ..choices import Variant as Variant
from ..errors import PrivacyEvalError
from .arguments import as_numbers, as_truth
from .pav import FloatArray, Groups, IntArray, PavBlocks, Sets, pav, with_laplace

BoolArray = NDArray[np.bool_]
#: Detection cost, a function of (missed targets, rejected nontargets, n_target, n_nontarget).
ErrorCost = Callable[[IntArray, IntArray, IntArray, IntArray], FloatArray]


def check_variant(variant: str) -> None:
    """Raise if a variant does not exist.

    Parameters
    ----------
    variant : str

    Raises
    ------
    ValueError
        Not one of `VARIANTS`.

    Examples
    --------
    >>> check_variant("exact")
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {VARIANTS}, not {variant!r}")


def check_scores(scores: object, variant: str = "exact") -> None:
    """Raise unless `scores` are labelled scores and the variant exists.

    Parameters
    ----------
    scores : object
    variant : str

    Raises
    ------
    TypeError
        Neither `TrialScores` nor `Replicates`.
    ValueError
        As `check_variant`.

    Examples
    --------
    >>> check_scores(TrialScores([1.0], [0.0]))
    """
    if not isinstance(scores, TrialSets):
        kind = type(scores).__name__
        of = "TrialScores(target, nontarget) or trials.scores"
        raise TypeError(f"expected scores as {of}, not {kind}")
    check_variant(variant)


class TrialSets:
    """R sets of trials: `TrialScores` are one (R = 1), `Replicates` many, and metrics take both.

    Attributes
    ----------
    target : float array, shape (T,)
        Target scores of all sets, ascending in each.
    target_counts, nontarget_counts : int arrays, shape (R,)
        Trials of each set.
    """

    target: FloatArray
    target_counts: IntArray
    nontarget_counts: IntArray

    @property
    def nontargets_below(self) -> IntArray:
        """Number of nontarget scores of its set below each target score, shape (T,)."""
        raise NotImplementedError

    @property
    def nontargets_up_to(self) -> IntArray:
        """Number of nontarget scores of its set at or below each target score, shape (T,)."""
        raise NotImplementedError

    @property
    def n_target(self) -> Any:
        """Number of target trials of each set, shape (R,); of `TrialScores` an int."""
        return self.target_counts

    @property
    def n_nontarget(self) -> Any:
        """Number of nontarget trials of each set, shape (R,); of `TrialScores` an int."""
        return self.nontarget_counts

    def each(self, values: FloatArray) -> Any:
        """Return the value of each set, shape (R,); of `TrialScores` a float."""
        return values

    @cached_property
    def memo(self) -> dict[str, Any]:
        """Cache of values by metric; those of metrics without variants serve both variants."""
        return {}

    @cached_property
    def target_sets(self) -> Sets:
        """The slice of `target` belonging to each set."""
        return Sets(np.cumsum(self.target_counts) - self.target_counts, self.target.size)

    @cached_property
    def has_mixed_ties(self) -> bool:
        """Whether any target has the same score as a nontarget of its set."""
        return not np.array_equal(self.nontargets_below, self.nontargets_up_to)

    @cached_property
    def threshold_rows(self) -> IntArray:
        """Candidates for an optimal threshold: ascending rows of targets that start a set or
        have more nontargets below them than the preceding target."""
        below = self.nontargets_below
        new = np.concatenate([[True], below[1:] != below[:-1]])
        new[self.target_sets.first] = True
        return np.flatnonzero(new)

    @property
    def threshold_sets(self) -> Sets:
        """The slice of `threshold_rows` belonging to each set."""
        first = np.searchsorted(self.threshold_rows, self.target_sets.first)
        return Sets(np.asarray(first, dtype=np.int64), self.threshold_rows.size)

    @cached_property
    def targets_below(self) -> IntArray:
        """Number of target scores of its set below each target score, shape (T,)."""
        new = np.concatenate([[True], self.target[1:] != self.target[:-1]])
        new[self.target_sets.first] = True
        rows = np.flatnonzero(new)
        if rows.size < self.target.size:
            rows = np.repeat(rows, np.diff(np.append(rows, self.target.size)))
        return np.asarray(rows - self.target_sets.spread(self.target_sets.first))

    @property
    def target_number(self) -> IntArray:
        """Zero-based index of each target within its set, shape (T,)."""
        sets = self.target_sets
        return np.asarray(np.arange(sets.size) - sets.spread(sets.first))

    @property
    def target_rank(self) -> IntArray:
        """Rank of each target among all trials of its set, nontargets first within a tie, shape
        (T,)."""
        return self.target_number + self.nontargets_up_to

    def pav(self, variant: Variant = "exact") -> PavBlocks:
        """Pool adjacent violators of all trials, once per variant.

        `exact` pools ties: one LLR per distinct score. `challenge` puts all
        nontargets before all targets at a tie, every trial its own point, as the
        scripts released with VoicePrivacy 2020 do for min Cllr and ROCCH-EER.
        """
        check_variant(variant)
        pooled = variant == "exact" or not self.has_mixed_ties
        if pooled not in self._solved:
            self._solved[pooled] = pav(self._groups(pooled=pooled))
        return self._solved[pooled]

    def pav_laplace(self, variant: Variant = "exact") -> PavBlocks:
        """Compute `pav` with Laplace's rule of succession, which makes every LLR finite."""
        return with_laplace(self.pav(variant))

    @cached_property
    def _solved(self) -> dict[bool, PavBlocks]:
        return {}

    def _groups(self, *, pooled: bool) -> Groups:
        """Group trials: one group per distinct target score and per run of nontargets between
        two, at most 2T + 1 groups of T targets."""
        sets, up_to = self.target_sets, self.nontargets_up_to
        below = self.nontargets_below if pooled else up_to
        # Targets without a nontarget between them share a group.
        starts = np.concatenate([[True], below[1:] != below[:-1]])
        starts[1:] |= up_to[1:] != up_to[:-1]
        starts[sets.first] = True
        rows, runs = np.flatnonzero(starts), sets.kept(starts)
        up_to, below = up_to[rows], below[rows]
        passed = np.append(0, up_to[:-1])
        passed[runs.first] = 0
        # Of each run: the nontargets before it, then its own trials. Of each set: the rest.
        number = np.arange(runs.first.size)
        at = 2 * np.arange(rows.size) + runs.spread(number)
        t = np.zeros(2 * rows.size + runs.first.size, dtype=np.int64)
        n = np.zeros_like(t)
        t[at + 1] = np.diff(np.append(rows, sets.size))
        n[at] = below - passed
        n[at + 1] = up_to - below
        n[2 * runs.last + number + 2] = self.nontarget_counts - up_to[runs.last]
        nonempty = (t > 0) | (n > 0)
        kept = Sets(2 * runs.first + number, t.size).kept(nonempty)
        return Groups(t[nonempty], n[nonempty], kept.first)


class TrialScores(TrialSets):
    """Scores of target and nontarget trials.

    Parameters
    ----------
    target : array_like, shape (T,)
    nontarget : array_like, shape (N,)
        Finite scores in any order. Where the order of the trials in a file matters (ties in
        `challenge` min DCF), nontargets precede targets; use `from_labels` for another order.

    Attributes
    ----------
    target, nontarget : float64 arrays, ascending; read-only

    Raises
    ------
    PrivacyEvalError
        A class without trials; scores that are not numbers, or not finite.

    Examples
    --------
    >>> scores = TrialScores(target=[2.0, 1.0], nontarget=[0.0, -1.0, 1.5])
    >>> scores.target
    array([1., 2.])
    >>> scores.n_target, scores.n_nontarget
    (2, 3)
    """

    def __init__(self, target: ArrayLike, nontarget: ArrayLike) -> None:
        self._set(
            np.sort(_as_scores(target, "target")), np.sort(_as_scores(nontarget, "nontarget"))
        )

    def _set(self, target: FloatArray, nontarget: FloatArray) -> None:
        for name, scores in (("target", target), ("nontarget", nontarget)):
            if not scores.size:
                raise PrivacyEvalError(
                    f"no {name} trials: every metric needs at least one target and one nontarget "
                    "trial"
                )
        # Views that user-defined metrics cannot change in place.
        self.target, self.nontarget = target.view(), nontarget.view()
        self.target.setflags(write=False)
        self.nontarget.setflags(write=False)
        self.target_counts, self.nontarget_counts = np.array([[target.size], [nontarget.size]])
        self._in_file: tuple[FloatArray, BoolArray] | None = None

    def __repr__(self) -> str:
        return (
            f"TrialScores(n_target={self.n_target}, n_nontarget={self.n_nontarget}, mean target "
            f"{self.target.mean():.4g}, mean nontarget {self.nontarget.mean():.4g})"
        )

    @classmethod
    def from_labels(cls, scores: ArrayLike, is_target: ArrayLike) -> TrialScores:
        """Split scores in file order by labels as of `as_truth`, both of shape (T+N,)."""
        values, labels = as_numbers(scores, "scores"), as_truth(is_target, "is_target")
        if values.shape != labels.shape:
            raise ValueError(f"{values.shape} scores but {labels.shape} labels")
        self = cls(values[labels], values[~labels])
        self._in_file = values, labels
        return self

    @classmethod
    def from_sorted(cls, target: NDArray[Any], nontarget: NDArray[Any]) -> TrialScores:
        """Use ascending finite scores without copying them: float32 stays float32."""
        self = cls.__new__(cls)
        self._set(target, nontarget)
        return self

    def each(self, values: FloatArray) -> float:
        """See `TrialSets.each`."""
        return float(values[0])

    @property
    def n_target(self) -> int:
        """T, the number of target trials."""
        return int(self.target.size)

    @property
    def n_nontarget(self) -> int:
        """N, the number of nontarget trials."""
        return int(self.nontarget.size)

    @cached_property
    def extremes(self) -> FloatArray:
        """Lowest and highest target score, lowest and highest nontarget score, shape (4, 1)."""
        ends = [[of_class[0], of_class[-1]] for of_class in (self.target, self.nontarget)]
        return np.array(ends, dtype=np.float64).reshape(4, 1)

    def counts_below(self, values: FloatArray, sets: Sets) -> tuple[IntArray, IntArray]:
        """Count the targets and the nontargets below each value."""
        return np.searchsorted(self.target, values), np.searchsorted(self.nontarget, values)

    @cached_property
    def single(self) -> TrialScores:
        """The scores rounded to single precision, which makes the largest infinite."""
        with np.errstate(over="ignore"):
            return TrialScores.from_sorted(
                self.target.astype(np.float32), self.nontarget.astype(np.float32)
            )

    @cached_property
    def nontargets_below(self) -> IntArray:
        """Number of nontarget scores below each target score, shape (T,)."""
        rows = np.flatnonzero(self.targets_below == np.arange(self.n_target))
        below = np.searchsorted(self.nontarget, self.target[rows])
        if rows.size == self.n_target:
            return below
        return np.repeat(below, np.diff(np.append(rows, self.n_target)))

    @cached_property
    def nontargets_up_to(self) -> IntArray:
        """Number of nontarget scores at or below each target score, shape (T,)."""
        counts, rows = self.nontargets_below, self._tied_rows
        if rows.size:
            counts = counts.copy()
            counts[rows] = np.searchsorted(self.nontarget, self.target[rows], side="right")
        return counts

    @cached_property
    def _tied_rows(self) -> IntArray:
        """Rows of targets whose score a nontarget has, too."""
        nearest = self.nontarget[np.minimum(self.nontargets_below, self.n_nontarget - 1)]
        return np.flatnonzero(nearest == self.target)

    def edges(self, bins: int) -> FloatArray:
        """Divide the range of all scores into equal bins; a range of equal scores is widened to 1.

        Parameters
        ----------
        bins : int

        Returns
        -------
        float array, shape (bins + 1,)
        """
        low, high = self.extremes.min(axis=0), self.extremes.max(axis=0)
        return bin_edges(low, high, np.array([bins]), Sets(np.array([0]), bins + 1))

    @cached_property
    def in_score_order(self) -> tuple[FloatArray, BoolArray, IntArray]:
        """Scores, labels and file positions in ascending order of scores, ties in file order."""
        trials = self.n_target + self.n_nontarget
        scores, is_target = self.in_file_order
        order = np.argsort(scores)
        ascending = scores[order]
        # A stable sort of floats is slow: sort fast, then the positions within ties.
        tie = np.cumsum(np.concatenate([[0], ascending[1:] != ascending[:-1]])) * trials
        position = np.sort(tie + order) - tie
        return ascending, is_target[position], position

    @cached_property
    def rows_in_order(self) -> tuple[IntArray, IntArray]:
        """Rows of targets and of nontargets in `in_score_order`, shapes (T,) and (N,)."""
        is_target = self.in_score_order[1]
        return np.flatnonzero(is_target), np.flatnonzero(~is_target)

    @cached_property
    def counts_up_to_scores(self) -> tuple[IntArray, IntArray]:
        """Numbers of targets and of nontargets up to each distinct score, shapes (D,)."""
        scores = np.unique(np.concatenate([self.target, self.nontarget]))
        targets, nontargets = (
            np.searchsorted(of, scores, "right") for of in (self.target, self.nontarget)
        )
        return targets, nontargets

    @cached_property
    def counts_within_ties(self) -> tuple[IntArray, IntArray]:
        """Numbers of targets and of nontargets up to each trial of a mixed tie, shapes (K,)."""
        scores, is_target, _ = self.in_score_order
        mixed = np.flatnonzero(np.isin(scores, self.target[self._tied_rows]))
        targets = np.cumsum(is_target, dtype=np.int64)[mixed]
        return targets, np.asarray(mixed + 1 - targets, dtype=np.int64)

    def least_within_ties(self, cost: ErrorCost, least: FloatArray) -> FloatArray:
        """Lower `least`, shape (1,), to the minimum cost of thresholds within mixed ties, whose
        trials keep their file order."""
        rows, counts = self._tied_rows, (self.target_counts, self.nontarget_counts)
        first = rows[self.targets_below[rows] == rows]
        # Lower bound within a tie: all of its nontargets and none of its targets are rejected.
        bound = cost(first, self.nontargets_up_to[first], *counts)
        first = first[bound < least]
        if not first.size:
            return least
        missed, rejected = self._errors_within_ties(first)
        within = float(cost(missed, rejected, *counts).min(initial=np.inf))
        return np.asarray(np.minimum(least, within))

    def _errors_within_ties(self, first: IntArray) -> tuple[IntArray, IntArray]:
        """Count missed targets and rejected nontargets for a threshold after each trial of some
        mixed ties, in file order; `first` is the row of each tie's first target."""
        scores, is_target = self.in_file_order
        tied = self.target[first]
        rows = np.flatnonzero((scores >= tied[0]) & (scores <= tied[-1]))
        tie = np.searchsorted(tied, scores[rows])
        is_tied = tied[tie] == scores[rows]
        rows, tie = rows[is_tied], tie[is_tied]
        order = np.argsort(tie, kind="stable")
        tie, target = tie[order], is_target[rows[order]].astype(np.int64)
        sets = Sets(np.searchsorted(tie, np.arange(first.size)), tie.size)
        missed = first[tie] + sets.before(target) + target
        rejected = self.nontargets_below[first][tie] + sets.before(1 - target) + 1 - target
        return missed, rejected

    @property
    def in_file_order(self) -> tuple[FloatArray, BoolArray]:
        """All scores in file order, and whether each belongs to a target."""
        return self._in_file or (
            np.concatenate([self.nontarget, self.target]),
            np.arange(self.n_target + self.n_nontarget) >= self.n_nontarget,
        )


class Replicates(TrialSets):
    """Bootstrap replicates of one set of trials, each with at least one target and nontarget, as
    repetition counts of its trials; all trials of one pair of speakers count equally often.

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
        """See `TrialSets`."""
        return self._drawn(self.of.nontargets_below)

    @cached_property
    def nontargets_up_to(self) -> IntArray:
        """See `TrialSets`."""
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
        """See `TrialScores.extremes`; here of each replicate, shape (4, R)."""
        targets = self.target[[self.target_sets.first, self.target_sets.last]]
        return np.concatenate([targets, self.of.nontarget[np.array(self.nontarget_ends)]])

    def counts_below(self, values: FloatArray, sets: Sets) -> tuple[IntArray, IntArray]:
        """Count the targets and the nontargets of each value's set that are below it."""
        return (
            self.cumulative_targets[sets.number, np.searchsorted(self.of.target, values)],
            self.cumulative_nontargets[sets.number, np.searchsorted(self.of.nontarget, values)],
        )

    def least_within_ties(self, cost: ErrorCost, least: FloatArray) -> FloatArray:
        """See `TrialScores.least_within_ties`; here of each replicate, shape (R,)."""
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


def bin_edges(low: FloatArray, high: FloatArray, bins: IntArray, sets: Sets) -> FloatArray:
    """Divide ranges into equal bins; a range without extent is widened to 1.

    Parameters
    ----------
    low, high : float arrays, shape (R,)
    bins : int array, shape (R,)
    sets : Sets
        Edges of each range: one more than its bins.

    Returns
    -------
    float array, shape (sets.size,)
        To the last bit what `numpy.linspace` gives for each range.

    Examples
    --------
    >>> bin_edges(np.array([0.0]), np.array([1.0]), np.array([2]), Sets(np.array([0]), 3))
    array([0. , 0.5, 1. ])
    """
    equal = low == high
    low, high = low - 0.5 * equal, high + 0.5 * equal
    # The span of the largest floats is infinite; that of their halves is not.
    with np.errstate(over="ignore"):
        scale = np.where(np.isfinite(high - low), 1, 2)
    low, high = low / scale, high / scale
    number = np.arange(sets.size) - sets.spread(sets.first)
    width, parts = sets.spread(high - low), sets.spread(bins)
    step = width / parts
    edges = np.where(step == 0, number / parts * width, number * step) + sets.spread(low)
    edges[sets.last] = high
    return np.asarray(edges * sets.spread(scale))


def _as_scores(values: ArrayLike, name: str) -> FloatArray:
    array = as_numbers(values, f"{name} scores")
    if array.ndim != 1:
        raise ValueError(f"{name} scores must be a vector, not of shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise PrivacyEvalError(
            f"{bad.size} of {array.size} {name} scores are not finite numbers "
            f"(the first is {array[bad[0]]} at index {bad[0]})"
        )
    return array
