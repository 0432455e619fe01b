"""Trial conditions: the identity of what an `ASV-*` or `ASR-*` folder of a system compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..io.schema import Entry
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, Protocol, ResultsFolder, TrialSet


@dataclass(frozen=True)
class TrialCondition:
    """The identity of one set of verification scores.

    Attributes
    ----------
    system : str
    results_folder : str
        Suffix of the results folder, "" for the main one.
    name : str
        The condition's folder, `ASV-<enrollment set>-<trial set>`.
    data_set, split, gender : str
        Ids of the protocol.
    enrollment, trial, asv_model : str
        `original` or `anonymized`: enrollment speech, trial speech, and the training data of
        the speaker-verification model.
    attack_model : str or None
        Id of the protocol's attack model that this is, if any.
    enrollment_set, trial_set : str
        Names of the data folders.
    """

    system: str
    results_folder: str
    name: Annotated[str, Entry("condition")]
    data_set: str
    split: str
    gender: str
    enrollment: str
    trial: str
    asv_model: str
    attack_model: str | None
    enrollment_set: str
    trial_set: str

    @property
    def is_original(self) -> bool:
        """Whether enrollment and trial speech are original."""
        return self.enrollment == self.trial == ORIGINAL

    @property
    def label(self) -> str:
        """The folder's name, with the results folder's suffix where it has one."""
        return f"{self.name} ({self.results_folder})" if self.results_folder else self.name


@dataclass(frozen=True)
class SetCondition:
    """The identity of what is measured once on a trial set: voice similarity, pitch."""

    system: str
    results_folder: str
    trial_set: str
    data_set: str
    split: str
    gender: str

    @property
    def name(self) -> str:
        return self.trial_set


@dataclass(frozen=True)
class RecognitionCondition:
    """The identity of one `ASR-<set>` folder: original or anonymized `speech`."""

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    speech: str


AnyCondition = TrialCondition | SetCondition | RecognitionCondition


@dataclass(frozen=True)
class ConditionFiles:
    """A trial condition and its files.

    Attributes
    ----------
    condition : TrialCondition
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

    condition: TrialCondition
    folder: Path
    scores: Path | None
    trials: Path | None
    keys_tried: tuple[Path, ...]
    utt2spk: Path | None
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class RecognitionFiles:
    """One `ASR-<set>` folder with word error rates."""

    condition: RecognitionCondition
    folder: Path
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
        Suffix of anonymized sets in its folder names.
    conditions : tuple of ConditionFiles
    recognition : tuple of RecognitionFiles
    unknown : tuple of Path
        `ASV-*` and `ASR-*` folders that match no condition of the protocol.
    problem : str or None
        Why its conditions are probably not what was meant: none of anonymized speech,
        but unknown ones, so that its anonymized sets must have another suffix.
    """

    name: str
    folders: tuple[Path, ...]
    anon_suffix: str
    conditions: tuple[ConditionFiles, ...]
    recognition: tuple[RecognitionFiles, ...]
    unknown: tuple[Path, ...]
    problem: str | None

    @property
    def parts(self) -> set[str]:
        """Suffixes of the protocol's results folders that it has."""
        files: tuple[ConditionFiles | RecognitionFiles, ...] = self.conditions + self.recognition
        return {c.condition.results_folder for c in files}

    def missing(self, protocol: Protocol) -> list[str]:
        """Labels of the protocol's conditions that have no scores."""
        present = {c.condition.label for c in self.conditions if c.scores is not None}
        wanted = [
            condition.label
            for part in protocol.results_folders
            for condition in trial_conditions(protocol, part, self.anon_suffix).values()
        ]
        return [label for label in wanted if label not in present]


def trial_conditions(
    protocol: Protocol, part: ResultsFolder, anon_suffix: str, system: str = ""
) -> dict[str, TrialCondition]:
    """Every condition of a results folder by its folder's name, `ASV-...`."""
    return {c.name: c for c in _trial_conditions(protocol, part, anon_suffix, system)}


def _trial_conditions(
    protocol: Protocol, part: ResultsFolder, anon_suffix: str, system: str
) -> Iterator[TrialCondition]:
    suffixes = {ORIGINAL: "", ANONYMIZED: anon_suffix}
    for cell in protocol.trial_sets():
        for enrollment, trial in ((c.enrollment, c.trial) for c in protocol.comparisons):
            enrollment_set = cell.enrollment_name + suffixes[enrollment]
            trial_set = cell.trials_name + suffixes[trial]
            yield TrialCondition(
                system,
                part.suffix,
                f"ASV-{enrollment_set}-{trial_set}",
                cell.data_set.id,
                cell.split,
                cell.gender,
                enrollment,
                trial,
                part.asv_model,
                protocol.attack_model(enrollment, trial, part.asv_model),
                enrollment_set,
                trial_set,
            )


def recognition_conditions(
    protocol: Protocol, part: ResultsFolder, anon_suffix: str, system: str = ""
) -> dict[str, RecognitionCondition]:
    """Every decoded set of a results folder by its folder's name, `ASR-...`."""
    found = (
        RecognitionCondition(
            system, part.suffix, f"ASR-{r.set_name(split)}{suffix}", r.id, split, speech
        )
        for split in protocol.splits
        for r in protocol.recognition.data_sets
        for speech, suffix in zip(SPEECH, ("", anon_suffix), strict=True)
    )
    return {c.name: c for c in found}


def plain_sets(
    condition: TrialCondition, protocol: Protocol
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Enrollment and trial set of a condition: original set's name, anonymization suffix."""
    cell = protocol.trial_set(condition.data_set, condition.split, condition.gender)
    return (
        (cell.enrollment_name, condition.enrollment_set.removeprefix(cell.enrollment_name)),
        (cell.trials_name, condition.trial_set.removeprefix(cell.trials_name)),
    )


def set_condition(trial_set: TrialSet, part: ResultsFolder, system: str) -> SetCondition:
    """The identity of a trial set in a results folder of a system."""
    t = trial_set
    return SetCondition(system, part.suffix, t.trials_name, t.data_set.id, t.split, t.gender)


def anonymized_names(protocol: Protocol, suffix: str) -> set[str]:
    """Folder names that only a system with this suffix has."""
    part = protocol.results_folders[0]
    verified = trial_conditions(protocol, part, suffix).values()
    decoded = recognition_conditions(protocol, part, suffix).values()
    return {
        *(c.name for c in verified if c.trial == ANONYMIZED),
        *(c.name for c in decoded if c.speech == ANONYMIZED),
    }
