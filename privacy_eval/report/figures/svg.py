"""Draw plots of curves as inline SVG for the report: some kB each, readable at any width, in
light and dark pages, and with values under the pointer (report.js reads the paths back).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import numpy as np
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from ...metrics.pav import FloatArray
from ..markup import Markup, join, tag
from .plot import MARKS, Curve, Panel, Plot, legend_entries
from .style import LineStyle
from .tex import RIGHT_LIMITS, Limits, thin_curve

# Size of the axes in CSS pixels, coordinates of curves per pixel, and margins: left, top, right,
# bottom.
_WIDTH, _HEIGHT, _FINE = 280, 210, 2
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 20, 12, 38
_RIGHT_AXIS = 30
#: How far a curve may be off its points, in coordinates.
_SMOOTH = 0.9


def to_svg(plot: Plot) -> Markup:
    """Write a plot as HTML: an `svg` element per panel, with legends."""
    parts = []
    side = ""
    for _, column, panel in plot.panels():
        side = panel.side_title if column == 0 or panel.side_title else side
        title = ": ".join(filter(None, (side, f"{panel.title}{plain(panel.title_math)}")))
        drawn = _panel(panel, title)
        if plot.legend == "below":
            drawn = tag("div", drawn, _legend(panel.curves))
        parts.append(drawn)
    if plot.legend != "below":
        parts.append(_legend(plot.curves))
    return tag("div", *parts, class_="plots")


def plain(text: str) -> str:
    """Turn built-in mathtext into plain text.

    Examples
    --------
    >>> plain(r"prior log-odds $\\log(\\pi/(1-\\pi))$")
    'prior log-odds log(π/(1-π))'
    """
    text = re.sub(r"\\mathrm\{([^}]*)\}", r"\1", text).replace(r"\pi", "\u03c0")
    return re.sub(r"[\\{}$]", "", text)


def _panel(panel: Panel, title: str) -> Markup:
    has_right = any(c.right for c in panel.curves)
    width, height = (_HEIGHT, _HEIGHT) if panel.square else (_WIDTH, _HEIGHT)
    whole = (_LEFT + width + (_RIGHT_AXIS if has_right else _RIGHT), _TOP + height + _BOTTOM)
    grid, labels = [], []
    for at, label in _ticks(panel.x_ticks, panel.x_limits):
        x = _LEFT + _scaled(at, panel.x_limits) * width
        grid.append(f"M{x:.0f} {_TOP}v{height}")
        labels.append(tag("text", label, x=f"{x:.0f}", y=_TOP + height + 14))
    for at, label in _ticks(panel.y_ticks, panel.y_limits):
        y = _TOP + (1 - _scaled(at, panel.y_limits)) * height
        grid.append(f"M{_LEFT} {y:.0f}h{width}")
        labels.append(tag("text", label, class_="e", x=_LEFT - 4, y=f"{y + 4:.0f}"))
    if has_right:
        for at in (0.0, 0.5, 1.0):
            y = _TOP + (1 - _scaled(at, RIGHT_LIMITS)) * height
            labels.append(tag("text", f"{at:g}", x=_LEFT + width + 12, y=f"{y + 4:.0f}"))
    turned = f"translate(11 {_TOP + height // 2})rotate(-90)"
    axes = tag(
        "svg",
        tag("rect", width="100%", height="100%", fill="none", pointer_events="all"),
        *(_curve(curve, panel, width, height) for curve in panel.curves),
        x=_LEFT,
        y=_TOP,
        width=width,
        height=height,
        viewBox=f"0 0 {width * _FINE} {height * _FINE}",
        data_b=" ".join(f"{v:.6g}" for v in (*panel.x_limits, *panel.y_limits)),
        data_s=f"{panel.x_scale} {panel.y_scale}",
    )
    return tag(
        "svg",
        tag("text", title, class_="t", x=_LEFT, y=13),
        tag("path", class_="g", d="".join(grid)),
        *labels,
        tag("text", plain(panel.x_label), x=_LEFT + width // 2, y=whole[1] - 5),
        tag("text", plain(panel.y_label), transform=turned),
        axes,
        class_="plot",
        viewBox=f"0 0 {whole[0]} {whole[1]}",
        width=whole[0],
        role="img",
        aria_label=title,
    )


def _curve(curve: Curve, panel: Panel, width: int, height: int) -> Markup:
    limits = RIGHT_LIMITS if curve.right else panel.y_limits
    box = width * _FINE, height * _FINE
    pixels = functools.partial(_pixels, x_limits=panel.x_limits, y_limits=limits, box=box)
    colour = _colour(curve.colour)
    if curve.fill:
        x = np.concatenate([curve.x, curve.x[::-1]])
        base = np.zeros_like(curve.y) if curve.base is None else curve.base
        y = np.concatenate([curve.y, base[::-1]])
        return tag("path", d=f"{_path(*pixels(x, y))}z", fill=colour, opacity=".3")
    line = tag(
        "path",
        data_n=None if curve.right else curve.name,
        d=_path(*pixels(*thin_curve(curve.x, curve.y, panel.x_limits, limits))),
        fill="none",
        stroke=colour,
        stroke_width=f"{_FINE * curve.width:g}",
        stroke_dasharray=_dashes(curve.line_style),
    )
    outline = MARKS[curve.marker][1].replace("M", "m", 1)
    at = zip(*pixels(*np.split(curve.marker_points.T.ravel(), 2)), strict=True)
    marks = "".join(f"M{x / _FINE:g} {y / _FINE:g}{outline}" for x, y in at)
    marked = tag("path", d=marks, fill=colour, transform=f"scale({_FINE})") if marks else ""
    return join([line, marked])


def _legend(curves: Iterable[Curve]) -> Markup:
    entries = []
    for c in legend_entries(curves):
        colour = _colour(c.colour)
        swatch = [tag("path", d="M0 2h24v8h-24z", fill=colour, opacity=".3")]
        if not c.fill:
            line = {"stroke_width": f"{c.width:g}", "stroke_dasharray": _dashes(c.line_style, 1)}
            swatch = [tag("path", d="M0 6h24", stroke=colour, **line)]
            if c.marker:
                mark = MARKS[c.marker][1]
                swatch.append(tag("path", d=mark, fill=colour, transform="translate(12 6)"))
        note = [" ", tag("small", c.note)] if c.note else []
        entries.append(tag("li", tag("svg", *swatch, width=24, height=12), " ", c.name, *note))
    return tag("ul", *entries, class_="key") if entries else Markup()


def _pixels(
    x: FloatArray, y: FloatArray, x_limits: Limits, y_limits: Limits, box: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """Whole coordinates within a box, y downwards; far points are moved closer."""
    across = np.clip(_scaled(x, x_limits), -1, 2) * box[0]
    down = (1 - np.clip(_scaled(y, y_limits), -1, 2)) * box[1]
    return np.rint(across).astype(int).tolist(), np.rint(down).astype(int).tolist()


def _path(x: list[int], y: list[int]) -> str:
    """Write a path in steps, without points that are hardly off the line of their neighbours."""
    path = Path(np.column_stack([x, y]))
    path.simplify_threshold = _SMOOTH
    kept = np.rint(path.cleaned(simplify=True).vertices).astype(int)[:-1]  # the last one ends it
    steps = np.diff(kept, axis=0)
    moves = " ".join(f"{dx} {dy}" for dx, dy in steps[steps.any(axis=1)].tolist())
    return f"M{kept[0][0]} {kept[0][1]}l{moves or '0 0'}".replace(" -", "-")


def _scaled(value: FloatArray | float, limits: Limits) -> FloatArray:
    low, high = limits
    with np.errstate(all="ignore"):  # stored arrays are untrusted
        scaled = (np.asarray(value, np.float64) - low) / ((high - low) or 1.0)
    return np.nan_to_num(scaled, nan=0.0)


def _ticks(ticks: tuple[tuple[float, str], ...], limits: Limits) -> list[tuple[float, str]]:
    if not np.isfinite(limits).all():
        return []
    if not ticks:
        values = MaxNLocator(6, integer=limits[1] - limits[0] >= 6).tick_values(*limits)
        ticks = tuple((float(v), f"{round(float(v), 10):g}") for v in values)
    return [(at, label) for at, label in ticks if limits[0] <= at <= limits[1]]


def _colour(colour: str) -> str:
    return "currentColor" if colour in ("black", "#000000") else colour


def _dashes(line: LineStyle, times: int = _FINE) -> str:
    """Write the lengths of dashes, "" of a solid line."""
    if isinstance(line, str):
        return "0 9" if line in ("", "none", "None") else ""
    return " ".join(f"{times * 1.5 * d:g}" for d in line[1])
