"""Works through the tasks of a study; each leaves a record, so that a run can be resumed and
shared among jobs.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.files import digest, sweep, write_text
from ..io.json_text import load_json
from ..io.schema import to_plain
from ..protocol.protocol import Protocol
from ..stages.jobs import Progress
from .attacks import attack_tasks, read_tree_speech, simulated_speech
from .estimators import estimator_tasks
from .matrices import matrix_tasks
from .protocol import StudyProtocol, UserMetric
from .scores import cluster_tasks, discrete_tasks, gaussian_tasks
from .tasks import Metrics, Row, Task

#: Folder of the records in the output folder.
RECORDS = "records"


def study_tasks(
    plan: StudyProtocol, *, tree: Path | None = None, protocol: Protocol | None = None
) -> list[Task]:
    """Every task of a plan, in order.

    Parameters
    ----------
    tree : Path, optional
        Take the speech that is attacked from this tree, of which `protocol` is the plan.
    """
    tasks: list[Task] = []
    if plan.discrete is not None:
        tasks += discrete_tasks(plan.discrete)
    if plan.gaussian is not None:
        tasks += gaussian_tasks(plan.gaussian)
    if plan.clusters is not None:
        tasks += cluster_tasks(plan.clusters)
    if plan.attacks is not None and plan.vectors is not None:
        if tree is not None and protocol is not None:
            speeches = read_tree_speech(tree, protocol)
        else:
            speeches = [simulated_speech(plan.attacks, plan.vectors, plan.seed)]
        tasks += attack_tasks(plan.attacks, speeches)
    if plan.matrices is not None and plan.vectors is not None:
        tasks += matrix_tasks(plan.matrices, plan.vectors)
    if plan.estimators is not None:
        tasks += estimator_tasks(plan.estimators)
    return tasks


def run_tasks(
    tasks: Sequence[Task],
    out: Path,
    *,
    seed: int,
    own: Sequence[UserMetric] = (),
    job: tuple[int, int] = (1, 1),
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Compute the tasks of a share that have no record yet.

    Parameters
    ----------
    job : (int, int)
        Which of how many equal shares, from 1.

    Returns
    -------
    (int, int)
        How many were computed, and how many had a record.
    """
    number, shares = job
    mine = tasks[number - 1 :: shares]
    metrics = Metrics(own)
    computed = 0
    for done, task in enumerate(mine, start=1):
        path, made_from = _path(out, task), _made_from(task, seed, own)
        sweep(path)
        if _read(path, made_from) is None:
            generator = np.random.default_rng([seed, zlib.crc32(_name(task).encode())])
            rows = task.compute(generator, metrics)
            content = {"made_from": made_from, "rows": to_plain(rows)}
            write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
            computed += 1
        if progress is not None:
            progress(done, len(mine), _name(task))
    return computed, len(mine) - computed


def read_rows(
    tasks: Sequence[Task], out: Path, *, seed: int, own: Sequence[UserMetric] = ()
) -> dict[str, list[Row]]:
    """The rows of all experiments, by experiment and in the order of the tasks.

    Raises
    ------
    PrivacyEvalError
        A task without record.
    """
    rows: dict[str, list[Row]] = {}
    for task in tasks:
        found = _read(_path(out, task), _made_from(task, seed, own))
        if found is None:
            raise PrivacyEvalError(
                f"{_path(out, task)}: not there, or made by another plan, seed, --metric or "
                "--tree: privacy-eval study makes it, with the same options"
            )
        rows.setdefault(task.experiment, []).extend(found)
    return rows


def digest_of(tasks: Sequence[Task], plan: StudyProtocol, own: Sequence[UserMetric]) -> str:
    """Digest of all that figures of the tasks depend on."""
    parts = [_made_from(task, plan.seed, own) for task in tasks]
    return digest(json.dumps([parts, plan.to_dict()], sort_keys=True).encode())


def remove_others(tasks: Sequence[Task], out: Path) -> None:
    """Remove records of tasks that the plan no longer has."""
    kept = {_path(out, task).name for task in tasks}
    for path in sorted((out / RECORDS).glob("*.json")):
        if path.name not in kept:
            path.unlink()


def _name(task: Task) -> str:
    return f"{task.experiment}_{task.name}"


def _path(out: Path, task: Task) -> Path:
    return out / RECORDS / f"{_name(task)}.json"


def _made_from(task: Task, seed: int, own: Sequence[UserMetric]) -> str:
    """Digest of all that a record depends on; another NumPy may draw other numbers."""
    inputs = [
        __version__,
        np.__version__,
        seed,
        _name(task),
        task.inputs,
        [[metric.name, metric.sha256] for metric in own],
    ]
    return digest(json.dumps(inputs, sort_keys=True).encode())


def _read(path: Path, made_from: str) -> list[Row] | None:
    """The rows of a record, if it was made from the same."""
    if not path.is_file():
        return None
    try:
        plain = load_json(path)
    except PrivacyEvalError:
        return None  # cut short: made anew
    if not isinstance(plain, dict) or plain.get("made_from") != made_from:
        return None
    rows = plain.get("rows")
    return rows if isinstance(rows, list) and all(isinstance(r, dict) for r in rows) else None
