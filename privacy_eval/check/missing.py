"""What creates missing results and their inputs: stages of the recipe, or the team."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..products.freshness import MissingInput
from ..protocol.protocol import ORIGINAL
from ..stages import train_backend
from ..stages.access import BACKEND, ENROLLMENT, KEYS, TRIALS, VECTORS, AsvSystems
from ..stages.recipe import STAGES, stage_number
from ..stages.subsets import creatable_folders

#: Source of what no stage creates.
TEAM = "submitted by the team"
EVALUATION = "by the evaluation of the challenge, run before this one"
SHARED = "the tree can hold the x-vectors of only one system per anonymization suffix"


def stages(*names: str | int) -> str:
    """Stages of the recipe that run one after the other, by name or number, as text."""
    numbers = (stage_number(stage) if isinstance(stage, str) else stage for stage in names)
    return ", then ".join(f"stage {number}" for number in dict.fromkeys(numbers))


#: Remedy for scores whose inputs are all in the tree.
CREATABLE = f"{stages('asv_scores')} creates them, or says why not"


class Remedies:
    """What creates missing results of a tree.

    Attributes
    ----------
    shared : collection of str
        Anonymization suffixes of several systems.
    """

    def __init__(self, asv: AsvSystems, shared: Collection[str]) -> None:
        self.asv, self.access, self.protocol, self.shared = asv, asv.access, asv.protocol, shared
        self._subsets: dict[str, set[str]] = {}

    def of_scores(self, missing: Sequence[MissingInput], suffix: str) -> str:
        """Return what creates scores that lack some inputs, or none."""
        if self.protocol.has_own_scoring:
            return EVALUATION
        if suffix in self.shared:
            return TEAM
        return self.of_inputs(missing, suffix) or CREATABLE

    def of_inputs(self, missing: Sequence[MissingInput], suffix: str) -> str:
        """Name missing inputs, and what creates each."""
        texts = (f"{error.kind} ({self.source(error, suffix)})" for error in missing)
        return f"needs {', '.join(dict.fromkeys(texts))}" if missing else ""

    def source(self, error: MissingInput, suffix: str) -> str:
        """Return what creates a missing input."""
        if error.kind == KEYS and self.access.keys is not None:
            return TEAM
        if error.kind in (KEYS, ENROLLMENT, TRIALS):
            sources = ["--keys DIR"] * (error.kind == KEYS)
            if not self.protocol.has_own_scoring:
                sources.insert(0, stages(self._data_stage(error.name)))
            return " or ".join(sources)
        if error.kind == VECTORS:
            return self._vectors_source(error.name, suffix, error.folder)
        if error.kind == BACKEND:
            return self._backend_source(error.name, suffix)
        return error.where

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
            return f"{stages('xvectors')}, with final.raw of {stages('data')} or --extractor"
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
