"""Verbs of the metric study."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from ..cli.options import Options
from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..options import path, value

if TYPE_CHECKING:
    from ..products.freshness import Product
    from .protocol import StudyProtocol

_CONF = "the study: metric_study (default), or a YAML file"

_STUDY = {
    "--out": path("DIR", required=True),
    "--conf": {"help": _CONF, "default": "metric_study"},
    "--seed": {"help": "random seed, instead of the study's", "default": None},
    "--tree": {"help": "attack the original speech of this tree", "default": None},
    "--tree-conf": value("FILE", "protocol of the tree", default="vpc2020"),
    "--metric": {"dest": "metric"},
}
VERBS: dict[str, Options] = {
    "study": {
        "example": "--out study --seed 1",
        "shared": "nj cmd log-dir job",
        **_STUDY,
    },
    "study-report": {
        "example": "--out study --seed 1",
        "shared": "formats",
        **_STUDY,
    },
}


def run_study(arguments: argparse.Namespace) -> int:
    from ..cli.inputs import run_settings
    from .run import make_records, remove_stale_records

    _, records = load_study_records(arguments)
    if arguments.job is None or arguments.job[0] == 1:
        remove_stale_records(records, arguments.out)
    outcome = make_records(records, run_settings(arguments))
    made, current = len(outcome.made), len(outcome.current)
    print(f"{arguments.out}: {made} simulations made, {current} current")
    return 0


def load_study_records(arguments: argparse.Namespace) -> tuple[StudyProtocol, list[Product]]:
    """Return the study that the options name, and its records."""
    from ..io.user_metrics import load_user_metrics
    from ..protocol.protocol import load_protocol
    from .protocol import check_pairs, load_study
    from .run import study_products

    study = load_study(arguments.conf)
    if arguments.seed is not None:
        study = replace(study, seed=arguments.seed)
    own = load_user_metrics(arguments.metric)
    check_pairs(study, own)
    if arguments.tree is None:
        return study, study_products(study, arguments.out, own=own)
    if not arguments.tree.is_dir():
        raise PrivacyEvalError(f"{arguments.tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.tree_conf, base=arguments.tree)
    of_tree = {"tree": arguments.tree, "protocol": protocol}
    return study, study_products(study, arguments.out, own=own, **of_tree)


def run_study_report(arguments: argparse.Namespace) -> int:
    from ..report.figures import pictures, write_figures
    from ..report.page import Front, Section, report_page
    from ..report.table_formats import write_tables
    from .figures import study_figures
    from .run import read_rows, study_digest
    from .tables import SECTIONS, study_summary, study_tables, values_csv

    study, records = load_study_records(arguments)
    rows = read_rows(records)
    tables = study_tables(study, rows)
    write_tables(arguments.out / "tables", [tables], study.title, formats=arguments.formats)
    write_text(arguments.out / "values.csv", values_csv(rows))
    figures = arguments.out / "figures"
    drawn, there = write_figures(
        study_figures(study, rows),
        figures,
        drawn_from={"study": study_digest(records, study)},
    )
    placed = pictures(figures)
    sections = [
        Section(
            title,
            tables=tuple(t for t in tables if t.section == title),
            pictures=tuple(p for p in placed if p.section == title),
        )
        for title in SECTIONS.values()
    ]
    front = Front(answers=(("What the study shows", tuple(study_summary(study, rows))),))
    write_text(
        arguments.out / "report.html",
        report_page(study.title, [s for s in sections if not s.is_empty], front),
    )
    print(f"{arguments.out}: {len(tables)} tables, {drawn} figures drawn, {there} there")
    return 0
