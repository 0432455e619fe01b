"""Describe in sentences which values of several systems must not be compared."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from ..errors import abbreviate
from ..metrics.caveats import CAVEATS, LEVEL, MOST_LEVEL_DIFFERENCE, OTHER_LEVEL
from ..protocol.protocol import ORIGINAL
from ..results.record_caveats import confirmed_notes, utility_notes
from ..results.records import Results
from ..results.signature import network_notes


def comparability_notes(results: Results, *, utility: bool = True) -> Iterator[str]:
    """Yield notes on systems with different numbers of trials, on recognition that is not ranked
    (unless `utility` is false), and on x-vector networks other than the protocol's."""
    yield from _other_trials(results)
    if utility:
        yield from utility_notes((*results.recognition, *results.emotion, *results.measures))
        yield from _other_levels(results)
    yield from confirmed_notes(results)
    yield from network_notes(results)


def _other_levels(results: Results) -> Iterator[str]:
    """Yield a note on systems whose speech is louder or softer than original speech."""
    levels = [(m.condition, m.values[LEVEL]) for m in results.measures if LEVEL in m.values]
    original = {(c.data_set, c.split, c.gender): x for c, x in levels if c.speech == ORIGINAL}
    differ: dict[str, list[float]] = {}
    for c, level in levels:
        at = c.data_set, c.split, c.gender
        if c.speech != ORIGINAL and at in original:
            differ.setdefault(c.system, []).append(level - original[at])
    means = ((system, fmean(of_sets)) for system, of_sets in differ.items())
    if far := [f"{s} {d:+.1f} dB" for s, d in means if abs(d) > MOST_LEVEL_DIFFERENCE]:
        yield f"{CAVEATS[OTHER_LEVEL].reason}: {abbreviate(far)}"


def _other_trials(results: Results) -> Iterator[str]:
    """Yield a note if systems have different numbers of trials in a condition."""
    counts: dict[str, dict[tuple[int | None, int | None], str]] = {}
    for r in results.verification:
        c = r.condition
        if r.n_target is not None:
            name = f"{c.attack_model or c.asv_model} {c.trial_set}"
            counts.setdefault(name, {}).setdefault((r.n_target, r.n_nontarget), c.system)
    differ = [
        f"{name} ({', '.join(f'{s} {t} + {n}' for (t, n), s in of_name.items())})"
        for name, of_name in counts.items()
        if len(of_name) > 1
    ]
    if differ:
        yield (
            "Not comparable: systems with different numbers of trials (target + nontarget): "
            f"{abbreviate(differ)}"
        )
