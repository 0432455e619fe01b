"""tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from ..report.ranking import ranking_metrics
from ..version import __version__
from .options import add_results, add_table_style, choice, path, value

if TYPE_CHECKING:
    from ..report.data import ReportSources
    from ..stages.freshness import Product

FORMATS = ("latex", "markdown", "text", "csv")

EXAMPLE = "--results results.json --published vpc2020 --out tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", **path("DIR", "default: to stdout"))
    add_table_style(parser)
    parser.add_argument("--format", choices=FORMATS, help="default: all; on stdout text")
    ranked = choice(ranking_metrics(), "metric of the ranking (default: eer)", default="eer")
    parser.add_argument("--rank-by", **ranked)
    attack = value("ID", "of the ranking; default: the one that the protocol averages")
    parser.add_argument("--attack-model", **attack)


def run(arguments: argparse.Namespace) -> int:
    from ..errors import PrivacyEvalError
    from ..io.inputs import Inputs
    from ..report import text
    from ..report.per_system import blank_tables, system_tables
    from ..report.report import across_tables
    from ..stages.freshness import bring_up_to_date
    from .report import log_notes, read_shown, sources_of

    sources = sources_of(arguments)
    if arguments.out is not None:
        product = tables_product(arguments, sources)
        outcome = bring_up_to_date([product], Inputs())
        for message in outcome.failed.values():
            raise PrivacyEvalError(message)
        log_notes(outcome.notes)
        noted = product.read_fingerprint()
        print(f"{arguments.out}: {len(noted.files) if noted else 0} files")
        return 0
    data = read_shown(sources)
    results = data.results
    across, notes = across_tables(data, arguments.rank_by, arguments.attack_model)
    log_notes(notes)
    render = text.FORMATS[arguments.format or "text"]
    tables = across + [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder, data.curves)
    ] or blank_tables(results.protocol)
    print("\n".join(render.write(table, arguments.table_style) for table in tables), end="")
    return 0


def tables_product(arguments: argparse.Namespace, sources: ReportSources) -> Product:
    """Return the folder of tables as a product."""
    from ..report.per_system import table_groups
    from ..report.report import across_tables
    from ..report.summary import summary_table
    from ..report.table_set import table_files
    from ..stages.freshness import NOTE, Content, Product
    from .report import read_shown

    out, style, only = arguments.out, arguments.table_style, arguments.format

    def make(*_: object) -> Content:
        data = read_shown(sources)
        across, notes = across_tables(data, arguments.rank_by, arguments.attack_model)
        main_results = summary_table(data)
        first = [main_results] if main_results is not None else []
        groups = [
            [replace(table, notes=(*data.unsigned, *table.notes)) for table in group]
            for group in table_groups(data.results, first + across, data.curves)
        ]
        title = data.protocol.title
        files = table_files(groups, title, style=style, only=only)
        content = {out / name: text.encode() for name, text in files.items()}
        return Content(content, remarks=tuple(notes))

    subject = {
        "version": __version__,
        "results": sources.digest(),
        "published": sources.published,
    }
    names = ("table_style", "format", "rank_by", "attack_model")
    options = {name: getattr(arguments, name) for name in names}
    return Product(
        str(out), out, out / NOTE, (), lambda _: {}, make, subject=subject, options=options
    )
