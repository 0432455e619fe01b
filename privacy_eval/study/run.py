"""Run the tasks of a study. Each leaves a record, so that a run can be resumed and split into
jobs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import PrivacyEvalError
from ..io.files import Inputs, digest
from ..io.schema import load_json, to_plain
from ..io.user_metrics import UserMetric
from ..metrics import of_kind
from ..products.freshness import NOTE, Content, Outcome, Product, Run, bring_up_to_date
from ..protocol.protocol import Protocol
from .attacks import attack_tasks, read_tree_speech, simulated_speech
from .estimators import estimator_tasks
from .matrices import matrix_tasks
from .protocol import StudyProtocol
from .scores import cluster_tasks, discrete_tasks, gaussian_tasks
from .tasks import Metrics, Row, Task

#: Folder of the records in the output folder.
RECORDS = "records"

#: Incremented when the same tasks yield different rows.
_REVISION = 1


def study_tasks(
    study: StudyProtocol, *, tree: Path | None = None, protocol: Protocol | None = None
) -> list[Task]:
    """Return every task of a study, in order.

    Parameters
    ----------
    tree : Path, optional
        Attack the original speech of this tree, whose protocol is `protocol`.
    """
    tasks: list[Task] = []
    if study.discrete is not None:
        tasks += discrete_tasks(study.discrete)
    if study.gaussian is not None:
        tasks += gaussian_tasks(study.gaussian)
    if study.clusters is not None:
        tasks += cluster_tasks(study.clusters)
    if study.attacks is not None and study.vectors is not None:
        if tree is not None and protocol is not None:
            speeches = read_tree_speech(tree, protocol)
        else:
            speeches = [simulated_speech(study.attacks, study.vectors, study.seed)]
        tasks += attack_tasks(study.attacks, speeches)
    if study.matrices is not None and study.vectors is not None:
        tasks += matrix_tasks(study.matrices, study.vectors)
    if study.estimators is not None:
        tasks += estimator_tasks(study.estimators)
    return tasks


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
    return digest(json.dumps([parts, study.to_dict()], sort_keys=True).encode())


def remove_stale_records(tasks: Sequence[Task], out: Path) -> None:
    """Remove records of tasks that are no longer in the study."""
    kept = {p for t in tasks for p in (f"{_name(t)}.json", f".{_name(t)}{NOTE}")}
    for path in sorted((out / RECORDS).glob("*.json")):
        if path.name not in kept:
            path.unlink()


def _products(
    tasks: Sequence[Task], out: Path, seed: int, own: Sequence[UserMetric]
) -> list[Product]:
    """List the records of the tasks as products."""
    metrics = Metrics(own)

    def product(task: Task) -> Product:
        path = out / RECORDS / f"{_name(task)}.json"

        def make(*_: object) -> Content:
            generator = np.random.default_rng([seed, zlib.crc32(_name(task).encode())])
            rows = to_plain(task.compute(generator, metrics))
            return Content({path: f"{json.dumps(rows, indent=1, allow_nan=False)}\n".encode()})

        return Product(
            _name(task),
            out,
            path.with_name(f".{_name(task)}{NOTE}"),
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


def _name(task: Task) -> str:
    return f"{task.experiment}_{task.name}"
