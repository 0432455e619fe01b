"""privacy-metrics: metrics of every trial condition of a tree, or of one score file."""

from __future__ import annotations

import argparse

from . import metrics
from .options import METRICS, add, add_metric, add_tree, log, positive, runs_as_stage, two_forms

EXAMPLE = "--tree baseline --results exp --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one score file."""
    stage, files = two_forms(parser)
    add_tree(stage)
    stage.add_argument("--nj", type=positive, default=1, help="number of processes")
    add(stage, "--job", "--isolate", "--details")
    files.add_argument("--scores", required=True, **metrics.SCORES)
    metrics.add_files(files)
    add(parser, *METRICS)
    add_metric(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..errors import abbreviate, counted
    from ..metrics import CAVEATS
    from ..stages.privacy_metrics import evaluate_tree
    from .inputs import load_systems, log_items, metric_options, run_settings

    if not runs_as_stage(arguments):
        return metrics.run(arguments)

    systems, _, out = load_systems(arguments)
    outcome = evaluate_tree(
        systems,
        out,
        tree=arguments.tree,
        options=metric_options(arguments, arguments.tree),
        run=run_settings(arguments),
    )
    rebuilt = [f"{name}: changed: {text}" for name, text in outcome.rebuilt.items()]
    log_items(arguments, "rebuilt", rebuilt)
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    endings = tuple(f": {caveat.reason}" for caveat in CAVEATS.values())
    log_items(arguments, "note", [n for n in outcome.notes if not n.endswith(endings)])
    for caveat, ending in zip(CAVEATS.values(), endings, strict=True):
        names = [n.removesuffix(ending) for n in outcome.notes if n.endswith(ending)]
        if names and caveat.announced:
            number = counted(len(names), "condition")
            text = f"{caveat.reason}: {number}: {abbreviate(names)}"
            log(f"privacy-eval: warning: {text}")
    log(
        f"privacy-eval: {counted(len(outcome.made), 'condition')} computed, "
        f"{len(outcome.current)} current, {len(outcome.failed)} failed"
    )
    return 1 if outcome.failed else 0
