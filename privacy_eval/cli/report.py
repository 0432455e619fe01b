"""report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from ..version import __version__
from .options import add_listening, add_renamed, add_results, beginnings, log, path

if TYPE_CHECKING:
    from ..report.data import ReportData, ReportSources
    from ..report.html import Front, Section
    from ..stages.freshness import Product

EXAMPLE = "--results results.json --figures figures --published vpc2020 --out report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", **path("DIR", "as the verb figures wrote it"))
    add_listening(parser)
    pdf = "also its first screen as two pages to send"
    parser.add_argument("--summary-pdf", **path("FILE", pdf))
    add_renamed(parser, "--out", "-o", "--output", required=True, metavar="report.html")


def run(arguments: argparse.Namespace) -> int:
    from ..io.inputs import Inputs
    from ..stages.freshness import bring_up_to_date

    sources = sources_of(arguments, needed=True)
    files = (arguments.out, arguments.summary_pdf)
    products = report_products(*files, sources, arguments.figures, arguments.listening)
    for product in products:
        outcome = bring_up_to_date([product], Inputs())
        for message in outcome.failed.values():
            raise PrivacyEvalError(message)
        log_notes(outcome.notes)
        print(f"{product.name}: current" if outcome.current else product.name)
    return 0


def report_products(
    out: Path,
    summary: Path | None,
    sources: ReportSources,
    figures: Path | None,
    listening: Path | None,
) -> list[Product]:
    """Return the report, and its summary if there is to be one, as products."""
    from ..listening.report import listening_key, listening_section
    from ..report.html import report_page
    from ..report.report import folder_digest, report_sections, summary_pictures
    from ..stages.freshness import NOTE, Content, Product

    begin = beginnings() or (lambda *_: None)

    @functools.cache
    def composed() -> tuple[str, Front, list[Section], list[str]]:
        begin(0, 3, f"{out.name}: reading results")
        data = read_shown(sources)
        begin(1, 3, f"{out.name}: tables and figures")
        inserted = [listening_section(listening, data)] if listening is not None else []
        title = f"{data.protocol.title}: evaluation of voice anonymization"
        return title, *report_sections(data, figures=figures, inserted=inserted)

    def page(*_: object) -> Content:
        title, front, sections, notes = composed()
        begin(2, 3, f"{out.name}: the page")
        content = {out: report_page(title, sections, front).encode()}
        begin(3, 3, out.name)
        return Content(content, remarks=tuple(notes))

    def pages(*_: object) -> Content:
        from ..report.summary_pdf import summary_pdf  # matplotlib

        assert summary is not None
        title, front, sections = composed()[:3]
        return Content({summary: summary_pdf(title, front, summary_pictures(front, sections))})

    subject = {
        "version": __version__,
        "results": sources.digest(),
        "published": sources.published,
        "listening": listening_key(listening) if listening is not None else (),
        "figures": folder_digest(figures) if figures is not None else "",
    }
    return [
        Product(
            str(path),
            path.parent,
            path.with_name(f".{path.name}{NOTE}"),
            (path,),
            lambda _: {},
            make,
            subject=subject,
            revision=2,
        )
        for path, make in ((out, page), (summary, pages))
        if path is not None
    ]


def sources_of(arguments: argparse.Namespace, *, needed: bool = False) -> ReportSources:
    """Return the sources asked for; nothing at all is an error where they are needed."""
    from ..report.data import ReportSources

    if needed and not arguments.results and not arguments.published:
        raise PrivacyEvalError("nothing to show: neither --results nor --published is given")
    return ReportSources(
        tuple(arguments.results or ()),
        arguments.conf,
        arguments.published or "",
        arguments.variant,
        tuple(arguments.system or ()),
    )


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
