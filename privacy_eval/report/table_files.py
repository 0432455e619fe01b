"""Write sets of tables: every table in every format, and a LaTeX document of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..io.files import file_names
from ..products.freshness import write_set
from .latex import latex_document
from .table import Style, Table, one_line
from .table_formats import FORMATS, escape_markdown

#: Folder of the tables that are not for the front.
_BELOW = "more/"
#: Indent of what Markdown shows as it is.
_CODE = "    "


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
    text: str = "",
) -> dict[str, str]:
    """Return tables in every format (or in one) by file name; with LaTeX also `tables.tex`, a
    document of them. Where any is for the front, the others are in the folder `more/`, and
    `README.md` is an index of all.

    Parameters
    ----------
    groups : iterable of groups of tables
        Each begins a new page of the document, without duplicates in a group.
    title : str
        Of the document.
    text : str
        Of the index, for a paper.
    """
    groups = [list(group) for group in groups]
    apart = any(table.front for group in groups for table in group)
    names = file_names(table.name for group in groups for table in group)
    formats = {kind: f for kind, f in FORMATS.items() if only in (None, kind)}
    files: dict[str, str] = {}
    captions: dict[str, str] = {}
    included: list[list[str]] = []
    for group in groups:
        unique: dict[str, object] = {}
        for table in group:
            table = replace(table, name=names[table.name])
            path = ("" if table.front or not apart else _BELOW) + table.name
            captions[path] = table.caption
            for form in formats.values():
                files[path + form.extension] = form.file(table, style)
            if (table.columns, table.groups) not in unique.values():
                unique[f"{path}.tex"] = (table.columns, table.groups)
        included.append(list(unique))
    if "latex" in formats:
        files["tables.tex"] = latex_document(title, included)
    if apart:
        extensions = [form.extension for form in formats.values()]
        files["README.md"] = _index(title, text, captions, extensions)
    return files


def _index(title: str, text: str, captions: Mapping[str, str], extensions: Sequence[str]) -> str:
    """Write an index: the files of each table, and its caption; those for the front first."""
    lines = [f"# {escape_markdown(title)}", ""]
    if text:
        wrapped = textwrap.wrap(one_line(text), 100, initial_indent=_CODE, subsequent_indent=_CODE)
        lines += ["For the text of a paper:", "", *wrapped, ""]
    lines += ["| file | table |", "| --- | --- |"]
    for path in sorted(captions, key=lambda path: path.startswith(_BELOW)):
        links = " ".join(f"[{extension}]({path}{extension})" for extension in extensions)
        lines.append(f"| {path} {links} | {escape_markdown(captions[path])} |")
    return "\n".join(lines) + "\n"
