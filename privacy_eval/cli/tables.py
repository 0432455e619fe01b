"""tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .options import add, add_results, beginnings, path, value

if TYPE_CHECKING:
    from ..numbers.report_sources import ReportSources
    from ..report.tables_and_report import TableOptions

FORMATS = ("latex", "markdown", "text", "csv")
#: Names of further formats of files.
_FURTHER = {"md": "markdown", "txt": "text", "csv": "csv"}

EXAMPLE = "--results results.json --published vpc2020 --out tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", **path("DIR", "default: to stdout"))
    add(parser, "--table-style")
    parser.add_argument("--format", choices=FORMATS, help="on stdout; default: text")
    further = "in files also md, txt, csv, beside LaTeX and tables.csv with all cells"
    parser.add_argument("--formats", default=(), **value("LIST", further, type=_formats))
    ranked = value("METRIC", "metric of the ranking, named as in results.csv (default: eer)")
    parser.add_argument("--rank-by", default="eer", **ranked)
    attack = value("ID", "attack model of the ranking; default: the one that the protocol averages")
    parser.add_argument("--attack-model", **attack)


def _formats(text: str) -> tuple[str, ...]:
    if unknown := [name for name in text.split(",") if name and name not in _FURTHER]:
        raise argparse.ArgumentTypeError(f"no format {unknown[0]!r}, only {', '.join(_FURTHER)}")
    return tuple(_FURTHER[name] for name in text.split(",") if name)


def run(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import TableOptions, tables_product
    from .inputs import report_sources, write_products

    sources = report_sources(arguments, needed=True)
    style, formats = arguments.table_style, arguments.formats
    options = TableOptions(style, formats, arguments.rank_by, arguments.attack_model)
    if arguments.out is not None and arguments.format is not None:
        raise UsageError("--format is of tables on stdout; with --out, --formats adds formats")
    if arguments.out is not None:
        tables = tables_product(sources, arguments.out, options, begin=beginnings())
        for product, current in write_products([tables]):
            fingerprint = product.read_fingerprint()
            files = len(fingerprint.files) if fingerprint else 0
            print(f"{arguments.out}: {files} files" + ", current" * current)
        return 0
    return _print_tables(sources, options, arguments.format or "text")


def _print_tables(sources: ReportSources, options: TableOptions, form: str) -> int:
    """Print all tables in one format."""
    from ..report import table_formats
    from ..report.tables_and_report import all_tables, read_table_data
    from .inputs import log_notes

    data = read_table_data(sources, options)
    groups, remarks = all_tables(data)
    log_notes([*data.missing_arrays, *remarks])
    tables = [table for group in groups for table in group]
    if form == "csv":
        print(table_formats.to_csv(tables), end="")
        return 0
    render = table_formats.FORMATS[form]
    print("\n".join(render.file(table, options.style) for table in tables), end="")
    return 0
