"""Tasks: the pieces of an experiment that are computed, stored and resumed on their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..metrics import VARIANTS, TrialScores, linkability, score_metrics
from .plan import OwnMetric

#: A row of an experiment's outcome: plain values that JSON can hold.
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A piece of an experiment.

    Attributes
    ----------
    experiment, name : str
        Together the name of its record; ASCII.
    inputs : plain value
        All that the outcome depends on, beside the seed and the versions.
    compute : callable
        From a random generator of its own and the metrics to rows.
    """

    experiment: str
    name: str
    inputs: Any
    compute: Callable[[np.random.Generator, Metrics], list[Row]]


@dataclass(frozen=True)
class Metrics:
    """Every score metric of ours and those that somebody proposes."""

    own: Sequence[OwnMetric] = ()

    def of(self, scores: TrialScores) -> Mapping[str, Mapping[str, float]]:
        """Values by variant and metric.

        Raises
        ------
        PrivacyEvalError
            A metric of somebody's that does not give a number.
        """
        proposed = {}
        for array in (scores.target, scores.nontarget):
            array.setflags(write=False)  # all metrics share them
        for metric in self.own:
            of = f"metric {metric.name} of {scores.n_target} target, {scores.n_nontarget} nontarget"
            try:
                value = metric.function(scores)
            except Exception as error:  # whatever somebody's function may raise is said
                raise PrivacyEvalError(
                    f"{of} trials: raised {type(error).__name__}: {error}"
                ) from error
            try:
                proposed[metric.name] = float(value)
            except (TypeError, ValueError) as error:
                raise PrivacyEvalError(f"{of} trials: gave {value!r}, expected a number") from error
            if not np.isfinite(proposed[metric.name]):
                raise PrivacyEvalError(f"{of} trials: gave {value!r}, expected a finite number")
        return {v: {**score_metrics(scores, variant=v), **proposed} for v in VARIANTS}


def linkability_curves(scores: TrialScores) -> dict[str, list[float]]:
    """What a figure of the score distributions is drawn from: without kernel densities, whose
    one bandwidth blurs scores of several clusters."""
    found = linkability(scores, variant="exact")
    arrays = {
        "linkability_edges": found.edges,
        "linkability_target_mass": found.target_mass,
        "linkability_nontarget_mass": found.nontarget_mass,
        "linkability_local": found.local,
    }
    return {name: plain(array) for name, array in arrays.items()}


def plain(array: NDArray[Any]) -> list[Any]:
    """An array as lists of JSON numbers; what a figure needs of it, not its last digits."""
    rounded: list[Any] = np.asarray(array, dtype=np.float64).round(9).tolist()
    return rounded
