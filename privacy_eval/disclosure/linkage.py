"""Identification: finding one person among many.

Closed-set linkage asks how often the right person of a group scores highest, singling out
whether a decision for one enrolled person holds for exactly one test person. Probabilities are
exact over all galleries: none is drawn, so there is no seed and no Monte Carlo error. A tie
counts as drawing among the tied: where nothing tells speakers apart, rates are those of chance.

References: Vauquier, Srivastava, Hosseini, Vincent, "Legally validated evaluation framework for
voice anonymization" (Interspeech 2025), for linkage and singling out; Chandra et al. (Odyssey
2026), for rank disclosure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError
from ..metrics.arguments import as_array
from ..metrics.confidence import expanded_interval
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.strongest import average_ranks
from ..metrics.trial_scores import BoolArray

#: Comparisons with the right speaker's score: the others who are as high, and the tied of them.
COMPARED = np.greater_equal, np.equal

#: Maximum number of scores compared at a time, to bound the memory.
_BLOCK = 4_000_000

#: Maximum number of speakers in singling out; a larger set is sampled.
_MAX_SINGLED = 200

#: Minimum number of tests for an informative linkage of a single speaker.
MIN_SPEAKER_TESTS = 5


def beaters(scores: ArrayLike, own: ArrayLike, compare: np.ufunc = np.greater_equal) -> IntArray:
    """Count the other enrolled speakers who score at least as high as the right one.

    Parameters
    ----------
    scores : array_like, shape (tests, enrolled)
        Finite; higher supports the same speaker.
    own : array_like of int, shape (tests,)
        Column of each test's speaker.
    compare : ufunc
        `numpy.equal` counts those of them who score the same.

    Returns
    -------
    int array, shape (tests,)
        Rank of the right speaker, less 1, if ties count against it.

    Raises
    ------
    PrivacyEvalError
        Inconsistent shapes, a non-finite score.

    Examples
    --------
    >>> beaters([[3.0, 1.0, 2.0], [3.0, 3.0, 2.0]], [0, 1])
    array([0, 1])
    """
    values, columns = as_array(scores, "scores"), as_array(own, "columns")
    if values.ndim != 2 or columns.shape != values.shape[:1] or not values.size:
        raise PrivacyEvalError(
            f"expected scores of shape (tests, speakers) and one column per test, got shapes "
            f"{values.shape} and {columns.shape}"
        )
    if not _within(columns, values.shape[1]):
        raise PrivacyEvalError(f"columns of the right speakers must be 0 to {values.shape[1] - 1}")
    counts = np.empty(columns.size, dtype=np.int64)
    rows = max(1, _BLOCK // values.shape[1])
    for start in range(0, columns.size, rows):
        block = values[start : start + rows]
        if not np.isfinite(block).all():
            raise PrivacyEvalError("scores must be finite numbers")
        right = np.take_along_axis(block, columns[start : start + rows, None], axis=1)
        counts[start : start + rows] = np.count_nonzero(compare(block, right), axis=1) - 1
    return counts


def as_high(scores: ArrayLike, right: ArrayLike, compare: np.ufunc = np.greater_equal) -> IntArray:
    """Count the speakers of a part of a gallery who score at least as high as the right one.

    The sum over the parts that do not hold the right speaker is the number of `beaters`.

    Parameters
    ----------
    scores : array_like, shape (enrolled, tests)
    right : array_like, shape (tests,)
        Each test's score with its speaker.
    compare : ufunc
        See `beaters`.

    Returns
    -------
    int array, shape (tests,)

    Raises
    ------
    PrivacyEvalError
        A non-finite score.

    Examples
    --------
    >>> as_high([[1.0, 3.0], [2.0, 3.0]], [2.0, 4.0])
    array([1, 0])
    """
    values = as_array(scores, "scores")
    if not np.isfinite(values).all():
        raise PrivacyEvalError("scores must be finite numbers")
    return np.asarray(np.count_nonzero(compare(values, right), axis=0), dtype=np.int64)


def closed_set_linkage(
    scores: ArrayLike, own: ArrayLike, gallery_sizes: ArrayLike, rank: int = 1
) -> FloatArray:
    """Compute how often a speaker is found in galleries of several sizes.

    A gallery holds the right speaker and N - 1 others, drawn at random from the enrolled ones;
    the probability over all galleries is hypergeometric in the number of those who beat the
    right one. Every test counts once, so speakers weigh by their tests.

    Parameters
    ----------
    scores : array_like, shape (tests, enrolled)
    own : array_like of int, shape (tests,)
        Column of each test's speaker.
    gallery_sizes : array_like of int, shape (S,)
        N, the right speaker included.
    rank : int
        Number of top scores among which the right speaker must be.

    Returns
    -------
    float array, shape (S,)
        Probabilities; chance is min(rank / N, 1).

    Raises
    ------
    PrivacyEvalError
        As `beaters`; a gallery larger than the enrolled speakers, or a rank below 1.

    Examples
    --------
    >>> closed_set_linkage([[3.0, 1.0, 2.0], [2.0, 1.0, 3.0]], [0, 0], [2, 3])
    array([0.75, 0.5 ])
    """
    beaten = [beaters(scores, own, compare) for compare in COMPARED]
    return linkage_of_beaters(beaten, np.asarray(scores).shape[1], gallery_sizes, rank)


def linkage_of_beaters(
    beaten: ArrayLike,
    n_enrolled: int,
    gallery_sizes: ArrayLike,
    rank: int = 1,
    *,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Compute closed-set linkage from the numbers of speakers who beat the right one.

    Others enter the gallery one after the other; the distribution of how many of them beat the
    right speaker is carried along, in positive terms only, and so to full precision.

    Parameters
    ----------
    beaten : array_like of int, shape (tests,) or (2, tests)
        See `beaters`; the second row are those of them who score the same, none by default.
    n_enrolled : int
    gallery_sizes : array_like of int, shape (S,)
    rank : int
    weights : array_like, shape (..., tests), optional
        Of the tests: those of bootstrap replicates; 1 by default.

    Returns
    -------
    float array, shape (..., S)

    Raises
    ------
    PrivacyEvalError
        A gallery larger than the enrolled speakers, or a rank below 1.

    Examples
    --------
    >>> linkage_of_beaters([0, 1], 3, [1, 2, 3])
    array([1.  , 0.75, 0.5 ])
    >>> linkage_of_beaters([[2], [2]], 3, [1, 2, 3]).round(3)
    array([1.   , 0.5  , 0.333])
    """
    sizes, tests = np.asarray(gallery_sizes), as_array(beaten, "ranks")
    tests, tied = tests if tests.ndim == 2 else (tests, np.zeros_like(tests))
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1 or not sizes.size:
        raise PrivacyEvalError("gallery sizes must be a list of whole numbers")
    if sizes.min() < 1 or sizes.max() > n_enrolled:
        raise PrivacyEvalError(
            f"gallery sizes must be 1 to {n_enrolled}, the number of enrolled speakers; larger "
            "ones need more people, such as distractors (--distractors)"
        )
    if rank < 1:
        raise PrivacyEvalError(f"rank must be at least 1, not {rank}")
    # Drawing among t tied ones, a test has any number of beaters up to t fewer, equally likely.
    (first, last), place = np.unique([tests - tied, tests], axis=1, return_inverse=True)
    place = place.reshape(-1)
    ranges = map(np.arange, first.tolist(), (last + 1).tolist())
    distinct = np.unique(np.concatenate([*ranges]))
    edges = np.stack([np.searchsorted(distinct, first), np.searchsorted(distinct, last) + 1])
    mass = _mass_of_distinct(np.ones(tests.size) if weights is None else weights, place)
    others = n_enrolled - 1
    # Row j: probability that exactly j speakers of the gallery beat the right one.
    exactly = np.zeros((min(rank, n_enrolled), distinct.size))
    exactly[0] = 1
    count = np.arange(len(exactly))[:, None]
    curve = np.empty((*mass.shape[:-1], int(sizes.max())))
    curve[..., 0] = 1
    for drawn in range(curve.shape[-1] - 1):
        beating = np.maximum(distinct - count, 0) / (others - drawn)
        joined = exactly[:-1] * beating[:-1]
        exactly *= 1 - beating
        exactly[1:] += joined
        found = np.add.reduceat(np.append(exactly.sum(axis=0), 0.0), edges.T.ravel())[::2]
        curve[..., drawn + 1] = mass @ (found / (last - first + 1))
    return np.asarray(curve[..., sizes - 1], dtype=np.float64)


def _mass_of_distinct(weights: ArrayLike, place: IntArray) -> FloatArray:
    """Sum the weights of tests with equal numbers of beaters, as fractions of the total."""
    of_tests = np.asarray(weights, dtype=np.float64)
    rows = of_tests.reshape(-1, place.size)
    size = int(place.max()) + 1
    index = place + size * np.arange(len(rows))[:, None]
    summed = np.bincount(index.ravel(), rows.ravel(), size * len(rows)).reshape(-1, size)
    shares = summed / summed.sum(axis=1, keepdims=True)
    return np.asarray(shares.reshape(*of_tests.shape[:-1], size), dtype=np.float64)


#: Said of rates whose interval counts speakers.
OF_SPEAKERS = (
    "Where every test or none succeeds, the interval counts speakers, not tests (Wilson's)"
)


def wilson_interval(rate: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's interval of a rate of n independent tests.

    Parameters
    ----------
    rate : float
    n : int
    level : float
        Nominal coverage.

    Returns
    -------
    (float, float)

    References
    ----------
    Newcombe (1998), "Two-sided confidence intervals for the single proportion", method 3.

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 12)
    >>> round(low, 2), round(high, 2)
    (0.25, 0.75)
    """
    from scipy.special import ndtri  # slow to import

    square = float(ndtri((1 + level) / 2)) ** 2
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = math.sqrt(rate * (1 - rate) * square / n + (square / (2 * n)) ** 2) / (1 + square / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def rate_interval(drawn: ArrayLike, rate: float, n_drawn: int, n_units: int) -> tuple[float, float]:
    """Compute the 95 % interval of a rate of tests from its bootstrap replicates.

    Where no replicate differs from the others, as where every test succeeds, it is Wilson's of
    the number of speakers: the tests of a speaker are alike, so that more of them tell little.

    Parameters
    ----------
    drawn : array_like, shape (replicates,)
    rate : float
    n_drawn : int
        Number of units that the bootstrap drew, such as speakers; of strata, the smallest one's.
    n_units : int
        Number of all of them.

    Returns
    -------
    (float, float)

    Examples
    --------
    >>> rate_interval([1.0] * 100, 1.0, 12, 12) == wilson_interval(1.0, 12)
    True
    """
    if np.ptp(drawn) == 0:
        return wilson_interval(rate, n_units)
    interval = expanded_interval(drawn, n_drawn)
    return interval.low, interval.high


#: A speaker's tests 1, 3, 5, ..., and 2, 4, 6, ...: folds of rows.
HALVES = ("odd", "even")


@dataclass(frozen=True)
class SpeakerLinkage:
    """Identification rate of one speaker.

    Attributes
    ----------
    speaker : str
    n_tests : int
    linkage : float
    first, second : float
        Of the speaker's tests 1, 3, 5, ... and 2, 4, 6, ...: speakers selected as worst on the one
        half are evaluated without bias on the other.
    """

    speaker: str
    n_tests: int
    linkage: float
    first: float
    second: float


def speaker_linkage(
    beaten: ArrayLike,
    speaker: ArrayLike,
    names: Sequence[str],
    n_enrolled: int,
    gallery_size: int,
    rank: int = 1,
) -> tuple[SpeakerLinkage, ...]:
    """Compute the linkage of each speaker with at least `MIN_SPEAKER_TESTS` tests.

    Parameters
    ----------
    beaten : array_like of int, shape (tests,) or (2, tests)
        See `linkage_of_beaters`.
    speaker : array_like of int, shape (tests,)
        Which of the names each test is of.
    names : sequence of str
    n_enrolled, gallery_size, rank : int
        See `linkage_of_beaters`.

    Returns
    -------
    tuple of SpeakerLinkage
        From the most often found one; equal ones by name.

    Raises
    ------
    PrivacyEvalError
        As `linkage_of_beaters`.

    Examples
    --------
    >>> speakers = speaker_linkage([0, 1, 0, 1, 0, 9], [0, 0, 0, 0, 0, 1], ["a", "b"], 10, 10)
    >>> [(s.speaker, s.linkage, s.first, s.second) for s in speakers]
    [('a', 0.6, 1.0, 0.0)]
    """
    own = as_array(speaker, "speakers")
    counts = np.bincount(own, minlength=len(names))
    order = np.argsort(own, kind="stable")
    within = np.empty(own.size, dtype=np.int64)
    within[order] = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
    listed = np.flatnonzero(counts >= MIN_SPEAKER_TESTS)
    if not listed.size:
        return ()
    all_tests = own == listed[:, None]
    weights = np.stack([all_tests, all_tests & (within % 2 == 0), all_tests & (within % 2 == 1)])
    linkage = linkage_of_beaters(beaten, n_enrolled, [gallery_size], rank, weights=weights)[..., 0]
    rows = zip(listed.tolist(), *linkage.tolist(), strict=True)
    speakers = (SpeakerLinkage(names[i], int(counts[i]), *values) for i, *values in rows)
    return tuple(sorted(speakers, key=lambda s: (-s.linkage, s.speaker)))


def worst_overlaps(
    linkage: ArrayLike, *, replicates: int = 200, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Compare which speakers are found most often by several attackers, or in several systems.

    The worst are the quarter that is found most often, including ties with the last of them.

    Parameters
    ----------
    linkage : array_like, shape (K, S)
        Of the same S speakers in K configurations.
    replicates : int
        Bootstrap replicates over the speakers.
    seed : int
        Of the bootstrap.

    Returns
    -------
    jaccard, correlation : float arrays, shape (replicates + 1, K, K)
        Jaccard indices of the sets of the worst speakers, and rank correlations (Spearman's; 0
        where all ranks are equal), of each pair: first those of all speakers, then those of the
        replicates.

    Examples
    --------
    >>> jaccard, correlation = worst_overlaps([[0.9, 0.5, 0.4, 0.3], [0.8, 0.9, 0.2, 0.1]])
    >>> float(jaccard[0, 0, 1]), round(float(correlation[0, 0, 1]), 3)
    (0.0, 0.8)
    """
    values = np.asarray(linkage, dtype=np.float64)
    n = values.shape[1]
    rows = np.vstack([np.arange(n), np.random.default_rng(seed).integers(0, n, (replicates, n))])
    drawn = values[:, rows].swapaxes(0, 1)
    worst = most_often_found(drawn).astype(np.float64)
    both, size = worst @ worst.swapaxes(1, 2), worst.sum(axis=2)
    ranks = average_ranks(drawn)
    ranks -= ranks.mean(axis=2, keepdims=True)
    norm = np.sqrt((ranks**2).sum(axis=2, keepdims=True))
    ranks /= np.where(norm > 0, norm, 1)
    return both / (size[:, :, None] + size[:, None] - both), ranks @ ranks.swapaxes(1, 2)


def most_often_found(linkage: ArrayLike) -> BoolArray:
    """Tell who is in the quarter that is found most often, including ties with the last of it.

    Parameters
    ----------
    linkage : array_like, shape (..., S)
        Of S speakers.

    Returns
    -------
    bool array, shape (..., S)

    Examples
    --------
    >>> most_often_found([[0.9, 0.5, 0.4, 0.3], [1.0, 1.0, 1.0, 0.3]]).sum(axis=1).tolist()
    [1, 3]
    """
    values = np.asarray(linkage, dtype=np.float64)
    n = values.shape[-1]
    most: BoolArray = values >= np.sort(values, axis=-1)[..., n - -(-n // 4), None]
    return most


def split_halves(speakers: Sequence[SpeakerLinkage]) -> tuple[float, float]:
    """Pick the quarter of speakers found most often in the first half of their tests.

    The mean of the other half is free of the bias of the pick.

    Parameters
    ----------
    speakers : sequence of SpeakerLinkage, at least one

    Returns
    -------
    first, second : float
        Their mean linkage in the half that they were picked by, and in the other one.

    Examples
    --------
    >>> split_halves([SpeakerLinkage("a", 9, 0.6, 1.0, 0.0), SpeakerLinkage("b", 9, 0.5, 0.4, 0.6)])
    (1.0, 0.0)
    """
    ordered = sorted(speakers, key=lambda s: (-s.first, s.speaker))
    picked = ordered[: -(-len(ordered) // 4)]
    first, second = np.mean([(s.first, s.second) for s in picked], axis=0).tolist()
    return first, second


@dataclass(frozen=True, eq=False)
class SinglingOut:
    """Rate at which exactly one test speaker is accepted for an enrolled speaker.

    Attributes
    ----------
    value : float
        Fraction of isolated speakers, over enrolled speakers and draws. Far above chance is bad;
        below chance is not more private.
    drawn : int array, shape (enrolled, draws, N)
        The test speakers.
    thresholds : float array, shape (enrolled, draws)
    above : int array, shape (enrolled, draws)
        Test speakers whose score lies above the threshold.
    isolated : float array, shape (enrolled, draws)
        Probability that it is exactly one: 0 or 1, unless scores tie with the threshold.
    """

    value: float
    drawn: IntArray
    thresholds: FloatArray
    above: IntArray
    isolated: FloatArray


def single_out(
    test_scores: ArrayLike,
    calibration_scores: ArrayLike,
    own: ArrayLike,
    *,
    n_speakers: int | None = None,
    draws: int = 5,
    seed: int = 0,
    drawn: ArrayLike | None = None,
) -> SinglingOut:
    """Compute how often an enrolled speaker is singled out of N test speakers.

    The threshold of an enrolled speaker lies midway between the M-th and the (M+1)-th highest
    calibration score of the drawn speakers, where M is how many calibration scores the own
    speaker has. Isolated means that exactly one of the drawn speakers has a test score above
    it, whoever it is. Where these two tie, a test score equal to them is above as often as they are
    among the M highest.

    Parameters
    ----------
    test_scores : array_like, shape (enrolled, speakers)
        Of one test conversation of each test speaker.
    calibration_scores : array_like, shape (enrolled, speakers, M)
        Of other conversations of the same speakers; NaN where a speaker has fewer than M.
    own : array_like of int, shape (enrolled,)
        Which of the test speakers is the enrolled one.
    n_speakers : int, optional
        N, all by default; the own speaker is always among them.
    draws : int
        Random choices of N - 1 others, for each enrolled speaker.
    seed : int
        Of the draws.
    drawn : array_like of int, shape (enrolled, draws, N), optional
        The test speakers, instead of drawing them.

    Returns
    -------
    SinglingOut

    Raises
    ------
    PrivacyEvalError
        Inconsistent shapes; non-finite scores; missing calibration scores of the enrolled speaker
        or of other speakers.

    Examples
    --------
    >>> single_out([[3.0, 0.0]], [[[2.0], [1.0]]], [0]).isolated
    array([[1., 1., 1., 1., 1.]])
    """
    tests = as_array(test_scores, "scores", np.float64)
    calibration = as_array(calibration_scores, "scores", np.float64)
    columns = as_array(own, "columns")
    if tests.ndim != 2 or calibration.ndim != 3 or calibration.shape[:2] != tests.shape:
        raise PrivacyEvalError(
            "expected test scores of enrolled by test speakers and calibration scores with a "
            f"third axis, not arrays of shapes {tests.shape} and {calibration.shape}"
        )
    n_enrolled, n_tests = tests.shape
    if columns.shape != (n_enrolled,) or not _within(columns, n_tests):
        raise PrivacyEvalError(f"expected {n_enrolled} columns of right speakers below {n_tests}")
    if not np.isfinite(tests).all() or np.isinf(calibration).any():
        raise PrivacyEvalError("scores must be finite numbers")
    if drawn is None:
        size = n_tests if n_speakers is None else n_speakers
        if not 2 <= size <= n_tests or draws < 1:
            raise PrivacyEvalError(f"expected 2 to {n_tests} speakers and at least one draw")
        chosen = _draw_with_own(columns, n_tests, size, draws, np.random.default_rng(seed))
    else:
        chosen = np.asarray(drawn)
        if chosen.ndim != 3 or len(chosen) != n_enrolled or not _within(chosen, n_tests):
            raise PrivacyEvalError(f"drawn speakers of shape {chosen.shape} are not of these tests")
    ranks = np.count_nonzero(~np.isnan(calibration[np.arange(n_enrolled), columns]), axis=1)
    rows = np.arange(n_enrolled)[:, None, None]
    given = calibration[rows, chosen].reshape(*chosen.shape[:2], -1)
    thresholds = _midpoints(given, ranks)
    at, tried = thresholds[..., None], tests[rows, chosen]
    above, tied, known = (
        np.count_nonzero(of, axis=2) for of in (tried > at, tried == at, given == at)
    )
    # Of calibration scores that tie with the threshold, the M highest are drawn: so many of them.
    over = ranks[:, None] - np.count_nonzero(given > at, axis=2)
    share = np.where((over > 0) & (over < known), over / np.maximum(known, 1), 0.0)
    one = np.where(above == 0, tied * share * (1 - share) ** np.maximum(tied - 1, 0), 0.0)
    isolated = np.where(above == 1, (1 - share) ** tied, one)
    return SinglingOut(float(np.mean(isolated)), chosen, thresholds, above, isolated)


def _within(columns: IntArray, size: int) -> bool:
    whole = columns.dtype.kind in "iu" and columns.size > 0
    return bool(whole and columns.min() >= 0 and columns.max() < size)


def _draw_with_own(
    own: IntArray, n_tests: int, size: int, draws: int, rng: np.random.Generator
) -> IntArray:
    """Draw speakers without replacement, the right one first."""
    keys = rng.random((own.size, draws, n_tests))
    np.put_along_axis(keys, own[:, None, None], -1, axis=2)
    return np.argsort(keys, axis=2)[..., :size]


def _midpoints(scores: FloatArray, ranks: IntArray) -> FloatArray:
    """Compute the midpoints of the M-th and (M+1)-th highest scores of the last axis, ignoring
    NaN."""
    descending = -np.sort(-scores, axis=2)  # NaN come last
    given = np.count_nonzero(~np.isnan(scores), axis=2)
    if (ranks < 1).any() or (given <= ranks[:, None]).any():
        raise PrivacyEvalError(
            "a threshold needs calibration scores of the enrolled speaker and of another one"
        )
    at = np.broadcast_to(ranks[:, None, None], (*given.shape, 1))
    pair = [np.take_along_axis(descending, at - back, axis=2)[..., 0] for back in (1, 0)]
    return pair[1] + (pair[0] - pair[1]) / 2


def singling_out_chance(n_speakers: ArrayLike) -> FloatArray:
    """Compute the chance level of singling out: (1 - 1/N)^(N-1).

    Parameters
    ----------
    n_speakers : array_like of int, shape (S,)
        N.

    Returns
    -------
    float array, shape (S,)
        1/e in the limit.

    Examples
    --------
    >>> singling_out_chance([2, 20]).round(3)
    array([0.5  , 0.377])
    """
    sizes = np.asarray(n_speakers, dtype=np.float64)
    return np.asarray((1 - 1 / sizes) ** (sizes - 1), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class SinglingOutCurve(Printed):
    """Singling out among several numbers of test speakers; never to be ranked.

    Attributes
    ----------
    sizes : tuple of int
        N; empty where it is refused.
    values : tuple of float
        See `SinglingOut.value`, means over draws of conversations and speakers.
    n_speakers : int
        Enrolled speakers with enough conversations; they are the test speakers, too.
    refused : str
        Why it cannot be computed from the data.
    intervals : tuple of (float, float)
        95 % bounds over enrolled speakers, by size; empty without a bootstrap.
    """

    sizes: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    n_speakers: int = 0
    refused: str = ""
    intervals: tuple[tuple[float, ...], ...] = ()

    def chance(self) -> list[float]:
        """Return the chance levels by size."""
        return [float(p) for p in singling_out_chance(self.sizes)]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rates by number of test speakers as rows of numbers."""
        every = itertools.zip_longest(self.sizes, self.values, self.chance(), self.intervals)
        return [
            {"metric": "singling_out", "gallery": size, "value": value, "chance": chance}
            | dict(zip(("low", "high"), bounds or (None, None), strict=True))
            for size, value, chance, bounds in every
        ]

    @property
    def notes(self) -> list[str]:
        """Why there are no rates."""
        return [f"no singling out: {self.refused}"] * bool(self.refused)


def singling_out_curve(
    scores: ArrayLike,
    speaker: ArrayLike,
    sizes: Sequence[int],
    *,
    calibration: int = 9,
    draws: int = 50,
    replicates: int = 0,
    seed: int = 0,
) -> SinglingOutCurve:
    """Compute singling out among N test speakers, with conversations drawn for calibration.

    Every draw takes one test and `calibration` other conversations of each speaker, and N
    speakers for each enrolled one.

    Parameters
    ----------
    scores : array_like, shape (S, conversations)
        Of the enrolled speakers, who speak all conversations.
    speaker : array_like of int, shape (conversations,)
        Row of each conversation's speaker.
    sizes : sequence of int
        N; those above the number of speakers with enough conversations are left out, and their
        number is added.
    calibration : int
        Conversations of each speaker; the paper has 9.
    draws, seed : int
    replicates : int
        Of a bootstrap over enrolled speakers, against the same test speakers; 0 for no intervals.

    Returns
    -------
    SinglingOutCurve
        Refused if fewer than two speakers have `calibration` + 1 conversations.

    Examples
    --------
    >>> singling_out_curve([[3.0, 0.0]], [0, 0], [2]).refused
    '0 enrolled speakers have the 10 tests needed'
    >>> scores = np.eye(3).repeat(2, axis=1)
    >>> singling_out_curve(scores, [0, 0, 1, 1, 2, 2], [2], calibration=1).values
    (1.0, 1.0)
    """
    values, of = as_array(scores, "scores"), as_array(speaker, "speakers")
    needed, rng = calibration + 1, np.random.default_rng(seed)
    enough = np.flatnonzero(np.bincount(of, minlength=len(values)) >= needed)
    if enough.size < 2:
        return SinglingOutCurve(
            n_speakers=int(enough.size),
            refused=f"{enough.size} enrolled speakers have the {needed} tests needed",
        )
    if enough.size > _MAX_SINGLED:
        enough = np.sort(rng.choice(enough, _MAX_SINGLED, replace=False))
    n = int(enough.size)
    taken = (*(size for size in sizes if 2 <= size < n), n)
    first = np.searchsorted(np.sort(of), enough)[:, None] + np.arange(needed)
    hits = np.zeros((len(taken), n))
    for draw in range(draws):
        order = np.lexsort((rng.random(of.size), of))
        picked = values[np.ix_(enough, order[first].ravel())].reshape(n, n, needed)
        for i, size in enumerate(taken):
            # A size has the same groups whatever other sizes are asked for.
            (of_size,) = np.random.SeedSequence((seed, draw, size)).generate_state(1)
            one = single_out(
                *(picked[..., 0], picked[..., 1:], np.arange(n)),
                n_speakers=size,
                draws=1,
                seed=int(of_size),
            )
            hits[i] += one.isolated[:, 0]
    values_of_sizes = tuple((hits.sum(axis=1) / (draws * n)).tolist())
    intervals: tuple[tuple[float, float], ...] = ()
    if replicates:
        drawn = hits @ rng.multinomial(n, np.full(n, 1 / n), replicates).T / (draws * n)
        intervals = tuple(
            rate_interval(of_size, value, n_drawn=n, n_units=n)
            for value, of_size in zip(values_of_sizes, drawn, strict=True)
        )
    return SinglingOutCurve(taken, values_of_sizes, n, intervals=intervals)


def rank_disclosure(rank_counts: ArrayLike) -> tuple[float, float]:
    """Compute what ranks disclose, from how many tests have each.

    A rank discloses log2 N + log2 P(rank). The probabilities are relative frequencies; no
    distribution is fitted to them.

    Parameters
    ----------
    rank_counts : array_like, shape (N,)
        Tests whose right speaker has rank 1, 2, ... of N; `np.bincount` of `beaters`.

    Returns
    -------
    mean, largest : float
        In bits, over tests.

    Raises
    ------
    PrivacyEvalError
        No tests, or a negative count.

    Examples
    --------
    >>> [round(bits, 3) for bits in rank_disclosure([3, 1, 0, 0])]
    [1.189, 1.585]
    """
    counts = as_array(rank_counts, "counts", np.float64)
    if counts.ndim != 1 or not counts.sum() > 0 or counts.min() < 0:
        raise PrivacyEvalError("expected how many tests have rank 1, 2, ..., and at least one test")
    probability = counts / counts.sum()
    seen = probability[probability > 0]
    bits = np.log2(counts.size * seen)
    return float(np.sum(seen * bits)), float(bits.max())
