"""Amount of speech: error rates of tests of several numbers of utterances.

An utterance more in a test averages out what varies between utterances, so an attacker with more
speech errs less. Tests are runs of consecutive utterances of a speaker that do not overlap.

Reference: Vauquier, Srivastava, Hosseini, Vincent, "Legally validated evaluation framework for
voice anonymization" (Interspeech 2025), whose tests have 1, 3 and 30 utterances.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, counted
from ..metrics.caveats import NOT_AVAILABLE
from ..metrics.confidence import speaker_bootstrap
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.registry import METRICS
from ..metrics.trials import Ids, Table, Trials
from ..metrics.utility import ratio_bootstrap
from .linkage import rate_interval

#: Numbers of utterances per test.
AMOUNTS = (1, 2, 3, 5, 10, 30)

#: Most comparisons whose EER has an interval; a bootstrap of more would take too long.
MOST_RESAMPLED = 2_000_000

#: Scores compared at a time, and scores that tell roughly where the EER is.
_CACHED, _SAMPLE = 1 << 18, 1_000_000


#: Tests of one length: scores with all enrolled speakers, shape (tests, enrolled), NaN
#: where a pair was not compared; column of the speaker, shape (tests,); seconds of speech
#: of each, shape (tests,), where they are known.
Tests = tuple[NDArray[Any], ...]


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


@dataclass(frozen=True, repr=False)
class AmountCurve(Printed):
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

    def __getitem__(self, metric: str) -> dict[int, float | None]:
        return {amount.length: getattr(amount, metric) for amount in self.all}

    def _parts(self) -> Iterator[tuple[str, Amount]]:
        """Yield the amounts with a description of their tests."""
        for tests, amounts in {
            "of all": self.all,
            f"of the same {self.equal[-1].speakers} speakers at every length": self.equal,
            "within one session": self.one_session,
            "all of the same speakers": self.any_session,
        }.items():
            yield from ((tests, amount) for amount in amounts)

    def to_rows(self) -> list[dict[str, Any]]:
        """List the error rates, and the seconds of speech, as measurements."""
        return [*amount_rows(self)]

    def cells(self) -> list[dict[str, str]]:
        """Format a row per kind of tests and number of utterances."""
        rate = METRICS["eer"]

        def text(value: float | None, bounds: tuple[float, float] | None) -> str:
            return (
                NOT_AVAILABLE if value is None else f"{rate.format(value)} {rate.interval(bounds)}"
            )

        return [
            {
                "tests": tests,
                "sentences": str(of.length),
                **({} if of.seconds is None else {"s": f"{of.seconds:.1f}"}),
                "n": str(of.conversations),
                "speakers": str(of.speakers),
                "EER, %": text(of.eer, of.eer_interval),
                "right person first, %": text(of.rank1, of.rank1_interval),
            }
            for tests, of in self._parts()
        ]

    @property
    def notes(self) -> list[str]:
        """How much more an attacker learns from the longest tests."""
        first, last = self.equal[0], self.equal[-1]
        if first.length == last.length or first.rank1 is None or last.rank1 is None:
            return []
        return [
            f"with {counted(last.length, 'sentence')} instead of {first.length}, the right one of "
            f"the enrolled people is found {last.rank1:.1%} instead of {first.rank1:.1%} of the "
            "time"
        ]


def amount_rows(curve: Any) -> Iterator[dict[str, Any]]:
    """Yield error rates by the amount of speech as measurements.

    Parameters
    ----------
    curve : AmountCurve
        Or what has its attributes.

    Yields
    ------
    dict
    """
    kinds = (
        ("", "all", curve.all),
        ("", "equal", curve.equal),
        ("one", "", curve.one_session),
        ("any", "", curve.any_session),
    )
    available = {a.length: a.speakers for a in curve.all}
    for session, speakers, amounts in kinds:
        for a in amounts:
            of: dict[str, Any] = {"sentences": a.length, "session": session, "speakers": speakers}
            of |= {"n_speakers": a.speakers, "n_tests": a.conversations}
            of["n_available"] = available[a.length] if speakers == "equal" else None
            for key, bounds in (("eer", a.eer_interval), ("rank1", a.rank1_interval)):
                low, high = bounds or (None, None)
                yield {**of, "metric": key, "value": getattr(a, key), "low": low, "high": high}
            yield {**of, "metric": "seconds", "value": a.seconds}


def amount_curve(
    tests: Mapping[int, Tests],
    speakers: Sequence[str],
    *,
    within_sessions: Mapping[int, Tests] = MappingProxyType({}),
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates by the number of utterances per test.

    Parameters
    ----------
    tests : mapping of int to Tests
        By the number of utterances.
    speakers : sequence of str
        Names of the columns.
    within_sessions : mapping of int to Tests
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
    >>> one = np.array([[2.0, 1.0], [1.5, 1.0], [3.0, 2.0]]), np.array([0, 0, 1])
    >>> two = np.array([[1.75, 1.0]]), np.array([0])
    >>> curve = amount_curve({1: one, 2: two}, ["a", "b"])
    >>> [(a.length, a.conversations, round(a.rank1, 2)) for a in curve.all]
    [(1, 3, 0.67), (2, 1, 1.0)]
    >>> [a.conversations for a in curve.equal]
    [2, 1]
    """
    computed = {length: error_rates(length, tests[length]) for length in sorted(tests)}
    own = {length: tests[length][1] for length in computed if tests[length][1].size}
    if not own:
        raise PrivacyEvalError("no enrolled speaker has as many test utterances as one test")
    remaining = functools.reduce(np.intersect1d, own.values())
    if not remaining.size:
        raise PrivacyEvalError("no enrolled speaker has tests of every length")

    def rates(length: int, of: Mapping[int, Tests], columns: IntArray) -> Amount:
        """Compute the error rates of some speakers, with intervals if there are replicates."""
        chosen, kept = of[length], np.isin(of[length][1], columns)
        if of is tests and kept.all():
            amount = computed[length]
        else:
            scores, own, *seconds = chosen
            chosen = scores[kept], own[kept], *(each[kept] for each in seconds)
            amount = error_rates(length, chosen)
        return _with_intervals(chosen, amount, speakers, replicates, seed) if replicates else amount

    within = {
        length: within_sessions[length][1]
        for length in own
        if length in within_sessions and np.unique(within_sessions[length][1]).size > 1
    }
    return AmountCurve(
        tuple(computed.values()),
        tuple(rates(length, tests, remaining) for length in own),
        tuple(rates(length, within_sessions, columns) for length, columns in within.items()),
        tuple(rates(length, tests, columns) for length, columns in within.items()),
    )


def amounts(
    trials: Table, lengths: Iterable[int] | int, *, bootstrap: int = 0, seed: int = 0
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, whose scores are averaged.

    A speaker's utterances are sorted by name. A pair without a score of every utterance of a test
    is not compared. Of cosine scores, ranks are those of averaged unit vectors, but the EER is
    higher: where there are vectors, use them.

    Parameters
    ----------
    trials : Trials
        With the speakers of both sides; columns `seconds` and `session` of utterances tell how
        much speech tests have, and which are of one session.
    lengths : iterable of int, or int
        Utterances per test.
    bootstrap, seed : int
        See `amount_curve`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        As `amount_curve`; a speaker enrolled under several ids; trials whose speaker has no trial
        of their own.

    Examples
    --------
    >>> trials = Trials(
    ...     score=[2, 1, 3, 1, 0, 1],
    ...     label=[1, 1, 1, 0, 0, 0],
    ...     enrolled=["a", "a", "b", "b", "b", "a"],
    ...     utterance=["a-1", "a-2", "b-1", "a-1", "a-2", "b-1"],
    ...     trial_speaker=["a", "a", "b", "a", "a", "b"],
    ... )
    >>> [(a.conversations, a.rank1) for a in amounts(trials, [1, 2]).all]
    [(3, 1.0), (1, 1.0)]
    """
    trials = Trials.of(trials).unweighted
    lengths = sorted({lengths} if isinstance(lengths, int) else {*lengths})
    sides = trials.speakers
    names = sides[0].used
    if "enrolled" in trials and (ids := len(trials.enrolled.used)) > len(names):
        raise PrivacyEvalError(
            f"{ids} enrolled ids of {len(names)} speakers: tests of several utterances need one "
            "enrolled id per speaker"
        )
    utterances = sorted(trials.utterance.used)
    row, column = trials.utterance.among(utterances).codes, sides[0].among(names).codes
    matrix = np.full((len(utterances), len(names)), np.nan)
    matrix[row, column] = trials.score
    of_row = np.empty(len(utterances), dtype=np.int64)
    of_row[row] = np.arange(len(trials))
    own = sides[1].among(names).codes[of_row].astype(np.int64)
    if own.max() < 0:
        raise PrivacyEvalError(f"no test speaker is enrolled: {abbreviate(sides[1].used)}")
    seconds = [trials["seconds"][of_row]] if "seconds" in trials else []

    def averaged(groups: IntArray) -> dict[int, Tests]:
        runs = {n: _runs(np.where(own < 0, -1, groups), n) for n in lengths}
        return {length: _averaged(matrix, own, runs[length], *seconds) for length in runs}

    within: dict[int, Tests] = {}
    if "session" in trials:
        both = zip(sides[1].take(of_row), trials["session"].take(of_row), strict=True)
        texts = [f"{speaker} {session}" for speaker, session in both]
        within = averaged(np.unique(texts, return_inverse=True)[1])
    drawn = {"replicates": bootstrap, "seed": seed}
    return amount_curve(averaged(own), names, within_sessions=within, **drawn)


def _runs(groups: IntArray, length: int) -> IntArray:
    """Cut the rows of each group into runs, shape (tests, length); rows of group -1 are left."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups[groups >= 0])]
    whole = [some[: some.size - some.size % length] for some in rows]
    return np.concatenate(whole).reshape(-1, length)


def _averaged(matrix: FloatArray, own: IntArray, runs: IntArray, *seconds: FloatArray) -> Tests:
    """Average the scores of runs of utterances."""
    scores = matrix[runs[:, 0]]
    for place in range(1, runs.shape[1]):
        scores += matrix[runs[:, place]]
    scores /= runs.shape[1]
    of_tests = own[runs[:, 0]]
    kept = ~np.isnan(scores[np.arange(of_tests.size), of_tests])
    return scores[kept], of_tests[kept], *(each[runs].sum(axis=1)[kept] for each in seconds)


def error_rates(length: int, tests: Tests) -> Amount:
    """Compute the error rates of tests of one number of utterances, without intervals.

    Parameters
    ----------
    length : int
    tests : Tests

    Returns
    -------
    Amount

    Examples
    --------
    >>> error_rates(1, (np.array([[2.0, 1.0]]), np.array([0]))).rank1
    1.0
    """
    scores, own, *seconds = tests
    if not own.size:
        return Amount(length, 0, 0, None, None)
    rates = matrix_eer(scores, own), float(np.mean(_is_first(scores, own)))
    mean = float(np.mean(seconds[0])) if seconds else None
    return Amount(length, own.size, np.unique(own).size, *rates, seconds=mean)


def _is_first(scores: NDArray[np.floating], own: IntArray) -> FloatArray:
    """Tell whether the right speaker scores highest, shape (tests,); of tied ones, the probability
    of drawing the right one."""
    hits = np.empty(own.size)
    rows = max(1, _CACHED // scores.shape[1])
    for start in range(0, own.size, rows):
        block = scores[start : start + rows]
        best = np.take_along_axis(block, own[start : start + rows, None], axis=1)
        reached = (block >= best).view(np.uint8)  # faster than np.count_nonzero along an axis
        beaten = (block > best).any(axis=1)
        hits[start : start + rows] = ~beaten / reached.sum(axis=1, dtype=np.uint32)
    return hits


def matrix_eer(scores: NDArray[np.floating], own: IntArray) -> float | None:
    """Compute Kaldi's EER of all comparisons of a matrix, without sorting the nontargets.

    Parameters
    ----------
    scores : float array, shape (tests, enrolled)
    own : int array, shape (tests,)
        As of `Tests`.

    Returns
    -------
    float or None
        As `kaldi_eer`; None without a nontarget.

    Examples
    --------
    >>> matrix_eer(np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([0, 1]))
    0.5
    """
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32, copy=False)
    target = np.sort(np.take_along_axis(single, own[:, None], axis=1).ravel())
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
    tests: Tests, amount: Amount, speakers: Sequence[str], replicates: int, seed: int
) -> Amount:
    scores, own = tests[:2]
    columns, place, counts = np.unique(own, return_inverse=True, return_counts=True)
    right = _is_first(scores, own)
    drawn = ratio_bootstrap(
        counts,
        np.bincount(place, right),
        name="rank1",
        speakers=[speakers[column] for column in columns],
        replicates=replicates,
        seed=seed,
    )
    rate = float(np.mean(right))
    rank1 = rate_interval(drawn.values["rank1"], rate, drawn.n_speakers, drawn.n_speakers)
    compared = ~np.isnan(scores)
    eer = None
    if amount.eer is not None and np.count_nonzero(compared) <= MOST_RESAMPLED:
        row, column = np.nonzero(compared)
        trials = Trials(
            score=scores[row, column],
            label=own[row] == column,
            enrolled_speaker=Ids(column, speakers),
            trial_speaker=Ids(own[row], speakers),
        )
        metrics = ["exact eer"]
        of_eer = speaker_bootstrap(trials, metrics=metrics, replicates=replicates, seed=seed)
        bounds = of_eer.interval("exact eer")
        eer = bounds.low, bounds.high
    return replace(amount, eer_interval=eer, rank1_interval=rank1)
