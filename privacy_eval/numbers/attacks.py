"""What every attacker reaches against a system: means by split and attack model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..metrics import of_kind
from ..protocol.protocol import AttackModel, Protocol
from ..results.records import Results
from .cells import ORIGINAL_COLUMN, system_column
from .means import Mean, Means


@dataclass(frozen=True)
class Attack:
    """Means of a system under an attack model, over the available conditions of a split.

    Attributes
    ----------
    system, split : str
    model : AttackModel
    means : mapping
        By `attack_metrics`, the protocol's EER first.
    deid : Mean
        De-identification, which does not depend on the attack.
    """

    system: str
    split: str
    model: AttackModel
    means: Mapping[str, Mean]
    deid: Mean

    @property
    def eer(self) -> Mean:
        """The mean EER."""
        return next(iter(self.means.values()))


def attack_metrics(protocol: Protocol) -> list[str]:
    """List the metrics on scores that attacks are compared by, the protocol's EER first."""
    keys = (key for key, m in of_kind("scores").items() if m.best and m.compared)
    return list(dict.fromkeys((protocol.eer, *map(protocol.shown, keys))))


def attacks(means: Means, results: Results) -> Iterator[Attack]:
    """Average the values of a single system under every attack model with any record, original
    speech included."""
    (system,) = results.systems
    keys = attack_metrics(means.protocol)
    evaluated = {(r.condition.split, r.condition.attack_model) for r in results.verification}
    for split, model in itertools.product(means.protocol.splits, means.protocol.attack_models):
        if (split, model.id) in evaluated:
            column = ORIGINAL_COLUMN if model.is_original else system_column(system)
            of_scores = {key: means.of(key, model.id, split, column) for key in keys}
            yield Attack(system, split, model, of_scores, means.of("deid", None, split, column))
