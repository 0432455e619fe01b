"""Several attackers together: their scores, fused by logistic regression over folds of speakers.
No file is opened here.

A trial is fused by the model of trials that share no speaker with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike

from ..choices import FOLDS, LEAST_FOLDS
from ..errors import PrivacyEvalError
from ..metrics.arguments import as_names, as_numbers, as_truth
from ..metrics.pav import FloatArray, IntArray
from ..metrics.trial_scores import BoolArray

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
