"""Speakers of both sides of trials: what a bootstrap over speakers draws.

Kaldi's lists name the enrolled speaker; those of VoxCeleb, wespeaker, SpeechBrain and NIST an
enrolled utterance or model, whose speaker a file or the prefix of its name tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from ..choices import without_fraction
from ..errors import PrivacyEvalError, abbreviate
from ..metrics.trials import Trials
from .data_dir import read_utt2spk
from .files import Loaded

#: Speaker of an id, and how it was told, for messages.
_Reading = tuple[str, str]


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
    """
    by_column = "trial_speaker" in trials, "enrolled_speaker" in trials
    utterance = trials.trial_speaker if by_column[0] else trials.utterance
    enrolled_id = trials.enrolled_speaker if by_column[1] else trials.enrolled
    utterances, enrolled_ids = utterance.used, enrolled_id.used
    if by_column[0]:
        named = trials.utterance.tolist() if "utterance" in trials else []
        speaker_of = dict(zip(named, utterance.tolist(), strict=False))
        trial = [(u, "by its column") for u in utterances]
    elif utt2spk is not None and Path(utt2spk).is_file():
        speaker_of = read_utt2spk(utt2spk)
        _require(utterances, speaker_of, utt2spk, "trial utterances")
        trial = [(speaker_of[u], f"by {utt2spk}") for u in utterances]
    elif all(map(_prefix, utterances)):
        speaker_of = {u: _prefix(u) for u in utterances}
        trial = [(speaker_of[u], "by its first folder") for u in utterances]
    else:
        raise PrivacyEvalError(
            f"{utt2spk or 'utt2spk'}: no such file; a bootstrap over speakers needs the "
            "speakers of the trial utterances: put utt2spk beside the trials, or name it "
            "with --utt2spk, or their column with --columns trial_speaker=NAME"
        )
    if by_column[1]:
        enrolled = [(e, "by its column") for e in enrolled_ids]
    elif enroll_utt2spk is not None:
        given = read_utt2spk(enroll_utt2spk)
        _require(enrolled_ids, given, enroll_utt2spk, "enrolled ids")
        enrolled = [(given[e], f"by {enroll_utt2spk}") for e in enrolled_ids]
    else:
        enrolled = list(
            map(
                _enrolled_reading(speaker_of, "its column" if by_column[0] else utt2spk),
                enrolled_ids,
            )
        )
    readings = (
        dict(zip(enrolled_ids, enrolled, strict=True)),
        dict(zip(utterances, trial, strict=True)),
    )
    first = enrolled_id.renamed(lambda e: _speaker(readings[0].get(e)))
    second = utterance.renamed(lambda u: _speaker(readings[1].get(u)))
    wrong = np.flatnonzero((first.codes == second.among(first.names).codes) != trials.is_target)
    if wrong.size:
        row = int(wrong[0])
        names = enrolled_id.text(row), utterance.text(row)
        raise PrivacyEvalError(
            f"labels of {wrong.size} trials contradict their speakers; the first: a "
            f"{'target' if trials.is_target[row] else 'nontarget'} trial of enrolled "
            f"{_describe(names[0], readings[0][names[0]])} and trial "
            f"{_describe(names[1], readings[1][names[1]])}; "
            "--utt2spk names the speakers of utterances, --enroll-utt2spk those of enrolled "
            "utterances or models"
        )
    return trials.with_columns(enrolled_speaker=first, trial_speaker=second)


def _enrolled_reading(
    speaker_of: Mapping[str, str], utt2spk: Path | Loaded | str | None
) -> Callable[[str], _Reading]:
    """Return a function that reads enrolled ids as utterances, speakers or files of speakers."""
    speakers = set(speaker_of.values())

    def read(enrolled: str) -> _Reading:
        prefix = _prefix(enrolled)
        if enrolled in speakers:
            return enrolled, "a speaker"
        if enrolled in speaker_of and utt2spk is not None:
            return speaker_of[enrolled], f"by {utt2spk}"
        if prefix:
            return prefix, "by its first folder"
        return enrolled, "taken for a speaker, as no file lists it"

    return read


def _prefix(name: str) -> str:
    """Return the first folder of a relative path; "" if there is none."""
    first, slash, _ = name.partition("/")
    return first if slash else ""


def _require(
    ids: Iterable[str], speaker_of: Mapping[str, str], path: Path | Loaded, what: str
) -> None:
    unknown = sorted(name for name in ids if name not in speaker_of)
    if unknown:
        raise PrivacyEvalError(
            f"{path}: {len(unknown)} {what} have no speaker: {abbreviate(unknown)}"
        )


def _speaker(reading: _Reading | None) -> str:
    return "" if reading is None else without_fraction(reading[0])


def _describe(name: str, reading: _Reading) -> str:
    speaker, how = reading
    return f"{name} (speaker {speaker}, {how})" if speaker != name else f"{name} ({how})"
