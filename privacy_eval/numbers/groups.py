"""Records by trial set, the split that sentences are about, and groups of speakers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..choices import grouped
from ..protocol.protocol import Protocol
from ..results.measurements import Row
from ..results.records import Record, Results

OfSet = TypeVar("OfSet", bound=Record)


def main_split(protocol: Protocol, records: Iterable[Record]) -> str:
    """Return the split that sentences describe: the last with records, usually the test set."""
    present = {vars(r.condition)["split"] for r in records}
    return next((s for s in reversed(protocol.splits) if s in present), protocol.splits[-1])


def by_trial_set(records: Iterable[OfSet]) -> dict[tuple[str, str, str], list[OfSet]]:
    """Group records by split, data set and gender."""
    return grouped(records, lambda r: (r.condition.split, r.condition.data_set, r.condition.gender))


def lacking_groups(results: Results, column: str) -> Iterator[str]:
    """Say what cannot be computed by the groups of a column from what the tree has."""
    without = [r for r in results.recognition if column not in r.group_columns]
    if without:
        yield (
            f"Not by {column}: {len(without)} of {len(results.recognition)} word error rates, for "
            "which there are no transcripts of speakers with a group"
        )
    if results.emotion:
        yield (
            f"Not by {column}: recalls of emotions, of which the tree has means over folds only, "
            "no predictions (uar --by takes these)"
        )


def recognizer(row: Row, protocol: Protocol) -> str:
    """Name the recognizer and the language model of a rate, each where the protocol has several."""
    asr, language = row.get("asr_model"), row.get("language_model")
    models = (
        f"trained on {asr}" if asr and len(protocol.recognition.models) > 1 else "",
        language if language and len(protocol.recognition.language_models) > 1 else "",
    )
    return ", ".join(filter(None, models))
