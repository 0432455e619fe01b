"""Scores of a tree's conditions from its x-vectors.

A score file of ours has a note beside it, of what it was made from; it is made anew when
that has changed. Score files without a note, or changed since, are somebody else's and
stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..asv.backend import PldaBackend
from ..asv.model_folder import (
    BACKEND_FILES,
    StoredBackend,
    TreeVectors,
    backend_folder,
    load_backend,
)
from ..asv.trials import Enrollment, load_enrollment, score_trials
from ..errors import PrivacyEvalError
from ..io.confine import check_inside, refuse_symlinks
from ..io.files import digest, read_bytes, relative, sweep, write_text
from ..io.json_text import load_json
from ..io.scores import TrialList, read_trial_list
from ..io.scp import Vectors
from ..protocol.protocol import Protocol, ResultsFolder
from ..tree.conditions import System, TrialCondition, original_sets, trial_conditions
from ..tree.discovery import (
    find_systems,
    folder_suffixes,
    guess_suffix,
    results_folders,
)
from ..tree.keys import trial_keys
from .jobs import Progress, likely_lines, scoring_cost, share

#: Kind of `MissingInput`: x-vectors, which somebody has to extract.
VECTORS = "x-vectors"

#: Kind of `MissingInput` begins with it: a back end, which somebody has to train.
BACKEND = "back end"

#: Beside a score file: that it is ours, and of what.
NOTE = ".privacy_eval.json"


@dataclass(frozen=True)
class Target:
    """A system whose conditions are scored from the tree's own x-vectors.

    Attributes
    ----------
    name : str
    anon_suffix : str
        What marks its anonymized sets.
    folders : tuple of (Path, ResultsFolder)
        Its results folders, there or not yet, and what of the plan they are.
    """

    name: str
    anon_suffix: str
    folders: tuple[tuple[Path, ResultsFolder], ...]

    def conditions(self, protocol: Protocol, part: ResultsFolder) -> Iterable[TrialCondition]:
        """The protocol's conditions of a results folder."""
        return trial_conditions(protocol, part, self.anon_suffix, self.name).values()


@dataclass(frozen=True)
class Place:
    """A tree and how its files are looked for.

    Attributes
    ----------
    tree, results : Path
    keys : Path or None
        The only folder to take trial keys from.
    allow_pipes, allow_outside, allow_missing : bool
        Run commands in scp files; follow paths out of the tree; leave out utterances
        without a vector.
    """

    tree: Path
    results: Path
    keys: Path | None = None
    allow_pipes: bool = False
    allow_outside: bool = False
    allow_missing: bool = False


@dataclass
class Scored:
    """What became of the conditions of all targets, by name.

    Attributes
    ----------
    made, up_to_date, kept : list of str
        Kept are scores that others wrote.
    lacking : dict
        Conditions that could not be scored, to the kind of what is missing and where it
        belongs.
    failed : dict
        Conditions whose files are wrong, to the message.
    left_out : list of str
        What was left out on request.
    made_anew : list of str
        Of what was made, that which replaces scores of ours, and what had changed.
    """

    made: list[str] = field(default_factory=list)
    up_to_date: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    lacking: dict[str, tuple[str, str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    made_anew: list[str] = field(default_factory=list)


class MissingInput(Exception):
    """Something that is not in the tree (yet): what kind of thing, and where it belongs."""

    def __init__(self, kind: str, where: str) -> None:
        super().__init__(f"no {kind}: {where}")
        self.kind, self.where = kind, where


def find_targets(
    place: Place, protocol: Protocol, *, name: str | None, anon_suffix: str | None
) -> tuple[list[Target], list[str]]:
    """Systems that can be scored from the tree, and why others cannot.

    A tree has one set of x-vectors for every suffix of anonymized sets. Systems that
    share a suffix, as an organizer's collection of submissions does, are left alone:
    the tree cannot hold the x-vectors of all of them.

    Raises
    ------
    PrivacyEvalError
        As `find_systems`.
    """
    for folder, what in ((place.tree, "experiment tree"), (place.keys, "keys")):
        if folder is not None and not folder.is_dir():
            raise PrivacyEvalError(f"{folder}: no such folder ({what})")
    systems: list[System] = []
    if place.results.is_dir():
        systems = find_systems(
            place.tree,
            place.results,
            protocol,
            name=name,
            anon_suffix=anon_suffix,
            keys=place.keys,
            allow_outside=place.allow_outside,
        )
    if not systems:
        if not place.results.is_dir() and not (
            place.results.name.startswith("results-") and place.results.parent.is_dir()
        ):
            raise PrivacyEvalError(
                f"{place.results}: no such folder (results folder); name one that is there, or a "
                "new one results-NAME in a folder that is there"
            )
        if name is not None and "/" in name:
            raise PrivacyEvalError(
                f"{place.results}: no system {name!r} there; a new one has a name without /"
            )
        return [new_target(place, protocol, name=name, anon_suffix=anon_suffix)], []
    sharing: dict[str, list[str]] = {}
    for system in systems:
        sharing.setdefault(system.anon_suffix, []).append(system.name)
    alone = [s for s in systems if len(sharing[s.anon_suffix]) == 1]
    notes = [
        f"{', '.join(names)}: all mark anonymized sets by {suffix!r}, and x-vectors in the tree "
        "can only be of one of them: nothing is made of x-vectors for these systems "
        "(--system NAME chooses one)"
        for suffix, names in sharing.items()
        if len(names) > 1
    ]
    return [
        Target(
            system.name,
            system.anon_suffix,
            tuple(
                results_folders(
                    system, place.results, protocol, name=None, anon_suffix=system.anon_suffix
                )
            ),
        )
        for system in alone
    ], notes


def new_target(
    place: Place, protocol: Protocol, *, name: str | None, anon_suffix: str | None
) -> Target:
    """A system that has no results folder with conditions yet."""
    own = folder_suffixes(place.results, protocol)
    suffix = anon_suffix or guess_suffix([protocol.anon_suffix, *own], protocol, place.tree)
    folders = results_folders(None, place.results, protocol, name=name, anon_suffix=suffix)
    main = folders[0][0].name.removeprefix("results-")
    return Target(name or main, suffix, tuple(folders))


def make_scores(
    targets: Iterable[Target],
    place: Place,
    protocol: Protocol,
    *,
    job: tuple[int, int] = (1, 1),
    progress: Progress | None = None,
    models: Models | None = None,
    dry_run: bool = False,
) -> Scored:
    """Bring the score files of all targets up to date.

    Parameters
    ----------
    job : (int, int)
        Which of how many shares of the conditions to do, from 1; shares take about
        equally long, by the sizes of trial keys.
    models : Models, optional
        Those of the place and the plan, where others use them, too.
    dry_run : bool
        Write nothing: find out what would be made.
    """
    tasks = [
        (target, folder / condition.name, condition)
        for target in targets
        for folder, part in target.folders
        for condition in target.conditions(protocol, part)
    ]
    costs = [
        scoring_cost(
            likely_lines(trial_keys(condition, protocol, place.tree, place.results, place.keys)[0])
        )
        for *_, condition in tasks
    ]
    tasks = share(tasks, costs, job)
    scored = Scored()
    models = models or Models(place, protocol)
    for done, (target, folder, condition) in enumerate(tasks, start=1):
        name = f"{target.name} {condition.label}"
        try:
            _make(folder, condition, target.anon_suffix, models, scored, dry_run=dry_run)
        except MissingInput as error:
            scored.lacking[name] = (error.kind, error.where)
        except PrivacyEvalError as error:
            scored.failed[name] = str(error)
        if progress is not None:
            progress(done, len(tasks), name)
    return scored


def stale_scores(targets: Iterable[Target], models: Models) -> dict[str, str]:
    """Conditions whose scores are ours but not of the present x-vectors, back end and
    trials: their names, as of `make_scores`, to what is wrong. Where any of these is not
    there (any more), the scores are taken as they are."""
    found: dict[str, str] = {}
    for target in targets:
        for folder, part in target.folders:
            for condition in target.conditions(models.protocol, part):
                name = f"{target.name} {condition.label}"
                of_others, present, noted = _of_others(folder / condition.name)
                if of_others or present is None:
                    continue
                try:
                    changed = _changed(noted, _inputs(condition, target.anon_suffix, models))
                except MissingInput:
                    continue  # where they were made, it was: submissions travel without it
                except PrivacyEvalError as error:
                    found[name] = f"made of what is damaged now: {error}"
                    continue
                if changed or present != _digests_of_ours(noted)[0]:
                    what = ", ".join(changed) or "the making was cut short"
                    found[name] = f"stage 5 would make it anew: {what}"
    return found


def missing_vectors(
    targets: Iterable[Target], place: Place, protocol: Protocol
) -> list[tuple[str, str]]:
    """Data sets that have speech but no x-vectors, though scores of the plan need them:
    pairs of the set and the model folder, both as in the tree."""
    found: dict[tuple[str, str], None] = {}
    for target in targets:
        for folder, part in target.folders:
            model = protocol.asv_model(part.asv_model)
            if model is None:
                continue
            models = place.tree / model.model_folder(target.anon_suffix)
            vectors = TreeVectors(place.tree, protocol, models)
            for condition in target.conditions(protocol, part):
                if _of_others(folder / condition.name)[0]:
                    continue
                for name, suffix in original_sets(condition, protocol):
                    data = place.tree / "data" / f"{name}{suffix}"
                    if vectors.find(name, suffix) is None and (data / "wav.scp").is_file():
                        found[data.name, relative(models, place.tree)] = None
    return list(found)


class Models:
    """Back ends and x-vectors of a tree, each read once."""

    def __init__(self, place: Place, protocol: Protocol) -> None:
        self.place, self.protocol = place, protocol
        self._models: dict[Path, StoredBackend] = {}
        self._vectors: dict[Path, TreeVectors] = {}

    def get(self, trained_on: str, suffix: str) -> tuple[StoredBackend, TreeVectors]:
        """The back end trained on original or anonymized speech and its x-vectors.

        Raises
        ------
        MissingInput
            The plan or the tree has no such model.
        PrivacyEvalError
            It is damaged, or leads out of the tree.
        """
        asv_model = self.protocol.asv_model(trained_on)
        if asv_model is None:
            raise MissingInput(
                f"model trained on {trained_on} speech", f"the plan {self.protocol.name}"
            )
        tree = self.place.tree
        wanted = tree / asv_model.model_folder(suffix)
        folder = backend_folder(tree, asv_model, suffix)
        if folder is None:
            training = f"xvect_{asv_model.training_name(suffix)}"
            raise MissingInput(
                f"{BACKEND} of the model trained on {trained_on} speech",
                f"{relative(wanted, tree)}/{training}/plda (with mean.vec, transform.mat)",
            )
        if folder not in self._models:
            self.check_inside(*(folder / name for name in BACKEND_FILES))
            self._models[folder] = load_backend(folder)
        if wanted not in self._vectors:
            self._vectors[wanted] = TreeVectors(
                tree,
                self.protocol,
                wanted,
                allow_pipes=self.place.allow_pipes,
                allow_outside=self.place.allow_outside,
            )
        return self._models[folder], self._vectors[wanted]

    def check_inside(self, *paths: Path) -> None:
        """Refuse files that are links out of the tree."""
        if self.place.allow_outside:
            return
        roots = (self.place.tree, self.place.results, self.place.keys)
        check_inside(paths, [p for p in roots if p is not None])

    def vectors_of(self, vectors: TreeVectors, name: str, suffix: str) -> Path:
        """The scp of a set's x-vectors.

        Raises
        ------
        MissingInput
            None of the files that may hold them.
        """
        path = vectors.find(name, suffix)
        if path is None:
            tried = " or ".join(
                relative(p, self.place.tree) for p in vectors.candidates(name, suffix)
            )
            raise MissingInput(VECTORS, tried)
        return path


@dataclass(frozen=True)
class _Inputs:
    """What a condition is scored from, read, and what a note says of it."""

    enrolled: Vectors
    enrollment: Enrollment
    tested: Vectors
    trials: TrialList
    model: PldaBackend
    made_of: Mapping[str, Any]


def _inputs(condition: TrialCondition, anon_suffix: str, models: Models) -> _Inputs:
    """Find and read what a condition is scored from."""
    place = models.place
    (enroll_name, enroll_suffix), (trial_name, trial_suffix) = original_sets(
        condition, models.protocol
    )
    key, tried = trial_keys(condition, models.protocol, place.tree, place.results, place.keys)
    if key is None:
        raise MissingInput("trials", relative(tried[0], place.tree))
    found = enrollment_files(place.tree / "data", enroll_name, enroll_suffix)
    stored, vectors = models.get(condition.asv_model, anon_suffix)
    enrolled_scp = models.vectors_of(vectors, enroll_name, enroll_suffix)
    tested_scp = models.vectors_of(vectors, trial_name, trial_suffix)
    models.check_inside(key, *found)
    enrollment: Enrollment = load_enrollment(*found)
    trials = read_trial_list(key)
    enrolled, tested = vectors.read(enrolled_scp), vectors.read(tested_scp)
    noted = {
        "enrollment": (enrollment.path, enrollment.digest),
        "enrollment_vectors": (enrolled_scp, enrolled.digest),
        "trials": (key, trials.digest),
        "trial_vectors": (tested_scp, tested.digest),
    }
    made_of = {
        "version": __version__,
        "backend": "plda",
        "model": stored.provenance(place.tree),
        **{
            name: {"path": relative(path, place.tree), "sha256": sha256}
            for name, (path, sha256) in noted.items()
        },
    }
    return _Inputs(enrolled, enrollment, tested, trials, stored.model, made_of)


def _make(
    folder: Path,
    condition: TrialCondition,
    anon_suffix: str,
    models: Models,
    scored: Scored,
    *,
    dry_run: bool,
) -> None:
    """Bring one condition's score file up to date."""
    place, name = models.place, f"{condition.system} {condition.label}"
    scores, note = folder / "scores", folder / NOTE
    refuse_symlinks(folder, place.results)
    of_others, present, noted = _of_others(folder)
    if of_others:
        scored.kept.append(name)
        return
    inputs = _inputs(condition, anon_suffix, models)
    made = present is not None and present == _digests_of_ours(noted)[0]
    left_out = noted.get("left_out")
    changed = _changed(noted, inputs)
    if made and not changed and (place.allow_missing or not left_out):
        if not dry_run:
            for path in (scores, note):
                sweep(path)
        scored.up_to_date.append(name)
        if left_out:
            scored.left_out.append(f"{name}: {left_out}")
        return
    if dry_run:
        scored.made.append(name)
        return
    result = score_trials(
        inputs.enrolled,
        inputs.enrollment,
        inputs.tested,
        inputs.trials,
        model=inputs.model,
        allow_missing=place.allow_missing,
    )
    text, left_out = result.text(), ""
    if result.trials_left_out or result.enrollment_left_out:
        left_out = (
            f"{result.trials_left_out} trials and {result.enrollment_left_out} enrollment "
            "utterances without x-vectors left out"
        )
        scored.left_out.append(f"{name}: {left_out}")
    # The note comes first and owns up to the scores before these as well: whenever this is
    # killed, what stands beside the note does not count as somebody else's.
    sha256 = dict.fromkeys((digest(text.encode()), *([present] if present else [])))
    plain = {"scores_sha256": list(sha256), "made_of": inputs.made_of, "left_out": left_out}
    _write_note(note, plain)
    write_text(scores, text)
    scored.made.append(name)
    if made and changed:
        scored.made_anew.append(f"{name}: changed: {', '.join(changed)}")


def _changed(noted: Mapping[str, Any], inputs: _Inputs) -> list[str]:
    """What scores of ours were made of that is not what is there now."""
    before = noted.get("made_of")
    before = before if isinstance(before, dict) else {}
    return [name for name, value in inputs.made_of.items() if before.get(name) != value]


def _of_others(folder: Path) -> tuple[bool, str | None, Mapping[str, Any]]:
    """Whether a condition's scores are somebody else's; the digest of those present, and
    the note beside them."""
    scores = folder / "scores"
    # The scores first: another run that is writing notes them before it writes them.
    present = digest(read_bytes(scores)) if scores.is_file() else None
    noted = read_note(folder / NOTE)
    strange = present is not None and present not in _digests_of_ours(noted)
    return strange or (folder / "scores.gz").exists(), present, noted


def is_ours(folder: Path) -> bool:
    """Whether a condition has scores, and stage 5 made them."""
    of_others, present, _ = _of_others(folder)
    return present is not None and not of_others


def _digests_of_ours(noted: Mapping[str, Any]) -> list[Any]:
    """Digests of scores that a note owns up to, those last made first."""
    sha256 = noted.get("scores_sha256")
    return sha256 if isinstance(sha256, list) else []


def enrollment_files(data: Path, name: str, suffix: str) -> Sequence[Path]:
    """spk2utt of the enrollment set, and its list of utterances where there is one; an
    anonymized set without a data folder is enrolled as the original one.

    Raises
    ------
    MissingInput
        Neither has one.
    """
    for folder in dict.fromkeys((data / f"{name}{suffix}", data / name)):
        speakers = [f for f in (folder / "spk2utt", folder / "utt2spk") if f.is_file()]
        if speakers:
            enrolls = folder / "enrolls"
            return (speakers[0], enrolls) if enrolls.is_file() else (speakers[0],)
    raise MissingInput("enrollment data", f"{data.name}/{name}{suffix}/spk2utt")


def read_note(note: Path) -> Mapping[str, Any]:
    """What is noted beside a file of ours; nothing where no readable note is there."""
    if not note.is_file():
        return {}
    try:
        plain = load_json(note)
    except PrivacyEvalError:
        return {}
    return plain if isinstance(plain, dict) else {}


def _write_note(note: Path, plain: Mapping[str, Any]) -> None:
    write_text(note, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
