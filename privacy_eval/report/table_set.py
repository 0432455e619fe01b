"""Sets of tables in one folder: every table in every format, and a LaTeX document of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..io.files import file_names
from ..stages.freshness import write_set
from .latex import latex_document
from .table import Style, Table
from .text import FORMATS


def write_tables(
    out: Path,
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "challenge",
    only: str | None = None,
) -> list[Path]:
    """Write `table_files`. Tables that an earlier call wrote there and that are none of these
    are removed."""
    files = table_files(groups, title, style=style, only=only)
    return write_set(out, files)


def table_files(
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "challenge",
    only: str | None = None,
) -> dict[str, str]:
    """Tables in every format (or in one), and with LaTeX `tables.tex`, a document of them:
    contents by name.

    Parameters
    ----------
    groups : iterable of groups of tables
        Each begins a new page of the document, where equal tables of a group stand once.
    title : str
        Of the document.
    """
    groups = [list(group) for group in groups]
    names = file_names(table.name for group in groups for table in group)
    formats = {kind: f for kind, f in FORMATS.items() if only in (None, kind)}
    files: dict[str, str] = {}
    included: list[list[str]] = []
    for group in groups:
        shown: dict[str, object] = {}
        for table in group:
            table = replace(table, name=names[table.name])
            for form in formats.values():
                files[f"{table.name}{form.extension}"] = form.write(table, style)
            if (table.columns, table.groups) not in shown.values():
                shown[f"{table.name}.tex"] = (table.columns, table.groups)
        included.append(list(shown))
    if "latex" in formats:
        files["tables.tex"] = latex_document(title, included)
    return files
