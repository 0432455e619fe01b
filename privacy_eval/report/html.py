"""Compose a report as one HTML file with sortable tables and figures, which needs no network
and opens from disk.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..io.files import read_bytes
from .table import Table
from .text import to_html


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


def report_page(title: str, sections: Iterable[Section]) -> str:
    """Compose the report as one HTML page.

    Raises
    ------
    PrivacyEvalError
        A picture that cannot be read.
    """
    return "".join(_page(title, list(sections)))


def _page(title: str, sections: Sequence[Section]) -> Iterator[str]:
    yield _HEAD.format(title=_text(title), style=_asset("report.css"))
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
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""
