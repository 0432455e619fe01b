"""report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse

from .options import add_results, beginnings, fill, flag, path, value

EXAMPLE = "--results results.json --figures figures --published vpc2020 --out report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", **path("DIR", "folder written by the verb figures"))
    parser.add_argument("--listening", **path("DIR", "folder written by the verb listening"))
    parser.add_argument("--out", required=True, **path("report.html"))
    public = "a report to publish, without the folders and paths that results were made from"
    parser.add_argument("--public", **flag(public))
    for name, what in (
        ("title", "title of the report"),
        ("date", "line below the title, such as the date of the results"),
        ("sentence", "sentence below the title"),
    ):
        parser.add_argument(f"--{name}", **value("TEXT", what, default=""))


def run(arguments: argparse.Namespace) -> int:
    from ..report.publication import Publication
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
        publication=fill(Publication, arguments),
        begin=beginnings(),
    )
    for _, is_current in write_products([product]):
        print(f"{product.name}: current" if is_current else product.name)
    return 0
