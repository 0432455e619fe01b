"""How far each number can be trusted: bias and spread of estimates against the number of
trials and speakers.

The population is that of two normal distributions of equal deviation, where the score is an
LLR but for scale: with d the distance of their means in deviations, the LLR of a mated score
is normal with mean d^2/2 and variance d^2, of a non-mated one with mean -d^2/2. So every
metric but the worst case has a value that integration gives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..metrics import VARIANTS, TrialScores
from ..metrics.zebra import evidence_function
from ..simulate import ScoreModel, simulate_trials
from .plan import EstimatorsPlan
from .tasks import Metrics, Row, Task

FloatArray = NDArray[np.float64]

# The trapezoid rule on the standard normal density: exact to rounding for smooth integrands.
_NODES = np.linspace(-12, 12, 24001)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / math.sqrt(2 * math.pi) * (_NODES[1] - _NODES[0])


def population_values(eer: float) -> dict[str, float]:
    """What the metrics estimate, of two normal distributions of equal deviation.

    Parameters
    ----------
    eer : float
        0 < EER < 0.5, a fraction.

    Returns
    -------
    dict
        EER and linkability as fractions, min Cllr and ZEBRA's population disclosure in bit. The
        individual disclosure has none: with ever more trials it grows without bound.

    Examples
    --------
    >>> values = population_values(0.2)
    >>> round(values["eer"], 12), round(values["cllr_min"], 3)
    (0.2, 0.619)
    """
    d = -2 * float(ndtri(eer))
    llr = d * d / 2 + d * _NODES  # of mated scores; of non-mated ones by symmetry the negative

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
    """The largest individual disclosure (log10 LR) that so many trials can show, however well
    they are separated: Laplace's rule leaves no block of PAV without a trial of either class.

    Above all scores the LR is at most (T + 1) / 1 by the ratio of the classes, below them at most
    (N + 1) / 1 by it: about N and T.

    Examples
    --------
    >>> round(individual_ceiling(100, 10000), 3)
    4.004
    """
    t, n = n_target, n_nontarget
    return math.log10(max((t + 1) * n / t, (n + 1) * t / n))


def estimator_tasks(plan: EstimatorsPlan) -> Iterator[Task]:
    """A task per EER and size, a row each."""
    for eer in plan.eers:
        for per_target in plan.nontargets_per_target:
            for targets in plan.targets:
                inputs = [eer, targets, per_target, plan.replicates]
                yield Task(
                    "estimators",
                    f"independent_{eer:g}_{per_target}_{targets}",
                    inputs,
                    functools.partial(_independent, eer, targets, per_target, plan.replicates),
                )
        for speakers in plan.speakers:
            yield Task(
                "estimators",
                f"speakers_{eer:g}_{speakers}",
                [eer, speakers, plan.utterances, plan.speaker_share, plan.replicates],
                functools.partial(_of_speakers, plan, eer, speakers),
            )


def _independent(
    eer: float,
    targets: int,
    per_target: int,
    replicates: int,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    d = -2 * float(ndtri(eer))

    def draw() -> TrialScores:
        return TrialScores(
            generator.normal(d, 1, targets), generator.normal(0, 1, targets * per_target)
        )

    return [_row("independent", eer, None, draw, replicates, metrics)]


def _of_speakers(
    plan: EstimatorsPlan,
    eer: float,
    speakers: int,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    model = model_with_speakers(eer, plan.speaker_share)

    def draw() -> TrialScores:
        trials = simulate_trials(
            model,
            enrolled=speakers,
            speakers=speakers,
            utterances=plan.utterances,
            generator=generator,
        )
        return TrialScores.from_labels(trials.score, trials.is_target)

    return [_row("speakers", eer, speakers, draw, plan.replicates, metrics)]


def model_with_speakers(eer: float, share: float) -> ScoreModel:
    """Scores of which a share of the variance is their speakers': of target trials one speaker's,
    of nontarget trials half by either side, so that both classes have the same deviation."""
    effect = math.sqrt(share / (1 - share))
    deviation = math.hypot(1, effect)
    return ScoreModel(
        separation=-2 * float(ndtri(eer)) * deviation,
        target_speaker=effect,
        enrolled_speaker=effect / math.sqrt(2),
        trial_speaker=effect / math.sqrt(2),
        pair=0.0,
    )


def _row(
    design: str,
    eer: float,
    speakers: int | None,
    draw: Callable[[], TrialScores],
    replicates: int,
    metrics: Metrics,
) -> Row:
    found = []
    for _ in range(replicates):
        scores = draw()
        found.append(metrics.of(scores))
    n_target, n_nontarget = scores.n_target, scores.n_nontarget
    return {
        "design": design,
        "eer": eer,
        "speakers": speakers,
        "n_target": n_target,
        "n_nontarget": n_nontarget,
        "replicates": replicates,
        "ceiling": individual_ceiling(n_target, n_nontarget),
        "estimates": {
            variant: {
                name: _spread([values[variant][name] for values in found])
                for name in found[0][variant]
            }
            for variant in VARIANTS
        },
    }


def _spread(values: list[float]) -> Mapping[str, float]:
    """Mean, standard deviation and the central 95 % of estimates."""
    array = np.asarray(values)
    if not np.isfinite(array).all():  # Cllr of scores that are no LLRs may be infinite
        return {"mean": math.inf, "deviation": math.inf, "low": math.inf, "high": math.inf}
    low, high = np.quantile(array, (0.025, 0.975))
    return {
        "mean": float(array.mean()),
        "deviation": float(array.std(ddof=1)),
        "low": float(low),
        "high": float(high),
    }
