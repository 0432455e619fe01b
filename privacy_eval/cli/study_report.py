"""The verb study-report: tables, figures and report of a metric study."""

from __future__ import annotations

import argparse

from ..io.files import write_set, write_text
from ..report.figure_folder import read_captions
from ..report.html import Picture, Section, write_report
from ..report.latex import latex_document
from ..report.text import FORMATS
from ..study.run import digest_of, read_rows
from ..study.tables import study_tables, values_csv
from .options import Verbs
from .study import add_shared, study_of

_TITLES = {
    "discrete": "Discrete scores",
    "gaussian": "Gaussian scores",
    "clusters": "Non-mated scores between mated ones",
    "attacks": "Target selections, attackers and linkages",
    "matrices": "Artificial voice similarity matrices",
    "estimators": "How far each number can be trusted",
}


def add_verbs(verbs: Verbs) -> None:
    """The verb that shows simulations."""
    read = verbs.add_parser("study-report", help="tables, figures and report of a metric study")
    read.set_defaults(verb=_report)
    add_shared(read)


def _report(arguments: argparse.Namespace) -> int:
    from ..report.figures import write_figures
    from ..study.figures import study_figures

    plan, tasks, own = study_of(arguments)
    rows = read_rows(tasks, arguments.out, seed=plan.seed, own=own)
    tables = study_tables(plan, rows)
    names = [table.name for table in tables]
    files = {
        f"{table.name}{form.extension}": form.write(table, "challenge")
        for table in tables
        for form in FORMATS.values()
    }
    files["tables.tex"] = latex_document(plan.title, [[f"{name}.tex" for name in names]])
    write_set(arguments.out / "tables", files, listed_in=".tables.list")
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
