"""A metric study that is small enough for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from support import ROOT

from privacy_eval.io.schema import from_plain
from privacy_eval.study.protocol import StudyProtocol
from privacy_eval.study.run import Task, study_metrics, study_tasks
from privacy_eval.study.scores import Row

BUNDLED = ROOT / "conf" / "metric_study.yaml"


def small_values() -> dict[str, Any]:
    """The bundled study with fewer and smaller simulations."""
    values: dict[str, Any] = yaml.safe_load(BUNDLED.read_text())
    values["gaussian"].update(scores=60, deviations=[0.5, 1], pairs=values["gaussian"]["pairs"][:1])
    values["clusters"]["utterances"] = 12
    values["vectors"].update(training=20, training_utterances=4, dimension=8, lda_dim=6)
    values["attacks"].update(speakers=5, enrollment=3, trial=4, pool=9)
    values["attacks"]["techniques"] = values["attacks"]["techniques"][2:4]
    values["matrices"].update(speakers=4, utterances=5)
    values["estimators"].update(
        eers=[0.2], replicates=5, targets=[20, 50], nontargets_per_target=[1, 3], speakers=[4, 6]
    )
    return values


def small_study(**changes: Any) -> StudyProtocol:
    return from_plain(StudyProtocol, {**small_values(), **changes}, "small study")


def small_file(folder: Path, **changes: Any) -> Path:
    path = folder / "small_study.yaml"
    path.write_text(yaml.safe_dump({**small_values(), **changes}, sort_keys=False))
    return path


def tasks_of(**experiments: Any) -> list[Task]:
    """The tasks of a study of some experiments."""
    return study_tasks(StudyProtocol("x", "x", 0, "exact", **experiments))


def rows_of(tasks: Iterable[Task], seed: int = 0) -> list[Row]:
    """The rows of tasks, each with its own generator."""
    return [row for t in tasks for row in t.compute(np.random.default_rng(seed), study_metrics)]
