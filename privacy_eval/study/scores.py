"""Simulated scores: Table 1, section 4.2 with Figure 2, and Figure 3 of the comparative study; bias
and spread of estimates against the number of trials and speakers.

The population of the estimates is two normal distributions of equal standard deviation, so that
scores are LLRs up to scale: with d the distance of the means in standard deviations, LLRs of target
scores are normal with mean d^2/2 and variance d^2, those of nontarget scores with mean -d^2/2.
Integration gives the population value of every metric except the worst case.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..metrics import VARIANTS, TrialScores, linkability
from ..metrics.llr import evidence_function
from ..metrics.pav import FloatArray
from ..simulate import ScoreModel, simulate_trials
from .protocol import (
    NONTARGET,
    TARGET,
    ClustersExperiment,
    ClusterTrials,
    DiscreteExperiment,
    EstimatorsExperiment,
    GaussianExperiment,
)

#: A row of an experiment's results: plain JSON values.
Row = dict[str, Any]

#: Computes all values of a set of scores, by variant and metric.
Metrics = Callable[[TrialScores], Mapping[str, Mapping[str, float]]]

# The trapezoid rule on the standard normal density: exact to rounding for smooth integrands.
_NODES = np.linspace(-12, 12, 24001)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / math.sqrt(2 * math.pi) * (_NODES[1] - _NODES[0])


def plain(array: NDArray[Any]) -> list[Any]:
    """Convert an array to lists of JSON numbers, rounded to the precision of a figure."""
    rounded: list[Any] = np.asarray(array, dtype=np.float64).round(9).tolist()
    return rounded


def discrete_rows(
    experiment: DiscreteExperiment, _: np.random.Generator, metrics: Metrics
) -> list[Row]:
    """A row per case: scores 1, 2, ... with the labels of the case."""
    rows: list[Row] = []
    for case in experiment.cases:
        scores = discrete_scores(case.labels)
        row = {"case": case.title, "labels": case.labels, "printed": dict(case.printed)}
        rows.append({**row, **counts_of(scores), "metrics": metrics(scores)})
    return rows


def counts_of(scores: TrialScores) -> Row:
    """Return the numbers of trials."""
    return {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}


def discrete_scores(labels: str) -> TrialScores:
    """Make trials with the scores 1, 2, ... in the order of their labels T and N."""
    return TrialScores.from_labels(
        np.arange(1.0, len(labels) + 1), [label == TARGET for label in labels]
    )


def gaussian_rows(
    experiment: GaussianExperiment,
    title: str,
    key: str,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    """A row per combination of the deviations, of a trial key."""
    rows: list[Row] = []
    means, count = experiment.means, experiment.scores
    for deviations in itertools.product(experiment.deviations, repeat=len(means)):
        scores = gaussian_scores(key, means, deviations, count, generator)
        row = {"case": title, "key": key, "deviations": list(deviations)}
        rows.append({**row, "metrics": metrics(scores)})
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


def cluster_rows(
    experiment: ClustersExperiment,
    trials: ClusterTrials,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    """A row of the scores of anonymized utterances of two speakers, for a selection of trials."""
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
            "case": trials.title,
            "enrolled": list(trials.enrolled),
            **counts_of(scores),
            "numbers": {"share_below": below, "cllr_min_formula": cllr_min_in_between(below)},
            "metrics": metrics(scores),
            "points": {name: plain(xy) for name, xy in points.items()},
            "curves": _linkability_curves(scores),
        }
    ]


def _linkability_curves(scores: TrialScores) -> dict[str, list[float]]:
    """Compute arrays for a figure of the score distributions, without kernel densities: a single
    bandwidth blurs scores of several clusters."""
    result = linkability(scores, variant="exact")
    names = ("edges", "target_mass", "nontarget_mass", "local")
    return {f"linkability_{name}": plain(getattr(result, name)) for name in names}


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


# Bias and spread of estimates


def population_values(eer: float) -> dict[str, float]:
    """Compute the true values of metrics for two normal distributions of equal deviation.

    Parameters
    ----------
    eer : float
        0 < EER < 0.5, a fraction.

    Returns
    -------
    dict
        EER and linkability as fractions, min Cllr and ZEBRA's population disclosure in bit. The
        individual disclosure has none: it is unbounded in the number of trials.

    Examples
    --------
    >>> values = population_values(0.2)
    >>> round(values["eer"], 12), round(values["cllr_min"], 3)
    (0.2, 0.619)
    """
    d = -2 * float(ndtri(eer))
    llr = d * d / 2 + d * _NODES  # of target scores; of nontarget scores by symmetry the negative

    def mean(values: FloatArray) -> float:
        return float((values * _WEIGHTS).sum())

    return {
        "eer": eer,
        "rocch_eer": eer,
        "cllr_min": mean(np.logaddexp(0, -llr)) / math.log(2),
        "linkability": mean(np.maximum(0, np.tanh(llr / 2))),
        "zebra_population": 2 * mean(evidence_function(llr)) / math.log(2),
    }


def individual_ceiling(n_target: int, n_nontarget: int) -> float:
    """Compute the largest possible individual disclosure (log10 LR) of a number of trials; by
    Laplace's rule every PAV block has a trial of either class.

    The LR is at most (T + 1) N / T, or (N + 1) T / N for nontarget scores: about N and T.

    Examples
    --------
    >>> round(individual_ceiling(100, 10000), 3)
    4.004
    """
    t, n = n_target, n_nontarget
    return math.log10(max((t + 1) * n / t, (n + 1) * t / n))


def independent_rows(
    experiment: EstimatorsExperiment,
    eer: float,
    nontargets_per_target: int,
    targets: int,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    """A row of estimates from independent trials."""
    d, nontargets = -2 * float(ndtri(eer)), targets * nontargets_per_target

    def draw() -> TrialScores:
        return TrialScores(generator.normal(d, 1, targets), generator.normal(0, 1, nontargets))

    design: Row = {"design": "independent", "true_eer": eer}
    return _estimates(design, draw, experiment.replicates, metrics)


def speaker_rows(
    experiment: EstimatorsExperiment,
    eer: float,
    speakers: int,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    """A row of estimates from trials of all speakers against the utterances of all."""
    model, count = model_with_speakers(eer, experiment.speaker_share), experiment.utterances

    def draw() -> TrialScores:
        return simulate_trials(
            model, enrolled=speakers, speakers=speakers, utterances=count, generator=generator
        ).scores

    design = {"design": "speakers", "true_eer": eer, "n_speakers": speakers}
    return _estimates(design, draw, experiment.replicates, metrics)


def model_with_speakers(eer: float, fraction: float) -> ScoreModel:
    """Make a score model in which speakers cause a fraction of the variance. The one speaker of
    a target trial causes all of it, each side of a nontarget trial half, so that both classes
    have the same standard deviation."""
    effect = math.sqrt(fraction / (1 - fraction))
    deviation = math.hypot(1, effect)
    return ScoreModel(
        separation=-2 * float(ndtri(eer)) * deviation,
        target_speaker=effect,
        enrolled_speaker=effect / math.sqrt(2),
        trial_speaker=effect / math.sqrt(2),
        pair=0.0,
    )


def _estimates(
    design: Row, draw: Callable[[], TrialScores], replicates: int, metrics: Metrics
) -> list[Row]:
    values = []
    for _ in range(replicates):
        scores = draw()
        values.append(metrics(scores))
    estimates = {
        variant: {name: _spread([v[variant][name] for v in values]) for name in values[0][variant]}
        for variant in VARIANTS
    }
    return [
        {
            **design,
            **counts_of(scores),  # the same in all replicates
            "n_replicates": replicates,
            "estimates": estimates,
        }
    ]


def _spread(values: list[float]) -> Mapping[str, float]:
    """Compute mean, standard deviation and central 95 % of estimates."""
    array = np.asarray(values)
    if not np.isfinite(array).all():  # Cllr may be infinite for scores that are not LLRs
        return dict.fromkeys(("mean", "deviation", "low", "high"), math.inf)
    low, high = map(float, np.quantile(array, (0.025, 0.975)))
    mean, deviation = float(array.mean()), float(array.std(ddof=1))
    return {"mean": mean, "deviation": deviation, "low": low, "high": high}
