"""The verb study: simulations that show what each metric sees."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..protocol.protocol import bundled_studies, load_protocol
from ..study.protocol import StudyProtocol, UserMetric, check_pairs, load_study, load_user_metric
from ..study.run import remove_others, run_tasks, study_tasks
from ..study.tasks import Task
from .options import Verbs, add_job, natural, progress


def add_verbs(verbs: Verbs) -> None:
    """The verb of simulations."""
    study = verbs.add_parser("study", help="simulations that show what each metric sees")
    study.set_defaults(verb=_study)
    add_shared(study)
    add_job(study)


def add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--conf",
        default="metric_study",
        metavar="FILE",
        help=f"{', '.join(bundled_studies())} (default), or a YAML file",
    )
    parser.add_argument(
        "--seed", type=natural, metavar="N", help="instead of the one that the plan names"
    )
    parser.add_argument(
        "--tree", type=Path, metavar="DIR", help="attack the original speech of this tree"
    )
    parser.add_argument("--tree-conf", default="vpc2020", metavar="FILE", help="plan of the tree")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME=FILE.py:FUNCTION",
        help="a metric of your own, a function of TrialScores; may be given several times",
    )


def _study(arguments: argparse.Namespace) -> int:
    plan, tasks, own = study_of(arguments)
    job = arguments.job or (1, 1)
    if job[0] == 1:
        remove_others(tasks, arguments.out)
    computed, there = run_tasks(
        tasks,
        arguments.out,
        seed=plan.seed,
        own=own,
        job=job,
        progress=progress(),
    )
    print(f"{arguments.out}: {computed} simulations made, {there} there")
    return 0


def study_of(arguments: argparse.Namespace) -> tuple[StudyProtocol, list[Task], list[UserMetric]]:
    plan = load_study(arguments.conf)
    if arguments.seed is not None:
        plan = replace(plan, seed=arguments.seed)
    own = [load_user_metric(text) for text in arguments.metric]
    if len({metric.name for metric in own}) < len(own):
        raise PrivacyEvalError("--metric: two metrics of one name")
    check_pairs(plan, own)
    if arguments.tree is None:
        return plan, study_tasks(plan), own
    if not arguments.tree.is_dir():
        raise PrivacyEvalError(f"{arguments.tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.tree_conf, base=arguments.tree)
    return plan, study_tasks(plan, tree=arguments.tree, protocol=protocol), own
