"""Linkability D_sys: how much more likely target scores are to be target than not.

0 is full privacy, 1 full linkability. References: Gomez-Barrero et al. (2017);
comparative study of metrics, section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pav import FloatArray, IntArray
from .trial_scores import TrialScores, Variant, check_scores, check_variant

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
    bins = max(min(scores.n_target // _TARGETS_PER_BIN, _MAX_BINS), 1)
    lowest, highest = (scores.nontarget_at(i) for i in (0, scores.n_nontarget - 1))
    if scores.target[0] == highest and lowest == scores.target[-1]:
        bins = 1  # all scores are equal
    edges = scores.edges(bins)
    target = histogram(scores.target, edges) / scores.n_target
    below = scores.count_nontargets(edges, "left")
    below[-1] = scores.n_nontarget
    nontarget = np.diff(below) / scores.n_nontarget
    # Bins are of equal width: the ratio of densities is that of the masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = omega * np.where(nontarget > 0, target / nontarget, 1.0)
    local = np.where(ratio > 1, 2 * ratio / (1 + ratio) - 1, 0.0)
    local = np.where((nontarget == 0) & (target > 0), 1.0, local)
    linked = local * target
    if variant == "exact":
        value = float(linked.sum())
    else:  # the trapezoid rule over bin centres: half of the first and the last bin
        value = float((linked[1:] + linked[:-1]).sum() / 2)
    return Linkability(
        value, edges, target, nontarget, local, scores.n_target, scores.n_nontarget, variant
    )


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
