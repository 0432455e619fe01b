"""The verb figures: PNG, PDF and pgfplots."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..results.arrays import FIGURE_FORMATS
from .options import Verbs, add_job, add_results, progress
from .report import cells_of, check_sources, curves_of, figures_key, read_sources


def add_verbs(verbs: Verbs) -> None:
    """The verb of figures."""
    figures = verbs.add_parser("figures", help="figures as PNG, PDF and, of curves, pgfplots")
    figures.set_defaults(verb=_figures)
    figures.add_argument("--results", nargs="+", type=Path, metavar="results.json")
    figures.add_argument("--out", required=True, type=Path, metavar="DIR")
    add_results(figures)
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


def _figures(arguments: argparse.Namespace) -> int:
    from ..report.figures import all_figures, write_figures  # matplotlib: other verbs do without

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
