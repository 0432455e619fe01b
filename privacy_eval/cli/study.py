"""Verbs of the metric study: its simulations, and what is read of them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..protocol.protocol import bundled_studies, load_protocol
from ..report.figure_folder import read_captions
from ..report.html import Picture, Section, write_report
from ..report.table_set import write_tables
from ..study.plan import OwnMetric, StudyPlan, check_pairs, load_study, own_metric
from ..study.run import digest_of, read_rows, remove_others, run_tasks, study_tasks
from ..study.tables import study_tables, values_csv
from ..study.tasks import Task
from .options import Verbs, add_job, natural, progress

_TITLES = {
    "discrete": "Discrete scores",
    "gaussian": "Gaussian scores",
    "clusters": "Non-mated scores between mated ones",
    "attacks": "Target selections, attackers and linkages",
    "matrices": "Artificial voice similarity matrices",
    "estimators": "How far each number can be trusted",
}


def add_verbs(verbs: Verbs) -> None:
    """The verbs of the metric study."""
    study = verbs.add_parser("study", help="simulations that show what each metric sees")
    study.set_defaults(verb=_study)
    _add_shared(study)
    add_job(study)
    read = verbs.add_parser("study-report", help="tables, figures and report of a metric study")
    read.set_defaults(verb=_report)
    _add_shared(read)


def _add_shared(parser: argparse.ArgumentParser) -> None:
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
    plan, tasks, own = _of(arguments)
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


def _report(arguments: argparse.Namespace) -> int:
    from ..report.figures import write_figures
    from ..study.figures import study_figures

    plan, tasks, own = _of(arguments)
    rows = read_rows(tasks, arguments.out, seed=plan.seed, own=own)
    tables = study_tables(plan, rows)
    write_tables(arguments.out / "tables", [tables], plan.title)
    write_text(arguments.out / "values.csv", values_csv(rows))
    figures = arguments.out / "figures"
    drawn, there = write_figures(
        study_figures(plan, rows),
        figures,
        made_from=digest_of(tasks, plan, own),
    )
    captions = read_captions(figures)
    sections = []
    for experiment, title in _TITLES.items():
        pictures = [
            Picture(figures / f"{name}.png", caption)
            for name, caption in captions.items()
            if name.startswith(experiment)
        ]
        own_tables = [table for table in tables if table.name.startswith(experiment)]
        if pictures or own_tables:
            sections.append(Section(title, tables=tuple(own_tables), pictures=tuple(pictures)))
    write_report(arguments.out / "report.html", plan.title, sections)
    print(f"{arguments.out}: {len(tables)} tables, {drawn} figures drawn, {there} there")
    return 0


def _of(arguments: argparse.Namespace) -> tuple[StudyPlan, list[Task], list[OwnMetric]]:
    plan = load_study(arguments.conf)
    if arguments.seed is not None:
        plan = replace(plan, seed=arguments.seed)
    own = [own_metric(text) for text in arguments.metric]
    if len({metric.name for metric in own}) < len(own):
        raise PrivacyEvalError("--metric: two metrics of one name")
    check_pairs(plan, own)
    if arguments.tree is None:
        return plan, study_tasks(plan), own
    if not arguments.tree.is_dir():
        raise PrivacyEvalError(f"{arguments.tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.tree_conf, base=arguments.tree)
    return plan, study_tasks(plan, tree=arguments.tree, protocol=protocol), own
