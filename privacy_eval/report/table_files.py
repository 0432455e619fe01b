"""Write sets of tables: a LaTeX file for each, a document of them, and all cells in one CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..io.files import file_names
from ..products.freshness import write_set
from .latex import latex_document
from .table import Style, Table, one_line
from .table_formats import FORMATS, escape_markdown, to_csv

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
    formats: Collection[str] = (),
) -> list[Path]:
    """Write `table_files`; remove other tables that an earlier call wrote."""
    files = table_files(groups, title, style=style, formats=formats)
    return write_set(out, files)


def table_files(
    groups: Iterable[Sequence[Table]],
    title: str,
    *,
    style: Style = "booktabs",
    formats: Collection[str] = (),
    text: str = "",
) -> dict[str, str]:
    """Return tables in LaTeX by file name, `tables.tex`, a document of them, and `tables.csv`, with
    all their cells. Where any is for the front, the others are in the folder `more/`, those for the
    front are also text, and `README.md` is an index of all.

    Parameters
    ----------
    groups : iterable of groups of tables
        Each begins a new page of the document, without duplicates in a group.
    title : str
        Of the document.
    formats : collection of str
        Further formats of each table, see `FORMATS`.
    text : str
        Of the index, for a paper.
    """
    groups = [list(group) for group in groups]
    apart = any(table.front for group in groups for table in group)
    names = file_names(table.name for group in groups for table in group)
    every = [FORMATS[name] for name in ("latex", *formats)]
    listed: list[Table] = []
    files: dict[str, str] = {}
    captions: dict[str, str] = {}
    included: list[list[str]] = []
    for group in groups:
        unique: dict[str, object] = {}
        for table in group:
            table = replace(table, name=names[table.name])
            path = ("" if table.front or not apart else _BELOW) + table.name
            captions[path] = table.caption
            forms = dict.fromkeys((*every, *([FORMATS["text"]] if table.front else [])))
            for form in forms:
                files[path + form.extension] = form.file(table, style)
            listed.append(table)
            if (table.columns, table.groups) not in unique.values():
                unique[f"{path}.tex"] = (table.columns, table.groups)
        included.append(list(unique))
    files["tables.tex"] = latex_document(title, included)
    files["tables.csv"] = to_csv(listed)
    if apart:
        files["README.md"] = _index(title, text, captions, files)
    return files


def _index(title: str, text: str, captions: Mapping[str, str], files: Collection[str]) -> str:
    """Write an index: the files of each table, and its caption; those for the front first."""
    lines = [f"# {escape_markdown(title)}", ""]
    if text:
        wrapped = textwrap.wrap(one_line(text), 100, initial_indent=_CODE, subsequent_indent=_CODE)
        lines += ["For the text of a paper:", "", *wrapped, ""]
    lines += ["| file | table |", "| --- | --- |"]
    extensions = [form.extension for form in FORMATS.values()]
    for path in sorted(captions, key=lambda path: path.startswith(_BELOW)):
        links = " ".join(f"[{e}]({path}{e})" for e in extensions if f"{path}{e}" in files)
        lines.append(f"| {path} {links} | {escape_markdown(captions[path])} |")
    lines.append("| tables [.csv](tables.csv) | all cells, a line each: text, value and interval |")
    return "\n".join(lines) + "\n"
