"""Tables of a row per trial set and a block of columns per split: columns, cells, rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from ..metrics import (
    describe,
    withholding_caveat,
)
from ..metrics.caveats import marked_text
from ..protocol.protocol import SPEECH, DataSet, Protocol, RecognitionSet
from ..results.records import (
    IdentificationRecord,
    Results,
    SimilarityRecord,
    VerificationRecord,
)
from .table import Column, Table

Key = tuple[str, ...]
_OfSet = TypeVar("_OfSet", bound=VerificationRecord | SimilarityRecord | IdentificationRecord)
LETTER = {speech: speech[0] for speech in SPEECH}

#: Speakers in a table of the least protected ones.
WORST_SPEAKERS = 3


def main_split(
    protocol: Protocol, records: Iterable[VerificationRecord | IdentificationRecord]
) -> str:
    """Return the split that sentences describe: the last with records, usually the test set."""
    present = {r.condition.split for r in records}
    return next((s for s in reversed(protocol.splits) if s in present), protocol.splits[-1])


def metric_columns(keys: Sequence[str]) -> list[Column]:
    """Return the columns of metrics; the tag follows the worst-case disclosure."""
    columns = [Column(*describe(key).column) for key in keys]
    if "zebra_individual" in keys:
        columns.insert(keys.index("zebra_individual") + 1, Column("Tag"))
    return columns


def metric_texts(
    keys: Sequence[str],
    values: Mapping[str, Any],
    tag: str | None = None,
    caveats: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Format values in the order of `metric_columns`, "" for missing ones."""
    texts = []
    for key in keys:
        texts.append(metric_text(key, values.get(key), caveats))
        if key == "zebra_individual":
            texts.append(tag or "")
    return texts


def metric_text(
    key: str, value: float | None, caveats: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Format a value, flagged if it has a caveat; "" if it is missing."""
    text = "" if value is None else describe(key).format(value, detailed=True)
    return marked_text(text, withholding_caveat(caveats, key))


def by_trial_set(records: Iterable[_OfSet]) -> dict[Key, list[_OfSet]]:
    """Group records by split, data set and gender."""
    groups: dict[Key, list[_OfSet]] = {}
    for r in records:
        c = r.condition
        groups.setdefault((c.split, c.data_set, c.gender), []).append(r)
    return groups


def set_groups(
    protocol: Protocol, records: Iterable[_OfSet], rows: Callable[[_OfSet], Iterable[Key]]
) -> tuple[tuple[Key, ...], ...]:
    """Make a group of rows per trial set, which begin with its name and gender."""
    by_set = by_trial_set(records)
    return nonempty(
        [
            (protocol.data_set(data_set).row_name(split), gender, *row)
            for r in by_set.get((split, data_set, gender), ())
            for row in rows(r)
        ]
        for split, data_set, gender in itertools.product(
            protocol.splits, protocol.table_rows, protocol.genders
        )
    )


def condition_groups(protocol: Protocol) -> list[list[tuple[Key, Key]]]:
    """List the row keys of conditions with their enrollment, trial and gender, by trial set."""
    return [
        [
            ((d, g, c.enrollment, c.trial), (LETTER[c.enrollment], LETTER[c.trial], g))
            for c in protocol.comparisons
        ]
        for d, g in itertools.product(protocol.table_rows, protocol.genders)
    ]


@dataclass(frozen=True)
class Form:
    """Tables of a row per trial set (and condition) and a block of columns per split.

    Attributes
    ----------
    cells : mapping
        Cells of a block by split and row key, which begins with a data set.
    values : list of Column
        Columns of a block.
    condition : list of Column
        Columns that identify the row, once per table.
    flagged : set
        Splits and row keys with a `*`.
    data_sets : sequence or None
        Data sets with the names of rows; by default those of trials.
    """

    results: Results
    cells: Mapping[Key, Sequence[str]]
    values: Sequence[Column]
    condition: Sequence[Column]
    flagged: Collection[Key] = frozenset()
    data_sets: Sequence[DataSet | RecognitionSet] | None = None

    @property
    def splits_with_values(self) -> list[str]:
        """The splits with any value."""
        present = {key[0] for key, cells in self.cells.items() if any(cells)}
        return [s for s in self.results.protocol.splits if s in present]

    def table(
        self, name: str, title: str, caption: str, groups: Iterable[Iterable[tuple[Key, Key]]]
    ) -> Table:
        """Make a table of the first split's block, the condition's columns, then the other
        splits' blocks, of the data sets and splits with any value. Groups contain row keys with
        the cells of their condition."""
        splits = self.splits_with_values
        protocol = self.results.protocol
        data_sets = {d.id: d for d in self.data_sets or protocol.data_sets}
        present = {key[1] for key, cells in self.cells.items() if any(cells)}
        columns: list[Column] = []
        for split in splits:
            heading = protocol.split_title(split)
            columns += [Column(heading, align="l", rule=bool(columns)), *self.values]
            columns += self.condition if split == splits[0] else []

        def row(key: Key, condition: Key) -> Iterator[str]:
            for split in splits:
                flag = "*" if (split, *key) in self.flagged else ""
                yield data_sets[key[0]].row_name(split) + flag
                yield from self.cells.get((split, *key), [""] * len(self.values))
                yield from condition if split == splits[0] else ()

        rows = [[tuple(row(*keys)) for keys in group if keys[0][0] in present] for group in groups]
        return _number_rows(Table(name, caption, tuple(columns), nonempty(rows), title=title))


def _number_rows(table: Table) -> Table:
    """Add a first column with the number of each row."""
    number = itertools.count(1)
    groups = tuple(tuple((str(next(number)), *row) for row in group) for group in table.groups)
    return replace(table, columns=(Column("#"), *table.columns), groups=groups)


def nonempty(groups: Iterable[Iterable[tuple[str, ...]]]) -> tuple[tuple[Key, ...], ...]:
    return tuple(rows for group in groups if (rows := tuple(group)))
