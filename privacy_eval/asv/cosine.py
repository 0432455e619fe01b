"""Cosines of vectors, and of the means of a speaker's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError
from ..metrics.arguments import as_array
from ..metrics.pav import FloatArray, IntArray


def unit_vectors(vectors: ArrayLike) -> FloatArray:
    """Bring vectors to unit length.

    Parameters
    ----------
    vectors : array_like, shape (N, D)

    Returns
    -------
    float64 array, shape (N, D)

    Raises
    ------
    PrivacyEvalError
        A vector of zeros, which has no direction.

    Examples
    --------
    >>> unit_vectors([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    given = as_array(vectors, "vectors", np.float64)
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    zero = np.flatnonzero(lengths == 0)
    if zero.size:
        raise PrivacyEvalError(
            f"{zero.size} of {len(given)} vectors are zero and have no direction; the first: "
            f"number {zero[0] + 1}"
        )
    return np.asarray(given / lengths)


def cosines(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Compute the cosine of every pair of vectors.

    Parameters
    ----------
    first, second : array_like, shapes (N, D) and (M, D)

    Returns
    -------
    float64 array, shape (N, M)

    Raises
    ------
    PrivacyEvalError
        A vector of zeros; different dimensions.

    Examples
    --------
    >>> cosines([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0]])
    array([[0., 1.]])
    """
    a, b = unit_vectors(first), unit_vectors(second)
    if a.shape[1] != b.shape[1]:
        raise PrivacyEvalError(f"vectors of {a.shape[1]} and of {b.shape[1]} dimensions")
    return np.asarray(a @ b.T)


def mean_unit_vectors(vectors: ArrayLike, groups: Sequence[IntArray]) -> FloatArray:
    """Average the vectors of each speaker, each brought to unit length first.

    Parameters
    ----------
    vectors : array_like, shape (N, D)
    groups : sequence of int arrays
        Rows of each speaker.

    Returns
    -------
    float64 array, shape (speakers, D)

    Raises
    ------
    PrivacyEvalError
        A vector of zeros.

    Examples
    --------
    >>> mean_unit_vectors([[3.0, 0.0], [0.0, 2.0]], [np.array([0, 1]), np.array([0])])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    given = as_array(vectors, "vectors")
    return np.array([unit_vectors(given[rows]).mean(axis=0) for rows in groups])


def cosine_scorer(vectors: ArrayLike, groups: Sequence[IntArray], trial: ArrayLike) -> FloatArray:
    """Score the means of speakers' unit vectors with trial vectors, as `Scorer` says.

    Parameters
    ----------
    vectors : float array, shape (N, D)
    groups : sequence of int arrays
        Rows of each enrolled speaker.
    trial : float array, shape (T, D)

    Returns
    -------
    float64 array, shape (speakers, T)

    Examples
    --------
    >>> cosine_scorer(np.eye(2), [np.array([0])], np.array([[0.0, 2.0], [3.0, 0.0]]))
    array([[0., 1.]])
    """
    return cosines(mean_unit_vectors(vectors, groups), unit_vectors(trial))
