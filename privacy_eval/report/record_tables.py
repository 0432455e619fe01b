"""Tables with rows for each record, grouped by trial set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from ..numbers.groups import OfSet, by_trial_set
from ..protocol.protocol import Protocol
from ..tree.conditions import TrialCondition
from .table import Column, Key, Table, nonempty

_TRIAL_SET = (
    Column("Trial set", align="l", sparse=True),
    Column("Gen", align="l", sparse=True),  # as those before it, repeated where a table is divided
)
_ATTACK = Column("Attack model", align="l", sparse=True)


@dataclass(frozen=True)
class RecordTable(Generic[OfSet]):
    """A table with rows for each record, which begin with trial set and gender.

    Attributes
    ----------
    protocol : Protocol
        Its trial sets are the groups of rows, in its order.
    name, caption : str
    columns : sequence of Column
        Those after trial set, gender and attack model.
    records : iterable of records
    rows : callable
        The rows of a record, without trial set and attack.
    by_attack : bool
        Whether rows name the attack model, and any attacker other than the challenge's own.
    flag : callable
        Mark appended to the name of the attack model.
    notes, section, title, turned
        As of `Table`.
    """

    protocol: Protocol
    name: str
    caption: str
    columns: Sequence[Column]
    records: Iterable[OfSet]
    rows: Callable[[OfSet], Iterable[Key]]
    by_attack: bool = True
    flag: Callable[[OfSet], str] = lambda _: ""
    notes: Sequence[str] = ()
    section: str = ""
    title: str = ""
    turned: bool = True

    def table(self) -> Table:
        """Make the table; without records it has no rows."""
        protocol, of_sets = self.protocol, by_trial_set(self.records)
        data_sets = {d.id: d.row_name for d in protocol.data_sets}
        groups = [
            [
                (data_sets[data_set](split), gender, *row)
                for r in of_sets.get((split, data_set, gender), ())
                for row in self._rows(r)
            ]
            for split, data_set, gender in itertools.product(
                protocol.splits, protocol.table_rows, protocol.genders
            )
        ]
        identity = (*_TRIAL_SET, _ATTACK) if self.by_attack else _TRIAL_SET
        return Table(
            self.name,
            self.caption,
            (*identity, *self.columns),
            nonempty(groups),
            notes=tuple(self.notes),
            section=self.section,
            title=self.title,
            turned=self.turned,
        )

    def _rows(self, record: OfSet) -> Iterator[Key]:
        if not self.by_attack:
            yield from self.rows(record)
            return
        titles = {a.id: a.title for a in self.protocol.attack_models}
        c = record.condition
        assert isinstance(c, TrialCondition)
        by = "" if c.is_by_challenge else f" ({c.attacker})"
        attack = f"{titles.get(c.attack_model or '', '')}{by}{self.flag(record)}"
        for row in self.rows(record):
            yield attack, *row
