"""Describe in sentences what is missing: conditions, averages, replicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..choices import LEVEL
from ..metrics.confidence import what_is_too_few
from ..results.records import Results
from .challenge_averages import ChallengeAverage


def coverage(results: Results, averages: Mapping[str, Sequence[ChallengeAverage]]) -> list[str]:
    """Describe which conditions and averages of the protocol are missing for each system; systems
    with the same gaps share a line."""
    protocol = results.protocol
    models = {folder.asv_model for folder in protocol.results_folders}
    attacks = [a.id for a in protocol.attack_models if a.asv_model in models]
    sets = [t for t in protocol.trial_sets() if protocol.gender_weights.get(t.gender, 1)]
    expected = [(t, attack) for t in sets for attack in attacks]
    lacking: dict[str, list[str]] = {}
    for system in results.systems:
        conditions = (r.condition for r in results.verification if r.condition.system == system)
        present = {(c.split, c.data_set, c.gender, c.attack_model) for c in conditions}
        missing = Counter(
            f"{t.data_set.title} {t.split}"
            for t, attack in expected
            if (t.split, t.data_set.id, t.gender, attack) not in present
        )
        if missing:
            names = ", ".join(f"{name} ({number})" for name, number in missing.items())
            text = f"{len(expected) - missing.total()} of the protocol's {len(expected)} conditions"
            lacking.setdefault(f"{text}; missing: {names}", []).append(system)
        if all(average.value is None for average in averages[system]):
            text = "no table of averages, as values of some data sets or genders are missing"
            lacking.setdefault(text, []).append(system)
    return [f"{', '.join(systems)}: {text}" for text, systems in lacking.items()]


def too_few_replicates(least: Iterable[float]) -> list[str]:
    """Return a note if there are too few bootstrap replicates, or speakers, for the intervals.

    `least`: the numbers of replicates that are needed, where there are fewer.
    """
    most, level = max(least, default=0.0), f"{100 * LEVEL:g} %"
    notes = {
        "speakers": f"Too few speakers for a {level} interval: those printed are too narrow, even "
        "widened",
        "replicates": f"Too few bootstrap replicates for {level} with so few speakers (needed: at "
        f"least {most:.0f}): intervals are too narrow",
    }
    return [notes[what_is_too_few(most)]] * bool(most)
