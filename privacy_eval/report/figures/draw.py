"""Plots of curves drawn by matplotlib."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...io.files import write_text
from ...results.arrays import FIGURE_FORMATS
from . import style
from .plot import (
    LEGEND_LINE,
    NAME,
    SIDE,
    TITLE,
    Curve,
    Panel,
    Plot,
    legend_entries,
    name_limit,
    shortened,
)
from .style import Drawing, Figure, literal
from .tex import to_tex

FORMATS = FIGURE_FORMATS

_MARKER_SIZE = 4.5


@dataclass(frozen=True)
class CurveDrawing(Drawing):
    """A drawing with what it is drawn from, for its `.tex` file."""

    plot: Plot


def drawing(name: str, caption: str, plot: Plot) -> CurveDrawing:
    """A plot as a matplotlib figure, drawn when it is needed."""
    return CurveDrawing(name, caption, functools.partial(_draw, plot), plot)


def _draw(plot: Plot) -> Canvas:
    with style.figure(plot.width, _height(plot)) as canvas:
        draw_into(canvas, plot)
    return canvas


def write(drawn: CurveDrawing, folder: Path, formats: Sequence[str] = FORMATS) -> Figure:
    """Save a drawing as PNG, PDF and TeX, and free its memory.

    Raises
    ------
    PrivacyEvalError
        A file cannot be written.
    """
    files = []
    if "tex" in formats:
        files.append(folder / f"{drawn.name}.tex")
        write_text(files[0], to_tex(drawn.plot, drawn.caption))
    images = [f for f in formats if f != "tex"]
    saved = style.write(drawn, folder, images).files if images else ()
    return Figure(drawn.name, drawn.caption, (*saved, *files))


# matplotlib


def draw_into(canvas: Canvas, plot: Plot) -> None:
    """Draw a plot on an empty matplotlib figure."""
    if plot.title:
        canvas.suptitle(literal(plot.title, TITLE))
    axes = canvas.subplots(len(plot.rows), plot.columns, squeeze=False)
    drawn = {(i, j): panel for i, j, panel in plot.panels()}
    for (i, j), one in np.ndenumerate(axes):
        panel = drawn.get((i, j))
        if panel is None:
            one.remove()
            continue
        _draw_panel(one, panel)
        if plot.legend == "below":
            entries = legend_entries(panel.curves)
            style.legend(
                one,
                [_handle(c) for c in entries],
                [_text(c) for c in entries],
                loc="upper center",
                bbox_to_anchor=(0.5, -0.18 * 2.4 / plot.panel_height),
            )
    if plot.legend == "below":
        return
    entries = legend_entries(c for _, _, panel in plot.panels() for c in panel.curves)
    right = plot.legend == "right"
    limit = name_limit(plot, entries)
    style.legend(
        canvas,
        [_handle(c) for c in entries],
        [_text(c, limit) for c in entries],
        loc="outside right upper" if right else "outside lower center",
        ncols=1 if right else plot.legend_columns,
    )


def _draw_panel(axes: Axes, panel: Panel) -> None:
    right = axes.twinx() if any(c.right for c in panel.curves) else None
    if right is not None:
        right.set_ylim(0, 1.05)
        right.spines["right"].set_visible(True)
        if panel.right_label:
            right.set_ylabel(panel.right_label)
        else:
            right.set_yticklabels([])
    for number, curve in enumerate(panel.curves):
        on = right if curve.right and right is not None else axes
        if curve.fill:
            on.fill_between(curve.x, curve.y, color=curve.colour, alpha=0.3, linewidth=0)
            continue
        on.plot(
            curve.x,
            curve.y,
            color=curve.colour,
            linestyle=curve.line_style,
            linewidth=curve.width,
            zorder=2 + number / 1000,
        )
        if curve.marks.size:
            on.plot(*curve.marks.T, zorder=3 + number / 1000, **_mark_options(curve))
    axes.set_xlim(*panel.x_limits)
    axes.set_ylim(*panel.y_limits)
    for axis, ticks in ((axes.xaxis, panel.x_ticks), (axes.yaxis, panel.y_ticks)):
        if ticks:
            axis.set_ticks([at for at, _ in ticks], [text for _, text in ticks])
    axes.set_xlabel(panel.x_label)
    side = f"{literal(shortened(panel.side_title, SIDE))}\n" if panel.side_title else ""
    axes.set_ylabel(f"{side}{panel.y_label}")
    if panel.title or panel.title_math:
        axes.set_title(f"{literal(panel.title, TITLE)}{panel.title_math}")
    if panel.square:
        axes.set_box_aspect(1)
        axes.set_anchor("E")  # next to the legend
    axes.grid(True)


def _mark_options(curve: Curve) -> dict[str, Any]:
    star = curve.marker == "*"  # all edge: a white one would leave nothing of it
    return dict(
        color=curve.colour,
        linestyle="none",
        marker=curve.marker or "none",
        markersize=1.6 * _MARKER_SIZE if star else _MARKER_SIZE,
        markeredgecolor=curve.colour if star else "white",
        markeredgewidth=0.4,
    )


def _handle(curve: Curve) -> Line2D | Patch:
    if curve.fill:
        return Patch(color=curve.colour, alpha=0.3, linewidth=0)
    options = {**_mark_options(curve), "linestyle": curve.line_style}
    return Line2D([], [], linewidth=curve.width, **options)


def _text(curve: Curve, limit: int = NAME) -> str:
    """An entry of a legend; the note of a long name on a line of its own."""
    name = shortened(curve.name, limit)
    parts = (literal(name, limit), literal(curve.note, 60))
    return ("\n" if len(name) > NAME else " ").join(filter(None, parts))


def _height(plot: Plot) -> float:
    rows = len(plot.rows)
    title = 0.2 if plot.title else 0.0
    if plot.legend == "right":
        entries = sum(c.has_entry for _, _, p in plot.panels() for c in p.curves)
        return title + max(plot.panel_height + 0.5, LEGEND_LINE * entries + 0.3)
    lines = 0.0
    if plot.legend == "below":
        for i in range(rows):
            lines += max((len(legend_entries(p.curves)) for at, _, p in plot.panels() if at == i))
    else:
        entries = len(legend_entries([c for _, _, p in plot.panels() for c in p.curves]))
        lines = -(-entries // plot.legend_columns)
    return title + rows * (plot.panel_height + 0.55) + LEGEND_LINE * lines + 0.1
