"""Draw plots of curves with matplotlib."""

from __future__ import annotations

import re
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import style
from .plot import LEGEND_LINE, Curve, Panel, Plot, legend_entries
from .style import NAME, SIDE, escape_mathtext, shorten_name

TITLE, _NOTE = 80, 60  # characters that fit
_MARKER_SIZE = 4.5


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
