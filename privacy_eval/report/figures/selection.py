"""Select the records and arrays of each condition that figures of curves are drawn from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from ...numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN
from ...numbers.report_data import ReportData
from ...protocol.protocol import Protocol
from ...results.arrays import Arrays, StoredArrays
from ...results.records import Results, VerificationRecord
from ...tree.conditions import TrialCondition
from . import style

#: Systems of a figure of curves; more are split over several.
MOST_SYSTEMS = 20

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Content of a figure of a condition.

    Attributes
    ----------
    items : list
        Those of at most `MOST_SYSTEMS` systems, then that of original speech.
    conditions : list of TrialCondition
        Of these items.
    key : tuple of str
        Parts of a file name.
    title, part : str
        Title of the condition; number of the page, e.g. ` (1 of 2)`.
    """

    items: list[Item]
    conditions: list[TrialCondition]
    key: tuple[str, ...]
    title: str
    part: str


class Key(NamedTuple):
    """A trial set under an attack model; also the parts of a file name."""

    attack_model: str
    data_set: str
    split: str
    gender: str

    def title(self, protocol: Protocol) -> str:
        """Title of the condition."""
        attack = next(a.title for a in protocol.attack_models if a.id == self.attack_model)
        return f"{set_title(protocol, *self[1:])}, {attack.lower()}"


def set_title(protocol: Protocol, data_set: str, split: str, gender: str) -> str:
    """Title of a trial set."""
    return f"{protocol.data_set(data_set).title} {split}, {protocol.genders[gender]}"


def key_of(record: VerificationRecord) -> Key | None:
    """The trial set and attack model of a record; None without an attack model."""
    c = record.condition
    if c.attack_model is None:
        return None
    attack = ORIGINAL_ATTACK if c.is_original else c.attack_model
    return Key(attack, c.data_set, c.split, c.gender)


def conditions(
    results: Results,
) -> Iterator[tuple[Key, list[VerificationRecord], list[VerificationRecord]]]:
    """Yield every trial set under every attack model, in the order of the protocol, with its
    records, one per system, and those of original speech; of duplicates the first."""
    records: dict[Key, dict[str, VerificationRecord]] = {}
    for record in results.verification:
        key = key_of(record)
        if key is not None:
            records.setdefault(key, {}).setdefault(record.condition.system, record)
    for t, attack in itertools.product(
        results.protocol.trial_sets(), results.protocol.attack_models
    ):
        key, original = (
            Key(a, t.data_set.id, t.split, t.gender) for a in (attack.id, ORIGINAL_ATTACK)
        )
        if key in records and key != original:
            yield key, list(records[key].values()), list(records.get(original, {}).values())


def load(record: VerificationRecord, arrays: StoredArrays, names: Iterable[str]) -> Arrays | None:
    """Load the arrays of a record; None if any of these is missing."""
    plotted = arrays.plotted(record)
    return plotted if plotted is not None and set(names) <= plotted.keys() else None


def condition_pages(
    data: ReportData,
    read: Callable[[str, VerificationRecord], Item | None],
    order: Callable[[Item], Any],
) -> Iterator[Page[Item]]:
    """Yield pages of figures with all systems and original speech, per trial set and attack model.

    Parameters
    ----------
    read : callable
        Makes an item from a name and a record; None if it has no data.
    order : callable
        Sort key of systems.
    """

    def items(
        records: Iterable[VerificationRecord], name: str = ""
    ) -> Iterator[tuple[Item, TrialCondition]]:
        for r in records:
            item = read(name or r.condition.system, r)
            if item is not None:
                yield item, r.condition

    for key, records, originals in conditions(data.results):
        ordered = sorted(items(records), key=lambda pair: order(pair[0]))
        original = [*itertools.islice(items(originals, ORIGINAL_COLUMN), 1)] if ordered else []
        title = key.title(data.protocol)
        for page, number, part in style.numbered_pages(ordered, MOST_SYSTEMS):
            drawn, of = zip(*page, *original, strict=True)
            yield Page([*drawn], [*of], (*key, *number), title, part)
