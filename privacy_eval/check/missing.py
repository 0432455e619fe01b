"""Missing inputs of scores and voice similarity, and the stage that creates each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..asv.model_folder import TreeVectors, backend_folder
from ..io.files import relative
from ..protocol.protocol import ORIGINAL, AsvModel, ResultsFolder, TrialSet
from ..results.records import SimilarityRecord
from ..stages.access import AsvSystems, enrollment_files
from ..stages.freshness import MissingInput
from ..stages.recipe import STAGES, number_of
from ..stages.subsets import makeable
from ..tree.conditions import (
    System,
    TrialCondition,
    original_sets,
    set_condition,
    trial_conditions,
)
from ..tree.keys import trial_keys

#: Source of what no stage creates.
TEAM = "submitted by the team"

SCORES = "scores"
OUTDATED = "scores of the current trials"


def stages(*names: str | int) -> str:
    """Stages of the recipe that run one after the other, by name or number, as text."""
    numbers = (number_of(stage) if isinstance(stage, str) else stage for stage in names)
    return ", then ".join(f"stage {number}" for number in dict.fromkeys(numbers))


@dataclass(frozen=True)
class Missing:
    """A missing input.

    Attributes
    ----------
    what : str
        Its kind.
    source : str
        The stage that creates it, or who provides it.
    name : str
        Which one; "" where each system has one.
    folder : str
        The folder that it belongs into; "" for `data/`.
    """

    what: str
    source: str
    name: str = ""
    folder: str = ""

    @property
    def is_creatable(self) -> bool:
        """Whether these are scores that stage 5 can create from the inputs in the tree."""
        return self.what in (SCORES, OUTDATED) and self.source == stages("asv_scores")


class Inputs:
    """Inputs of scores and voice similarity in a tree, whose x-vectors are of only one of
    several systems with the same anonymization suffix."""

    def __init__(self, asv: AsvSystems, systems: Iterable[System]) -> None:
        self.access, self.protocol = asv.access, asv.protocol
        suffixes = [s.anon_suffix for s in systems]
        self._shared = {suffix for suffix in suffixes if suffixes.count(suffix) > 1}
        self.tree, self.data = self.access.tree, self.access.tree / "data"
        self._subsets: dict[str, set[str]] = {}

    def key(self, condition: TrialCondition) -> Path | None:
        """Find the trial key of a condition."""
        access = self.access
        return trial_keys(condition, self.protocol, self.tree, access.results, access.keys)[0]

    def of_key(self, condition: TrialCondition) -> list[Missing]:
        """Return the trial key if it is missing."""
        name, keys = original_sets(condition, self.protocol)[1][0], self.access.keys
        if self.key(condition) is not None:
            return []
        if keys is not None:
            return [Missing("trial keys", TEAM, name, relative(keys, self.tree))]
        return [self._data_set("trial keys", name)]

    def has_trials(self, name: str) -> bool:
        """Whether the data folder of a trial set is there."""
        return (self.data / name / "utt2spk").is_file()

    def of_scores(self, condition: TrialCondition, suffix: str) -> list[Missing]:
        """Return missing inputs of a condition's scores, or the scores if none is missing."""
        if suffix in self._shared:
            return [Missing(SCORES, TEAM)]
        sets = original_sets(condition, self.protocol)
        missing = self.of_key(condition)
        try:
            enrollment_files(self.data, *sets[0])
        except MissingInput:
            missing.append(self._data_set("enrollment sets", sets[0][0]))
        missing += self._of_model(condition.asv_model, suffix, *sets)
        return missing or [Missing(SCORES, stages("asv_scores"))]

    def of_similarity(self, trial_set: TrialSet, part: ResultsFolder, suffix: str) -> list[Missing]:
        """Return missing inputs of the voice similarity of a trial set."""
        if suffix in self._shared:
            return [Missing("x-vectors", TEAM)]
        name = trial_set.trials_name
        missing = [] if self.has_trials(name) else [self._data_set("trial sets", name)]
        return missing + self._of_model(part.asv_model, suffix, (name, ""), (name, suffix))

    def _of_model(self, trained_on: str, suffix: str, *sets: tuple[str, str]) -> list[Missing]:
        model = self.protocol.asv_model(trained_on)
        if model is None:
            what = f"model trained on {trained_on} speech"
            return [Missing(what, f"not in protocol {self.protocol.name}")]
        missing = []
        if backend_folder(self.tree, model, suffix) is None:
            missing.append(self._back_end(model, suffix))
        folder = self.tree / model.model_folder(suffix)
        vectors = TreeVectors(self.tree, self.protocol, folder)
        return missing + [
            Missing("x-vectors", self._vectors_source(*s), "".join(s), relative(folder, self.tree))
            for s in sets
            if vectors.find(*s) is None
        ]

    def _back_end(self, model: AsvModel, suffix: str) -> Missing:
        folder, training = model.model_folder(suffix), model.training_name(suffix)
        source = stages("data")
        if model.trained_on != ORIGINAL:
            source = stages("train_backend")
            vectors = self.tree / folder / f"xvect_{training}" / "xvector.scp"
            if not (vectors.is_file() and (self.data / training / "utt2spk").is_file()):
                source += f", from x-vectors of {training}"
        return Missing("back end", source, folder=folder)

    def _vectors_source(self, name: str, suffix: str) -> str:
        data = self.data / f"{name}{suffix}"
        if (data / "wav.scp").is_file():
            return f"{stages('xvectors')}, with Kaldi"
        if data.is_dir():
            return f"{TEAM}, as there is no wav.scp"
        return stages(self._data_stage(name, suffix), "xvectors")

    def _data_set(self, what: str, name: str) -> Missing:
        return Missing(what, stages(self._data_stage(name, "")), name)

    def _data_stage(self, name: str, suffix: str) -> int:
        """The stage that creates a data folder."""
        if suffix not in self._subsets:
            self._subsets[suffix] = makeable(self.tree, self.protocol, suffix)
        if name + suffix not in self._subsets[suffix]:
            return number_of("anonymize" if suffix else "data")
        both = [stage.number for stage in STAGES if "subsets" in stage.names]
        return max(both) if suffix else min(both)


def not_evaluated(
    systems: Iterable[System], asv: AsvSystems, similarity: Iterable[SimilarityRecord]
) -> list[str]:
    """List what results lack although the tree has the trials: scores of conditions, and the
    voice similarity of trial sets. Systems that lack the same share a line.
    """
    inputs, protocol = Inputs(asv, []), asv.protocol
    measured = {s.condition for s in similarity}
    lines: dict[str, list[str]] = {}
    for system, part in itertools.product(systems, protocol.results_folders):
        if part.suffix not in system.parts:
            continue
        missing = system.missing(protocol)
        unscored = [
            c.name
            for c in trial_conditions(protocol, part, system.anon_suffix).values()
            if c.label in missing and inputs.key(c) is not None
        ]
        sets = [set_condition(t, part, system.name) for t in protocol.trial_sets()]
        unmeasured = [s.name for s in sets if s not in measured and inputs.has_trials(s.name)]
        for what, names in (("scores", unscored), ("voice similarity", unmeasured)):
            if names:
                text = f"no {what} of {len(names)}: {', '.join(names)}"
                lines.setdefault(text, []).append(f"{system.name}{part.suffix}")
    return [f"{', '.join(systems)}: {text}" for text, systems in lines.items()]
