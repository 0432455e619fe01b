"""Write sets of tables: every table in every format, and a LaTeX document of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..io.files import file_names
from ..products.freshness import write_set
from .latex import latex_document
from .table import Style, Table
from .table_formats import FORMATS


def write_tables(
    out: Path,
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "booktabs",
    only: str | None = None,
) -> list[Path]:
    """Write `table_files`; remove other tables that an earlier call wrote."""
    files = table_files(groups, title, style=style, only=only)
    return write_set(out, files)


def table_files(
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "booktabs",
    only: str | None = None,
) -> dict[str, str]:
    """Return tables in every format (or in one) by file name; with LaTeX also `tables.tex`, a
    document of them.

    Parameters
    ----------
    groups : iterable of groups of tables
        Each begins a new page of the document, without duplicates in a group.
    title : str
        Of the document.
    """
    groups = [list(group) for group in groups]
    names = file_names(table.name for group in groups for table in group)
    formats = {kind: f for kind, f in FORMATS.items() if only in (None, kind)}
    files: dict[str, str] = {}
    included: list[list[str]] = []
    for group in groups:
        unique: dict[str, object] = {}
        for table in group:
            table = replace(table, name=names[table.name])
            for form in formats.values():
                files[f"{table.name}{form.extension}"] = form.write(table, style)
            if (table.columns, table.groups) not in unique.values():
                unique[f"{table.name}.tex"] = (table.columns, table.groups)
        included.append(list(unique))
    if "latex" in formats:
        files["tables.tex"] = latex_document(title, included)
    return files
