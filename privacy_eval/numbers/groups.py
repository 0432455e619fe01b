"""How often people are identified in groups: means over the trial sets of an attack."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..results.records import IdentificationRecord


def found_in_groups(
    records: Iterable[IdentificationRecord],
) -> dict[tuple[str, str], tuple[int, int, float]]:
    """Average how often the right person is found in the largest group of at most 20 that all
    records of a system and attack model have: size, rank, and the mean over tests."""
    groups: dict[tuple[str, str], list[IdentificationRecord]] = {}
    for r in records:
        groups.setdefault((r.condition.system, r.condition.attack_model or ""), []).append(r)
    rates = {}
    for key, of_key in groups.items():
        shared = set.intersection(*({n for n in r.sizes if 1 < n <= 20} for r in of_key))
        ranks = {r.rank for r in of_key}
        if shared and len(ranks) == 1:
            size = max(shared)
            linkage = [r.linkage[r.sizes.index(size)] for r in of_key]
            mean = float(np.average(linkage, weights=[r.n_tests for r in of_key]))
            rates[key] = size, ranks.pop(), mean
    return rates
