"""Draw figures with matplotlib, and save them as PNG, PDF and TeX: the same bytes on every run."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fontTools import subset  # which matplotlib needs and uses
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image  # likewise

from ...choices import FIGURE_FORMATS
from ...io.files import atomic_path, write_text
from ...tree.conditions import Condition
from . import style
from .plot import LEGEND_LINE, Curve, Panel, Plot, legend_entries
from .style import NAME, SIDE, escape_mathtext, shorten_name, styled
from .tex import to_tex

TITLE, _NOTE = 80, 60  # characters that fit
_MARKER_SIZE = 4.5
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
    metrics, conditions : collections of str and of Condition
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
    conditions: Collection[Condition] = ()
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


# Plots of curves


def draw(plot: Plot) -> Canvas:
    """Draw a plot as a matplotlib figure."""
    with style.figure(plot.width, _height(plot)) as canvas:
        draw_into(canvas, plot)
    return canvas


def draw_into(canvas: Canvas, plot: Plot) -> None:
    """Draw a plot on an empty matplotlib figure."""
    if plot.title:
        canvas.suptitle(escape_mathtext(plot.title, TITLE))
    for axes, panel in style.panels(canvas, plot.rows):
        draw_panel(axes, panel)
        if plot.legend == "below":
            at = (0.5, -0.18 * 2.4 / plot.panel_height)
            _legend(axes, plot, panel.curves, loc="upper center", bbox_to_anchor=at)
    if plot.legend == "right":
        _legend(canvas, plot, plot.curves, loc="outside right upper")
    elif plot.legend == "bottom":
        columns = plot.legend_columns
        _legend(canvas, plot, plot.curves, loc="outside lower center", ncols=columns)


def _legend(owner: Canvas | Axes, plot: Plot, curves: Any, **options: Any) -> None:
    entries = legend_entries(curves)
    limit = plot.name_limit(entries)
    style.legend(owner, map(_handle, entries), [_text(c, limit) for c in entries], **options)


def draw_legend(axes: Axes, *, inside: bool) -> None:
    """Draw the legend of all that is labelled on the axes, inside them, where it hides least, or
    below."""
    place: dict[str, Any] = {"loc": "best", "framealpha": 0.8}
    if not inside:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "frameon": False}
        place["ncols"] = 2
    axes.legend(fontsize=style.SMALL_FONT, **place)


def draw_panel(axes: Axes, panel: Panel, longest: int = 0) -> None:
    """Draw the curves, ticks and titles of a panel; curves are labelled for a legend of the axes
    with names of at most `longest` characters, if there is any."""
    right = axes.twinx() if any(c.right for c in panel.curves) else axes
    if right is not axes:
        right.set_ylim(0, 1.05)
        right.spines["right"].set_visible(True)
        if panel.right_label:
            right.set_ylabel(style.built_in(panel.right_label))
        else:
            right.set_yticklabels([])
    for number, curve in enumerate(panel.curves):
        on = right if curve.right else axes
        label: dict[str, Any] = {}
        if longest and (curve.name or curve.note):
            label = {"label": re.sub("^_", " _", _text(curve, longest))}  # "_" hides it
        if curve.fill:
            base = 0 if curve.base is None else curve.base
            on.fill_between(
                curve.x, curve.y, base, color=curve.colour, alpha=0.3, linewidth=0, **label
            )
            continue
        shown = {**_mark_options(curve), "markevery": []} if label else {}  # in the legend only
        shown |= {"color": curve.colour, "linestyle": curve.line_style, "linewidth": curve.width}
        if curve.right and label:
            axes.plot([], [], **shown, **label)
        on.plot(
            curve.x,
            curve.y,
            zorder=2 + number / 1000,
            **shown,
            **(label if on is axes else {}),
        )
        if curve.marker_points.size:
            on.plot(*curve.marker_points.T, zorder=3 + number / 1000, **_mark_options(curve))
    axes.set_xlim(*panel.x_limits)
    axes.set_ylim(*panel.y_limits)
    for axis, ticks in ((axes.xaxis, panel.x_ticks), (axes.yaxis, panel.y_ticks)):
        if ticks:
            axis.set_ticks([at for at, _ in ticks], [text for _, text in ticks])
    axes.set_xlabel(style.built_in(panel.x_label))
    side = f"{escape_mathtext(panel.side_title, SIDE)}\n" if panel.side_title else ""
    axes.set_ylabel(f"{side}{style.built_in(panel.y_label)}")
    if panel.title or panel.title_math:
        axes.set_title(f"{escape_mathtext(panel.title, TITLE)}{style.built_in(panel.title_math)}")
    if panel.square:
        axes.set_box_aspect(1)
        axes.set_anchor("E")  # next to the legend
    axes.grid(True)


def _mark_options(curve: Curve) -> dict[str, Any]:
    star = curve.marker == "*"  # all edge: a white one would hide it
    return dict(
        color=curve.colour,
        linestyle="none",
        marker=curve.marker or "none",
        markersize=1.6 * _MARKER_SIZE if star else _MARKER_SIZE,
        markeredgecolor=curve.colour if star else rcParams["axes.facecolor"],
        markeredgewidth=0.4,
    )


def _handle(curve: Curve) -> Line2D | Patch:
    if curve.fill:
        return Patch(color=curve.colour, alpha=0.3, linewidth=0)
    options = {**_mark_options(curve), "linestyle": curve.line_style}
    return Line2D([], [], linewidth=curve.width, **options)


def _text(curve: Curve, limit: int) -> str:
    """Entry of a legend; the note of a long name, and a long note, are on a separate line."""
    parts = filter(None, (escape_mathtext(curve.name, limit), escape_mathtext(curve.note, _NOTE)))
    name = len(shorten_name(curve.name, limit))
    return ("\n" if name > NAME or name + len(curve.note) > 2 * NAME else " ").join(parts)


def _height(plot: Plot) -> float:
    """Compute the height of the figure in inches: rows of panels, legends, title."""
    rows, title = len(plot.rows), 0.2 if plot.title else 0.0
    entries = len(legend_entries(plot.curves))
    if plot.legend == "right":
        return title + max(plot.panel_height + 0.5, LEGEND_LINE * entries + 0.3)
    lines = -(-entries // plot.legend_columns)
    if plot.legend == "below":
        lengths = [(i, len(legend_entries(p.curves))) for i, _, p in plot.panels()]
        lines = sum(max(n for at, n in lengths if at == i) for i in range(rows))
    return title + rows * (plot.panel_height + 0.55) + LEGEND_LINE * lines + 0.1
