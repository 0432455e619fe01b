"""Select the records and arrays of each condition that figures of curves are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ...protocol.protocol import Protocol
from ...results.arrays import Arrays, Curves
from ...results.records import Results, VerificationRecord
from ..data import ReportData
from ..values import ORIGINAL_ATTACK, ORIGINAL_COLUMN
from . import style

#: Systems in a figure of curves; more go over several.
MOST_SYSTEMS = 20

Item = TypeVar("Item")


@dataclass(frozen=True)
class Condition:
    """A trial set under an attack model, with its records, one per system, and those of
    original speech."""

    attack_model: str
    data_set: str
    split: str
    gender: str
    records: tuple[VerificationRecord, ...] = ()
    original: tuple[VerificationRecord, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from others, as parts of a file name."""
        return self.attack_model, self.data_set, self.split, self.gender

    def title(self, protocol: Protocol) -> str:
        """Describe it in words."""
        attack = next(a.title for a in protocol.attack_models if a.id == self.attack_model)
        return f"{set_title(protocol, *self.key[1:])}, {attack.lower()}"


def set_title(protocol: Protocol, data_set: str, split: str, gender: str) -> str:
    """Describe a trial set in words."""
    return f"{protocol.data_set(data_set).title} {split}, {protocol.genders[gender]}"


def key_of(record: VerificationRecord) -> tuple[str, str, str, str] | None:
    """Attack model, data set, split and gender of a record; None without an attack model."""
    if record.attack_model is None:
        return None
    return record.attack_model, record.data_set, record.split, record.gender


def conditions(results: Results) -> list[Condition]:
    """Every trial set under every attack model, in the order of the protocol, with its
    records; of what a system has twice the first."""
    found: dict[tuple[str, ...], dict[str, VerificationRecord]] = {}
    for record in results.verification:
        key = key_of(record)
        if key is not None:
            found.setdefault(key, {}).setdefault(record.system, record)
    listed = []
    for t in results.protocol.trial_sets():
        of_set = (t.data_set.id, t.split, t.gender)
        original = tuple(found.get((ORIGINAL_ATTACK, *of_set), {}).values())
        for attack in results.protocol.attack_models:
            records = tuple(found.get((attack.id, *of_set), {}).values())
            if records and attack.id != ORIGINAL_ATTACK:
                listed.append(Condition(attack.id, *of_set, records, original))
    return listed


def load(record: VerificationRecord, curves: Curves, names: Iterable[str]) -> Arrays | None:
    """Load a record's arrays; None unless all of these are among them."""
    arrays = curves.of(record)
    return arrays if arrays is not None and set(names) <= arrays.keys() else None


def condition_pages(
    data: ReportData,
    read: Callable[[str, VerificationRecord], Item | None],
    order: Callable[[Item], float],
) -> Iterator[tuple[list[Item], tuple[str, ...], str, str]]:
    """Per trial set and attack model what is drawn of all systems and of original speech.

    Parameters
    ----------
    read : callable
        Makes of a name and a record what is drawn of it; None where there is nothing.
    order : callable
        What systems are sorted by.

    Yields
    ------
    items : list
        Those of at most `MOST_SYSTEMS` systems, then that of original speech.
    key : tuple of str
        Parts of a file name.
    title, part : str
        The condition in words; which of several figures it is.
    """
    for condition in conditions(data.results):
        found = [i for r in condition.records if (i := read(r.system, r)) is not None]
        if not found:
            continue
        originals = (read(ORIGINAL_COLUMN, r) for r in condition.original)
        original = next((i for i in originals if i is not None), None)
        title = condition.title(data.protocol)
        for page, number, part in style.numbered(sorted(found, key=order), MOST_SYSTEMS):
            items = [*page, original] if original is not None else [*page]
            yield items, (*condition.key, *number), title, part
