"""Simulated scores: Table 1, section 4.2 with Figure 2, and Figure 3 of the comparative study."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..io.schema import to_plain
from ..metrics import TrialScores
from ..metrics.pav import FloatArray
from .protocol import (
    NONTARGET,
    TARGET,
    ClustersExperiment,
    ClusterTrials,
    DiscreteExperiment,
    GaussianExperiment,
)
from .tasks import Metrics, Row, Task, linkability_curves, plain


def discrete_tasks(experiment: DiscreteExperiment) -> Iterator[Task]:
    """Yield one task, a row per case: scores 1, 2, ... with the labels of the case."""

    def compute(generator: np.random.Generator, metrics: Metrics) -> list[Row]:
        return [
            {**to_plain(case), "metrics": metrics.compute(discrete_scores(case.labels))}
            for case in experiment.cases
        ]

    yield Task("discrete", "cases", to_plain(experiment), compute)


def discrete_scores(labels: str) -> TrialScores:
    """Make trials with the scores 1, 2, ... in the order of their labels T and N."""
    return TrialScores.from_labels(
        np.arange(1.0, len(labels) + 1), [label == TARGET for label in labels]
    )


def gaussian_tasks(experiment: GaussianExperiment) -> Iterator[Task]:
    """Yield a task per trial key; a row per combination of the deviations."""
    e = experiment
    for case in e.cases:
        for key in case.keys:
            inputs = to_plain([case.title, key, e.means, e.deviations, e.scores])
            compute = functools.partial(_gaussian, experiment, case.title, key)
            yield Task("gaussian", key, inputs, compute)


def _gaussian(
    experiment: GaussianExperiment,
    title: str,
    key: str,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    rows: list[Row] = []
    means, count = experiment.means, experiment.scores
    for deviations in itertools.product(experiment.deviations, repeat=len(means)):
        scores = gaussian_scores(key, means, deviations, count, generator)
        row = {"case": title, "key": key, "deviations": list(deviations)}
        rows.append({**row, "metrics": metrics.compute(scores)})
    return rows


def gaussian_scores(
    key: str,
    means: Sequence[float],
    deviations: Sequence[float],
    count: int,
    generator: np.random.Generator,
) -> TrialScores:
    """Draw `count` target and `count` nontarget scores, in equal parts from the normal
    distributions with their label in the key (comparative study, section 4.2)."""
    drawn = {}
    for label in (NONTARGET, TARGET):
        chosen = [i for i, k in enumerate(key) if k == label]
        sizes = [part.size for part in np.array_split(np.arange(count), len(chosen))]
        pairs = zip(chosen, sizes, strict=True)
        drawn[label] = np.concatenate(
            [generator.normal(means[i], deviations[i], size) for i, size in pairs]
        )
    return TrialScores(drawn[TARGET], drawn[NONTARGET])


def cluster_tasks(experiment: ClustersExperiment) -> Iterator[Task]:
    """Yield a task per selection of trials: scores of anonymized utterances of two speakers."""
    e = experiment
    for number, trials in enumerate(e.protocols):
        inputs = [e.distance, e.deviation, e.utterances, to_plain(trials)]
        yield Task("clusters", str(number), inputs, functools.partial(_clusters, e, trials))


def _clusters(
    experiment: ClustersExperiment,
    trials: ClusterTrials,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    points = {
        f"{speaker} {side}": _cluster(experiment, left if speaker == "A" else None, generator)
        for side, left in (("enrollment", trials.enrollment_left), ("trial", trials.trial_left))
        for speaker in "AB"
    }
    target: list[FloatArray] = []
    nontarget: list[FloatArray] = []
    for enrolled, trial in itertools.product(trials.enrolled, "AB"):
        first, second = points[f"{enrolled} enrollment"], points[f"{trial} trial"]
        distance = np.linalg.norm(first[:, None, :] - second[None, :, :], axis=2)
        (target if enrolled == trial else nontarget).append(-distance.ravel())
    scores = TrialScores(np.concatenate(target), np.concatenate(nontarget))
    below = fraction_below(scores)
    return [
        {
            "title": trials.title,
            "enrolled": list(trials.enrolled),
            "share_below": below,
            "cllr_min_formula": cllr_min_in_between(below),
            "n_target": scores.n_target,
            "n_nontarget": scores.n_nontarget,
            "metrics": metrics.compute(scores),
            "points": {name: plain(xy) for name, xy in points.items()},
            "curves": linkability_curves(scores),
        }
    ]


def _cluster(
    experiment: ClustersExperiment, left: float | None, generator: np.random.Generator
) -> FloatArray:
    """Draw a speaker's utterances from two clusters, exactly the fraction `left` of them from
    the left one; from a cluster midway between them if `left` is None."""
    count = experiment.utterances
    points = experiment.deviation * generator.standard_normal((count, 2))
    if left is not None:
        points[:, 0] += (
            np.where(np.arange(count) < round(left * count), -1, 1) * experiment.distance
        )
    return points


def fraction_below(scores: TrialScores) -> float:
    """Compute the fraction x of target scores below the median nontarget score, which is the
    fraction below all nontarget scores if the classes do not overlap."""
    middle = float(np.median(scores.nontarget))
    return float(np.searchsorted(scores.target, middle)) / scores.n_target


def cllr_min_in_between(x: float) -> float:
    """Compute min Cllr in bit if a fraction x of target scores is below all nontarget scores and
    the rest above: 1/2 [x log2(1 + 1/x) + log2(1 + x)], 0 for x = 0.

    PAV pools the lower target scores with all nontarget scores, at a likelihood ratio of x.

    Examples
    --------
    >>> cllr_min_in_between(1.0), round(cllr_min_in_between(2 / 3), 2)
    (1.0, 0.81)
    """
    if x == 0:
        return 0.0
    return (x * math.log2(1 + 1 / x) + math.log2(1 + x)) / 2
