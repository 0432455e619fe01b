"""The section of the report on a listening test."""

from __future__ import annotations

from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes
from ..numbers.report_data import ReportData
from ..numbers.report_sources import ReportSources
from ..report.figure_folder import drawn_from, folder_digest, pictures
from ..report.page import Section
from ..report.tables_and_report import Insert
from .store import read_listening_test
from .tables import listening_test_tables, objective_and_subjective, summary

#: Results and figures in the folder of an evaluated listening test.
RESULTS, FIGURES = "subjective.json", "figures"


def listening_section(folder: Path, data: ReportData) -> Section:
    """Compose the section on a listening test, with figures, beside objective results.

    Raises
    ------
    PrivacyEvalError
        The test is under another protocol, its figures are of other ratings or results.
    """
    path, figures = folder / RESULTS, folder / FIGURES
    subjective, _ = read_listening_test(path)
    if subjective.protocol.name != data.protocol.name:
        raise PrivacyEvalError(
            f"{path}: protocol {subjective.protocol.name}, but the results are of protocol "
            f"{data.protocol.name}; evaluate the ratings again with privacy-eval listening "
            "(stage 11)"
        )
    if not figures_source(folder, data.sources).items() <= drawn_from(figures).items():
        raise PrivacyEvalError(
            f"{figures}: figures of other ratings or results; draw them again with privacy-eval "
            "listening (stage 11)"
        )
    published = data.sources.published or None
    cells = objective_and_subjective(subjective, data.results, published)
    tables = listening_test_tables(
        subjective, cells, data.protocol, subjective.split, published=published
    )
    return Section(
        "Subjective evaluation",
        tuple(summary(subjective)),
        tuple(tables),
        tuple(pictures(figures)),
    )


def listening_insert(folder: Path) -> Insert:
    """Return the section on a listening test as part of a report."""
    key = digest(read_bytes(folder / RESULTS)), folder_digest(folder / FIGURES)
    return Insert(key, lambda data: listening_section(folder, data))


def figures_source(folder: Path, objective: ReportSources) -> dict[str, str]:
    """Return digests of the inputs of a listening test's figures: its own and objective results."""
    # Figures do not depend on how systems are chosen and ranked.
    beside = ReportSources(objective.paths, objective.conf).digest() if objective.paths else ""
    return {"ratings": digest(read_bytes(folder / RESULTS)), "results": beside}
