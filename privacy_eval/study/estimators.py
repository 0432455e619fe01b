"""Bias and spread of estimates against the number of trials and speakers.

The population is two normal distributions of equal standard deviation, so that scores are LLRs up
to scale: with d the distance of the means in standard deviations, LLRs of target scores are normal
with mean d^2/2 and variance d^2, those of nontarget scores with mean -d^2/2. Integration gives
the population value of every metric except the worst case.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy.special import ndtri

from ..metrics import VARIANTS, TrialScores
from ..metrics.llr import evidence_function
from ..metrics.pav import FloatArray
from ..simulate import ScoreModel, simulate_trials
from .protocol import EstimatorsExperiment
from .tasks import Metrics, Row, Task

# The trapezoid rule on the standard normal density: exact to rounding for smooth integrands.
_NODES = np.linspace(-12, 12, 24001)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / math.sqrt(2 * math.pi) * (_NODES[1] - _NODES[0])


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


Draw = Callable[[np.random.Generator], TrialScores]


def estimator_tasks(experiment: EstimatorsExperiment) -> Iterator[Task]:
    """Yield a task per EER and number of trials, a row each."""
    e = experiment
    for eer in e.eers:
        for ratio, targets in itertools.product(e.nontargets_per_target, e.targets):
            row: Row = {"design": "independent", "eer": eer, "speakers": None}
            yield Task(
                "estimators",
                f"independent_{eer:g}_{ratio}_{targets}",
                [eer, targets, ratio, e.replicates],
                functools.partial(_row, row, _independent(eer, targets, ratio), e.replicates),
            )
        for speakers in e.speakers:
            row = {"design": "speakers", "eer": eer, "speakers": speakers}
            yield Task(
                "estimators",
                f"speakers_{eer:g}_{speakers}",
                [eer, speakers, e.utterances, e.speaker_share, e.replicates],
                functools.partial(_row, row, _of_speakers(e, eer, speakers), e.replicates),
            )


def _independent(eer: float, targets: int, nontargets_per_target: int) -> Draw:
    """Draw independent trials."""
    d, nontargets = -2 * float(ndtri(eer)), targets * nontargets_per_target
    return lambda generator: TrialScores(
        generator.normal(d, 1, targets), generator.normal(0, 1, nontargets)
    )


def _of_speakers(experiment: EstimatorsExperiment, eer: float, speakers: int) -> Draw:
    """Draw trials of all speakers against the utterances of all."""
    model = model_with_speakers(eer, experiment.speaker_share)

    def draw(generator: np.random.Generator) -> TrialScores:
        count = experiment.utterances
        return simulate_trials(
            model, enrolled=speakers, speakers=speakers, utterances=count, generator=generator
        ).scores

    return draw


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


def _row(
    design: Row, draw: Draw, replicates: int, generator: np.random.Generator, metrics: Metrics
) -> list[Row]:
    values = []
    for _ in range(replicates):
        scores = draw(generator)
        values.append(metrics.compute(scores))
    estimates = {
        variant: {name: _spread([v[variant][name] for v in values]) for name in values[0][variant]}
        for variant in VARIANTS
    }
    return [
        {
            **design,
            "n_target": scores.n_target,  # the same in all replicates
            "n_nontarget": scores.n_nontarget,
            "replicates": replicates,
            "ceiling": individual_ceiling(scores.n_target, scores.n_nontarget),
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
