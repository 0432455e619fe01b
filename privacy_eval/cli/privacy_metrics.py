"""The verb evaluate: metrics of every condition of a tree."""

from __future__ import annotations

import argparse
from collections import Counter

from ..stages.privacy_metrics import evaluate
from .options import (
    Verbs,
    add_job,
    add_options,
    add_tree,
    log,
    options_of,
    positive,
    progress,
    say_needed,
    systems_of,
)


def add_verbs(verbs: Verbs) -> None:
    """The verb of every condition of a tree."""
    evaluation = verbs.add_parser("evaluate", help="metrics of every condition of a tree")
    evaluation.set_defaults(verb=_evaluate)
    add_tree(evaluation)
    add_options(evaluation)
    evaluation.add_argument("--nj", type=positive, default=1, help="processes at once")
    add_job(evaluation)


def _evaluate(arguments: argparse.Namespace) -> int:
    systems, _, out = systems_of(arguments)
    outcome = evaluate(
        systems,
        out,
        tree=arguments.tree,
        options=options_of(arguments, arguments.tree),
        nj=arguments.nj,
        job=arguments.job or (1, 1),
        announce=say_needed if arguments.job else None,
        progress=progress(),
    )
    for failure in outcome.failures:
        log(f"{failure.system} {failure.condition}: {failure.reason}")
    failed = Counter(failure.system for failure in outcome.failures)
    of_systems = ", ".join(f"{system} ({count})" for system, count in failed.items())
    log(
        f"privacy-eval: {len(outcome.computed)} conditions computed, "
        f"{len(outcome.up_to_date)} up to date, {len(outcome.failures)} failed"
        + (f": {of_systems}" if failed else "")
    )
    return 1 if outcome.failures else 0
