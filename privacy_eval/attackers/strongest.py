"""The lowest of several attackers' EERs, and the same corrected for the choice among them.

The minimum of noisy numbers is too low on average, and its own interval leaves out that another
attacker may have been the lowest. The minimum is what was measured, so it is reported first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..metrics.arguments import as_array
from ..metrics.identification import average_ranks

#: EER below which the interval covers the truth less often than it says.
LOW_EER = 0.10
TOO_LOW = f"below {100 * LOW_EER:.0f} % intervals are too short"

OUTSIDE = "too few speakers: the interval does not hold the corrected value"

_TAIL = 0.025

#: Standard deviations of the difference from the lowest within which an attacker is its rival.
_RIVAL = 2


@dataclass(frozen=True)
class Strongest:
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
    """

    name: int
    attackers: int
    minimum: float
    corrected: float
    lower: float
    upper: float
    rivals: tuple[int, ...]

    @property
    def is_too_low(self) -> bool:
        """Whether the interval is too short, as the EER is low."""
        return min(self.minimum, self.corrected) < LOW_EER

    @property
    def is_outside(self) -> bool:
        """Whether the corrected value is outside the interval, as with very few speakers."""
        return not self.lower <= self.corrected <= self.upper


def strongest(estimates: ArrayLike, replicates: ArrayLike) -> Strongest:
    """Find the attacker of the lowest EER, and correct that for the choice among them.

    Parameters
    ----------
    estimates : array_like, shape (K,)
        EERs of the K attackers.
    replicates : array_like, shape (K, R)
        Those of R bootstrap replicates: a column is of the same draw of speakers.

    Returns
    -------
    Strongest
        Of a single attacker: its EER and percentile interval.

    Raises
    ------
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
    given, drawn = (as_array(x, "estimates", np.float64) for x in (estimates, replicates))
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
    return Strongest(
        best,
        len(given),
        float(given[best]),
        float(optimism + drawn[best].mean()),
        float(np.quantile(drawn, _TAIL, axis=1).min()),
        float(np.quantile(drawn[rivals], level, axis=1).min()),
        tuple(map(int, rivals)),
    )
