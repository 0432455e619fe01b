"""tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import add, add_results, beginnings, path, value

if TYPE_CHECKING:
    from ..numbers.report_sources import ReportSources
    from ..report.tables_and_report import TableOptions

FORMATS = ("latex", "markdown", "text", "csv")

EXAMPLE = "--results results.json --published vpc2020 --out tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", **path("DIR", "default: to stdout"))
    add(parser, "--table-style")
    parser.add_argument("--format", choices=FORMATS, help="default: all; on stdout: text")
    ranked = value("METRIC", "metric of the ranking, named as in results.csv (default: eer)")
    parser.add_argument("--rank-by", default="eer", **ranked)
    attack = value("ID", "attack model of the ranking; default: the one that the protocol averages")
    parser.add_argument("--attack-model", **attack)


def run(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import TableOptions, tables_product
    from .inputs import report_sources, write_products

    sources = report_sources(arguments, needed=True)
    style, only = arguments.table_style, arguments.format
    options = TableOptions(style, only, arguments.rank_by, arguments.attack_model)
    if arguments.out is not None:
        tables = tables_product(sources, arguments.out, options, begin=beginnings())
        for product, current in write_products([tables]):
            fingerprint = product.read_fingerprint()
            files = len(fingerprint.files) if fingerprint else 0
            print(f"{arguments.out}: {files} files" + ", current" * current)
        return 0
    return _print_tables(sources, options)


def _print_tables(sources: ReportSources, options: TableOptions) -> int:
    """Print all tables in one format."""
    from ..report import table_formats
    from ..report.tables_and_report import all_tables, read_table_data
    from .inputs import log_notes

    data = read_table_data(sources, options)
    groups, remarks = all_tables(data)
    log_notes([*data.missing_arrays, *remarks])
    render = table_formats.FORMATS[options.only or "text"]
    tables = (table for group in groups for table in group)
    print("\n".join(render.file(table, options.style) for table in tables), end="")
    return 0
