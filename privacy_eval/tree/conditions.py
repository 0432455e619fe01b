"""Trial conditions: the identity of an `ASV-*` or `ASR-*` folder of a system."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from ..io.schema import SPARSE
from ..protocol.protocol import (
    ANONYMIZED,
    CHALLENGE_ATTACKERS,
    ORIGINAL,
    SPEECH,
    Attacker,
    Protocol,
    ResultsFolder,
    TrialSet,
)


@dataclass(frozen=True)
class Condition:
    """What numbers are of: scores, word errors, matrices, audio; entries that do not apply are
    empty.

    Attributes
    ----------
    results_folder : str
        Suffix of the results folder, "" for the main one.
    name : str
        The folder, `ASV-<enrollment set>-<trial set>` or `ASR-<set>`, or the data folder.
    data_set, split, gender : str
        Ids of the protocol.
    enrollment, trial, asv_model : str
        `original` or `anonymized`: enrollment speech, trial or decoded speech, and the training
        data of the ASV model.
    attack_model : str or None
        Id of the protocol's attack model, if it is one.
    enrollment_set, trial_set : str
        Names of the data folders of scores.
    attacker : str
        Id of the protocol's attacker that gave the scores.
    attribute : str
        Of speakers, which vectors give away.
    """

    system: str
    results_folder: str
    name: Annotated[str, "condition"]
    data_set: Annotated[str, SPARSE] = ""
    split: Annotated[str, SPARSE] = ""
    gender: Annotated[str, SPARSE] = ""
    enrollment: Annotated[str, SPARSE] = ""
    trial: Annotated[str, SPARSE] = ""
    asv_model: Annotated[str, SPARSE] = ""
    attack_model: Annotated[str | None, SPARSE] = None
    enrollment_set: Annotated[str, SPARSE] = ""
    trial_set: Annotated[str, SPARSE] = ""
    attacker: Annotated[str, SPARSE] = ""
    attribute: Annotated[str, SPARSE] = ""

    @property
    def is_by_challenge(self) -> bool:
        """Whether numbers are of no other attacker than the challenge's own."""
        return self.attacker in ("", *CHALLENGE_ATTACKERS)

    @property
    def is_original(self) -> bool:
        """Whether enrollment and trial speech are original."""
        return self.enrollment == self.trial == ORIGINAL

    @property
    def label(self) -> str:
        """The name, with the results folder's suffix if there is one, and the attacker if it is not
        the challenge's."""
        label = f"{self.name} ({self.results_folder})" if self.results_folder else self.name
        return label if self.is_by_challenge else f"{label} by {self.attacker}"

    @property
    def record_name(self) -> str:
        """Name of the files of its record."""
        return self.name if self.is_by_challenge else f"{self.name}.{self.attacker}"


@dataclass(frozen=True)
class ConditionFiles:
    """A trial condition and its files.

    Attributes
    ----------
    scores : Path or None
        The score file; None if the folder has none.
    trials : Path or None
        The trial key; None if none of `key_candidates` exists.
    utt2spk : Path or None
        Speakers of the trial utterances: next to the trial key, or in `data/`.
    outside : tuple of Path
        Those of these files that are outside the tree and the results.
    """

    condition: Condition
    folder: Path
    scores: Path | None
    trials: Path | None
    key_candidates: tuple[Path, ...]
    utt2spk: Path | None
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class Transcripts:
    """Hypotheses of a recognizer for a set, and their references.

    Attributes
    ----------
    hypothesis, reference : Path
        Kaldi's `text`.
    utt2spk : Path or None
        Beside the reference.
    is_rated : bool
        Whether the recognizer's evaluation left word error rates, too.
    rules : mapping
        Normalization and variant of the word errors.
    """

    hypothesis: Path
    reference: Path
    utt2spk: Path | None
    is_rated: bool
    rules: Mapping[str, Any]


@dataclass(frozen=True)
class RecognitionFiles:
    """One `ASR-<set>` folder with word error rates, or with transcripts, or both."""

    condition: Condition
    folder: Path
    outside: tuple[Path, ...]
    transcripts: Transcripts | None = None


@dataclass(frozen=True)
class EmotionFiles:
    """A table of emotion recognition of a system."""

    path: Path
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class System:
    """The results folders and files of one system.

    Attributes
    ----------
    folders : tuple of Path
        Its results folders.
    anon_suffix : str
        Anonymization suffix in its folder names.
    unmatched : tuple of Path
        `ASV-*` and `ASR-*` folders that match no condition of the protocol.
    problem : str or None
        Set if there are unmatched folders but no condition of anonymized speech (the
        anonymization suffix is probably different), and if names are not printable.
    exps : tuple of Path
        Of an edition's tree: the folders with what is the system's own, its team's first.
    original_exps : tuple of Path
        Also those with what it shares with others, of original speech and its model.
    by_checkpoint : tuple of (Path, Condition)
        Of an edition's tree: the folders, existing or not, of what a checkpoint in its model's
        folder can score.
    """

    name: str
    folders: tuple[Path, ...]
    anon_suffix: str
    conditions: tuple[ConditionFiles, ...] = ()
    recognition: tuple[RecognitionFiles, ...] = ()
    unmatched: tuple[Path, ...] = ()
    problem: str | None = None
    emotion: tuple[EmotionFiles, ...] = ()
    exps: tuple[Path, ...] = ()
    original_exps: tuple[Path, ...] = ()
    by_checkpoint: tuple[tuple[Path, Condition], ...] = ()

    @property
    def parts(self) -> set[str]:
        """Suffixes of its results folders."""
        files: tuple[ConditionFiles | RecognitionFiles, ...] = self.conditions + self.recognition
        return {c.condition.results_folder for c in files}

    def missing(self, protocol: Protocol) -> list[str]:
        """List the labels of the conditions without scores that the protocol's tables need."""
        present = {c.condition.label for c in self.conditions if c.scores is not None}
        expected = [
            condition.label
            for part in protocol.results_folders
            for condition in trial_conditions(protocol, part, self.anon_suffix).values()
            if is_needed(condition, protocol)
        ]
        return [label for label in expected if label not in present]


def trial_conditions(
    protocol: Protocol, part: ResultsFolder, anon_suffix: str, system: str = ""
) -> dict[str, Condition]:
    """Return the conditions of a results folder by their folder names, `ASV-...`: those of the
    challenge's own attacker."""
    suffixes = {ORIGINAL: "", ANONYMIZED: anon_suffix}
    conditions: dict[str, Condition] = {}
    for t, pair in itertools.product(protocol.trial_sets(), protocol.comparisons):
        cell = (t.data_set.id, t.split, t.gender)
        speech = (pair.enrollment, pair.trial, part.asv_model)
        attack = protocol.attack_model(*speech)
        sets = (t.enrollment_name + suffixes[speech[0]], t.trials_name + suffixes[speech[1]])
        name = f"ASV-{sets[0]}-{sets[1]}"
        conditions[name] = Condition(
            system, part.suffix, name, *cell, *speech, attack, *sets, protocol.own_attacker
        )
    return conditions


def by_attacker(condition: Condition, attacker: Attacker, protocol: Protocol) -> Condition:
    """Return the condition of another attacker's scores beside those of the challenge's own, with
    the attack model that it states for such speech."""
    own = replace(condition, attacker=attacker.id)
    if attacker.attack_model:
        model = protocol.attack(attacker.attack_model)
        if (model.enrollment, model.trial) == (own.enrollment, own.trial):
            return replace(own, asv_model=model.asv_model, attack_model=model.id)
    return own


def is_needed(condition: Condition, protocol: Protocol) -> bool:
    """Tell whether tables of the edition need a condition: all of them where this program scores;
    where the edition's own evaluation does, the averages and original speech."""
    is_baseline = condition.is_original and condition.asv_model == ORIGINAL
    is_averaged = condition.attack_model == protocol.average_attack_model
    return not protocol.has_own_scoring or is_baseline or is_averaged


def original_trial_sets(systems: Iterable[System]) -> set[tuple[str, str, str]]:
    """Return the trial sets (data set, split, gender) of which any system has scores of original
    speech, by a model trained on it."""
    return {
        (files.condition.data_set, files.condition.split, files.condition.gender)
        for system in systems
        for files in system.conditions
        if files.condition.is_original and files.condition.asv_model == ORIGINAL and files.scores
    }


def recognition_conditions(
    protocol: Protocol, part: ResultsFolder, anon_suffix: str, system: str = ""
) -> dict[str, Condition]:
    """Return the decoded sets of a results folder by their folder names, `ASR-...`."""
    return {
        (name := f"ASR-{r.set_name(split)}{suffix}"): Condition(
            system, part.suffix, name, r.id, split, trial=speech
        )
        for split in protocol.splits
        for r in protocol.recognition.data_sets
        for speech, suffix in zip(SPEECH, ("", anon_suffix), strict=True)
    }


def original_sets(
    condition: Condition, protocol: Protocol
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Split the names of enrollment and trial set into original set and suffix."""
    cell = protocol.trial_set(condition.data_set, condition.split, condition.gender)
    return (
        (cell.enrollment_name, condition.enrollment_set.removeprefix(cell.enrollment_name)),
        (cell.trials_name, condition.trial_set.removeprefix(cell.trials_name)),
    )


def set_condition(trial_set: TrialSet, part: ResultsFolder, system: str) -> Condition:
    """Return what similarities of voices are of: a trial set in a results folder of a system."""
    t = trial_set
    place = t.data_set.id, t.split, t.gender
    return Condition(system, part.suffix, t.trials_name, *place, asv_model=part.asv_model)


def anonymized_names(protocol: Protocol, suffix: str) -> set[str]:
    """Return the folder names of anonymized speech with this suffix."""
    part = protocol.results_folders[0]
    verified = trial_conditions(protocol, part, suffix).values()
    decoded = recognition_conditions(protocol, part, suffix).values()
    return {
        *(c.name for c in verified if c.trial == ANONYMIZED),
        *(c.name for c in decoded if c.trial == ANONYMIZED),
    }
