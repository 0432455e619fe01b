"""By whom privacy is overestimated: attackers weaker than others on the same trials.

Where both have bootstrap replicates of the same draws, their paired difference decides; otherwise
the values do, and the caveat says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..choices import LEVEL
from ..metrics import CAVEATS, METRICS
from ..metrics.caveats import WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS
from ..metrics.comparison import subtract
from ..metrics.confidence import expanded_interval
from ..protocol.protocol import ORIGINAL, Protocol

if TYPE_CHECKING:
    from .arrays import Arrays, StoredArrays
    from .records import Results, VerificationRecord

    #: Records of other attackers, by the caveat that their lower EER leads to.
    Others = Mapping[str, list[VerificationRecord]]

_DESIGN = ("bootstrap_design", "bootstrap_seed", "bootstrap_speakers")


def with_overestimates(
    records: Iterable[VerificationRecord], protocol: Protocol
) -> Iterator[VerificationRecord]:
    """Add caveats to records with a higher EER than the words alone, or than an aligned or
    normalized variant of the same attacker."""
    for record, others in _compared(tuple(records), protocol):
        caveats = {}
        for key, of_key in others.items():
            if stronger := [o for o in of_key if _is_above(record, o, protocol)]:
                lowest = min(stronger, key=lambda o: _eer(o, protocol))
                caveats[key] = _reason(key, record, lowest, protocol)
        yield record.with_caveats({**record.caveats, **caveats}) if caveats else record


def with_differences(results: Results, arrays: StoredArrays) -> Results:
    """Add the intervals of the paired differences that caveats depend on."""
    protocol, records = results.protocol, []
    for record, others in _compared(results.verification, protocol):
        above = {}
        for other in (o for of_key in others.values() for o in of_key):
            one, two = (arrays.replicates(r, protocol.variant) for r in (record, other))
            if bounds := _paired_bounds(one, two, f"bootstrap_{protocol.variant}_{protocol.eer}"):
                above[other.condition.attacker] = bounds
        records.append(replace(record, above=above) if above else record)
    return replace(results, verification=tuple(records))


def _compared(
    records: tuple[VerificationRecord, ...], protocol: Protocol
) -> Iterator[tuple[VerificationRecord, Others]]:
    """Yield every record with those of attackers who should not be stronger: who reads the words of
    the same trial set, and variants of the same attacker in the same condition."""
    by_words = {a.id for a in protocol.other_attackers if a.scoring == "words"}
    knowing = {a.id for a in protocol.other_attackers if "words" in a.knows} | by_words
    of_words: dict[tuple[str, ...], list[VerificationRecord]] = {}
    of_condition: dict[tuple[str, ...], list[VerificationRecord]] = {}
    for r in records:
        if r.caveat(protocol.eer) is None and protocol.eer in r.values(protocol.variant):
            of_condition.setdefault(_condition(r), []).append(r)
            if r.condition.attacker in by_words:
                of_words.setdefault((r.condition.system, *r.place()), []).append(r)
    for r in records:
        attacker, is_original = r.condition.attacker, r.condition.trial == ORIGINAL
        if is_original or protocol.eer not in r.values(protocol.variant):
            yield r, {}
            continue
        beside = of_condition.get(_condition(r), [])
        variants = [o for o in beside if protocol.is_variant(o.condition.attacker, attacker)]
        words = of_words.get((r.condition.system, *r.place()), [])
        yield (
            r,
            {
                WEAKER_THAN_WORDS: words if attacker not in knowing else [],
                WEAKER_THAN_VARIANT: variants,
            },
        )


def _condition(record: VerificationRecord) -> tuple[str, ...]:
    """Return what all attackers of a condition share."""
    c = record.condition
    return c.system, c.results_folder, *record.place(), c.enrollment, c.trial, c.asv_model


def _eer(record: VerificationRecord, protocol: Protocol) -> float:
    return record.values(protocol.variant)[protocol.eer]


def _is_above(record: VerificationRecord, other: VerificationRecord, protocol: Protocol) -> bool:
    bounds = record.above.get(other.condition.attacker)
    if bounds is not None:
        return bounds[0] > 0
    return _eer(record, protocol) > _eer(other, protocol)


def _reason(
    key: str, record: VerificationRecord, other: VerificationRecord, protocol: Protocol
) -> str:
    """Say by how much another attacker is stronger, and whether that was tested."""
    metric, attacker = METRICS[protocol.eer], other.condition.attacker
    bounds = record.above.get(attacker)
    tested = "by point estimates, not tested"
    if bounds is not None:
        tested = f"difference {metric.interval(bounds)} points"
    named = f" ({attacker})" * (key == WEAKER_THAN_VARIANT)
    text = metric.format(_eer(other, protocol))
    return f"{CAVEATS[key].reason}: {text} %{named}, {tested}"


def _paired_bounds(one: Arrays, other: Arrays, name: str) -> tuple[float, float] | None:
    """Return 95 % bounds of the difference of two EERs; None unless of the same draws."""
    if not all({name, *_DESIGN} <= arrays.keys() for arrays in (one, other)):
        return None
    if any(str(one[entry]) != str(other[entry]) for entry in _DESIGN):
        return None
    first, second = (arrays[name].astype(np.float64) for arrays in (one, other))
    n_speakers = int(one["bootstrap_speakers"])
    if first.shape != second.shape or first.size < 2 or n_speakers < 2:
        return None
    bounds = expanded_interval(subtract(first, second), n_speakers, LEVEL)
    return bounds.low, bounds.high
