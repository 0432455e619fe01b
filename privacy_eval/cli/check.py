"""check: missing inputs, mismatches and implausible scores of a tree."""

from __future__ import annotations

import argparse

from .options import add_tree, positive, progress, replicates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="exit 0 even if something cannot be evaluated; trials without a score are no error",
    )
    parser.add_argument("--details", action="store_true", help="every item, not one screen")
    parser.add_argument(
        "--quick", action="store_true", help="leave score files unread (a second per million lines)"
    )
    parser.add_argument("--nj", type=positive, default=2, help="number of jobs to estimate for (2)")
    parser.add_argument(
        "--bootstrap", type=replicates, default=0, metavar="N", help="replicates to estimate for"
    )


def run(arguments: argparse.Namespace) -> int:
    from ..check import check_tree
    from ..stages.asv_scores import Models
    from .inputs import place_of, systems_of

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
