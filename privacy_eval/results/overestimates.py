"""Paired differences of attackers, which tell whether privacy is overestimated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..metrics.comparison import paired_bounds
from .arrays import Arrays, StoredArrays
from .records import Results, compared_attackers

_DESIGN = ("bootstrap_design", "bootstrap_seed", "bootstrap_speakers")


def with_differences(results: Results, arrays: StoredArrays) -> Results:
    """Add the intervals of the paired differences that caveats depend on."""
    protocol, records = results.protocol, []
    for record, others in compared_attackers(results.verification, protocol):
        above = {}
        for other in (o for of_key in others.values() for o in of_key):
            one, two = (arrays.replicates(r, protocol.variant) for r in (record, other))
            if bounds := _paired_bounds(one, two, f"bootstrap_{protocol.variant}_{protocol.eer}"):
                above[other.condition.attacker] = bounds
        records.append(replace(record, above=above) if above else record)
    return replace(results, verification=tuple(records))


def _paired_bounds(one: Arrays, other: Arrays, name: str) -> tuple[float, float] | None:
    """Return 95 % bounds of the difference of two EERs; None unless of enough of the same draws."""
    if not all({name, *_DESIGN} <= arrays.keys() for arrays in (one, other)):
        return None
    if any(str(one[entry]) != str(other[entry]) for entry in _DESIGN):
        return None
    first, second = (arrays[name].astype(np.float64) for arrays in (one, other))
    if first.shape != second.shape:
        return None
    return paired_bounds(first, second, int(one["bootstrap_speakers"]))
