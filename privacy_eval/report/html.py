"""Compose a report as one HTML file: an answer first, then sections of tables and figures. It
needs no network, opens from disk, and can be read without its script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..io.files import read_bytes
from .table import Table
from .text import to_html


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    path : Path or None
        Its PNG file; None where it is inline.
    caption : str
    svg : str
        Inline HTML of it, whose names are escaped.
    facets : tuple of str
        Values to filter figures by: kind, attack model.
    section : str
        Its section of the report.
    """

    path: Path | None
    caption: str
    svg: str = ""
    facets: tuple[str, ...] = ()
    section: str = ""


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
        Shown only when its title is clicked, or when it is printed.
    parts : tuple of Section
        Subsections, after the section's own tables and figures.
    facets : tuple of str
        Titles of the facets of the figures in its parts, to select these by.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    folded: bool = False
    parts: tuple[Section, ...] = ()
    facets: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is neither table nor figure in it."""
        return not (self.tables or self.pictures) and all(p.is_empty for p in self.parts)


@dataclass(frozen=True)
class Front:
    """The first screen.

    Attributes
    ----------
    facts : tuple of (str, str)
        Results, tree and protocol of the report.
    verdict : str
        The answer in one sentence; "" for none.
    answers : tuple of (str, tuple of str)
        Sentences on each system, the first ones open.
    warnings : tuple of str
    notes : tuple of (str, str)
        Words that the sentences use, with their meaning.
    tables : tuple of Table
    pictures : tuple of Picture
    """

    facts: tuple[tuple[str, str], ...] = ()
    verdict: str = ""
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


#: Maximum number of systems whose sentences are unfolded: the best ones.
_OPEN_ANSWERS = 3


def report_page(title: str, sections: Iterable[Section], front: Front | None = None) -> str:
    """Compose the report as one HTML page.

    Raises
    ------
    PrivacyEvalError
        A picture that cannot be read.
    """
    return "".join(_Page().write(title, list(sections), front))


class _Page:
    """A page while it is written: its anchors are unique."""

    def __init__(self) -> None:
        self._anchors: set[str] = set()

    def write(self, title: str, sections: Sequence[Section], front: Front | None) -> Iterator[str]:
        script, style = _asset("report.js"), _asset("report.css")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        anchors = [self._anchor(section.title) for section in sections]
        yield _HEAD.format(title=_text(title), style=style, script=digest)
        yield "<nav><details open><summary>Contents</summary><ul>\n"
        yield '<li><a href="#answer">Answer</a></li>\n' if front else ""
        for anchor, section in zip(anchors, sections, strict=True):
            yield f'<li><a href="#{anchor}">{_text(section.title)}</a></li>\n'
        yield "</ul></details></nav>\n<main>\n"
        yield f"<h1>{_text(title)}</h1>\n"
        if front is not None:
            yield from self._front(front)
        for anchor, section in zip(anchors, sections, strict=True):
            yield from self._section(section, anchor, 2)
        yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"

    def _front(self, front: Front) -> Iterator[str]:
        yield '<section id="answer"><h2 class="unseen">Answer</h2>\n'
        yield from _pairs(front.facts, "facts")
        yield f'<p class="verdict">{_text(front.verdict)}</p>\n' if front.verdict else ""
        if front.warnings:
            lines = "".join(f"<li>{_text(line)}</li>\n" for line in front.warnings)
            yield f'<aside class="warnings"><h3>Read with care</h3><ul>{lines}</ul></aside>\n'
        yield '<div class="front"><div>\n'
        shown = 1 if len(front.answers) > _OPEN_ANSWERS else len(front.answers)
        for number, (system, sentences) in enumerate(front.answers):
            if number == shown:
                rest = len(front.answers) - number
                yield f"<details><summary>{rest} more systems</summary>\n"
            lines = "".join(f"<p>{_text(sentence)}</p>\n" for sentence in sentences)
            yield f'<article class="card"><h3>{_text(system)}</h3>\n{lines}</article>\n'
        yield "</details>\n" if len(front.answers) > shown else ""
        yield "</div><div>\n" if front.pictures else ""
        for picture in front.pictures:
            yield from _figure(picture)
        yield "</div></div>\n"
        for table in front.tables:
            yield to_html(table)
        yield from _pairs(front.notes, "words")
        yield "</section>\n"

    def _section(self, section: Section, anchor: str, level: int) -> Iterator[str]:
        title = f"<h{level}>{_text(section.title)}</h{level}>"
        tag = "section" if level == 2 else "div"
        yield f'<{tag} id="{anchor}">'
        yield f"<details><summary>{title}</summary>\n" if section.folded else f"{title}\n"
        for paragraph in section.text:
            yield f"<p>{_text(paragraph)}</p>\n"
        for table in section.tables:
            yield to_html(table)
        if section.pictures:
            yield '<div class="figures">\n'
            for picture in section.pictures:
                yield from _figure(picture)
            yield "</div>\n"
        if section.facets:
            yield f'<div class="select" data-f="{_text("|".join(section.facets))}"></div>\n'
        for part in section.parts:
            yield from self._section(part, self._anchor(part.title), level + 1)
        yield f"</details></{tag}>\n" if section.folded else f"</{tag}>\n"

    def _anchor(self, title: str) -> str:
        """Return an anchor of ASCII letters and digits, as readable as a unique one can be."""
        plain = "-".join(re.findall("[a-z0-9]+", title.lower())) or "part"
        anchor, number = plain, 1
        while anchor in self._anchors or anchor == "answer":
            number += 1
            anchor = f"{plain}-{number}"
        self._anchors.add(anchor)
        return anchor


def _pairs(pairs: Iterable[tuple[str, str]], name: str) -> Iterator[str]:
    lines = "".join(f"<dt>{_text(a)}</dt><dd>{_text(b)}</dd>\n" for a, b in pairs)
    yield f'<dl class="{name}">{lines}</dl>\n' if lines else ""


def _figure(picture: Picture) -> Iterator[str]:
    caption = _text(picture.caption)
    facets = f' data-f="{_text("|".join(picture.facets))}"' if picture.facets else ""
    yield f"<figure{facets}>"
    if picture.path is None:
        yield picture.svg
    else:
        data = base64.b64encode(read_bytes(picture.path)).decode("ascii")
        yield f'<img alt="{caption}" loading="lazy" src="data:image/png;base64,{data}">'
    yield f"<figcaption>{caption}</figcaption></figure>\n"


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return html.escape(text, quote=True)


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""
