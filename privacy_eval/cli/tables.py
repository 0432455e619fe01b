"""The verb tables: LaTeX, Markdown, text and CSV tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.inputs import Inputs
from ..report.per_system import blank_tables, system_tables, table_files
from ..report.ranking import RANKED_BY
from ..report.table import Table
from ..report.text import FORMATS
from ..results.records import Results
from ..stages.freshness import NOTE, Content, Product, bring_up_to_date
from .options import Verbs, add_results
from .report import across_tables, cells_of, curves_of, digest_of_results, read_sources


def add_verbs(verbs: Verbs) -> None:
    """The verb of tables."""
    tables = verbs.add_parser("tables", help="LaTeX, Markdown, text and CSV tables")
    tables.set_defaults(verb=_tables)
    tables.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="default: blank forms"
    )
    tables.add_argument("--out", type=Path, metavar="DIR", help="default: to stdout")
    add_results(tables)
    tables.add_argument("--format", choices=list(FORMATS), help="default: all; on stdout text")
    tables.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")
    tables.add_argument(
        "--rank-by",
        choices=RANKED_BY,
        default="eer",
        help="metric of the ranking (default: eer)",
    )
    tables.add_argument(
        "--attack-model", metavar="ID", help="of the ranking; default: the one the plan averages"
    )


def _tables(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        outcome = bring_up_to_date([tables_product(arguments)], Inputs())
        for message in outcome.failed.values():
            raise PrivacyEvalError(message)
        noted = tables_product(arguments).read_fingerprint()
        print(f"{arguments.out}: {len(noted.files) if noted else 0} files")
        return 0
    results, sources = read_sources(arguments)
    render = FORMATS[arguments.format or "text"]
    tables = _across(arguments, results, sources) + [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder)
    ] or blank_tables(results.protocol)
    print("\n".join(render.write(table, arguments.style) for table in tables), end="")
    return 0


def tables_product(arguments: argparse.Namespace) -> Product:
    """The folder of tables, and all that it depends on."""

    def make(*_: object) -> Content:
        results, sources = read_sources(arguments)
        across = _across(arguments, results, sources)
        files = table_files(results, style=arguments.style, only=arguments.format, across=across)
        return Content({arguments.out / name: text.encode() for name, text in files.items()})

    names = ("published", "style", "format", "rank_by", "attack_model")
    return Product(
        str(arguments.out),
        arguments.out,
        arguments.out / NOTE,
        (),
        lambda _: {},
        make,
        subject={"version": __version__, "results": digest_of_results(arguments)},
        options={name: getattr(arguments, name) for name in names},
    )


def _across(
    arguments: argparse.Namespace, results: Results, sources: list[tuple[Results, Path]]
) -> list[Table]:
    """Tables of all systems side by side."""
    curves, cells = curves_of(results, sources), cells_of(arguments, results)
    return across_tables(
        arguments, results, cells, curves, arguments.rank_by, arguments.attack_model
    )
