"""The verb check: what a tree lacks, and what in it cannot be right."""

from __future__ import annotations

import argparse

from ..check import check_tree
from ..stages.asv_scores import Models
from .options import Verbs, add_tree, place_of, positive, progress, replicates, systems_of


def add_verbs(verbs: Verbs) -> None:
    """The verb that checks a tree."""
    check = verbs.add_parser(
        "check", help="whether a tree is complete, what in it is odd, what it costs to evaluate"
    )
    check.set_defaults(verb=_check)
    add_tree(check)
    check.add_argument(
        "--allow-missing",
        action="store_true",
        help="exit 0 even where something cannot be evaluated; trials without a score are no error",
    )
    check.add_argument("--details", action="store_true", help="every item, not one screen")
    check.add_argument(
        "--quick", action="store_true", help="leave score files unread (a second per million lines)"
    )
    check.add_argument("--nj", type=positive, default=2, help="jobs that the cost is of (2)")
    check.add_argument(
        "--bootstrap", type=replicates, default=0, metavar="N", help="resamplings that it is of"
    )


def _check(arguments: argparse.Namespace) -> int:
    systems, protocol, _ = systems_of(arguments, needed=False, warn=False)
    report = check_tree(
        systems,
        Models(place_of(arguments), protocol),
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        read=not arguments.quick,
        nj=arguments.nj,
        replicates=arguments.bootstrap,
        progress=progress(),
    )
    print("\n".join(report.details() if arguments.details else report.screen()))
    return 0 if report.ready or arguments.allow_missing else 1
