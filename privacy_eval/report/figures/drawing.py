"""Save figures as PNG, PDF and TeX: the same bytes on every run."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fontTools import subset  # which matplotlib needs and uses
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure as Canvas
from PIL import Image  # likewise

from ...choices import FIGURE_FORMATS
from ...io.files import atomic_path, write_text
from ...tree.conditions import TrialCondition
from .draw import draw
from .plot import Plot
from .style import styled
from .tex import to_tex

_CANVASES = frozenset({"png", "pdf"})
# Removed: with these, the bytes of a figure would depend on the date and the version.
PDF_METADATA: Mapping[str, None] = dict.fromkeys(("CreationDate", "Creator", "Producer"))


@dataclass(frozen=True)
class Drawing:
    """A figure that is not saved yet, and drawn only when needed.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
        Plain text.
    content : Plot or callable
        A plot of curves, or what draws the matplotlib figure.
    metrics, conditions : collections of str and of TrialCondition
        Metrics and conditions of the scores that it shows.
    default : bool
        Shown even if not all figures are requested.
    section : str
        Its section of the report; by default that of its kind.
    """

    name: str
    caption: str
    content: Plot | Callable[[], Canvas]
    metrics: Collection[str] = ()
    conditions: Collection[TrialCondition] = ()
    default: bool = True
    section: str = ""

    @functools.cached_property
    def canvas(self) -> Canvas:
        """The matplotlib figure, drawn."""
        return draw(self.content) if isinstance(self.content, Plot) else self.content()

    @property
    def plot(self) -> Plot:
        """The plot of curves that it is of."""
        assert isinstance(self.content, Plot)
        return self.content

    @property
    def formats(self) -> tuple[str, ...]:
        """Supported file formats: TeX only for plots of curves."""
        return tuple(f for f in FIGURE_FORMATS if f != "tex" or isinstance(self.content, Plot))


def write(
    drawing: Drawing, folder: Path, formats: Sequence[str] = FIGURE_FORMATS
) -> tuple[Path, ...]:
    """Write a drawing in those of the formats that it can be written in, TeX first, and free
    its memory.

    Raises
    ------
    PrivacyEvalError
        A file cannot be written.
    """
    files = {f: folder / f"{drawing.name}.{f}" for f in drawing.formats if f in formats}
    if "tex" in files:
        write_text(files["tex"], to_tex(drawing.plot, drawing.caption))
    if files.keys() & _CANVASES:
        save(drawing.canvas, {f: path for f, path in files.items() if f in _CANVASES})
        drawing.canvas.clear()
    return tuple(files.values())


def save(canvas: Canvas, files: Mapping[str, Path]) -> None:
    """Write a matplotlib figure to files by format, `png` or `pdf`.

    Raises
    ------
    PrivacyEvalError
        A file cannot be written.
    """
    with styled():
        engine = canvas.get_layout_engine()
        if engine is not None:  # laid out once for all formats
            engine.execute(canvas)
            canvas.set_layout_engine("none")
    dpi = canvas.dpi
    for extension, path in files.items():
        canvas.dpi = dpi  # printing as PDF changes it
        printed = io.BytesIO()  # matplotlib ends in other errors where a disk is full
        # Not `savefig`, which draws everything twice if a layout engine is set.
        with styled(), plain_fonts():
            if extension == "pdf":
                pdf: Any = FigureCanvasPdf(canvas)  # untyped
                pdf.print_pdf(printed, metadata=dict(PDF_METADATA))
            else:
                _print_png(canvas, printed)
        with atomic_path(path) as temporary:
            temporary.write_bytes(printed.getvalue())


def _print_png(canvas: Canvas, file: io.BytesIO) -> None:
    """Save a figure as a palette PNG, a third of the size of one without a palette."""
    agg: Any = FigureCanvasAgg(canvas)  # untyped
    agg.draw()
    image = Image.fromarray(np.asarray(agg.buffer_rgba())).convert("RGB")
    small = image.quantize(256, Image.Quantize.MAXCOVERAGE)
    small.save(file, "PNG", dpi=(canvas.dpi, canvas.dpi))


@contextlib.contextmanager
def plain_fonts() -> Iterator[None]:
    """Embed fonts without layout tables, which PDF viewers ignore: subsetting these tables takes
    most of the embedding time."""
    load = subset.load_font

    def load_plain(path: Any, options: Any, **more: Any) -> Any:
        options.drop_tables += ["GDEF", "GPOS", "GSUB"]
        return load(path, options, **more)

    subset.load_font = load_plain
    try:
        yield
    finally:
        subset.load_font = load
