"""Simulate speaker vectors, original and anonymized, whose cosines have chosen error rates.

A voice is a normal vector of `DIMENSION` values, and an utterance deviates from it. Nontarget
cosines have mean 0 and standard deviation 1 / sqrt(D), target cosines mean r and about
(1 - r**2) / sqrt(D), so that r determines the EER. With deviations of variance a, and enrollment
as the mean of n utterances, r**2 = 1 / ((1 + a / n) (1 + a)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from .vectors import Anonymization, VectorModel

DIMENSION = 24


def original_model(eer: float, enrollment: int) -> VectorModel:
    """Return original speech, in voices that differ alike in every direction.

    Parameters
    ----------
    eer : float
        Of original enrollment and trials.
    enrollment : int
        Utterances of an enrolled speaker.
    """
    within = math.sqrt(_deviation(eer, enrollment))
    return VectorModel(dimension=DIMENSION, between=1.0, decay=1.0, within=within)


def anonymization(
    linked: float, unlinked: float, original: VectorModel, enrollment: int
) -> Anonymization:
    """Return the anonymization with the EERs of two attackers.

    Parameters
    ----------
    linked, unlinked : float
        EER of anonymized trials against anonymized and against original enrollment.
    original : VectorModel
    enrollment : int
        Utterances of an enrolled speaker.

    Examples
    --------
    >>> original = original_model(0.05, 12)
    >>> light, strong = (anonymization(eer, 0.48, original, 12) for eer in (0.2, 0.4))
    >>> light.noise < strong.noise, 80 < light.turn_deg < 90
    (True, True)
    """
    before, after = original.within**2, _deviation(linked, enrollment)
    unturned = 1 / math.sqrt((1 + before / enrollment) * (1 + after))
    turn = math.degrees(math.acos(min(_mean_cosine(unlinked) / unturned, 1)))
    return Anonymization(keep=1.0, turn_deg=turn, noise=math.sqrt(max(after - before, 0)))


def _mean_cosine(eer: float) -> float:
    """Return the mean of target cosines: r sqrt(D) = z (2 - r**2), z the quantile of the EER."""
    z, root = -float(scipy.special.ndtri(eer)), math.sqrt(DIMENSION)
    return 4 * z / (root + math.sqrt(DIMENSION + 8 * z**2))


def _deviation(eer: float, enrollment: int) -> float:
    """Return the variance of deviations, of both sides."""
    total, half = 1 / _mean_cosine(eer) ** 2, (enrollment + 1) / 2
    return math.sqrt(half**2 + enrollment * (total - 1)) - half


def cosine_scores(
    enrolled: ArrayLike, tried: ArrayLike, pairs: Sequence[NDArray[np.integer]]
) -> NDArray[np.float64]:
    """Compute the cosine of the mean vector of an enrolled speaker and of a trial, of each pair.

    Parameters
    ----------
    enrolled : array_like, shape (E, n, D)
        Vectors of the n utterances of each enrolled speaker.
    tried : array_like, shape (N, D)
    pairs : int arrays, each of shape (P,)
        Rows of both.
    """
    means = np.asarray(enrolled, dtype=np.float64).mean(axis=1)
    first, second = (
        (x / np.linalg.norm(x, axis=1, keepdims=True))[rows]
        for x, rows in zip((means, np.asarray(tried, dtype=np.float64)), pairs, strict=True)
    )
    return np.asarray(np.einsum("ij,ij->i", first, second))
