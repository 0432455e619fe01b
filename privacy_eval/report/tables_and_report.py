"""Tables and the report as products: their inputs and composition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..numbers.report_data import ReportData, ReportSources
from ..products.freshness import NOTE, Content, Product, Progress
from ..version import __version__
from .figure_folder import folder_digest
from .main_results import summary_table
from .notes import cautions
from .page import Section, report_page
from .paper_tables import paper_tables
from .sections import report_sections
from .side_by_side import across_tables
from .system_tables import table_groups
from .table import Style, Table
from .table_files import table_files


@dataclass(frozen=True)
class TableOptions:
    """Options for writing tables.

    Attributes
    ----------
    style : {"booktabs", "challenge"}
    only : str, optional
        One of the formats; by default all.
    rank_by : str
        Metric of the ranking.
    attack_model : str, optional
        Of the ranking; by default the one that the protocol averages.
    """

    style: Style = "booktabs"
    only: str | None = None
    rank_by: str = "eer"
    attack_model: str | None = None


def tables_product(
    sources: ReportSources, out: Path, options: TableOptions = TableOptions()
) -> Product:
    """Return a folder of tables as a product."""

    def make(*_: object) -> Content:
        data = replace(sources.read(), rank_by=options.rank_by, attack_model=options.attack_model)
        across, remarks = across_tables(data)
        main_results = summary_table(data)
        first = [*paper_tables(data), *([main_results] if main_results is not None else [])]

        def noted(table: Table) -> Table:
            notes = (*data.unsigned, *table.notes)
            return replace(table, notes=notes, parts=tuple(map(noted, table.parts)))

        groups = [list(map(noted, group)) for group in table_groups(data, first + across)]
        files = table_files(groups, data.protocol.title, style=options.style, only=options.only)
        content = {out / name: text.encode() for name, text in files.items()}
        remarks = [*cautions(data), *remarks]
        return Content(content, remarks=tuple(remarks), notes=data.missing_arrays)

    return Product(
        str(out),
        out,
        out / NOTE,
        (),
        lambda _: {},
        make,
        subject={"version": __version__, **sources.subject()},
        options=asdict(options),
        revision=2,
    )


@dataclass(frozen=True)
class Insert:
    """A section of the report from another source, such as a listening test.

    Attributes
    ----------
    key : tuple of str
        What it depends on.
    compose : callable
    """

    key: tuple[str, ...]
    compose: Callable[[ReportData], Section]


def report_product(
    sources: ReportSources,
    out: Path,
    *,
    figures: Path | None = None,
    insert: Insert | None = None,
    begin: Progress | None = None,
) -> Product:
    """Return the report as a product.

    Parameters
    ----------
    figures : Path, optional
        A folder of figures of the same results.
    insert : Insert, optional
    begin : Progress, optional
        Called before each step.
    """
    begin = begin or (lambda *_: None)

    def make(*_: object) -> Content:
        begin(0, 3, f"{out.name}: reading results")
        data = sources.read()
        begin(1, 3, f"{out.name}: tables and figures")
        inserted = [insert.compose(data)] if insert is not None else []
        front, sections, remarks = report_sections(data, figures=figures, inserted=inserted)
        begin(2, 3, f"{out.name}: the page")
        title = f"{data.protocol.title}: evaluation of voice anonymization"
        content = {out: report_page(title, sections, front).encode()}
        begin(3, 3, out.name)
        return Content(content, remarks=tuple(remarks), notes=data.missing_arrays)

    return Product(
        str(out),
        out.parent,
        out.with_name(f".{out.name}{NOTE}"),
        (out,),
        lambda _: {},
        make,
        subject={
            "version": __version__,
            **sources.subject(),
            "listening": insert.key if insert is not None else (),
            "figures": folder_digest(figures) if figures is not None else "",
        },
        revision=2,
    )
