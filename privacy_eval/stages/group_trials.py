"""Trials with the groups of their speakers, by a column of metadata."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import Loaded
from ..io.labels import Labels, age_bands, read_labels
from ..io.trial_speakers import trial_speakers

if TYPE_CHECKING:
    from ..io.scores import PairedTrials
    from ..metrics import GroupedTrials


def grouped_trials(
    trials: PairedTrials, labels: str | Labels, utt2spk: Path | Loaded | None, enrolled: Path | None
) -> tuple[GroupedTrials, list[str]]:
    """Look up the groups of speakers in `FILE:COLUMN`; also return the speakers without one.

    Parameters
    ----------
    labels : str or Labels
        Ages in a column `age` become bands.
    utt2spk, enrolled : Path, Loaded or None
        Speakers of trial utterances and of enrolled ones, as `trial_speakers` takes them.

    Raises
    ------
    PrivacyEvalError
        As `read_labels`, `trial_speakers` and `Labels.of_speakers`.
    """
    from ..metrics import GroupedTrials

    labels = read_labels(labels) if isinstance(labels, str) else labels
    sides = trial_speakers(trials, utt2spk, enrolled)
    utterances = trials.utterance.tolist()
    speaker_of = dict(zip(utterances, sides[1].tolist(), strict=True))
    enrolled_only = {*sides[0].tolist()} - {*speaker_of.values()}
    speaker_of |= {speaker: speaker for speaker in sorted(enrolled_only)}
    group_of = labels.of_speakers(speaker_of, allow_unknown=True)
    if labels.column.lower() == "age":
        group_of = age_bands(group_of)
    labelled = trials.score, trials.is_target
    grouped = GroupedTrials.by_speaker(labelled, sides, utterances, group_of)
    return grouped, sorted({*speaker_of.values()} - group_of.keys())
