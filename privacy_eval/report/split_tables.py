"""Tables with rows by trial set: those of each record, or one with a block of columns per split."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import counted
from ..metrics import NOT_AVAILABLE, describe, withholding_caveat
from ..metrics.caveats import marked_text
from ..numbers.groups import OfSet, by_trial_set
from ..protocol.protocol import SPEECH, DataSet, Protocol, RecognitionSet
from ..results.measurements import LEFT_OUT, PRESENT, Measurements, Row, metric_of
from ..results.records import VerificationRecord
from ..tree.conditions import Condition
from .notes import caveat_notes, evaluated_note, interval_notes
from .table import Column, Key, Table, nonempty

LETTER = {speech: speech[0] for speech in SPEECH}


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
    flag: Callable[[OfSet], str] = lambda _: "",
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
    flag : callable
        Mark appended to the name of the attack model.
    """
    titles = {a.id: a.title for a in protocol.attack_models}

    def identity(record: OfSet) -> Key:
        c = record.condition
        if not by_attack:
            return ()
        assert isinstance(c, Condition)
        by = "" if c.is_by_challenge else f" ({c.attacker})"
        return (f"{titles.get(c.attack_model or '', '')}{by}{flag(record)}",)

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


@dataclass(frozen=True)
class SplitTable:
    """A table of a row per trial set (and condition) and a block of columns per split.

    Attributes
    ----------
    protocol : Protocol
    name, title, caption : str
    cells : mapping
        Cells of a block by split and row key, which begins with a data set.
    values : list of Column
        Columns of a block.
    condition : list of Column
        Columns that identify the row, once per table.
    groups : sequence of groups of rows
        Row keys, with the cells of their condition.
    flagged : set
        Splits and row keys with a `*`.
    data_sets : sequence or None
        Data sets with the names of rows; by default those of trials.
    records : sequence of VerificationRecord
        What the values are of: their trials, speakers and model are named in the first note.
    metrics : sequence of str
        Those whose caveats in these records are noted.
    resampled : collection of str
        Metrics of these with intervals, which are explained.
    notes : sequence of str
    tells_nothing : mapping
        Reasons to leave out the rows that have no other values than one text, by this text; in
        addition to `n/a`.
    section : str
        Of the report, if not that of the system.
    turned : bool
        As of `Table`.
    """

    protocol: Protocol
    name: str
    title: str
    caption: str
    cells: Mapping[Key, Sequence[str]]
    values: Sequence[Column]
    condition: Sequence[Column]
    groups: Iterable[Iterable[tuple[Key, Key]]]
    flagged: Collection[Key] = frozenset()
    data_sets: Sequence[DataSet | RecognitionSet] | None = None
    records: Sequence[VerificationRecord] = ()
    metrics: Sequence[str] = ()
    resampled: Collection[str] = ()
    notes: Sequence[str] = ()
    tells_nothing: Mapping[str, str] = field(default_factory=dict)
    section: str = ""
    turned: bool = False

    def table(self) -> Table:
        """Make the table: the first split's block, the condition's columns, then the other
        splits' blocks, of the data sets and splits with any value; rows are numbered. Rows that
        tell nothing are counted in a note instead. Where no value is available it has no rows."""
        filled = [key for key, cells in self.cells.items() if any(cells)]
        if all(text in ("", NOT_AVAILABLE) for key in filled for text in self.cells[key]):
            filled = []
        splits = [s for s in self.protocol.splits if any(key[0] == s for key in filled)]
        present = {key[1] for key in filled}
        data_sets = {d.id: d for d in self.data_sets or self.protocol.data_sets}
        columns = [Column("#")]
        for split in splits:
            heading = self.protocol.split_title(split)
            columns += [Column(heading, align="l", rule=len(columns) > 1), *self.values]
            if split == splits[0]:
                columns += [replace(column, identity=True) for column in self.condition]

        def row(key: Key, condition: Key) -> Iterator[str]:
            yield str(next(number))
            for split in splits:
                flag = "*" if (split, *key) in self.flagged else ""
                yield data_sets[key[0]].row_name(split) + flag
                yield from self.cells.get((split, *key), [""] * len(self.values))
                yield from condition if split == splits[0] else ()

        number, variant = itertools.count(1), self.protocol.variant
        left_out: Counter[str] = Counter()
        rows = []
        for group in self.groups:
            keys = {key: condition for key, condition in group if key[0] in present}
            why = {key: self._why_left_out(key) for key in keys}
            left_out.update(filter(None, why.values()))
            rows.append([tuple(row(*item)) for item in keys.items() if not why[item[0]]])
        return Table(
            self.name,
            self.caption,
            tuple(columns),
            nonempty(rows),
            notes=(
                *([evaluated_note(self.records, variant)] if self.records else ()),
                *interval_notes(self.records, [k for k in self.metrics if k in self.resampled]),
                *caveat_notes(self.records, self.metrics, variant, marked=True),
                *self.notes,
                *(f"Left out: {counted(n, 'row')} with {why}" for why, n in left_out.items()),
            ),
            turned=self.turned,
            section=self.section,
            title=self.title,
        )

    def _why_left_out(self, key: Key) -> str:
        """Tell why a row tells nothing; "" if it does."""
        cells = (c for split in self.protocol.splits for c in self.cells.get((split, *key), ()))
        texts = {cell.partition(" [")[0] for cell in cells if cell}
        reasons = {NOT_AVAILABLE: "no value (n/a)", **self.tells_nothing}
        return reasons.get(texts.pop(), "") if len(texts) == 1 else ""


def metric_columns(keys: Sequence[str], resampled: Collection[str] = ()) -> list[Column]:
    """Return the columns of metrics; the tag follows the worst-case disclosure.

    Parameters
    ----------
    resampled : collection of str
        Metrics with intervals.
    """
    columns = []
    for key in keys:
        columns.append(Column(*describe(key).column, interval=key in resampled))
        columns += [Column("Tag")] if key == "zebra_individual" else []
    return columns


@dataclass(frozen=True)
class SplitCells:
    """Cells by split and row key, the metrics that have intervals, and the rows of keys from which
    something was left out."""

    cells: Mapping[Key, Sequence[str]]
    resampled: Collection[str]
    partial: Mapping[Key, Sequence[Row]]

    def left_out(self, name: str) -> int:
        """Count what was left out, of each condition and source once."""
        rows = itertools.chain.from_iterable(self.partial.values())
        once = {(r["name"], r.get("source"), r.get("asv_model")): r.get(name, 0) for r in rows}
        return sum(once.values())


def split_cells(rows: Measurements, keys: Sequence[str], identity: Sequence[str]) -> SplitCells:
    """Format metrics in the order of `metric_columns`, "" for missing ones, by split, data set and
    what else identifies a row."""
    cells: dict[Key, list[str]] = {}
    partial = {}
    of_keys = rows.select(metric=keys)
    for key, of in of_keys.groups("split", "data_set", *identity).items():
        found = {row["metric"]: row for row in of}
        cells[key] = []
        for metric in keys:
            row = found.get(metric, {})
            cells[key].append(value_text(row, detailed=True))
            cells[key] += [row.get("tag", "")] if metric == "zebra_individual" else []
        if any(row.get(name) for row in of for name in LEFT_OUT):
            partial[key] = of
    resampled = set(of_keys.select(low=PRESENT).values("metric"))
    return SplitCells(cells, resampled, partial)


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
