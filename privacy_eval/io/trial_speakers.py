"""Speakers of both sides of trials: what a bootstrap over speakers draws.

Kaldi's lists name the enrolled speaker; those of VoxCeleb, wespeaker, SpeechBrain and NIST an
enrolled utterance or model, whose speaker a file or the prefix of its name tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from ..choices import without_fraction
from ..errors import PrivacyEvalError, abbreviate
from ..metrics.trials import Ids, Trials
from .data_dir import read_utt2spk
from .files import Loaded

#: Speaker of an id, and how it was told, for messages.
_Reading = tuple[str, str]
_NOBODY = ("", "")


def with_speakers(
    trials: Trials, utt2spk: Path | Loaded | None, enroll_utt2spk: Path | None = None
) -> Trials:
    """Look up the enrolled and the trial speaker of each trial, unless they have these columns.

    Parameters
    ----------
    trials : Trials
        With labels.
    utt2spk : Path, Loaded or None
        Speakers of the trial utterances; without such a file, ids such as `id10290/x/1.wav` tell
        theirs by their first folder. Enrolled ids that it lists are utterances, too; those that
        it does not list are speakers, or begin with the folder of one.
    enroll_utt2spk : Path, optional
        Speakers of the enrolled utterances or models.

    Returns
    -------
    Trials
        With the columns `enrolled_speaker` and `trial_speaker`.

    Raises
    ------
    PrivacyEvalError
        As `read_utt2spk`; an utterance or model without a speaker; labels that contradict the
        speakers: how the speakers of the first such trial were read.

    Examples
    --------
    >>> trials = Trials(
    ...     enrolled=["id1", "id1"], utterance=["id1/x/1.wav", "id2/y/1.wav"], label=[1, 0]
    ... )
    >>> with_speakers(trials, None).trial_speaker.tolist()
    ['id1', 'id2']
    """
    by_column = "trial_speaker" in trials, "enrolled_speaker" in trials
    utterance = trials.trial_speaker if by_column[0] else trials.utterance
    enrolled_id = trials.enrolled_speaker if by_column[1] else trials.enrolled
    if by_column[0]:
        named = trials.utterance.tolist() if "utterance" in trials else []
        speaker_of = dict(zip(named, utterance.tolist(), strict=False))
        trial = {u: (u, "by its column") for u in utterance.used}
    elif utt2spk is not None and Path(utt2spk).is_file():
        speaker_of = read_utt2spk(utt2spk)
        trial = _listed(utterance, speaker_of, utt2spk, "trial utterances")
    elif all(map(_prefix, utterance.used)):
        speaker_of = {u: _prefix(u) for u in utterance.used}
        trial = {u: (speaker, "by its first folder") for u, speaker in speaker_of.items()}
    else:
        raise PrivacyEvalError(
            f"{utt2spk or 'utt2spk'}: no such file; a bootstrap over speakers needs the "
            "speakers of the trial utterances: put utt2spk beside the trials, or name it "
            "with --utt2spk, or their column with --columns trial_speaker=NAME (trial_speaker=...)"
        )
    if by_column[1]:
        enrolled = {e: (e, "by its column") for e in enrolled_id.used}
    elif enroll_utt2spk is not None:
        given = read_utt2spk(enroll_utt2spk)
        enrolled = _listed(enrolled_id, given, enroll_utt2spk, "enrolled ids")
    else:
        source = "its column" if by_column[0] else utt2spk
        speakers = {*speaker_of.values()}
        enrolled = {e: _enrolled_reading(e, speaker_of, speakers, source) for e in enrolled_id.used}
    first = enrolled_id.renamed(lambda e: without_fraction(enrolled.get(e, _NOBODY)[0]))
    second = utterance.renamed(lambda u: without_fraction(trial.get(u, _NOBODY)[0]))
    wrong = np.flatnonzero((first.codes == second.among(first.names).codes) != trials.is_target)
    if wrong.size:
        row = int(wrong[0])
        names = enrolled_id.text(row), utterance.text(row)
        raise PrivacyEvalError(
            f"labels of {wrong.size} trials contradict their speakers; the first: a "
            f"{'target' if trials.is_target[row] else 'nontarget'} trial of enrolled "
            f"{_describe(names[0], enrolled[names[0]])} and trial "
            f"{_describe(names[1], trial[names[1]])}; "
            "--utt2spk names the speakers of utterances, --enroll-utt2spk those of enrolled "
            "utterances or models"
        )
    return trials.with_columns(enrolled_speaker=first, trial_speaker=second)


def _enrolled_reading(
    enrolled: str,
    speaker_of: Mapping[str, str],
    speakers: Collection[str],
    source: Path | Loaded | str | None,
) -> _Reading:
    """Read an enrolled id as a speaker, an utterance or a file of a speaker."""
    if enrolled in speakers:
        return enrolled, "a speaker"
    if enrolled in speaker_of and source is not None:
        return speaker_of[enrolled], f"by {source}"
    if prefix := _prefix(enrolled):
        return prefix, "by its first folder"
    return enrolled, "taken for a speaker, as no file lists it"


def _prefix(name: str) -> str:
    """Return the first folder of a relative path; "" if there is none."""
    first, slash, _ = name.partition("/")
    return first if slash else ""


def _listed(
    ids: Ids, speaker_of: Mapping[str, str], path: Path | Loaded, what: str
) -> dict[str, _Reading]:
    """Read ids by a list of speakers."""
    if unknown := sorted(name for name in ids.used if name not in speaker_of):
        raise PrivacyEvalError(
            f"{path}: {len(unknown)} {what} have no speaker: {abbreviate(unknown)}"
        )
    return {name: (speaker_of[name], f"by {path}") for name in ids.used}


def _describe(name: str, reading: _Reading) -> str:
    speaker, how = reading
    return f"{name} (speaker {speaker}, {how})" if speaker != name else f"{name} ({how})"
