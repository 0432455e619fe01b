"""Missing inputs of scores and voice similarity, and the stage that creates each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..io.files import relative
from ..products.freshness import MissingInput, absent
from ..protocol.protocol import ORIGINAL, ResultsFolder, TrialSet
from ..stages import asv_scores, similarity, train_backend
from ..stages.access import BACKEND, ENROLLMENT, KEYS, TRIALS, VECTORS, AsvSystems
from ..stages.recipe import STAGES, stage_number
from ..stages.subsets import creatable_folders
from ..tree.conditions import System, TrialCondition

#: Source of inputs that no stage creates.
TEAM = "submitted by the team"
EVALUATION = "by the evaluation of the challenge, run before this one"

SCORES = "scores"
OUTDATED = "scores of the current trials"


def stages(*names: str | int) -> str:
    """Stages of the recipe that run one after the other, by name or number, as text."""
    numbers = (stage_number(stage) if isinstance(stage, str) else stage for stage in names)
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
        Its name; "" if there is one per system.
    folder : str
        The folder where it is expected; "" for `data/`.
    """

    what: str
    source: str
    name: str = ""
    folder: str = ""

    @property
    def is_creatable(self) -> bool:
        """Whether these are scores that stage 5 can create from the inputs in the tree."""
        return self.what in (SCORES, OUTDATED) and self.source == stages("asv_scores")


class MissingInputs:
    """Missing inputs of scores and voice similarity in a tree. The tree can hold the x-vectors
    of only one of several systems with the same anonymization suffix."""

    def __init__(self, asv: AsvSystems, systems: Iterable[System]) -> None:
        self.asv, self.access, self.protocol = asv, asv.access, asv.protocol
        suffixes = [s.anon_suffix for s in systems]
        self._shared = {suffix for suffix in suffixes if suffixes.count(suffix) > 1}
        self._subsets: dict[str, set[str]] = {}

    def of_key(self, condition: TrialCondition) -> list[Missing]:
        """Return the trial key if it is missing."""
        return self._list(absent(lambda: self.access.find_key(condition, self.protocol)), "")

    def of_scores(self, condition: TrialCondition, suffix: str) -> list[Missing]:
        """Return missing inputs of a condition's scores, or the scores if none is missing."""
        if self.protocol.has_own_scoring:
            return [Missing(SCORES, EVALUATION)]
        if suffix in self._shared:
            return [Missing(SCORES, TEAM)]
        missing = self._list(asv_scores.missing_inputs(condition, suffix, self.asv), suffix)
        return missing or [Missing(SCORES, stages("asv_scores"))]

    def of_similarity(self, trial_set: TrialSet, part: ResultsFolder, suffix: str) -> list[Missing]:
        """Return missing inputs of the voice similarity of a trial set."""
        if suffix in self._shared:
            return [Missing(VECTORS, TEAM)]
        return self._list(similarity.missing_inputs(trial_set, part, suffix, self.asv), suffix)

    def _list(self, errors: Iterable[MissingInput], suffix: str) -> list[Missing]:
        """Convert errors to missing inputs, each with the stage that creates it."""
        missing = []
        for error in errors:
            name, folder = error.name, error.folder
            if error.kind == KEYS and self.access.keys is not None:
                folder, source = relative(self.access.keys, self.access.tree), TEAM
            elif error.kind in (KEYS, ENROLLMENT, TRIALS):
                source = stages(self._data_stage(name))
            elif error.kind == VECTORS:
                source = self._vectors_source(name, suffix, folder)
            elif error.kind == BACKEND:
                name, source = "", self._backend_source(name, suffix)
            else:
                source = error.where
            missing.append(Missing(error.kind, source, name, folder))
        return list(dict.fromkeys(missing))

    def _backend_source(self, trained_on: str, suffix: str) -> str:
        model = self.protocol.asv_model(trained_on)
        has_speech = model is not None and (
            (self.access.tree / "data" / model.training_name(suffix) / "wav.scp").is_file()
        )
        if model is None or (model.trained_on == ORIGINAL and not has_speech):
            return stages("data")
        without = train_backend.missing_inputs(model, suffix, self.asv)
        if without and has_speech:
            return stages("train_backend")  # once it has extracted the x-vectors
        training = f", from x-vectors of {model.training_name(suffix)}" if without else ""
        first = min(stage.number for stage in STAGES if "train_backend" in stage.names)
        return stages(first) + training

    def _vectors_source(self, name: str, suffix: str, folder: str) -> str:
        data = self.access.tree / "data" / name
        if (data / "wav.scp").is_file():
            if (self.access.tree / folder / "final.raw").is_file():
                return stages("xvectors")
            return f"{stages('xvectors')}, with final.raw of {stages('data')}"
        if data.is_dir():
            return f"{TEAM}, as there is no wav.scp"
        return stages(self._data_stage(name, suffix if name.endswith(suffix) else ""), "xvectors")

    def _data_stage(self, name: str, suffix: str = "") -> int:
        """The stage that creates a data folder."""
        if suffix not in self._subsets:
            self._subsets[suffix] = creatable_folders(self.access.tree, self.protocol, suffix)
        if name not in self._subsets[suffix]:
            return stage_number("anonymize" if suffix else "data")
        both = [stage.number for stage in STAGES if "subsets" in stage.names]
        return max(both) if suffix else min(both)
