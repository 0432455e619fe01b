"""The averages at the end of the challenge's summary (VoicePrivacy 2022)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..metrics import describe
from ..metrics.caveats import note_of
from ..results.records import Results
from .cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, cells_from_results, system_column
from .means import Mean, mean_of

#: As in the summary.
_DECIMALS = 3


@dataclass(frozen=True)
class ChallengeAverage:
    """One line of the summary.

    Attributes
    ----------
    title : str
        As there, e.g. `Weighted average EER dev orig`.
    quantity : str
        Quantity and unit, the same for all splits.
    split : str
    mean : Mean
    """

    title: str
    quantity: str
    split: str
    mean: Mean

    @property
    def value(self) -> float | None:
        """Percent for rates, dB, or a correlation; None where any part is missing."""
        value = self.mean.value
        return None if value is None else describe(self.mean.metric).printed(value)

    @property
    def text(self) -> str:
        """The value as it is printed; "" where it is not known."""
        return "" if self.value is None else self.mean.text(decimals=_DECIMALS)


def challenge_averages(results: Results) -> list[ChallengeAverage]:
    """Compute the averages of one system, in the order of the summary.

    EER of original speech and under the protocol's attack model for averages; WER of
    original speech by the recognizer trained on original speech, and of anonymized
    speech by the one trained like the attacker's model; pitch correlation; G_VD of the first
    results folder.
    """
    protocol = results.protocol
    first = protocol.results_folders[0].suffix
    similarity = (s for s in results.similarity if s.condition.results_folder == first)
    cells = cells_from_results(replace(results, similarity=tuple(similarity)))
    original = (ORIGINAL_ATTACK, ORIGINAL_COLUMN)
    system = system_column(results.systems[0])
    rows = (
        ("Weighted average EER {} orig", "EER, %, orig", protocol.eer, *original),
        (
            "Weighted average EER {} anon",
            "EER, %, anon",
            protocol.eer,
            protocol.average_attack_model,
            system,
        ),
        ("Average WER {} orig", "WER, %, orig", "wer", None, ORIGINAL_COLUMN),
        ("Average WER {} anon", "WER, %, anon", "wer", None, system),
        (
            "Weighted average pitch correlation {}",
            "Pitch correlation",
            "pitch_correlation_mean",
            None,
            system,
        ),
        (
            "Weighted average gain of voice distinctiveness {}",
            "G_VD, dB",
            "gvd_db",
            None,
            system,
        ),
    )
    return [
        ChallengeAverage(
            title.format(split),
            quantity,
            split,
            mean_of(cells, protocol, metric, attack_model, split, of),
        )
        for title, quantity, metric, attack_model, of in rows
        for split in protocol.splits
    ]


def summary_text(averages: Iterable[ChallengeAverage]) -> str:
    """Write the last lines of the challenge's summary; missing averages are omitted. Reasons why
    marked ones are implausible follow."""
    complete = [a for a in averages if a.value is not None]
    lines = [f"{a.title}: {a.text}\n" for a in complete]
    reasons = (f"{note_of(a.mean.caveat)}\n" for a in complete if a.mean.caveat is not None)
    return "".join([*lines, *dict.fromkeys(reasons)])
