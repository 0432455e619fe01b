"""Curves of the figures: DET, detection cost over the prior, densities.

Their size is independent of the number of trials, and so is the computation time once
scores are sorted, except for PAV. Rates and priors are fractions; the prior is that of
target trials, its log odds natural logarithms.

References: Martin et al., "The DET curve" (1997); Bruemmer & du Preez (2006) for the
Bayes error rate of LLRs (APE plots) and its normalized form; Silverman, "Density
estimation" (1986), eq. (3.31).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .eer import hull
from .pav import FloatArray, IntArray
from .trial_scores import Replicates, TrialScores, check_scores

_DET_BINS = 249
_DENSITY_POINTS = 256
_DENSITY_BINS = 2048

#: Rates at which bands about DET curves are computed: values of the normal distribution function,
#: computed without `scipy.special`, which every command would load.
BAND_FALSE_ALARM = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in np.linspace(-3.2, 3.2, 65)])


@dataclass(frozen=True)
class Det:
    """Detection error trade-off.

    Attributes
    ----------
    miss, false_alarm : float arrays, shape (P,)
        Rates at thresholds between distinct scores, from accepting all (0, 1) to rejecting
        all (1, 0): `miss` ascends, `false_alarm` descends.
    """

    miss: FloatArray
    false_alarm: FloatArray


@dataclass(frozen=True)
class PriorProfile:
    """A cost over the attacker's prior: the Bayes error rate, or the empirical cross-entropy.

    Attributes
    ----------
    prior_log_odds : float array, shape (P,)
        log(pi / (1 - pi)).
    zero_evidence : float array, shape (P,)
        Of the best decision without scores.
    minimum : float array, shape (P,)
        Of the PAV-calibrated scores: the attacker's.
    actual : float array, shape (P,)
        Of the scores taken as LLRs.
    """

    prior_log_odds: FloatArray
    zero_evidence: FloatArray
    minimum: FloatArray
    actual: FloatArray


@dataclass(frozen=True)
class Densities:
    """Kernel estimates of both classes' densities.

    Attributes
    ----------
    scores : float array, shape (P,)
    target, nontarget : float arrays, shape (P,)
        Per unit of score.
    """

    scores: FloatArray
    target: FloatArray
    nontarget: FloatArray


def det_curve(scores: TrialScores) -> Det:
    """Compute the DET curve in at most 500 operating points.

    Ties are pooled. Up to 500 corners of the curve are all kept. Of more, the curve is divided
    into 249 pieces of equal u = probit(miss) - probit(false alarm), which never falls, and the
    corners next to the cuts are kept: every other corner lies between two of them in both rates,
    and so within one piece's length (0.03 to 0.08 probits). Rates of 0 and 1 count as half a
    trial's in u.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    Det

    Examples
    --------
    >>> det = det_curve(TrialScores([1.0, 3.0], [0.0, 2.0]))
    >>> det.miss, det.false_alarm
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([1. , 0.5, 0.5, 0. , 0. ]))
    """
    check_scores(scores)
    # A corner before and one after every target, and both ends. Those of tied targets
    # coincide.
    corners = 2 * scores.n_target + 2
    if corners > 2 * _DET_BINS + 2:
        first, last = _spread(scores, np.array([0, corners - 1]))
        cuts = np.linspace(first, last, _DET_BINS + 1)[1:-1]
        below: IntArray = np.zeros(cuts.size, dtype=np.int64)
        above: IntArray = np.full(cuts.size, corners - 1, dtype=np.int64)
        while np.any(above - below > 1):  # bisection for all cuts at once
            middle = (below + above) // 2
            reached = _spread(scores, middle) >= cuts
            above = np.where(reached, middle, above)
            below = np.where(reached, below, middle)
        corner = np.unique(np.concatenate([[0], below, above, [corners - 1]]))
    else:
        corner = np.arange(corners)
    missed, rejected = _errors(scores, corner)
    new = np.append(True, (np.diff(missed) != 0) | (np.diff(rejected) != 0))
    return Det(missed[new] / scores.n_target, 1 - rejected[new] / scores.n_nontarget)


def miss_rates(scores: TrialScores | Replicates, false_alarm: ArrayLike) -> FloatArray:
    """Compute the minimum miss rates of each set of trials under limits of the false-alarm rate.

    Parameters
    ----------
    scores : TrialScores or Replicates
    false_alarm : array_like, shape (P,)
        From 0 to below 1.

    Returns
    -------
    float array, shape (R, P)
        The DET curve of each set at these rates, from above.

    See Also
    --------
    privacy_eval.metrics.detection.miss_rate : a single one, where rounding counts.

    Examples
    --------
    >>> miss_rates(TrialScores([1.0, 3.0], [0.0, 2.0]), [0.5, 0.01])
    array([[0. , 0.5]])
    """
    check_scores(scores)
    sets, totals = scores.target_sets, scores.nontarget_counts[:, None]
    # A rate that is k/N up to rounding allows k false alarms.
    rejected = totals - (np.asarray(false_alarm) * totals * (1 + 1e-12)).astype(np.int64)
    # A target is missed if fewer than `rejected` nontargets are below it. Offsets keep the sets
    # apart, so that one search serves all.
    apart = np.arange(sets.first.size) * (totals.max() + 1)
    below = scores.nontargets_below + sets.spread(apart)
    missed = np.searchsorted(below, rejected + apart[:, None]) - sets.first[:, None]
    return np.asarray(missed / scores.target_counts[:, None])


def dcf_profile(scores: TrialScores, *, prior_log_odds: ArrayLike | None = None) -> PriorProfile:
    """Compute Bayes error rates, which are detection costs with costs of 1, over the prior log
    odds.

    Without evidence they are min(pi, 1 - pi). `minimum` is that at the best threshold for each
    prior; actual decisions accept scores that are not below -log odds.

    Parameters
    ----------
    scores : TrialScores
    prior_log_odds : array_like, shape (P,), optional
        201 points from -10 to 10, unless given.

    Returns
    -------
    PriorProfile

    Examples
    --------
    >>> profile = dcf_profile(TrialScores([2.0], [-2.0]), prior_log_odds=[-3.0, 0.0])
    >>> profile.minimum, profile.actual.round(3)
    (array([0., 0.]), array([0.047, 0.   ]))
    """
    from scipy.special import expit  # slow to import

    check_scores(scores)
    grid = prior_grid(prior_log_odds)
    prior, rest = expit(grid), expit(-grid)
    blocks = scores.pav("exact")
    miss, false_alarm = hull(blocks)
    corner = np.searchsorted(blocks.llr, -grid, side="left")
    missed = np.searchsorted(scores.target, -grid, side="left")
    rejected = np.searchsorted(scores.nontarget, -grid, side="left")
    return PriorProfile(
        grid,
        np.minimum(prior, rest),
        prior * miss[corner] + rest * false_alarm[corner],
        prior * missed / scores.n_target + rest * (1 - rejected / scores.n_nontarget),
    )


def expected_cost_reduction(scores: TrialScores) -> float:
    """Compute by how much scores reduce the detection cost over all priors: D_ECE's
    counterpart.

    The integral over pi of min(pi, 1 - pi) less the minimum Bayes error rate, from 0 (full
    privacy) to 1/4. A target of LLR l is missed where pi < s(-l), s the logistic function,
    which costs s(-l)^2 / 2 over all priors, a nontarget s(l)^2 / 2.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    float

    Examples
    --------
    >>> expected_cost_reduction(TrialScores([1.0], [0.0]))
    0.25
    """
    from scipy.special import expit  # slow to import

    check_scores(scores)
    blocks = scores.pav("exact")
    missed = (expit(-blocks.llr) ** 2 * blocks.targets).sum() / scores.n_target
    accepted = (expit(blocks.llr) ** 2 * blocks.nontargets).sum() / scores.n_nontarget
    return 0.25 - float(missed + accepted) / 2


def densities(scores: TrialScores) -> Densities:
    """Estimate Gaussian kernel densities at 256 points from the lowest to the highest score.

    Bandwidth 0.9 min(std, IQR/1.34) n^(-1/5), Silverman's eq. (3.31), or 0.9 std n^(-1/5)
    where the quartiles coincide, and never less than the distance of two points. Kernels are
    centred in 2048 equal bins, see `TrialScores.edges`.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    Densities

    Examples
    --------
    >>> curves = densities(TrialScores([2.0, 3.0], [0.0, 1.0]))
    >>> curves.scores.shape, bool(curves.target[0] < curves.nontarget[0])
    ((256,), True)
    """
    check_scores(scores)
    edges = scores.edges(_DENSITY_BINS)
    return Densities(
        scores.edges(_DENSITY_POINTS - 1),
        _density(scores.target, edges),
        _density(scores.nontarget, edges),
    )


def _density(ascending: FloatArray, edges: FloatArray) -> FloatArray:
    below = np.searchsorted(ascending, edges)
    below[-1] = ascending.size
    counts = np.diff(below)
    # Work in units of the range, so that no score overflows or underflows.
    held = np.flatnonzero(counts)
    centre, weight = (held + 0.5) / counts.size, counts[held] / ascending.size
    std = float(np.sqrt((weight * (centre - (weight * centre).sum()) ** 2).sum()))
    lower, upper = centre[np.searchsorted(np.cumsum(weight), [0.25, 0.75])]
    spread = min(std, (upper - lower) / 1.34) if upper > lower else std
    width = max(0.9 * spread * ascending.size**-0.2, 1 / (_DENSITY_POINTS - 1))
    at = np.linspace(0, 1, _DENSITY_POINTS)
    kernels = np.exp(-0.5 * ((at[:, None] - centre) / width) ** 2)
    density = (kernels * weight).sum(axis=1) / (width * np.sqrt(2 * np.pi))
    scale = 1 if np.isfinite(float(edges[-1]) - float(edges[0])) else 2
    with np.errstate(over="ignore"):
        per_score = density / (edges[-1] / scale - edges[0] / scale) / scale
    return np.asarray(np.minimum(per_score, np.finfo(np.float64).max), dtype=np.float64)


def prior_grid(prior_log_odds: ArrayLike | None = None) -> FloatArray:
    """Return the prior log odds at which curves are computed.

    Parameters
    ----------
    prior_log_odds : array_like, shape (P,), optional
        201 points from -10 to 10, unless given.

    Returns
    -------
    float array, shape (P,)

    Examples
    --------
    >>> prior_grid().size
    201
    """
    if prior_log_odds is None:
        return np.linspace(-10, 10, 201, dtype=np.float64)
    return np.asarray(prior_log_odds, dtype=np.float64)


def _errors(scores: TrialScores, corner: IntArray) -> tuple[IntArray, IntArray]:
    """Count missed targets and rejected nontargets at corners of the curve: 0 accepts all, the
    odd ones lie before a target and the even ones after it (within tied targets: before
    them), the last rejects all."""
    last = 2 * scores.n_target + 1
    trial = np.clip((corner - 1) // 2, 0, scores.n_target - 1)
    value = scores.target[trial]
    tied = scores.target[np.minimum(trial + 1, scores.n_target - 1)] == value
    before = (corner % 2 == 1) | (tied & (trial < scores.n_target - 1))
    counts = []
    for ascending in (scores.target, scores.nontarget):
        left = np.searchsorted(ascending, value, side="left")
        right = np.searchsorted(ascending, value, side="right")
        count = np.where(before, left, right)
        counts.append(np.where(corner == 0, 0, np.where(corner == last, ascending.size, count)))
    return counts[0], counts[1]


def _spread(scores: TrialScores, corner: IntArray) -> FloatArray:
    """Compute probit(miss) - probit(false alarm), rates clipped to half a trial from 0 and 1."""
    from scipy.special import ndtri  # slow to import

    missed, rejected = _errors(scores, corner)
    n_target, n_nontarget = scores.n_target, scores.n_nontarget
    miss = np.clip(missed, 0.5, n_target - 0.5) / n_target
    correct = np.clip(rejected, 0.5, n_nontarget - 0.5) / n_nontarget
    return np.asarray(ndtri(miss) + ndtri(correct), dtype=np.float64)
