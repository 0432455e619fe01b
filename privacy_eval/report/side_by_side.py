"""All tables of several systems side by side, and the rankings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from ..errors import PrivacyEvalError
from ..metrics import METRICS
from ..numbers.rankings import rank
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from .attackers_in_words import overestimates
from .comparison_tables import comparison_tables, layouts, submissions_table
from .ranking_tables import ranking_table
from .table import ANSWER, Table
from .utility_tables import utility_tables


def across_tables(data: ReportData) -> tuple[list[Table], list[str]]:
    """Tables with a column per system, and the rankings; with notes on them.

    Raises
    ------
    PrivacyEvalError
        The protocol has no such attack model, or the metric does not depend on one.
    """
    results, published = data.results, data.sources.published_results
    metric, attack_model = data.protocol.shown(data.rank_by), data.attack_model
    _check_attack_model(data.protocol, metric, attack_model)
    if not published and len(results.systems) < 2:
        return [], []
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
    return [*([submissions] if submissions else ()), *tables, *rankings], notes


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
