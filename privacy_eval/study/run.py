"""The tasks of a study: units of an experiment. Each leaves a record, so that a run can be resumed
and split into jobs."""

from __future__ import annotations

import functools
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .attacks import attack_rows, matrix_rows, read_tree_speech, simulated_speech
from .protocol import StudyProtocol
from .scores import (
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
_REVISION = 3


#: An experiment, a name, all inputs of the rows in addition to the seed and the versions, and a
#: function of some arguments, a generator and the metrics.
_Task = tuple[str, str, object, Callable[..., list[Row]], Sequence[object]]


def study_products(
    study: StudyProtocol,
    out: Path,
    *,
    own: Sequence[UserMetric] = (),
    tree: Path | None = None,
    protocol: Protocol | None = None,
) -> list[Product]:
    """Return the records of every task of a study, in order.

    Parameters
    ----------
    own : sequence of UserMetric
        User-defined metrics.
    tree : Path, optional
        Attack the original speech of this tree, whose protocol is `protocol`.
    """
    return [_record(out, study.seed, own, task) for task in _tasks(study, tree, protocol)]


def _tasks(study: StudyProtocol, tree: Path | None, protocol: Protocol | None) -> Iterator[_Task]:
    """Yield a task of discrete scores, one per trial key, per selection of trials, per speech,
    technique and target selection, of matrices, and per EER and number of trials or speakers."""
    vectors = study.vectors
    if (d := study.discrete) is not None:
        yield "discrete", "cases", d, discrete_rows, [d]
    if (g := study.gaussian) is not None:
        for title, key in [(case.title, key) for case in g.cases for key in case.keys]:
            inputs = [title, key, g.means, g.deviations, g.scores]
            yield "gaussian", key, inputs, gaussian_rows, [g, title, key]
    if (c := study.clusters) is not None:
        for number, trials in enumerate(c.protocols):
            inputs = [c.distance, c.deviation, c.utterances, trials]
            yield "clusters", str(number), inputs, cluster_rows, [c, trials]
    if (a := study.attacks) is not None and vectors is not None:
        if tree is not None and protocol is not None:
            speeches = read_tree_speech(tree, protocol)
        else:
            speeches = [simulated_speech(a, vectors, study.seed)]
        every = itertools.product(speeches, enumerate(a.techniques), a.selections)
        for speech, (number, technique), selection in every:
            name = f"{speech.name}_{number}_{selection}"
            inputs = [speech.sha256, technique, a.attackers, a.linkages]
            yield "attacks", name, inputs, attack_rows, [a, speech, technique, selection]
    if (m := study.matrices) is not None and vectors is not None:
        yield "matrices", "cases", [m, vectors], matrix_rows, [m, vectors]
    if (e := study.estimators) is not None:
        for eer in e.eers:
            for ratio, targets in itertools.product(e.nontargets_per_target, e.targets):
                name = f"independent_{eer:g}_{ratio}_{targets}"
                inputs = [eer, targets, ratio, e.replicates]
                yield "estimators", name, inputs, independent_rows, [e, eer, ratio, targets]
            for speakers in e.speakers:
                name = f"speakers_{eer:g}_{speakers}"
                inputs = [eer, speakers, e.utterances, e.speaker_share, e.replicates]
                yield "estimators", name, inputs, speaker_rows, [e, eer, speakers]


def _record(out: Path, seed: int, own: Sequence[UserMetric], task: _Task) -> Product:
    """Make the product of a task. The NumPy version affects random numbers."""
    experiment, unit, inputs, rows, of = task
    name = f"{experiment}_{unit}"
    path = out / RECORDS / f"{name}.json"

    def make(*_: object) -> Content:
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        plain = to_plain(rows(*of, generator, functools.partial(study_metrics, own=own)))
        return Content({path: f"{json.dumps(plain, indent=1, allow_nan=False)}\n".encode()})

    options = {
        "numpy": np.__version__,
        "seed": seed,
        "task": digest(json.dumps(to_plain(inputs), sort_keys=True).encode()),
        "metrics": [*of_kind("scores"), *(f"{metric.name} {metric.sha256}" for metric in own)],
    }
    note = path.with_name(f".{name}{NOTE}")
    fixed: dict[str, Any] = {"options": options, "revision": _REVISION}
    return Product(name, out, note, (path,), lambda _: {}, make, **fixed)


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


def make_records(records: Sequence[Product], run: Run = Run()) -> Outcome:
    """Make the records of a job split that are not current.

    Raises
    ------
    PrivacyEvalError
        A task fails, as a user-defined metric does.
    """
    outcome = bring_up_to_date(records, Inputs(), run)
    outcome.raise_failed()
    return outcome


def read_rows(records: Sequence[Product]) -> dict[str, list[Row]]:
    """Read the rows of all experiments, by experiment and in the order of the tasks.

    Raises
    ------
    PrivacyEvalError
        A task without a current record.
    """
    rows: dict[str, list[Row]] = {}
    inputs = Inputs()
    for record in records:
        (path,) = record.files
        if not record.is_current(inputs):
            raise PrivacyEvalError(
                f"{path}: missing, or of a different study, seed, --metric or --tree: run "
                "privacy-eval study with the same options"
            )
        experiment = record.name.partition("_")[0]
        rows.setdefault(experiment, []).extend(load_json(inputs.load(path)))
    return rows


def study_digest(records: Sequence[Product], study: StudyProtocol) -> str:
    """Return a digest of all inputs of the figures."""
    parts = [record.options for record in records]
    return digest(json.dumps([parts, to_plain(study)], sort_keys=True).encode())


def remove_stale_records(records: Sequence[Product], out: Path) -> None:
    """Remove records of tasks that are no longer in the study."""
    kept = {path for record in records for path in (*record.files, record.note)}
    for path in sorted({*(out / RECORDS).glob("*.json")} - kept):
        path.unlink()
