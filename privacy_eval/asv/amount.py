"""Error rates by the number of utterances per test, from x-vectors or scores."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError, located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.vectors import Vectors
from ..metrics.amount import AmountCurve, Tests, amount_curve
from ..metrics.pav import FloatArray
from ..metrics.trials import Trials
from .backend import BackendName, FloatMatrix, PldaBackend
from .galleries import Conversations, Gallery, whole_tests


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

    def of_tests(self, used: Sequence[str], length: int) -> list[FloatArray]:
        """Add up the seconds of tests, runs of `length` of the `used` utterances, if known."""
        if not self.seconds:
            return []
        seconds = np.array([self.seconds[utterance] for utterance in used])
        return [seconds.reshape(-1, length).sum(axis=1)]

    def beside(self, trials: Trials) -> Trials:
        """Add the columns `seconds` and `session`, as far as they are known."""
        columns: dict[str, Any] = {}
        if self.seconds:
            seconds = [self.seconds.get(name, np.nan) for name in trials.utterance.names]
            columns["seconds"] = np.array(seconds)[trials.utterance.codes]
        if self.sessions:
            columns["session"] = trials.utterance.renamed(lambda u: self.sessions.get(u, ""))
        return trials.with_columns(**columns)


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

    with located(f"{gallery.vectors.path}, {tests.path}"):
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

    def scored(group_of: Mapping[str, str]) -> Iterator[tuple[int, Tests]]:
        for length in sorted(set(lengths)):
            utterances = _whole_tests(speaker_of, column, group_of, length)
            if not utterances:
                yield length, (np.empty((0, len(column))), np.empty(0, dtype=np.int64))
                continue
            conversations = Conversations(tests, utterances, length)
            scores = score(conversations)
            if not np.isfinite(scores).all():
                raise PrivacyEvalError("scores must be finite numbers")
            own = np.array([column[speaker] for speaker in utterances])[conversations.speaker]
            yield length, (scores.T, own, *known.of_tests(conversations.used, length))

    within = dict(scored(known.sessions) if known.sessions else ())
    drawn = {"replicates": replicates, "seed": seed}
    with located(utt2spk):
        return amount_curve(dict(scored(speaker_of)), enrolled, within_sessions=within, **drawn)


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
