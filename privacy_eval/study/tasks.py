"""Tasks: units of an experiment, computed, stored and resumed separately."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.user_metrics import UserMetric
from ..metrics import VARIANTS, TrialScores, linkability, score_metrics

#: A row of an experiment's results: plain JSON values.
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A unit of an experiment.

    Attributes
    ----------
    experiment, name : str
        Together the name of its record; ASCII.
    inputs : plain value
        All inputs of the rows, in addition to the seed and the versions.
    compute : callable
        Compute rows from the random generator of the task and the metrics.
    """

    experiment: str
    name: str
    inputs: Any
    compute: Callable[[np.random.Generator, Metrics], list[Row]]


@dataclass(frozen=True)
class Metrics:
    """All built-in score metrics, and user-defined ones."""

    user_defined: Sequence[UserMetric] = ()

    def compute(self, scores: TrialScores) -> Mapping[str, Mapping[str, float]]:
        """Compute the values by variant and metric.

        Raises
        ------
        PrivacyEvalError
            A user-defined metric fails, or does not return a finite number.
        """
        for array in (scores.target, scores.nontarget):
            array.setflags(write=False)  # all metrics share them
        values = {metric.name: metric(scores) for metric in self.user_defined}
        return {v: {**score_metrics(scores, variant=v), **values} for v in VARIANTS}


def linkability_curves(scores: TrialScores) -> dict[str, list[float]]:
    """Compute arrays for a figure of the score distributions, without kernel densities: a single
    bandwidth blurs scores of several clusters."""
    result = linkability(scores, variant="exact")
    names = ("edges", "target_mass", "nontarget_mass", "local")
    return {f"linkability_{name}": plain(getattr(result, name)) for name in names}


def plain(array: NDArray[Any]) -> list[Any]:
    """Convert an array to lists of JSON numbers, rounded to the precision of a figure."""
    rounded: list[Any] = np.asarray(array, dtype=np.float64).round(9).tolist()
    return rounded
