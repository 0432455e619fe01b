"""The tables of an edition's papers, as its protocol declares them: blocks of metrics, a column per
system, original speech first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..choices import LEVEL
from ..errors import PrivacyEvalError, enumerated
from ..metrics import METRICS, Label, Metric
from ..metrics.caveats import note_of
from ..numbers.cells import ORIGINAL_COLUMN, Cell, CellKey
from ..numbers.means import decoded_sets
from ..numbers.report_data import ReportData
from ..numbers.trade_offs import UTILITY
from ..protocol.protocol import THRESHOLDS, AttackModel, PaperTable, Protocol
from .attackers_in_words import overestimates
from .comparison_tables import (
    best_columns,
    cell_text,
    exact_cells,
    heading_of,
    row_title,
    table_of_systems,
    text_with_interval,
    weights_text,
    with_bounds,
)
from .notes import blank_notes, directions_text, interval_notes
from .table import AVERAGE, FILES_ONLY, Column, Table
from .utility_tables import recalls_of_folds, threshold_note, utility_rank

#: Of the files: `paper.tex` and so on.
NAME = "paper"


@dataclass(frozen=True)
class _Row:
    """A row: what identifies it, and its values or texts by system; `of_intervals`: only shown
    with intervals."""

    data: str
    gender: str = ""
    cells: dict[str, Cell] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    of_intervals: bool = False

    @property
    def systems(self) -> set[str]:
        return {*self.cells, *self.texts}


@dataclass(frozen=True)
class _Block:
    """Rows of a metric under an attack model, or of ranks by utility (without a metric)."""

    heading: Label
    rows: tuple[_Row, ...]
    metric: Metric | None = None
    splits: tuple[str, ...] = ()
    attack: AttackModel | None = None

    @property
    def resampled(self) -> set[str]:
        """Systems with intervals."""
        return {s for row in self.rows for s, cell in row.cells.items() if cell.interval}


def paper_tables(data: ReportData) -> list[Table]:
    """Make the tables of the edition's papers, which share a file; once more with intervals if
    there are any; no block without an anonymized system's value, and no table without a block."""
    parts = []
    for declared in data.protocol.paper:
        apart = declared.splits == "apart"
        splits = data.protocol.splits
        for together in [(s,) for s in splits] if apart else [splits]:
            blocks = list(_blocks(data, declared, together))
            blocks = [
                b for b in blocks if {*_systems(data, [b])} - {ORIGINAL_COLUMN} or not b.metric
            ]
            if any(block.metric for block in blocks):
                parts.append((_caption(data.protocol, blocks, together), blocks))
    if not parts:
        return []
    tables = [_file(data, parts, NAME, intervals=False)]
    if any(block.resampled for _, blocks in parts for block in blocks):
        tables.append(_file(data, parts, f"{NAME}_intervals", intervals=True))
    return tables


def _file(
    data: ReportData, parts: Sequence[tuple[str, list[_Block]]], name: str, *, intervals: bool
) -> Table:
    """Make one table, or several of a file, of which CSV has all rows in one."""
    if len(parts) == 1:
        ((caption, blocks),) = parts
        return _table(data, name, caption, blocks, intervals=intervals)
    tables = tuple(
        _table(data, f"{name}_{number}", caption, blocks, intervals=intervals)
        for number, (caption, blocks) in enumerate(parts, start=1)
    )
    every = [
        replace(b, heading=Label(", ".join((b.heading.title, *b.splits))))
        for _, blocks in parts
        for b in blocks
    ]
    caption = f"{data.protocol.title}: results in {len(parts)} tables."
    return replace(_table(data, name, caption, every, intervals=intervals), parts=tables)


def _blocks(data: ReportData, declared: PaperTable, splits: Sequence[str]) -> Iterator[_Block]:
    """Yield the blocks of a declared table."""
    protocol = data.protocol
    apart = tuple(splits) if declared.splits == "apart" else ()
    for key in declared.metrics:
        if key == THRESHOLDS:
            yield from _ranks(data, splits[-1])
            continue
        if key not in METRICS:
            raise PrivacyEvalError(f"protocol {protocol.name}: paper: unknown metric {key}")
        metric = METRICS[protocol.shown(key)]
        attacks: list[AttackModel | None] = [None]
        if metric.kind == "scores":
            attacks = [protocol.attack(a) for a in _attack_models(protocol, declared)]
        for attack in attacks:
            rows = tuple(row for split in splits for row in _rows(data, metric, attack, split))
            if len(splits) > 1:
                rows = tuple(row for row in rows if row.systems)
            else:
                rows = tuple(
                    replace(row, data=row.data.removesuffix(f" {splits[0]}")) for row in rows
                )
            speech = f"{attack.enrollment[0]}{attack.trial[0]}" if attack else ""
            under = f" \u2013 {attack.title} ({speech})" if attack and len(attacks) > 1 else ""
            yield _Block(heading_of(metric, under), rows, metric, apart, attack)


def _attack_models(protocol: Protocol, declared: PaperTable) -> Sequence[str]:
    present = {a.id for a in protocol.attack_models}
    named = tuple(a for a in declared.attack_models if a in present)
    return named or (protocol.average_attack_model,)


def _rows(
    data: ReportData, metric: Metric, attack: AttackModel | None, split: str
) -> Iterator[_Row]:
    """Yield the values of each data set and gender, and their average if there are several."""
    protocol, model = data.protocol, attack.id if attack else None
    systems = (ORIGINAL_COLUMN, *data.cells.columns(model))
    titles = {d.id: row_title(d.title) for d in protocol.data_sets}
    if decoded := decoded_sets(protocol, metric.key):
        parts = [(d.id, "", "") for d in decoded if d.weight]
        titles |= {d.id: d.title or titles.get(d.id, d.id) for d in decoded}
        weights = {d.weight for d in decoded if d.weight}
    else:
        sets = itertools.product(protocol.data_sets, protocol.genders.items())
        parts = [(d.id, gender, word) for d, (gender, word) in sets]
        weights = {d.weight for d in protocol.data_sets}
    for data_set, gender, word in parts:
        keys = {s: CellKey(metric.key, model, split, data_set, gender, s) for s in systems}
        cells = {s: cell for s, k in keys.items() if (cell := data.cells.beside(k, systems))}
        word = word if len(protocol.genders) > 1 else ""
        yield _Row(f"{titles[data_set]} {split}", word, cells)
        if ranges := recalls_of_folds(data, metric.key, data_set, split):
            yield _Row("Folds, least to most", texts=ranges, of_intervals=True)
    if len(parts) > 1:
        means = {s: data.means.of(metric.key, model, split, s) for s in systems}
        averages = {
            s: replace(mean.cell, interval=mean.interval) for s, mean in means.items() if mean.cell
        }
        title = AVERAGE if len(weights) > 1 else "Average"
        yield _Row(f"{title} {split}", "", averages)


def _ranks(data: ReportData, split: str) -> Iterator[_Block]:
    """Yield, for each metric of utility, the ranks of the systems that reach each threshold."""
    protocol = data.protocol
    compared = [t for t in data.trade_offs[split] if t.utility]
    for metric in UTILITY if protocol.eer_thresholds else ():
        if not any(metric in t.utility for t in compared):
            continue
        rows = []
        for threshold in protocol.eer_thresholds:
            reached = [t for t in compared if t.eer >= threshold]
            values = {t.system: t.utility[metric] for t in reached if metric in t.utility}
            ranks = {s: str(utility_rank(v, reached, metric)) for s, v in values.items()}
            title = f"{100 * threshold:g} %" + ("" if reached else ": none")
            rows.append(_Row(title, texts=ranks))
        heading = (
            f"Rank by {METRICS[metric].name}, {protocol.split_name(split)}, of the systems with "
            "an average EER of at least"
        )
        yield _Block(Label(heading), tuple(rows))


def _systems(data: ReportData, blocks: Sequence[_Block]) -> list[str]:
    """List the systems with any value, in order."""
    present = {system for block in blocks for row in block.rows for system in row.systems}
    return [s for s in (ORIGINAL_COLUMN, *data.cells.systems) if s in present]


def _table(
    data: ReportData, name: str, caption: str, blocks: Sequence[_Block], *, intervals: bool
) -> Table:
    """Make a table of blocks."""
    systems = _systems(data, blocks)
    genders = any(row.gender for block in blocks for row in block.rows)
    columns = [Column("Data", align="l", sparse=True)]
    columns += [Column("Gender", align="l")] if genders else []
    groups, bold, number = [], set(), 0
    exact: dict[tuple[int, int], str] = {}
    for block in blocks:
        rows = []
        for row in (r for r in block.rows if intervals or not r.of_intervals):
            texts = [_text(block, row, s, intervals=intervals) for s in systems]
            best = _best(block, row, systems)
            bold |= {(number, len(columns) + column) for column in best}
            if block.metric:
                exact |= exact_cells(block.metric, number, row.cells, systems, len(columns))
            rows.append((row.data, *([row.gender] if genders else []), *texts))
            number += 1
        groups.append(tuple(rows))
    of_intervals: list[str] = []
    if intervals:
        keys = dict.fromkeys(b.metric.key for b in blocks if b.metric and b.resampled)
        if keys:
            caption = f"{caption.removesuffix('.')}, with {100 * LEVEL:g} % intervals."
        of_intervals = interval_notes(data.results.records(), list(keys))
        of_intervals += data.narrow_intervals
    table = Table(
        name,
        caption,
        tuple(columns),
        tuple(groups),
        headings=tuple(block.heading for block in blocks),
        bold=frozenset(bold),
        exact=exact,
        bold_means="the best anonymized system of a row",
        notes=(*_notes(data, blocks, systems), *of_intervals),
        comment=data.signature if data.results.systems else "",
        section=FILES_ONLY,
        title="The paper's tables",
        front=True,
    )
    table = table_of_systems(table, replace(data.cells, families={}), systems)
    if not intervals:
        return table
    return with_bounds(table, {system for block in blocks for system in block.resampled})


def _text(block: _Block, row: _Row, system: str, *, intervals: bool) -> str:
    cell = row.cells.get(system)
    if block.metric is None or cell is None:
        return row.texts.get(system, "")
    return (text_with_interval if intervals else cell_text)(block.metric, cell)


def _best(block: _Block, row: _Row, systems: Sequence[str]) -> list[int]:
    if block.metric is None:
        return []
    numbers = {
        column: float(row.cells[s].text)
        for column, s in enumerate(systems)
        if s in row.cells and s != ORIGINAL_COLUMN and not row.cells[s].withheld
    }
    return best_columns(block.metric, numbers)


def _caption(protocol: Protocol, blocks: Sequence[_Block], splits: Sequence[str]) -> str:
    """Describe a table in one sentence."""
    metrics = dict.fromkeys(block.metric for block in blocks if block.metric)
    under = ""
    if any(metric.kind == "scores" for metric in metrics):
        titles = list(dict.fromkeys(b.attack.phrase for b in blocks if b.attack))
        plural = "s" if len(titles) > 1 else ""
        under = f" (EER: {enumerated(titles)} attack model{plural})"
        if all(metric.kind == "scores" for metric in metrics):
            under = f" under the {enumerated(titles)} attack model{plural}"
    names = enumerated([metric.name for metric in metrics])
    where = f", {protocol.split_name(splits[0])}" if len(splits) == 1 else ""
    return f"{protocol.title}: {names}{under}{where}."


def _notes(data: ReportData, blocks: Sequence[_Block], systems: Sequence[str]) -> Iterator[str]:
    metrics = list(dict.fromkeys(block.metric for block in blocks if block.metric))
    yield directions_text(metrics)
    if any(row.data.startswith(AVERAGE) for block in blocks for row in block.rows):
        yield f"{AVERAGE}: {weights_text(data.protocol)}"
    yield from blank_notes(
        (s, data.means.of(b.metric.key, b.attack.id if b.attack else None, split, s))
        for b in blocks
        if b.metric
        for split in b.splits or data.protocol.splits
        for s in systems
    )
    if ORIGINAL_COLUMN in systems:
        yield f"{ORIGINAL_COLUMN}: original speech"
    cells = [c for b in blocks for row in b.rows for c in row.cells.values()]
    yield from dict.fromkeys(note_of(c.caveat) for c in cells if c.caveat is not None)
    if models := [block.attack for block in blocks if block.attack]:
        yield from overestimates(data, blocks[0].splits or data.protocol.splits, models)
    if any(block.metric is None for block in blocks):
        yield threshold_note(data, data.protocol.splits[-1])
    yield from (*data.cells.not_comparable, *data.cells.notes)
