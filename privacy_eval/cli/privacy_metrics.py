"""The verb evaluate: metrics of every condition of a tree."""

from __future__ import annotations

import argparse

from ..stages.privacy_metrics import evaluate
from .options import (
    Verbs,
    add_job,
    add_options,
    add_tree,
    log,
    options_of,
    positive,
    run_of,
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
        run=run_of(arguments),
    )
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    log(
        f"privacy-eval: {len(outcome.made)} conditions computed, {len(outcome.current)} current, "
        f"{len(outcome.failed)} failed"
    )
    return 1 if outcome.failed else 0
