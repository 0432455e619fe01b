"""tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..report.ranking import ranked_by
from ..report.text import FORMATS
from .options import add_published, add_results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser, help="default: blank forms")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: to stdout")
    add_published(parser)
    parser.add_argument("--format", choices=list(FORMATS), help="default: all; on stdout text")
    parser.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")
    parser.add_argument(
        "--rank-by",
        choices=ranked_by(),
        default="eer",
        help="metric of the ranking (default: eer)",
    )
    parser.add_argument(
        "--attack-model",
        metavar="ID",
        help="of the ranking; default: the one that the protocol averages",
    )


def run(arguments: argparse.Namespace) -> int:
    from ..report.per_system import blank_tables, system_tables, table_groups
    from ..report.table_set import write_tables
    from .report import across_tables, cells_of, curves_of, read_sources

    results, sources = read_sources(arguments)
    curves = curves_of(results, sources)
    cells = cells_of(arguments, results)
    across = across_tables(
        arguments, results, cells, curves, arguments.rank_by, arguments.attack_model
    )
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
    render = FORMATS[arguments.format or "text"]
    tables = across + [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder)
    ] or blank_tables(results.protocol)
    print("\n".join(render.write(table, arguments.style) for table in tables), end="")
    return 0
