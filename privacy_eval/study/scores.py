"""Simulated scores: Table 1, section 4.2 with Figure 2, and Figure 3 of the comparative study."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..io.schema import to_plain
from ..metrics import TrialScores
from .plan import MATED, ClusterProtocol, ClustersPlan, DiscretePlan, GaussianPlan
from .tasks import Metrics, Row, Task, linkability_curves, plain

FloatArray = NDArray[np.float64]


def discrete_tasks(plan: DiscretePlan) -> Iterator[Task]:
    """A row per case: scores 1, 2, ... with the labels of the case."""

    def compute(generator: np.random.Generator, metrics: Metrics) -> list[Row]:
        return [
            {
                "title": case.title,
                "labels": case.labels,
                "printed": dict(case.printed),
                "metrics": metrics.of(discrete_scores(case.labels)),
            }
            for case in plan.cases
        ]

    yield Task("discrete", "cases", to_plain(plan), compute)


def discrete_scores(labels: str) -> TrialScores:
    """Trials with the scores 1, 2, ... in the order of their labels T and N."""
    return TrialScores.from_labels(
        np.arange(1.0, len(labels) + 1), [label == MATED for label in labels]
    )


def gaussian_tasks(plan: GaussianPlan) -> Iterator[Task]:
    """A task per key; a row per combination of the deviations."""
    for case in plan.cases:
        for key in case.keys:
            inputs = [case.title, key, plan.means, plan.deviations, plan.scores]
            yield Task(
                "gaussian",
                key,
                to_plain(inputs),
                functools.partial(_gaussian, plan, case.title, key),
            )


def _gaussian(
    plan: GaussianPlan, title: str, key: str, generator: np.random.Generator, metrics: Metrics
) -> list[Row]:
    rows: list[Row] = []
    for deviations in itertools.product(plan.deviations, repeat=len(plan.means)):
        scores = gaussian_scores(key, plan.means, deviations, plan.scores, generator)
        rows.append(
            {
                "case": title,
                "key": key,
                "deviations": list(deviations),
                "metrics": metrics.of(scores),
            }
        )
    return rows


def gaussian_scores(
    key: str,
    means: Sequence[float],
    deviations: Sequence[float],
    count: int,
    generator: np.random.Generator,
) -> TrialScores:
    """`count` mated and `count` non-mated scores, each in equal parts from the normal
    distributions whose letter in the key says so (comparative study, section 4.2)."""
    drawn = {}
    for letter in sorted(set(key)):
        chosen = [i for i, k in enumerate(key) if k == letter]
        parts = np.array_split(np.arange(count), len(chosen))
        drawn[letter] = np.concatenate(
            [
                generator.normal(means[i], deviations[i], part.size)
                for i, part in zip(chosen, parts, strict=True)
            ]
        )
    target = drawn.pop(MATED)
    return TrialScores(target, next(iter(drawn.values())))


def cluster_tasks(plan: ClustersPlan) -> Iterator[Task]:
    """A row per protocol: scores of two speakers' anonymized utterances."""
    for number, protocol in enumerate(plan.protocols):
        inputs = [plan.distance, plan.deviation, plan.utterances, to_plain(protocol)]
        yield Task("clusters", str(number), inputs, functools.partial(_clusters, plan, protocol))


def _clusters(
    plan: ClustersPlan, protocol: ClusterProtocol, generator: np.random.Generator, metrics: Metrics
) -> list[Row]:
    points = {
        "A enrollment": _two_clusters(plan, protocol.enrollment_left, generator),
        "B enrollment": _cluster(plan, np.zeros(plan.utterances), generator),
        "A trial": _two_clusters(plan, protocol.trial_left, generator),
        "B trial": _cluster(plan, np.zeros(plan.utterances), generator),
    }
    target: list[FloatArray] = []
    nontarget: list[FloatArray] = []
    for enrolled, spoken in itertools.product(protocol.enrolled, "AB"):
        first, second = points[f"{enrolled} enrollment"], points[f"{spoken} trial"]
        distance = np.linalg.norm(first[:, None, :] - second[None, :, :], axis=2)
        (target if enrolled == spoken else nontarget).append(-distance.ravel())
    scores = TrialScores(np.concatenate(target), np.concatenate(nontarget))
    below = share_below(scores)
    return [
        {
            "title": protocol.title,
            "enrolled": list(protocol.enrolled),
            "share_below": below,
            "cllr_min_formula": cllr_min_in_between(below),
            "n_target": scores.n_target,
            "n_nontarget": scores.n_nontarget,
            "metrics": metrics.of(scores),
            "points": {name: plain(xy) for name, xy in points.items()},
            "curves": linkability_curves(scores),
        }
    ]


def share_below(scores: TrialScores) -> float:
    """x, the share of mated scores below the middle of the non-mated ones. Where the classes do
    not mix it is that of the mated scores below all non-mated ones."""
    middle = float(np.median(scores.nontarget))
    return float(np.searchsorted(scores.target, middle)) / scores.n_target


def cllr_min_in_between(share: float) -> float:
    """min Cllr in bit where a share x of the mated scores is below all non-mated ones and the rest
    above them all: 1/2 [x log2(1 + 1/x) + log2(1 + x)], 0 for x = 0.

    PAV pools the lower mated scores with all non-mated ones, at a likelihood ratio of x.

    Examples
    --------
    >>> cllr_min_in_between(1.0), round(cllr_min_in_between(2 / 3), 2)
    (1.0, 0.81)
    """
    if share == 0:
        return 0.0
    return (share * math.log2(1 + 1 / share) + math.log2(1 + share)) / 2


def _two_clusters(plan: ClustersPlan, left: float, generator: np.random.Generator) -> FloatArray:
    """A's utterances, an exact share of them on the left."""
    centres = np.full(plan.utterances, plan.distance)
    centres[: round(left * plan.utterances)] *= -1
    return _cluster(plan, centres, generator)


def _cluster(plan: ClustersPlan, centres: FloatArray, generator: np.random.Generator) -> FloatArray:
    points = plan.deviation * generator.standard_normal((centres.size, 2))
    points[:, 0] += centres
    return points
