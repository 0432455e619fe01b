"""check: missing inputs, mismatches and implausible scores of a tree."""

from __future__ import annotations

import argparse
import json

from .options import add, add_tree, progress

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
    rows = "csv, json: a row per team and problem; default: text"
    add(parser, "--format", choices=["text", "csv", "json"], help=rows)


def run(arguments: argparse.Namespace) -> int:
    from ..check import ERROR, Row, check_tree
    from ..io.csv_text import csv_text
    from ..stages.access import AsvSystems, new_system
    from .inputs import load_systems, tree_access

    systems, protocol, _ = load_systems(arguments, needed=False, warn=False)
    access = tree_access(arguments)
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
        progress=progress(),
    )
    rows = report.rows(details=arguments.details)
    if arguments.format == "csv":
        print(csv_text([Row._fields, *rows]), end="")
    elif arguments.format == "json":
        print(json.dumps([row._asdict() for row in rows], indent=1))
    else:
        print(report.summary())
        print(
            f"protocol: {protocol.title} ({protocol.name}); tree: {access.tree}; "
            f"results: {access.results}"
        )
        print("\n".join(report.lines(access.tree, details=arguments.details)))
        if arguments.quick:
            print("score files were not read (--quick)")
    return 1 if report.number(ERROR) and not arguments.allow_missing else 0
