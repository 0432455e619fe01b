"""report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from .options import add_listening, add_renamed, add_results, log, path

if TYPE_CHECKING:
    from ..report.data import ReportData, ReportSources


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", **path("DIR", "as the verb figures wrote it"))
    add_listening(parser)
    add_renamed(parser, "--out", "-o", "--output", required=True, metavar="report.html")


def run(arguments: argparse.Namespace) -> int:
    from ..listening.report import listening_key, listening_section
    from ..report.html import made_from, write_report
    from ..report.report import report_key, report_sections

    sources = sources_of(arguments, needed=True)
    test = arguments.listening
    key = report_key(sources, arguments.figures, listening_key(test) if test is not None else ())
    if made_from(arguments.out) == key:
        print(f"{arguments.out}: up to date")
        return 0
    data = read_shown(sources)
    inserted = [listening_section(test, data)] if test is not None else []
    sections, notes = report_sections(data, figures=arguments.figures, inserted=inserted)
    log_notes(notes)
    title = f"{data.protocol.title}: evaluation of voice anonymization"
    write_report(arguments.out, title, sections, made_from=key)
    print(arguments.out)
    return 0


def sources_of(arguments: argparse.Namespace, *, needed: bool = False) -> ReportSources:
    """Return the sources asked for; nothing at all is an error where they are needed."""
    from ..report.data import ReportSources

    if needed and not arguments.results and not arguments.published:
        raise PrivacyEvalError("nothing to show: neither --results nor --published is given")
    return ReportSources(tuple(arguments.results or ()), arguments.conf, arguments.published or "")


def read_shown(sources: ReportSources) -> ReportData:
    """Read sources; missing arrays are logged."""
    data = sources.read()
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
