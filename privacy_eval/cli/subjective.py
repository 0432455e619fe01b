"""The verb of listening tests: from ratings to tables and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError
from ..io.files import digest
from ..io.ratings import SCALE, TEMPLATE, read_ratings
from ..listening.evaluation import (
    MIN_AGREEMENT,
    MIN_RATINGS,
    Subjective,
    SubjectiveCurves,
    evaluate_ratings,
)
from ..listening.store import write_subjective
from ..listening.tables import (
    objective_and_subjective,
    subjective_tables,
)
from ..listening.tables import summary as test_summary
from ..protocol.protocol import Protocol, load_protocol
from ..protocol.published import load_systems
from ..report.table_set import write_tables
from ..results.arrays import FIGURE_FORMATS
from ..results.records import Results
from .options import Verbs, log, natural
from .report import (
    SUBJECTIVE_FIGURES,
    SUBJECTIVE_JSON,
    made_from_results,
    read_sources,
    subjective_made_from,
)


def add_verbs(verbs: Verbs) -> None:
    """The verb of listening tests."""
    verb = verbs.add_parser(
        "subjective", help="ratings of a listening test to metrics, tables and figures"
    )
    verb.set_defaults(verb=_subjective)
    verb.add_argument(
        "--ratings",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CSV files, or folders of naturalness.csv, intelligibility.csv, similarity.csv; "
        "--template shows the columns",
    )
    verb.add_argument("--template", action=_Template, nargs=0, help="print an example of ratings")
    verb.add_argument("--out", required=True, type=Path, metavar="DIR")
    verb.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="objective results beside"
    )
    verb.add_argument(
        "--published",
        metavar="NAME",
        help="a published test beside, e.g. vpc2020; alone without --ratings",
    )
    verb.add_argument("--conf", metavar="FILE", help="default: the plan of the results, or vpc2020")
    verb.add_argument("--split", help="of the plan, that was rated; default: its last one")
    verb.add_argument(
        "--systems",
        nargs="+",
        default=[],
        metavar="NAME",
        help="systems that ratings may be of, in their order, beside those of the results; "
        "default without results: any",
    )
    verb.add_argument(
        "--any-system",
        action="store_true",
        help="ratings may be of systems that the results lack, too",
    )
    verb.add_argument(
        "--scale",
        nargs=2,
        type=float,
        default=SCALE,
        metavar=("LOW", "HIGH"),
        help="of the ratings (default: 1 10)",
    )
    verb.add_argument(
        "--reference",
        metavar="SYSTEM",
        help="whose median is drawn across violin plots; default: the first system",
    )
    verb.add_argument(
        "--holm", action="store_true", help="correct p-values for the number of pairs (Holm)"
    )
    verb.add_argument(
        "--leave-out",
        nargs="+",
        default=[],
        metavar="EVALUATOR",
        help="do not count these evaluators; the results say so",
    )
    verb.add_argument(
        "--min-ratings",
        type=natural,
        default=MIN_RATINGS,
        metavar="N",
        help=f"name evaluators with fewer ratings of a metric (default: {MIN_RATINGS})",
    )
    verb.add_argument(
        "--min-agreement",
        type=float,
        default=MIN_AGREEMENT,
        metavar="R",
        help="name evaluators whose ratings correlate less with the others' "
        f"(default: {MIN_AGREEMENT:g})",
    )
    verb.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")
    verb.add_argument(
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


def _subjective(arguments: argparse.Namespace) -> int:
    from ..listening.figures import figures
    from ..report.figures import write_figures  # matplotlib, which other verbs do without

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
    subjective: Subjective | None = None
    curves: SubjectiveCurves | None = None
    source = digest(json.dumps(protocol.to_dict()).encode())
    if arguments.ratings:
        subjective, curves = _evaluate(arguments, results, protocol)
        subjective = write_subjective(arguments.out, subjective, curves)
        source = subjective_made_from(arguments.out / SUBJECTIVE_JSON, objective)
    cells = objective_and_subjective(subjective, results, arguments.published)
    for note in cells.notes:
        log(f"privacy-eval: {note}")
    split = subjective.split if subjective else protocol.splits[-1]
    tables = subjective_tables(subjective, cells, protocol, split, published=arguments.published)
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
) -> tuple[Subjective, SubjectiveCurves]:
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
