"""Describe in sentences what results contain, and what is missing."""

from __future__ import annotations

from collections import Counter

from ..errors import counted
from ..numbers.challenge_averages import challenge_averages
from ..results.records import Results
from ..version import __version__

# Number of lines on conditions that were not evaluated, of possibly hundreds.
_ABSENT_SHOWN = 20


def contents(results: Results) -> list[str]:
    """Describe what the report contains, and what is missing."""
    lines = [
        f"{counted(len(results.systems), 'system')}, "
        f"{counted(len(results.verification), 'condition')}, "
        f"{counted(len(results.similarity), 'voice similarity')}, "
        f"{counted(len(results.recognition), 'word error rate')}. "
        f"Written by privacy_eval {__version__}.",
        *coverage(results),
    ]
    partial = [r.condition for r in results.verification if r.left_out]
    if partial:
        lines.append(
            f"{counted(len(partial), 'condition')} with trials left out on request: "
            + "; ".join(f"{c.system} {c.name}" for c in partial)
        )
    absent = results.not_evaluated
    lines += [f"Not evaluated: {line}" for line in absent[:_ABSENT_SHOWN]]
    if len(absent) > _ABSENT_SHOWN:
        lines.append(f"... and {len(absent) - _ABSENT_SHOWN} more, listed in results.json")
    return lines


def coverage(results: Results) -> list[str]:
    """Describe which conditions and averages of the protocol are missing for each system; systems
    with the same gaps share a line."""
    protocol = results.protocol
    models = {folder.asv_model for folder in protocol.results_folders}
    attacks = [a.id for a in protocol.attack_models if a.asv_model in models]
    expected = [(t, attack) for t in protocol.trial_sets() for attack in attacks]
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
        if all(average.value is None for average in challenge_averages(results.of(system))):
            text = "no table of averages, as values of some data sets or genders are missing"
            lacking.setdefault(text, []).append(system)
    return [f"{', '.join(systems)}: {text}" for text, systems in lacking.items()]
