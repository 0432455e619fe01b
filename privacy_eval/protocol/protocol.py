"""Evaluation plans: `conf/*.yaml` as validated, frozen dataclasses.

A plan says which data sets, comparisons and attack models there are and what they
are called in a tree and in a table. Nothing else in the package knows such names.
"""

from __future__ import annotations

import importlib.resources
import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..errors import PrivacyEvalError
from ..io.files import read_text
from ..io.schema import from_plain, to_plain
from ..io.yaml_text import parse_yaml
from ..metrics import Variant

ORIGINAL, ANONYMIZED = "original", "anonymized"

SPEECH = (ORIGINAL, ANONYMIZED)

#: How names of plans of metric studies end.
_STUDY = "_study"


@dataclass(frozen=True)
class ResultsFolder:
    """One of the results folders of an evaluation."""

    suffix: str
    asv_model: str


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
        """The data set's name in per-system tables."""
        return _fill(self.row, split)


@dataclass(frozen=True)
class Comparison:
    """What is enrolled and what is tried, each original or anonymized."""

    enrollment: str
    trial: str


@dataclass(frozen=True)
class AttackModel:
    """What an attacker compares, and what the attacker's model was trained on."""

    id: str
    title: str
    enrollment: str
    trial: str
    asv_model: str

    @property
    def is_original(self) -> bool:
        """Whether nothing is anonymized: the reference of the others."""
        return self.enrollment == self.trial == ORIGINAL


@dataclass(frozen=True)
class RecognitionSet:
    """A set decoded by speech recognition; names hold {split}."""

    id: str
    row: str
    name: str
    weight: float

    def row_name(self, split: str) -> str:
        """The set's name in per-system tables."""
        return _fill(self.row, split)

    def set_name(self, split: str) -> str:
        """The name of its data folder."""
        return _fill(self.name, split)


@dataclass(frozen=True)
class Recognition:
    """Speech recognition: sets, language models (marker by id), recognizers (folder
    by what they were trained on), and the language model of the averages."""

    data_sets: tuple[RecognitionSet, ...]
    language_models: Mapping[str, str]
    models: Mapping[str, str]
    average: str


@dataclass(frozen=True)
class AsvModel:
    """A speaker-verification model and where it lies in a tree.

    Attributes
    ----------
    trained_on : str
        `original` or `anonymized` speech.
    folder : str
        Model folder, relative to the tree; may hold {suffix}, what marks anonymized
        sets. The x-vectors of a set are in `xvect_<set>/xvector.scp` there.
    training_set : str
        Data folder that the back end is trained on; may hold {suffix}. The back end
        (`mean.vec`, `transform.mat`, `plda`) is in its x-vectors' folder or in the model
        folder itself.
    """

    trained_on: str
    folder: str
    training_set: str

    def model_folder(self, suffix: str) -> str:
        """The model folder of a system's anonymized sets."""
        return self.folder.replace("{suffix}", suffix)

    def training_name(self, suffix: str) -> str:
        """The training set of a system."""
        return self.training_set.replace("{suffix}", suffix)


@dataclass(frozen=True)
class DataFolder:
    """A data folder that is made of others: cut out of one by a list of utterances, or
    the union of several. Names hold {split} and {gender}; a part that holds one of them
    where the name does not stands for all of its values.

    Attributes
    ----------
    name : str
    cut_from : str or None
        The folder that the list lies in and whose utterances it chooses among.
    list : str or None
        Name of the list there.
    list_as : {"enrolls", "trials"} or None
        What the list is, which is also its name in the folder made: utterances, or
        trials, whose utterances are in the second column.
    combine : tuple of str
        The data folders united, themselves of the plan.
    """

    name: str
    cut_from: str | None = None
    list: str | None = None
    list_as: Literal["enrolls", "trials"] | None = None
    combine: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialSet:
    """One cell of the plan: a data set's trials of one split and gender."""

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
        """The trial set's names in a keys folder, the usual one first."""
        others = (_fill(n, self.split, self.gender) for n in self.data_set.other_key_names)
        return (self.trials_name, *others)


@dataclass(frozen=True)
class Protocol:
    """An evaluation plan. Fields are those of the YAML file, documented there."""

    name: str
    title: str
    variant: Variant
    anon_suffix: str
    splits: tuple[str, ...]
    genders: Mapping[str, str]
    results_folders: tuple[ResultsFolder, ...]
    data_sets: tuple[DataSet, ...]
    table_rows: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    attack_models: tuple[AttackModel, ...]
    recognition: Recognition
    average_attack_model: str
    split_titles: Mapping[str, str] = field(default_factory=dict)
    data_folders: tuple[DataFolder, ...] = ()
    asv_models: tuple[AsvModel, ...] = ()

    def trial_sets(self) -> Iterator[TrialSet]:
        """All trial sets: by split, data set, gender."""
        for split, data_set, gender in itertools.product(self.splits, self.data_sets, self.genders):
            yield TrialSet(data_set, split, gender)

    def split_title(self, split: str) -> str:
        """How a split's columns are headed."""
        return self.split_titles.get(split, split)

    def data_set(self, name: str) -> DataSet:
        """The data set of an id."""
        return next(d for d in self.data_sets if d.id == name)

    def trial_set(self, data_set: str, split: str, gender: str) -> TrialSet:
        """The trial set of ids."""
        return TrialSet(self.data_set(data_set), split, gender)

    def asv_model(self, trained_on: str) -> AsvModel | None:
        """The speaker-verification model trained on original or on anonymized speech."""
        return next((m for m in self.asv_models if m.trained_on == trained_on), None)

    def folders(self) -> tuple[DataFolder, ...]:
        """All data folders that are made, every name filled in, each after those it is
        made of.

        Raises
        ------
        PrivacyEvalError
            A folder of both or neither kind, named twice, made of itself or of unknown
            parts.
        """
        return self._folders

    @cached_property
    def _folders(self) -> tuple[DataFolder, ...]:
        return _in_order([f for template in self.data_folders for f in _expand(template, self)])

    def supersets(self, name: str) -> tuple[str, ...]:
        """The combined data folders that all utterances of a data folder are in, the
        nearest first."""
        folders = self.folders()
        found: list[str] = []
        nearest = {name}
        while nearest:
            above = [f.name for f in folders if nearest & set(f.combine) and f.name not in found]
            found += above
            nearest = set(above)
        return tuple(found)

    def attack_model(self, enrollment: str, trial: str, asv_model: str) -> str | None:
        """Id of the attack model that a comparison under a model belongs to, if any."""
        for attack in self.attack_models:
            if (attack.enrollment, attack.trial, attack.asv_model) == (
                enrollment,
                trial,
                asv_model,
            ):
                return attack.id
        return None

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain YAML/JSON values; `protocol_from_dict` reads it back."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def bundled() -> list[str]:
    """Names of the plans that travel with the package."""
    return [name for name in _names_in_conf() if not name.endswith(_STUDY)]


def bundled_studies() -> list[str]:
    """Names of the plans of metric studies that travel with the package."""
    return [name for name in _names_in_conf() if name.endswith(_STUDY)]


def _names_in_conf() -> list[str]:
    folder = importlib.resources.files("privacy_eval.conf")
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in folder.iterdir()
        if entry.name.endswith(".yaml")
    )


def load_protocol(name: str, *, base: Path = Path()) -> Protocol:
    """A plan by the name of a bundled one or by the path of a YAML file.

    Parameters
    ----------
    base : Path
        Folder that a relative path starts from.

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML, a missing, unknown or wrong entry.
    """
    values, where = read_values(name, base=base, bundled=bundled())
    return protocol_from_dict(values, where)


def protocol_from_dict(values: object, where: str) -> Protocol:
    """A plan from plain values, validated; `where` is for the message of the error."""
    protocol = from_plain(Protocol, values, where)
    _validate(protocol, where)
    return protocol


def read_values(
    name: str, *, base: Path, bundled: Sequence[str], extended_by: tuple[str, ...] = ()
) -> tuple[object, str]:
    """A plan's plain values, on top of those of the plan it `extends`, and its place.

    Parameters
    ----------
    base : Path
        Folder that a relative path starts from.
    bundled : sequence of str
        Names that mean a file of the package.

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML.
    """
    if name in bundled:
        where = f"{name}.yaml"
        source = importlib.resources.files("privacy_eval.conf") / where
        text = source.read_text(encoding="utf-8")
    else:
        path = base / name
        if not os.path.isfile(path):
            raise PrivacyEvalError(
                f"{path}: no such configuration; bundled ones: {', '.join(bundled)}"
            )
        where, text, base = str(path), read_text(path), path.parent
    values = parse_yaml(text, where)
    if not isinstance(values, dict) or "extends" not in values:
        return values, where
    parent = values.pop("extends")
    identity = where if name in bundled else str((base / Path(name).name).resolve())
    if not isinstance(parent, str) or identity in extended_by:
        raise PrivacyEvalError(f"{where}: extends: expected the name of another plan")
    inherited, _ = read_values(
        parent, base=base, bundled=bundled, extended_by=(*extended_by, identity)
    )
    return {**inherited, **values} if isinstance(inherited, dict) else values, where


def _validate(protocol: Protocol, where: str) -> None:
    def need(condition: bool, message: str) -> None:
        if not condition:
            raise PrivacyEvalError(f"{where}: {message}")

    for what in ("splits", "genders", "results_folders", "data_sets", "comparisons"):
        need(bool(getattr(protocol, what)), f"{what} must not be empty")
    need(protocol.anon_suffix != "", "anon_suffix must not be empty")
    ids = [d.id for d in protocol.data_sets]
    for name in (
        protocol.name,
        *protocol.splits,
        *protocol.genders,
        *ids,
        *(d.id for d in protocol.recognition.data_sets),
        *(a.id for a in protocol.attack_models),
        *protocol.recognition.language_models,
        protocol.anon_suffix,
        *(r.suffix for r in protocol.results_folders if r.suffix),
    ):
        need(
            re.fullmatch(r"[\w.+-]+", name, re.ASCII) is not None and ".." not in name,
            f"{name!r} becomes part of file names: ASCII letters, digits and . _ + - only",
        )
    for weight in (
        *(d.weight for d in protocol.data_sets),
        *(d.weight for d in protocol.recognition.data_sets),
    ):
        need(0 <= weight < math.inf, f"weights must be finite and not negative, not {weight}")
    for what, names in (
        ("data set", ids),
        ("attack model", [a.id for a in protocol.attack_models]),
        ("results folder suffix", [r.suffix for r in protocol.results_folders]),
        ("speaker-verification model", [m.trained_on for m in protocol.asv_models]),
        ("trial set", [t.trials_name for t in protocol.trial_sets()]),
    ):
        need(len(set(names)) == len(names), f"a {what} stands twice: {sorted(names)}")
    need(
        sorted(protocol.table_rows) == sorted(ids),
        f"table_rows must name every data set once ({', '.join(ids)})",
    )
    speech = [
        *itertools.chain.from_iterable((c.enrollment, c.trial) for c in protocol.comparisons),
        *itertools.chain.from_iterable(
            (a.enrollment, a.trial, a.asv_model) for a in protocol.attack_models
        ),
        *(r.asv_model for r in protocol.results_folders),
        *protocol.recognition.models,
        *(m.trained_on for m in protocol.asv_models),
    ]
    for word in speech:
        need(word in SPEECH, f"expected {' or '.join(SPEECH)}, found {word!r}")
    need(
        protocol.recognition.average in protocol.recognition.language_models,
        "recognition: average must be one of the language models",
    )
    need(
        protocol.average_attack_model in [a.id for a in protocol.attack_models],
        "average_attack_model must be one of the attack models",
    )
    templates = [t for d in protocol.data_sets for t in (d.row, d.enrollment, d.trials)]
    templates += [n for d in protocol.data_sets for n in d.other_key_names]
    templates += [n for d in protocol.recognition.data_sets for n in (d.row, d.name)]
    for template in templates:
        plain = template.replace("{split}", "").replace("{gender}", "")
        need(
            not set("{}/\\") & set(plain) and ".." not in plain,
            f"{template!r} may hold {{split}} and {{gender}}, no other braces and no slash",
        )
    for model in protocol.asv_models:
        for path in (model.folder, model.training_set):
            parts = path.replace("{suffix}", "").split("/")
            need(
                not path.startswith("/")
                and not set("{}\\") & set("".join(parts))
                and ".." not in parts
                and (path is model.folder or len(parts) == 1),
                f"asv_models: {path!r} must be a path below the tree; it may hold {{suffix}}",
            )
    try:
        protocol.folders()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{where}: {error}") from error


def _expand(folder: DataFolder, protocol: Protocol) -> Iterator[DataFolder]:
    """A data folder for every split and gender that its name holds."""
    where = f"data_folders: {folder.name}"
    cut = (folder.cut_from, folder.list, folder.list_as)
    if (folder.combine and any(cut)) or (not folder.combine and None in cut):
        raise PrivacyEvalError(
            f"{where}: expected either cut_from, list and list_as, or combine with a part"
        )
    # What the name does not hold is filled in with all its values at once.
    splits, genders = protocol.splits, tuple(protocol.genders)
    for some_splits, some_genders in itertools.product(
        [(s,) for s in splits] if "{split}" in folder.name else [splits],
        [(g,) for g in genders] if "{gender}" in folder.name else [genders],
    ):
        cut_from, list_name, names, *parts = (
            _fillings(template, some_splits, some_genders, where)
            for template in (folder.cut_from, folder.list, folder.name, *folder.combine)
        )
        if len(cut_from) > 1 or len(list_name) > 1:
            raise PrivacyEvalError(f"{where}: cut_from and list are several for this one name")
        yield DataFolder(
            name=names[0],
            cut_from=next(iter(cut_from), None),
            list=next(iter(list_name), None),
            list_as=folder.list_as,
            combine=tuple(itertools.chain.from_iterable(parts)),
        )


def _fillings(
    template: str | None, splits: tuple[str, ...], genders: tuple[str, ...], where: str
) -> list[str]:
    """The distinct names that a template stands for."""
    if template is None:
        return []
    names = dict.fromkeys(_fill(template, s, g) for s, g in itertools.product(splits, genders))
    for name in names:
        if re.fullmatch(r"\w[\w.+-]*", name, re.ASCII) is None or ".." in name:
            raise PrivacyEvalError(f"{where}: {name!r} is no name of a file or folder")
    return list(names)


def _in_order(folders: list[DataFolder]) -> tuple[DataFolder, ...]:
    """Data folders, each after those it is made of."""
    names = [f.name for f in folders]
    for folder in folders:
        if names.count(folder.name) > 1:
            raise PrivacyEvalError(f"data_folders: {folder.name} stands twice")
        for part in folder.combine:
            if part not in names:
                raise PrivacyEvalError(f"data_folders: {folder.name}: unknown part {part}")
            if folder.combine.count(part) > 1:
                raise PrivacyEvalError(f"data_folders: {folder.name}: {part} stands twice")
    ordered: list[DataFolder] = []
    waiting = folders
    while waiting:
        left = {f.name for f in waiting}
        ready = [f for f in waiting if not left & {f.cut_from, *f.combine}]
        if not ready:
            chain = ", ".join(sorted(left))
            raise PrivacyEvalError(f"data_folders: made of themselves or of each other: {chain}")
        ordered += ready
        waiting = [f for f in waiting if f not in ready]
    return tuple(ordered)


def _fill(template: str, split: str, gender: str = "") -> str:
    return template.replace("{split}", split).replace("{gender}", gender)
