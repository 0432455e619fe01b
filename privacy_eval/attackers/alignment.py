"""Alignment: compare original with anonymized vectors by a map learnt from pairs of them.

Anonymization moves vectors of speech; an attacker who can anonymize speech sees how, and maps the
vectors of enrollment and trial into one space. Maps are learnt from training speech and its
anonymized copy: no speaker, trial or label is looked at. Cosine scores in the aligned space may be
normalized by cohorts (S-norm and AS-norm). No file is opened here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from ..asv.cosine import cosines, mean_unit_vectors, unit_vectors
from ..choices import AlignmentName
from ..errors import PrivacyEvalError, located
from ..io.vectors import Vectors
from ..metrics.arguments import as_array
from ..metrics.pav import FloatArray

#: Penalties of ridge regression that are tried: 10^-4, 10^-3.5, ..., 10^3.5.
PENALTIES: FloatArray = 10.0 ** (np.arange(-8, 8) / 2)

_VALUES_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class AffineMap:
    """Subtracts an offset and multiplies by a matrix.

    Attributes
    ----------
    offset : float64 array, shape (D,) or (1,)
    matrix : float64 array, shape (D, K) or (D,), or None
        Of one dimension: the diagonal of a matrix. None: the identity.
    unit : bool
        Whether vectors are brought to unit length first.
    """

    offset: FloatArray
    matrix: FloatArray | None = None
    unit: bool = False

    def __call__(self, vectors: ArrayLike) -> FloatArray:
        """Map vectors, an array of shape (N, D)."""
        given = as_array(vectors, "vectors", np.float64)
        if given.ndim != 2 or not np.isfinite(given).all():
            raise PrivacyEvalError("vectors must be the rows of an array, and finite")
        if self.offset.size not in (1, given.shape[1]):
            raise PrivacyEvalError(
                f"vectors of {given.shape[1]} dimensions, learnt from those of {self.offset.size}"
            )
        moved = (unit_vectors(given) if self.unit else given) - self.offset
        if self.matrix is None:
            return moved
        return moved * self.matrix if self.matrix.ndim == 1 else moved @ self.matrix


@dataclass(frozen=True)
class Alignment:
    """Maps of original and anonymized vectors of unit length into one space; by default they leave
    vectors as they are.

    Attributes
    ----------
    original, anonymized : AffineMap
        Of enrollment and of trial vectors.

    Examples
    --------
    >>> Alignment().original([[1.0, 2.0]])
    array([[1., 2.]])
    """

    original: AffineMap = AffineMap(np.zeros(1))
    anonymized: AffineMap = AffineMap(np.zeros(1))


def align(name: AlignmentName, original: ArrayLike, anonymized: ArrayLike) -> Alignment:
    """Learn an alignment from pairs of vectors.

    Parameters
    ----------
    name : {"none", "shift", "centered", "procrustes", "ridge-forward", "ridge-reverse"}
        `shift` and `centered` use the means of both sides, `procrustes` the rotation that brings
        the centered originals closest to the anonymized vectors, without the directions that the
        pairs do not determine, and ridge regression the linear map from original to anonymized
        vectors or, `reverse`, from anonymized to original ones, with the penalty of the smallest
        leave-one-out error.
    original, anonymized : array_like, shape (P, D)
        Vectors of unit length: row i is of the same utterance.

    Returns
    -------
    Alignment

    Raises
    ------
    PrivacyEvalError
        Fewer than two pairs; different numbers or dimensions.

    References
    ----------
    Docs, page "attackers". Schoenemann (1966), "A generalized solution of the orthogonal
    Procrustes problem"; Hoerl & Kennard (1970), "Ridge regression".

    Examples
    --------
    >>> original = unit_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> turned = original[:, ::-1]
    >>> learnt = align("procrustes", original, turned)
    >>> np.allclose(learnt.original(original), learnt.anonymized(turned))
    True
    """
    a, b = (as_array(x, "vectors", np.float64) for x in (original, anonymized))
    if a.shape != b.shape or a.ndim != 2:
        raise PrivacyEvalError(
            f"an alignment needs pairs of vectors, not arrays of shapes {a.shape} and {b.shape}"
        )
    if len(a) < 2:
        raise PrivacyEvalError(f"an alignment needs at least 2 pairs of vectors, not {len(a)}")
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    if name == "none":
        return Alignment()
    if name == "shift":
        return Alignment(AffineMap(mean_a - mean_b))
    if name == "centered":
        return Alignment(AffineMap(mean_a), AffineMap(mean_b))
    if name == "procrustes":
        left, values, right = scipy.linalg.svd((a - mean_a).T @ (b - mean_b))
        least = values[0] * values.size * np.finfo(np.float64).eps  # as of `matrix_rank`
        rank = int(np.count_nonzero(values > least))
        return Alignment(AffineMap(mean_a, left[:, :rank] @ right[:rank]), AffineMap(mean_b))
    if name == "ridge-forward":
        return Alignment(AffineMap(mean_a, ridge(a, b)[0]), AffineMap(mean_b))
    return Alignment(AffineMap(mean_a), AffineMap(mean_b, ridge(b, a)[0]))


def ridge(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Fit a ridge regression with intercept, of the penalty with the smallest leave-one-out error.

    A row that is left out is predicted from all others, the intercept, too. One penalty serves all
    dimensions. In the basis of the eigenvectors of x'x every penalty is one product.

    Parameters
    ----------
    x, y : array_like, shapes (P, D) and (P, M)

    Returns
    -------
    matrix : float64 array, shape (D, M)
        y is predicted as mean(y) + (x - mean(x)) matrix.
    errors : float64 array, shape (16,)
        Mean squared error of left-out rows for each of `PENALTIES`.

    References
    ----------
    Hoerl & Kennard (1970), "Ridge regression"; Allen (1974), "The relationship between variable
    selection and data augmentation and a method for prediction".

    Examples
    --------
    >>> matrix, errors = ridge([[0.0], [1.0], [2.0]], [[0.0], [2.0], [4.0]])
    >>> round(float(matrix[0, 0]), 3), float(PENALTIES[errors.argmin()])
    (2.0, 0.0001)
    """
    centered_x, centered_y = (np.array(v, dtype=np.float64) for v in (x, y))
    centered_x -= centered_x.mean(axis=0)
    centered_y -= centered_y.mean(axis=0)
    eigenvalues, basis = scipy.linalg.eigh(centered_x.T @ centered_x, driver="evd")
    eigenvalues = np.maximum(eigenvalues, 0)  # negative ones are rounding errors
    turned = basis.T @ (centered_x.T @ centered_y)
    centered_x = centered_x @ basis
    rows, columns = centered_y.shape
    leverage = centered_x**2 @ (1 / (eigenvalues[:, None] + PENALTIES)) + 1 / rows
    errors = np.zeros(PENALTIES.size)
    step = max(1, _VALUES_AT_ONCE // columns)
    for number, penalty in enumerate(PENALTIES):
        weights = turned / (eigenvalues + penalty)[:, None]
        for start in range(0, rows, step):
            some = slice(start, start + step)
            left = centered_y[some] - centered_x[some] @ weights
            squares = np.einsum("ij,ij->i", left, left)
            errors[number] += np.sum(squares / (1 - leverage[some, number]) ** 2)
    best = float(PENALTIES[int(errors.argmin())])
    matrix: FloatArray = basis @ (turned / (eigenvalues + best)[:, None])
    return matrix, errors / (rows * columns)


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


#: Alignments that need no more than the means of both sides.
_OF_MEANS: tuple[AlignmentName, ...] = ("none", "shift", "centered")


def pairs_of(original: Vectors, anonymized: Vectors) -> list[str]:
    """List the utterances that both sides have.

    Parameters
    ----------
    original, anonymized : Vectors

    Returns
    -------
    list of str

    Raises
    ------
    PrivacyEvalError
        There is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> original = Vectors(Path("a"), ("u1", "u2"), np.eye(2, dtype=np.float32))
    >>> anonymized = Vectors(Path("b"), ("u2", "u3"), np.eye(2, dtype=np.float32))
    >>> pairs_of(original, anonymized)
    ['u2']
    """
    others = set(anonymized.ids)
    both = [utterance for utterance in original.ids if utterance in others]
    if not both:
        raise PrivacyEvalError(f"{original.path}, {anonymized.path}: no utterance is in both")
    return both


def describe_pairs(
    name: AlignmentName, original: Vectors, anonymized: Vectors, pairs: Sequence[str], where: str
) -> list[str]:
    """Describe what limits an alignment: utterances that only one side has, and, for those that
    learn a linear map, fewer pairs than dimensions.

    Parameters
    ----------
    name : {"none", "shift", "centered", "procrustes", "ridge-forward", "ridge-reverse"}
        The first three need no more than means.
    original, anonymized : Vectors
    pairs : sequence of str
        Utterances that both have.
    where : str
        Names of both, for messages.

    Returns
    -------
    list of str
        Of fewer pairs than dimensions: begins with "warning: ".

    Examples
    --------
    >>> from pathlib import Path
    >>> vectors = Vectors(Path("a"), ("u1", "u2"), np.eye(2, dtype=np.float32))
    >>> describe_pairs("procrustes", vectors, vectors, ["u1", "u2"], "a, b")
    []
    """
    remarks = []
    if left_out := len(original.ids) + len(anonymized.ids) - 2 * len(pairs):
        remarks.append(f"{where}: left out {left_out} utterances that only one of them has")
    if name not in _OF_MEANS and len(pairs) < (dimensions := original.matrix.shape[1]):
        remarks.append(
            f"warning: {where}: {len(pairs)} pairs for {dimensions} dimensions: the "
            "alignment is weak, and an attacker with more speech is stronger"
        )
    return remarks


def learn_alignment(
    name: AlignmentName, original: Vectors, anonymized: Vectors, pairs: Sequence[str]
) -> Alignment:
    """Learn an alignment from the vectors of utterances that both sides have.

    Parameters
    ----------
    name : {"none", "shift", "centered", "procrustes", "ridge-forward", "ridge-reverse"}
    original, anonymized : Vectors
    pairs : sequence of str
        Utterances that both have.

    Returns
    -------
    Alignment

    Raises
    ------
    PrivacyEvalError
        As `align`; a vector of zeros.

    Examples
    --------
    >>> from pathlib import Path
    >>> vectors = Vectors(Path("a"), ("u1", "u2"), np.eye(2, dtype=np.float32))
    >>> learn_alignment("centered", vectors, vectors, ["u1", "u2"]).original.offset
    array([0.5, 0.5])
    """
    where = f"{original.path}, {anonymized.path}"
    with located(where):
        a, b = (unit_vectors(v.matrix[v.rows(pairs, where)]) for v in (original, anonymized))
        return align(name, a, b)


def learn_cohorts(
    members: Mapping[str, Sequence[str]],
    original: Vectors,
    anonymized: Vectors,
    top: int | None,
    where: str,
) -> Cohorts:
    """Average the vectors of training speakers on both sides.

    Parameters
    ----------
    members : mapping of str to sequence of str
        Utterances of each speaker.
    original, anonymized : Vectors
    top : int or None
        See `Cohorts`.
    where : str
        The file of the speakers, for messages.

    Returns
    -------
    Cohorts

    Raises
    ------
    PrivacyEvalError
        An utterance without a vector; a vector of zeros.

    Examples
    --------
    >>> from pathlib import Path
    >>> vectors = Vectors(Path("a"), ("u1", "u2"), np.eye(2, dtype=np.float32))
    >>> learn_cohorts({"s": ["u1", "u2"]}, vectors, vectors, None, "spk2utt").original
    array([[0.5, 0.5]])
    """
    utterances = [u for of_speaker in members.values() for u in of_speaker]
    ends = np.cumsum([len(of_speaker) for of_speaker in members.values()])[:-1]
    means = []
    for vectors in (original, anonymized):
        rows = np.split(vectors.rows(utterances, where), ends)
        with located(vectors.path):
            means.append(mean_unit_vectors(vectors.matrix, rows))
    return Cohorts(means[0], means[1], top)
