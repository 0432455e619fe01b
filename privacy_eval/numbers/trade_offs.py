"""The trade-off of privacy and utility, as in the editions since 2022."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..metrics import of_kind
from ..results.measurements import Row
from .attackers import Tried
from .cells import system_column
from .means import Means

#: Utility that editions weigh.
UTILITY = ("wer", "uar")


def utility_metrics() -> list[str]:
    """List the metrics of utility that systems can be compared by."""
    return [*UTILITY, *of_kind("measures")]


def with_attackers(
    systems: Iterable[Row],
    tried: Mapping[tuple[str, str], Tried],
    split: str,
    *,
    by_strongest: bool,
) -> list[Row]:
    """Add the strongest attacker of each system, `lowest`, and `strongest`, the same corrected for
    the choice, where all were measured in the same replicates; `by_strongest`: only systems that
    have one, by its EER."""
    rows = {system_column(s): row for (s, of), row in tried.items() if of == split and row.lowest}
    found = []
    for t in systems:
        row = rows.get(t["system"])
        if row is None or row.lowest is None:
            found += [t] * (not by_strongest)
            continue
        best = row.strongest
        more: dict[str, Any] = {"lowest": row.lowest}
        if by_strongest:
            low, high = (best.lower, best.upper) if best is not None else (None, None)
            more = {"value": row.lowest["of_present"], "low": low, "high": high}
        found.append({**t, **more, "strongest": best})
    return found


def trade_offs(means: Means, split: str) -> list[Row]:
    """List the average EERs of systems that have one, each with `utility`: averages of anonymized
    speech, by metric."""
    protocol, metrics = means.protocol, (*UTILITY, *means.cells.measures)
    found: list[Row] = []
    for system in means.cells.systems:
        eer = means.of(protocol.eer, protocol.average_attack_model, split, system)
        utility = {m: means.of(m, None, split, system) for m in metrics}
        if eer["value"] is not None:
            rated = {m: mean for m, mean in utility.items() if mean["value"] is not None}
            found.append({**eer, "utility": rated})
    return found
