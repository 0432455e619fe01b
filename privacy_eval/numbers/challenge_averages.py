"""The averages at the end of the challenge's summary (VoicePrivacy 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..choices import LEVEL
from ..metrics import describe
from ..metrics.caveats import note_of
from ..metrics.confidence import what_is_too_few
from ..results.measurements import Row
from ..results.records import Results
from .cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, cells_from_results, system_column
from .means import Means

#: As in the summary.
_DECIMALS = 3


def challenge_averages(results: Results) -> list[Row]:
    """Compute the averages of one system, in the order of the summary: rows with their `title`
    there, and their `quantity` and unit, the same for all splits; `printed` as there.

    EER of the challenge's own attacker, of original speech and under the protocol's attack model
    for averages; WER of original speech by the recognizer trained on original speech, and of
    anonymized speech by the one trained like the attacker's model; pitch correlation; G_VD of the
    first results folder. Without those of metrics that the edition does not have.
    """
    protocol, results = results.protocol, results.by_challenge()
    first = protocol.results_folders[0].suffix
    similarity = (s for s in results.similarity if s.condition.results_folder == first)
    means = Means(cells_from_results(replace(results, similarity=tuple(similarity))), protocol)
    original = (ORIGINAL_ATTACK, ORIGINAL_COLUMN)
    system = system_column(results.systems[0])
    eer = describe(protocol.eer)
    rows = (
        (f"Weighted average {eer.name} {{}} orig", f"{eer.column.title}, orig", eer.key, *original),
        (
            f"Weighted average {eer.name} {{}} anon",
            f"{eer.column.title}, anon",
            eer.key,
            protocol.average_attack_model,
            system,
        ),
        ("Average WER {} orig", "WER, %, orig", "wer", None, ORIGINAL_COLUMN),
        ("Average WER {} anon", "WER, %, anon", "wer", None, system),
        (
            "Weighted average pitch correlation {}",
            "Pitch correlation (0.25 by chance)",
            "pitch_correlation_mean",
            None,
            system,
        ),
        ("Weighted average gain of voice distinctiveness {}", "G_VD, dB", "gvd_db", None, system),
    )
    of_edition = {protocol.shown(m) for table in protocol.paper for m in table.metrics}
    averages: list[Row] = []
    for title, quantity, metric, attack_model, of in rows:
        for split in protocol.splits if metric in of_edition or not of_edition else ():
            mean = means.of(metric, attack_model, split, of)
            form, value = describe(metric).format, mean["value"]
            text = "" if value is None else form(value, decimals=_DECIMALS, mean=True)
            named = {"title": title.format(split), "quantity": quantity, "printed": text}
            averages.append({**mean, **named})
    return averages


def summary_text(averages: Iterable[Row]) -> str:
    """Write the last lines of the challenge's summary; missing averages are omitted, and those
    with implausible parts named, with the reasons."""
    averages = list(averages)
    lines = [f"{a['title']}: {a['printed']}\n" for a in averages if a["value"] is not None]
    lines += [f"No {a['title']}: {a['why_blank']}\n" for a in averages if a["withheld"]]
    reasons = (f"{note_of(a['caveat'])}\n" for a in averages if a["caveat"] is not None)
    return "".join([*lines, *dict.fromkeys(reasons)])


def coverage(results: Results, averages: Mapping[str, Sequence[Row]]) -> list[str]:
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
        if all(average["value"] is None for average in averages[system]):
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
