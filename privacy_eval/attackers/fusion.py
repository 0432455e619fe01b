"""Several attackers together: their scores, fused by logistic regression over folds of speakers,
and the lowest of their EERs, also corrected for the choice among them. No file is opened here.

A trial is fused by the model of trials that share no speaker with it. The minimum of noisy numbers
is too low on average, and its own interval leaves out that another attacker may have been the
lowest. The minimum is what was measured, so it is reported first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..choices import FOLDS, LEAST_FOLDS
from ..errors import PrivacyEvalError, abbreviate
from ..metrics.arguments import as_array, as_names, as_numbers, as_truth
from ..metrics.confidence import speaker_bootstrap
from ..metrics.eer import kaldi_eer
from ..metrics.identification import average_ranks
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.trial_scores import BoolArray
from ..metrics.trials import Table, Trials

#: Of the squared weights of standardized scores.
PENALTY = 1e-3

_MOST_STEPS, _CONVERGED, _ROUNDING = 100, 1e-12, 1e-13


def fuse_scores(
    scores: ArrayLike,
    is_target: ArrayLike,
    enrolled_speaker: ArrayLike,
    trial_speaker: ArrayLike,
    *,
    folds: int = FOLDS,
    attackers: Sequence[str] = (),
) -> FloatArray:
    """Fuse the scores of several attackers into log-likelihood ratios.

    A trial of speakers in folds a and b is scored by the model trained without a speaker of either.

    Parameters
    ----------
    scores : array_like, shape (P, K)
        Of K attackers for the same P trials.
    is_target : array_like of bool, shape (P,)
    enrolled_speaker, trial_speaker : array_like of str, shape (P,)
    folds : int
        At least 4.
    attackers : sequence of str, length K, optional
        Names for errors, by default attacker 1 to attacker K.

    Returns
    -------
    float64 array, shape (P,)
        Natural log-likelihood ratios.

    Raises
    ------
    PrivacyEvalError
        No target or no nontarget trial is left to train on, or all scores of an attacker are the
        same there; names the attacker and the folds.
    ValueError
        Fewer than 4 folds; arrays of different lengths.

    References
    ----------
    Docs, page "attackers". Brummer et al. (2007), "Fusion of heterogeneous speaker recognition
    systems in the STBU submission for the NIST SRE 2006".

    Examples
    --------
    >>> speakers = np.repeat(list("abcdefgh"), 8), np.tile(list("abcdefgh"), 8)
    >>> is_target = speakers[0] == speakers[1]
    >>> noise = np.random.default_rng(0).normal(size=(64, 2))
    >>> fused = fuse_scores(3 * is_target[:, None] + noise, is_target, *speakers, folds=4)
    >>> bool(fused[is_target].mean() > 0 > fused[~is_target].mean())
    True
    """
    if folds < LEAST_FOLDS:
        raise ValueError(f"at least {LEAST_FOLDS} folds are needed, not {folds}")
    given, labels = as_numbers(scores, "scores"), as_truth(is_target, "is_target")
    sides = speaker_folds(enrolled_speaker, trial_speaker, folds)
    if given.ndim != 2 or not len(given) == labels.size == sides[0].size == sides[1].size:
        raise ValueError("scores, labels and speakers are of different numbers of trials")
    fused = np.empty(len(given))
    low, high = np.minimum(*sides), np.maximum(*sides)
    for a, b in combinations_with_replacement(range(folds), 2):
        scored = (low == a) & (high == b)
        if scored.any():
            training = (low != a) & (low != b) & (high != a) & (high != b)
            try:
                weights, offset = train_fusion(given[training], labels[training], attackers)
            except PrivacyEvalError as error:
                left_out = f"fold {a + 1}" if a == b else f"folds {a + 1} and {b + 1}"
                raise PrivacyEvalError(
                    f"without the speakers of {left_out} of {folds}: {error}"
                ) from error
            fused[scored] = given[scored] @ weights + offset
    return fused


def speaker_folds(
    enrolled_speaker: ArrayLike, trial_speaker: ArrayLike, folds: int
) -> tuple[IntArray, IntArray]:
    """Number the folds of the speakers of trials: speakers of both sides, sorted, take turns.

    Parameters
    ----------
    enrolled_speaker, trial_speaker : array_like of str, shape (P,)
    folds : int

    Returns
    -------
    enrolled, trial : int arrays, shape (P,)

    Examples
    --------
    >>> speaker_folds(["a", "b"], ["c", "a"], 2)
    (array([0, 1]), array([0, 0]))
    """
    sides = [as_names(side, "speakers") for side in (enrolled_speaker, trial_speaker)]
    _, number = np.unique(np.concatenate(sides), return_inverse=True)
    first, second = np.split(number.reshape(-1).astype(np.int64) % folds, [sides[0].size])
    return first, second


def train_fusion(
    scores: ArrayLike, is_target: ArrayLike, attackers: Sequence[str] = ()
) -> tuple[FloatArray, float]:
    """Train a logistic regression that gives targets and nontargets the same weight.

    Scores are standardized; half the mean loss of targets and of nontargets each, in nats, plus
    half the penalty times the squared weights, is minimized by Newton's method.

    Parameters
    ----------
    scores : array_like, shape (P, K)
    is_target : array_like of bool, shape (P,)
    attackers : sequence of str, length K, optional
        Names for errors.

    Returns
    -------
    weights : float64 array, shape (K,)
        Of the scores as given.
    offset : float

    Raises
    ------
    PrivacyEvalError
        No target or no nontarget trial; all scores of an attacker are the same, or too large.

    Examples
    --------
    >>> weights, offset = train_fusion([[0.0], [1.0], [1.0], [2.0]], [False, False, True, True])
    >>> bool(weights[0] > 0), round(float(offset + weights[0]), 9)
    (True, 0.0)
    """
    given, labels = as_numbers(scores, "scores"), as_truth(is_target, "is_target")
    if not labels.any() or labels.all():
        kind = "nontarget" if labels.any() else "target"
        raise PrivacyEvalError(f"no {kind} trial is left to train the fusion on: too few speakers")
    names = attackers or [f"attacker {k + 1}" for k in range(given.shape[1])]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = given.mean(axis=0), given.std(axis=0)
    large = np.flatnonzero(~np.isfinite(deviation))
    if large.size:
        raise PrivacyEvalError(f"training scores of {names[large[0]]} are too large")
    # Rounding of the mean leaves equal scores, such as 0.1, a tiny deviation.
    constant = np.flatnonzero(np.ptp(given, axis=0) <= _ROUNDING * np.abs(mean))
    if constant.size:
        raise PrivacyEvalError(f"all training scores of {names[constant[0]]} are the same")
    columns = np.column_stack([(given - mean) / deviation, np.ones(labels.size)])
    solution = _minimize(columns, labels)
    weights = solution[:-1] / deviation
    return weights, float(solution[-1] - weights @ mean)


def _minimize(columns: FloatArray, labels: BoolArray) -> FloatArray:
    """Minimize the penalized logistic loss; the last column is the intercept's."""
    signs = np.where(labels, 1.0, -1.0)
    share = np.where(labels, 0.5 / labels.sum(), 0.5 / (~labels).sum())
    penalty = np.full(columns.shape[1], PENALTY)
    penalty[-1] = 0

    def loss(solution: FloatArray) -> float:
        losses = np.logaddexp(0, -signs * (columns @ solution))
        return float(share @ losses + penalty @ solution**2 / 2)

    solution = np.zeros(columns.shape[1])
    for _ in range(_MOST_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(signs * (columns @ solution), -700, 700)))
        gradient = columns.T @ (-signs * share * wrong) + penalty * solution
        curvature = (columns.T * (share * wrong * (1 - wrong))) @ columns + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size, before = 1.0, loss(solution)
        while loss(solution - size * step) > before + _ROUNDING and size > 1e-6:
            size /= 2
        solution = solution - size * step
        if np.abs(step).max() <= _CONVERGED * (1 + np.abs(solution).max()):
            break
    return solution


#: EER below which the interval covers the truth less often than it says.
LOW_EER = 0.10
TOO_LOW = f"below {100 * LOW_EER:.0f} % intervals are too short"

OUTSIDE = "too few speakers: the interval does not hold the corrected value"

_WIDTHS = (
    "intervals of single attackers are widened where speakers are few, that of the strongest is not"
)

_TAIL = 0.025

#: Standard deviations of the difference from the lowest within which an attacker is its rival.
_RIVAL = 2


@dataclass(frozen=True, repr=False)
class Strongest(Printed):
    """The strongest of several attackers.

    Attributes
    ----------
    name : int
        Which one, from 0.
    attackers : int
        How many were tried.
    minimum : float
        The lowest estimate as measured, by which systems are ranked: too low on average.
    corrected : float
        The same without the bias of choosing the lowest: stands beside it, never in its place.
    lower, upper : float
        95 % interval of the lowest true value.
    rivals : tuple of int
        Attackers that cannot be told from the strongest, itself included.
    eers : mapping of str to float
        As measured, by the name of the attacker, or its number.
    """

    name: int
    attackers: int
    minimum: float
    corrected: float
    lower: float
    upper: float
    rivals: tuple[int, ...]
    eers: Mapping[str, float]

    @property
    def notes(self) -> list[str]:
        """What limits the interval."""
        return [_WIDTHS, *[TOO_LOW] * self.is_too_low, *[OUTSIDE] * self.is_outside]

    def to_rows(self) -> list[dict[str, Any]]:
        """List the EERs of all attackers; that of the strongest corrected, with its interval."""
        best = dict(corrected=self.corrected, low=self.lower, high=self.upper)
        others = dict.fromkeys(best)
        return [
            {"attacker": name, "eer": eer, "like_strongest": place in self.rivals}
            | (best if place == self.name else others)
            for place, (name, eer) in enumerate(self.eers.items())
        ]

    @property
    def is_too_low(self) -> bool:
        """Whether the interval is too short, as the EER is low."""
        return min(self.minimum, self.corrected) < LOW_EER

    @property
    def is_outside(self) -> bool:
        """Whether the corrected value is outside the interval, as with very few speakers."""
        return not self.lower <= self.corrected <= self.upper


def strongest(
    attackers: Mapping[str, Table] | ArrayLike,
    replicates: ArrayLike = (),
    *,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Strongest:
    """Find the attacker of the lowest EER, and correct that for the choice among them.

    Parameters
    ----------
    attackers : mapping of str to Trials, or array_like, shape (K,)
        Trials of the same speakers, with scores, labels and the speakers of both sides, by
        attacker; or the EERs of K attackers.
    replicates : array_like, shape (K, R), optional
        EERs of R bootstrap replicates, if the EERs are given: a column is of the same draw of
        speakers.
    bootstrap, seed : int
        Replicates of trials, and their seed.

    Returns
    -------
    Strongest
        Of a single attacker: its EER and percentile interval.

    Raises
    ------
    PrivacyEvalError
        Trials of other speakers; as `speaker_bootstrap`.
    ValueError
        No attacker, fewer than 2 replicates, other shapes; a value that is not finite.

    References
    ----------
    Docs, page "attackers". Optimism: Efron (1983), "Estimating the error rate of a prediction
    rule"; Harrell et al. (1996). Simultaneous percentile intervals by ranks: Beran (1988),
    "Balanced simultaneous confidence sets".

    Examples
    --------
    >>> drawn = np.random.default_rng(0).normal([[0.3], [0.31], [0.5]], 0.03, size=(3, 200))
    >>> result = strongest([0.3, 0.31, 0.5], drawn)
    >>> result.name, result.rivals, result.lower < 0.3 < result.corrected < result.upper
    (0, (0, 1), True)
    """
    if isinstance(attackers, Mapping):
        trials = [Trials.of(of) for of in attackers.values()]
        if len({repr([side.used for side in of.speakers]) for of in trials}) > 1:
            raise PrivacyEvalError(
                f"the trials of {abbreviate([*attackers])} are of different speakers: select() the "
                "same"
            )
        eers = [kaldi_eer(of.scores).value for of in trials]
        options: dict[str, Any] = {"replicates": bootstrap, "seed": seed, "metrics": ["exact eer"]}
        draws = [speaker_bootstrap(of, **options).values["exact eer"] for of in trials]
        return replace(strongest(eers, draws), eers=dict(zip(attackers, eers, strict=True)))
    given, drawn = (as_array(x, "estimates", np.float64) for x in (attackers, replicates))
    if given.ndim != 1 or drawn.ndim != 2 or len(given) != len(drawn) or not len(given):
        raise ValueError(
            f"expected estimates of K attackers and replicates of shape (K, R), not {given.shape} "
            f"and {drawn.shape}"
        )
    if drawn.shape[1] < 2:
        raise ValueError("at least 2 replicates are needed")
    if not np.isfinite(given).all() or not np.isfinite(drawn).all():
        raise ValueError("estimates and replicates must be finite")
    best = int(given.argmin())
    spread = (drawn - drawn[best]).std(axis=1, ddof=1)
    rivals = np.flatnonzero(given - given[best] <= _RIVAL * spread)
    # Upper ends of one level for all rivals, which hold together in 97.5 % of the replicates.
    ranks = (average_ranks(drawn[rivals]) - 0.5) / drawn.shape[1]
    level = np.quantile(ranks.max(axis=0), 1 - _TAIL)
    optimism = np.mean(given[drawn.argmin(axis=0)] - drawn.min(axis=0))
    values = float(given[best]), float(optimism + drawn[best].mean())
    lower = float(np.quantile(drawn, _TAIL, axis=1).min())
    upper = float(np.quantile(drawn[rivals], level, axis=1).min())
    of_each = {str(place): eer for place, eer in enumerate(given.tolist())}
    alike = tuple(map(int, rivals))
    return Strongest(best, len(given), *values, lower, upper, alike, of_each)
