"""The first screen of the report as a two-page PDF: sentences, then tables and pictures."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imread

from .figures.drawing import PDF_METADATA, plain_fonts
from .figures.style import escape_mathtext, styled
from .html import Front
from .table import Table
from .text import to_text

_WIDTH, _HEIGHT, _MARGIN = 8.27, 11.69, 0.7  # A4 in inches
_PICTURES = 4.4  # height of the pictures of the second page
_MOST = 10_000  # characters of a line before it is wrapped


class _Page:
    """A page that is filled from its top; what does not fit is counted."""

    def __init__(self) -> None:
        self.canvas = Canvas(figsize=(_WIDTH, _HEIGHT))
        self.y = _HEIGHT - _MARGIN

    def write(self, text: str, size: float = 9, *, mono: bool = False, bold: bool = False) -> bool:
        """Write a paragraph; False if it does not fit."""
        across = (_WIDTH - 2 * _MARGIN) * 72
        columns = int(across / (size * (0.602 if mono else 0.56)))
        lines = [one for line in text.split("\n") for one in textwrap.wrap(line, columns) or [""]]
        if mono:
            lines = text.split("\n")
            longest = max(map(len, lines))
            size = min(size, across / (0.602 * longest))
        height = size * 1.35 / 72
        if self.y - height * len(lines) < _MARGIN:
            return False
        for line in lines:
            self.y -= height
            self.canvas.text(
                _MARGIN / _WIDTH,
                self.y / _HEIGHT,
                escape_mathtext(line, _MOST),
                fontsize=size,
                family="DejaVu Sans Mono" if mono else "DejaVu Sans",
                weight="bold" if bold else "normal",
            )
        self.y -= height / 2
        return True

    def all(self, paragraphs: Sequence[str], what: str) -> None:
        """Write as many paragraphs as fit, as a dashed list; state how many were omitted."""
        for number, paragraph in enumerate(paragraphs):
            if not self.write(paragraph):
                self.y = max(self.y, _MARGIN + 0.2)
                self.write(f"... and {len(paragraphs) - number} more {what} in the report", 8)
                return

    def pictures(self, paths: Sequence[Path], height: float) -> None:
        """Draw pictures side by side at the bottom of what is left."""
        width = (_WIDTH - 2 * _MARGIN) / max(1, len(paths))
        for number, path in enumerate(paths):
            box = (
                (_MARGIN + number * width) / _WIDTH,
                (self.y - height) / _HEIGHT,
                0.97 * width / _WIDTH,
                height / _HEIGHT,
            )
            axes = self.canvas.add_axes(box)
            axes.imshow(imread(path))
            axes.axis("off")
            axes.set_anchor("N")
        self.y -= height


def summary_pdf(title: str, front: Front, pictures: Iterable[Path] = ()) -> bytes:
    """Compose two pages: the findings, then the ranking and averages with some pictures.

    Parameters
    ----------
    title : str
    front : Front
    pictures : iterable of Path
        PNG files of the second page, with the more important one first.
    """
    with styled(), plain_fonts():
        one, two = _Page(), _Page()
        one.write(title, 14, bold=True)
        for name, value in front.facts:
            one.write(f"{name}: {value}", 8)
        if front.verdict:
            one.write(front.verdict, 11, bold=True)
        one.all(list(_sentences(front)), "sentences")
        for table in front.tables:
            if not two.write(_shown(table), 7.5, mono=True):
                two.write(f"{table.caption.partition('.')[0]}: see the report", 8)
        paths = list(pictures)[:2]
        if paths and two.y - _MARGIN > 1:
            two.pictures(paths, min(_PICTURES, two.y - _MARGIN))
        printed = io.BytesIO()
        with PdfPages(printed, metadata=dict(PDF_METADATA)) as pages:
            for page in (one, two):
                pages.savefig(page.canvas)
    return printed.getvalue()


def _sentences(front: Front) -> Iterator[str]:
    for warning in front.warnings:
        yield f"! {warning}."
    for _, sentences in front.answers:
        yield from sentences
        yield ""
    for word, meaning in front.notes:
        yield f"{word}: {meaning}."


def _shown(table: Table) -> str:
    """A table as text, with a wrapped caption and notes."""
    lines = to_text(table).rstrip("\n").split("\n")
    wide = max(90, *map(len, lines[2:4]))
    return "\n".join(part for line in lines for part in textwrap.wrap(line, wide) or [""])
