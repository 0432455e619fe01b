"""figures: draw PNG and PDF, and curves also as pgfplots."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .options import FIGURE_FORMATS, JOBS, add, add_results, choice, path

if TYPE_CHECKING:
    from ..report.figures.drawing import Drawing

EXAMPLE = "--results results.json --out figures --format png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", required=True, **path("DIR"))
    formats = choice(FIGURE_FORMATS, "default: all; may be repeated")
    parser.add_argument("--format", action="append", **formats)
    add(parser, "--all-figures", "--conventional", "--whiskers", *JOBS)


def run(arguments: argparse.Namespace) -> int:
    from ..report.figure_folder import figures_source
    from ..report.figures import all_figures, write_figures
    from .inputs import log_notes, report_sources, run_settings

    sources = report_sources(arguments, needed=True)
    options = {
        "conventional": arguments.conventional,
        "whiskers": arguments.whiskers,
        "everything": arguments.all_figures,
    }
    run = run_settings(arguments, finish=False)

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
    print(f"{arguments.out}: {written} figures drawn, {there} there")
    return 0
