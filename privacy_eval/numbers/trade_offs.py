"""The trade-off of privacy and utility, as in the editions since 2022."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..metrics import of_kind
from ..metrics.strongest import Strongest
from .attackers import AttackerEer, Tried
from .cells import ORIGINAL_COLUMN, system_column
from .means import Mean, Means

#: Utility that editions weigh.
UTILITY = ("wer", "uar")


@dataclass(frozen=True)
class TradeOff:
    """Privacy and utility of a system on one split.

    Attributes
    ----------
    system : str
    privacy : Mean
        EER under the protocol's attack model.
    means : mapping
        Utility of anonymized speech by metric of `utility_metrics`; missing ones are left out.
    lowest : AttackerEer or None
        The attacker with the lowest EER of several.
    strongest : Strongest or None
        The same corrected for the choice, where all were measured in the same replicates.
    by_strongest : bool
        Whether the lowest EER is that of the system.
    """

    system: str
    privacy: Mean
    means: Mapping[str, Mean]
    lowest: AttackerEer | None = None
    strongest: Strongest | None = None
    by_strongest: bool = False

    @property
    def eer(self) -> float:
        """The average EER, a fraction."""
        if self.by_strongest and self.lowest is not None:
            return self.lowest.value
        assert self.privacy.value is not None
        return self.privacy.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % bounds of it over speakers."""
        if not self.by_strongest:
            return self.privacy.interval
        return None if self.strongest is None else (self.strongest.lower, self.strongest.upper)

    @property
    def utility(self) -> dict[str, float]:
        """Averages by metric."""
        return {m: mean.value for m, mean in self.means.items() if mean.value is not None}

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """95 % bounds over speakers of the averages that have them, by metric."""
        bounds = {m: mean.interval for m, mean in self.means.items()}
        return {m: interval for m, interval in bounds.items() if interval is not None}


def utility_metrics() -> list[str]:
    """List the metrics of utility that systems can be compared by."""
    return [*UTILITY, *of_kind("measures")]


def utility_means(means: Means, split: str) -> dict[str, dict[str, Mean]]:
    """Average word error rates, recalls of emotions and measures, by system and metric; original
    speech first."""
    columns, metrics = (ORIGINAL_COLUMN, *means.cells.systems), (*UTILITY, *means.cells.measures)
    return {s: {m: means.of(m, None, split, s) for m in metrics} for s in columns}


def with_attackers(
    systems: Iterable[TradeOff],
    tried: Mapping[tuple[str, str], Tried],
    split: str,
    *,
    by_strongest: bool,
) -> list[TradeOff]:
    """Add the strongest attacker of each system; `by_strongest`: only systems that have one, by
    its EER."""
    rows = {system_column(s): row for (s, of), row in tried.items() if of == split and row.lowest}
    return [
        replace(t, lowest=row.lowest, strongest=row.strongest, by_strongest=by_strongest)
        if (row := rows.get(t.system))
        else t
        for t in systems
        if not by_strongest or t.system in rows
    ]


def trade_offs(means: Means, split: str) -> list[TradeOff]:
    """List the systems that have an average EER, with their utility."""
    protocol, utility = means.protocol, utility_means(means, split)
    eers = {
        s: means.of(protocol.eer, protocol.average_attack_model, split, s)
        for s in means.cells.systems
    }
    return [TradeOff(s, eer, utility[s]) for s, eer in eers.items() if eer.value is not None]
