"""Trials of speaker verification: from x-vectors, enrollment and a trial list to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, located
from ..io.scores import format_scores
from ..io.scp import Vectors
from ..metrics.trials import Ids, Trials
from .backend import BackendName, PldaBackend, score_matrix, speaker_means
from .enrollment import Enrollment


@dataclass(frozen=True)
class ScoredTrials:
    """Trials with their scores.

    Attributes
    ----------
    enrolled, utterance : Ids
    score : float32 or float64 array, shape (P,)
    trials_left_out, enrollment_left_out : int
        Trials and enrollment utterances without a vector.
    warnings : tuple of str
        What the vectors tell about the scores, each after "warning: ".
    """

    enrolled: Ids
    utterance: Ids
    score: NDArray[np.floating]
    trials_left_out: int
    enrollment_left_out: int
    warnings: tuple[str, ...] = ()

    @property
    def left_out(self) -> str:
        """What was left out; empty if nothing."""
        if not self.trials_left_out and not self.enrollment_left_out:
            return ""
        return (
            f"{self.trials_left_out} trials and {self.enrollment_left_out} enrollment "
            "utterances without x-vectors left out"
        )

    def text(self) -> str:
        """Format a score file: float32 as Kaldi's ivector-plda-scoring does."""
        trials = Trials(enrolled=self.enrolled, utterance=self.utterance, score=self.score)
        return format_scores(trials)


@dataclass(frozen=True)
class SelectedTrials:
    """Trials whose utterances have vectors.

    Attributes
    ----------
    trials : Trials
    enrolled_rows : list of int arrays, length E
        Rows of the enrollment vectors of each speaker to score.
    trial_rows : int array, shape (T,)
        Rows of the vectors of the trial utterances to score.
    rows : int array, shape (P,)
        Trials to score.
    sides : pair of int arrays, shape (P,)
        Which of the E speakers and of the T utterances each of them compares.
    enrollment_left_out : int
        Enrollment utterances without a vector.
    warnings : tuple of str
        What the vectors tell about the scores, each after "warning: ".
    """

    trials: Trials
    enrolled_rows: Sequence[NDArray[np.int64]]
    trial_rows: NDArray[np.int64]
    rows: NDArray[np.int64]
    sides: tuple[NDArray[np.int64], NDArray[np.int64]]
    enrollment_left_out: int
    warnings: tuple[str, ...] = ()

    def scored(self, matrix: NDArray[np.floating]) -> ScoredTrials:
        """Take the scores of the trials from those of all pairs, shape (E, T).

        Raises
        ------
        PrivacyEvalError
            A score that is not finite.
        """
        scores = matrix[self.sides]
        bad = int(np.count_nonzero(~np.isfinite(scores)))
        if bad:
            raise PrivacyEvalError(
                f"{bad} scores are not finite: vectors or model contain values too large "
                "for float32"
            )
        return ScoredTrials(
            self.trials.enrolled.take(self.rows),
            self.trials.utterance.take(self.rows),
            scores,
            trials_left_out=len(self.trials) - self.rows.size,
            enrollment_left_out=self.enrollment_left_out,
            warnings=self.warnings,
        )


def score_trials(
    enrolled: Vectors,
    enrollment: Enrollment,
    trial: Vectors,
    trials: Trials,
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    allow_missing: bool = False,
) -> ScoredTrials:
    """Score a list of trials, in its order.

    Parameters
    ----------
    enrolled, trial : Vectors
        X-vectors of the enrollment and of the trial utterances.
    enrollment : Enrollment
    trials : Trials
    backend : {"plda", "cosine", "euclidean"}
    model : PldaBackend
        For `plda` only.
    allow_missing : bool
        Leave out utterances that have no vector, and count them.

    Returns
    -------
    ScoredTrials

    Raises
    ------
    PrivacyEvalError
        A speaker without enrollment, an utterance without a vector, inconsistent dimensions,
        scores beyond float32's range; no trial to score.
    """
    selected = select_trials(enrolled, enrollment, trial, trials, allow_missing=allow_missing)
    means, counts = speaker_means(enrolled.matrix, selected.enrolled_rows)
    tried = trial.matrix[selected.trial_rows]
    with located(f"{enrolled.path}, {trial.path}"):
        return selected.scored(score_matrix(means, counts, tried, backend=backend, model=model))


def select_trials(
    enrolled: Vectors,
    enrollment: Enrollment,
    trial: Vectors,
    trials: Trials,
    *,
    allow_missing: bool = False,
) -> SelectedTrials:
    """Find the vectors of the trials of a list.

    Parameters
    ----------
    enrolled, trial : Vectors
        X-vectors of the enrollment and of the trial utterances.
    enrollment : Enrollment
    trials : Trials
    allow_missing : bool
        Leave out utterances that have no vector, and count them.

    Returns
    -------
    SelectedTrials

    Raises
    ------
    PrivacyEvalError
        A speaker without enrollment, an utterance without a vector; no trial to score.
    """
    speakers, speaker = trials.enrolled.used, trials.enrolled.numbers
    utterances, utterance = trials.utterance.used, trials.utterance.numbers
    unknown = sorted(s for s in speakers if s not in enrollment.members)
    if unknown:
        raise PrivacyEvalError(
            f"{trials.name}: {len(unknown)} speakers are not enrolled in {enrollment.path}: "
            f"{abbreviate(unknown)}"
        )
    members = [enrollment.members[s] for s in speakers]
    enrollment_left_out = 0
    has_trial = np.ones(len(utterances), dtype=np.bool_)
    if allow_missing:
        enrollment_left_out = sum(u not in enrolled for m in members for u in m)
        members = [tuple(u for u in m if u in enrolled) for m in members]
        has_trial = np.array([u in trial for u in utterances])
    has_enrollment = np.array([bool(m) for m in members])
    rows_scored = np.flatnonzero(has_trial[utterance] & has_enrollment[speaker])
    if not rows_scored.size:
        raise PrivacyEvalError(f"{trials.name}: no trial whose utterances have vectors")
    enrolled_rows = enrolled.rows(
        [u for m in members for u in m], f"the enrollment in {enrollment.path}"
    )
    of_speaker = np.split(enrolled_rows, np.cumsum([len(m) for m in members if m])[:-1])
    rows = trial.rows(
        [u for u, scored in zip(utterances, has_trial, strict=True) if scored],
        f"the trials in {trials.name}",
    )
    row_of, column_of = np.cumsum(has_enrollment) - 1, np.cumsum(has_trial) - 1
    sides = row_of[speaker[rows_scored]], column_of[utterance[rows_scored]]
    compared = ("enrollment", enrolled, np.unique(enrolled_rows)), ("trial", trial, rows)
    warnings = [
        f"warning: {text}"
        for side, vectors, of in compared
        if (text := vectors.equal(of, f"{side} "))
    ]
    column = {u: i for i, u in enumerate(utterances)}
    own = [i * len(column) + column[u] for i, m in enumerate(members) for u in m if u in column]
    if again := int(np.isin(speaker * len(column) + utterance, own).sum()):
        warnings.append(f"warning: {again} trials are of a recording that their speaker enrolled")
    counts = enrollment_left_out, tuple(warnings)
    return SelectedTrials(trials, of_speaker, rows, rows_scored, sides, *counts)
