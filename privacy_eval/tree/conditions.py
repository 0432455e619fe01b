"""Trial conditions: what an `ASV-*` or `ASR-*` folder of a system compares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..protocol.protocol import ANONYMIZED, ORIGINAL, Protocol, TrialSet


@dataclass(frozen=True)
class Condition:
    """One set of verification scores and what it compares.

    Attributes
    ----------
    system : str
    results_folder : str
        Suffix of the results folder it stands in, "" for the main one.
    name : str
        The condition's folder, `ASV-<enrollment set>-<trial set>`.
    data_set, split, gender : str
        Ids of the plan.
    enrollment, trial, asv_model : str
        `original` or `anonymized`: the speech enrolled and tried, and what the
        speaker-verification model was trained on.
    attack_model : str or None
        Id of the plan's attack model this is, if it is one.
    enrollment_set, trial_set : str
        Names of the data folders.
    folder : Path
    scores : Path or None
        The score file; None where the folder has none.
    trials : Path or None
        The trial key; None where none was found among `keys_tried`.
    keys_tried : tuple of Path
    utt2spk : Path or None
        Speakers of the trial utterances: beside the trial key, or in `data/`.
    outside : tuple of Path
        Which of these are links that lead out of the tree and the results.
    """

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    gender: str
    enrollment: str
    trial: str
    asv_model: str
    attack_model: str | None
    enrollment_set: str
    trial_set: str
    folder: Path
    scores: Path | None
    trials: Path | None
    keys_tried: tuple[Path, ...]
    utt2spk: Path | None
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class RecognitionFolder:
    """One `ASR-<set>` folder with word error rates."""

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    speech: str
    path: Path
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class System:
    """All that belongs to one system.

    Attributes
    ----------
    name : str
    folders : tuple of Path
        Its results folders.
    anon_suffix : str
        What marks anonymized sets in its folder names.
    conditions : tuple of Condition
    recognition : tuple of RecognitionFolder
    unknown : tuple of Path
        `ASV-*` and `ASR-*` folders that the plan has no place for.
    problem : str or None
        Why its conditions are probably not what was meant: none of anonymized speech,
        but unknown ones, so that its anonymized sets must be marked otherwise.
    """

    name: str
    folders: tuple[Path, ...]
    anon_suffix: str
    conditions: tuple[Condition, ...]
    recognition: tuple[RecognitionFolder, ...]
    unknown: tuple[Path, ...]
    problem: str | None

    @property
    def parts(self) -> set[str]:
        """Suffixes of the plan's results folders that it has."""
        conditions = {c.results_folder for c in self.conditions}
        return conditions | {r.results_folder for r in self.recognition}

    def missing(self, protocol: Protocol) -> list[str]:
        """Names of the plan's conditions that have no scores, each with its results
        folder's suffix."""
        there = {(c.results_folder, c.name) for c in self.conditions if c.scores is not None}
        wanted = [
            (folder.suffix, name)
            for folder in protocol.results_folders
            for name in condition_names(protocol, [self.anon_suffix])
        ]
        return [
            f"{name} ({suffix})" if suffix else name
            for suffix, name in wanted
            if (suffix, name) not in there
        ]


@dataclass(frozen=True)
class NamedComparison:
    """A comparison of the plan on one trial set, under a suffix for anonymized sets."""

    trial_set: TrialSet
    enrollment: str
    trial: str
    anon_suffix: str

    @property
    def enrollment_name(self) -> str:
        name = self.trial_set.enrollment_name
        return name + self.anon_suffix if self.enrollment == ANONYMIZED else name

    @property
    def trial_name(self) -> str:
        name = self.trial_set.trials_name
        return name + self.anon_suffix if self.trial == ANONYMIZED else name


def named_comparisons(protocol: Protocol, anon_suffix: str) -> dict[str, NamedComparison]:
    """Every condition of the plan by its folder's name, `ASV-...`."""
    return condition_names(protocol, [anon_suffix])


def condition_meaning(
    protocol: Protocol, folder_name: str, anon_suffix: str
) -> NamedComparison | None:
    """What a folder name `ASV-...` compares under one suffix for anonymized sets."""
    return condition_names(protocol, [anon_suffix]).get(folder_name)


def recognition_meaning(
    protocol: Protocol, folder_name: str, anon_suffix: str
) -> tuple[str, str, str] | None:
    """Data set, split and speech of a folder name `ASR-...`."""
    return recognition_names(protocol, [anon_suffix]).get(folder_name)


def condition_names(protocol: Protocol, suffixes: Iterable[str]) -> dict[str, NamedComparison]:
    names: dict[str, NamedComparison] = {}
    for suffix in suffixes:
        for trial_set in protocol.trial_sets():
            for comparison in protocol.comparisons:
                one = NamedComparison(trial_set, comparison.enrollment, comparison.trial, suffix)
                names.setdefault(f"ASV-{one.enrollment_name}-{one.trial_name}", one)
    return names


def recognition_names(
    protocol: Protocol, suffixes: Iterable[str]
) -> dict[str, tuple[str, str, str]]:
    names: dict[str, tuple[str, str, str]] = {}
    for suffix in suffixes:
        for split in protocol.splits:
            for data_set in protocol.recognition.data_sets:
                name = data_set.set_name(split)
                names.setdefault(f"ASR-{name}", (data_set.id, split, ORIGINAL))
                names.setdefault(f"ASR-{name}{suffix}", (data_set.id, split, ANONYMIZED))
    return names


def anonymized_names(protocol: Protocol, suffix: str) -> set[str]:
    """Folder names that only a system with this suffix has."""
    conditions = condition_names(protocol, [suffix]).items()
    decoded = recognition_names(protocol, [suffix]).items()
    return {
        *(name for name, meaning in conditions if meaning.trial == ANONYMIZED),
        *(name for name, (_, _, speech) in decoded if speech == ANONYMIZED),
    }
