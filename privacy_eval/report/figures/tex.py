"""Write plots of curves as pgfplots."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...metrics.pav import FloatArray
from ...metrics.printed import escape_latex
from .plot import LEGEND_LINE, MARKS, Curve, Panel, Plot, legend_entries
from .style import SIDE, for_latex, shorten_name

#: Maximum number of points of a curve; a histogram of 100 bins has 2 per bin.
MOST_POINTS = 204

Limits = tuple[float, float]

RIGHT_LIMITS: Limits = (0.0, 1.05)
# TeX's dimensions end at 16383 pt: points are at most this many axis lengths outside.
_OUTSIDE = 50
_AXIS = (
    r"label style={font=\footnotesize, align=center}, tick label style={font=\scriptsize}, "
    r"title style={font=\footnotesize}, scaled ticks=false, tick align=outside"
)


def to_tex(plot: Plot, caption: str = "") -> str:
    """Write a plot as LaTeX: a document by itself, a `tikzpicture` within another one."""
    colours = {c.colour: f"privacyeval{i}" for i, c in enumerate(plot.curves)}
    lines = []
    for colour, name in colours.items():
        code = {"black": "000000", "white": "FFFFFF"}.get(colour, colour.lstrip("#").upper())
        lines.append(rf"\definecolor{{{name}}}{{HTML}}{{{code}}}")
    pitch = plot.panel_height + 0.9
    if plot.legend == "below":
        below = max(len(legend_entries(p.curves)) for _, _, p in plot.panels())
        pitch += 0.3 + LEGEND_LINE * below
    # Leave space for the legend on the right, and for the labels of each panel.
    free = plot.width - (2.6 if plot.legend == "right" else 0)
    width = free / plot.columns - (0.5 if plot.columns > 2 else 0.75)
    last = max(i for i, _, _ in plot.panels())
    corner = (last, min(j for i, j, _ in plot.panels() if i == last))
    for i, j, panel in plot.panels():
        height = width if panel.square else plot.panel_height
        place = (
            f"at={{({j * free / plot.columns:.3g}in,{-i * pitch:.3g}in)}}, "
            f"scale only axis, width={width:.3g}in, height={height:.3g}in"
        )
        legend = _legend(plot, panel, colours, complete=(i, j) == corner)
        lines += _axes(panel, place, colours, legend)
    if plot.title:
        lines.append(
            r"\node[anchor=south, font=\footnotesize] at (current bounding box.north) "
            f"{{{escape_latex(plot.title)}}};"
        )
    note = f"% {' '.join(caption.split())}\n" if caption else ""
    frame = Path(__file__).with_name("picture.tex").read_text("utf-8")
    return note + frame.replace("PICTURE", "\n".join(lines))


def thin_curve(
    x: FloatArray, y: FloatArray, x_limits: Limits, y_limits: Limits
) -> tuple[FloatArray, FloatArray]:
    """Select at most `MOST_POINTS` points of a curve: the ends, and those at about equal distances
    along the visible curve. Points far outside the axes are moved closer."""
    x, y = _clipped(x, x_limits), _clipped(y, y_limits)
    if x.size <= MOST_POINTS:
        return x, y
    steps = [
        np.diff(np.clip((v - low) / (high - low), -0.1, 1.1))
        for v, (low, high) in ((x, x_limits), (y, y_limits))
    ]
    along = np.append(0.0, np.cumsum(np.hypot(*steps)))
    selected = np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS - 1), side="left")
    selected = np.unique(np.append(np.minimum(selected, x.size - 1), x.size - 1))
    return x[selected], y[selected]


def _clipped(values: FloatArray, limits: Limits) -> FloatArray:
    low, high = limits
    far = _OUTSIDE * (high - low)
    return np.clip(values, low - far, high + far)


def _legend(plot: Plot, panel: Panel, colours: dict[str, str], *, complete: bool) -> list[str]:
    """Option and entries of a panel's legend; empty if it has none."""
    entries = legend_entries(panel.curves if plot.legend == "below" else plot.curves)
    if not entries or plot.legend == "bottom" and not complete:
        return []
    anchor = {
        "below": "at={(0.5,-0.27)}, anchor=north",
        "right": "at={(1.03,1)}, anchor=north west",
        "bottom": f"at={{(0,-0.4)}}, anchor=north west, legend columns={plot.legend_columns}",
    }[plot.legend]
    lines = [
        rf"legend style={{{anchor}, draw=none, fill=none, font=\scriptsize}}, "
        "legend cell align=left"
    ]
    limit = plot.name_limit(entries)
    for curve in entries:
        text = " ".join(filter(None, (shorten_name(curve.name, limit), curve.note)))
        lines.append(f"\\addlegendimage{{{_line(curve, colours, marked=True)}}}")
        lines.append(f"\\addlegendentry{{{escape_latex(text)}}}")
    return lines


def _axes(panel: Panel, place: str, colours: dict[str, str], legend: list[str]) -> list[str]:
    side = rf"{escape_latex(shorten_name(panel.side_title, SIDE))}\\" if panel.side_title else ""
    options = [
        place,
        _AXIS,
        "axis lines=left, axis line style={-}, grid=major, grid style={black!15}",
        f"{_limits('x', panel.x_limits)}, {_limits('y', panel.y_limits)}",
        f"xlabel={{{for_latex(panel.x_label)}}}, ylabel={{{side}{for_latex(panel.y_label)}}}",
    ]
    if panel.title or panel.title_math:
        options.append(f"title={{{escape_latex(panel.title)}{panel.title_math}}}")
    for axis, ticks in (("x", panel.x_ticks), ("y", panel.y_ticks)):
        if ticks:
            places = ",".join(f"{at:.6g}" for at, _ in ticks)
            texts = ",".join(f"{{{text}}}" for _, text in ticks)
            options.append(f"{axis}tick={{{places}}}, {axis}ticklabels={{{texts}}}")
    on_left = [_curve(c, panel, colours) for c in panel.curves if not c.right]
    on_right = [_curve(c, panel, colours) for c in panel.curves if c.right]
    lines = _axis([*options, *legend[:1]], [*legend[1:], *on_left])
    if on_right:
        label = (
            f"ylabel={{{for_latex(panel.right_label)}}}" if panel.right_label else "yticklabels={}"
        )
        right = (
            f"axis y line*=right, axis x line=none, {_limits('y', RIGHT_LIMITS)}, "
            f"{_limits('x', panel.x_limits)}, {label}"
        )
        lines += _axis([place, _AXIS, right], on_right)
    return lines


def _axis(options: list[str], content: list[str]) -> list[str]:
    return [r"\begin{axis}[", *(f"  {o}," for o in options), "]", *content, r"\end{axis}"]


def _curve(curve: Curve, panel: Panel, colours: dict[str, str]) -> str:
    limits = (panel.x_limits, RIGHT_LIMITS if curve.right else panel.y_limits)
    points = _points(*thin_curve(curve.x, curve.y, *limits))
    text = f"\\addplot[{_line(curve, colours)}, forget plot] coordinates {{{points}}}"
    if curve.base is not None:
        below = _points(*thin_curve(curve.x[::-1], curve.base[::-1], *limits))
        return f"{text.removesuffix('}')} {below}}} -- cycle;"
    if curve.fill:
        return rf"{text} \closedcycle;"
    if curve.marker_points.size:
        style = _line(curve, colours, marked=True)
        marks = _points(*map(_clipped, curve.marker_points.T, (panel.x_limits, panel.y_limits)))
        text += f";\n\\addplot[{style}, only marks, forget plot] coordinates {{{marks}}}"
    return f"{text};"


def _line(curve: Curve, colours: dict[str, str], *, marked: bool = False) -> str:
    name = colours[curve.colour]
    if curve.fill:
        legend = ", area legend" if marked else ""
        return f"draw=none, fill={name}, fill opacity=0.3{legend}"
    options = [name, f"line width={curve.width:g}pt"]
    if not isinstance(curve.line_style, str):
        lengths = [curve.width * length for length in curve.line_style[1]]
        words = zip(("on", "off") * (len(lengths) // 2), lengths, strict=True)
        options.append("dash pattern=" + " ".join(f"{w} {v:.3g}pt" for w, v in words))
    mark = f"{MARKS[curve.marker][0]}, mark size=1.8pt" if marked and curve.marker else "none"
    return ", ".join([*options, f"mark={mark}"])


def _points(x: FloatArray, y: FloatArray) -> str:
    return " ".join(f"({a:.5g},{b:.5g})" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _limits(axis: str, limits: Limits) -> str:
    return f"{axis}min={limits[0]:.6g}, {axis}max={limits[1]:.6g}"
