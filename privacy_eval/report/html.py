"""One report to read: tables that sort, figures, and how each number was made, in one
HTML file that needs no network and opens from disk.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..io.files import atomic_path, read_bytes
from ..results.records import Results
from .table import Column, Table
from .text import to_html

# Of what was not evaluated, which may be hundreds of conditions.
_ABSENT_SHOWN = 20
_SHA_SHOWN = 12
_MADE_FROM = re.compile(rb'<meta name="made-from" content="([0-9a-f]*)">')
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn.

    Attributes
    ----------
    path : Path
        Its PNG file.
    caption : str
    """

    path: Path
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes
    ----------
    title : str
    text : tuple of str
        Paragraphs of plain text.
    tables : tuple of Table
    pictures : tuple of Picture
    folded : bool
        Shown only when its title is clicked.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = field(default=())
    folded: bool = False


def write_report(
    path: Path, title: str, sections: Iterable[Section], *, made_from: str = ""
) -> None:
    """Write the report, a section at a time.

    Parameters
    ----------
    made_from : str
        Digest of all that it depends on; `made_from` finds it again.

    Raises
    ------
    PrivacyEvalError
        A picture that cannot be read, a path that cannot be written.
    """
    sections = list(sections)
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for piece in _page(title, sections, made_from):
            file.write(piece)


def made_from(path: Path) -> str:
    """What a report was made from, as `write_report` was told; "" where there is none."""
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        found = _MADE_FROM.search(file.read(_HEAD_BYTES))
    return found[1].decode("ascii") if found else ""


def provenance_tables(results: Results) -> list[Table]:
    """How each number was made: of every record its version, options, and the files it was
    made from with their SHA-256 (the first digits; results.json has them all)."""
    conditions = [
        (
            r.condition.system + r.condition.results_folder,
            r.condition.name,
            _count(r.n_target),
            _count(r.n_nontarget),
            *_made(r.provenance),
        )
        for r in results.verification
    ]
    similarity = [
        (
            r.condition.system + r.condition.results_folder,
            r.condition.trial_set,
            _count(r.n_speakers),
            _count(r.n_utterances),
            *_made(r.provenance),
        )
        for r in results.similarity
    ]
    recognized = [
        (
            r.condition.system + r.condition.results_folder,
            r.condition.name,
            r.decode,
            *_made(r.provenance),
        )
        for r in results.recognition
    ]
    shared = ("Version", "Made from", "Options")
    tables = [
        _plain_table(
            "made_conditions",
            "Conditions: what their metrics were made from.",
            ("System", "Condition", "Targets", "Nontargets", *shared),
            conditions,
        ),
        _plain_table(
            "made_similarity",
            "Voice similarity: what it was made from.",
            ("System", "Trial set", "Speakers", "Utterances", *shared),
            similarity,
        ),
        _plain_table(
            "made_recognition",
            "Word error rates: what they were read from.",
            ("System", "Set", "Decoding", *shared),
            recognized,
        ),
    ]
    return [table for table in tables if table.rows]


def summary(results: Results) -> list[str]:
    """What the report is of, and what is not in it."""
    lines = [
        f"Plan: {results.protocol.title} ({results.protocol.name}); tables show the variant "
        f"{results.protocol.variant}. {len(results.systems)} systems, {len(results.verification)} "
        f"conditions, {len(results.similarity)} voice similarities, {len(results.recognition)} "
        f"word error rates. Written by privacy_eval {__version__}."
    ]
    partial = [r for r in results.verification if r.left_out]
    if partial:
        lines.append(
            f"{len(partial)} conditions lack trials that were left out on request: "
            + "; ".join(f"{r.condition.system} {r.condition.name}" for r in partial)
        )
    absent = results.not_evaluated
    lines += [f"Not evaluated: {line}" for line in absent[:_ABSENT_SHOWN]]
    if len(absent) > _ABSENT_SHOWN:
        lines.append(f"... and {len(absent) - _ABSENT_SHOWN} more, listed in results.json")
    return lines


def _plain_table(
    name: str, caption: str, titles: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> Table:
    columns = tuple(Column(title, align="l") for title in titles)
    return Table(name, caption, columns, (tuple(rows),) if rows else ())


def _made(provenance: Mapping[str, Any]) -> tuple[str, str, str]:
    """Version, inputs and options of a record."""
    inputs = provenance.get("inputs", {})
    model = provenance.get("model", {})
    sources = [
        f"{entry.get('path', name)} {str(entry.get('sha256', ''))[:_SHA_SHOWN]}"
        if isinstance(entry, Mapping)
        else f"{name} {str(entry)[:_SHA_SHOWN]}"
        for name, entry in (inputs.items() if isinstance(inputs, Mapping) else ())
    ]
    if isinstance(model, Mapping) and isinstance(model.get("sha256"), Mapping):
        sources += [
            f"{model.get('path', '')}/{name} {str(sha256)[:_SHA_SHOWN]}"
            for name, sha256 in model["sha256"].items()
        ]
    imported = provenance.get("imported_from")
    if isinstance(imported, Mapping):
        name, sha256 = imported.get("name", ""), str(imported.get("sha256", ""))
        sources.append(f"imported from {name} {sha256[:_SHA_SHOWN]}")
    options = provenance.get("options", {})
    shown = options.items() if isinstance(options, Mapping) else ()
    return (
        str(provenance.get("version", "")),
        ", ".join(sources),
        ", ".join(f"{name}: {value}" for name, value in shown if value),
    )


def _page(title: str, sections: Sequence[Section], made_from: str) -> Iterator[str]:
    yield _HEAD.format(title=_text(title), style=_STYLE, made_from=_text(made_from))
    yield "<nav><ul>\n"
    for number, section in enumerate(sections):
        yield f'<li><a href="#s{number}">{_text(section.title)}</a></li>\n'
    yield f"</ul></nav>\n<main>\n<h1>{_text(title)}</h1>\n"
    for number, section in enumerate(sections):
        yield f'<section id="s{number}">'
        if section.folded:
            yield f"<details><summary><h2>{_text(section.title)}</h2></summary>\n"
        else:
            yield f"<h2>{_text(section.title)}</h2>\n"
        for paragraph in section.text:
            yield f"<p>{_text(paragraph)}</p>\n"
        for table in section.tables:
            yield f'<div class="table">{to_html(table)}</div>\n'
        for picture in section.pictures:
            data = base64.b64encode(read_bytes(picture.path)).decode("ascii")
            caption = _text(picture.caption)
            yield (
                f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>\n"
            )
        yield "</details></section>\n" if section.folded else "</section>\n"
    yield f"</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def _count(number: int | None) -> str:
    return "" if number is None else str(number)


def _text(text: str) -> str:
    return html.escape(text, quote=True)


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="made-from" content="{made_from}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""

_STYLE = """
:root { color-scheme: light; --line: #c8ccd2; --soft: #f3f5f8; --link: #0b57a4; }
* { box-sizing: border-box; }
body { margin: 0; display: flex; align-items: flex-start; color: #1c2127; background: #fff;
  font: 15px/1.5 system-ui, "Helvetica Neue", Arial, sans-serif; }
nav { position: sticky; top: 0; flex: 0 0 15rem; max-height: 100vh; overflow-y: auto;
  padding: 1.2rem 1rem; border-right: 1px solid var(--line); font-size: 13px; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { margin: .25rem 0; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
main { flex: 1 1 auto; min-width: 0; max-width: 84rem; padding: 1.2rem 2rem 4rem; }
h1 { margin: 0 0 1rem; font-size: 1.6rem; }
h2 { margin: 1.6rem 0 .5rem; font-size: 1.2rem; }
summary { cursor: pointer; }
summary h2 { display: inline-block; }
p { max-width: 60rem; overflow-wrap: anywhere; }
figure { margin: 1rem 0 1.6rem; }
figcaption { margin: .2rem 0 .4rem; max-width: 60rem; font-size: 13px; color: #49525c; }
.table { overflow-x: auto; margin: 1rem 0 1.6rem; }
.table p { margin: .3rem 0; font-size: 13px; color: #49525c; }
caption { padding: .2rem 0 .5rem; text-align: left; color: #49525c;
  max-width: min(60rem, calc(100vw - 20rem)); }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .55rem; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--soft); border-bottom: 2px solid #4b5563; }
thead th { cursor: pointer; }
tbody th { position: static; text-align: left; }
th:focus-visible { outline: 2px solid var(--link); }
th[aria-sort="ascending"]::after { content: " \\25B2"; }
th[aria-sort="descending"]::after { content: " \\25BC"; }
.own { background: #fdf3d3; }
tbody { border-bottom: 1px solid var(--line); }
tbody tr:hover { background: var(--soft); }
td { text-align: left; }
@media (max-width: 60rem) { body { display: block; } nav { position: static; border: 0; } }
@media print { nav { display: none; } details > * { display: block; } }
"""

_SCRIPT = """
const number = text => parseFloat(text.replace("\\u2212", "-"));
const compare = (x, y) => {
  const p = number(x), q = number(y);
  return isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
};
const sort = (rows, column, down) => rows.sort((a, b) => {
  const x = a.cells[column].textContent.trim(), y = b.cells[column].textContent.trim();
  if (x === "" || y === "") return (x === "") - (y === "");
  return down ? compare(y, x) : compare(x, y);
});
for (const head of document.querySelectorAll("thead th")) {
  const act = () => {
    const table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const bodies = [...table.tBodies];
    const rows = body => [...body.rows].filter(row => row.cells.length > head.cellIndex);
    if (bodies.some(body => body.querySelector("th"))) {  // blocks under headings stay apart
      for (const body of bodies) body.append(...sort(rows(body), head.cellIndex, down));
    } else {
      bodies[0].append(...sort(bodies.flatMap(rows), head.cellIndex, down));
    }
  };
  head.tabIndex = 0;
  head.title = "sort";
  head.addEventListener("click", act);
  head.addEventListener("keydown", event => { if (event.key === "Enter") act(); });
}
"""
