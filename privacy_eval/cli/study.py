"""study: simulations that show what each metric is sensitive to."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from .options import JOBS, add, add_metric, path, value

if TYPE_CHECKING:
    from ..io.user_metrics import UserMetric
    from ..study.protocol import StudyProtocol
    from ..study.run import Task

EXAMPLE = "--out study --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_shared(parser)
    add(parser, *JOBS)


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Add the options of both verbs of a study."""
    parser.add_argument("--out", required=True, **path("DIR"))
    study = "the study: metric_study (default), or a YAML file"
    add(parser, "--conf", default="metric_study", help=study)
    add(parser, "--seed", default=None, help="random seed, instead of the study's")
    add(parser, "--tree", default=None, help="attack the original speech of this tree")
    parser.add_argument("--tree-conf", **value("FILE", "protocol of the tree", default="vpc2020"))
    add_metric(parser, dest="metric")


def run(arguments: argparse.Namespace) -> int:
    from ..study.run import remove_stale_records, run_tasks
    from .inputs import run_settings

    study, tasks, own = load_study_tasks(arguments)
    if arguments.job is None or arguments.job[0] == 1:
        remove_stale_records(tasks, arguments.out)
    run = run_settings(arguments, finish=False)
    outcome = run_tasks(tasks, arguments.out, seed=study.seed, own=own, run=run)
    made, current = len(outcome.made), len(outcome.current)
    print(f"{arguments.out}: {made} simulations made, {current} current")
    return 0


def load_study_tasks(
    arguments: argparse.Namespace,
) -> tuple[StudyProtocol, list[Task], list[UserMetric]]:
    """Return the study, its tasks and the user-defined metrics that the options name."""
    from ..io.user_metrics import load_user_metrics
    from ..protocol.protocol import load_protocol
    from ..study.protocol import check_pairs, load_study
    from ..study.run import study_tasks

    study = load_study(arguments.conf)
    if arguments.seed is not None:
        study = replace(study, seed=arguments.seed)
    own = load_user_metrics(arguments.metric)
    check_pairs(study, own)
    if arguments.tree is None:
        return study, study_tasks(study), own
    if not arguments.tree.is_dir():
        raise PrivacyEvalError(f"{arguments.tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.tree_conf, base=arguments.tree)
    return study, study_tasks(study, tree=arguments.tree, protocol=protocol), own
