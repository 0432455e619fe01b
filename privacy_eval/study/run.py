"""The tasks of a study: units of an experiment. Each leaves a record, so that a run can be resumed
and split into jobs."""

from __future__ import annotations

import functools
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError
from ..io.files import Inputs, digest
from ..io.schema import load_json, to_plain
from ..io.user_metrics import UserMetric
from ..metrics import VARIANTS, TrialScores, of_kind, score_metrics
from ..products.freshness import NOTE, Content, Outcome, Product, Run, bring_up_to_date
from ..protocol.protocol import Protocol
from .attacks import Speech, attack_rows, matrix_rows, read_tree_speech, simulated_speech
from .protocol import AttacksExperiment, EstimatorsExperiment, StudyProtocol
from .scores import (
    Metrics,
    Row,
    cluster_rows,
    discrete_rows,
    gaussian_rows,
    independent_rows,
    speaker_rows,
)

#: Folder of the records in the output folder.
RECORDS = "records"

#: Incremented when the same tasks yield different rows.
_REVISION = 2


@dataclass(frozen=True)
class Task:
    """A unit of an experiment.

    Attributes
    ----------
    experiment : str
    name : str
        Of its record; ASCII.
    inputs : plain value
        All inputs of the rows, in addition to the seed and the versions.
    compute : callable
        Compute rows from the random generator of the task and the metrics.
    """

    experiment: str
    name: str
    inputs: Any
    compute: Callable[[np.random.Generator, Metrics], list[Row]]


def study_tasks(
    study: StudyProtocol, *, tree: Path | None = None, protocol: Protocol | None = None
) -> list[Task]:
    """Return every task of a study, in order.

    Parameters
    ----------
    tree : Path, optional
        Attack the original speech of this tree, whose protocol is `protocol`.
    """
    vectors = study.vectors
    tasks = [*_score_tasks(study)]
    if study.attacks is not None and vectors is not None:
        if tree is not None and protocol is not None:
            speeches = read_tree_speech(tree, protocol)
        else:
            speeches = [simulated_speech(study.attacks, vectors, study.seed)]
        tasks += _attack_tasks(study.attacks, speeches)
    if (m := study.matrices) is not None and vectors is not None:
        tasks.append(_task("matrices", "cases", [m, vectors], matrix_rows, m, vectors))
    if study.estimators is not None:
        tasks += _estimator_tasks(study.estimators)
    return tasks


def _task(
    experiment: str, name: str, inputs: object, rows: Callable[..., list[Row]], *of: object
) -> Task:
    """Make a task of a function of `of`, the generator and the metrics."""
    compute = functools.partial(rows, *of)
    return Task(experiment, f"{experiment}_{name}", to_plain(inputs), compute)


def _score_tasks(study: StudyProtocol) -> Iterator[Task]:
    """Yield a task of discrete scores, one per trial key, and one per selection of trials."""
    if (d := study.discrete) is not None:
        yield _task("discrete", "cases", d, discrete_rows, d)
    if (g := study.gaussian) is not None:
        for title, key in [(case.title, key) for case in g.cases for key in case.keys]:
            inputs = [title, key, g.means, g.deviations, g.scores]
            yield _task("gaussian", key, inputs, gaussian_rows, g, title, key)
    if (c := study.clusters) is not None:
        for number, trials in enumerate(c.protocols):
            inputs = [c.distance, c.deviation, c.utterances, trials]
            yield _task("clusters", str(number), inputs, cluster_rows, c, trials)


def _attack_tasks(experiment: AttacksExperiment, speeches: Sequence[Speech]) -> Iterator[Task]:
    """Yield a task per speech, technique and target selection."""
    e = experiment
    for speech, (number, technique), selection in itertools.product(
        speeches, enumerate(e.techniques), e.selections
    ):
        name = f"{speech.name}_{number}_{selection}"
        inputs = [speech.sha256, technique, e.attackers, e.linkages]
        yield _task("attacks", name, inputs, attack_rows, e, speech, technique, selection)


def _estimator_tasks(experiment: EstimatorsExperiment) -> Iterator[Task]:
    """Yield a task per EER and number of trials or speakers."""
    e = experiment
    for eer in e.eers:
        for ratio, targets in itertools.product(e.nontargets_per_target, e.targets):
            name = f"independent_{eer:g}_{ratio}_{targets}"
            inputs = [eer, targets, ratio, e.replicates]
            yield _task("estimators", name, inputs, independent_rows, e, eer, ratio, targets)
        for speakers in e.speakers:
            name = f"speakers_{eer:g}_{speakers}"
            inputs = [eer, speakers, e.utterances, e.speaker_share, e.replicates]
            yield _task("estimators", name, inputs, speaker_rows, e, eer, speakers)


def study_metrics(
    scores: TrialScores, *, own: Sequence[UserMetric] = ()
) -> Mapping[str, Mapping[str, float]]:
    """Compute all built-in score metrics, and user-defined ones, by variant and metric.

    Raises
    ------
    PrivacyEvalError
        A user-defined metric fails, or does not return a finite number.
    """
    for array in (scores.target, scores.nontarget):
        array.setflags(write=False)  # all metrics share them
    values = {metric.name: metric(scores) for metric in own}
    return {v: {**score_metrics(scores, variant=v), **values} for v in VARIANTS}


def run_tasks(
    tasks: Sequence[Task],
    out: Path,
    *,
    seed: int,
    own: Sequence[UserMetric] = (),
    run: Run = Run(),
) -> Outcome:
    """Compute the tasks of a job split that have no record yet.

    Raises
    ------
    PrivacyEvalError
        A task fails, as a user-defined metric does.
    """
    outcome = bring_up_to_date(_products(tasks, out, seed, own), Inputs(), run)
    outcome.raise_failed()
    return outcome


def read_rows(
    tasks: Sequence[Task], out: Path, *, seed: int, own: Sequence[UserMetric] = ()
) -> dict[str, list[Row]]:
    """Read the rows of all experiments, by experiment and in the order of the tasks.

    Raises
    ------
    PrivacyEvalError
        A task without a current record.
    """
    rows: dict[str, list[Row]] = {}
    inputs = Inputs()
    for task, product in zip(tasks, _products(tasks, out, seed, own), strict=True):
        path = product.files[0]
        if not product.is_current(inputs):
            raise PrivacyEvalError(
                f"{path}: missing, or of a different study, seed, --metric or --tree: run "
                "privacy-eval study with the same options"
            )
        rows.setdefault(task.experiment, []).extend(load_json(inputs.load(path)))
    return rows


def study_digest(tasks: Sequence[Task], study: StudyProtocol, own: Sequence[UserMetric]) -> str:
    """Return a digest of all inputs of the figures."""
    parts = [_options(task, study.seed, own) for task in tasks]
    return digest(json.dumps([parts, to_plain(study)], sort_keys=True).encode())


def remove_stale_records(tasks: Sequence[Task], out: Path) -> None:
    """Remove records of tasks that are no longer in the study."""
    kept = {p for t in tasks for p in (f"{t.name}.json", f".{t.name}{NOTE}")}
    for path in sorted((out / RECORDS).glob("*.json")):
        if path.name not in kept:
            path.unlink()


def _products(
    tasks: Sequence[Task], out: Path, seed: int, own: Sequence[UserMetric]
) -> list[Product]:
    """List the records of the tasks as products."""
    metrics = functools.partial(study_metrics, own=own)

    def product(task: Task) -> Product:
        path = out / RECORDS / f"{task.name}.json"

        def make(*_: object) -> Content:
            generator = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
            rows = to_plain(task.compute(generator, metrics))
            return Content({path: f"{json.dumps(rows, indent=1, allow_nan=False)}\n".encode()})

        return Product(
            task.name,
            out,
            path.with_name(f".{task.name}{NOTE}"),
            (path,),
            lambda _: {},
            make,
            options=_options(task, seed, own),
            revision=_REVISION,
        )

    return [product(task) for task in tasks]


def _options(task: Task, seed: int, own: Sequence[UserMetric]) -> dict[str, object]:
    """Return all inputs of a record, among them the NumPy version, which affects random numbers."""
    inputs = json.dumps(task.inputs, sort_keys=True).encode()
    return {
        "numpy": np.__version__,
        "seed": seed,
        "task": digest(inputs),
        "metrics": [*of_kind("scores"), *(f"{metric.name} {metric.sha256}" for metric in own)],
    }
