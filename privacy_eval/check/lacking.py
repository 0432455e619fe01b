"""What conditions and voice similarity lack, and which stage of the recipe would make it."""

from __future__ import annotations

from dataclasses import dataclass

from ..asv.model_folder import TreeVectors, backend_folder
from ..io.files import relative
from ..protocol.protocol import ORIGINAL, AsvModel, ResultsFolder, TrialSet
from ..stages.asv_scores import MissingInput, Models, enrollment_files
from ..stages.subsets import makeable
from ..tree.conditions import System, TrialCondition, plain_sets
from ..tree.keys import trial_keys

#: Shown of a stage that nothing else is needed for.
SCORES = "scores"


@dataclass(frozen=True)
class Lack:
    """Something that is not there.

    Attributes
    ----------
    what : str
        A kind of thing.
    stage : str
        Who makes it.
    name : str
        Which one; "" where there is one only.
    where : str
        Folder that it belongs into, "" for `data/`.
    """

    what: str
    stage: str
    name: str = ""
    where: str = ""


@dataclass(frozen=True)
class Subject:
    """A system whose conditions are looked at, there or not yet.

    Attributes
    ----------
    name : str
    anon_suffix : str
    system : System or None
        None: it has no folder yet.
    alone : bool
        Whether no other system has the suffix, so that the tree's x-vectors are its own.
    """

    name: str
    anon_suffix: str
    system: System | None
    alone: bool


class Needs:
    """What a tree has of that which scores and voice similarity are made of."""

    def __init__(self, models: Models) -> None:
        self.place, self.protocol = models.place, models.protocol
        self.tree, self.data = self.place.tree, self.place.tree / "data"
        self._makeable: dict[str, set[str]] = {}

    def key(self, condition: TrialCondition) -> list[Lack]:
        """The key of the trials."""
        place = self.place
        key, _ = trial_keys(condition, self.protocol, self.tree, place.results, place.keys)
        if key is not None:
            return []
        name = plain_sets(condition, self.protocol)[1][0]
        if place.keys is not None:
            return [Lack("trial keys", "their owner", name, relative(place.keys, self.tree))]
        return [Lack("trial keys", self._data_stage(name, ""), name)]

    def scores(
        self, condition: TrialCondition, part: ResultsFolder, subject: Subject
    ) -> list[Lack]:
        """What the scores of a condition are made of; if all is there, the scores."""
        (enroll_name, enroll_suffix), (trial_name, trial_suffix) = plain_sets(
            condition, self.protocol
        )
        if not subject.alone:
            # Stage 5 leaves these alone, whatever the tree holds.
            return [Lack(SCORES, "their owners")]
        lacks = self.key(condition)
        try:
            enrollment_files(self.data, enroll_name, enroll_suffix)
        except MissingInput:
            stage = self._data_stage(enroll_name, "")
            lacks.append(Lack("enrollment sets", stage, enroll_name))
        sets = [(enroll_name, enroll_suffix), (trial_name, trial_suffix)]
        lacks += self._of_model(part, subject.anon_suffix, sets)
        return lacks or [Lack(SCORES, "stage 5")]

    def similarity(self, trial_set: TrialSet, part: ResultsFolder, subject: Subject) -> list[Lack]:
        """What the voice similarity of a trial set is made of."""
        if not subject.alone:
            return [Lack("x-vectors", "their owners")]
        name, suffix = trial_set.trials_name, subject.anon_suffix
        lacks = []
        if not (self.data / name / "utt2spk").is_file():
            lacks.append(Lack("trial sets", self._data_stage(name, ""), name))
        return lacks + self._of_model(part, suffix, [(name, ""), (name, suffix)])

    def _of_model(
        self, part: ResultsFolder, suffix: str, sets: list[tuple[str, str]]
    ) -> list[Lack]:
        model = self.protocol.asv_model(part.asv_model)
        if model is None:
            what = f"model trained on {part.asv_model} speech"
            return [Lack(what, "the plan, which names none")]
        lacks = []
        if backend_folder(self.tree, model, suffix) is None:
            lacks.append(self._back_end(model, suffix))
        folder = self.tree / model.model_folder(suffix)
        vectors = TreeVectors(self.tree, self.protocol, folder)
        for name, mark in sets:
            if vectors.find(name, mark) is None:
                stage = self._vectors_stage(name, mark)
                lacks.append(Lack("x-vectors", stage, name + mark, relative(folder, self.tree)))
        return lacks

    def _back_end(self, model: AsvModel, suffix: str) -> Lack:
        folder, training = model.model_folder(suffix), model.training_name(suffix)
        stage = "stage 1"
        if model.trained_on != ORIGINAL:
            parts = (
                self.tree / folder / f"xvect_{training}" / "xvector.scp",
                self.data / training / "utt2spk",
            )
            there = all(part.is_file() for part in parts)
            stage = "stage 2" if there else f"stage 2, from x-vectors of {training}"
        return Lack("back end", stage, where=folder)

    def _vectors_stage(self, name: str, suffix: str) -> str:
        data = self.data / f"{name}{suffix}"
        if (data / "wav.scp").is_file():
            return "stage 5, with Kaldi"
        if data.is_dir():
            return "their owner, as there is no wav.scp"
        return self._data_stage(name, suffix, then="stage 5")

    def _data_stage(self, name: str, suffix: str, then: str = "") -> str:
        """Which stages make a data folder, and then what is made of it."""
        if suffix not in self._makeable:
            self._makeable[suffix] = makeable(self.tree, self.protocol, suffix)
        if name + suffix in self._makeable[suffix]:
            stage = "stage 5" if suffix else "stage 3"
        else:
            stage = "stage 4" if suffix else "stage 1"
        return stage if then in ("", stage) else f"{stage}, then {then}"
