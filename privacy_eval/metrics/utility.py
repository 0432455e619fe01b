"""Counts of word errors, and sums of measures by speaker, whose rates have intervals over speakers.

Rates are fractions. Words are aligned by kaldialign, the extra `wer` of the package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError, library
from .arguments import as_names
from .confidence import BootstrapReplicates, seeded_by, text_digest

#: Fraction of words by which a reported rate may differ from its transcripts.
MAX_DIFFERENCE = 0.01


@dataclass(frozen=True)
class WordErrors:
    """Counts of an alignment of reference and hypothesis.

    Attributes
    ----------
    words : int
        Words of the reference.
    insertions, deletions, substitutions : int
    """

    words: int
    insertions: int
    deletions: int
    substitutions: int

    @property
    def errors(self) -> int:
        """Insertions, deletions and substitutions."""
        return self.insertions + self.deletions + self.substitutions

    @property
    def wer(self) -> float | None:
        """Errors by words, a fraction; None without words."""
        return self.errors / self.words if self.words else None


@dataclass(frozen=True)
class SpeakerErrors:
    """Word errors by speaker, and how the bootstrap draws speakers, as results store them.

    Attributes
    ----------
    speakers : tuple of str
    words, errors : tuple of int
        Of each speaker.
    replicates, seed : int

    Examples
    --------
    >>> SpeakerErrors(("a", "b"), (10, 30), (1, 3), replicates=10, seed=0).sums.rate
    0.1
    """

    speakers: tuple[str, ...]
    words: tuple[int, ...]
    errors: tuple[int, ...]
    replicates: int
    seed: int

    @property
    def sums(self) -> SpeakerSums:
        """The errors as sums by speaker, whose rate is the word error rate."""
        return SpeakerSums(self.speakers, self.words, self.errors, self.replicates, self.seed)


def align_symbols(reference: list[str], hypothesis: list[str], *, purpose: str) -> WordErrors:
    """Count the words or phones of a reference, and the fewest errors that make the hypothesis.

    Parameters
    ----------
    reference, hypothesis : list of str
    purpose : str
        What needs kaldialign, for the error.

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.

    Examples
    --------
    >>> align_symbols(["k", "a", "t"], ["k", "t", "s"], purpose="phone error rates").errors
    2
    """
    counts = library("kaldialign", purpose).edit_distance(reference, hypothesis)
    return WordErrors(len(reference), counts["ins"], counts["del"], counts["sub"])


def ratio_bootstrap(
    counts: NDArray[np.int64],
    sums: NDArray[np.int64] | NDArray[np.float64],
    *,
    name: str,
    speakers: Sequence[str],
    replicates: int,
    seed: int,
) -> BootstrapReplicates:
    """Compute a pooled rate, or a mean over utterances, under resampling of speakers.

    Parameters
    ----------
    counts : int array, shape (S,) or (M, S)
        Words, phones or utterances of each speaker, also of each system if they differ.
    sums : int or float array, shape (S,) or (M, S)
        Errors of each speaker, or the sum of values over their utterances, also of each of M
        systems or kinds of values.
    name : str
        Of the rate.
    speakers : sequence of str
        Distinct names; the same names and seed draw the same speakers.
    replicates : int
        At least 2; 1000 is usual.
    seed : int

    Returns
    -------
    BootstrapReplicates
        `values` holds `name`, or `name 0` to `name M-1`, which are paired.

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers with counts.
    ValueError
        Fewer than 2 replicates.

    Examples
    --------
    >>> counts, sums = np.array([2, 2]), np.array([2.5, 7.5])
    >>> options = {"name": "mos", "speakers": ["a", "b"], "replicates": 1000, "seed": 1}
    >>> drawn = ratio_bootstrap(counts, sums, **options)
    >>> drawn.interval("mos").low, drawn.interval("mos").high
    (1.25, 3.75)
    """
    if replicates < 2:
        raise ValueError(f"replicates must be at least 2, not {replicates}")
    least = np.atleast_2d(counts).min(axis=0)
    if np.count_nonzero(least) < 2:
        raise PrivacyEvalError("a bootstrap over speakers needs at least two speakers")
    speakers = as_names(speakers, "speakers").tolist()
    generator = seeded_by(seed, [list(speakers)])
    drawn: list[NDArray[Any]] = []
    while len(drawn) < replicates:
        chosen = generator.integers(0, least.size, least.size)
        times = np.bincount(chosen, minlength=least.size)
        if times @ least:  # a rate needs words: draw again
            drawn.append((np.atleast_2d(sums) @ times) / (np.atleast_2d(counts) @ times))
    rates = np.array(drawn).T
    names = [name] if sums.ndim == 1 else [f"{name} {n}" for n in range(sums.shape[0])]
    return BootstrapReplicates(
        values=dict(zip(names, np.ascontiguousarray(rates), strict=True)),
        n_speakers=int(least.size),
        design=text_digest([list(speakers), counts.tolist()]),
        seed=seed,
    )


@dataclass(frozen=True)
class SpeakerSums:
    """Sums of a measure of utterances by speaker, and how the bootstrap draws speakers.

    Attributes
    ----------
    speakers : tuple of str
    counts : tuple of int
        Utterances, or phones, of each speaker.
    sums : tuple of float
        Of the values, or errors, of each speaker.
    replicates, seed : int

    Examples
    --------
    >>> of_speakers = SpeakerSums(("a", "b"), (2, 1), (6.0, 1.5), replicates=10, seed=0)
    >>> of_speakers.rate, of_speakers.bootstrap().interval("rate").low
    (2.5, 1.5)
    """

    speakers: tuple[str, ...]
    counts: tuple[int, ...]
    sums: tuple[float, ...]
    replicates: int
    seed: int

    @property
    def rate(self) -> float:
        """Sum by count of all speakers: a mean over utterances, or a rate."""
        return math.fsum(self.sums) / sum(self.counts)

    @classmethod
    def of(
        cls,
        values: Mapping[str, float],
        speaker_of: Mapping[str, str],
        *,
        counts: Mapping[str, int] | None = None,
        replicates: int,
        seed: int,
    ) -> SpeakerSums:
        """Sum the values of utterances by speaker.

        Parameters
        ----------
        values : mapping
            Value, or number of errors, by utterance.
        speaker_of : mapping
            Speaker of every utterance.
        counts : mapping, optional
            Phones, or words, by utterance; by default utterances are counted.
        replicates, seed : int

        Returns
        -------
        SpeakerSums
            Speakers sorted by name.
        """
        by_speaker = grouped(values, speaker_of.__getitem__)
        names = sorted(by_speaker)
        return cls(
            tuple(names),
            tuple(sum(1 if counts is None else counts[u] for u in by_speaker[s]) for s in names),
            tuple(math.fsum(values[u] for u in by_speaker[s]) for s in names),
            replicates,
            seed,
        )

    def bootstrap(self) -> BootstrapReplicates:
        """Compute the replicates, see `ratio_bootstrap`.

        Raises
        ------
        PrivacyEvalError
            Fewer than two speakers with counts.
        """
        return ratio_bootstrap(
            np.asarray(self.counts, dtype=np.int64),
            np.asarray(self.sums, dtype=np.float64),
            name="rate",
            speakers=self.speakers,
            replicates=self.replicates,
            seed=self.seed,
        )


@dataclass(frozen=True)
class GroupRate:
    """Pooled rate, or mean, of a group of speakers.

    Attributes
    ----------
    rate : float or None
        None without counts.
    count : int
        Words, or whatever the sums of speakers are divided by.
    n_speakers : int
        Those with counts.
    interval : tuple of float
        95 % bounds over speakers; empty without a bootstrap, and below `MIN_TESTED` speakers.
    """

    rate: float | None
    count: int
    n_speakers: int
    interval: tuple[float, ...] = ()


def mean_of_folds(folds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Compute the plain mean of each value over the folds (speakers) that have it.

    Parameters
    ----------
    folds : mapping
        Values of `recalls` by fold.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> mean_of_folds({"1": {"uar": 0.5, "acc_sad": 1.0}, "2": {"uar": 1.0}})
    {'uar': 0.75, 'acc_sad': 1.0}
    """
    keys = dict.fromkeys(key for values in folds.values() for key in values)
    by_key = {key: [values[key] for values in folds.values() if key in values] for key in keys}
    return {key: sum(values) / len(values) for key, values in by_key.items()}
