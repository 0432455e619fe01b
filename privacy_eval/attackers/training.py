"""What an attacker learns from training speech and its anonymized copy: an alignment, and cohorts
of speakers for the normalization of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..choices import AlignmentName
from ..errors import PrivacyEvalError
from ..io.scp import Vectors
from .alignment import Alignment, align, mean_unit_vectors, unit_vectors
from .normalization import Cohorts


def pairs_of(original: Vectors, anonymized: Vectors) -> list[str]:
    """List the utterances that both sides have.

    Raises
    ------
    PrivacyEvalError
        None.
    """
    both = [utterance for utterance in original.ids if utterance in anonymized]
    if not both:
        raise PrivacyEvalError(f"{original.path}, {anonymized.path}: no utterance is in both")
    return both


def describe_pairs(original: Vectors, anonymized: Vectors, pairs: Sequence[str]) -> list[str]:
    """Describe what limits an alignment: utterances that only one side has, and fewer pairs than
    dimensions."""
    where, remarks = f"{original.path}, {anonymized.path}", []
    if left_out := len(original.ids) + len(anonymized.ids) - 2 * len(pairs):
        remarks.append(f"{where}: left out {left_out} utterances that only one of them has")
    if len(pairs) < (dimensions := original.matrix.shape[1]):
        remarks.append(
            f"warning: {where}: {len(pairs)} pairs for {dimensions} dimensions: the "
            "alignment is weak, and an attacker with more speech is stronger"
        )
    return remarks


def learn_alignment(
    name: AlignmentName, original: Vectors, anonymized: Vectors, pairs: Sequence[str]
) -> Alignment:
    """Learn an alignment from the vectors of utterances that both sides have.

    Raises
    ------
    PrivacyEvalError
        As `align`; a vector of zeros.
    """
    where = f"{original.path}, {anonymized.path}"
    try:
        a, b = (unit_vectors(v.matrix[v.rows(pairs, where)]) for v in (original, anonymized))
        return align(name, a, b)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{where}: {error}") from error


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
    members : mapping
        Utterances of each speaker.
    where : str
        The file of the speakers, for messages.

    Raises
    ------
    PrivacyEvalError
        An utterance without a vector; a vector of zeros.
    """
    utterances = [u for of_speaker in members.values() for u in of_speaker]
    ends = np.cumsum([len(of_speaker) for of_speaker in members.values()])[:-1]
    means = []
    for vectors in (original, anonymized):
        rows = np.split(vectors.rows(utterances, where), ends)
        try:
            means.append(mean_unit_vectors(vectors.matrix, rows))
        except PrivacyEvalError as error:
            raise PrivacyEvalError(f"{vectors.path}: {error}") from error
    return Cohorts(means[0], means[1], top)
