"""The strongest of several attackers: the lowest of their EERs, also corrected for the choice.

The minimum of noisy numbers is too low on average, and its own interval leaves out that another
attacker may have been the lowest. The minimum is what was measured, so it is reported first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError, abbreviate
from .arguments import as_array
from .confidence import speaker_bootstrap
from .eer import kaldi_eer
from .pav import FloatArray
from .printed import Printed
from .trials import Table, Trials

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


def average_ranks(values: FloatArray) -> FloatArray:
    """Rank values along the last axis; scipy.stats.rankdata is slow to import.

    Parameters
    ----------
    values : float array of shape (..., N)
        Finite.

    Returns
    -------
    float array of shape (..., N)
        Ranks from 1; those of equal values are averaged.

    Examples
    --------
    >>> average_ranks(np.array([[3.0, 1.0, 3.0]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    order = values.argsort(axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    n = np.arange(values.shape[-1])
    changes = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=np.bool_)
    first = np.where(np.concatenate([edge, changes], axis=-1), n, 0)
    last = np.where(np.concatenate([changes, edge], axis=-1), n, n[-1])
    first = np.maximum.accumulate(first, axis=-1)
    last = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks
