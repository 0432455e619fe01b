"""Write a report as one HTML file with sortable tables and figures, which needs no network
and opens from disk.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..io.files import atomic_path, read_bytes
from .table import Table
from .text import to_html

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


def _page(title: str, sections: Sequence[Section], made_from: str) -> Iterator[str]:
    yield _HEAD.format(title=_text(title), style=_asset("report.css"), made_from=_text(made_from))
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
    yield f"</main>\n<script>\n{_asset('report.js')}</script>\n</body>\n</html>\n"


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


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
<style>
{style}</style>
</head>
<body>
"""
