"""Compose a report as one HTML file: an answer first, then sections of tables and figures. It
needs no network, opens from disk, and can be read without its script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import read_bytes
from .markup import Markup, join, tag
from .table import Table, asset
from .table_formats import explanations, to_html

if TYPE_CHECKING:
    from .figures.plot import Plot


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    path : Path or None
        Its PNG file; None where it is inline.
    caption : str
    plot : Plot or None
        What is drawn inline, if there is no file.
    facets : tuple of str
        Values to filter figures by: kind, attack model.
    section, title : str
        Its section of the report, and its part of that.
    """

    path: Path | None
    caption: str
    plot: Plot | None = None
    facets: tuple[str, ...] = ()
    section: str = ""
    title: str = ""


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
        Shown, and printed, only once its title was clicked.
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

    @property
    def all_tables(self) -> list[Table]:
        """Its tables and those of its parts."""
        return [*self.tables, *(table for part in self.parts for table in part.all_tables)]


@dataclass(frozen=True)
class Front:
    """The first screen.

    Attributes
    ----------
    lead : tuple of str
        Lines right below the title.
    facts : tuple of (str, str)
        Results, tree and protocol of the report, at its foot.
    answer : str
        In one sentence; "" for none.
    picture : Markup
        The answer, drawn.
    cautions : tuple of str
        The most important warnings, one sentence each.
    verdict : str
        The answer with its numbers; "" for none. All from here on is shown on a click.
    answers : tuple of (str, tuple of str)
        Sentences on each system, the first ones open.
    attackers : tuple of str
        Which attackers were tried, and which were not.
    hints : tuple of str
        Options that tell more of attackers, for who runs the evaluation.
    warnings : tuple of (str, tuple of str)
        Sentences, with the items that each is about, shown when it is clicked.
    notes : tuple of (str, str)
        Words that the sentences use, with their meaning, in the legend.
    tables : tuple of Table
    pictures : tuple of Picture
    """

    facts: tuple[tuple[str, str], ...] = ()
    verdict: str = ""
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    warnings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lead: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    attackers: tuple[str, ...] = ()
    answer: str = ""
    picture: Markup = Markup()
    cautions: tuple[str, ...] = ()


#: Figures wider than this, in pixels of the page, are scrolled on narrow screens, not squeezed.
_WIDE = 600

_DETAILS, _LEGEND, _ABOUT = "The answer in detail", "Glossary", "About this report"

#: Maximum characters of the items of a warning that are printed although they were closed.
_PRINTED_ITEMS = 300

#: Maximum number of systems whose sentences are unfolded: the best ones.
_OPEN_ANSWERS = 3


def report_page(title: str, sections: Sequence[Section], front: Front | None = None) -> str:
    """Compose the report as one HTML page.

    Raises
    ------
    PrivacyEvalError
        A picture that cannot be read.
    """
    script, style = asset("report.js"), asset("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    anchors = {"answer", "details", "legend", "about"}
    anchors |= {*re.findall(r' id="([^"]*)"', front.picture if front else "")}
    written = [_section(section, 2, anchors) for section in sections]
    first = _front(front) if front else Markup()
    links = [("answer", "Answer")] if front else []
    links += [("details", _DETAILS)] * ('id="details"' in first)
    links += [(anchor, s.title) for (anchor, _), s in zip(written, sections, strict=True)]
    legend, about = _legend(sections, front), _about(front)
    links += [("legend", _LEGEND)] * bool(legend) + [("about", _ABOUT)] * bool(about)
    items = (tag("li", tag("a", text, href=f"#{at}")) for at, text in links)
    contents = tag("details", tag("summary", "Contents"), tag("ul", *items), open="open")
    parts = [
        tag("h1", title),
        first,
        *(text for _, text in written),
        legend,
        about,
    ]
    body = [tag("nav", contents), tag("main", join(parts)), tag("script", Markup(script))]
    texts = {"title": html.escape(title), "style": style, "script": digest, "body": join(body)}
    return asset("report.html").format(**texts)


def _front(front: Front) -> Markup:
    warnings = tag("ul", *(tag("li", _warning(*one)) for one in front.warnings))
    cards = [
        tag("article", tag("h3", system), *(tag("p", s) for s in sentences), class_="card")
        for system, sentences in front.answers
    ]
    more = Markup()
    if len(cards) > _OPEN_ANSWERS:
        summary = tag("summary", f"{len(cards) - 1} more systems in words")
        cards, more = cards[:1], tag("details", summary, *cards[1:], class_="part")
    columns = [tag("div", *cards)] if cards else []
    if front.pictures:
        beside = "beside" if cards else None
        columns.insert(0, tag("div", *map(_figure, front.pictures), class_=beside))
    details = [
        tag("p", front.verdict, class_="verdict") if front.verdict else "",
        tag("p", " ".join((*front.attackers, *front.hints))) if front.attackers else "",
        tag("div", tag("h3", "All cautions"), warnings, class_="warnings", role="note")
        if front.warnings
        else "",
        tag("div", *columns, class_="front") if columns else "",
        *map(to_html, front.tables),
        more,
    ]
    cautions = tag("ul", *(tag("li", text) for text in front.cautions))
    parts = [
        tag("h2", "Answer", class_="unseen"),
        *(tag("p", line, class_="lead") for line in front.lead),
        tag("p", front.answer, class_="answers") if front.answer else "",
        front.picture,
        tag("div", tag("h3", "Cautions"), cautions, class_="warnings", role="note")
        if front.cautions
        else "",
    ]
    if not (front.answer or front.picture):
        return tag("section", *parts, *details, id="answer")
    folded = tag("details", tag("summary", tag("h2", _DETAILS)), *details)
    shown = tag("section", folded, id="details") if any(details) else Markup()
    return join([tag("section", *parts, id="answer"), shown])


def _warning(text: str, items: tuple[str, ...]) -> Markup:
    if not items:
        return join([text])
    listed = tag("ul", *(tag("li", item) for item in items))
    is_long = sum(map(len, items)) > _PRINTED_ITEMS
    return tag("details", tag("summary", text), listed, class_="items" if is_long else None)


def _legend(sections: Sequence[Section], front: Front | None) -> Markup:
    """Explain the words of the first screen, and the metrics of all tables."""
    tables = [*(front.tables if front else ()), *(t for s in sections for t in s.all_tables)]
    pairs = [*(front.notes if front else ()), *explanations(tables)]
    if not pairs:
        return Markup()
    summary = tag("summary", tag("h2", _LEGEND))
    return tag("section", tag("details", summary, _pairs(pairs, "words")), id="legend")


def _about(front: Front | None) -> Markup:
    """State the results, tree and protocol of the report."""
    if not front or not front.facts:
        return Markup()
    return tag("section", tag("h2", _ABOUT), _pairs(front.facts, "facts"), id="about")


def _section(section: Section, level: int, anchors: set[str]) -> tuple[str, Markup]:
    """Write a section below a heading of this level; also return its anchor, a new one."""
    anchor = _anchor(section.title, anchors)
    heading = tag(f"h{level}", section.title)
    content = [tag("p", paragraph) for paragraph in section.text]
    content += map(to_html, section.tables)
    if section.pictures:
        content.append(tag("div", *map(_figure, section.pictures), class_="figures"))
    if section.facets:
        content.append(tag("div", class_="select", data_f="|".join(section.facets)))
    content += [_section(part, level + 1, anchors)[1] for part in section.parts]
    if section.folded:
        content = [tag("details", tag("summary", heading), *content, class_="part")]
    else:
        content = [heading, *content]
    return anchor, tag("section" if level == 2 else "div", *content, id=anchor)


def _anchor(title: str, anchors: set[str]) -> str:
    """Add a new anchor of ASCII letters and digits, as readable as a unique one can be."""
    plain = "-".join(re.findall("[a-z0-9]+", title.lower())) or "part"
    numbered = (f"{plain}-{number}" for number in itertools.count(2))
    anchor = next(a for a in itertools.chain([plain], numbered) if a not in anchors)
    anchors.add(anchor)
    return anchor


def _pairs(pairs: Sequence[tuple[str, str]], name: str) -> Markup:
    lines = (join([tag("dt", a), tag("dd", b)]) for a, b in pairs)
    return tag("dl", *lines, class_=name) if pairs else Markup()


def _inline(png: bytes) -> str:
    """Return the address of an image within the page, repacked without loss, a third smaller."""
    from PIL import Image, features  # which pages without images do without

    kind, packed = "png", io.BytesIO(png)
    if features.check("webp"):  # which a Pillow of one's own may lack
        kind, packed = "webp", io.BytesIO()
        image = Image.open(io.BytesIO(png)).convert("RGB")
        image.save(packed, "WEBP", lossless=True, quality=50, method=2)
    return f"data:image/{kind};base64,{base64.b64encode(packed.getvalue()).decode('ascii')}"


def _figure(picture: Picture) -> Markup:
    content = Markup()
    if picture.plot is not None:
        from .figures.svg import to_svg  # matplotlib, which pages without curves do without

        content = to_svg(picture.plot)
    elif picture.path is not None:
        png = read_bytes(picture.path)
        width = int.from_bytes(png[16:20], "big") * 5 // 8  # of letters as large as the page's
        size = {"width": width, "class_": "wide" * (width > _WIDE)}
        content = tag("img", alt=picture.caption, loading="lazy", src=_inline(png), **size)
    caption = tag("figcaption", picture.caption)
    return tag("figure", content, caption, data_f="|".join(picture.facets))
