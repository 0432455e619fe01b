"""Trials of speaker verification: from vectors and speakers to scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..choices import grouped
from ..errors import InputWarning, PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.vectors import Vectors
from ..metrics.arguments import as_names, as_numbers, at_rows
from ..metrics.trials import Ids, Table, Trials
from .backend import BackendName, FloatMatrix, IntArray, PldaBackend, score_matrix, speaker_means
from .inputs import Enrollment

#: From enrollment vectors, the rows of each of E speakers, and T trial vectors to the scores of all
#: pairs, shape (E, T).
Scorer = Callable[[FloatMatrix, Sequence[IntArray], FloatMatrix], NDArray[np.floating]]

#: Vectors as they are read, by id, or as the rows of an array.
AnyVectors = Vectors | Mapping[str, Any] | ArrayLike
#: Names of vectors in their order, by id, or a utt2spk.
Names = Mapping[Any, Any] | ArrayLike | Path | Loaded


def score(
    enrollment: AnyVectors,
    trial: AnyVectors,
    *,
    enrolled: Names,
    trial_speaker: Names | None = None,
    utterance: ArrayLike | None = None,
    backend: BackendName | Callable[[FloatMatrix, FloatMatrix], ArrayLike] = "cosine",
    model: PldaBackend | None = None,
    trials: Table = None,
) -> Trials:
    """Compare speakers with utterances by their vectors.

    Parameters
    ----------
    enrollment, trial : Vectors, mapping of str to array_like, or array_like, shape (N, D)
        Vectors of the enrollment and of the trial utterances, in float32.
    enrolled : array_like of str, mapping of str to str, or Path
        Speaker of each enrollment vector, in their order, by id, or a utt2spk. The vectors of a
        speaker are averaged.
    trial_speaker : array_like of str, mapping of str to str, or Path, optional
        Speaker of each trial vector, which tells target from nontarget trials.
    utterance : array_like of str, optional
        Ids of the trial vectors; by default those they have, or their numbers.
    backend : {"cosine", "euclidean", "plda"} or callable
        A callable takes the speakers' means, shape (E, D), and the trial vectors, shape (T, D), and
        returns scores of shape (E, T); a higher one supports the same speaker.
    model : PldaBackend
        For `plda` only.
    trials : Trials or what `Trials` is made of, optional
        Pairs of speaker and utterance to compare; by default all.

    Returns
    -------
    Trials

    Raises
    ------
    PrivacyEvalError
        Other dimensions; values that are not finite; vectors of zeros; another number of names; a
        speaker who is not enrolled; another back end; `plda` without a model.

    Warns
    -----
    InputWarning
        More than half of the vectors of a side are equal; speakers are compared with recordings
        that they enrolled.

    Examples
    --------
    >>> trials = score(
    ...     [[1, 0], [1, 1], [0, 1]], [[2, 0], [0, 2]],
    ...     enrolled=["a", "a", "b"], trial_speaker=["a", "b"],
    ... )
    >>> trials.enrolled.tolist(), trials.is_target.tolist()
    (['a', 'a', 'b', 'b'], [True, False, False, True])
    >>> " ".join(f"{value:.2f}" for value in trials.score)
    '0.89 0.45 0.00 1.00'
    """
    first = as_vectors(enrollment, "enrollment", prefix="enrolled-")  # other ids than those tried
    second = as_vectors(trial, "trial", utterance)
    speakers = speakers_of(first, enrolled, "enrolled speakers")
    _check_all_named(first.ids, speakers, "enrollment vectors have no enrolled speaker")
    members = {s: tuple(u) for s, u in grouped(speakers, speakers.__getitem__).items()}
    if trials is None:
        pairs = np.indices((len(members), len(second.ids)), dtype=np.int32).reshape(2, -1)
        trials = Trials(enrolled=Ids(pairs[0], [*members]), utterance=Ids(pairs[1], second.ids))
    enrolled_by, by = Enrollment(first.path, members), _of_means(backend, model)
    scored, _, remarks = score_trials(first, enrolled_by, second, Trials.of(trials), backend=by)
    for text in remarks:
        warnings.warn(text.removeprefix("warning: "), InputWarning, stacklevel=2)
    if trial_speaker is None:
        return scored
    speaker_of = speakers_of(second, trial_speaker, "trial speakers")
    _check_all_named(scored.utterance.used, speaker_of, "trial utterances have no trial speaker")
    own, spoken = scored.enrolled, scored.utterance.renamed(lambda u: speaker_of.get(u, ""))
    is_target = own.codes == spoken.among(own.names).codes
    return scored.with_columns(is_target=is_target, enrolled_speaker=own, trial_speaker=spoken)


def _check_all_named(ids: Sequence[str], speaker_of: Mapping[str, str], what: str) -> None:
    if unknown := [u for u in ids if u not in speaker_of]:
        raise PrivacyEvalError(
            f"{len(unknown)} {what}: {abbreviate(unknown)}: name it, or leave them out"
        )


def score_trials(
    enrolled: Vectors,
    enrollment: Enrollment,
    trial: Vectors,
    trials: Trials,
    *,
    backend: BackendName | Scorer = "plda",
    model: PldaBackend | None = None,
    allow_missing: bool = False,
) -> tuple[Trials, str, tuple[str, ...]]:
    """Score a list of trials, in its order.

    Parameters
    ----------
    enrolled, trial : Vectors
        X-vectors of the enrollment and of the trial utterances.
    enrollment : Enrollment
    trials : Trials
        Enrolled ids are speakers.
    backend : {"plda", "cosine", "euclidean"} or Scorer
    model : PldaBackend
        For `plda` only.
    allow_missing : bool
        Leave out utterances that have no vector, and count them.

    Returns
    -------
    trials : Trials
        With scores; `missing` counts those left out.
    left_out : str
        What was left out; empty if nothing.
    remarks : tuple of str
        What the vectors tell about the scores.

    Raises
    ------
    PrivacyEvalError
        A speaker without enrollment, an utterance without a vector; inconsistent dimensions; scores
        beyond float32's range; no trial to score.
    """
    if unknown := sorted({*trials.enrolled.used} - enrollment.members.keys()):
        raise PrivacyEvalError(
            f"{trials.name}: {len(unknown)} speakers are not enrolled in {enrollment.path}: "
            f"{abbreviate(unknown)}"
        )
    listed = {s: enrollment.members[s] for s in trials.enrolled.used}
    members = {
        s: present
        for s, of in listed.items()
        if (present := [u for u in of if u in enrolled or not allow_missing])
    }
    utterances = [u for u in trials.utterance.used if u in trial or not allow_missing]
    row, column = trials.enrolled.among([*members]).codes, trials.utterance.among(utterances).codes
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    if not kept.size:
        raise PrivacyEvalError(f"{trials.name}: no trial whose utterances have vectors")
    ids = [u for of in members.values() for u in of]
    used = enrolled.rows(ids, f"the enrollment in {enrollment.path}")
    of_speaker = np.split(used, np.cumsum([*map(len, members.values())])[:-1])
    tried = trial.rows(utterances, f"the trials in {trials.name}")
    with located(f"{enrolled.path}, {trial.path}"):
        by = backend if callable(backend) else _of_means(backend, model)
        matrix = by(enrolled.matrix, of_speaker, trial.matrix[tried])
        if matrix.shape != (size := (len(members), len(utterances))):
            raise PrivacyEvalError(f"scores of shape {matrix.shape} instead of {size}")
        scores = matrix[row[kept], column[kept]]
        if bad := int(np.count_nonzero(~np.isfinite(scores))):
            raise PrivacyEvalError(
                f"{bad} scores are not finite: vectors or model contain values too large "
                "for float32"
            )
    scored = trials.take(kept).with_columns(score=scores)
    scored.missing = len(trials) - len(scored)
    lost = sum(map(len, listed.values())) - len(ids)
    left_out = (
        f"{scored.missing} trials and {lost} enrollment utterances without x-vectors left out"
    )
    place, people = {u: n for n, u in enumerate(utterances)}, enumerate(members.values())
    own = [n * len(place) + place[u] for n, of in people for u in of if u in place]
    again = np.isin(row.astype(np.int64)[kept] * len(place) + column[kept], own).sum()
    sides = ("enrollment ", enrolled, np.unique(used)), ("trial ", trial, tried)
    said = [vectors.equal(rows, side) for side, vectors, rows in sides]
    if again:
        said.append(f"{again} trials are of a recording that their speaker enrolled")
    remarks = tuple(f"warning: {text}" for text in said if text)
    return scored, left_out if scored.missing or lost else "", remarks


def _of_means(
    backend: BackendName | Callable[[FloatMatrix, FloatMatrix], ArrayLike],
    model: PldaBackend | None = None,
) -> Scorer:
    """Score the means of the speakers' vectors by a back end."""

    def scores(
        vectors: FloatMatrix, members: Sequence[IntArray], trial: FloatMatrix
    ) -> NDArray[np.floating]:
        means, counts = speaker_means(vectors, members)
        if callable(backend):
            return np.asarray(backend(means, trial))
        return score_matrix(means, counts, trial, backend=backend, model=model)

    return scores


def as_vectors(
    values: AnyVectors, what: str, ids: ArrayLike | None = None, prefix: str = ""
) -> Vectors:
    """Give the rows of an array ids, by default their numbers; they are rounded to float32.

    Parameters
    ----------
    values : Vectors, mapping of str to array_like, or array_like, shape (N, D)
    what : str
        Which vectors they are, for messages.
    ids : array_like of str, shape (N,), optional
    prefix : str
        Of numbers as ids.

    Returns
    -------
    Vectors

    Raises
    ------
    PrivacyEvalError
        No matrix; values that are not finite; another number of ids, or one twice.

    Examples
    --------
    >>> as_vectors([[1, 2], [3, 4]], "trial").ids
    ('0', '1')
    """
    if isinstance(values, Vectors):
        return values
    ids = [*values] if isinstance(values, Mapping) else ids
    rows = [*values.values()] if isinstance(values, Mapping) else values
    rows = rows.to_list() if hasattr(rows, "to_list") else rows  # a column of vectors
    try:
        matrix = as_numbers(rows, f"{what} vectors")
    except ValueError as error:
        raise PrivacyEvalError(f"{what} vectors are not all of one dimension") from error
    if matrix.ndim != 2 or not matrix.size:
        raise PrivacyEvalError(
            f"{what} vectors must be the rows of an array, not of shape {matrix.shape}"
        )
    with np.errstate(over="ignore"):
        single = matrix.astype(np.float32)
    if len(bad := np.flatnonzero(~np.isfinite(single).all(axis=1))):
        raise PrivacyEvalError(
            f"{len(bad)} {what} vectors have values that are NaN, infinite or too large, "
            f"{at_rows(bad)}: leave them out"
        )
    numbers = [f"{prefix}{row}" for row in range(len(matrix))]
    names = numbers if ids is None else as_names(ids, "ids").tolist()
    if not len(matrix) == len(names) == len({*names}):
        raise PrivacyEvalError(
            f"{len(names)} ids, {len({*names})} of them different, for {len(matrix)} {what} "
            "vectors: give each vector one"
        )
    single.setflags(write=False)
    return Vectors(Path(f"{what} vectors"), tuple(names), single)


def speakers_of(vectors: Vectors, speakers: Names, what: str) -> Mapping[str, str]:
    """Return the speaker of each vector by its id.

    Parameters
    ----------
    vectors : Vectors
    speakers : array_like of str, mapping, Path or Loaded
        In the order of the vectors, by id, or a utt2spk.
    what : str
        For messages.

    Returns
    -------
    mapping of str to str

    Raises
    ------
    PrivacyEvalError
        Another number of names; a missing one; an invalid utt2spk.

    Examples
    --------
    >>> speakers_of(as_vectors([[1, 2], [3, 4]], "trial"), ["a", "b"], "speakers")
    {'0': 'a', '1': 'b'}
    """
    if isinstance(speakers, str | Path | Loaded):
        return read_utt2spk(Path(speakers) if isinstance(speakers, str) else speakers)
    ids = [*map(str, speakers)] if isinstance(speakers, Mapping) else vectors.ids
    given = [*speakers.values()] if isinstance(speakers, Mapping) else speakers
    names = as_names(given, what).tolist()
    if len(names) != len(ids):
        raise PrivacyEvalError(
            f"{len(names)} {what} for {len(ids)} {vectors.path}: give each vector one"
        )
    return dict(zip(ids, names, strict=True))
