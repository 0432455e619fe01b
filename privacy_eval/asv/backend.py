"""Back ends of speaker verification: x-vectors in, scores out, and their training.

The challenge's back end compares an enrolled speaker, the mean of some x-vectors, with
a trial's x-vector: both are centred, projected by LDA, brought to length sqrt(D), and
compared by probabilistic linear discriminant analysis (PLDA). Cosine and Euclidean
linkage compare the x-vectors as they are (comparative study of metrics, section 5.2).

Vectors are rows of float32 matrices, as in Kaldi; sums are formed in double precision
and rounded once, so that scores do not depend on the processor. A higher score supports
the same speaker. No file is opened here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from ..io.vectors import Plda
from ..metrics.arguments import as_array, as_names

FloatMatrix = NDArray[np.float32]

IntArray = NDArray[np.int64]

BackendName = Literal["plda", "cosine", "euclidean"]

BACKENDS: tuple[BackendName, ...] = get_args(BackendName)

#: How PLDA scales a transformed vector: by its expected length given the number of
#: utterances (Kaldi's --normalize-length), to sqrt(D)
#: (--simple-length-normalization), or not at all.
LengthNormalization = Literal["expected", "simple", "none"]

#: The challenge's LDA dimension.
LDA_DIM = 200

_BLOCK_BYTES = 64 << 20

_PLDA_ITERATIONS = 10

_LDA_FLOOR = 1e-6

#: Fraction of the total covariance below which within-speaker variation is a rounding error.
_LDA_ROUNDING = 1e-12

_SHORTEST = float(np.finfo(np.float32).tiny)

#: Fraction of the squared lengths below which a squared distance has lost digits.
_CANCELLED = 1e-6


@dataclass(frozen=True)
class PldaBackend:
    """The challenge's back end: centring, LDA, length normalization, PLDA.

    Attributes
    ----------
    plda : Plda
    mean : float32 array, shape (D,), or None
        `mean.vec`, subtracted from every x-vector.
    transform : float32 array, shape (d, D) or (d, D + 1), or None
        `transform.mat` (LDA); a last column beyond D is added.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> vectors = generator.normal(size=(6, 3)).astype(np.float32)
    >>> model = train_backend(vectors, ["a", "a", "b", "b", "c", "c"])
    >>> score_matrix(vectors[:2], 1, vectors[2:], model=model).shape
    (2, 4)
    """

    plda: Plda
    mean: NDArray[np.float32] | None = None
    transform: FloatMatrix | None = None

    def dimension(self) -> int:
        """Return D, the dimension of the x-vectors.

        Raises
        ------
        PrivacyEvalError
            Mean, transform and PLDA are inconsistent.
        """
        inner = outer = self.plda.mean.size
        allowed = {inner}
        if self.transform is not None:
            rows, outer = self.transform.shape
            if rows != inner:
                raise PrivacyEvalError(f"LDA gives {rows} dimensions, PLDA expects {inner}")
            allowed = {outer, outer - 1}
        if self.mean is None:
            return outer
        if self.mean.size not in allowed:
            raise PrivacyEvalError(
                f"the mean has {self.mean.size} dimensions, the next step expects "
                f"{' or '.join(map(str, sorted(allowed)))}"
            )
        return self.mean.size

    def prepare(self, vectors: ArrayLike) -> FloatMatrix:
        """Apply centring, LDA and length normalization.

        Parameters
        ----------
        vectors : array_like, shape (N, D)

        Returns
        -------
        float32 array, shape (N, d)

        Raises
        ------
        PrivacyEvalError
            Another dimension than the model's.
        """
        prepared = as_array(vectors, "vectors", np.float32)
        self.dimension()
        if self.mean is not None:
            prepared = subtract_mean(prepared, self.mean)
        if self.transform is not None:
            prepared = apply_transform(prepared, self.transform)
        if prepared.shape[1] != self.plda.mean.size:
            raise PrivacyEvalError(
                f"vectors of {prepared.shape[1]} dimensions, the PLDA model has "
                f"{self.plda.mean.size}"
            )
        return normalize_length(prepared)


def subtract_mean(vectors: FloatMatrix, mean: NDArray[np.float32]) -> FloatMatrix:
    """Subtract the mean, as Kaldi's ivector-subtract-global-mean does.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    mean : float32 array, shape (D,)

    Returns
    -------
    float32 array, shape (N, D)

    Raises
    ------
    PrivacyEvalError
        Different dimensions.

    Examples
    --------
    >>> subtract_mean(np.float32([[1, 2]]), np.float32([1, 1])).tolist()
    [[0.0, 1.0]]
    """
    if vectors.shape[1] != mean.size:
        raise PrivacyEvalError(
            f"vectors of {vectors.shape[1]} dimensions, the model's mean has {mean.size}"
        )
    with np.errstate(over="ignore"):  # as in Kaldi, infinite
        return vectors - mean


def apply_transform(vectors: FloatMatrix, matrix: FloatMatrix) -> FloatMatrix:
    """Transform vectors, as Kaldi's transform-vec does.

    Parameters
    ----------
    vectors : float32 array, shape (N, C)
    matrix : float32 array, shape (R, C) or (R, C + 1)
        A last column beyond C is added.

    Returns
    -------
    float32 array, shape (N, R)

    Raises
    ------
    PrivacyEvalError
        Different dimensions.

    Examples
    --------
    >>> apply_transform(np.float32([[1, 2]]), np.float32([[1, 1, 5]])).tolist()
    [[8.0]]
    """
    dimension, columns = vectors.shape[1], matrix.shape[1]
    if columns not in (dimension, dimension + 1):
        raise PrivacyEvalError(
            f"vectors of {dimension} dimensions, the transform takes {columns} or {columns - 1}"
        )
    double = matrix.astype(np.float64)
    transformed = vectors.astype(np.float64) @ double[:, :dimension].T
    if columns > dimension:
        transformed += double[:, dimension]
    return transformed.astype(np.float32)


def normalize_length(vectors: FloatMatrix, *, scale_up: bool = True) -> FloatMatrix:
    """Scale vectors to one length, as Kaldi's ivector-normalize-length does.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    scale_up : bool
        To the norm sqrt(D), else to 1.

    Returns
    -------
    float32 array, shape (N, D)
        A zero vector stays zero, one too short for float32 to scale becomes zero.

    Examples
    --------
    >>> normalize_length(np.float32([[3, 4]]), scale_up=False).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    norm = np.linalg.norm(vectors.astype(np.float64), axis=1)
    ratio = norm / math.sqrt(vectors.shape[1]) if scale_up else norm
    scalable = ratio >= _SHORTEST
    scale = np.where(scalable, 1 / np.where(scalable, ratio, 1.0), 0.0)
    return np.asarray(vectors * scale.astype(np.float32)[:, None])


def speaker_means(
    vectors: FloatMatrix, members: Sequence[Sequence[int] | IntArray]
) -> tuple[FloatMatrix, IntArray]:
    """Average each speaker's vectors in float32 and in order, as Kaldi's ivector-mean does.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    members : sequence of S non-empty sequences
        Rows of `vectors` of every speaker.

    Returns
    -------
    means : float32 array, shape (S, D)
    counts : int array, shape (S,)
        Numbers of utterances.

    Raises
    ------
    ValueError
        A speaker without utterances.

    Examples
    --------
    >>> means, counts = speaker_means(np.float32([[1], [3], [5]]), [[0, 1], [2]])
    >>> means.tolist(), counts.tolist()
    ([[2.0], [5.0]], [2, 1])
    """
    counts = np.array([len(rows) for rows in members], dtype=np.int64)
    if not counts.size or not counts.all():
        raise ValueError("every speaker needs an utterance")
    return means_of_runs(vectors, np.concatenate(members).astype(np.int64), counts), counts


@np.errstate(over="ignore")
def means_of_runs(vectors: FloatMatrix, rows: IntArray, counts: IntArray) -> FloatMatrix:
    """Average runs of vectors, see `speaker_means`.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    rows : int array, shape (sum of counts,)
        Of the first run, then of the second, ...
    counts : int array, shape (S,)
        Lengths of the runs, from 1.

    Returns
    -------
    float32 array, shape (S, D)

    Examples
    --------
    >>> rows, counts = np.array([0, 1, 2]), np.array([2, 1])
    >>> means_of_runs(np.float32([[1], [3], [5]]), rows, counts).tolist()
    [[2.0], [5.0]]
    """
    # A reduction would sum in another order, and so round to other last digits than Kaldi.
    starts = np.cumsum(counts) - counts
    sums = vectors[rows[starts]]
    for place in range(1, int(counts.max())):
        longer = np.flatnonzero(counts > place)
        sums[longer] += vectors[rows[starts[longer] + place]]
    return np.asarray(sums * (1 / counts).astype(np.float32)[:, None])


def plda_transform(
    vectors: FloatMatrix,
    plda: Plda,
    counts: ArrayLike = 1,
    *,
    normalization: LengthNormalization = "expected",
) -> FloatMatrix:
    """Transform vectors into the space in which PLDA's covariances are diagonal.

    Parameters
    ----------
    vectors : float32 array, shape (N, d)
    plda : Plda
    counts : int or int array, shape (N,)
        Number of utterances that each vector is the mean of.
    normalization : {"expected", "simple", "none"}
        See `LengthNormalization`.

    Returns
    -------
    float32 array, shape (N, d)

    Raises
    ------
    ValueError
        Another normalization.
    """
    if normalization not in get_args(LengthNormalization):
        raise ValueError(
            f"normalization must be one of {get_args(LengthNormalization)}, not {normalization!r}"
        )
    z = (vectors.astype(np.float64) - plda.mean) @ plda.transform.T
    if normalization == "none":
        return z.astype(np.float32)
    if normalization == "expected":
        n = np.broadcast_to(as_array(counts, "counts", np.float64), z.shape[:1])
        energy = (z**2 / (plda.psi + 1 / n[:, None])).sum(axis=1)
    else:
        energy = (z**2).sum(axis=1)
    factor = np.sqrt(z.shape[1] / np.where(energy > 0, energy, 1.0))  # zero stays zero
    return np.asarray((factor[:, None] * z).astype(np.float32))


def plda_scores(
    enrolled: FloatMatrix, counts: ArrayLike, trial: FloatMatrix, plda: Plda
) -> FloatMatrix:
    """Compute log-likelihood ratios of every enrolled speaker with every trial.

    Parameters
    ----------
    enrolled, trial : float32 arrays, shapes (E, d) and (N, d)
        Results of `plda_transform`.
    counts : int or int array, shape (E,)
        Numbers of enrollment utterances.
    plda : Plda

    Returns
    -------
    float32 array, shape (E, N)
        Natural-log likelihood ratios.
    """
    psi = plda.psi
    n = np.broadcast_to(as_array(counts, "counts", np.float64), enrolled.shape[:1])
    # LLR = -1/2 sum[log v + (y - mu)^2 / v] + 1/2 sum[log(1 + psi) + y^2 / (1 + psi)],
    # mu = n psi / (n psi + 1) e and v = 1 + psi / (n psi + 1), multiplied out: the
    # term of the trial depends on n only, the mixed term is one matrix product.
    kinds, kind = np.unique(n, return_inverse=True)
    shrink = kinds[:, None] * psi / (kinds[:, None] * psi + 1)
    variance = 1 + psi / (kinds[:, None] * psi + 1)
    y = trial.astype(np.float64)
    of_trial = (y**2) @ (1 / (1 + psi) - 1 / variance).T / 2
    mu = shrink[kind] * enrolled.astype(np.float64)
    weighted = mu / variance[kind]
    constant = (np.log1p(psi).sum() - np.log(variance).sum(axis=1))[kind] / 2
    of_speaker = constant - (mu * weighted).sum(axis=1) / 2

    def block(rows: slice) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = weighted[rows] @ y.T
        scores += of_speaker[rows, None]
        scores += of_trial.T[kind[rows]] if kinds.size > 1 else of_trial[:, 0]
        return scores

    return _in_blocks(block, len(enrolled), len(trial))


def cosine_scores(enrolled: FloatMatrix, trial: FloatMatrix) -> FloatMatrix:
    """Compute the cosine similarity of every pair of vectors.

    Parameters
    ----------
    enrolled, trial : float32 arrays, shapes (E, D) and (N, D)

    Returns
    -------
    float32 array, shape (E, N)
        0 for a zero vector.

    Examples
    --------
    >>> cosine_scores(np.float32([[1, 0], [0, 0]]), np.float32([[2, 0], [0, 1]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """

    def unit(vectors: FloatMatrix) -> NDArray[np.float64]:
        double = vectors.astype(np.float64)
        norm = np.linalg.norm(double, axis=1, keepdims=True)
        return np.asarray(double / np.where(norm > 0, norm, 1.0))

    first, second = unit(enrolled), unit(trial)
    return _in_blocks(lambda rows: np.asarray(first[rows] @ second.T), len(first), len(second))


def euclidean_scores(enrolled: FloatMatrix, trial: FloatMatrix) -> FloatMatrix:
    """Compute the negative Euclidean distance of every pair of vectors.

    Parameters
    ----------
    enrolled, trial : float32 arrays, shapes (E, D) and (N, D)

    Returns
    -------
    float32 array, shape (E, N)

    Examples
    --------
    >>> euclidean_scores(np.float32([[0, 0]]), np.float32([[3, 4], [0, 0]])).tolist()
    [[-5.0, 0.0]]
    """
    first, second = enrolled.astype(np.float64), trial.astype(np.float64)
    centre = second.mean(axis=0)  # distances stay, cancellation shrinks
    first, second = first - centre, second - centre
    length = (second**2).sum(axis=1)

    def block(rows: slice) -> NDArray[np.float64]:
        lengths = (first[rows] ** 2).sum(axis=1)[:, None] + length
        squares = lengths - 2 * (first[rows] @ second.T)
        near = squares <= _CANCELLED * lengths
        for row in np.flatnonzero(near.any(axis=1)):
            columns = np.flatnonzero(near[row])
            squares[row, columns] = ((first[rows][row] - second[columns]) ** 2).sum(axis=1)
        return np.asarray(0 - np.sqrt(squares))

    return _in_blocks(block, len(first), len(second))


def _in_blocks(
    block: Callable[[slice], NDArray[np.float64]], rows: int, columns: int
) -> FloatMatrix:
    """Fill a score matrix by blocks of rows, to save memory in double precision."""
    scores = np.empty((rows, columns), dtype=np.float32)
    step = max(1, _BLOCK_BYTES // (8 * max(columns, 1)))
    for start in range(0, rows, step):
        chosen = slice(start, min(start + step, rows))
        scores[chosen] = block(chosen)
    return scores


def score_matrix(
    enrolled: FloatMatrix,
    counts: ArrayLike,
    trial: FloatMatrix,
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
) -> FloatMatrix:
    """Score every enrolled speaker with every trial by one of the back ends.

    Parameters
    ----------
    enrolled : float32 array, shape (E, D)
        Means of raw x-vectors.
    counts : int or int array of shape (E,)
        Numbers of enrollment utterances; 1 where two utterances are compared.
    trial : float32 array, shape (N, D)
        Raw x-vectors.
    backend : {"plda", "cosine", "euclidean"}
    model : PldaBackend
        For `plda` only.

    Returns
    -------
    float32 array, shape (E, N)
        Not finite where intermediate values are beyond float32's range.

    Raises
    ------
    PrivacyEvalError
        Inconsistent dimensions; another back end; `plda` without a model.

    Examples
    --------
    >>> score_matrix(np.float32([[1, 0]]), 1, np.float32([[1, 0], [0, 2]]), backend="cosine")
    array([[1., 0.]], dtype=float32)
    """
    return trial_scorer(trial, backend=backend, model=model)(enrolled, counts)


def trial_scorer(
    trial: FloatMatrix, *, backend: BackendName = "plda", model: PldaBackend | None = None
) -> Callable[[FloatMatrix, ArrayLike], FloatMatrix]:
    """Prepare trials once, to score many enrolled speakers in blocks.

    Parameters
    ----------
    trial, backend, model
        See `score_matrix`.

    Returns
    -------
    callable
        From `enrolled` and `counts` to the scores of `score_matrix`.

    Raises
    ------
    PrivacyEvalError
        As `score_matrix`, once it is called.

    Examples
    --------
    >>> score = trial_scorer(np.float32([[1, 0], [0, 2]]), backend="cosine")
    >>> score(np.float32([[1, 0]]), 1)
    array([[1., 0.]], dtype=float32)
    """
    prepared: list[FloatMatrix] = []
    trial = as_array(trial, "trial vectors")

    @np.errstate(over="ignore", invalid="ignore")
    def score(enrolled: FloatMatrix, counts: ArrayLike) -> FloatMatrix:
        enrolled = as_array(enrolled, "enrolled vectors")
        if enrolled.shape[1] != trial.shape[1]:
            raise PrivacyEvalError(
                f"enrollment vectors of {enrolled.shape[1]} dimensions, trial vectors of "
                f"{trial.shape[1]}"
            )
        if backend == "cosine":
            return cosine_scores(enrolled, trial)
        if backend == "euclidean":
            return euclidean_scores(enrolled, trial)
        if backend != "plda" or model is None:
            raise PrivacyEvalError(f"expected a back end of {BACKENDS}, plda with a model")
        plda = model.plda
        transformed = plda_transform(model.prepare(enrolled), plda, counts)
        if not prepared:
            prepared.append(plda_transform(model.prepare(trial), plda))
        return plda_scores(transformed, counts, prepared[0], plda)

    return score


def train_backend(
    vectors: FloatMatrix,
    speakers: Sequence[str],
    *,
    lda_dim: int | None = None,
    total_covariance_factor: float = 0.0,
) -> PldaBackend:
    """Train the challenge's back end on x-vectors: mean, LDA, length normalization, PLDA.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    speakers : sequence of N str
    lda_dim : int, optional
        At most D; by default the challenge's 200, or D if that is less.
    total_covariance_factor : float
        Weight of the total covariance in the matrix that LDA whitens (Kaldi's option).

    Returns
    -------
    PldaBackend

    Raises
    ------
    PrivacyEvalError
        Too few vectors or speakers; `lda_dim` out of range.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> speakers = ["a", "a", "b", "b", "c", "c"]
    >>> vectors = generator.normal(size=(6, 3)).astype(np.float32)
    >>> train_backend(vectors, speakers, lda_dim=2).plda.mean.shape
    (2,)
    """
    vectors = as_array(vectors, "vectors")
    dimension = vectors.shape[1]
    lda_dim = min(LDA_DIM, dimension) if lda_dim is None else lda_dim
    mean = global_mean(vectors)
    centred = subtract_mean(vectors, mean)
    transform = train_lda(
        centred, speakers, lda_dim=lda_dim, total_covariance_factor=total_covariance_factor
    )
    projected = apply_transform(centred, transform)
    return PldaBackend(train_plda(normalize_length(projected), speakers), mean, transform)


def global_mean(vectors: FloatMatrix) -> NDArray[np.float32]:
    """Average all vectors, as Kaldi's ivector-mean does.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)

    Returns
    -------
    float32 array, shape (D,)
    """
    return np.asarray(vectors.mean(axis=0, dtype=np.float64).astype(np.float32))


def train_lda(
    vectors: FloatMatrix,
    speakers: Sequence[str],
    *,
    lda_dim: int,
    total_covariance_factor: float = 0.0,
) -> FloatMatrix:
    """Estimate LDA, as Kaldi's ivector-compute-lda does.

    Parameters
    ----------
    vectors : float32 array, shape (N, D)
    speakers : sequence of N str
    lda_dim : int
    total_covariance_factor : float
        As in `train_backend`.

    Returns
    -------
    float32 array, shape (lda_dim, D + 1)
        The last column is an offset.

    Raises
    ------
    PrivacyEvalError
        `lda_dim` out of 1..D, a factor out of 0..1, fewer than two speakers, none of
        them with two different vectors, values that are not finite.
    """
    count, dimension = vectors.shape
    if not 1 <= lda_dim <= dimension:
        raise PrivacyEvalError(
            f"LDA to {lda_dim} dimensions: expected 1 to {dimension}, the vectors' dimension"
        )
    if not 0 <= total_covariance_factor <= 1:
        raise PrivacyEvalError(
            f"the total covariance factor must be within 0 and 1, not {total_covariance_factor}"
        )
    mean = global_mean(vectors)
    # Kaldi's factor is a float32 too.
    factor = float(np.float32(total_covariance_factor))
    with np.errstate(invalid="ignore"):
        centred = vectors.astype(np.float64) - mean
        means, counts, _ = _by_speaker(centred, speakers)
        total = centred.T @ centred / count
        between = (means.T * counts) @ means / count
        covariance = factor * total + (1 - factor) * (total - between)
    if not np.isfinite(covariance).all():
        raise PrivacyEvalError("LDA: vectors contain values too large for float32")
    values, vectors_of = np.linalg.eigh(covariance)
    if not values[-1] > _LDA_ROUNDING * np.trace(total):
        raise PrivacyEvalError("LDA: every speaker has a single vector or identical ones")
    whiten = vectors_of.T / np.sqrt(np.maximum(values, _LDA_FLOOR * values[-1]))[:, None]
    _, directions = np.linalg.eigh(whiten @ between @ whiten.T)
    projection = directions[:, ::-1][:, :lda_dim].T @ whiten
    offset = -projection @ mean.astype(np.float64)
    return np.hstack([projection, offset[:, None]]).astype(np.float32)


def train_plda(vectors: FloatMatrix, speakers: Sequence[str]) -> Plda:
    """Estimate PLDA by ten iterations of expectation maximization, as Kaldi's
    ivector-compute-plda does.

    Parameters
    ----------
    vectors : float32 array, shape (N, d)
    speakers : sequence of N str

    Returns
    -------
    Plda

    Raises
    ------
    PrivacyEvalError
        No more vectors than dimensions; no speaker with two vectors; a singular covariance.
    """
    count, dimension = vectors.shape
    means, counts, number = _by_speaker(vectors.astype(np.float64), speakers)
    if count <= dimension:
        raise PrivacyEvalError(
            f"PLDA of {dimension} dimensions needs more vectors than that, there are {count} (the "
            "dimension is that of LDA: --lda-dim)"
        )
    if counts.max() < 2:
        raise PrivacyEvalError("PLDA needs a speaker with at least two vectors")
    mu = means.mean(axis=0)
    deviation = vectors - means[number]
    scatter = deviation.T @ deviation
    centred = means - mu
    try:
        between, within = _expectation_maximization(centred, counts, scatter)
        inverse = np.linalg.inv(np.linalg.cholesky(within))
    except np.linalg.LinAlgError as error:
        raise PrivacyEvalError(
            "PLDA: the within-speaker covariance is singular; are vectors repeated?"
        ) from error
    psi, directions = np.linalg.eigh(inverse @ between @ inverse.T)
    return Plda(mu, directions[:, ::-1].T @ inverse, np.maximum(psi[::-1], 0.0))


def _expectation_maximization(
    centred: NDArray[np.float64], counts: IntArray, scatter: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate between- and within-speaker covariance from centred speaker means (K, D),
    their counts (K,), and the scatter about the speaker means (D, D)."""
    within = between = np.eye(centred.shape[1])
    for _ in range(_PLDA_ITERATIONS):
        within_inverse, between_inverse = np.linalg.inv(within), np.linalg.inv(between)
        new_between = np.zeros_like(between)
        new_within = scatter.copy()
        for n in np.unique(counts):  # speakers with equally many vectors go together
            group = centred[counts == n]
            posterior = np.linalg.inv(between_inverse + n * within_inverse)
            w = group @ (n * posterior @ within_inverse).T
            rest = group - w
            new_between += len(group) * posterior + w.T @ w
            new_within += n * (len(group) * posterior + rest.T @ rest)
        between, within = new_between / counts.size, new_within / counts.sum()
    return between, within


def _by_speaker(
    vectors: NDArray[np.float64], speakers: Sequence[str]
) -> tuple[NDArray[np.float64], IntArray, IntArray]:
    """Compute each speaker's mean vector and number of vectors, and the speaker of each vector."""
    names, number = np.unique(as_names(speakers, "speakers"), return_inverse=True)
    if len(speakers) != vectors.shape[0]:
        raise ValueError(f"{vectors.shape[0]} vectors but {len(speakers)} speakers")
    if names.size < 2:
        raise PrivacyEvalError("training a back end needs at least two speakers")
    counts = np.bincount(number)
    order = np.argsort(number, kind="stable")
    sums = np.add.reduceat(vectors[order], np.cumsum(counts) - counts, axis=0)
    return sums / counts[:, None], counts.astype(np.int64), number.astype(np.int64)
