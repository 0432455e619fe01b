"""Error rates by the number of utterances per test, from x-vectors or scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.scores import PairedTrials
from ..io.scp import Vectors
from ..io.text_table import unique_fields
from ..io.trial_speakers import trial_speakers
from ..metrics.amount import AmountCurve, LengthScores, amount_curve
from ..metrics.pav import FloatArray, IntArray
from .backend import BackendName, PldaBackend
from .galleries import Conversations, Gallery, in_files, whole_tests


def amount_of_vectors(
    gallery: Gallery,
    tests: Vectors,
    utt2spk: Path | Loaded,
    lengths: Sequence[int],
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    allow_missing: bool = False,
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, whose vectors are averaged.

    Parameters
    ----------
    gallery, tests, utt2spk, backend, model, allow_missing
        See `identify`.
    lengths : sequence of int
        Utterances per test.
    replicates, seed : int
        See `amount_curve`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        As `identify` and `amount_curve`.
    """
    speaker_of = read_utt2spk(utt2spk)
    if allow_missing:
        speaker_of = {u: s for u, s in speaker_of.items() if u in tests}
        gallery = gallery.present()
    members = gallery.enrollment.members
    column = {speaker: number for number, speaker in enumerate(members)}

    def scored() -> Iterator[LengthScores]:
        for length in sorted(set(lengths)):
            utterances = whole_tests(speaker_of, members, length)
            if not utterances:
                yield LengthScores(length, np.empty((0, len(members))), np.empty(0, dtype=np.int64))
                continue
            conversations = Conversations(tests, utterances, length)
            with in_files(gallery, tests):
                scores = conversations.scorer(utt2spk, backend, model)(gallery)
                if not np.isfinite(scores).all():
                    raise PrivacyEvalError("scores must be finite numbers")
            own = np.array([column[speaker] for speaker in utterances])[conversations.speaker]
            yield LengthScores(length, scores.T, own)

    try:
        return amount_curve(scored(), list(members), replicates=replicates, seed=seed)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{utt2spk}: {error}") from error


def amount_of_scores(
    trials: PairedTrials,
    utt2spk: Path | Loaded,
    lengths: Sequence[int],
    *,
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, whose scores are averaged.

    A speaker's utterances are sorted by name. A pair without a score of every utterance of a test
    is not compared. Of cosine scores, ranks are those of averaged unit vectors, but the EER is
    higher: where there are vectors, use them.

    Parameters
    ----------
    trials : PairedTrials
        Enrolled ids are speakers.
    utt2spk : Path or Loaded
    lengths : sequence of int
    replicates, seed : int
        See `amount_curve`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        As `trial_speakers` and `amount_curve`; a speaker enrolled under several ids; trials whose
        speaker has no trial of their own.
    """
    enrolled, spoken = trial_speakers(trials, utt2spk)
    names, column = np.unique(enrolled, return_inverse=True)
    if (ids := len(unique_fields(trials.speaker)[0])) > names.size:
        raise PrivacyEvalError(
            f"{ids} enrolled ids of {names.size} speakers: tests of several utterances need one "
            "enrolled id per speaker"
        )
    utterances, place_of = unique_fields(trials.utterance)
    row = np.argsort(np.argsort(utterances))[place_of]
    speaker = np.empty(len(utterances), dtype=spoken.dtype)
    speaker[row] = spoken
    matrix = np.full((speaker.size, names.size), np.nan)
    matrix[row, column] = trials.score
    place = {name: number for number, name in enumerate(names.tolist())}
    own = np.array([place.get(name, -1) for name in speaker.tolist()])
    if own.max() < 0:
        raise PrivacyEvalError(
            f"no test speaker is enrolled: {abbreviate(sorted(set(speaker.tolist())))}"
        )
    averaged = (_averaged(matrix, own, length) for length in sorted(set(lengths)))
    return amount_curve(averaged, names.tolist(), replicates=replicates, seed=seed)


def _averaged(matrix: FloatArray, own: IntArray, length: int) -> LengthScores:
    """Average the scores of consecutive utterances of each enrolled speaker."""
    rows = []
    for speaker in np.unique(own[own >= 0]):
        of_speaker = np.flatnonzero(own == speaker)
        rows.append(of_speaker[: of_speaker.size - of_speaker.size % length])
    runs = np.concatenate(rows).reshape(-1, length)
    scores = matrix[runs[:, 0]]
    for place in range(1, length):
        scores += matrix[runs[:, place]]
    scores /= length
    of_tests = own[runs[:, 0]]
    compared = ~np.isnan(scores[np.arange(of_tests.size), of_tests])
    return LengthScores(length, scores[compared], of_tests[compared])
