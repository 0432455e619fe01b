"""Records by trial set, and the split that sentences are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ..protocol.protocol import Protocol
from ..results.records import (
    AmountRecord,
    AttributeRecord,
    IdentificationRecord,
    SimilarityRecord,
    VerificationRecord,
)

OfSet = TypeVar(
    "OfSet", bound=VerificationRecord | SimilarityRecord | IdentificationRecord | AmountRecord
)


def main_split(
    protocol: Protocol,
    records: Iterable[VerificationRecord | IdentificationRecord | AmountRecord | AttributeRecord],
) -> str:
    """Return the split that sentences describe: the last with records, usually the test set."""
    present = {r.condition.split for r in records}
    return next((s for s in reversed(protocol.splits) if s in present), protocol.splits[-1])


def by_trial_set(records: Iterable[OfSet]) -> dict[tuple[str, str, str], list[OfSet]]:
    """Group records by split, data set and gender."""
    groups: dict[tuple[str, str, str], list[OfSet]] = {}
    for r in records:
        c = r.condition
        groups.setdefault((c.split, c.data_set, c.gender), []).append(r)
    return groups
