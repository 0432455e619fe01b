"""Challenge averages: weighted means over data sets and genders (VoicePrivacy 2022)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..protocol.protocol import ORIGINAL
from .records import Results


@dataclass(frozen=True)
class Average:
    """One average of a system.

    Attributes
    ----------
    title : str
        As in the challenge's summary, e.g. `Weighted average EER dev orig`.
    quantity : str
        What is averaged, with its unit, the same for all splits.
    split : str
    value : float or None
        Percent for rates, dB, or a correlation; None where any part is missing.
    """

    title: str
    quantity: str
    split: str
    value: float | None


def averages(results: Results) -> list[Average]:
    """The averages of one system, in the order of the challenge's summary.

    EER of original speech and under the plan's attack model for averages; WER of
    original speech by the recognizer trained on original speech, and of anonymized
    speech by the one trained like the attacker's model; pitch correlation; G_VD.
    """
    protocol = results.protocol
    attack = next(a for a in protocol.attack_models if a.id == protocol.average_attack_model)
    variant = protocol.variant
    eer = {
        (r.condition.attack_model, r.condition.split, r.condition.data_set, r.condition.gender): 100
        * r.values(variant)["eer"]
        for r in results.verification
        if "eer" in r.values(variant)
    }
    decoded: dict[tuple[str, str | None, str, str], set[float]] = {}
    for r in results.recognition:
        if r.language_model == protocol.recognition.average:
            place = (r.condition.speech, r.asr_model, r.condition.split, r.condition.data_set)
            decoded.setdefault(place, set()).add(100 * r.wer)
    # Several results folders may repeat a line; two different ones leave it open.
    wer = {place: rates.pop() for place, rates in decoded.items() if len(rates) == 1}
    pitch = {
        (r.condition.split, r.condition.data_set, r.condition.gender): r.values[
            "pitch_correlation_mean"
        ]
        for r in results.pitch
    }
    gvd = {
        (r.condition.split, r.condition.data_set, r.condition.gender): r.values(variant)["gvd_db"]
        for r in results.similarity
        if "gvd_db" in r.values(variant)
        and r.condition.results_folder == protocol.results_folders[0].suffix
    }
    cells = [(d.id, g, d.weight) for d in protocol.data_sets for g in protocol.genders]
    sets = [(d.id, d.weight) for d in protocol.recognition.data_sets]
    speech = (
        ("orig", ORIGINAL, ORIGINAL, ORIGINAL),
        ("anon", attack.id, attack.trial, attack.asv_model),
    )
    found = []
    for word, attack_model, _, _ in speech:
        for split in protocol.splits:
            value = _weighted((w, eer.get((attack_model, split, d, g))) for d, g, w in cells)
            title = f"Weighted average EER {split} {word}"
            found.append(Average(title, f"EER, %, {word}", split, value))
    for word, _, spoken, model in speech:
        for split in protocol.splits:
            value = _weighted((w, wer.get((spoken, model, split, d))) for d, w in sets)
            found.append(Average(f"Average WER {split} {word}", f"WER, %, {word}", split, value))
    for values, title, quantity in (
        (pitch, "Weighted average pitch correlation", "Pitch correlation"),
        (gvd, "Weighted average gain of voice distinctiveness", "G_VD, dB"),
    ):
        for split in protocol.splits:
            value = _weighted((w, values.get((split, d, g))) for d, g, w in cells)
            found.append(Average(f"{title} {split}", quantity, split, value))
    return found


def summary_text(found: Iterable[Average]) -> str:
    """Lines as the challenge's summary ends with; averages that are not known left out."""
    return "".join(f"{a.title}: {a.value:.3f}\n" for a in found if a.value is not None)


def _weighted(parts: Iterable[tuple[float, float | None]]) -> float | None:
    total = weights = 0.0
    for weight, value in parts:
        if value is None:
            return None
        total += weight * value
        weights += weight
    return total / weights if weights else None
