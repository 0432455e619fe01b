"""Trials of speaker verification: from x-vectors, enrollment and a trial list to scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_list, read_spk2utt, read_utt2spk
from ..io.files import digest
from ..io.scores import TrialList
from ..io.scp import Vectors
from ..io.text_table import Column, unique_fields
from .backend import BackendName, PldaBackend, score_matrix, speaker_means


@dataclass(frozen=True)
class Enrollment:
    """Who is enrolled with which utterances.

    Attributes
    ----------
    path : Path
        Where that is said.
    members : mapping
        Utterances by speaker.
    """

    path: Path
    members: Mapping[str, tuple[str, ...]]

    @property
    def digest(self) -> str:
        """SHA-256 of who is enrolled with what, in any order of the files."""
        lines = sorted(f"{s} {' '.join(u)}\n" for s, u in self.members.items())
        return digest("".join(lines).encode())


@dataclass(frozen=True)
class ScoredTrials:
    """Trials with their scores, shape (P,), and how many trials and enrollment utterances
    were left out for want of a vector."""

    speaker: Column
    utterance: Column
    score: NDArray[np.float32]
    trials_left_out: int
    enrollment_left_out: int

    def text(self) -> str:
        """A score file, as Kaldi's ivector-plda-scoring prints it."""
        columns = (self.speaker.tolist(), self.utterance.tolist(), self.score.tolist())
        return "".join(map("{} {} {:.7g}\n".format, *columns))


def load_enrollment(spk2utt: Path, enrolls: Path | None = None) -> Enrollment:
    """Who is enrolled: a spk2utt (or a utt2spk, by its name), all of it or only the
    utterances that a list names.

    Raises
    ------
    PrivacyEvalError
        A malformed file; an utterance of the list that has no speaker.
    """
    if spk2utt.name.startswith("utt2spk"):
        members: dict[str, tuple[str, ...]] = {}
        for utterance, speaker in read_utt2spk(spk2utt).items():
            members[speaker] = (*members.get(speaker, ()), utterance)
    else:
        members = read_spk2utt(spk2utt)
    if enrolls is None:
        return Enrollment(spk2utt, members)
    wanted = {u.decode("utf-8", "backslashreplace"): n for u, n in _lines(enrolls).items()}
    known = {u for utterances in members.values() for u in utterances}
    unknown = [u for u in wanted if u not in known]
    if unknown:
        raise PrivacyEvalError(
            f"{enrolls}:{wanted[unknown[0]]}: {len(unknown)} utterances have no speaker in "
            f"{spk2utt}: {abbreviate(unknown)}"
        )
    kept = {s: tuple(u for u in own if u in wanted) for s, own in members.items()}
    return Enrollment(enrolls, {s: own for s, own in kept.items() if own})


def score_trials(
    enrolled: Vectors,
    enrollment: Enrollment,
    tested: Vectors,
    trials: TrialList,
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    allow_missing: bool = False,
) -> ScoredTrials:
    """Scores of a list of trials, in its order.

    Parameters
    ----------
    allow_missing : bool
        Leave out utterances that have no vector, and count them.

    Raises
    ------
    PrivacyEvalError
        A speaker without enrollment, an utterance without a vector, dimensions that do
        not fit, scores beyond float32's range; nothing left to score.
    """
    speakers, speaker = unique_fields(trials.speaker)
    utterances, utterance = unique_fields(trials.utterance)
    strangers = sorted(s for s in speakers if s not in enrollment.members)
    if strangers:
        raise PrivacyEvalError(
            f"{trials.path}: {len(strangers)} speakers are not enrolled in {enrollment.path}: "
            f"{abbreviate(strangers)}"
        )
    members = [enrollment.members[s] for s in speakers]
    known, unspoken = (
        np.array([not allow_missing or x in vectors for x in names], dtype=np.bool_)
        for vectors, names in ((tested, utterances), (enrolled, [u for m in members for u in m]))
    )
    if allow_missing:
        members = [tuple(u for u in m if u in enrolled) for m in members]
    has_vector = np.array([bool(m) for m in members])
    kept = np.flatnonzero(known[utterance] & has_vector[speaker])
    if not kept.size:
        raise PrivacyEvalError(f"{trials.path}: no trial whose utterances have vectors")
    enrolled_rows = enrolled.rows(
        [u for m in members for u in m], f"the enrollment in {enrollment.path}"
    )
    of_speaker = np.split(enrolled_rows, np.cumsum([len(m) for m in members if m])[:-1])
    rows = tested.rows(
        [u for u, there in zip(utterances, known, strict=True) if there],
        f"the trials in {trials.path}",
    )
    means, counts = speaker_means(enrolled.matrix, of_speaker)
    try:
        matrix = score_matrix(means, counts, tested.matrix[rows], backend=backend, model=model)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{enrolled.path}, {tested.path}: {error}") from error
    place = (np.cumsum(has_vector) - 1, np.cumsum(known) - 1)
    scores = matrix[place[0][speaker[kept]], place[1][utterance[kept]]]
    if not np.isfinite(scores).all():
        raise PrivacyEvalError(
            f"{enrolled.path}, {tested.path}: {int((~np.isfinite(scores)).sum())} scores are not "
            "finite: vectors or model hold huge values"
        )
    return ScoredTrials(
        trials.speaker.take(kept),
        trials.utterance.take(kept),
        scores,
        trials_left_out=len(trials.speaker) - kept.size,
        enrollment_left_out=int((~unspoken).sum()),
    )


def _lines(enrolls: Path) -> Mapping[bytes, int]:
    return read_list(enrolls, "enrolls").lines
