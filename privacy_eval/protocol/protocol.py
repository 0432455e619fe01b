"""Evaluation protocols: `conf/*.yaml` as validated, frozen dataclasses.

A protocol defines data sets, conditions and attack models, and their names in a tree and
in tables. Nothing else in the package knows such names.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from ..choices import (
    ALIGNMENTS,
    ENCODER_FILES,
    ENCODERS,
    GENDER,
    ID_RULES,
    SPECTRUM,
    AlignmentName,
    Normalization,
    Variant,
)
from ..errors import PrivacyEvalError, UsageError, known_names, located
from ..io.files import read_text
from ..io.names import is_printable
from ..io.schema import SPARSE, from_plain, to_plain
from ..io.yaml_text import parse_yaml
from ..wings import OR_ABSENT, of_wings

ORIGINAL, ANONYMIZED = "original", "anonymized"

SPEECH = (ORIGINAL, ANONYMIZED)

#: Metrics that a protocol may choose as the EER of its tables.
EERS = ("eer", "eer_speechbrain", "rocch_eer")

#: Ending of the title where the tree is a demo.
_SIMULATED = ", simulated data"

#: Beginning of the entries of a protocol that adds to the lists of the one that it extends.
_MORE = "more_"

#: Stands for the anonymization suffix.
SUFFIX = "{suffix}"

#: Suffix of the names of metric studies.
_STUDY = "_study"


@dataclass(frozen=True)
class ResultsFolder:
    """One of the results folders of an evaluation.

    Attributes
    ----------
    suffix : str
        Ending of its name; also where the conditions are elsewhere.
    asv_model : str
    folders : tuple of str
        Folders of the ASV model in `exp/` that contain the conditions instead, without the
        prefix `ASV-`; may hold {suffix}, the anonymization suffix.
    """

    suffix: str
    asv_model: str
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """A family of enrollment and trial sets; names hold {split} and {gender}."""

    id: str
    title: str
    row: str
    enrollment: str
    trials: str
    weight: float
    other_key_names: tuple[str, ...] = ()

    def row_name(self, split: str) -> str:
        """Return the data set's name in per-system tables."""
        return _fill(self.row, split)


@dataclass(frozen=True)
class SpeechPair:
    """Enrollment and trial speech, each original or anonymized."""

    enrollment: str
    trial: str


def _within_sentence(title: str) -> str:
    """Return a title without its initial capital, if the rest of the word is in lower case."""
    word = title.partition(" ")[0]
    return title[:1].lower() + title[1:] if word[1:].islower() else title


#: Knowledge of the attacker, by enrollment speech, trial speech and training speech.
_KNOWLEDGE = {
    (ORIGINAL, ORIGINAL, ORIGINAL): "who has original speech to recognize",
    (ORIGINAL, ANONYMIZED, ORIGINAL): "who does not know of the anonymization",
    (ANONYMIZED, ANONYMIZED, ORIGINAL): "who anonymizes the known speech, too",
    (ANONYMIZED, ANONYMIZED, ANONYMIZED): "who anonymizes known speech, too, and trains on it",
    (ORIGINAL, ANONYMIZED, ANONYMIZED): "who trains on anonymized speech",
}


@dataclass(frozen=True)
class AttackModel:
    """Enrollment and trial speech of an attack, and the training speech of its ASV model."""

    id: str
    title: str
    enrollment: str
    trial: str
    asv_model: str

    @property
    def phrase(self) -> str:
        """The title within a sentence."""
        return _within_sentence(self.title)

    @property
    def is_original(self) -> bool:
        """Whether enrollment and trial speech are original: the reference."""
        return self.enrollment == self.trial == ORIGINAL

    @property
    def knowledge(self) -> str:
        """What the attacker knows, in words that follow "an attacker"."""
        other = f"with {self.enrollment} enrollment, {self.trial} trials, {self.asv_model} model"
        return _KNOWLEDGE.get((self.enrollment, self.trial, self.asv_model), other)


@dataclass(frozen=True)
class RecognitionSet:
    """A set decoded by speech recognition; names hold {split}."""

    id: str
    row: str
    name: str
    weight: float
    title: str = ""

    def row_name(self, split: str) -> str:
        """Return the set's name in per-system tables."""
        return _fill(self.row, split)

    def set_name(self, split: str) -> str:
        """Return the name of its data folder."""
        return _fill(self.name, split)


@dataclass(frozen=True)
class Recognition:
    """Speech recognition: sets, language models (marker by id), recognizers (folder by
    training speech), the language model of the averages, and the recognizer of anonymized speech
    in them (by default the one trained like the attacker's model); folders in `exp/` that contain
    the sets, without the prefix `ASR-`; normalization of transcripts (of the verb `wer`)."""

    data_sets: tuple[RecognitionSet, ...] = ()
    language_models: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    average: str = ""
    average_model: str | None = None
    folders: tuple[str, ...] = ()
    normalization: Normalization = "none"


#: Name, among the metrics of a paper's table, of the ranks within the thresholds of the EER.
THRESHOLDS = "eer_thresholds"


@dataclass(frozen=True)
class PaperTable:
    """A table of the edition's papers.

    Attributes
    ----------
    metrics : tuple of str
        A block for each, in order; `eer_thresholds` are the ranks by utility.
    attack_models : tuple of str
        Of the metrics on scores; by default the one of the averages.
    splits : {"apart", "together"}
        A table for each split, or one of all.
    """

    metrics: tuple[str, ...]
    attack_models: tuple[str, ...] = ()
    splits: Literal["apart", "together"] = "apart"


@dataclass(frozen=True)
class AsvModel:
    """An ASV model and its place in a tree.

    Attributes
    ----------
    trained_on : str
        `original` or `anonymized` speech.
    folder : str
        Model folder, relative to the tree; may hold {suffix}, the anonymization
        suffix. The x-vectors of a set are in `xvect_<set>/xvector.scp` there, or in
        `xvector.npz`, `.npy`, `.h5` or `speaker_vectors.pt`.
    training_set : str
        Data folder that the back end is trained on; may hold {suffix}. The back end
        (`mean.vec`, `transform.mat`, `plda`) is in its x-vectors' folder or in the model
        folder itself. Not needed with `cosine`.
    backend : {"plda", "cosine"}
        `cosine`: of x-vectors of unit length, and their mean by enrolled speaker; not trained.
    sha256 : str
        SHA-256 of the network `final.raw` that the protocol prescribes; "" if unknown.
    """

    trained_on: str
    folder: str
    training_set: str = ""
    sha256: str = ""
    backend: Literal["plda", "cosine"] = "plda"

    def model_folder(self, suffix: str) -> str:
        """Return the model folder for an anonymization suffix."""
        return self.folder.replace(SUFFIX, suffix)

    def training_name(self, suffix: str) -> str:
        """Return the name of the training set for an anonymization suffix."""
        return self.training_set.replace(SUFFIX, suffix)


#: Ids of attackers that only a challenge's own may have: those of its back end.
CHALLENGE_ATTACKERS = ("plda", "cosine")

#: Id of the attacker who reads the words alone, which are those of all systems.
WORDS = "words"

#: Ways of scoring that learn from crops of training speech, which are in data folders with this
#: ending; of the one that also compares original enrollment; and by PLDA.
CROPS, LDA, LDA_JOINT, PLDA_CROPS = "_crops", "lda", "lda-joint", "plda-crops"
OF_CROPS = (LDA, LDA_JOINT, PLDA_CROPS)

#: File of a data folder: the McAdams coefficient of every utterance.
COEFFICIENTS = "utt2mcadams"

#: Beginning of the remark on scores that says what an attacker learnt from.
LEARNT = "learnt from"

#: Seconds of a crop.
DEFAULT_CROP = 3.0

#: How many of the training speakers count in AS-norm by default.
TOP = 100

#: Folder of the vectors of attackers' encoders, below a tree.
ENCODERS_FOLDER = "exp/models"

#: Encoders of each system.
_TRAINED = f"{ENCODERS_FOLDER}/NAME{SUFFIX}/FILE.ckpt"
_TRAINED_FORM = rf"{ENCODERS_FOLDER}/[\w.+-]+\{SUFFIX}/[\w+-][\w.+-]*"

#: Sources of measures that networks compute here.
MEASURED = ("quality", "phones", "phones-text")

#: What an attacker may know.
Knowledge = Literal["enrollment", "trial", "training", "words"]

#: How an attacker may score: what the core does, and what is left to wings; other wings add more.
SCORINGS = ("plda", "cosine", PLDA_CROPS, "outside")
OF_WINGS = ("words", "aligned", LDA, LDA_JOINT, "fused")


@dataclass(frozen=True)
class Attacker:
    """What gives scores to the trials of a condition.

    Attributes
    ----------
    id : str
        Also names the subfolder of a condition that its scores are in, but for the first one of
        a protocol, which is the challenge's own.
    title : str
        Within a sentence.
    knows : tuple of {"enrollment", "trial", "training", "words"}
        Voices of the enrollment, of the trials, of training speech; what is said.
    scoring : str
        `plda`, `cosine`: back end of x-vectors; `words`: the transcripts alone; `aligned`: cosine
        of x-vectors of original and anonymized speech, by an alignment learnt from training speech;
        `lda`, `lda-joint`: a discriminant learnt from crops of anonymized training speech, or of
        original and anonymized together; `plda-crops`: PLDA trained on anonymized crops; `fused`:
        the scores of other attackers; `outside`: score files of another program. Wings add others.
    alignment : str
        Of `aligned`: one of `choices.ALIGNMENTS`.
    norm : {"", "snorm", "asnorm"}
        Of `aligned`: normalization of scores by the training speakers, or by the `top` ones.
    top : int
        Of `asnorm`.
    fuses : tuple of str
        Of `fused`: ids; empty for all others that have scores.
    encoder : str
        Of `cosine`, `aligned` and those of crops: a speaker encoder, `ge2e`, `ge2e-raw`,
        `d-vector`, `spectrum` (standardized by the utterances of each side), an ONNX file or a
        checkpoint of SpeechBrain (.ckpt), whose vectors are compared; by default those of the ASV
        model. They are in `exp/models/ENCODER`, which is also the ASV model's folder if it is the
        challenge's own attacker that names the encoder. Or such a folder itself, whose vectors a
        user's command or another program writes. Or `exp/models/NAME{suffix}/FILE`: an encoder of
        each system, with its vectors beside it, which is trained unless it is there.
    front_end : str
        Of an ONNX file, by default the one that its metadata describe.
    attack_model : str
        The attack model of its scores in conditions of the same speech, such as `semi-informed`;
        by default that of the challenge's own attacker.
    """

    id: str
    title: str
    knows: tuple[Knowledge, ...] = ()
    scoring: str = "outside"
    alignment: AlignmentName = "none"
    norm: Literal["", "snorm", "asnorm"] = ""
    top: int = TOP
    fuses: tuple[str, ...] = ()
    encoder: Annotated[str, SPARSE] = ""
    front_end: Annotated[str, SPARSE] = ""
    attack_model: Annotated[str, SPARSE] = ""

    @property
    def way(self) -> str:
        """What computes its scores: `scoring`, but of the spectrum, which no encoder compares."""
        is_spectrum = (self.scoring, self.encoder) == ("cosine", SPECTRUM)
        return SPECTRUM if is_spectrum else self.scoring

    @property
    def learns(self) -> bool:
        """Whether it learns from training speech and its anonymized copy."""
        return self.scoring in ("aligned", *OF_CROPS)

    @property
    def is_trained(self) -> bool:
        """Whether its encoder is one of each system, trained on anonymized training speech."""
        return SUFFIX in self.encoder

    def encoder_file(self, suffix: str) -> str:
        """Return the encoder of the system with an anonymization suffix."""
        return self.encoder.replace(SUFFIX, suffix)

    @property
    def vectors(self) -> AsvModel:
        """The model whose vectors it compares, if it names an encoder."""
        path = PurePath(self.encoder)
        folder = str(path.parent) if self.is_trained else f"{ENCODERS_FOLDER}/{path.stem}"
        return AsvModel(ORIGINAL, folder, backend="cosine")

    @property
    def has_external_vectors(self) -> bool:
        """Whether a folder in the place of an encoder holds the vectors."""
        return bool(self.encoder) and self.encoder == self.vectors.folder


def is_variant(other: str, attacker: str, own: Collection[str]) -> bool:
    """Tell by their ids whether an attacker is an aligned or normalized variant of another one: of
    the challenge's own all aligned ones are.

    `own`: ids of the challenge's own attacker.
    """
    plain = other.removesuffix("-snorm").removesuffix("-asnorm")
    return other != attacker and (plain == attacker or (plain in ALIGNMENTS and attacker in own))


@dataclass(frozen=True)
class Measure:
    """A measure of utterances that another tool leaves in files.

    Attributes
    ----------
    id : str
        Key of its values in results.
    title : str
    file : str
        Path below the tree, with {set} for the data folder of a trial set and, for several systems
        whose folders have the same name, {system}: CSV, or Kaldi's lines of an utterance and a
        number.
    column : str
        Of CSV; by default its only column of numbers.
    best : {"higher", "lower"}
    range : (float, float)
    meaning, unit : str
    decimals : int
    """

    id: str
    title: str
    file: str
    column: str = ""
    best: Literal["higher", "lower"] = "higher"
    range: tuple[float, ...] = (-math.inf, math.inf)
    meaning: str = ""
    unit: str = ""
    decimals: int = 3


@dataclass(frozen=True)
class DataFolder:
    """A data folder derived from others: a subset selected by an utterance list, or several
    combined. Names may contain {split} and {gender}; a placeholder of a part that is not in
    the folder's own name expands to all of its values.

    Attributes
    ----------
    name : str
    cut_from : str or None
        The folder that contains the list and the utterances it selects.
    list : str or None
        Name of the list there.
    list_as : {"enrolls", "trials"} or None
        Kind of list, and its name in the new folder: utterances, or trials, whose
        utterances are in the second column.
    combine : tuple of str
        Data folders of the protocol to be combined.
    """

    name: str
    cut_from: str | None = None
    list: str | None = None
    list_as: Literal["enrolls", "trials"] | None = None
    combine: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialSet:
    """Trial set of one data set, split and gender."""

    data_set: DataSet
    split: str
    gender: str

    @property
    def enrollment_name(self) -> str:
        return _fill(self.data_set.enrollment, self.split, self.gender)

    @property
    def trials_name(self) -> str:
        return _fill(self.data_set.trials, self.split, self.gender)

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the trial set in a keys folder, the usual one first."""
        others = (_fill(n, self.split, self.gender) for n in self.data_set.other_key_names)
        return (self.trials_name, *others)


@dataclass(frozen=True)
class Protocol:
    """An evaluation protocol; the fields are documented in the YAML files."""

    name: str
    title: str
    variant: Variant
    anon_suffix: str
    splits: tuple[str, ...]
    genders: Mapping[str, str]
    results_folders: tuple[ResultsFolder, ...]
    data_sets: tuple[DataSet, ...]
    table_rows: tuple[str, ...]
    comparisons: tuple[SpeechPair, ...]
    attack_models: tuple[AttackModel, ...]
    average_attack_model: str
    recognition: Recognition = Recognition()
    eer: str = "eer"
    emotion: tuple[RecognitionSet, ...] = ()
    emotion_folder: str = ""
    eer_thresholds: tuple[float, ...] = ()
    paper: tuple[PaperTable, ...] = ()
    split_titles: Mapping[str, str] = field(default_factory=dict)
    data_folders: tuple[DataFolder, ...] = ()
    asv_models: tuple[AsvModel, ...] = ()
    speaker_vectors: str = ""
    normalize_embeddings: Annotated[bool, SPARSE] = False
    attackers: tuple[Attacker, ...] = ()
    training_set: str = ""
    crop: Annotated[float, SPARSE] = DEFAULT_CROP
    level: Annotated[Literal["", "speaker", "utterance"], SPARSE] = ""
    gender_weights: Annotated[Mapping[str, float], SPARSE] = field(default_factory=dict)
    remarks: Annotated[tuple[str, ...], SPARSE] = ()
    measures: Annotated[tuple[Measure, ...], SPARSE] = ()
    groups: Annotated[tuple[str, ...], SPARSE] = ()
    attributes: Annotated[tuple[str, ...], SPARSE] = ()
    sentences: Annotated[tuple[int, ...], SPARSE] = ()
    ids: Annotated[tuple[str, ...], SPARSE] = ()

    def with_parts(self, genders: Mapping[str, str]) -> Protocol:
        """Return a protocol of pooled trials with sets of further genders, which no average is
        over; another protocol as it is."""
        more = {g: title for g, title in genders.items() if g not in self.genders}
        if len(self.genders) > 1 or not more:
            return self
        weights = {**self.gender_weights, **dict.fromkeys(more, 0.0)}
        return replace(self, genders={**self.genders, **more}, gender_weights=weights)

    def trial_sets(self) -> Iterator[TrialSet]:
        """Iterate over all trial sets by split, data set and gender."""
        for split, data_set, gender in itertools.product(self.splits, self.data_sets, self.genders):
            yield TrialSet(data_set, split, gender)

    def split_title(self, split: str) -> str:
        """Return the heading of a split's columns."""
        return self.split_titles.get(split, split)

    def split_name(self, split: str) -> str:
        """Return the heading of a split within a sentence."""
        return _within_sentence(self.split_title(split))

    def title_of_set(self, data_set: str, split: str, gender: str) -> str:
        """Return the title of a trial set."""
        return f"{self.data_set(data_set).title} {split}, {self.genders[gender]}"

    def evaluation(self, system: str, results_folder: str) -> str:
        """Name one of the evaluations of a system, by what its models were trained on if there are
        others."""
        part = next((f for f in self.results_folders if f.suffix == results_folder), None)
        if part is None or len(self.results_folders) == 1:
            return f"{system}{results_folder}"
        return f"{system}, models trained on {part.asv_model} speech"

    def data_set(self, name: str) -> DataSet:
        """Return a data set by its id."""
        return next(d for d in self.data_sets if d.id == name)

    def trial_set(self, data_set: str, split: str, gender: str) -> TrialSet:
        """Return a trial set by its ids."""
        return TrialSet(self.data_set(data_set), split, gender)

    @property
    def average_attack(self) -> AttackModel:
        """The attack model of the challenge's averages and rankings."""
        return self.attack(self.average_attack_model)

    @property
    def weighs_utility(self) -> bool:
        """Whether systems are ranked by privacy and utility, as from 2022 on."""
        return bool(self.eer_thresholds or self.emotion)

    @property
    def has_own_scoring(self) -> bool:
        """Whether the edition's own evaluation computes all scores: it has no x-vector models,
        and stages 2 and 5 do not apply."""
        return not self.asv_models and any(part.folders for part in self.results_folders)

    @property
    def own_attacker(self) -> str:
        """The id of the challenge's own attacker."""
        return self.attackers[0].id if self.attackers else self._own_backend

    @property
    def _own_backend(self) -> str:
        """The back end of the challenge's own attacker: that of the ASV model of the averages."""
        if self.has_own_scoring:
            return "cosine"
        model = self.asv_model(self.attack(self.average_attack_model).asv_model)
        return "plda" if model is None else model.backend

    @property
    def other_attackers(self) -> tuple[Attacker, ...]:
        """The attackers that are not the challenge's own."""
        return self.attackers[1:]

    @property
    def encoder_attackers(self) -> tuple[Attacker, ...]:
        """The other attackers who compare the vectors of a given encoder as they are."""
        return tuple(a for a in self.other_attackers if a.way == "cosine" and not a.is_trained)

    @property
    def word_attackers(self) -> frozenset[str]:
        """Ids of the other attackers who read what is said, not the voice."""
        return frozenset(a.id for a in self.other_attackers if a.scoring == "words")

    @property
    def knowing_words(self) -> frozenset[str]:
        """Ids of the other attackers who know what is said, alone or beside the voice."""
        return self.word_attackers.union(a.id for a in self.other_attackers if "words" in a.knows)

    @property
    def spectrum_attackers(self) -> frozenset[str]:
        """Ids of the attackers who compare spectra as they are."""
        return frozenset(a.id for a in self.other_attackers if a.way == SPECTRUM)

    def is_variant(self, other: str, attacker: str) -> bool:
        """Tell whether an attacker is an aligned or normalized variant of another one, as the
        protocol declares them or by their ids: of the challenge's own all of them are."""
        declared = {a.id: a for a in self.attackers if a.learns}
        one, own = declared.get(other), declared.get(attacker)
        same = self._encoder_of(other) == self._encoder_of(attacker)
        if one is not None and own is not None:
            alike = same and (one.scoring, one.alignment) == (own.scoring, own.alignment)
            return alike and bool(one.norm) and not own.norm
        by_cosine = {self.own_attacker, *(a.id for a in self.attackers if a.scoring == "cosine")}
        if one is not None and attacker in by_cosine:
            return same
        return is_variant(other, attacker, (self.own_attacker,))

    def _encoder_of(self, attacker: str) -> str:
        """Name the encoder of an attacker's vectors; "" for those of the ASV model."""
        encoders = {a.id: a.encoder for a in self.other_attackers}
        own = next((a.encoder for a in self.attackers[:1]), "")
        encoder = encoders.get(attacker, "")
        return "" if encoder == own else encoder

    def encoder_of(self, folder: str, suffixes: Collection[str] = ()) -> tuple[str, str]:
        """Return the encoder that computes the vectors of a model folder, and its front end; "" if
        no attacker names one. `suffixes`: of the systems that have one each."""
        for attacker, suffix in itertools.product(self.attackers, suffixes or ("",)):
            named = attacker.encoder and not attacker.has_external_vectors
            if named and attacker.vectors.model_folder(suffix) == folder:
                return attacker.encoder_file(suffix), attacker.front_end
        return "", ""

    @property
    def external_vector_folders(self) -> frozenset[str]:
        """The folders of vectors that attackers name in the place of an encoder."""
        return frozenset(a.encoder for a in self.attackers if a.has_external_vectors)

    @property
    def attacker_training(self) -> str:
        """The data folder of original speech that attackers learn an alignment from: the
        `training_set`, else that of the ASV models; "" if there is none."""
        models = (self.asv_model(speech) for speech in (ANONYMIZED, ORIGINAL))
        names = (model.training_name("") for model in models if model is not None)
        return self.training_set or next(names, "")

    @cached_property
    def is_challenge(self) -> bool:
        """Whether it is a challenge's own, not one of other speech."""
        return self.name in bundled()

    @property
    def is_simulated(self) -> bool:
        """Whether the title says that the data are simulated."""
        return self.title.endswith(_SIMULATED)

    def simulated(self) -> Protocol:
        """Return the protocol of simulated data, whose title says so."""
        return self if self.is_simulated else replace(self, title=self.title + _SIMULATED)

    def shown(self, metric: str) -> str:
        """Return the metric that tables and figures show: for `eer` the protocol's definition."""
        return self.eer if metric == "eer" else metric

    def asv_model(self, trained_on: str) -> AsvModel | None:
        """Return the ASV model trained on original or on anonymized speech."""
        return next((m for m in self.asv_models if m.trained_on == trained_on), None)

    def saved_vector_paths(self, trained_on: str, suffix: str, name: str) -> list[str]:
        """List possible paths of a data set's x-vectors in the edition's own results, beside the
        scores of the models trained on original or anonymized speech."""
        within = self.speaker_vectors.replace("{set}", name)
        return [
            f"{folder.replace('{suffix}', suffix)}/{within}"
            for part in self.results_folders
            for folder in part.folders
            if part.asv_model == trained_on and within
        ]

    @cached_property
    def folders(self) -> tuple[DataFolder, ...]:
        """All data folders to create, with expanded names, each after its parts.

        Raises
        ------
        PrivacyEvalError
            A folder of both or neither kind, a duplicate name, a circular dependency, an
            unknown part.
        """
        expanded = (_expand(template, self) for template in self.data_folders)
        trial_sets = {t.trials_name for t in self.trial_sets()}
        return _sort_by_dependency(list(itertools.chain.from_iterable(expanded)), trial_sets)

    def supersets(self, name: str) -> tuple[str, ...]:
        """List the combined data folders that contain a data folder, the nearest first."""
        if name not in self._supersets:
            names: list[str] = []
            nearest, folders = {name}, self.folders
            while nearest:
                of_these = (f.name for f in folders if nearest.intersection(f.combine))
                above = [n for n in of_these if n not in names]
                names += above
                nearest = set(above)
            self._supersets[name] = (*names,)
        return self._supersets[name]

    @cached_property
    def _supersets(self) -> dict[str, tuple[str, ...]]:
        return {}

    def anonymized_together(self) -> dict[str, list[TrialSet]]:
        """Group trial sets by the data folder that is anonymized: the superset of trial sets of
        one gender, as in the challenge, otherwise the trial set itself; not those that combine
        others, which stage 5 does after them."""
        sets = {t.trials_name: t for t in self.trial_sets()}
        parts = {f.name: f.combine for f in self.folders}
        together: dict[str, list[TrialSet]] = {}
        for name, trial_set in sets.items():
            supersets = (
                superset
                for superset in self.supersets(name)
                if len(parts[superset]) > 1
                and all(p in sets and sets[p].gender == trial_set.gender for p in parts[superset])
            )
            if not parts.get(name):
                together.setdefault(next(supersets, name), []).append(trial_set)
        return together

    def attack(self, name: str) -> AttackModel:
        """Return an attack model by its id."""
        return next(a for a in self.attack_models if a.id == name)

    def attack_model(self, enrollment: str, trial: str, asv_model: str) -> str | None:
        """Return the id of the attack model with this speech and ASV model, if any."""
        speech = (enrollment, trial, asv_model)
        matching = (a for a in self.attack_models if (a.enrollment, a.trial, a.asv_model) == speech)
        return next((a.id for a in matching), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain YAML/JSON values; `protocol_from_dict` reads it back."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def own_entry(backend: str) -> str:
    """Return the entry of a protocol that names the challenge's own attacker, by its back end."""
    return f"{{id: {backend}, title: {backend} of x-vectors, scoring: {backend}}}"


def bundled() -> list[str]:
    """List the names of the bundled protocols."""
    return [name for name in resources("conf", ".yaml") if not name.endswith(_STUDY)]


def bundled_studies() -> list[str]:
    """List the names of the bundled metric studies."""
    return [name for name in resources("conf", ".yaml") if name.endswith(_STUDY)]


def resources(folder: str, suffix: str) -> list[str]:
    """List the bundled files of a kind, without their suffix."""
    return sorted(path.name.removesuffix(suffix) for path in resource(folder).glob(f"*{suffix}"))


def resource(name: str) -> Path:
    """Return the path of a bundled file or folder; `importlib.resources` takes longer to import
    than a protocol to read."""
    return Path(__file__).parents[1] / name


def load_protocol(name: str, *, base: Path = Path()) -> Protocol:
    """Load a bundled protocol by its name, or one by the path of its YAML file.

    Parameters
    ----------
    name : str
        Such as `vpc2024`, or a path.
    base : Path
        Folder that a relative path starts from.

    Returns
    -------
    Protocol

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML, a missing, unknown or wrong entry.

    Examples
    --------
    >>> [attack.id for attack in load_protocol("vpc2020").attack_models]
    ['original', 'ignorant', 'lazy-informed', 'semi-informed']
    """
    values, where = read_yaml_values(name, base=base, bundled=bundled())
    protocol = protocol_from_dict(values, where)
    # Those of results may be of a wing that is not installed here.
    known = dict.fromkeys((*SCORINGS, *OF_WINGS, *of_wings("attackers", SCORINGS)))
    for a in protocol.attackers:
        if a.scoring not in known or a.scoring == SPECTRUM:
            expected = known_names(a.scoring, known.keys() - {SPECTRUM}) + OR_ABSENT
            raise PrivacyEvalError(f"{where}: attackers: {a.id}: scoring {a.scoring!r}: {expected}")
    return protocol


def protocol_from_dict(values: object, where: str) -> Protocol:
    """Build a protocol from plain values and validate it; `where` begins error messages."""
    protocol = from_plain(Protocol, values, where)
    check_protocol(protocol, where)
    return protocol


def check_protocol(protocol: Protocol, where: str) -> None:
    """Raise an error that names the first invalid entry, if any."""
    with located(where):
        _check_entries(protocol)
        _check_file_names(protocol)
        _ = protocol.folders


def read_yaml_values(
    name: str, *, base: Path, bundled: Sequence[str], extended_by: tuple[str, ...] = ()
) -> tuple[object, str]:
    """Read a YAML file and merge it into the file that it `extends`; return values and path.

    Parameters
    ----------
    base : Path
        Folder that a relative path starts from.
    bundled : sequence of str
        Names of files of the package.

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML.
    """
    if name in bundled:
        where = f"{name}.yaml"
        text = (resource("conf") / where).read_text(encoding="utf-8")
    else:
        path = base / name
        if not os.path.isfile(path):
            kind = PrivacyEvalError if extended_by else UsageError
            raise kind(
                f"{path}: unknown protocol; bundled protocols: {', '.join(bundled)}; a path is "
                f"relative to {os.path.abspath(base)}"
            )
        where, text, base = str(path), read_text(path), path.parent
    values = parse_yaml(text, where, trusted=name in bundled)
    if not isinstance(values, dict) or "extends" not in values:
        return values, where
    parent = values.pop("extends")
    identity = where if name in bundled else str((base / Path(name).name).resolve())
    if not isinstance(parent, str) or identity in extended_by:
        raise PrivacyEvalError(f"{where}: extends: expected the name of another protocol")
    inherited, _ = read_yaml_values(
        parent, base=base, bundled=bundled, extended_by=(*extended_by, identity)
    )
    if not isinstance(inherited, dict):
        return values, where
    if "attack_models" in values:  # of which those attackers do not know
        for attacker in inherited.get("attackers", ()):
            attacker.pop("attack_model", None)
    for name in (entry.name for entry in fields(Protocol)):
        own, added = values.get(name) or inherited.get(name, []), values.get(_MORE + name)
        if isinstance(own, list) and isinstance(added, list):
            values[name] = [*own, *added]
            del values[_MORE + name]
    return {**inherited, **values}, where


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise PrivacyEvalError(message)


def _check_entries(protocol: Protocol) -> None:
    p, recognition = protocol, protocol.recognition
    for entry in "splits genders results_folders data_sets comparisons anon_suffix".split():
        _need(bool(getattr(p, entry)), f"{entry} must not be empty")
    decoded = (*recognition.data_sets, *p.emotion)
    weights = [*(d.weight for d in p.data_sets), *(d.weight for d in decoded)]
    for weight in [*weights, *p.gender_weights.values()]:
        _need(0 <= weight < math.inf, f"weights must be finite and not negative, not {weight}")
    for gender in p.gender_weights:
        remedy = f"expected {', '.join(p.genders)}; rename it, or add it to genders"
        _need(gender in p.genders, f"gender_weights: unknown gender {gender!r}: {remedy}")
    ids, attacks = [d.id for d in p.data_sets], [a.id for a in p.attack_models]
    for kind, names in (
        ("data set", ids),
        ("attack model", attacks),
        ("results folder suffix", [r.suffix for r in p.results_folders]),
        ("ASV model", [m.trained_on for m in p.asv_models]),
        ("trial set", [t.trials_name for t in p.trial_sets()]),
        ("attacker", [a.id for a in p.attackers]),
        ("measure", [m.id for m in p.measures]),
    ):
        _need(len(set(names)) == len(names), f"duplicate {kind}: {sorted(names)}")
    _need(
        sorted(p.table_rows) == sorted(ids),
        f"table_rows must name every data set once ({', '.join(ids)}), not "
        f"{', '.join(p.table_rows)}; adapt data_folders and recognition, too",
    )
    speech = [word for c in p.comparisons for word in (c.enrollment, c.trial)]
    speech += [word for a in p.attack_models for word in (a.enrollment, a.trial, a.asv_model)]
    speech += [part.asv_model for part in p.results_folders]
    speech += [*recognition.models, *(m.trained_on for m in p.asv_models)]
    for word in (*speech, recognition.average_model or ORIGINAL):
        _need(word in SPEECH, f"expected {' or '.join(SPEECH)}, found {word!r}")
    _need(
        recognition.average in recognition.language_models or not recognition.data_sets,
        "recognition: average must be one of the language models",
    )
    _need(
        p.average_attack_model in attacks, "average_attack_model must be one of the attack models"
    )
    _check_attackers(p)
    _need(not {m.id for m in p.measures} & {*MEASURED}, "measures: the id has another meaning")
    for entry, labels in (("groups", p.groups), ("attributes", p.attributes)):
        columns = [text.rpartition(":")[2] for text in labels]
        _need(
            len(set(columns)) == len(columns) and all(is_printable(text) for text in labels),
            f"{entry}: expected FILE:COLUMN, every column once",
        )
    _need(
        all(n > 0 for n in p.sentences) and len(set(p.sentences)) == len(p.sentences),
        "sentences: expected numbers per test, from 1, each once",
    )
    _need({*p.ids} <= {*ID_RULES}, f"ids: expected rules of {', '.join(ID_RULES)}")
    _need(all(0 <= t <= 1 for t in p.eer_thresholds), "eer_thresholds must be fractions")
    _need(all(a < b for a, b in itertools.pairwise(p.eer_thresholds)), "eer_thresholds must ascend")
    _need(0 < p.crop < math.inf, f"crop must be seconds, more than 0, not {p.crop}")
    _need(p.eer in EERS, f"eer must be one of {', '.join(EERS)}, not {p.eer!r}")


def _check_attackers(p: Protocol) -> None:
    """Check the challenge's own attacker, and options that belong to one way of scoring."""
    own = p.attackers[:1]
    _need(
        all(a.id == a.scoring and a.id in CHALLENGE_ATTACKERS for a in own)
        and not any(a.id in CHALLENGE_ATTACKERS for a in p.other_attackers)
        and not any(
            a.scoring in CHALLENGE_ATTACKERS and not (a.encoder and a.scoring == "cosine")
            for a in p.other_attackers
        ),
        "attackers: the first, and no other, is the challenge's own: id and scoring are "
        f"{' or '.join(CHALLENGE_ATTACKERS)}; another one whose scores you compute is `outside`, "
        f"and one whose vectors you compute names their folder, `encoder: {ENCODERS_FOLDER}/NAME`",
    )
    for model in p.asv_models:
        _need(
            bool(model.training_set) or model.backend == "cosine",
            f"asv_models: {model.trained_on}: plda needs a training_set",
        )
    _need(
        not own or not p.asv_models or own[0].scoring == p._own_backend,
        f"attackers: the ASV model of the averages ({p.average_attack_model}) has the back end "
        f"{p._own_backend}, so the first must be {own_entry(p._own_backend)}",
    )
    single = {a.id for a in p.attackers if a.scoring != "fused"}
    folders = {model.folder for model in p.asv_models if model.trained_on == ORIGINAL}
    for a in own:
        _need(
            not a.encoder or folders == {a.vectors.folder},
            f"attackers: {a.id}: the ASV model's folder must be {a.vectors.folder}, which its "
            "encoder's vectors are in",
        )
    for a in p.attackers:
        where = f"attackers: {a.id}"
        aligned = a.alignment != "none" or bool(a.norm) or a.top != TOP
        has_encoder = a.scoring == "cosine" or a.learns
        models = [m.id for m in p.attack_models]
        is_first = a == p.attackers[0]
        is_file = a.encoder.endswith(ENCODER_FILES)
        is_encoder = a.encoder in ENCODERS or is_file or a.has_external_vectors
        if a.is_trained:
            is_encoder = is_file and re.fullmatch(_TRAINED_FORM, a.encoder) is not None
        is_several = set(a.fuses) <= single and len(set(a.fuses)) == len(a.fuses) != 1
        encoders = (
            f"{', '.join(ENCODERS)}, a file .onnx or .ckpt, {_TRAINED} of each system, or a folder "
            f"{ENCODERS_FOLDER}/NAME (no dots) of vectors of your own"
        )
        for problem, is_found in {
            "its scoring is not aligned": aligned and a.scoring != "aligned",
            "its scoring is not fused": a.fuses and a.scoring != "fused",
            "its scoring has no encoder": a.encoder and not has_encoder,
            f"encoder {SPECTRUM} is not that of the first": a.encoder == SPECTRUM and is_first,
            f"encoder {SUFFIX} is not that of the first": a.is_trained and is_first,
            f"attack_model must be one of {', '.join(models)}": a.attack_model not in ("", *models),
            f"encoder must be {encoders}, not {a.encoder!r}": a.encoder and not is_encoder,
            "front_end belongs to an encoder in a file": a.front_end and not is_file,
            "top must be positive": a.top <= 0,
            "top belongs to norm: asnorm": a.norm != "asnorm" and a.top != TOP,
            f"fuses must be several other attackers of {', '.join(sorted(single))}": not is_several,
        }.items():
            _need(not is_found, f"{where}: {problem}")


def _check_file_names(protocol: Protocol) -> None:
    """Check entries that become parts of paths."""
    p, decoded = protocol, (*protocol.recognition.data_sets, *protocol.emotion)
    ids = [*(d.id for d in p.data_sets), *(d.id for d in decoded), *(a.id for a in p.attack_models)]
    ids += [*(a.id for a in p.attackers), *(m.id for m in p.measures)]
    ids += [PurePath(a.encoder).stem for a in p.attackers if a.encoder]
    suffixes = [r.suffix for r in p.results_folders if r.suffix]
    models = p.recognition.language_models
    for name in (p.name, *p.splits, *p.genders, *ids, *models, p.anon_suffix, *suffixes):
        _need(
            re.fullmatch(r"[\w.+-]+", name, re.ASCII) is not None and ".." not in name,
            f"{name!r} becomes part of file names: ASCII letters, digits and . _ + - only",
        )
    templates = [(d.row, d.enrollment, d.trials, *d.other_key_names) for d in p.data_sets]
    templates += [(d.row, d.name) for d in decoded]
    for template in itertools.chain.from_iterable(templates):
        rest = _fill(template, "", "")
        _need(
            not set("{}/\\") & set(rest) and ".." not in rest,
            f"{template!r} may hold {{split}} and {{gender}}, no other braces and no slash",
        )
    paths = [path for part in p.results_folders for path in part.folders]
    paths += [*p.recognition.folders, p.emotion_folder, p.speaker_vectors.replace("{set}", "")]
    paths += [path for model in p.asv_models for path in (model.folder, model.training_set)]
    names = [model.training_set for model in p.asv_models] + [p.training_set]
    labels = (text for text in (*p.groups, *p.attributes) if text != GENDER)
    paths += [p.training_set, *(text.partition(":")[0] for text in labels)]
    for path in (m.file for m in p.measures):
        _need("{set}" in path, f"measures: {path!r} must hold {{set}}, the data folder's name")
        paths.append(path.replace("{set}", "").replace("{system}", ""))
    for path in paths:
        parts = path.replace(SUFFIX, "").split("/")
        _need(
            not path.startswith("/")
            and not set("{}\\") & set("".join(parts))
            and ".." not in parts
            and (path not in names or len(parts) == 1),
            f"{path!r} must be a path below the tree; it may hold {{suffix}}",
        )


def _expand(folder: DataFolder, protocol: Protocol) -> Iterator[DataFolder]:
    """Expand a data folder to every split and gender in its name."""
    where = f"data_folders: {folder.name}"
    cut = (folder.cut_from, folder.list, folder.list_as)
    if (folder.combine and any(cut)) or (not folder.combine and None in cut):
        raise PrivacyEvalError(
            f"{where}: expected either cut_from, list and list_as, or combine with a part"
        )
    # A placeholder that is not in the name stands for all of its values at once.
    splits, genders = protocol.splits, tuple(protocol.genders)
    for some_splits, some_genders in itertools.product(
        [(s,) for s in splits] if "{split}" in folder.name else [splits],
        [(g,) for g in genders] if "{gender}" in folder.name else [genders],
    ):
        source, list_name, names, *parts = (
            _expand_names(template, some_splits, some_genders, where)
            for template in (folder.cut_from, folder.list, folder.name, *folder.combine)
        )
        is_unique = len(source) <= 1 and len(list_name) <= 1
        _need(is_unique, f"{where}: cut_from and list must be unique for this name")
        yield replace(
            folder,
            name=names[0],
            cut_from=next(iter(source), None),
            list=next(iter(list_name), None),
            combine=tuple(itertools.chain.from_iterable(parts)),
        )


def _expand_names(
    template: str | None, splits: tuple[str, ...], genders: tuple[str, ...], where: str
) -> list[str]:
    """List the distinct names that a template expands to."""
    if template is None:
        return []
    names = dict.fromkeys(_fill(template, s, g) for s, g in itertools.product(splits, genders))
    for name in names:
        is_valid = re.fullmatch(r"\w[\w.+-]*", name, re.ASCII) and ".." not in name
        _need(bool(is_valid), f"{where}: {name!r} is not a valid file name")
    return list(names)


def _sort_by_dependency(
    folders: list[DataFolder], trial_sets: Collection[str]
) -> tuple[DataFolder, ...]:
    """Sort data folders so that each follows its parts, which may also be trial sets."""
    names = [f.name for f in folders]
    for folder in folders:
        _need(names.count(folder.name) == 1, f"data_folders: duplicate {folder.name}")
        for part in folder.combine:
            where = f"data_folders: {folder.name}"
            _need(part in names or part in trial_sets, f"{where}: unknown part {part}")
            _need(folder.combine.count(part) == 1, f"{where}: duplicate {part}")
    ordered: list[DataFolder] = []
    waiting = folders
    while waiting:
        left = {f.name for f in waiting}
        ready = [f for f in waiting if not left & {f.cut_from, *f.combine}]
        _need(bool(ready), f"data_folders: circular dependency: {', '.join(sorted(left))}")
        ordered += ready
        waiting = [f for f in waiting if f not in ready]
    return tuple(ordered)


def _fill(template: str, split: str, gender: str = "") -> str:
    return template.replace("{split}", split).replace("{gender}", gender)
