"""listening: evaluate the ratings of a listening test; write metrics, tables and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import FIGURE_FORMATS
from ..cli.options import Options, log
from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes, relative
from ..options import choice, flag, natural, path, value
from . import FIGURES, MIN_AGREEMENT, MIN_RATINGS, RESULTS, SCALE

if TYPE_CHECKING:
    from ..numbers.report_data import ReportData
    from ..products.freshness import Product
    from ..protocol.protocol import Protocol
    from ..report.figures.drawing import Drawing
    from ..report.page import Section
    from ..report.tables_and_report import Insert
    from ..results.records import Results
    from .evaluation import ListeningTest, ListeningTestCurves

_RATINGS = (
    "CSV files, or folders of naturalness.csv, intelligibility.csv, similarity.csv (columns: "
    "--template)"
)
_OBJECTIVE = "objective results to show next to the ratings"
_SYSTEMS = "rated systems in addition to those of the results; default: all"
_REFERENCE = "system whose median is drawn across violin plots; default: the first"
_LEFT_OUT = "exclude these evaluators (recorded in the results)"
_FEW = f"report evaluators with fewer ratings of a metric (default: {MIN_RATINGS})"
_LOW = f"report evaluators who correlate less with the others (default: {MIN_AGREEMENT:g})"


class _Template(argparse.Action):
    """Print a template and exit, even if required options are missing, like --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .ratings import TEMPLATE

        sys.stdout.write(TEMPLATE)
        parser.exit()


_SCALE = {
    "metavar": ("LOW", "HIGH"),
    "help": "default: 1 10",
    "nargs": 2,
    "type": float,
    "default": SCALE,
}

VERBS: dict[str, Options] = {
    "listening": {
        "example": "--ratings ratings.csv --results results.json --holm --out listening_test",
        "shared": "config table-style formats",
        "--ratings": path("FILE", _RATINGS, nargs="+", action="extend"),
        "--template": {"action": _Template, "nargs": 0, "help": "print an example of ratings"},
        "--out": path("DIR", required=True),
        "--results": path("results.json", _OBJECTIVE, nargs="+", action="extend"),
        "--published": {"help": "published test to compare with, or to show alone: vpc2020"},
        "--conf": {"help": "default: the protocol of the results, or vpc2020"},
        "--split": {"help": "the rated split of the protocol; default: the last one"},
        "--systems": value("NAME", _SYSTEMS, nargs="+", action="extend", default=[]),
        "--any-system": flag("accept ratings of systems without results, too"),
        "--scale": _SCALE,
        "--reference": value("SYSTEM", _REFERENCE),
        "--holm": flag("correct p-values for the number of pairs (Holm)"),
        "--leave-out": value("EVALUATOR", _LEFT_OUT, nargs="+", action="extend", default=[]),
        "--min-ratings": value("N", _FEW, type=natural, default=MIN_RATINGS),
        "--min-agreement": value("R", _LOW, type=float, default=MIN_AGREEMENT),
        "--format": {
            **choice(FIGURE_FORMATS, "of figures; default: all; may be repeated", default=None),
            "action": "append",
        },
    },
}


def listening_insert(folder: Path) -> Insert:
    """Return the section on a listening test as part of a report, which draws nothing before it is
    composed."""
    from ..report.figures import folder_digest

    def compose(data: ReportData) -> Section:
        from .figures import listening_section

        return listening_section(folder, data)

    return (digest(read_bytes(folder / RESULTS)), folder_digest(folder / FIGURES)), compose


def run_listening(arguments: argparse.Namespace) -> int:
    from ..cli.inputs import log_notes, write_products
    from ..numbers.report_data import read_report_data
    from ..numbers.report_sources import ReportSources
    from ..protocol.protocol import load_protocol
    from ..report.figures import write_figures
    from ..report.table_formats import write_tables
    from .store import read_listening_test
    from .tables import (
        figures_source,
        listening_test_tables,
        objective_and_subjective,
        summary,
    )

    if arguments.config is not None and not arguments.ratings:
        arguments.ending.append(
            "no ratings of a listening test (ratings.csv in the tree); privacy-eval listening "
            "--template prints an example"
        )
        return 0
    if not arguments.ratings and not arguments.published:
        raise PrivacyEvalError("nothing to evaluate: neither --ratings nor --published is given")
    if arguments.results and not arguments.ratings:
        raise PrivacyEvalError("--ratings is missing: --results are shown beside ratings")
    sources = ReportSources(tuple(arguments.results or ()), arguments.conf)
    results = read_report_data(sources).results if sources.paths else None
    protocol = results.protocol if results else load_protocol(arguments.conf or "vpc2020")
    subjective: ListeningTest | None = None
    curves: ListeningTestCurves | None = None
    drawn_from = {"protocol": digest(json.dumps(protocol.to_dict()).encode())}
    if arguments.ratings:
        for _ in write_products([_evaluation(arguments, results, protocol)]):
            subjective, curves = read_listening_test(arguments.out / RESULTS)
        drawn_from = figures_source(arguments.out, sources)
    cells = objective_and_subjective(subjective, results, arguments.published)
    log_notes(cells.notes)
    split = subjective.split if subjective else protocol.splits[-1]
    tables = listening_test_tables(
        subjective, cells, protocol, split, published=arguments.published
    )
    files = write_tables(
        arguments.out / "tables",
        [tables],
        f"{protocol.title}: subjective evaluation",
        style=arguments.table_style,
        formats=arguments.formats,
    )

    def drawings() -> Iterator[Drawing]:
        from .figures import figures

        yield from figures(subjective, curves, cells, protocol, split)

    formats = [f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)]
    written, there = write_figures(
        drawings(),
        arguments.out / FIGURES,
        drawn_from={**drawn_from, "published": arguments.published or ""},
        formats=formats,
    )
    for line in summary(subjective) if subjective else ():
        log(f"privacy-eval: {line}")
    text = f"{len(files)} files of tables, {written + there} figures up to date"
    arguments.ending.append(f"{arguments.out}: {text}")
    return 0


def _evaluation(
    arguments: argparse.Namespace, results: Results | None, protocol: Protocol
) -> Product:
    """Return the evaluated ratings as a product."""
    from ..products.freshness import NOTE, Content, Product
    from ..protocol.published import load_systems
    from ..version import __version__
    from .evaluation import evaluate_ratings
    from .ratings import rating_files, read_ratings
    from .store import FILES, listening_files

    systems = [*(results.systems if results else ()), *arguments.systems]
    accepted: Sequence[str] | None = None
    if systems and not arguments.any_system:
        published = load_systems(arguments.published).systems if arguments.published else ()
        accepted = [*dict.fromkeys([*systems, *(s.id for s in published)])]
    reading: dict[str, Any] = {
        "systems": accepted,
        "data_sets": [d.id for d in protocol.data_sets],
        "genders": list(protocol.genders),
        "scale": tuple(arguments.scale),
    }
    evaluation: dict[str, Any] = {
        "systems": systems,
        **{name: getattr(arguments, name) for name in ("split", "min_ratings", "min_agreement")},
        **{name: getattr(arguments, name) for name in ("leave_out", "holm", "reference")},
    }
    files = tuple(arguments.out / name for name in FILES)

    def make(*_: object) -> Content:
        ratings = read_ratings(arguments.ratings, **reading)
        contents = listening_files(*evaluate_ratings(ratings, protocol, **evaluation))
        return Content(dict(zip(files, contents, strict=True)))

    return Product(
        str(arguments.out),
        arguments.out,
        arguments.out / NOTE,
        files,
        lambda _: {
            relative(path, arguments.out): path for path, _ in rating_files(arguments.ratings)
        },
        make,
        subject={"version": __version__, "protocol": protocol.to_dict()},
        revision=3,
        options={"reading": reading, "evaluation": evaluation},
    )
