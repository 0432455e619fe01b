"""What an attacker learns from training speech and its anonymized copy: an alignment, and cohorts
of speakers for the normalization of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..choices import AlignmentName
from ..errors import PrivacyEvalError, located
from ..io.vectors import Vectors
from .alignment import Alignment, align, mean_unit_vectors, unit_vectors
from .normalization import Cohorts

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
