"""tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse

from ..report.ranking import ranking_metrics
from .options import add, add_results, choice, path, value

FORMATS = ("latex", "markdown", "text", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", **path("DIR", "default: to stdout"))
    add(parser, "--style")
    parser.add_argument("--format", choices=FORMATS, help="default: all; on stdout text")
    ranked = choice(ranking_metrics(), "metric of the ranking (default: eer)", default="eer")
    parser.add_argument("--rank-by", **ranked)
    attack = value("ID", "of the ranking; default: the one that the protocol averages")
    parser.add_argument("--attack-model", **attack)


def run(arguments: argparse.Namespace) -> int:
    from ..report import text
    from ..report.per_system import blank_tables, system_tables, table_groups
    from ..report.report import across_tables
    from ..report.table_set import write_tables
    from .report import log_notes, read_shown, sources_of

    data = read_shown(sources_of(arguments))
    results = data.results
    across, notes = across_tables(data, arguments.rank_by, arguments.attack_model)
    log_notes(notes)
    if arguments.out is not None:
        files = write_tables(
            arguments.out,
            table_groups(results, across),
            results.protocol.title,
            style=arguments.style,
            only=arguments.format,
        )
        print(f"{arguments.out}: {len(files)} files")
        return 0
    render = text.FORMATS[arguments.format or "text"]
    tables = across + [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder)
    ] or blank_tables(results.protocol)
    print("\n".join(render.write(table, arguments.style) for table in tables), end="")
    return 0
