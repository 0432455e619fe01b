"""What every attacker reaches against every system: means by system, split and attack model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..metrics import describe
from ..protocol.protocol import AttackModel
from .cells import ORIGINAL_COLUMN, system_column
from .means import Mean
from .report_data import ReportData


@dataclass(frozen=True)
class Attack:
    """Means of a system under an attack model, over the available conditions of a split.

    Attributes
    ----------
    system, split : str
    model : AttackModel
    means : mapping
        By metric, the protocol's EER first. Those of voice similarity do not depend on the attack.
    """

    system: str
    split: str
    model: AttackModel
    means: Mapping[str, Mean]

    @property
    def eer(self) -> Mean:
        """The mean EER."""
        return next(iter(self.means.values()))


def attacks(data: ReportData, *metrics: str) -> Iterator[Attack]:
    """Average the protocol's EER and other metrics of every system, split and attack model with
    any record, original speech included."""
    evaluated = {
        (r.condition.system, r.condition.split, r.condition.attack_model)
        for r in data.results.verification
    }
    for system, split, model in itertools.product(
        data.results.systems, data.protocol.splits, data.protocol.attack_models
    ):
        if (system, split, model.id) in evaluated:
            column = ORIGINAL_COLUMN if model.is_original else system_column(system)
            means = {}
            for metric in (data.protocol.eer, *metrics):
                under = model.id if describe(metric).kind == "scores" else None
                means[metric] = data.mean(metric, under, split, column)
            yield Attack(system, split, model, means)
