"""Voice similarity of trial sets: from x-vectors to matrices, DeID, G_VD and the speakers
behind them.

In a tree it is measured for every results folder of a system with the model that is in
use there. A record whose inputs have not changed is left as it is.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .asv import TreeVectors
from .backend import BackEndName, Model, score_matrix
from .config import Config, ResultsFolder, TrialSet
from .cost import Cost, share, similarity_cost
from .errors import PrivacyEvalError, some
from .evaluate import FOLDER_2020, Announce, Progress
from .io.data_dir import read_utt2spk
from .io.files import atomic_path, digest, file_names, read_bytes, relative, write_text
from .io.results_txt import similarity_lines
from .io.vectors import Vectors
from .metrics import (
    LINKABILITY_MIN_TARGETS,
    VARIANTS,
    SimilarityMatrix,
    Variant,
    VoiceSimilarity,
    similarity_matrix,
    speaker_linkability,
    voice_similarity,
)
from .records import read_record, sweep_record, write_record
from .results import SimilarityRecord, SpeakerSimilarity
from .scoring import Models, NotThere, Place, Scored
from .tree import System

_FILES_2020 = {"oo": "osp_osp", "oa": "osp_psp", "aa": "psp_psp"}


@dataclass(frozen=True)
class Measured:
    """Voice similarity of one set.

    Attributes
    ----------
    speakers : tuple of S str
        In the order of the matrices' rows.
    n_utterances : int
    left_out : int
        Utterances left out on request.
    by_variant : mapping of Variant to VoiceSimilarity
    linkability : tuple of S float or None
        None for speakers with too few pairs of their own for a histogram of two bins.
    """

    speakers: tuple[str, ...]
    n_utterances: int
    left_out: int
    by_variant: Mapping[Variant, VoiceSimilarity]
    linkability: tuple[float | None, ...]

    @property
    def of_speakers(self) -> tuple[SpeakerSimilarity, ...]:
        """Every speaker, the least protected first; `exact` where it was asked for."""
        found = self.by_variant.get("exact") or next(iter(self.by_variant.values()))
        columns = (
            self.speakers,
            found.speaker_deid().tolist(),
            found.oo.own.tolist(),
            found.oa.own.tolist(),
            found.aa.own.tolist(),
            self.linkability,
            found.oa.evidence.tolist(),
        )
        each = [SpeakerSimilarity(*values) for values in zip(*columns, strict=True)]
        return tuple(sorted(each, key=lambda s: (s.deid, -(s.linkability or 0.0), s.speaker)))

    def arrays(self) -> dict[str, Any]:
        """What figures are drawn from: the matrices of every variant."""
        found: dict[str, Any] = {"speakers": np.array(self.speakers)}
        for variant, similarity in self.by_variant.items():
            for kind in _FILES_2020:
                found[f"{variant}_{kind}"] = getattr(similarity, kind).values
        return found


def measure(
    original: Vectors,
    anonymized: Vectors,
    utt2spk: Path,
    *,
    back_end: BackEndName = "plda",
    model: Model | None = None,
    variants: Sequence[Variant] = VARIANTS,
    part: bool = False,
    allow_missing: bool = False,
) -> Measured:
    """Voice similarity of original and anonymized utterances of the same ids.

    Parameters
    ----------
    utt2spk : Path
        The utterances of the set and their speakers.
    part : bool
        The vectors may be those of a larger set.
    allow_missing : bool
        Leave out utterances without both vectors, and speakers left with one.

    Raises
    ------
    PrivacyEvalError
        An utterance without original or anonymized vector; unless `part`, a vector
        without speaker; a speaker with a single utterance; one speaker only; D_diag of
        the original voices is 0; dimensions that do not fit.
    """
    speaker_of = read_utt2spk(utt2spk)
    if not part:
        for vectors in (original, anonymized):
            _refuse(
                [u for u in vectors.ids if u not in speaker_of], vectors.path, "speaker", utt2spk
            )
    kept = {u: s for u, s in speaker_of.items() if u in original and u in anonymized}
    if not allow_missing:
        for vectors in (original, anonymized):
            _refuse([u for u in speaker_of if u not in vectors], utt2spk, "vector", vectors.path)
    else:
        enough = {s for s, count in Counter(kept.values()).items() if count > 1}
        kept = {u: s for u, s in kept.items() if s in enough}
    per_speaker = Counter(kept.values())
    single = sorted(s for s, count in per_speaker.items() if count == 1)
    if single:
        raise PrivacyEvalError(
            f"{utt2spk}: {len(single)} speakers have a single utterance, so that there is no pair "
            f"of their own to compare: {some(single)} (--allow-missing leaves them out)"
        )
    if len(per_speaker) < 2:
        raise PrivacyEvalError(
            f"{utt2spk}: {'one speaker only' if per_speaker else 'no utterance to compare'}; voice "
            "similarity compares speakers"
        )
    speakers = tuple(sorted(per_speaker))
    number = {s: i for i, s in enumerate(speakers)}
    ids = [u for u in original.ids if u in kept]
    column = {u: i for i, u in enumerate(u for u in anonymized.ids if u in kept)}
    of_rows = np.array([number[kept[u]] for u in ids])
    of_columns = np.array([number[kept[u]] for u in column])
    column_of = np.array([column[u] for u in ids])
    first = original.matrix[original.rows(ids, str(utt2spk))]
    second = anonymized.matrix[anonymized.rows(list(column), str(utt2spk))]
    matrices: dict[Variant, list[SimilarityMatrix]] = {variant: [] for variant in variants}
    linkability: tuple[float | None, ...] = ()
    spoken = np.bincount(of_rows)
    try:
        for rows, columns, speaker, own in (
            (first, first, of_rows, None),
            (first, second, of_rows, column_of),
            (second, second, of_columns, None),
        ):
            scores = score_matrix(rows, 1, columns, back_end=back_end, model=model)
            if not np.isfinite(scores).all():
                raise PrivacyEvalError("scores are not finite: vectors or model hold huge values")
            for variant in variants:
                matrices[variant].append(
                    similarity_matrix(scores, speaker, column_of=own, variant=variant)
                )
            if own is not None:
                linkability = tuple(
                    value if count * (count - 1) >= LINKABILITY_MIN_TARGETS else None
                    for value, count in zip(
                        speaker_linkability(scores, speaker, column_of=own).tolist(),
                        spoken.tolist(),
                        strict=True,
                    )
                )
            del scores  # at large sizes there is room for one such matrix at a time
        found = {variant: voice_similarity(*three) for variant, three in matrices.items()}
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{original.path}, {anonymized.path}: {error}") from error
    left_out = len(speaker_of) - len(ids)
    return Measured(speakers, len(ids), left_out, found, linkability)


def write_2020(folder: Path, similarity: VoiceSimilarity) -> None:
    """The files that the scripts of 2020 write for a trial set."""
    values = similarity.summary()
    deid, gvd = similarity_lines(values)
    for kind, name in _FILES_2020.items():
        file = io.BytesIO()
        np.save(file, getattr(similarity, kind).values)
        with atomic_path(folder / f"similarity_matrix_{name}.npy") as temporary:
            temporary.write_bytes(file.getvalue())
    write_text(folder / "DeIDentification", f"{deid}\n")
    write_text(folder / "gain_of_voice_distinctiveness", f"{gvd}\n")


def make_similarities(
    systems: Iterable[System],
    chosen: Iterable[str],
    place: Place,
    config: Config,
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
    tasks = [t for t in _tasks(systems, config, out) if t.system.name in wanted]
    outcome = Scored()
    models = models or Models(place, config)
    costs = [trial_set_cost(task.trial_set, models) for task in tasks]
    tasks, costs = share(tasks, costs, job), share(costs, costs, job)
    if announce is not None:
        announce(costs)
    for done, task in enumerate(tasks, start=1):
        try:
            _bring_up_to_date(task, models, outcome, dry_run=dry_run)
        except NotThere as error:
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
    for task in _tasks(list(systems), models.config, out):
        record = _stored(task)
        if record is None:
            continue
        try:
            present = _inputs(task, models).noted(allow_missing=False)
        except (NotThere, PrivacyEvalError):
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
    model: Model
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
            "back_end": "plda",
            "model": dict(self.model_note),
            "inputs": {
                name: {"path": relative(path, tree), "sha256": sha256}
                for name, (path, sha256) in noted.items()
            },
            "allow_missing": allow_missing,
        }


def _tasks(systems: Sequence[System], config: Config, out: Path) -> list[_Task]:
    names = file_names(system.name for system in systems)
    places = [
        (system, part)
        for system in systems
        for part in config.results_folders
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
                config.variant,
            )
            for trial_set in config.trial_sets()
        ]
    return tasks


def _identity(task: _Task) -> dict[str, str]:
    trial_set = task.trial_set
    return {
        "system": task.system.name,
        "results_folder": task.part.suffix,
        "asv_model": task.part.asv_model,
        "trial_set": trial_set.trials_name,
        "data_set": trial_set.data_set.id,
        "split": trial_set.split,
        "gender": trial_set.gender,
    }


def _stored(task: _Task) -> SimilarityRecord | None:
    record = read_record(task.record, SimilarityRecord)
    whole = record is not None and all(
        getattr(record, name) == value for name, value in _identity(task).items()
    )
    return record if whole else None


def _utt2spk(trial_set: TrialSet, tree: Path) -> Path:
    return tree / "data" / trial_set.trials_name / "utt2spk"


def _inputs(task: _Task, models: Models) -> _Inputs:
    place, name = models.place, task.trial_set.trials_name
    utt2spk = _utt2spk(task.trial_set, place.tree)
    if not utt2spk.is_file():
        raise NotThere("trial set", relative(utt2spk, place.tree))
    stored, vectors = models.get(task.part.asv_model, task.system.anon_suffix)
    models.check_inside(utt2spk)
    return _Inputs(
        place,
        utt2spk,
        models.vectors_of(vectors, name, ""),
        models.vectors_of(vectors, name, task.system.anon_suffix),
        vectors,
        stored.model,
        stored.noted(place.tree),
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
            **_identity(task),
            metrics={v: s.summary() for v, s in measured.by_variant.items()},
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


def _refuse(unknown: Sequence[str], where: Path, what: str, lacking: Path) -> None:
    if unknown:
        raise PrivacyEvalError(
            f"{where}: {len(unknown)} utterances have no {what} in {lacking}: {some(unknown)}"
            + (" (--allow-missing leaves them out)" if what == "vector" else "")
        )
