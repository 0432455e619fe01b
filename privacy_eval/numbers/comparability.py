"""Describe in sentences which values of several systems must not be compared."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import abbreviate
from ..results.record_caveats import confirmed_notes, utility_notes
from ..results.records import Results
from ..results.signature import network_notes


def comparability_notes(results: Results, *, utility: bool = True) -> Iterator[str]:
    """Yield notes on systems with different numbers of trials, on recognition that is not ranked
    (unless `utility` is false), and on x-vector networks other than the protocol's."""
    yield from _other_trials(results)
    if utility:
        yield from utility_notes((*results.recognition, *results.emotion, *results.measures))
    yield from confirmed_notes(results)
    yield from network_notes(results)


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
