"""Mean opinion scores of systems, and tests between every two of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..io.ratings import Ratings
from ..metrics.comparison import holm
from ..metrics.opinions import Sample, mean_opinion, opinion_difference


@dataclass(frozen=True)
class MeanOpinion:
    """The mean opinion score of a system, as rated.

    Attributes
    ----------
    quantity, system : str
    n, n_listeners, n_speakers : int
        Numbers of ratings, and of those who gave them and were rated.
    opinion : float
        Mean rating on the scale of the test.
    opinion_low, opinion_high : float or None
        95 % interval over listeners and speakers, within the scale; None if undefined.
    """

    quantity: str
    system: str
    n: int
    n_listeners: int
    n_speakers: int
    opinion: float
    opinion_low: float | None
    opinion_high: float | None


@dataclass(frozen=True)
class OpinionTest:
    """Two systems' mean opinion scores compared: system minus other system.

    Attributes
    ----------
    quantity, system, other_system : str
    difference : float
    difference_low, difference_high : float or None
        95 % interval over listeners and speakers; None if undefined.
    difference_p, difference_p_holm : float or None
        Two-sided p-value, and corrected for all pairs of systems of the quantity (Holm 1979).
    """

    quantity: str
    system: str
    other_system: str
    difference: float
    difference_low: float | None
    difference_high: float | None
    difference_p: float | None
    difference_p_holm: float | None = None


def rated_speakers(ratings: Ratings) -> tuple[NDArray[np.str_], str]:
    """Return the speaker of each rating, and what it is called.

    Without the column `speaker` it is the beginning of the trial's id, as in LibriSpeech and VCTK:
    up to the first `/`, else `-`, else `_`. If that does not tell speakers, utterances
    count as such.
    """
    if (ratings.speaker != "").all():
        return ratings.speaker, "speakers"
    beginnings = list(map(_beginning, ratings.trial.tolist()))
    if all(beginnings) and len(set(beginnings)) > 1:
        return np.array(beginnings), "speakers"
    return ratings.trial, "utterances"


def _beginning(name: str) -> str:
    """Return an id up to its first separator; "" without one."""
    separator = next((s for s in "/-_" if s in name), "")
    return name.partition(separator)[0] if separator else ""


def mean_opinions(
    quantity: str, samples: Mapping[str, Sample], scale: tuple[float, float]
) -> Iterator[MeanOpinion]:
    """Yield the mean opinion score of each system, given its ratings, listeners and speakers."""
    for system, sample in samples.items():
        estimate = mean_opinion(*sample)
        ratings, listeners, speakers = sample
        low, high = (
            None if end is None else float(np.clip(end, *scale))
            for end in (estimate.low, estimate.high)
        )
        yield MeanOpinion(
            quantity,
            system,
            n=np.size(ratings),
            n_listeners=np.unique(listeners).size,
            n_speakers=np.unique(speakers).size,
            opinion=estimate.value,
            opinion_low=low,
            opinion_high=high,
        )


def opinion_tests(quantity: str, samples: Mapping[str, Sample]) -> Iterator[OpinionTest]:
    """Yield the comparison of every two systems."""
    tests = []
    for one, other in itertools.combinations(samples, 2):
        estimate = opinion_difference(samples[one], samples[other])
        values = estimate.value, estimate.low, estimate.high, estimate.p_value
        tests.append(OpinionTest(quantity, one, other, *values))
    p_values = [test.difference_p for test in tests if test.difference_p is not None]
    corrected = iter(holm(p_values))
    for test in tests:
        tested = test.difference_p is not None
        yield replace(test, difference_p_holm=next(corrected)) if tested else test
