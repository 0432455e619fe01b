"""check: missing inputs, mismatches and implausible scores of a tree."""

from __future__ import annotations

import argparse

from .options import add, add_tree, positive, progress, replicates

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="exit 0 even if something cannot be evaluated; accept trials without a score",
    )
    add(parser, "--details")
    parser.add_argument(
        "--quick", action="store_true", help="do not read score files (about 1 s per 10^6 trials)"
    )
    parser.add_argument(
        "--nj", type=positive, default=2, help="number of jobs to estimate memory for (2)"
    )
    parser.add_argument("--bootstrap", type=replicates, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    from ..check import check_tree
    from ..stages.access import AsvSystems, new_system
    from .inputs import access_of, systems_of

    systems, protocol, _ = systems_of(arguments, needed=False, warn=False)
    access = access_of(arguments)
    report = check_tree(
        systems,
        AsvSystems(access, protocol),
        new_system(
            access,
            protocol,
            name=arguments.system,
            anon_suffix=(arguments.anon_suffix or [None])[0],
        ),
        read=not arguments.quick,
        nj=arguments.nj,
        progress=progress(),
    )
    print("\n".join(report.lines(details=arguments.details)))
    return 0 if report.ready or arguments.allow_missing else 1
