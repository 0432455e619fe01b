"""What trials share with other speech: sessions with the enrollment, and, as must not be, speakers
with the speech that an attacker learns from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import utterance_of
from ..io.names import session

#: Speakers to learn from: with fewer, a caveat.
FEW_TRAINING = 50
#: Of a discriminant, at most.
DIMENSIONS = 150


def session_is_enrolled(
    speakers: Sequence[str],
    utterances: Sequence[str],
    enrollment: Mapping[str, Iterable[str]],
    sessions: Mapping[str, str] = MappingProxyType({}),
) -> NDArray[np.bool_]:
    """Tell in which trials the trial utterance is of a session that its enrolled speaker enrolled.

    Sentences of one book or conversation share words of their subject, whoever speaks.

    Parameters
    ----------
    speakers, utterances : sequences of str, length P
        Enrolled speaker and trial utterance of each trial.
    enrollment : mapping of str to iterable of str
        Enrollment utterances by speaker.
    sessions : mapping of str to str
        Of utterances; others have that of their id.

    Returns
    -------
    bool array, shape (P,)

    Examples
    --------
    >>> session_is_enrolled(["a", "a"], ["a-1-7", "a-2-1"], {"a": ["a-1-0"]})
    array([ True, False])
    """
    of = {u: session(u) for members in (*enrollment.values(), utterances) for u in members}
    of |= sessions
    enrolled = {(s, of[u]) for s, members in enrollment.items() for u in members}
    pairs = zip(speakers, (of[u] for u in utterances), strict=True)
    return np.fromiter((pair in enrolled for pair in pairs), np.bool_, len(speakers))


def training_remarks(speakers: Iterable[str], where: str) -> list[str]:
    """Say what limits learning from crops of some speakers: too few of them, or too few crops.

    Parameters
    ----------
    speakers : iterable of str
        Of each crop.
    where : str
        For messages.

    Returns
    -------
    list of str

    Examples
    --------
    >>> training_remarks(["a", "a", "b"], "crops")[1][:55]
    'warning: crops: fewer than two crops of 1 of 2 speakers'
    """
    names, counts = np.unique([*speakers], return_counts=True)
    single, remarks = int(np.count_nonzero(counts < 2)), []
    weak = "the attacker is weak, and one with more speech is stronger"
    if len(names) < FEW_TRAINING:
        text = f"{len(names)} training speakers, fewer than {FEW_TRAINING}"
        remarks.append(f"warning: {where}: {text}: {weak}")
    if 2 * single >= len(names):
        text = f"fewer than two crops of {single} of {len(names)} speakers"
        remarks.append(f"warning: {where}: {text}: {weak}")
    return remarks


def shared_speakers(
    training: Mapping[str, str | None],
    enrollment: Mapping[str, Sequence[str]],
    tested: Iterable[str],
) -> list[str]:
    """List the training utterances that are of speakers of the trials.

    Where the speaker of an utterance is not told, Kaldi's ids do, which begin with the speaker
    and a hyphen or underscore.

    Parameters
    ----------
    training : mapping of str to str or None
        Speaker of each training utterance, or of crops of these; None: not told.
    enrollment : mapping of str to sequence of str
        Enrollment utterances by speaker.
    tested : iterable of str
        Trial utterances.

    Returns
    -------
    list of str

    Examples
    --------
    >>> shared_speakers({"a-2": None, "b-1": None}, {"a": ["a-1"]}, ["c-7"])
    ['a-2']
    """
    utterances = {*tested, *(u for members in enrollment.values() for u in members)}
    speakers = set(enrollment)
    parts = [(s, _beginnings(u)[:1]) for s, members in enrollment.items() for u in members]
    if all([speaker] == first for speaker, first in parts):  # so the others' ids tell theirs
        speakers |= {name for u in utterances for name in _beginnings(u)[:1]}
    return [
        utterance
        for utterance, speaker in training.items()
        if not utterances.isdisjoint((utterance, utterance_of(utterance)))
        or not speakers.isdisjoint(_beginnings(utterance) if speaker is None else [speaker])
    ]


def refuse_shared(
    path: Path,
    training: Mapping[str, str | None],
    enrollment: Mapping[str, Sequence[str]],
    tested: Iterable[str],
) -> None:
    """Refuse training utterances of speakers of the trials.

    Parameters
    ----------
    path : Path
        Their file, for messages.
    training, enrollment, tested
        See `shared_speakers`.

    Raises
    ------
    PrivacyEvalError
        Some are.

    Examples
    --------
    >>> refuse_shared(Path("utt2spk"), {"b-1": "b"}, {"a": ["a-1"]}, ["c-7"])
    """
    if shared := shared_speakers(training, enrollment, tested):
        raise PrivacyEvalError(
            f"{path}: {len(shared)} of {len(training)} utterances are of speakers of the trials, "
            f"so that the attacker would learn from what it is tested on: {abbreviate(shared)}"
        )


def _beginnings(utterance: str) -> list[str]:
    """Return what stands before each hyphen or underscore."""
    return [utterance[: match.start()] for match in re.finditer("[-_]", utterance)]
