"""privacy-metrics: metrics of every trial condition of a tree, or of one score file."""

from __future__ import annotations

import argparse
from collections import Counter

from . import metrics
from .options import METRICS, add, add_tree, log, over_tree, positive, progress, two_forms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one score file."""
    stage, files = two_forms(parser)
    add_tree(stage)
    stage.add_argument("--nj", type=positive, default=1, help="number of processes")
    add(stage, "--job")
    metrics.add_files(files)
    add(parser, *METRICS)


def run(arguments: argparse.Namespace) -> int:
    from ..stages.privacy_metrics import evaluate
    from .inputs import options_of, say_needed, systems_of

    if not over_tree(arguments):
        return metrics.run(arguments)

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
