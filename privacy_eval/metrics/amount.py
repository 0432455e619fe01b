"""Amount of speech: error rates of tests of several numbers of utterances.

An utterance more in a test averages out what varies between utterances, so an attacker with more
speech errs less. Tests are runs of consecutive utterances of a speaker that do not overlap.

Reference: Vauquier, Srivastava, Hosseini, Vincent, "Legally validated evaluation framework for
voice anonymization" (Interspeech 2025), whose tests have 1, 3 and 30 utterances.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .confidence import speaker_bootstrap
from .eer import kaldi_eer
from .identification import rate_interval
from .pav import IntArray
from .wer import ratio_bootstrap

#: Numbers of utterances per test.
AMOUNTS = (1, 2, 3, 5, 10, 30)

#: Most comparisons whose EER has an interval; a bootstrap of more would take too long.
MOST_RESAMPLED = 2_000_000

#: Scores compared at a time, and scores that tell roughly where the EER is.
_CACHED, _SAMPLE = 1 << 18, 1_000_000


@dataclass(frozen=True, eq=False)
class LengthScores:
    """Scores of tests of one number of utterances against all enrolled speakers.

    Attributes
    ----------
    length : int
        Utterances per test.
    scores : float array, shape (tests, enrolled)
        NaN where a pair was not compared.
    own : int array, shape (tests,)
        Column of each test's speaker.
    seconds : float array, shape (tests,), or None
        Speech of each test; None: not known.
    """

    length: int
    scores: NDArray[np.floating]
    own: IntArray
    seconds: NDArray[np.float64] | None = None

    def of_speakers(self, columns: IntArray) -> LengthScores:
        """Select the tests of some speakers."""
        kept = np.isin(self.own, columns)
        if kept.all():
            return self
        seconds = None if self.seconds is None else self.seconds[kept]
        return replace(self, scores=self.scores[kept], own=self.own[kept], seconds=seconds)

    @property
    def right(self) -> NDArray[np.float64]:
        """Whether the right speaker scores highest, shape (tests,); of tied ones, the probability
        of drawing the right one."""
        hits = np.empty(self.own.size)
        rows = max(1, _CACHED // self.scores.shape[1])
        for start in range(0, self.own.size, rows):
            block = self.scores[start : start + rows]
            best = np.take_along_axis(block, self.own[start : start + rows, None], axis=1)
            reached = (block >= best).view(np.uint8)  # faster than np.count_nonzero along an axis
            beaten = (block > best).any(axis=1)
            hits[start : start + rows] = ~beaten / reached.sum(axis=1, dtype=np.uint32)
        return hits


@dataclass(frozen=True)
class Amount:
    """Error rates with one number of utterances per test.

    Attributes
    ----------
    length, conversations, speakers : int
        Utterances per test, tests, and speakers with a test.
    eer : float or None
        Kaldi's; None where there is no target or no nontarget.
    rank1 : float or None
        Share of tests whose speaker alone scores highest among all enrolled; a tie is lost.
    eer_interval, rank1_interval : (float, float) or None
        95 % bounds over speakers.
    seconds : float or None
        Mean speech of a test; None where it is not known.
    """

    length: int
    conversations: int
    speakers: int
    eer: float | None
    rank1: float | None
    eer_interval: tuple[float, float] | None = None
    rank1_interval: tuple[float, float] | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class AmountCurve:
    """Error rates by the number of utterances per test.

    Attributes
    ----------
    all : tuple of Amount
        Each with all speakers who have a test of its length: not comparable with each other.
    equal : tuple of Amount
        Each with the speakers who have tests of every length that has any: those of the largest.
    one_session : tuple of Amount
        Of tests whose utterances are all of one session, each with all speakers who have such a
        test of its length, two or more; empty where sessions are not known.
    any_session : tuple of Amount
        Of all tests of the lengths of `one_session`, each with the same speakers as there.
    """

    all: tuple[Amount, ...]
    equal: tuple[Amount, ...]
    one_session: tuple[Amount, ...] = ()
    any_session: tuple[Amount, ...] = ()


def amount_curve(
    tests: Iterable[LengthScores],
    speakers: Sequence[str],
    *,
    within_sessions: Iterable[LengthScores] = (),
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates by the number of utterances per test.

    Parameters
    ----------
    tests : iterable of LengthScores
        Of different lengths.
    speakers : sequence of str
        Names of the columns.
    within_sessions : iterable of LengthScores
        Of the same lengths, tests whose utterances are all of one session.
    replicates : int
        Bootstrap replicates of speakers, for intervals over equal speakers; 0: none.
    seed : int

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        No test at all; no speaker with tests of every length; intervals of fewer than two speakers.

    Examples
    --------
    >>> one = LengthScores(1, np.array([[2.0, 1.0], [1.5, 1.0], [3.0, 2.0]]), np.array([0, 0, 1]))
    >>> two = LengthScores(2, np.array([[1.75, 1.0]]), np.array([0]))
    >>> curve = amount_curve([one, two], ["a", "b"])
    >>> [(a.length, a.conversations, round(a.rank1, 2)) for a in curve.all]
    [(1, 3, 0.67), (2, 1, 1.0)]
    >>> [a.conversations for a in curve.equal]
    [2, 1]
    """
    ordered = sorted(tests, key=lambda one: one.length)
    of_all = tuple(error_rates(one) for one in ordered)
    some = [one for one in ordered if one.own.size]
    if not some:
        raise PrivacyEvalError("no enrolled speaker has as many test utterances as one test")
    remaining = functools.reduce(np.intersect1d, [one.own for one in some])
    if not remaining.size:
        raise PrivacyEvalError("no enrolled speaker has tests of every length")

    whole = {one.length: one for one in some}
    computed = {amount.length: amount for amount in of_all}

    def rates(one: LengthScores, columns: IntArray) -> Amount:
        """Compute the error rates of some speakers, with intervals if there are replicates."""
        kept = one.of_speakers(columns)
        amount = computed[one.length] if kept is whole.get(one.length) else error_rates(kept)
        return _with_intervals(kept, amount, speakers, replicates, seed) if replicates else amount

    within = [
        one
        for one in sorted(within_sessions, key=lambda one: one.length)
        if one.length in whole and np.unique(one.own).size > 1
    ]
    return AmountCurve(
        of_all,
        tuple(rates(one, remaining) for one in some),
        tuple(rates(one, one.own) for one in within),
        tuple(rates(whole[one.length], one.own) for one in within),
    )


def error_rates(tests: LengthScores) -> Amount:
    """Compute the error rates of tests of one number of utterances.

    Parameters
    ----------
    tests : LengthScores

    Returns
    -------
    Amount
        Without intervals.

    Examples
    --------
    >>> error_rates(LengthScores(1, np.array([[2.0, 1.0]]), np.array([0]))).rank1
    1.0
    """
    if not tests.own.size:
        return Amount(tests.length, 0, 0, None, None)
    counts = tests.own.size, np.unique(tests.own).size
    rates = matrix_eer(tests), float(np.mean(tests.right))
    seconds = None if tests.seconds is None else float(np.mean(tests.seconds))
    return Amount(tests.length, *counts, *rates, seconds=seconds)


def matrix_eer(tests: LengthScores) -> float | None:
    """Compute Kaldi's EER of all comparisons of a matrix, without sorting the nontargets.

    Parameters
    ----------
    tests : LengthScores

    Returns
    -------
    float or None
        As `kaldi_eer`; None without a nontarget.

    Examples
    --------
    >>> matrix_eer(LengthScores(1, np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([0, 1])))
    0.5
    """
    with np.errstate(over="ignore"):
        single = tests.scores.astype(np.float32, copy=False)
    target = np.sort(np.take_along_axis(single, tests.own[:, None], axis=1).ravel())
    among_targets, end = np.searchsorted(target, target), target.size - 1

    def search(first: int, last: int, n: float, below: Callable[[int], float]) -> int:
        """Find the first threshold with fewer false alarms than misses, see `kaldi_eer`."""

        def stops(i: int) -> bool:
            rank = max(0, n - 1 - int(n * i / target.size))
            return below(i) - int(among_targets[i]) > rank

        return bisect.bisect_left(range(end), True, first, last, key=stops)

    # A part of the tests tells roughly where: only scores near are sorted.
    sample = single[:: max(1, single.size // _SAMPLE)]
    scale = single.size / sample.size
    roughly = scale * np.count_nonzero(sample == sample) - target.size
    guess = search(0, end, roughly, lambda i: scale * np.count_nonzero(sample < target[i]))
    low, high = max(0, guess - end // 50 - 1), min(end, guess + end // 50 + 1)
    near, below, compared = [], 0, 0
    rows = max(1, _CACHED // single.shape[1])
    for start in range(0, len(single), rows):
        block = single[start : start + rows]
        numbers, reached = _numbers(block), block >= target[low]
        compared += numbers
        below += numbers - int(np.count_nonzero(reached))
        reached &= block <= target[high]
        near.append(block[reached])
    n = compared - target.size
    if not n:
        return None
    ascending = np.sort(np.concatenate(near))
    index = search(low, high, n, lambda i: below + int(np.searchsorted(ascending, target[i])))
    if (index == low > 0) or (index == high < end):
        index = search(0, end, n, lambda i: int(np.count_nonzero(single < target[i])))
    return index / target.size


def _numbers(block: NDArray[np.float32]) -> int:
    """Count the values that are not NaN; a sum tells fastest that all are numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = block.sum()
    return int(np.count_nonzero(block == block)) if np.isnan(total) else block.size


def _with_intervals(
    tests: LengthScores, amount: Amount, speakers: Sequence[str], replicates: int, seed: int
) -> Amount:
    columns, place, counts = np.unique(tests.own, return_inverse=True, return_counts=True)
    drawn = ratio_bootstrap(
        counts,
        np.bincount(place, tests.right),
        name="rank1",
        speakers=[speakers[column] for column in columns],
        replicates=replicates,
        seed=seed,
    )
    rate = float(np.mean(tests.right))
    rank1 = rate_interval(drawn.values["rank1"], rate, drawn.n_speakers, drawn.n_speakers)
    names = np.asarray(speakers, dtype=np.str_)
    compared = ~np.isnan(tests.scores)
    eer = None
    if amount.eer is not None and np.count_nonzero(compared) <= MOST_RESAMPLED:
        row, column = np.nonzero(compared)
        of_eer = speaker_bootstrap(
            tests.scores[row, column],
            tests.own[row] == column,
            names[column],
            names[tests.own[row]],
            statistic=lambda trials: {"eer": kaldi_eer(trials).value},
            replicates=replicates,
            seed=seed,
        )
        bounds = of_eer.interval("eer")
        eer = bounds.low, bounds.high
    return replace(amount, eer_interval=eer, rank1_interval=rank1)
