"""privacy-metrics: metrics of every trial condition of a tree, or of one score file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import metrics
from .options import (
    JOBS,
    METRIC_OPTIONS,
    add,
    add_metric,
    add_tree,
    fill,
    log,
    progress,
    two_usages,
)

if TYPE_CHECKING:
    from ..stages.access import Experiment
    from ..stages.privacy_metrics import Options

EXAMPLE = "--tree baseline --results exp --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one score file."""
    stage, files = two_usages(parser, _stage, metrics.run)
    add_tree(stage)
    add(stage, *JOBS, "--isolate", "--details")
    files.add_argument("--scores", required=True, **metrics.SCORES)
    metrics.add_files(files)
    add(parser, *METRIC_OPTIONS)
    add_metric(parser)


def _stage(arguments: argparse.Namespace) -> int:
    from ..errors import abbreviate, counted, missing_library
    from ..products.freshness import LIBRARY
    from ..stages.privacy_metrics import Options, evaluate_tree, without_intervals
    from .inputs import exit_code, load_experiment, log_items, run_settings

    experiment = load_experiment(arguments)
    protocol, utt2spk = experiment.asv.protocol, arguments.utt2spk
    own = {
        "utt2spk": None if utt2spk is None else arguments.tree / utt2spk,
        "groups": protocol.groups,
        "ids": protocol.ids,
    }
    options = fill(Options, arguments, **own)
    if not arguments.job:
        _log_earlier_records(experiment, options)
    outcome = evaluate_tree(
        experiment.systems,
        experiment.out,
        tree=arguments.tree,
        options=options,
        run=run_settings(arguments, finish=False, nj=arguments.nj),
        inputs=experiment.asv.access.inputs,
    )
    if not any(c.scores for system in experiment.systems for c in system.conditions):
        source = "stage 5 or the challenge's own evaluation computes them"
        log(f"privacy-eval: warning: no condition has scores yet: {source}")
    wanted = options.bootstrap or options.groups
    unaligned = without_intervals(experiment.systems) if wanted else []
    if unaligned:
        what = "intervals" if options.bootstrap else "groups"
        why = missing_library(f"{what} of word error rates", "kaldialign")
        log(f"privacy-eval: warning: {why}: none of {abbreviate(unaligned)}")
    rebuilt = [f"{name}: changed: {text}" for name, text in outcome.rebuilt.items()]
    log_items(arguments, "rebuilt", rebuilt)
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    for name, error in outcome.missing.items():
        if error.kind == LIBRARY:
            log(f"privacy-eval: warning: {name}: {error}")
    _log_remarks(arguments, outcome.notes)
    counts = (
        f"{counted(len(outcome.made), 'condition')} computed, "
        f"{len(outcome.current)} current, {len(outcome.failed)} failed"
    )
    if arguments.cmd and not (arguments.job or outcome.failed):  # to stdout, as the sum of its jobs
        print(counts)
    else:
        log(f"privacy-eval: {counts}")
    return exit_code(arguments, outcome.failed)


def _log_remarks(arguments: argparse.Namespace, remarks: Sequence[str]) -> None:
    """Log the remarks on records, those of one caveat together."""
    from ..errors import abbreviate, counted
    from ..stages.privacy_metrics import WARNING
    from .inputs import log_items

    log_items(arguments, "note", [remark for remark in remarks if f": {WARNING}" not in remark])
    conditions: dict[str, list[str]] = {}
    for remark in remarks:
        name, warning, reason = remark.partition(f": {WARNING}")
        if warning:
            conditions.setdefault(reason, []).append(name)
    for reason, names in conditions.items():
        number = counted(len(names), "condition")
        log(f"privacy-eval: {WARNING}{reason}: {number}: {abbreviate(names)}")


def _log_earlier_records(experiment: Experiment, options: Options) -> None:
    """Log which records of earlier runs are ignored, and which lose their intervals."""
    from ..stages.collect import record_fingerprints
    from ..stages.privacy_metrics import condition_products, dropped_intervals
    from .inputs import log_unsigned

    access = experiment.asv.access
    records = condition_products(experiment.systems, experiment.out, access.tree)
    fingerprints, unsigned = record_fingerprints(records, access.inputs, progress())
    log_unsigned(experiment.out, unsigned)
    for replicates, number in dropped_intervals(fingerprints, options).items():
        log(
            f"privacy-eval: the previous run used --bootstrap {replicates}; without it, "
            f"{number} conditions lose their intervals of {replicates} replicates"
        )
