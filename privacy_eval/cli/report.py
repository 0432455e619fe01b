"""report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .options import add_results, beginnings, fill, flag, path, value

EXAMPLE = "--results results.json --figures figures --published vpc2020 --out report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", **path("DIR", "folder written by the verb figures"))
    parser.add_argument("--listening", **path("DIR", "folder written by the verb listening"))
    parser.add_argument("--out", required=True, **path("report.html"))
    statement = "one or two pages for a data protection impact assessment instead (.html or .md)"
    parser.add_argument("--statement", **flag(statement))
    evidence = "with --statement: JSON of attributes, identification --sentences or metrics --by"
    parser.add_argument("--evidence", **path("JSON", evidence, action="append", default=[]))
    public = "a report to publish, without the folders and paths that results were made from"
    parser.add_argument("--public", **flag(public))
    for name, what in (
        ("title", "title of the report"),
        ("date", "line below the title, such as the date of the results"),
        ("sentence", "sentence below the title"),
    ):
        parser.add_argument(f"--{name}", **value("TEXT", what, default=""))


def run(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import Publication, report_product
    from .inputs import report_sources, write_products

    if arguments.statement:
        return _statement(arguments)
    if arguments.evidence:
        raise UsageError("--evidence goes with --statement")
    insert = None
    if arguments.listening:
        from ..listening.tables import listening_insert

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


def _statement(arguments: argparse.Namespace) -> int:
    from ..errors import counted
    from ..io.evidence import ComparedGroups, InferredAttribute, SpeechAmount, read_evidence
    from ..io.files import write_text
    from ..numbers.report_data import read_report_data
    from ..report import statement
    from ..report.tables_and_report import Publication
    from .inputs import report_sources

    if arguments.out.suffix not in (".html", ".md"):
        raise UsageError(f"--out: {arguments.out}: expected a name that ends in .html or .md")
    read = [one for file in arguments.evidence for one in read_evidence(file)]
    data = Publication(public=True).data(read_report_data(report_sources(arguments, needed=True)))
    systems = len(data.results.systems)
    if not 1 <= systems <= statement.MOST_SYSTEMS:
        raise UsageError(
            f"--statement: about one to {statement.MOST_SYSTEMS} systems, not "
            f"{counted(systems, 'system')} (--system NAME)"
        )
    evidence = statement.Evidence(
        tuple(one for one in read if isinstance(one, InferredAttribute)),
        tuple(one for one in read if isinstance(one, SpeechAmount)),
        tuple(one for one in read if isinstance(one, ComparedGroups)),
    )
    title = arguments.title or statement.statement_title(data)
    parts = statement.statement_parts(data, evidence)
    as_html = arguments.out.suffix == ".html"
    compose = statement.statement_html if as_html else statement.statement_markdown
    write_text(arguments.out, compose(title, parts))
    print(arguments.out)
    return 0
