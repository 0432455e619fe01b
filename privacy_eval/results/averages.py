"""Challenge averages: weighted means over data sets and genders (VoicePrivacy 2022)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..metrics import Caveat
from ..metrics.caveats import marked_text, note_of, worst_caveat
from ..protocol.protocol import ORIGINAL
from .records import Results

T = TypeVar("T", float, NDArray[np.float64])


@dataclass(frozen=True)
class Average:
    """One average of a system.

    Attributes
    ----------
    title : str
        As in the challenge's summary, e.g. `Weighted average EER dev orig`.
    quantity : str
        Quantity and unit, the same for all splits.
    split : str
    value : float or None
        Percent for rates, dB, or a correlation; None where any part is missing.
    caveat : Caveat or None
        For which it must be neither ranked nor graded.
    """

    title: str
    quantity: str
    split: str
    value: float | None
    caveat: Caveat | None = None

    @property
    def text(self) -> str:
        """The value as it is printed; "" where it is not known."""
        return marked_text("" if self.value is None else f"{self.value:.3f}", self.caveat)


def averages(results: Results) -> list[Average]:
    """Compute the averages of one system, in the order of the challenge's summary.

    EER of original speech and under the protocol's attack model for averages; WER of
    original speech by the recognizer trained on original speech, and of anonymized
    speech by the one trained like the attacker's model; pitch correlation; G_VD.
    """
    protocol = results.protocol
    attack = next(a for a in protocol.attack_models if a.id == protocol.average_attack_model)
    original = next((a.id for a in protocol.attack_models if a.is_original), None)
    collected, caveats = _collected(results)
    cells = [((d.id, g), d.weight) for d in protocol.data_sets for g in protocol.genders]
    sets = [((d.id,), d.weight) for d in protocol.recognition.data_sets]

    def mean(quantity: tuple[str | None, ...], split: str) -> float | None:
        parts: list[tuple[float, float | None]] = []
        for key, weight in sets if quantity[0] == "wer" else cells:
            values = collected.get((*quantity, split, *key), set())
            parts.append((weight, next(iter(values)) if len(values) == 1 else None))
        return weighted_mean(parts)

    rows = (
        ("Weighted average EER {} orig", "EER, %, orig", ("eer", original)),
        ("Weighted average EER {} anon", "EER, %, anon", ("eer", attack.id)),
        ("Average WER {} orig", "WER, %, orig", ("wer", ORIGINAL, ORIGINAL)),
        (
            "Average WER {} anon",
            "WER, %, anon",
            ("wer", attack.trial, protocol.recognition.average_model or attack.asv_model),
        ),
        (
            "Weighted average pitch correlation {}",
            "Pitch correlation",
            ("pitch_correlation_mean",),
        ),
        ("Weighted average gain of voice distinctiveness {}", "G_VD, dB", ("gvd_db",)),
    )
    return [
        Average(
            title.format(split),
            quantity,
            split,
            mean(key, split),
            worst_caveat(caveats.get((*key, split), ())),
        )
        for title, quantity, key in rows
        for split in protocol.splits
    ]


def _collected(
    results: Results,
) -> tuple[dict[tuple[str | None, ...], set[float]], dict[tuple[str | None, ...], list[Any]]]:
    """Return values by quantity, split, data set and (except WER) gender; the caveats of EERs by
    attack model and split."""
    protocol, variant = results.protocol, results.protocol.variant
    collected: dict[tuple[str | None, ...], set[float]] = {}
    caveats: dict[tuple[str | None, ...], list[Caveat | None]] = {}
    for v in results.verification:
        c = v.condition
        if c.attack_model is not None and protocol.eer in v.values(variant):
            value = 100 * v.values(variant)[protocol.eer]
            collected["eer", c.attack_model, c.split, c.data_set, c.gender] = {value}
            caveats.setdefault(("eer", c.attack_model, c.split), []).append(v.caveat("eer"))
    for r in results.recognition:
        if r.language_model == protocol.recognition.average:
            d = r.condition
            # Results folders may repeat a value; of conflicting ones there is no average.
            rates = collected.setdefault(("wer", d.speech, r.asr_model, d.split, d.data_set), set())
            rates.add(100 * r.line.wer)
    measured = [(u.condition, u.values) for u in results.utility]
    measured += [
        (m.condition, m.values(variant))
        for m in results.similarity
        if m.condition.results_folder == protocol.results_folders[0].suffix
    ]
    for s, values in measured:
        for key, value in values.items():
            collected[key, s.split, s.data_set, s.gender] = {value}
    return collected, caveats


def weighted_mean(parts: Iterable[tuple[float, T | None]]) -> T | None:
    """Compute the weighted mean of values or arrays; None if any is missing. A weight of 0
    excludes missing and infinite values."""
    total: Any = 0.0
    weights = 0.0
    for weight, value in parts:
        if not weight:
            continue
        if value is None:
            return None
        total = total + weight * value
        weights += weight
    return total / weights if weights else None


def summary_text(averages: Iterable[Average]) -> str:
    """Write the last lines of the challenge's summary; missing averages are omitted. Reasons why
    marked ones are implausible follow."""
    known = [a for a in averages if a.value is not None]
    lines = [f"{a.title}: {a.text}\n" for a in known]
    reasons = (f"{note_of(a.caveat)}\n" for a in known if a.caveat is not None)
    return "".join([*lines, *dict.fromkeys(reasons)])
