"""Error rates by the number of utterances per test, from x-vectors or scores."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.scp import Vectors
from ..io.trial_speakers import with_speakers
from ..metrics.amount import AmountCurve, LengthScores, amount_curve
from ..metrics.pav import FloatArray, IntArray
from ..metrics.trials import Trials
from .backend import BackendName, FloatMatrix, PldaBackend
from .galleries import Conversations, Gallery, in_files, whole_tests


@dataclass(frozen=True)
class KnownSpeech:
    """What is known of test utterances beside their speakers.

    Attributes
    ----------
    seconds : mapping of str to float
        Their durations; empty if they are not known.
    sessions : mapping of str to str
        Their sessions; empty if they are not known.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    sessions: Mapping[str, str] = field(default_factory=dict)

    def of_tests(self, used: Sequence[str], length: int) -> FloatArray | None:
        """Add up the seconds of tests, runs of `length` of the `used` utterances."""
        if not self.seconds:
            return None
        seconds = np.array([self.seconds[utterance] for utterance in used])
        return np.asarray(seconds.reshape(-1, length).sum(axis=1))


def amount_of_vectors(
    gallery: Gallery,
    tests: Vectors,
    utt2spk: Path | Loaded,
    lengths: Sequence[int],
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    allow_missing: bool = False,
    **options: Any,
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, whose vectors are averaged.

    Parameters
    ----------
    gallery, tests, utt2spk, backend, model, allow_missing
        See `identify`.
    lengths : sequence of int
        Utterances per test.
    **options
        See `amount_of_tests`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        As `identify` and `amount_of_tests`.
    """
    enrolled = gallery.present() if allow_missing else gallery

    def score(conversations: Conversations) -> FloatMatrix:
        return conversations.scorer(utt2spk, backend, model)(enrolled)

    with in_files(gallery, tests):
        return amount_of_tests(
            score,
            list(enrolled.enrollment.members),
            tests,
            utt2spk,
            lengths,
            allow_missing=allow_missing,
            **options,
        )


def amount_of_tests(
    score: Callable[[Conversations], NDArray[np.floating]],
    enrolled: Sequence[str],
    tests: Vectors,
    utt2spk: Path | Loaded,
    lengths: Sequence[int],
    *,
    allow_missing: bool = False,
    tried: Container[str] | None = None,
    known: KnownSpeech = KnownSpeech(),
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, which a function scores.

    Parameters
    ----------
    score : callable
        Returns the scores of all enrolled speakers with all tests: float array, shape (E, tests).
    enrolled : sequence of str, length E
    tests : Vectors
    utt2spk : Path or Loaded
    lengths : sequence of int
        Utterances per test.
    allow_missing : bool
        Leave out utterances without a vector.
    tried : container of str, optional
        The test utterances, by default all of `utt2spk`.
    known : KnownSpeech
    replicates, seed : int
        See `amount_curve`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        What `score` raises; a score that is not finite; as `amount_curve`.
    """
    listed = read_utt2spk(utt2spk)
    speaker_of = {
        u: s
        for u, s in listed.items()
        if (tried is None or u in tried) and (not allow_missing or u in tests)
    }
    column = {speaker: number for number, speaker in enumerate(enrolled)}

    def scored(group_of: Mapping[str, str]) -> Iterator[LengthScores]:
        for length in sorted(set(lengths)):
            utterances = _whole_tests(speaker_of, column, group_of, length)
            if not utterances:
                yield LengthScores(length, np.empty((0, len(column))), np.empty(0, dtype=np.int64))
                continue
            conversations = Conversations(tests, utterances, length)
            scores = score(conversations)
            if not np.isfinite(scores).all():
                raise PrivacyEvalError("scores must be finite numbers")
            own = np.array([column[speaker] for speaker in utterances])[conversations.speaker]
            seconds = known.of_tests(conversations.used, length)
            yield LengthScores(length, scores.T, own, seconds)

    within = scored(known.sessions) if known.sessions else ()
    drawn = {"replicates": replicates, "seed": seed}
    with located(utt2spk):
        return amount_curve(scored(speaker_of), enrolled, within_sessions=within, **drawn)


def _whole_tests(
    speaker_of: Mapping[str, str],
    enrolled: Container[str],
    group_of: Mapping[str, str],
    length: int,
) -> dict[str, list[str]]:
    """Return the utterances of each enrolled speaker, cut to whole tests of one group each."""
    whole: dict[str, list[str]] = {}
    for speaker, utterances in whole_tests(speaker_of, enrolled, 1).items():
        groups = grouped(utterances, group_of.__getitem__)
        kept = [u for some in groups.values() for u in some[: len(some) - len(some) % length]]
        if kept:
            whole[speaker] = kept
    return whole


def amount_of_scores(
    trials: Trials,
    utt2spk: Path | Loaded,
    lengths: Sequence[int],
    *,
    known: KnownSpeech = KnownSpeech(),
    replicates: int = 0,
    seed: int = 0,
) -> AmountCurve:
    """Compute error rates of tests of several numbers of utterances, whose scores are averaged.

    A speaker's utterances are sorted by name. A pair without a score of every utterance of a test
    is not compared. Of cosine scores, ranks are those of averaged unit vectors, but the EER is
    higher: where there are vectors, use them.

    Parameters
    ----------
    trials : Trials
        Enrolled ids are speakers.
    utt2spk : Path or Loaded
    lengths : sequence of int
    known : KnownSpeech
    replicates, seed : int
        See `amount_curve`.

    Returns
    -------
    AmountCurve

    Raises
    ------
    PrivacyEvalError
        As `with_speakers` and `amount_curve`; a speaker enrolled under several ids; trials whose
        speaker has no trial of their own.
    """
    trials = with_speakers(trials, utt2spk)
    spoken = np.array(trials.trial_speaker.tolist())
    names, column = np.unique(trials.enrolled_speaker.tolist(), return_inverse=True)
    if (ids := len(trials.enrolled.used)) > names.size:
        raise PrivacyEvalError(
            f"{ids} enrolled ids of {names.size} speakers: tests of several utterances need one "
            "enrolled id per speaker"
        )
    utterances, place_of = trials.utterance.used, trials.utterance.numbers
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
    ordered = np.array(sorted(utterances), dtype=object)

    def averaged(groups: IntArray) -> Iterator[LengthScores]:
        for length in sorted(set(lengths)):
            runs = _runs(np.where(own < 0, -1, groups), length)
            seconds = known.of_tests(ordered[runs].ravel().tolist(), length)
            yield _averaged(matrix, own, runs, seconds)

    within: Iterable[LengthScores] = ()
    if known.sessions:
        both = zip(speaker.tolist(), ordered.tolist(), strict=True)
        groups = [f"{name} {known.sessions[utterance]}" for name, utterance in both]
        within = averaged(np.unique(groups, return_inverse=True)[1])
    drawn = {"replicates": replicates, "seed": seed}
    return amount_curve(averaged(own), names.tolist(), within_sessions=within, **drawn)


def _runs(groups: IntArray, length: int) -> IntArray:
    """Cut the rows of each group into runs, shape (tests, length); rows of group -1 are left."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups[groups >= 0])]
    whole = [some[: some.size - some.size % length] for some in rows]
    return np.concatenate(whole).reshape(-1, length)


def _averaged(
    matrix: FloatArray, own: IntArray, runs: IntArray, seconds: FloatArray | None
) -> LengthScores:
    """Average the scores of runs of utterances."""
    scores = matrix[runs[:, 0]]
    for place in range(1, runs.shape[1]):
        scores += matrix[runs[:, place]]
    scores /= runs.shape[1]
    of_tests = own[runs[:, 0]]
    compared = ~np.isnan(scores[np.arange(of_tests.size), of_tests])
    kept = None if seconds is None else seconds[compared]
    return LengthScores(runs.shape[1], scores[compared], of_tests[compared], kept)
