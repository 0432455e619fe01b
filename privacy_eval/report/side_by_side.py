"""All tables of several systems side by side, those of an edition's papers, and the rankings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..choices import LEVEL
from ..errors import PrivacyEvalError, enumerated
from ..metrics import METRICS, Label, Metric
from ..numbers.cells import ORIGINAL_COLUMN
from ..numbers.means import UTILITY, decoded_sets
from ..numbers.rankings import rank
from ..numbers.report_data import ReportData
from ..protocol.protocol import THRESHOLDS, AttackModel, PaperTable, Protocol
from .attackers_in_words import overestimates
from .comparison_tables import (
    Block,
    Line,
    beside,
    blank_averages,
    caveats_in,
    comparison_tables,
    heading_of,
    layouts,
    lines_of,
    submissions_table,
    table_of_blocks,
    weights_text,
)
from .declared import declared_tables, entry_of
from .main_results import ranking_table
from .notes import directions_text, interval_notes
from .table import ANSWER, AVERAGE, FILES_ONLY, Column, Table
from .utility_tables import recalls_of_folds, threshold_note, utility_rank, utility_tables


def across_tables(data: ReportData) -> tuple[list[Table], list[str]]:
    """Tables with a column per system, and the rankings; with notes on them.

    Raises
    ------
    PrivacyEvalError
        The protocol has no such attack model, or the metric does not depend on one.
    """
    results, published = data.results, data.sources.published_results
    metric, attack_model = data.protocol.shown(data.sources.rank_by), data.sources.attack_model
    _check_attack_model(data.protocol, metric, attack_model)
    others = list(declared_tables(data, [entry_of("costs")], ""))
    others += data.disclosed.across() if data.disclosed else []
    if not published and len(results.systems) < 2:
        return others, []
    rankings: list[Table] = []
    for split in data.protocol.splits:
        tables = list(map(ranking_table, data.rankings[split]))
        if published and len(results.systems) > 1:
            # With published systems in between, no two submitted ones would be compared.
            tables += map(_without_published, map(ranking_table, data.unpublished.rankings[split]))
        if tables and split == data.main_split:
            tables[0] = replace(tables[0], section=ANSWER)
        rankings += tables
    notes = []
    if not rankings:
        under = f" under the attack model {attack_model}" if attack_model else ""
        notes = [f"no ranking by {METRICS[metric].name}{under}: no system has values of it"]
    submissions = submissions_table(published.systems) if published else None
    tables = _ranked_first(data, comparison_tables(data.means))
    first = [submissions] if submissions is not None else []
    return [*first, *tables, *rankings, *others], notes


def _without_published(table: Table) -> Table:
    caption = f"{table.caption.removesuffix('.')}; without published systems."
    return replace(table, name=f"{table.name}_own", caption=caption)


def _ranked_first(data: ReportData, tables: Sequence[Table]) -> list[Table]:
    """Begin with the tables of the attack model that systems are ranked under, then utility."""
    protocol = data.protocol
    (first,) = (
        layout
        for layout in layouts(protocol)
        if protocol.eer in layout.metrics and protocol.average_attack in layout.attacks(protocol)
    )
    names = {split: f"comparison_{first.name}_{split}" for split in protocol.splits}
    lead = [
        replace(table, notes=(*table.notes, *overestimates(data, [split], first.attacks(protocol))))
        for split, name in names.items()
        for table in tables
        if table.name == name
    ]
    utility = [*utility_tables(data), *map(ranking_table, data.word_error_rankings.values())]
    measures = [m for m in data.cells.measures if METRICS[m].best is not None]
    for metric, split in itertools.product(measures, protocol.splits):
        if (ranking := rank(data.means, metric=metric, split=split)).replicates:
            utility.append(ranking_table(ranking))
    return [*lead, *utility, *(table for table in tables if table.name not in names.values())]


def _check_attack_model(protocol: Protocol, metric: str, attack_model: str | None) -> None:
    if attack_model is None:
        return
    models = [a.id for a in protocol.attack_models if not a.is_original]
    if METRICS[metric].kind != "scores":
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: {metric} does not depend on an attack model"
        )
    if attack_model not in models:
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: not an attack model of protocol {protocol.name}; "
            f"known: {', '.join(models)}"
        )


#: Title of rows of the least and greatest value of folds.
_FOLDS = "Folds, least to most"

#: Of the files: `paper.tex` and so on.
NAME = "paper"


def paper_tables(data: ReportData) -> list[Table]:
    """Make the tables of the edition's papers, which share a file; once more with intervals if
    there are any; no block without an anonymized system's value, and no table without a block."""
    parts = []
    for declared in data.protocol.paper:
        apart = declared.splits == "apart"
        splits = data.protocol.splits
        for together in [(s,) for s in splits] if apart else [splits]:
            blocks = list(_blocks(data, declared, together))
            blocks = [b for b in blocks if b.systems - {ORIGINAL_COLUMN} or not b.metric]
            if any(block.metric for block in blocks):
                parts.append((_caption(data.protocol, blocks, together), blocks))
    if not parts:
        return []
    tables = [_file(data, parts, NAME, intervals=False)]
    if any(block.resampled for _, blocks in parts for block in blocks):
        tables.append(_file(data, parts, f"{NAME}_intervals", intervals=True))
    return tables


def _file(
    data: ReportData, parts: Sequence[tuple[str, list[Block]]], name: str, *, intervals: bool
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


def _blocks(data: ReportData, declared: PaperTable, splits: Sequence[str]) -> Iterator[Block]:
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
            lines = [(split, x) for split in splits for x in _lines(data, metric, attack, split)]
            if len(splits) > 1:
                named = (
                    (f"{x.data} {split}" if x.data != _FOLDS else _FOLDS, x) for split, x in lines
                )
                lines = [("", replace(x, data=name)) for name, x in named if x.cells]
            speech = f"{attack.enrollment[0]}{attack.trial[0]}" if attack else ""
            under = f" \u2013 {attack.title} ({speech})" if attack and len(attacks) > 1 else ""
            yield Block(
                heading_of(metric, under), tuple(x for _, x in lines), metric, attack, apart
            )


def _attack_models(protocol: Protocol, declared: PaperTable) -> Sequence[str]:
    present = {a.id for a in protocol.attack_models}
    named = declared.attack_models or (protocol.average_attack_model,)
    return [attack for attack in named if attack in present]


def _lines(
    data: ReportData, metric: Metric, attack: AttackModel | None, split: str
) -> Iterator[Line]:
    """Yield the values of each data set and gender, and their average if there are several."""
    protocol = data.protocol
    *lines, averages = lines_of(data.means, metric, attack, split)
    decoded = [d for d in decoded_sets(protocol, metric.key) if d.weight]
    weights = {d.weight for d in decoded or protocol.data_sets}
    for line, data_set in itertools.zip_longest(lines, (d.id for d in decoded)):
        yield replace(line, gender=line.gender * (len(protocol.genders) > 1))
        ranges = recalls_of_folds(data, metric.key, data_set, split) if data_set else {}
        if ranges:
            cells = {s: {"printed": text} for s, text in ranges.items()}
            yield Line(_FOLDS, cells=cells, of_intervals=True)
    if len(lines) > 1:
        yield replace(averages, data=AVERAGE if len(weights) > 1 else "Average")


def _ranks(data: ReportData, split: str) -> Iterator[Block]:
    """Yield, for each metric of utility, the ranks of the systems that reach each threshold."""
    protocol = data.protocol
    compared = [t for t in data.trade_offs[split] if t["utility"]]
    for metric in UTILITY if protocol.eer_thresholds else ():
        if not any(metric in t["utility"] for t in compared):
            continue
        rows = []
        for threshold in protocol.eer_thresholds:
            reached = [t for t in compared if t["value"] >= threshold]
            rated = ((t["system"], t["utility"].get(metric)) for t in reached)
            ranks = ((s, utility_rank(m["value"], reached, metric)) for s, m in rated if m)
            title = f"{100 * threshold:g} %" + ("" if reached else ": none")
            rows.append(Line(title, cells={s: {"printed": str(rank)} for s, rank in ranks}))
        heading = (
            f"Rank by {METRICS[metric].name}, {protocol.split_name(split)}, of the systems with "
            "an average EER of at least"
        )
        yield Block(Label(heading), tuple(rows))


def _table(
    data: ReportData, name: str, caption: str, blocks: Sequence[Block], *, intervals: bool
) -> Table:
    """Make a table of blocks."""
    having = {s for block in blocks for s in block.systems}
    everyone = (ORIGINAL_COLUMN, *data.cells.systems)
    systems = [s for s in everyone if s in having]
    blocks = beside(data.cells, blocks, everyone)
    genders = any(line.gender for block in blocks for line in block.lines)
    short = {"Gender": "", **{title: id for id, title in data.protocol.genders.items()}}
    gender = Column("Gender", align="l", short=short)
    columns = [Column("Data", align="l", sparse=True), *[gender] * genders]
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
        bold_means="the best anonymized system of a row",
        notes=(*_notes(data, blocks, systems), *of_intervals),
        comment=data.signature if data.results.systems else "",
        section=FILES_ONLY,
        title="The paper's tables",
        front=True,
    )
    shown = [
        replace(b, lines=tuple(x for x in b.lines if intervals or not x.of_intervals))
        for b in blocks
    ]
    cells = replace(data.cells, families={})
    return table_of_blocks(table, shown, systems, cells, intervals=intervals)


def _caption(protocol: Protocol, blocks: Sequence[Block], splits: Sequence[str]) -> str:
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


def _notes(data: ReportData, blocks: Sequence[Block], systems: Sequence[str]) -> Iterator[str]:
    metrics = list(dict.fromkeys(block.metric for block in blocks if block.metric))
    yield directions_text(metrics)
    if any(line.data.startswith(AVERAGE) for block in blocks for line in block.lines):
        yield f"{AVERAGE}: {weights_text(data.protocol)}"
    yield from blank_averages(data.means, blocks, systems, data.protocol.splits)
    if ORIGINAL_COLUMN in systems:
        yield f"{ORIGINAL_COLUMN}: original speech"
    yield from caveats_in(blocks)
    if models := [block.attack for block in blocks if block.attack]:
        yield from overestimates(data, blocks[0].splits or data.protocol.splits, models)
    if any(block.metric is None for block in blocks):
        yield threshold_note(data, data.protocol.splits[-1])
    yield from (*data.cells.not_comparable, *data.cells.notes)
