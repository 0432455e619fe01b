"""A linear discriminant on the vectors of an encoder that nobody trains again: what tells speakers
apart after anonymization, learnt in a second from crops of other speakers' anonymized speech.

No file is opened here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike

from ..asv.cosine import mean_unit_vectors, unit_vectors
from ..asv.shared_speech import DIMENSIONS
from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, counted, located
from ..io.vectors import Vectors
from ..metrics.arguments import as_names, as_numbers
from ..metrics.trials import Trials
from .alignment import AffineMap

#: Speakers on a side that is standardized by itself: with fewer, a caveat.
FEW_ON_A_SIDE = 20
#: Squared distance of the means of trial and training speech, in units of the variance between
#: training speakers, beyond that of so few trial speakers. GE2E, ten speakers of LibriSpeech: -0.02
#: to 0.05 as they are, 0.17 of women alone, 0.21 at 8 kHz, 0.43 to 0.59 by another system, 0.54
#: with noise of 10 dB.
_APART = 0.35


def lda(
    vectors: ArrayLike, speakers: ArrayLike, dimensions: int = DIMENSIONS, ridge: float = 0.1
) -> AffineMap:
    """Learn a linear discriminant of speakers.

    Parameters
    ----------
    vectors : array_like, shape (N, D)
        Of any length: they are brought to unit length. Several of each speaker, as of crops.
    speakers : array_like of str, shape (N,)
    dimensions : int
        At most; no more than D, or the number of speakers less one.
    ridge : float
        Added to the diagonal of the covariance within speakers, in units of its mean.

    Returns
    -------
    AffineMap
        Of vectors of shape (N, D), which it brings to unit length, to shape (N, K). Compare its
        values by cosine.

    Raises
    ------
    PrivacyEvalError
        Other numbers of vectors and speakers; values that are not finite; a vector of zeros; fewer
        than two speakers; no speaker with several different vectors; options out of range.

    References
    ----------
    Docs, page "attackers". Fisher (1936), "The use of multiple measurements in taxonomic problems".

    Examples
    --------
    >>> learnt = lda([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], ["a", "a", "b", "b"])
    >>> learnt([[2, 0], [0, 2]]).shape
    (2, 1)
    """
    given, names = as_numbers(vectors, "vectors"), as_names(speakers, "speakers")
    if given.ndim != 2 or len(given) != len(names):
        raise PrivacyEvalError(f"{len(names)} speakers for vectors of shape {given.shape}")
    if dimensions < 1 or not 0 < ridge < np.inf:
        raise PrivacyEvalError(
            f"dimensions must be at least 1 and ridge positive, not {dimensions} and {ridge}"
        )
    if len(bad := np.flatnonzero(~np.isfinite(given).all(axis=1))):
        raise PrivacyEvalError(
            f"{len(bad)} vectors have values that are not finite; the first: number {bad[0] + 1}"
        )
    unit = unit_vectors(given)
    different, of, counts = np.unique(names, return_inverse=True, return_counts=True)
    if len(different) < 2:
        raise PrivacyEvalError("a discriminant needs at least two speakers, not one: add others")
    if counts.max() < 2:
        raise PrivacyEvalError(
            f"a discriminant needs several vectors of a speaker, not {len(unit)} of {len(unit)}: "
            "one recording gives several by crops (--crop)"
        )
    number, size, mean = *unit.shape, unit.mean(axis=0)
    order, ends = np.argsort(of, kind="stable"), np.concatenate([[0], np.cumsum(counts)])
    members = scipy.sparse.csr_array((np.ones(number), order, ends), shape=(len(counts), number))
    means = (members @ unit / counts[:, None] - mean) * np.sqrt(counts / number)[:, None]
    between = means.T @ means
    within = unit.T @ unit / number - np.outer(mean, mean) - between
    if (spread := np.trace(within)) < 1e-12:
        raise PrivacyEvalError("all vectors of each speaker are equal: nothing to learn from")
    kept = min(dimensions, size, len(different) - 1)
    within.flat[:: size + 1] += ridge * spread / size
    _, basis = scipy.linalg.eigh(
        between, within, subset_by_index=(size - kept, size - 1), check_finite=False
    )
    return AffineMap(mean, np.ascontiguousarray(basis[:, ::-1]), unit=True)


def standardization(vectors: ArrayLike) -> AffineMap:
    """Return the map that gives vectors a mean of 0 and a deviation of 1 in every dimension; one
    whose values are all equal becomes 0.

    Parameters
    ----------
    vectors : array_like, shape (N, D)

    Returns
    -------
    AffineMap

    Examples
    --------
    >>> standardization([[1.0, 5.0], [3.0, 5.0]])([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    given = np.asarray(vectors, dtype=np.float64)
    varies = np.ptp(given, axis=0) > 0
    deviation = np.where(varies, given.std(axis=0), 1)
    return AffineMap(np.where(varies, given.mean(axis=0), given[0]), 1 / deviation)


def mapped(
    vectors: Vectors,
    ids: Iterable[str],
    needed_for: str,
    *,
    standardize: bool = False,
    learnt: AffineMap | None = None,
    allow_missing: bool = False,
) -> Vectors:
    """Return the vectors of a side of the trials as an attacker compares them.

    Parameters
    ----------
    vectors : Vectors
    ids : iterable of str
        Those listed, which the side is standardized by.
    needed_for : str
        See `Vectors.rows`.
    standardize : bool
    learnt : AffineMap, optional
    allow_missing : bool
        Leave out ids without a vector.

    Returns
    -------
    Vectors
        Of the ids, in float64.

    Raises
    ------
    PrivacyEvalError
        An id without a vector; another dimension than that of `learnt`.

    Examples
    --------
    >>> from pathlib import Path
    >>> vectors = Vectors(Path("a"), ("u", "v", "w"), np.float32([[1, 5], [3, 5], [9, 9]]))
    >>> mapped(vectors, ["u", "v"], "an example", standardize=True).matrix.tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    listed = [name for name in dict.fromkeys(ids) if name in vectors or not allow_missing]
    matrix: Any = vectors.matrix[vectors.rows(listed, needed_for)].astype(np.float64)
    with located(vectors.path):
        matrix = standardization(matrix)(matrix) if standardize and listed else matrix
        matrix = matrix if learnt is None else learnt(matrix)
    matrix.setflags(write=False)
    return replace(vectors, ids=tuple(listed), matrix=matrix)


def learn_lda(
    sets: Sequence[Vectors],
    speaker_of: Mapping[str, str],
    where: str,
    *,
    standardize: bool = False,
    **options: Any,
) -> AffineMap:
    """Learn a discriminant from several sets of vectors, such as those of original crops and of
    their anonymized copies, which may have the same ids.

    Parameters
    ----------
    sets : sequence of Vectors
    speaker_of : mapping of str to str
        Of all ids.
    where : str
        The file of the speakers, for messages.
    standardize : bool
        Each set by itself.
    **options
        As of `lda`.

    Returns
    -------
    AffineMap

    Raises
    ------
    PrivacyEvalError
        An id without a speaker; sets of different dimensions; as `lda`.

    Examples
    --------
    >>> from pathlib import Path
    >>> matrix = np.float32([[1, 0], [1, 0.1], [0, 1], [0.1, 1]])
    >>> vectors = Vectors(Path("a"), ("a-c0", "a-c1", "b-c0", "b-c1"), matrix)
    >>> learn_lda([vectors], {u: u[0] for u in vectors.ids}, "utt2spk").matrix.shape
    (2, 1)
    """
    if unknown := [u for u in dict.fromkeys(chain(*(v.ids for v in sets))) if u not in speaker_of]:
        raise PrivacyEvalError(
            f"{where}: no speaker of {counted(len(unknown), 'vector')}: {abbreviate(unknown)}"
        )
    if len({v.matrix.shape[1] for v in sets}) > 1:
        sizes = ", ".join(f"{v.path} has {v.matrix.shape[1]}" for v in sets)
        raise PrivacyEvalError(f"vectors of different dimensions to learn from: {sizes}")
    used = [mapped(v, v.ids, "the training", standardize=standardize) for v in sets]
    with located(", ".join(str(v.path) for v in sets)):
        together = np.concatenate([v.matrix for v in used])
        speakers = [speaker_of[u] for v in sets for u in v.ids]
        return lda(together, speakers, **options)


def other_conditions(
    training: Vectors, speaker_of: Mapping[str, str], tried: Vectors, trials: Trials, where: str
) -> list[str]:
    """Say if trial speech differs from training speech more than speakers explain: another room,
    channel or system, for which a discriminant was not learnt.

    Parameters
    ----------
    training, tried : Vectors
        Of anonymized speech, not standardized.
    speaker_of : mapping of str to str
        Of the training vectors.
    trials : Trials
        Those of `tried`.
    where : str
        For messages.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from pathlib import Path
    >>> vectors = Vectors(Path("a"), ("a1", "b1"), np.eye(2, dtype=np.float32))
    >>> trials = Trials(enrolled=["a", "b"], utterance=["a1", "b1"])
    >>> other_conditions(vectors, {"a1": "a", "b1": "b"}, vectors, trials, "crops")
    []
    """
    rows = {name: row for row, name in enumerate(training.ids)}
    members = grouped(rows, speaker_of.__getitem__).values()
    means = mean_unit_vectors(training.matrix, [np.array([rows[u] for u in of]) for of in members])
    center = means.mean(axis=0)
    used = [name for name in trials.utterance.used if name in tried]
    tested = unit_vectors(tried.matrix[tried.rows(used, "the trials")]).mean(axis=0)
    spread = float(np.sum((means - center) ** 2)) / len(means)
    apart = float(np.sum((tested - center) ** 2)) / spread if spread else 0.0
    if apart - 1 / len(trials.enrolled.used) < _APART:
        return []
    return [
        f"warning: {where}: trial and training speech differ by {100 * apart:.0f} % of the "
        "variance between speakers (other recordings, or another system?): the attacker is weak"
    ]


def compared_sides(
    enrolled: Vectors,
    members: Mapping[str, Sequence[str]],
    tried: Vectors,
    trials: Trials,
    *,
    standardize: bool = False,
    learnt: AffineMap | None = None,
    allow_missing: bool = False,
) -> tuple[Vectors, Vectors, list[str]]:
    """Return the vectors of both sides of the trials as an attacker compares them.

    Parameters
    ----------
    enrolled, tried : Vectors
    members : mapping of str to sequence of str
        Enrollment utterances of every speaker.
    trials : Trials
    standardize, learnt, allow_missing
        See `mapped`: the enrollment by all its utterances, the other side by those of the trials.

    Returns
    -------
    tuple of (Vectors, Vectors, list of str)
        Vectors of both sides, and what limits standardizing them.

    Raises
    ------
    PrivacyEvalError
        A side of a single speaker, whose voice standardizing would take out; as `mapped`.

    Examples
    --------
    >>> from pathlib import Path
    >>> one, two = (Vectors(Path(n), (n, n * 2), np.float32([[1, 2], [3, 4]])) for n in "et")
    >>> speakers = {"a": ["e"], "b": ["ee"]}
    >>> trials = Trials(enrolled=["a", "b"], utterance=["t", "tt"])
    >>> compared_sides(one, speakers, two, trials)[1].ids
    ('t', 'tt')
    """
    sides, remarks, targets = [], [], trials
    if "is_target" in trials:
        targets = trials.take(np.flatnonzero(trials.is_target))
    for side, vectors, ids, speakers in (
        ("enrollment", enrolled, chain(*members.values()), len(members)),
        ("trial", tried, trials.utterance.used, len(targets.enrolled.used)),
    ):
        if standardize and speakers < 2:
            raise PrivacyEvalError(
                f"{vectors.path}: {side} vectors of one speaker, standardized by themselves, would "
                "lose the voice: add speakers, or leave this attacker out"
            )
        if standardize and speakers < FEW_ON_A_SIDE:
            remarks.append(
                f"warning: {side} vectors are standardized by {speakers} speakers, fewer than "
                f"{FEW_ON_A_SIDE}: scores depend on who these are"
            )
        of_side = mapped(
            vectors,
            ids,
            f"the {side}",
            standardize=standardize,
            learnt=learnt,
            allow_missing=allow_missing,
        )
        sides.append(of_side)
    return sides[0], sides[1], remarks
