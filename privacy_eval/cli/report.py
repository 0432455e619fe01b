"""Verbs from results to what is read: tables, figures, report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from ..errors import PrivacyEvalError
from ..listening.report import listening_key, listening_section
from ..report.data import ReportData, read_report_data
from ..report.figures import all_figures, write_figures
from ..report.html import made_from as reported_from
from ..report.html import write_report
from ..report.per_system import blank_tables, system_tables, write_tables
from ..report.ranking import RANKED_BY
from ..report.report import across_tables, figures_key, report_key, report_sections
from ..report.text import FORMATS
from ..results.arrays import FIGURE_FORMATS
from .options import Verbs, add_job, log, progress


def add_verbs(verbs: Verbs) -> None:
    """The verbs from results to what is read."""
    tables = verbs.add_parser("tables", help="LaTeX, Markdown, text and CSV tables")
    tables.set_defaults(verb=_tables)
    tables.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="default: blank forms"
    )
    tables.add_argument("--out", type=Path, metavar="DIR", help="default: to stdout")
    _add_shared(tables)
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

    figures = verbs.add_parser("figures", help="figures as PNG, PDF and, of curves, pgfplots")
    figures.set_defaults(verb=_figures)
    figures.add_argument("--results", nargs="+", type=Path, metavar="results.json")
    figures.add_argument("--out", required=True, type=Path, metavar="DIR")
    _add_shared(figures)
    figures.add_argument(
        "--format",
        action="append",
        choices=FIGURE_FORMATS,
        help="default: all; may be given several times",
    )
    figures.add_argument(
        "--conventional",
        action="store_true",
        help="also ECE, APE, NBER and NECE plots, one figure per condition of a system",
    )
    add_job(figures, verb="draw")

    report = verbs.add_parser("report", help="one HTML file with tables, figures and provenance")
    report.set_defaults(verb=_report)
    report.add_argument("--results", nargs="+", type=Path, metavar="results.json")
    report.add_argument("--figures", type=Path, metavar="DIR", help="as the verb figures wrote it")
    report.add_argument(
        "--subjective", type=Path, metavar="DIR", help="as the verb subjective wrote it"
    )
    report.add_argument("-o", "--output", required=True, type=Path, metavar="report.html")
    _add_shared(report)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--conf", metavar="FILE", help="default: the plan of the results, or vpc2020"
    )
    parser.add_argument(
        "--published", metavar="NAME", help="published results beside them, or alone: vpc2020"
    )


def _tables(arguments: argparse.Namespace) -> int:
    data = read_shown(arguments)
    across, notes = across_tables(data, arguments.rank_by, arguments.attack_model)
    log_notes(notes)
    results = data.results
    if arguments.out is not None:
        files = write_tables(
            results, arguments.out, style=arguments.style, only=arguments.format, across=across
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


def _figures(arguments: argparse.Namespace) -> int:
    _check_sources(arguments)
    data = read_shown(arguments)
    conventional = arguments.conventional
    written, there = write_figures(
        all_figures(data, conventional=conventional),
        arguments.out,
        made_from=figures_key(data, conventional=conventional),
        formats=[f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)],
        job=arguments.job or (1, 1),
        progress=progress(),
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")  # the line of the progress
    print(f"{arguments.out}: {written} figures drawn, {there} there")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    _check_sources(arguments)
    data = read_shown(arguments)
    test = arguments.subjective
    key = report_key(data, arguments.figures, listening_key(test) if test is not None else ())
    if reported_from(arguments.output) == key:
        print(f"{arguments.output}: up to date")
        return 0
    inserted = [listening_section(test, data)] if test is not None else []
    sections, notes = report_sections(data, figures=arguments.figures, inserted=inserted)
    log_notes(notes)
    title = f"{data.protocol.title}: evaluation of voice anonymization"
    write_report(arguments.output, title, sections, made_from=key)
    print(arguments.output)
    return 0


def read_shown(arguments: argparse.Namespace) -> ReportData:
    """Read the results asked for; missing arrays are logged."""
    data = read_report_data(
        arguments.results or (), conf=arguments.conf, published=arguments.published
    )
    absent = data.curves.absent(data.results)
    if absent:
        log_notes(
            [
                f"curves of {absent} records are missing (folder records/ beside results.json): no "
                "figures of these, no bootstrap over speakers"
            ]
        )
    return data


def log_notes(notes: Iterable[str]) -> None:
    """Log what a reader of tables and figures must know."""
    for note in notes:
        log(f"privacy-eval: {note}")


def _check_sources(arguments: argparse.Namespace) -> None:
    if not arguments.results and not arguments.published:
        raise PrivacyEvalError("nothing to show: neither --results nor --published is given")
