"""Whom an attacker has learnt from: nobody of the trials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import utterance_of


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
