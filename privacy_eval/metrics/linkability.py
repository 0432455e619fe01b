"""Linkability D_sys: how much more likely target scores are to be target than not.

0 is full privacy, 1 full linkability. References: Gomez-Barrero et al. (2017);
comparative study of metrics, section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pav import FloatArray, IntArray, Sets
from .replicates import Replicates
from .trial_scores import TrialScores, Variant, bin_edges, check_scores, check_variant

_MAX_BINS = 100
_TARGETS_PER_BIN = 10
#: With fewer target scores there is only one bin, and D_sys is 0 for any scores.
LINKABILITY_MIN_TARGETS = 2 * _TARGETS_PER_BIN


@dataclass(frozen=True)
class Linkability:
    """Global linkability with its histograms.

    Attributes
    ----------
    value : float
        D_sys.
    edges : float array, shape (B+1,)
        Bin edges; if all scores are equal, one bin of width 1 around them.
    target_mass, nontarget_mass : float arrays, shape (B,)
        Fraction of the target and of the nontarget scores in each bin.
    local : float array, shape (B,)
        D(s) of each bin.
    n_target, n_nontarget : int
    variant : str
    """

    value: float
    edges: FloatArray
    target_mass: FloatArray
    nontarget_mass: FloatArray
    local: FloatArray
    n_target: int
    n_nontarget: int
    variant: Variant


def linkability(
    scores: TrialScores, *, omega: float = 1.0, variant: Variant = "exact"
) -> Linkability:
    """Compute D_sys from min(T // 10, 100) equal bins between the extreme scores.

    Where all scores are equal the released script gives no number (nan); both variants give 0
    here, for scores that link nothing.

    Parameters
    ----------
    scores : TrialScores
    omega : float
        Ratio of the priors of target and nontarget trials.
    variant : {"exact", "challenge"}
        `exact` sums D over the target probability of every bin (at least one bin). `challenge`
        integrates by trapezoids over the bin centres as the released script does, which drops
        half of both end bins: separated scores give less than 1, less than 20 targets give 0.

    Returns
    -------
    Linkability

    Raises
    ------
    ValueError
        `omega` is not positive.

    Examples
    --------
    >>> linkability(TrialScores([2.0] * 20, [0.0] * 20)).value
    1.0
    """
    check_scores(scores)
    check_variant(variant)
    if not omega > 0:
        raise ValueError(f"omega must be positive, not {omega}")
    bins = int(_bins(np.array(scores.n_target)))
    lowest, highest = (scores.nontarget_at(i) for i in (0, scores.n_nontarget - 1))
    if scores.target[0] == highest and lowest == scores.target[-1]:
        bins = 1  # all scores are equal
    edges = scores.edges(bins)
    target = histogram(scores.target, edges) / scores.n_target
    below = scores.count_nontargets(edges, "left")
    below[-1] = scores.n_nontarget
    nontarget = np.diff(below) / scores.n_nontarget
    local = _local(target, nontarget, omega)
    value = float(_global(local * target, Sets(np.zeros(1, dtype=np.int64), bins), variant)[0])
    return Linkability(
        value, edges, target, nontarget, local, scores.n_target, scores.n_nontarget, variant
    )


def batch_linkability(replicates: Replicates, *, variant: Variant) -> FloatArray:
    """Compute `linkability` of each replicate, with omega = 1.

    Parameters
    ----------
    replicates : Replicates
    variant : {"exact", "challenge"}

    Returns
    -------
    float array, shape (R,)

    See Also
    --------
    linkability : of a single set of trials.
    """
    of = replicates.of
    n_target, n_nontarget = replicates.target_counts, replicates.nontarget_counts
    lowest_target, highest_target, lowest, highest = replicates.extremes
    equal = (lowest_target == highest) & (lowest == highest_target)
    bins = np.where(equal, 1, _bins(n_target))
    sets = Sets(np.cumsum(bins + 1) - bins - 1, int(bins.sum()) + bins.size)  # of edges
    ends = np.minimum(lowest_target, lowest), np.maximum(highest_target, highest)
    edges = bin_edges(*ends, bins, sets)
    masses = []
    for scores, counted, total in (
        (of.target, replicates.cumulative_targets, n_target),
        (of.nontarget, replicates.cumulative_nontargets, n_nontarget),
    ):
        below = counted[sets.number, np.searchsorted(scores, edges)]
        below[sets.last] = total
        masses.append(np.append(np.diff(below), 0) / sets.spread(total))
    within = np.delete(np.arange(sets.size), sets.last)
    target, nontarget = (mass[within] for mass in masses)
    linked = _local(target, nontarget, 1.0) * target
    return _global(linked, Sets(np.cumsum(bins) - bins, within.size), variant)


def _bins(n_target: IntArray) -> IntArray:
    return np.clip(n_target // _TARGETS_PER_BIN, 1, _MAX_BINS)


def _local(target: FloatArray, nontarget: FloatArray, omega: float) -> FloatArray:
    """D(s) of bins with these masses."""
    # Bins are of equal width: the ratio of densities is that of the masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = omega * np.where(nontarget > 0, target / nontarget, 1.0)
    local = np.where(ratio > 1, 2 * ratio / (1 + ratio) - 1, 0.0)
    return np.where((nontarget == 0) & (target > 0), 1.0, local)


def _global(linked: FloatArray, sets: Sets, variant: Variant) -> FloatArray:
    """D_sys of each set of bins."""
    if variant == "challenge":  # the trapezoid rule over bin centres: half of both end bins
        linked = linked.copy()
        linked[sets.first] /= 2
        linked[sets.last] /= 2
        linked[sets.first[sets.first == sets.last]] = 0
    return sets.sums(linked)


def histogram(ascending: FloatArray, edges: FloatArray) -> IntArray:
    """Count sorted values per bin; the last bin includes its upper edge.

    Parameters
    ----------
    ascending : float array, shape (N,)
    edges : float array, shape (B+1,)

    Returns
    -------
    int array, shape (B,)

    Examples
    --------
    >>> histogram(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    array([1, 2])
    """
    cumulated = np.searchsorted(ascending, edges, side="left")
    cumulated[-1] = ascending.size
    return np.diff(cumulated)
