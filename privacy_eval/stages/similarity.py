"""Stage 7: voice similarity of every trial set of a tree.

Measured for every results folder of a system with the model that is in use there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..asv.backend import PldaBackend
from ..asv.model_folder import TreeVectors
from ..asv.voice_similarity import measure, write_2020
from ..errors import PrivacyEvalError
from ..io.files import digest, file_names, read_bytes, relative
from ..metrics import Variant, similarity_metrics
from ..protocol.protocol import Protocol, ResultsFolder, TrialSet
from ..results.record_files import read_record, sweep_record, write_record
from ..results.records import SimilarityRecord
from ..tree.conditions import SetCondition, System, set_condition
from .asv_scores import MissingInput, Models, Place, Scored
from .jobs import Announce, Cost, Progress, share, similarity_cost

#: Where the scripts of 2020 keep the voice similarity matrices of a trial set.
FOLDER_2020 = "similarity_matrices_DeID_Gvd"


def make_similarities(
    systems: Iterable[System],
    chosen: Iterable[str],
    place: Place,
    protocol: Protocol,
    out: Path,
    *,
    job: tuple[int, int] = (1, 1),
    announce: Announce | None = None,
    progress: Progress | None = None,
    models: Models | None = None,
    dry_run: bool = False,
) -> Scored:
    """Bring the similarity records of some systems up to date.

    Parameters
    ----------
    systems : iterable of System
        All systems of the results, by which their folders are named.
    chosen : iterable of str
        Names of those whose x-vectors the tree has.
    job : (int, int)
        Which of how many shares of the trial sets to do, from 1; shares take about
        equally long, by the numbers of utterances.
    models : Models, optional
        Those of the place and the plan, where others use them, too.
    dry_run : bool
        Write nothing: find out what would be made.
    """
    systems = list(systems)
    wanted = set(chosen)
    tasks = [t for t in _tasks(systems, protocol, out) if t.system.name in wanted]
    outcome = Scored()
    models = models or Models(place, protocol)
    costs = [trial_set_cost(task.trial_set, models) for task in tasks]
    tasks, costs = share(tasks, costs, job), share(costs, costs, job)
    if announce is not None:
        announce(costs)
    for done, task in enumerate(tasks, start=1):
        try:
            _bring_up_to_date(task, models, outcome, dry_run=dry_run)
        except MissingInput as error:
            outcome.lacking[task.name] = (error.kind, error.where)
        except PrivacyEvalError as error:
            outcome.failed[task.name] = str(error)
        if progress is not None:
            progress(done, len(tasks), task.name)
    return outcome


def trial_set_cost(trial_set: TrialSet, models: Models) -> Cost:
    """What the voice similarity of a trial set is likely to cost, by the lines of its utt2spk;
    without one that can be read, there is nothing to measure."""
    utt2spk = _utt2spk(trial_set, models.place.tree)
    try:
        models.check_inside(utt2spk)
        return similarity_cost(read_bytes(utt2spk).count(b"\n"))
    except PrivacyEvalError:
        return similarity_cost(0)


def collect_similarities(
    systems: Iterable[System], models: Models, out: Path
) -> tuple[list[SimilarityRecord], list[str]]:
    """The records of present x-vectors and models, and the names of trial sets whose
    record is of others."""
    records, stale = [], []
    for task in _tasks(list(systems), models.protocol, out):
        record = _stored(task)
        if record is None:
            continue
        try:
            present = _inputs(task, models).noted(allow_missing=False)
        except (MissingInput, PrivacyEvalError):
            present = {}
        ours = dict(record.provenance)
        if any(ours.get(key) != value for key, value in present.items() if key != "allow_missing"):
            present = {}
        if present:
            records.append(record)
        else:
            stale.append(f"{task.name} (its x-vectors or model are not those of its record)")
    return records, stale


@dataclass(frozen=True)
class _Task:
    """One trial set of a system."""

    system: System
    part: ResultsFolder
    trial_set: TrialSet
    record: Path
    folder_2020: Path
    variant: Variant

    @property
    def name(self) -> str:
        suffix = f" ({self.part.suffix})" if self.part.suffix else ""
        return f"{self.system.name} {self.trial_set.trials_name}{suffix}"


@dataclass(frozen=True)
class _Inputs:
    """Files that a trial set is measured on."""

    place: Place
    utt2spk: Path
    original_scp: Path
    anonymized_scp: Path
    vectors: TreeVectors
    model: PldaBackend
    model_note: Mapping[str, Any]

    def noted(self, *, allow_missing: bool) -> dict[str, Any]:
        """What a record notes of its making; allowing utterances to be missing only matters
        where some were."""
        tree = self.place.tree
        noted = {
            "utt2spk": (self.utt2spk, digest(read_bytes(self.utt2spk))),
            "original_vectors": (self.original_scp, self.vectors.read(self.original_scp).digest),
            "anonymized_vectors": (
                self.anonymized_scp,
                self.vectors.read(self.anonymized_scp).digest,
            ),
        }
        return {
            "version": __version__,
            "backend": "plda",
            "model": dict(self.model_note),
            "inputs": {
                name: {"path": relative(path, tree), "sha256": sha256}
                for name, (path, sha256) in noted.items()
            },
            "allow_missing": allow_missing,
        }


def _tasks(systems: Sequence[System], protocol: Protocol, out: Path) -> list[_Task]:
    names = file_names(system.name for system in systems)
    places = [
        (system, part)
        for system in systems
        for part in protocol.results_folders
        if part.suffix in system.parts
    ]
    tasks = []
    for system, part in places:
        folder = f"{names[system.name]}{part.suffix}"
        matrices = out / f"{FOLDER_2020}{part.suffix}"
        if len(systems) > 1:
            matrices = out / FOLDER_2020 / folder
        tasks += [
            _Task(
                system,
                part,
                trial_set,
                out / "records" / folder / f"similarity-{trial_set.trials_name}.json",
                matrices / trial_set.trials_name,
                protocol.variant,
            )
            for trial_set in protocol.trial_sets()
        ]
    return tasks


def _identity(task: _Task) -> tuple[SetCondition, str]:
    return set_condition(task.trial_set, task.part, task.system.name), task.part.asv_model


def _stored(task: _Task) -> SimilarityRecord | None:
    record = read_record(task.record, SimilarityRecord)
    whole = record is not None and (record.condition, record.asv_model) == _identity(task)
    return record if whole else None


def _utt2spk(trial_set: TrialSet, tree: Path) -> Path:
    return tree / "data" / trial_set.trials_name / "utt2spk"


def _inputs(task: _Task, models: Models) -> _Inputs:
    place, name = models.place, task.trial_set.trials_name
    utt2spk = _utt2spk(task.trial_set, place.tree)
    if not utt2spk.is_file():
        raise MissingInput("trial set", relative(utt2spk, place.tree))
    stored, vectors = models.get(task.part.asv_model, task.system.anon_suffix)
    models.check_inside(utt2spk)
    return _Inputs(
        place,
        utt2spk,
        models.vectors_of(vectors, name, ""),
        models.vectors_of(vectors, name, task.system.anon_suffix),
        vectors,
        stored.model,
        stored.provenance(place.tree),
    )


def _bring_up_to_date(task: _Task, models: Models, outcome: Scored, *, dry_run: bool) -> None:
    inputs = _inputs(task, models)
    record = _stored(task)
    left_out = 0 if record is None else record.utterances_left_out or 0
    if (
        record is not None
        and (models.place.allow_missing or not left_out)
        and record.provenance == inputs.noted(allow_missing=left_out > 0)
        and (task.folder_2020 / "gain_of_voice_distinctiveness").is_file()
    ):
        if not dry_run:
            sweep_record(task.record)
        outcome.up_to_date.append(task.name)
        if left_out:
            outcome.left_out.append(f"{task.name}: {left_out} utterances left out")
        return
    if dry_run:
        outcome.made.append(task.name)
        return
    measured = measure(
        inputs.vectors.read(inputs.original_scp),
        inputs.vectors.read(inputs.anonymized_scp),
        inputs.utt2spk,
        model=inputs.model,
        part=True,
        allow_missing=models.place.allow_missing,
    )
    write_2020(task.folder_2020, measured.by_variant[task.variant])
    write_record(
        task.record,
        SimilarityRecord(
            *_identity(task),
            metrics={v: similarity_metrics(s) for v, s in measured.by_variant.items()},
            n_speakers=len(measured.speakers),
            n_utterances=measured.n_utterances,
            utterances_left_out=measured.left_out,
            speakers=measured.of_speakers,
            provenance=inputs.noted(allow_missing=measured.left_out > 0),
        ),
        measured.arrays(),
    )
    outcome.made.append(task.name)
    if measured.left_out:
        outcome.left_out.append(f"{task.name}: {measured.left_out} utterances left out")
