"""What log-likelihood ratios cost and disclose: Cllr, ZEBRA, and costs over the attacker's prior.

Cllr, in bit: 0 is perfect recognition (no privacy), 1 carries no information. Actual Cllr exceeds 1
where scores are badly calibrated; min Cllr never does in `exact`. ZEBRA does not depend on the
prior: population, the expected disclosure D_ECE in bit, 0 (full privacy) to 1/log 4 = 0.7213;
individual, the largest |log10 likelihood ratio| of any trial, with a categorical tag. Lower is more
private for both. The prior is that of target trials, its log odds natural logarithms.

References: Bruemmer & du Preez (2006), also for the Bayes error rate of LLRs (APE plots) and its
normalized form; VoicePrivacy 2020 supplement, eq. (1); comparative study of metrics, section 3.2,
whose eq. (2) omits the factor 1/2; Nautsch et al., "The Privacy ZEBRA" (Interspeech 2020), whose
equations functions of disclosure name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .eer import hull
from .pav import CHALLENGE_SLOPE, FloatArray, IntArray, PavBlocks, Sets, sloped_llr
from .trial_scores import Replicates, TrialScores, Variant, check_scores, check_variant

_LOG_MAX = float(np.log(np.finfo(np.float64).max))
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Cllr:
    """A cost in bit, with the numbers of trials.

    Attributes
    ----------
    value : float
        In bit; actual Cllr may be inf, see `cllr`. Of `Replicates` an array.
    n_target, n_nontarget : int
    variant : str
    """

    value: float
    n_target: int
    n_nontarget: int
    variant: Variant


def cllr(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> Cllr:
    """Compute actual Cllr, taking scores as natural-log LLRs.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        `exact` is inf only where the cost itself exceeds the largest float: mean wrong scores
        near it in both classes. `challenge` reproduces the released script: inf as soon as one
        target is below -709.78 or one nontarget above 709.78.

    Returns
    -------
    Cllr

    Examples
    --------
    >>> cllr(TrialScores([0.0], [0.0])).value
    1.0
    """
    check_scores(scores, variant)
    counts = scores.n_target, scores.n_nontarget
    if isinstance(scores, Replicates):
        return Cllr(scores.each(_cllr_of_replicates(scores, variant)), *counts, variant)
    worst = max(-scores.target[0], scores.nontarget[-1])
    if variant == "challenge" and worst > _LOG_MAX:
        value = float("inf")
    else:
        # Each half is finite, their sum wherever the cost is.
        value = _half_cost(scores.target, -1.0) + _half_cost(scores.nontarget, 1.0)
    return Cllr(value, *counts, variant)


def min_cllr(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> Cllr:
    """Compute Cllr after PAV calibration, the least that any monotone calibration reaches.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        They differ in the treatment of ties and by up to about 1e-6, see `TrialScores.pav`
        and `sloped_llr`.

    Returns
    -------
    Cllr

    Examples
    --------
    >>> round(min_cllr(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).value, 9)
    0.5
    """
    check_scores(scores, variant)
    blocks = scores.pav(variant)
    llrs = () if variant == "exact" else sloped_llr(blocks, scores.target_rank)
    value = scores.each(cllr_of_blocks(blocks, *llrs))
    return Cllr(value, scores.n_target, scores.n_nontarget, variant)


def cllr_of_blocks(
    blocks: PavBlocks,
    of_targets: FloatArray | None = None,
    of_nontargets: FloatArray | None = None,
) -> FloatArray:
    """Compute the Cllr of calibrated trials.

    Parameters
    ----------
    blocks : PavBlocks
        B of them, in R sets.
    of_targets, of_nontargets : float arrays, shape (B,), optional
        LLR of the trials of each class per block; by default that of the block.

    Returns
    -------
    float array, shape (R,)
        In bits.

    Examples
    --------
    >>> cllr_of_blocks(TrialScores([1, 3], [0, 2]).pav())
    array([0.5])
    """
    targets = blocks.llr if of_targets is None else of_targets
    nontargets = blocks.llr if of_nontargets is None else of_nontargets
    return (
        _mean_cost(-targets, blocks.targets, blocks.sets)
        + _mean_cost(nontargets, blocks.nontargets, blocks.sets)
    ) / 2


def _cllr_of_replicates(replicates: Replicates, variant: Variant) -> FloatArray:
    """Compute `cllr` of all replicates at once, shape (R,)."""
    of, times = replicates.of, replicates.times
    counts = replicates.target_counts, replicates.nontarget_counts
    if "costs" not in of.memo:
        classes = (-of.target, of.nontarget)
        of.memo["costs"] = [softplus(of_class) / of_class.size for of_class in classes]
    halves = [
        (times / n[:, None])
        @ np.bincount(pairs, cost, times.shape[1])
        * (cost.size / (2 * math.log(2)))
        for cost, pairs, n in zip(of.memo["costs"], replicates.pairs, counts, strict=True)
    ]
    with np.errstate(over="ignore"):  # each half is finite, their sum wherever the cost is
        costs = halves[0] + halves[1]
    if variant == "challenge":
        lowest, _, _, highest = replicates.extremes
        costs[(-lowest > _LOG_MAX) | (highest > _LOG_MAX)] = np.inf
    return np.asarray(costs)


def softplus(x: FloatArray) -> FloatArray:
    """Compute log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : float array

    Returns
    -------
    float array of the same shape

    Examples
    --------
    >>> softplus(np.array([-1000.0, 1000.0]))
    array([   0., 1000.])
    """
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), dtype=np.float64)


def _half_cost(values: FloatArray, sign: float) -> float:
    """Average log2(1 + exp(sign * values)) / 2, in pieces that fit into the cache."""
    total = 0.0
    for start in range(0, values.size, _CHUNK):
        costs = softplus(sign * values[start : start + _CHUNK])
        with np.errstate(over="ignore"):
            part = float(costs.sum())
        # Costs near the largest float: the mean is finite where the sum is not.
        total += part / values.size if math.isfinite(part) else float((costs / values.size).sum())
    return total / (2 * math.log(2))


def _mean_cost(llr: FloatArray, weight: IntArray, sets: Sets) -> FloatArray:
    """Average log2(1 + exp(llr)) over the blocks of each set, by their trials of one class; an
    infinite llr must cost nothing."""
    costs = softplus(np.where(weight > 0, llr, 0)) * weight
    return np.asarray(sets.sums(costs) / sets.sums(weight) / np.log(2))


#: Table 1 of the paper: tag and its lowest log10 LR. Below them is tag 0, "no evidence at all".
CATEGORICAL_TAGS: tuple[tuple[str, float], ...] = (
    ("A", 0.0),
    ("B", 1.0),
    ("C", 2.0),
    ("D", 4.0),
    ("E", 5.0),
    ("F", 6.0),
)
NO_EVIDENCE_TAG = "0"

#: The released code ignores trials whose |LLR| does not exceed it in the population metric.
_CHALLENGE_ZERO = 1e-6
#: Rounding floor: real evidence from up to 10^7 trials always exceeds it (LLR > 1e-14, squared).
_ROUNDING = 1e-30

# Z(a) = a/6 - a^2/24 + a^3/360 + a^4/1440 - ...: Taylor series of eq. (6) in log x.
_Z_SERIES = (0.0, 1 / 6, -1 / 24, 1 / 360, 1 / 1440, -1 / 10080, -1 / 60480, 1 / 302400)
_Z_SERIES_BELOW = 0.05
_Z_FLAT_ABOVE = 300.0

# Values of which softplus is computed at once.
_CACHED = 1 << 13
# Width of the score bins for actual ECE; see `_binned_softplus`.
_BIN_WIDTH = 1 / 32
_SOFTPLUS_TAIL = 30.0


@dataclass(frozen=True)
class Zebra:
    """The ZEBRA triple of a set of scores.

    Attributes
    ----------
    population : float
        D_ECE in bit.
    individual : float
        max |log10 LR|.
    tag : str
        Category of `individual`.
    n_target, n_nontarget : int
    variant : str
    """

    population: float
    individual: float
    tag: str
    n_target: int
    n_nontarget: int
    variant: Variant


def zebra(
    scores: TrialScores,
    *,
    variant: Variant = "exact",
    tags: Sequence[tuple[str, float]] = CATEGORICAL_TAGS,
) -> Zebra:
    """Compute population and individual disclosure with its tag.

    Parameters
    ----------
    scores : TrialScores
    variant : {"exact", "challenge"}
        See `population_disclosure` and `individual_disclosure`.
    tags : sequence of (str, float)
        Categories with their lower bounds.

    Returns
    -------
    Zebra

    Examples
    --------
    >>> separated = zebra(TrialScores([3.0] * 10, [0.0] * 10))
    >>> round(separated.population, 4), round(separated.individual, 4), separated.tag
    (0.7213, 1.0414, 'B')
    >>> zebra(TrialScores([1.0] * 10, [1.0] * 10)).tag
    '0'
    """
    individual = individual_disclosure(scores, variant=variant)
    return Zebra(
        population=population_disclosure(scores, variant=variant),
        individual=individual,
        tag=categorical_tag(individual, variant=variant, tags=tags),
        n_target=scores.n_target,
        n_nontarget=scores.n_nontarget,
        variant=variant,
    )


def population_disclosure(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> float:
    """Compute the expected disclosure D_ECE of eq. (5) in bit, in its closed form, eq. (6).

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        `challenge` adds the released code's slope (see `sloped_llr`) and counts trials with
        |LLR| <= 1e-6 as no evidence. It pools ties as `exact` does, since there it puts
        targets before nontargets.

    Returns
    -------
    float, or float array of shape (R,)

    Examples
    --------
    >>> population_disclosure(TrialScores([1.0], [1.0]))
    0.0
    """
    check_scores(scores, variant)
    blocks = scores.pav("exact")
    if variant == "exact":
        of_targets = of_nontargets = blocks.llr
        t_weight, n_weight = blocks.targets, blocks.nontargets
    else:
        position = scores.target_number + scores.nontargets_below
        # Within a tie, targets precede nontargets.
        of_targets, of_nontargets, t_weight, n_weight = _llr_of_evidence(blocks, position)
    total = _weighted_z(of_targets, t_weight, blocks.sets) / scores.target_counts
    total += _weighted_z(-of_nontargets, n_weight, blocks.sets) / scores.nontarget_counts
    # Without evidence, the sum is the squared rounding error of LLRs of 0.
    return scores.each(np.where(np.abs(total) < _ROUNDING, 0.0, total / math.log(2)))


def individual_disclosure(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> float:
    """Compute the worst-case disclosure, eq. (8), after PAV with Laplace's rule.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        `challenge` adds the released code's slope, and so never gives a true 0.

    Returns
    -------
    float, or float array of shape (R,)
        The largest |log10 LR| of any trial.

    Examples
    --------
    >>> round(individual_disclosure(TrialScores([3.0] * 10, [0.0] * 10)), 4)
    1.0414
    """
    check_scores(scores, variant)
    blocks = scores.pav_laplace(variant)
    lowest, highest = blocks.llr[blocks.first], blocks.llr[blocks.sets.last]
    if variant == "challenge":
        n = scores.target_counts + scores.nontarget_counts
        highest = highest + CHALLENGE_SLOPE * (n - 1) / n
    return scores.each(np.maximum(np.abs(lowest), np.abs(highest)) / math.log(10))


def categorical_tag(
    log10_lr: float,
    *,
    variant: Variant = "exact",
    tags: Sequence[tuple[str, float]] = CATEGORICAL_TAGS,
) -> str:
    """Find the category of a worst-case disclosure (Table 1 of the paper).

    Parameters
    ----------
    log10_lr : float
        A value up to the float epsilon is no evidence, tag 0.
    variant : {"exact", "challenge"}
        A category begins at its lower bound; in `challenge` the bound still belongs to the
        category before, as in the released code.
    tags : sequence of (str, float)
        Categories with their lower bounds.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        `tags` do not begin at 0 or do not ascend.

    Examples
    --------
    >>> [categorical_tag(x) for x in (0.0, 0.5, 1.0, 3.9, 4.0, 7.0)]
    ['0', 'A', 'B', 'C', 'D', 'F']
    >>> categorical_tag(1.0, variant="challenge")
    'A'
    """
    check_variant(variant)
    if log10_lr <= np.finfo(np.float64).eps:
        return NO_EVIDENCE_TAG
    bounds = [bound for _, bound in tags]
    if bounds != sorted(bounds) or not bounds or bounds[0] > 0:
        raise ValueError(f"tags must begin at 0 and ascend, not {bounds}")
    begun = np.searchsorted(bounds, log10_lr, side="right" if variant == "exact" else "left")
    return tags[int(begun) - 1][0]


def zebra_number(value: float) -> str:
    """Format a number as the ZEBRA toolkit does.

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> [zebra_number(x) for x in (0.375, 3e-5, 0.0)]
    ['0.375', '3e-05', '0']
    """
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) >= 5e-4 else f"{value:.0e}"


def evidence_function(log_lr: ArrayLike) -> FloatArray:
    """Compute Z of eq. (6) as a function of a = log x, natural logarithm.

    Z(x) = (x-3)(x-1) + 2 log x over 4 (x-1)^2 cancels near x = 1; in a it is
    1/4 + (a - expm1(a)) / (2 expm1(a)^2), and its Taylor series near a = 0.

    Parameters
    ----------
    log_lr : array_like

    Returns
    -------
    float array of the same shape

    Examples
    --------
    >>> evidence_function([0.0, np.inf])
    array([0.  , 0.25])
    """
    a = np.asarray(log_lr, dtype=np.float64)
    small = np.abs(a) < _Z_SERIES_BELOW
    bounded = np.where(small, 1.0, np.minimum(a, _Z_FLAT_ABOVE))
    x_minus_1 = np.expm1(bounded)
    closed = 0.25 + (bounded - x_minus_1) / (2 * x_minus_1**2)
    series = np.polyval(_Z_SERIES[::-1], np.where(small, a, 0.0))
    return np.asarray(np.where(small, series, closed), dtype=np.float64)


def ece_profile(
    scores: TrialScores, *, prior_log_odds: ArrayLike | None = None
) -> dict[str, FloatArray]:
    """Compute ECE curves over the prior log odds.

    With many trials, `actual` is that of scores in bins, with an error below 1e-9 bit (see
    `_binned_softplus`).

    Parameters
    ----------
    scores : TrialScores
    prior_log_odds : array_like, shape (P,), optional
        201 points from -10 to 10, unless given.

    Returns
    -------
    dict of str to float array, shape (P,)
        `prior_log_odds`, log(pi / (1 - pi)), and the empirical cross-entropy in bit (eq. 4) there:
        `zero_evidence`, without scores (footnote 5), perfect privacy; `minimum`, of the
        PAV-calibrated scores, the attacker's; `actual`, of the scores taken as LLRs.

    Examples
    --------
    >>> ece_profile(TrialScores([0.0], [0.0]), prior_log_odds=[0.0])["actual"]
    array([1.])
    """
    check_scores(scores)
    grid = prior_grid(prior_log_odds)
    blocks = scores.pav("exact")
    nothing = np.zeros(1), np.ones(1), np.ones(1)
    miss = _mean_softplus(-scores.target[::-1], -grid)
    return {
        "prior_log_odds": grid,
        "zero_evidence": _ece(grid, *nothing),
        "minimum": _ece(grid, blocks.llr, blocks.targets, blocks.nontargets),
        "actual": _in_bits(grid, miss, _mean_softplus(scores.nontarget, grid)),
    }


def _ece(grid: FloatArray, llr: FloatArray, *weights: FloatArray | IntArray) -> FloatArray:
    """Compute ECE of LLRs that targets and nontargets have, of these numbers."""
    costs = [
        _weighted_softplus(sign * llr[of > 0], sign * grid, of[of > 0] / of.sum())
        for sign, of in zip((-1, 1), weights, strict=True)
    ]
    return _in_bits(grid, *costs)


def _in_bits(grid: FloatArray, miss: FloatArray, false_alarm: FloatArray) -> FloatArray:
    from scipy.special import expit  # slow to import

    bits = expit(grid) * miss + expit(-grid) * false_alarm
    return np.asarray(bits / math.log(2), dtype=np.float64)


def _mean_softplus(ascending: FloatArray, shift: FloatArray) -> FloatArray:
    """Average softplus(value + shift) over the values, for every shift."""
    if not shift.size:
        return np.zeros(0)
    low, high = -shift.max() - _SOFTPLUS_TAIL, -shift.min() + _SOFTPLUS_TAIL
    bins = math.ceil((high - low) / _BIN_WIDTH)
    if ascending.size > bins:
        return _binned_softplus(ascending, shift, low, bins)
    # Divide before summing: the sum of the largest floats overflows.
    return _weighted_softplus(ascending.astype(np.float64), shift, 1 / ascending.size)


def _weighted_softplus(
    values: FloatArray, shift: FloatArray, weight: FloatArray | float
) -> FloatArray:
    """Sum softplus(value + shift) times the weights of the values, for every shift; of as many
    shifts at once as fit into the cache."""
    rows = max(_CACHED // max(values.size, 1), 1)
    sums = [np.zeros(0)]
    for start in range(0, shift.size, rows):
        costs = softplus(values + shift[start : start + rows, np.newaxis])
        sums.append((costs * weight).sum(axis=1))
    return np.concatenate(sums)


def _binned_softplus(ascending: FloatArray, shift: FloatArray, low: float, bins: int) -> FloatArray:
    """Average as `_mean_softplus`, by Taylor's formula up to the third order about bin centres.

    No fourth derivative of softplus exceeds 1/8, so bins of width h leave an error of
    at most (h/2)^4 / 24 / 8 = 3.2e-10. Outside of the bins softplus is 0 or its
    argument, to e^-30.
    """
    from scipy.special import expit  # slow to import

    edges = low + _BIN_WIDTH * np.arange(bins + 1)
    end = np.searchsorted(ascending, edges)
    inner = ascending[end[0] : end[-1]]
    counts = np.diff(end)
    held = np.flatnonzero(counts)
    centre, count = edges[held] + _BIN_WIDTH / 2, counts[held]
    above = ascending[end[-1] :].astype(np.float64) / ascending.size
    constant, slope = float(above.sum()), above.size / ascending.size
    if not held.size:
        return constant + slope * shift
    start = np.cumsum(count) - count
    offset = inner - np.repeat(centre, count)
    power = offset.copy()
    moments = [count / ascending.size]
    for factorial in (1, 2, 6):
        moments.append(np.add.reduceat(power, start) / (factorial * ascending.size))
        power *= offset
    values = []
    for x in shift:  # over the curve's points, never over trials
        p = expit(centre + x)
        curved = p * (1 - p)
        terms = (softplus(centre + x), p, curved, curved * (1 - 2 * p))
        value = sum(float((t * m).sum()) for t, m in zip(terms, moments, strict=True))
        values.append(value + slope * x + constant)
    return np.array(values)


def _weighted_z(log_lr: FloatArray, weight: IntArray, sets: Sets) -> FloatArray:
    evidence = evidence_function(np.where(weight > 0, log_lr, 0))
    return np.asarray(sets.sums(evidence * weight))


def _llr_of_evidence(
    blocks: PavBlocks, position: IntArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Compute per block the mean sloped LLR of the trials that the released code counts, those
    with |LLR| > 1e-6, and their number; return LLRs of targets and of nontargets, then numbers,
    given the ranks of the targets."""
    llrs = sloped_llr(blocks, position)
    numbers = blocks.targets.copy(), blocks.nontargets.copy()
    size = blocks.targets + blocks.nontargets
    start, trials = blocks.sets.before(size), blocks.sets.sums(size)
    target_end = np.cumsum(blocks.targets)
    near_zero = np.abs(blocks.llr) <= _CHALLENGE_ZERO + CHALLENGE_SLOPE
    for b in np.flatnonzero(near_zero):  # at most a few blocks of each set
        n = trials[np.searchsorted(blocks.first, b, side="right") - 1]
        sloped = blocks.llr[b] + CHALLENGE_SLOPE * np.arange(start[b], start[b] + size[b]) / n
        is_target = np.zeros(size[b], dtype=bool)
        is_target[position[target_end[b] - blocks.targets[b] : target_end[b]] - start[b]] = True
        for of_class, llr, number in zip((is_target, ~is_target), llrs, numbers, strict=True):
            evident = sloped[of_class & (np.abs(sloped) > _CHALLENGE_ZERO)]
            number[b] = evident.size
            llr[b] = evident.sum() / max(evident.size, 1)
    return (*llrs, *numbers)


def dcf_profile(
    scores: TrialScores, *, prior_log_odds: ArrayLike | None = None
) -> dict[str, FloatArray]:
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
    dict of str to float array, shape (P,)
        Entries as of `ece_profile`.

    Examples
    --------
    >>> profile = dcf_profile(TrialScores([2.0], [-2.0]), prior_log_odds=[-3.0, 0.0])
    >>> profile["minimum"], profile["actual"].round(3)
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
    return {
        "prior_log_odds": grid,
        "zero_evidence": np.minimum(prior, rest),
        "minimum": prior * miss[corner] + rest * false_alarm[corner],
        "actual": prior * missed / scores.n_target + rest * (1 - rejected / scores.n_nontarget),
    }


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
