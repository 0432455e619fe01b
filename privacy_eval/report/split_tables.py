"""Tables with rows by trial set: those of each record, or one with a block of columns per split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from ..metrics import NOT_AVAILABLE, withholding_caveat
from ..metrics.caveats import marked_text
from ..numbers.groups import OfSet, by_trial_set
from ..protocol.protocol import Protocol
from ..results.measurements import Row, metric_of
from ..tree.conditions import Condition
from .table import Column, Key, Table, nonempty

_TRIAL_SET = (
    Column("Trial set", align="l", sparse=True),
    Column("Gen", align="l", sparse=True),  # as those before it, repeated where a table is divided
)
_ATTACK = Column("Attack model", align="l", sparse=True)


def table_of_records(
    table: Table,
    protocol: Protocol,
    records: Iterable[OfSet],
    rows: Callable[[OfSet], Iterable[Key]],
    *,
    by_attack: bool = True,
) -> Table:
    """Return a table with rows for each record, which begin with trial set and gender; without
    records it has none.

    Parameters
    ----------
    table : Table
        Without rows, and with the columns after trial set, gender and attack model.
    protocol : Protocol
        Its trial sets are the groups of rows, in its order.
    rows : callable
        The rows of a record, without trial set and attack.
    by_attack : bool
        Whether rows name the attack model, and any attacker other than the challenge's own.
    """
    titles = {a.id: a.title for a in protocol.attack_models}

    def identity(record: OfSet) -> Key:
        c = record.condition
        if not by_attack:
            return ()
        assert isinstance(c, Condition)
        by = "" if c.is_by_challenge else f" ({c.attacker})"
        return (f"{titles.get(c.attack_model or '', '')}{by}",)

    of_sets = by_trial_set(records)
    data_sets = {d.id: d.row_name for d in protocol.data_sets}
    groups = [
        [
            (data_sets[data_set](split), gender, *identity(r), *row)
            for r in of_sets.get((split, data_set, gender), ())
            for row in rows(r)
        ]
        for split, data_set, gender in itertools.product(
            protocol.splits, protocol.table_rows, protocol.genders
        )
    ]
    columns = (*_TRIAL_SET, *([_ATTACK] if by_attack else ()), *table.columns)
    return replace(table, columns=columns, groups=nonempty(groups), turned=by_attack)


def value_text(
    row: Row, *, detailed: bool = False, decimals: int | None = None, interval: bool = True
) -> str:
    """Format the value of a row, marked or replaced as its caveats demand, with its interval; ""
    without one."""
    if row.get("value") is None:
        return ""
    metric, how = metric_of(row["metric"]), {"detailed": detailed, "decimals": decimals}
    text = metric.format(row["value"], mean="parts" in row, **how)  # type: ignore[arg-type]
    text = marked_text(text, withholding_caveat(row.get("caveats", {}), row["metric"]))
    if row.get("low") is None or not interval or text == NOT_AVAILABLE:
        return text
    return f"{text} {metric.interval((row['low'], row['high']), **how)}"  # type: ignore[arg-type]
