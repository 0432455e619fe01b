"""Linkability D_sys: how much more likely target scores are to be target than not.

0 is full privacy, 1 full linkability. References: Gomez-Barrero et al. (2017);
comparative study of metrics, section 3.3; of the densities Silverman, "Density estimation" (1986),
eq. (3.31).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pav import FloatArray, Sets
from .trial_scores import Replicates, TrialScores, Variant, bin_edges, check_scores

#: Most bins of the histograms, and fewest targets of each bin.
MAX_BINS = 100
TARGETS_PER_BIN = 10
#: With fewer target scores there is a single bin, and D_sys is 0 whatever the scores.
LINKABILITY_MIN_TARGETS = 2 * TARGETS_PER_BIN


@dataclass(frozen=True)
class Linkability:
    """Global linkability with its histograms; of `Replicates`, `value` is an array, and the others
    are those of all, one after the other.

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
    scores: TrialScores | Replicates, *, omega: float = 1.0, variant: Variant = "exact"
) -> Linkability:
    """Compute D_sys from min(T // 10, 100) equal bins between the extreme scores.

    Where all scores are equal the released script gives no number (nan); both variants give 0
    here, for scores that link nothing.

    Parameters
    ----------
    scores : TrialScores or Replicates
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
    check_scores(scores, variant)
    if not omega > 0:
        raise ValueError(f"omega must be positive, not {omega}")
    edges, (target, nontarget), sets = _histograms(scores)
    # Bins are of equal width: the ratio of densities is that of the masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = omega * np.where(nontarget > 0, target / nontarget, 1.0)
    local = np.where(ratio > 1, 2 * ratio / (1 + ratio) - 1, 0.0)
    local = np.where((nontarget == 0) & (target > 0), 1.0, local)
    linked = local * target
    if variant == "challenge":  # trapezoid rule over bin centres: both end bins count half
        linked[sets.first] /= 2
        linked[sets.last] /= 2
        linked[sets.first[sets.first == sets.last]] = 0
    counts = scores.n_target, scores.n_nontarget
    value = scores.each(sets.sums(linked))
    return Linkability(value, edges, target, nontarget, local, *counts, variant)


def _histograms(trials: TrialScores | Replicates) -> tuple[FloatArray, list[FloatArray], Sets]:
    """Compute the bin edges and the masses of targets and nontargets, set by set."""
    lowest_target, highest_target, lowest, highest = trials.extremes
    equal = (lowest_target == highest) & (lowest == highest_target)
    bins = np.where(equal, 1, np.clip(trials.target_counts // TARGETS_PER_BIN, 1, MAX_BINS))
    sets = Sets(np.cumsum(bins + 1) - bins - 1, int(bins.sum()) + bins.size)  # number of edges
    ends = np.minimum(lowest_target, lowest), np.maximum(highest_target, highest)
    edges = bin_edges(*ends, bins, sets)
    masses = []
    counts = trials.target_counts, trials.nontarget_counts
    for below, total in zip(trials.counts_below(edges, sets), counts, strict=True):
        below[sets.last] = total  # the last bin includes its upper edge
        masses.append(np.delete(np.append(np.diff(below), 0) / sets.spread(total), sets.last))
    return edges, masses, Sets(np.cumsum(bins) - bins, int(bins.sum()))


_DENSITY_POINTS = 256


_DENSITY_BINS = 2048


def densities(scores: TrialScores) -> dict[str, FloatArray]:
    """Estimate Gaussian kernel densities at 256 points from the lowest to the highest score.

    Bandwidth 0.9 min(std, IQR/1.34) n^(-1/5), Silverman's eq. (3.31), or 0.9 std n^(-1/5)
    where the quartiles coincide, and never less than the distance of two points. Kernels are
    centred in 2048 equal bins, see `TrialScores.edges`.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    dict of str to float array, shape (256,)
        `scores`; `target` and `nontarget`, per unit of score.

    Examples
    --------
    >>> curves = densities(TrialScores([2.0, 3.0], [0.0, 1.0]))
    >>> curves["scores"].shape, bool(curves["target"][0] < curves["nontarget"][0])
    ((256,), True)
    """
    check_scores(scores)
    edges = scores.edges(_DENSITY_BINS)
    return {
        "scores": scores.edges(_DENSITY_POINTS - 1),
        "target": _density(scores.target, edges),
        "nontarget": _density(scores.nontarget, edges),
    }


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
