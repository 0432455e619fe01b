"""Groups of speakers by columns of metadata: their sources in a tree, and grouped trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import Inputs, Loaded, check_inside, relative
from ..io.user_tables import Labels, path_of_labels, read_labels

if TYPE_CHECKING:
    from ..metrics.trials import Trials


def grouped_trials(
    trials: Trials, labels: Labels, utt2spk: Path | Loaded | None, enrolled: Path | None
) -> tuple[Trials, dict[str, str], list[str]]:
    """Look up the speakers of trials and their groups in a column of metadata.

    Parameters
    ----------
    labels : Labels
        Ages in a column `age` become bands.
    utt2spk, enrolled : Path, Loaded or None
        Speakers of trial utterances and of enrolled ones, as `with_speakers` takes them.

    Returns
    -------
    trials : Trials
        With speakers.
    groups : dict of str to str
        Of speakers.
    without : list of str
        Speakers that are in no group.

    Raises
    ------
    PrivacyEvalError
        As `with_speakers` and `Labels.groups`.
    """
    from ..io.scores import with_speakers

    known = with_speakers(trials, utt2spk, enrolled)
    speaker_of = dict(zip(known.utterance, known.trial_speaker, strict=True))
    enrolled_only = {*known.enrolled_speaker.used} - {*speaker_of.values()}
    speaker_of |= {speaker: speaker for speaker in sorted(enrolled_only)}
    return known, *labels.groups(speaker_of)


def label_sources(groups: Iterable[str], tree: Path, inputs: Inputs) -> dict[str, Path]:
    """Return the files of metadata, each `FILE:COLUMN` relative to the tree, by role.

    Raises
    ------
    PrivacyEvalError
        One is outside of the tree.
    """
    paths = sorted({path_of_labels(tree / text) for text in groups})
    check_inside(paths, inputs.roots, "groups: ")
    return {f"groups of {relative(path, tree)}": path for path in paths}


def labels_in_tree(groups: Iterable[str], tree: Path) -> Iterator[Labels]:
    """Read the labels of every `FILE:COLUMN`, relative to the tree."""
    return (read_labels(str(tree / text)) for text in groups)


def without_group(labels: Labels, tree: Path, without: Sequence[str], n_speakers: int) -> list[str]:
    """Say how many of the speakers are in no group; nothing if all are in one."""
    of = f"{len(without)} of {n_speakers} speakers are in no group of {labels.column}"
    return [f"{relative(labels.path, tree)}: {of}"] if without else []
