"""Who is named instead: enrolled people whom tests of others name, and whether more often than by
guessing.

A test names the person of a gallery with the highest score; tied ones share it. Who guesses knows
nothing of the speaker of a test: whatever names the tests of a speaker are given, they could be
those of anybody else as well. So the names that a speaker's tests are given are permuted among the
enrolled people, the speaker included, independently for each speaker: the tests of a speaker stay
together, as they are one observation, not several. The highest rate of all people in each
permutation corrects for having looked at all of them (the maximum statistic of Westfall and Young,
1993), and holds whatever the rates of people have to do with each other; Holm's correction would
need a p-value per person, which so few speakers do not give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError
from ..metrics.arguments import as_array
from ..metrics.pav import FloatArray, IntArray
from .linkage import rate_interval

#: How many people are listed, those named most often.
MOST_LISTED = 10

#: Largest numbers of pairs of speakers and enrolled people: of p-values, of values at a time, and
#: of tied highest scores.
_MOST_PAIRS, _BLOCK, _MOST_TIED = 200_000, 2_000_000, 4_000_000

#: Sums of shares differ by their order.
_SLACK = 1e-9


@dataclass(frozen=True)
class Top:
    """The highest score of a test, and who has it; of no people, 0 and nobody.

    Attributes
    ----------
    score : float
    names : tuple of str
        Sorted.
    """

    score: float = 0.0
    names: tuple[str, ...] = ()


class Highest:
    """The people with the highest scores of tests, of a gallery that is scored in blocks.

    Parameters
    ----------
    n_tests : int
    """

    def __init__(self, n_tests: int) -> None:
        self._best = np.full(n_tests, -np.inf)
        self._names: list[str] = []
        self._found: list[tuple[IntArray, IntArray]] = []

    def add(self, names: Sequence[str], scores: ArrayLike) -> None:
        """Compare the scores of a block of people, shape (people, tests)."""
        values = np.asarray(scores)
        best = np.maximum(self._best, values.max(axis=0, initial=-np.inf))
        is_lower = best > self._best
        self._found = [(who[~is_lower[test]], test[~is_lower[test]]) for who, test in self._found]
        who, test = np.nonzero(values == best)
        self._found.append((who + len(self._names), test))
        self._best = best
        self._names += names

    @property
    def named(self) -> tuple[Top, ...]:
        """The highest score of each test and who has it; none where far too many people share the
        highest scores."""
        names: list[list[str]] = [[] for _ in self._best]
        if sum(who.size for who, _ in self._found) > _MOST_TIED:
            return ()
        for who, test in self._found:
            for person, of in zip(who.tolist(), test.tolist(), strict=True):
                names[of].append(self._names[person])
        pairs = zip(self._best.tolist(), names, strict=True)
        return tuple(Top(best, tuple(sorted(of))) if of else Top() for best, of in pairs)


def merged_names(one: Sequence[Top], other: Sequence[Top]) -> tuple[Top, ...]:
    """Choose the highest scores of two parts of a gallery.

    Parameters
    ----------
    one, other : sequence of Top
        By test.

    Returns
    -------
    tuple of Top
        Empty where one part is.

    Examples
    --------
    >>> merged_names([Top(2.0, ("a",))], [Top(2.0, ("b",))])
    (Top(score=2.0, names=('a', 'b')),)
    """
    if not one or not other:
        return ()
    merged = []
    for both in zip(one, other, strict=True):
        best = max((top.score for top in both if top.names), default=0.0)
        tied = (name for top in both if top.score == best for name in top.names)
        merged.append(Top(best, tuple(sorted(tied))))
    return tuple(merged)


def shares(speaker: Sequence[int], named: Sequence[Top]) -> list[tuple[int, str, float]]:
    """Count whom the tests of speakers name; tied ones share a test.

    Parameters
    ----------
    speaker : sequence of int
        The speaker of each test.
    named : sequence of Top
        By test.

    Returns
    -------
    list of (int, str, float)
        Speakers, whom their tests name, and in how many of them.

    Examples
    --------
    >>> shares([0, 0], [Top(2.0, ("a",)), Top(1.0, ("a", "b"))])
    [(0, 'a', 1.5), (0, 'b', 0.5)]
    """
    counts: dict[tuple[int, str], float] = {}
    for of, top in zip(speaker, named, strict=False):
        for name in top.names:
            counts[of, name] = counts.get((of, name), 0.0) + 1 / len(top.names)
    return [(of, name, n) for (of, name), n in counts.items()]


def named_instead(
    named: Sequence[tuple[int, str, float]],
    speakers: Sequence[str],
    n_tests: ArrayLike,
    group_of: Mapping[str, str] | int,
    *,
    replicates: int = 0,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Compute how often tests of others name enrolled people, from the most often named one.

    Parameters
    ----------
    named : sequence of (int, str, float)
        Numbers of test speakers, enrolled people whom their tests name, and in how many tests.
    speakers : sequence of S str
        Test speakers, all of them enrolled.
    n_tests : array_like of int, shape (S,)
    group_of : mapping of str to str, or int
        The group of every enrolled person, such as the gender: names are permuted within groups,
        as an anonymizer that keeps the gender names people of one gender only. Or how many people
        are enrolled.
    replicates, seed : int
        Permutations and bootstrap draws, 0 for no p-values and intervals, and their seed.

    Returns
    -------
    list of dict
        Rows of the `MOST_LISTED` most often named people; equal ones by name. Empty without anybody
        else. `value` is the share of the `n_tests` tests of `n_speakers` others that name the
        `speaker`; `low` and `high` are the bounds of its 95 % interval over these others, not
        corrected for the choice of the person: None without a bootstrap, or with fewer than two of
        them. `p` is corrected for all enrolled people: None without a bootstrap, with fewer than
        two test speakers, or with more than 200,000 pairs of them and enrolled people.

    Raises
    ------
    PrivacyEvalError
        A speaker without tests, a person without a group.

    Examples
    --------
    >>> found = named_instead([(0, "c", 2), (1, "b", 1), (1, "c", 1)], ["a", "b"], [2, 2], 3)
    >>> [(row["speaker"], row["value"], row["n_tests"]) for row in found]
    [('c', 0.75, 4)]
    """
    tests = as_array(n_tests, "numbers of tests").astype(np.int64)
    if tests.shape != (len(speakers),) or not (tests > 0).all():
        raise PrivacyEvalError("expected a positive number of tests per speaker")
    people = [*speakers, *sorted({name for _, name, _ in named} - {*speakers})]
    groups = _groups(people, group_of)
    column = {name: number for number, name in enumerate(people)}
    counts = np.zeros((len(speakers), len(people)))
    for speaker, name, share in named:
        counts[speaker, column[name]] = share
    of_others = _of_others(counts)
    rates = of_others.sum(axis=0) / _asked(tests, len(people))
    order = sorted(np.flatnonzero(rates > 0).tolist(), key=lambda j: (-rates[j], people[j]))
    drawn = np.array([])
    if replicates and tests.size > 1 and tests.size * groups.size <= _MOST_PAIRS:
        unnamed = np.zeros((tests.size, groups.size - len(people)))
        drawn = _highest_rates(np.hstack([counts, unnamed]), tests, groups, replicates, seed)
    found = []
    for j in order[:MOST_LISTED]:
        rows = np.delete(np.arange(len(tests)), j if j < len(tests) else [])
        p = float(1 + np.sum(drawn >= rates[j] - _SLACK)) / (1 + drawn.size) if drawn.size else None
        low, high = None, None
        if replicates and rows.size > 1:
            weights = np.random.default_rng(seed).multinomial(
                rows.size, np.full(rows.size, 1 / rows.size), replicates
            )
            of_draws = weights @ of_others[rows, j] / (weights @ tests[rows])
            low, high = rate_interval(of_draws, float(rates[j]), rows.size, rows.size)
        counts_of = {"n_tests": int(tests[rows].sum()), "n_speakers": rows.size}
        ends = {"low": low, "high": high, "p": p}
        found.append({"speaker": people[j], "value": float(rates[j]), **counts_of, **ends})
    return found


def _groups(people: Sequence[str], group_of: Mapping[str, str] | int) -> IntArray:
    """Number the groups of all enrolled people, those that are given first."""
    if isinstance(group_of, int):
        groups = np.zeros(group_of, dtype=np.int64)
    else:
        names = dict.fromkeys((*people, *group_of))
        groups = np.unique([group_of.get(n, "") for n in names], return_inverse=True)[1]
    n_enrolled = group_of if isinstance(group_of, int) else len(group_of)
    if not n_enrolled == groups.size >= len(people):
        raise PrivacyEvalError(f"{len(people)} people, but {n_enrolled} enrolled")
    return groups


def _of_others(counts: FloatArray) -> FloatArray:
    """Leave out whom their own tests name, of counts of shape (..., S, people)."""
    own = np.arange(counts.shape[-2])
    counts = counts.copy()
    counts[..., own, own] = 0
    return counts


def _asked(tests: IntArray, n_people: int) -> FloatArray:
    """Count the tests of others of all people; infinite for a single speaker, whom nobody else
    could name."""
    asked = np.full(n_people, float(tests.sum()))
    asked[: tests.size] -= tests
    return np.where(asked > 0, asked, np.inf)


def _highest_rates(
    counts: FloatArray, tests: IntArray, groups: IntArray, replicates: int, seed: int
) -> FloatArray:
    """Draw the highest rate of all enrolled people where names are permuted within groups, shape
    (replicates,)."""
    generator, step = np.random.default_rng(seed), max(1, _BLOCK // counts.size)
    asked, highest = _asked(tests, groups.size), []
    for start in range(0, replicates, step):
        drawn = np.tile(counts, (min(step, replicates - start), 1, 1))
        for group in np.unique(groups):
            columns = np.flatnonzero(groups == group)
            drawn[..., columns] = generator.permuted(drawn[..., columns], axis=2)
        highest.append((_of_others(drawn).sum(axis=1) / asked).max(axis=1))
    return np.concatenate(highest)
