"""report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse

from .options import add_results, beginnings, path

EXAMPLE = "--results results.json --figures figures --published vpc2020 --out report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", **path("DIR", "folder written by the verb figures"))
    parser.add_argument("--listening", **path("DIR", "folder written by the verb listening"))
    parser.add_argument("--out", required=True, **path("report.html"))


def run(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import report_product
    from .inputs import report_sources, write_products

    insert = None
    if arguments.listening:
        from ..listening.report import listening_insert

        insert = listening_insert(arguments.listening)
    product = report_product(
        report_sources(arguments, needed=True),
        arguments.out,
        figures=arguments.figures,
        insert=insert,
        begin=beginnings(),
    )
    for _, is_current in write_products([product]):
        print(f"{product.name}: current" if is_current else product.name)
    return 0
