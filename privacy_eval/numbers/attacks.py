"""What attackers reach against a system: means by attack model, and the strongest of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..metrics import describe, of_kind
from ..protocol.protocol import AttackModel, Protocol
from ..results.records import Results, VerificationRecord
from .cells import ORIGINAL_COLUMN, system_column
from .groups import by_trial_set
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


def strongest(
    results: Results,
) -> dict[str, dict[tuple[str, str, str], VerificationRecord | None]]:
    """Select the least private record of every trial set with several attack models, by metric;
    None where all values are withheld."""
    protocol = results.protocol
    models = {a.id for a in protocol.attack_models if not a.is_original}
    groups = by_trial_set(r for r in results.verification if r.condition.attack_model in models)
    several = {key: of_set for key, of_set in groups.items() if len(of_set) > 1}
    metrics = (key for key, m in of_kind("scores").items() if m.best and m.strongest)
    return {
        key: {place: _least_private(of_set, key, protocol) for place, of_set in several.items()}
        for key in map(protocol.shown, metrics)
    }


def _least_private(
    records: Sequence[VerificationRecord], key: str, protocol: Protocol
) -> VerificationRecord | None:
    values = {
        r.condition: r.values(protocol.variant)[key]
        for r in records
        if key in r.values(protocol.variant) and r.caveat(key, protocol.variant) is None
    }
    least_private = min if describe(key).best == "higher" else max
    informative = [r for r in records if r.condition in values]
    return least_private(informative, key=lambda r: values[r.condition], default=None)
