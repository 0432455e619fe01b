"""listening: from ratings of a listening test to metrics, tables and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError
from ..io.ratings import SCALE, TEMPLATE, read_ratings
from ..listening.evaluation import (
    MIN_AGREEMENT,
    MIN_RATINGS,
    ListeningTest,
    ListeningTestCurves,
    evaluate_ratings,
)
from ..results.arrays import FIGURE_FORMATS
from .options import log, natural

if TYPE_CHECKING:
    from ..protocol.protocol import Protocol
    from ..results.records import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "--ratings",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CSV files, or folders of naturalness.csv, intelligibility.csv, similarity.csv; "
        "--template shows the columns",
    )
    parser.add_argument("--template", action=_Template, nargs=0, help="print an example of ratings")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="objective results beside"
    )
    parser.add_argument(
        "--published",
        metavar="NAME",
        help="a published test beside, e.g. vpc2020; alone without --ratings",
    )
    parser.add_argument("--conf", metavar="FILE", help="default: the protocol of the results")
    parser.add_argument("--split", help="of the protocol, that was rated; default: its last one")
    parser.add_argument(
        "--systems",
        nargs="+",
        default=[],
        metavar="NAME",
        help="systems that ratings may be of, in their order, beside those of the results; "
        "default without results: any",
    )
    parser.add_argument(
        "--any-system",
        action="store_true",
        help="ratings may be of systems that the results lack, too",
    )
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        default=SCALE,
        metavar=("LOW", "HIGH"),
        help="of the ratings (default: 1 10)",
    )
    parser.add_argument(
        "--reference",
        metavar="SYSTEM",
        help="whose median is drawn across violin plots; default: the first system",
    )
    parser.add_argument(
        "--holm", action="store_true", help="correct p-values for the number of pairs (Holm)"
    )
    parser.add_argument(
        "--leave-out",
        nargs="+",
        default=[],
        metavar="EVALUATOR",
        help="do not count these evaluators; the results say so",
    )
    parser.add_argument(
        "--min-ratings",
        type=natural,
        default=MIN_RATINGS,
        metavar="N",
        help=f"name evaluators with fewer ratings of a metric (default: {MIN_RATINGS})",
    )
    parser.add_argument(
        "--min-agreement",
        type=float,
        default=MIN_AGREEMENT,
        metavar="R",
        help="name evaluators whose ratings correlate less with the others' "
        f"(default: {MIN_AGREEMENT:g})",
    )
    parser.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")
    parser.add_argument(
        "--format",
        action="append",
        choices=FIGURE_FORMATS,
        help="of figures; default: all; may be given several times",
    )


class _Template(argparse.Action):
    """Prints a template and ends, whatever else is missing, like --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        sys.stdout.write(TEMPLATE)
        parser.exit()


def run(arguments: argparse.Namespace) -> int:
    from ..io.files import digest
    from ..listening.figures import figures
    from ..listening.store import write_listening_test
    from ..listening.tables import (
        listening_test_tables,
        objective_and_subjective,
    )
    from ..listening.tables import summary as test_summary
    from ..protocol.protocol import load_protocol
    from ..report.figures import write_figures
    from ..report.table_set import write_tables
    from .report import (
        SUBJECTIVE_FIGURES,
        SUBJECTIVE_JSON,
        made_from_results,
        read_sources,
        subjective_made_from,
    )

    if not arguments.ratings and not arguments.published:
        raise PrivacyEvalError("nothing to evaluate: neither --ratings nor --published is given")
    if arguments.results and not arguments.ratings:
        raise PrivacyEvalError("--results stand beside ratings: --ratings is missing")
    results: Results | None = None
    objective = ""
    if arguments.results:
        results, _ = read_sources(arguments)
        objective = made_from_results(arguments, results)
    protocol = results.protocol if results else load_protocol(arguments.conf or "vpc2020")
    subjective: ListeningTest | None = None
    curves: ListeningTestCurves | None = None
    source = digest(json.dumps(protocol.to_dict()).encode())
    if arguments.ratings:
        subjective, curves = _evaluate(arguments, results, protocol)
        subjective = write_listening_test(arguments.out, subjective, curves)
        source = subjective_made_from(arguments.out / SUBJECTIVE_JSON, objective)
    cells = objective_and_subjective(subjective, results, arguments.published)
    for note in cells.notes:
        log(f"privacy-eval: {note}")
    split = subjective.split if subjective else protocol.splits[-1]
    tables = listening_test_tables(
        subjective, cells, protocol, split, published=arguments.published
    )
    files = write_tables(
        arguments.out / "tables",
        [tables],
        f"{protocol.title}: subjective evaluation",
        style=arguments.style,
    )
    formats = [f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)]
    written, there = write_figures(
        figures(subjective, curves, cells, protocol, split),
        arguments.out / SUBJECTIVE_FIGURES,
        made_from=f"{source}:{arguments.published or ''}",
        formats=formats,
    )
    for line in test_summary(subjective) if subjective else ():
        log(f"privacy-eval: {line}")
    print(f"{arguments.out}: {len(files)} files of tables, {written} figures drawn, {there} there")
    return 0


def _evaluate(
    arguments: argparse.Namespace, results: Results | None, protocol: Protocol
) -> tuple[ListeningTest, ListeningTestCurves]:
    from ..protocol.published import load_systems

    systems = [*(results.systems if results else ()), *arguments.systems]
    known: Sequence[str] | None = None
    if systems and not arguments.any_system:
        published = load_systems(arguments.published).systems if arguments.published else ()
        known = [*dict.fromkeys([*systems, *(s.id for s in published)])]
    ratings = read_ratings(
        arguments.ratings,
        systems=known,
        data_sets=[d.id for d in protocol.data_sets],
        genders=list(protocol.genders),
        scale=(arguments.scale[0], arguments.scale[1]),
    )
    return evaluate_ratings(
        ratings,
        protocol,
        systems=systems,
        split=arguments.split,
        min_ratings=arguments.min_ratings,
        min_agreement=arguments.min_agreement,
        leave_out=arguments.leave_out,
        holm=arguments.holm,
        reference=arguments.reference,
    )
