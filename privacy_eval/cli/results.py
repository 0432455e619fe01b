"""Verbs that show and convert results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..choices import FIGURE_FORMATS, VARIANTS
from ..errors import PrivacyEvalError, UsageError
from ..io.files import write_text
from ..options import choice, fill, flag, path, value
from ..wings import of_wings, provided, referred
from .options import Options, beginnings, log

if TYPE_CHECKING:
    from ..numbers.report_sources import ReportSources
    from ..report.figures.drawing import Drawing
    from ..report.table import Style

FORMATS = ("latex", "markdown", "text", "csv")

_RESULTS = "default: published results alone"
_SYSTEM = "show only this system; several, in this order, by repeating the option"
_BY_STRONGEST = "rank systems, and draw the plane, by the strongest attacker that was tried"
_UTILITY = "utility in the plane, instead of wer,uar: dnsmos_ovrl, per_original, ..."
_TABLES = "tables of one's own, see docs/extending.md; may be repeated"
_RANK_BY = "metric of the ranking, named as in results.csv (default: eer)"
_ATTACK_MODEL = "attack model of the ranking; default: the one that the protocol averages"
_STATEMENT = "one or two pages for a data protection impact assessment instead (.html or .md)"
_EVIDENCE = "with --statement: JSON of attributes, identification --sentences or metrics --by"
_PUBLIC = "without paths, speakers are S1 to Sn, as in speaker_key.json, written beside the results"
_DATE = "line below the title, such as the date of the results"


#: Results, their protocol, and published results to compare with.
_SHOWN = {
    "--results": path("results.json", _RESULTS, nargs="+", action="extend"),
    "--conf": {"help": "default: the protocol of the results, or vpc2020"},
    "--variant": choice(VARIANTS, "of the metrics shown; default: the protocol's", default=None),
    "--system": {"help": _SYSTEM, "action": "append"},
    "--by-strongest": flag(_BY_STRONGEST),
    "--utility": value("KEY,...", _UTILITY),
    "--tables": path("FILE.yaml", _TABLES, action="append", default=[]),
}
VERBS: dict[str, Options] = {
    "tables": {
        "example": "--results results.json --published vpc2020 --out tables",
        "shared": "config confirm published table-style formats",
        **_SHOWN,
        "--out": {"metavar": "DIR", "help": "default: to stdout"},
        "--format": choice(FORMATS, "on stdout; default: text", default=None),
        "--rank-by": value("METRIC", _RANK_BY, default="eer"),
        "--attack-model": value("ID", _ATTACK_MODEL),
    },
    "figures": {
        "example": "--results results.json --out figures --format png",
        "shared": "config confirm published all-figures conventional whiskers nj cmd log-dir job",
        **_SHOWN,
        "--out": path("DIR", required=True),
        "--format": {
            **choice(FIGURE_FORMATS, "default: all; may be repeated", default=None),
            "action": "append",
        },
    },
    "report": {
        "example": "--results results.json --figures figures --published vpc2020 --out report.html",
        "shared": "config confirm published",
        "rules": (("evidence", "statement", "--evidence goes with --statement"),),
        "needs": {"statement": "statement"},
        **_SHOWN,
        "--figures": path("DIR", "folder written by the verb figures"),
        "--listening": path("DIR", "folder written by the verb listening"),
        "--out": path("report.html", required=True),
        "--statement": flag(_STATEMENT),
        "--evidence": path("JSON", _EVIDENCE, action="append", default=[]),
        "--public": flag(_PUBLIC),
        "--title": value("TEXT", "title of the report", default=""),
        "--date": value("TEXT", _DATE, default=""),
        "--sentence": value("TEXT", "sentence below the title", default=""),
    },
    "export": {
        "example": "results.json --system B1 --out results.txt",
        "results": path("results.json"),
        "--format": choice(["results.txt", "csv", "averages"], default="results.txt"),
        "--system": {"help": "default: the only one"},
        "--results-folder": value("SUFFIX", "results folder of the protocol", default=""),
        "--out": {"metavar": "FILE", "help": "default: stdout"},
    },
}


def run_tables(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import tables_product
    from .inputs import report_sources, write_products

    sources = report_sources(arguments)
    sources = replace(sources, rank_by=arguments.rank_by, attack_model=arguments.attack_model)
    style = arguments.table_style
    if arguments.out is not None and arguments.format is not None:
        raise UsageError("--format is of tables on stdout; with --out, --formats adds formats")
    if arguments.out is not None:
        out, formats = arguments.out, arguments.formats
        tables = tables_product(sources, out, style=style, formats=formats, begin=beginnings())
        for product, current in write_products([tables]):
            fingerprint = product.read_fingerprint()
            files = len(fingerprint.files) if fingerprint else 0
            arguments.ending.append(f"{arguments.out}: {files} files{' up to date' * current}")
        return 0
    return _print_tables(sources, style, arguments.format or "text")


def _print_tables(sources: ReportSources, style: Style, form: str) -> int:
    """Print all tables in one format."""
    from ..numbers.report_data import read_report_data
    from ..report import table_formats
    from ..report.tables_and_report import all_tables
    from .inputs import log_notes

    data = read_report_data(sources)
    groups, remarks = all_tables(data)
    log_notes([*data.missing_arrays, *remarks])
    tables = [table for group in groups for table in group]
    if form == "csv":
        print(table_formats.to_csv(tables), end="")
        return 0
    print("\n".join(table_formats.in_format(t, form, style) for t in tables), end="")
    return 0


def run_figures(arguments: argparse.Namespace) -> int:
    from ..report.figures import all_figures, figures_source, write_figures
    from .inputs import log_notes, report_sources, run_settings

    sources = report_sources(arguments)
    options = {
        "conventional": arguments.conventional,
        "whiskers": arguments.whiskers,
        "everything": arguments.all_figures,
    }
    run = run_settings(arguments)

    def drawings() -> Iterator[Drawing]:
        from ..numbers.report_data import read_report_data

        if run.begin is not None:
            run.begin(0, 0, "reading results")
        data = read_report_data(sources)
        log_notes(data.missing_arrays)
        yield from all_figures(data, **options)

    written, there = write_figures(
        drawings(),
        arguments.out,
        drawn_from=figures_source(sources, **options),
        formats=[f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)],
        run=run,
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")  # clear the progress line
    new = f" ({written} new)" * bool(written)
    arguments.ending.append(f"{arguments.out}: {written + there} figures up to date{new}")
    return 0


def run_report(arguments: argparse.Namespace) -> int:
    from ..report.tables_and_report import Publication, report_product
    from .inputs import report_sources, write_products

    if arguments.statement:
        return int(provided("statement")(arguments))
    insert = None
    if arguments.listening and (compose := of_wings("inserts").get("listening")):
        insert = referred(compose)(arguments.listening)
    elif arguments.listening:
        log(f"privacy-eval: {arguments.listening}: left out: the wing listening is not installed")
    product = report_product(
        report_sources(arguments),
        arguments.out,
        figures=arguments.figures,
        insert=insert,
        publication=fill(Publication, arguments),
        begin=beginnings(),
    )
    for _, is_current in write_products([product]):
        arguments.ending.append(product.name + " up to date" * is_current)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    from ..numbers.challenge_averages import challenge_averages, summary_text
    from ..report.notes import caveat_notes
    from ..results.challenge_text import to_results_txt
    from ..results.json_store import read_results
    from ..results.outputs import to_csv
    from ..results.signature import comparability_notes

    results = read_results(arguments.results)
    for note in (*caveat_notes(results.verification), *comparability_notes(results)):
        log(f"privacy-eval: warning: {note}")
    systems = results.systems
    system = arguments.system or (systems[0] if len(systems) == 1 else None)
    if arguments.format == "csv":
        text = to_csv(results if arguments.system is None else results.of(arguments.system))
    elif system not in systems:
        raise PrivacyEvalError(
            f"{arguments.results}: contains the systems {', '.join(systems)}; choose one of them "
            "with --system"
        )
    elif arguments.format == "averages":
        averages = challenge_averages(results.of(system))
        text = summary_text(averages)
        for average in averages:
            if average["value"] is None:
                title = average["title"]
                log(f"privacy-eval: {title}: undefined, as some of its values are missing")
    elif arguments.results_folder not in results.results_folders(system):
        folders = ", ".join(repr(f) for f in results.results_folders(system))
        raise PrivacyEvalError(
            f"{arguments.results}: {system} has no results folder {arguments.results_folder!r}, "
            f"only {folders}: --results-folder"
        )
    else:
        text = to_results_txt(results, system, arguments.results_folder)
    if arguments.out is None:
        print(text, end="")
    else:
        write_text(arguments.out, text)
    return 0
