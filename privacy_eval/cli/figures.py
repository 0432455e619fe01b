"""figures: PNG, PDF and, of curves, pgfplots."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..results.arrays import FIGURE_FORMATS
from .options import add_job, add_published, add_results, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    add_published(parser)
    parser.add_argument(
        "--format",
        action="append",
        choices=FIGURE_FORMATS,
        help="default: all; may be given several times",
    )
    parser.add_argument(
        "--conventional",
        action="store_true",
        help="also ECE, APE, NBER and NECE plots, one figure per condition of a system",
    )
    add_job(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..report.figures import all_figures, write_figures
    from .report import cells_of, check_sources, curves_of, figures_key, read_sources

    check_sources(arguments)
    results, sources = read_sources(arguments)
    cells = cells_of(arguments, results)
    formats = [f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)]
    curves, conventional = curves_of(results, sources), arguments.conventional
    written, there = write_figures(
        all_figures(results, cells, curves, conventional=conventional),
        arguments.out,
        made_from=figures_key(arguments, results, conventional=conventional),
        formats=formats,
        job=arguments.job or (1, 1),
        progress=progress(),
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")  # the line of the progress
    print(f"{arguments.out}: {written} figures drawn, {there} there")
    return 0
