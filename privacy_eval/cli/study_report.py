"""study-report: tables, figures and report of a metric study."""

from __future__ import annotations

import argparse

from .study import add_shared, load_study_tasks

EXAMPLE = "--out study --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_shared(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..io.files import write_text
    from ..report.figure_folder import pictures
    from ..report.figures import write_figures
    from ..report.page import Front, Section, report_page
    from ..report.table_files import write_tables
    from ..study.figures import study_figures
    from ..study.run import read_rows, study_digest
    from ..study.tables import SECTIONS, study_summary, study_tables, values_csv

    study, tasks, own = load_study_tasks(arguments)
    rows = read_rows(tasks, arguments.out, seed=study.seed, own=own)
    tables = study_tables(study, rows)
    write_tables(arguments.out / "tables", [tables], study.title)
    write_text(arguments.out / "values.csv", values_csv(rows))
    figures = arguments.out / "figures"
    drawn, there = write_figures(
        study_figures(study, rows),
        figures,
        drawn_from={"study": study_digest(tasks, study, own)},
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
