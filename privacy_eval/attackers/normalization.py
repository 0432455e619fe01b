"""Cosine scores in an aligned space, and their normalization by cohorts (S-norm and AS-norm).

No file is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError
from ..metrics.arguments import as_array
from ..metrics.pav import FloatArray
from .alignment import Alignment, cosines, unit_vectors

_SCORES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Cohorts:
    """Training speakers that scores are normalized by.

    Each side meets impostors of the other side's kind: enrollment vectors the anonymized ones,
    trial vectors the original ones.

    Attributes
    ----------
    original, anonymized : float64 array, shape (C, D)
        Mean of the unit vectors of each training speaker.
    top : int or None
        How many of the largest cohort scores count (AS-norm); None: all (S-norm).
    """

    original: FloatArray
    anonymized: FloatArray
    top: int | None = None


def aligned_scores(
    enrollment: ArrayLike,
    trial: ArrayLike,
    alignment: Alignment,
    cohorts: Cohorts | None = None,
) -> FloatArray:
    """Compute the cosine scores of aligned vectors, normalized if there are cohorts.

    Parameters
    ----------
    enrollment : array_like, shape (E, D)
        Mean of the unit vectors of each enrolled speaker: original speech.
    trial : array_like, shape (T, D)
        Unit vectors: anonymized speech.
    alignment : Alignment
    cohorts : Cohorts, optional
        Mapped as the vectors of their kind.

    Returns
    -------
    float64 array, shape (E, T)

    Raises
    ------
    PrivacyEvalError
        A vector that the alignment maps to zero; vectors of other dimensions; a cohort with the
        same score of all speakers.

    References
    ----------
    Docs, page "attackers"; `normalize_scores`.

    Examples
    --------
    >>> from privacy_eval.attackers.alignment import align
    >>> original, anonymized = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    >>> learnt = align("procrustes", original, anonymized)
    >>> aligned_scores([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], learnt).round(9)
    array([[ 1., -1.]])
    """
    enrolled, tried = alignment.original(enrollment), alignment.anonymized(trial)
    scores = cosines(enrolled, tried)
    if cohorts is None:
        return scores
    of_enrollment = cohort_statistics(
        enrolled, alignment.anonymized(cohorts.anonymized), cohorts.top
    )
    of_trial = cohort_statistics(tried, alignment.original(cohorts.original), cohorts.top)
    return normalize_scores(scores, of_enrollment, of_trial)


def cohort_statistics(vectors: ArrayLike, cohort: ArrayLike, top: int | None = None) -> FloatArray:
    """Compute mean and deviation of the largest cosines of vectors with a cohort.

    Parameters
    ----------
    vectors : array_like, shape (N, D)
    cohort : array_like, shape (C, D)
    top : int, optional
        How many of the largest count; by default, or if the cohort has fewer, all.

    Returns
    -------
    float64 array, shape (2, N)
        Mean and population standard deviation.

    Raises
    ------
    PrivacyEvalError
        A vector of zeros; different dimensions; no deviation, as of a cohort of one speaker.

    Examples
    --------
    >>> cohort = [[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> cohort_statistics([[1.0, 0.0]], cohort, top=2)
    array([[0.5],
           [0.5]])
    """
    given, others = as_array(vectors, "vectors"), unit_vectors(cohort)
    size = len(others) if top is None else min(top, len(others))
    statistics = np.empty((2, len(given)))
    step = max(1, _SCORES_AT_ONCE // len(others))
    for start in range(0, len(given), step):
        some = slice(start, start + step)
        scores = cosines(given[some], others)
        if size < len(others):
            scores.partition(len(others) - size, axis=1)
            scores = scores[:, len(others) - size :]
        statistics[0, some] = scores.mean(axis=1)
        statistics[1, some] = scores.std(axis=1)
    if not np.all(statistics[1] > 0):
        raise PrivacyEvalError(
            f"scores cannot be normalized by a cohort of {len(others)} speakers (top {size}): "
            "all of its scores are the same"
        )
    return statistics


def normalize_scores(
    scores: ArrayLike, of_enrollment: ArrayLike, of_trial: ArrayLike
) -> FloatArray:
    """Normalize scores by the cohort scores of both sides, half by each.

    Parameters
    ----------
    scores : array_like, shape (E, T)
    of_enrollment, of_trial : array_like, shapes (2, E) and (2, T)
        Means and standard deviations of the cohort scores.

    Returns
    -------
    float64 array, shape (E, T)

    References
    ----------
    Kenny (2010), "Bayesian speaker verification with heavy-tailed priors" (S-norm); Matejka et al.
    (2017), "Analysis of score normalization in multilingual speaker recognition" (AS-norm).

    Examples
    --------
    >>> normalize_scores([[3.0]], [[1.0], [1.0]], [[2.0], [0.5]])
    array([[2.]])
    """
    given = as_array(scores, "scores", np.float64)
    (mean_e, deviation_e), (mean_t, deviation_t) = np.asarray(of_enrollment), np.asarray(of_trial)
    normalized = (given - mean_e[:, None]) / deviation_e[:, None]
    normalized += (given - mean_t) / deviation_t
    return np.asarray(normalized / 2)
