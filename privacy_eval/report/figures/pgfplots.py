"""Figures of curves, described once: drawn by matplotlib, or written as pgfplots.

A `.tex` file needs no LaTeX to be written. It compiles on its own (`pdflatex FILE.tex`)
and can be read by `\\input` into a document that has `\\usepackage{pgfplots}`.

Names that others chose are plain text (`name`, `title`, `note`) and are escaped; axis
labels are our own and may hold mathtext, which LaTeX reads as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...io.files import write_text
from ...metrics.pav import FloatArray
from ..curves import FIGURE_FORMATS
from ..render import escape_latex
from . import style
from .style import FULL_WIDTH, Drawing, Figure, LineStyle, literal

FORMATS = FIGURE_FORMATS
#: Points of a curve in a `.tex` file; a histogram of 100 bins has 2 a bin.
MOST_POINTS = 204

_LEGEND_LINE = 0.145  # inches
_MARKER_SIZE = 4.5
_TITLE = 80  # characters that a page has room for
_NAME, _LONG_NAME, _FEW = 28, 40, 4  # characters of a name in a legend, 40 of up to 4 names
_SIDE = 16  # characters that the height of a panel has room for
# TeX's numbers end at 16383 pt: what is far outside of the axes is drawn this far outside.
_OUTSIDE = 50
_TEX_MARKS = {
    "o": "*",
    "s": "square*",
    "^": "triangle*",
    "D": "diamond*",
    "v": "triangle*, mark options={rotate=180}",
    "P": "+",
    "X": "x",
    "<": "triangle*, mark options={rotate=90}",
    ">": "triangle*, mark options={rotate=270}",
    "p": "pentagon*",
    "h": "otimes*",
    "*": "star",
}


@dataclass(frozen=True)
class Curve:
    """A line, or the area below one.

    Attributes
    ----------
    x, y : float arrays, shape (P,)
    name, note : str
        Its entry in the legend, none where both are empty; only `name` is shortened.
    colour : str
        As #RRGGBB.
    width : float
        In points.
    marker : str
        Drawn at the points `marks`, shape (M, 2), and in the legend.
    right : bool
        Belongs to the axis on the right, from 0 to 1.
    fill : bool
        Fill the area below, without a line.
    """

    x: FloatArray
    y: FloatArray
    name: str = ""
    note: str = ""
    colour: str = "#000000"
    line_style: LineStyle = "-"
    width: float = 1.2
    marker: str = ""
    marks: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    right: bool = False
    fill: bool = False

    @property
    def has_entry(self) -> bool:
        """Whether the legend names it."""
        return bool(self.name or self.note)


@dataclass(frozen=True)
class Panel:
    """A pair of axes with its curves.

    Attributes
    ----------
    title, side_title : str
        Plain text above, and left of the label of the y axis.
    title_math : str
        Our own text after the title.
    x_label, y_label, right_label : str
    x_limits, y_limits : (float, float)
    x_ticks, y_ticks : tuple of (float, str)
        Empty: as the program likes.
    square : bool
    """

    curves: tuple[Curve, ...]
    x_label: str
    y_label: str
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    title: str = ""
    title_math: str = ""
    side_title: str = ""
    right_label: str = ""
    x_ticks: tuple[tuple[float, str], ...] = ()
    y_ticks: tuple[tuple[float, str], ...] = ()
    square: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure of panels in rows.

    Attributes
    ----------
    rows : tuple of tuples of Panel or None
        None leaves a place free.
    legend : {"right", "below", "bottom"}
        One beside the only panel, one below each panel, or one for all at the bottom, of
        the names of the first panel that holds each.
    panel_height : float
        In inches.
    title : str
        Plain text above all panels.
    """

    rows: tuple[tuple[Panel | None, ...], ...]
    legend: Literal["right", "below", "bottom"] = "right"
    panel_height: float = 3.0
    legend_columns: int = 3
    width: float = FULL_WIDTH
    title: str = ""

    def panels(self) -> Iterator[tuple[int, int, Panel]]:
        """Row, column and panel of each."""
        for i, row in enumerate(self.rows):
            for j, panel in enumerate(row):
                if panel is not None:
                    yield i, j, panel

    @property
    def columns(self) -> int:
        """Most panels in a row."""
        return max(len(row) for row in self.rows)


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
        canvas.suptitle(literal(plot.title, _TITLE))
    axes = canvas.subplots(len(plot.rows), plot.columns, squeeze=False)
    drawn = {(i, j): panel for i, j, panel in plot.panels()}
    for (i, j), one in np.ndenumerate(axes):
        panel = drawn.get((i, j))
        if panel is None:
            one.remove()
            continue
        _draw_panel(one, panel)
        if plot.legend == "below":
            entries = _entries(panel.curves)
            style.legend(
                one,
                [_handle(c) for c in entries],
                [_text(c) for c in entries],
                loc="upper center",
                bbox_to_anchor=(0.5, -0.18 * 2.4 / plot.panel_height),
            )
    if plot.legend == "below":
        return
    entries = _entries(c for _, _, panel in plot.panels() for c in panel.curves)
    right = plot.legend == "right"
    limit = _limit(plot, entries)
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
    side = f"{literal(_short(panel.side_title, _SIDE))}\n" if panel.side_title else ""
    axes.set_ylabel(f"{side}{panel.y_label}")
    if panel.title or panel.title_math:
        axes.set_title(f"{literal(panel.title, _TITLE)}{panel.title_math}")
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


def _text(curve: Curve, limit: int = _NAME) -> str:
    """An entry of a legend; the note of a long name on a line of its own."""
    name = _short(curve.name, limit)
    parts = (literal(name, limit), literal(curve.note, 60))
    return ("\n" if len(name) > _NAME else " ").join(filter(None, parts))


def _limit(plot: Plot, entries: Sequence[Curve]) -> int:
    """Characters of a name in the legend: few names beside the panel may be longer."""
    return _LONG_NAME if plot.legend == "right" and len(entries) <= _FEW else _NAME


def _entries(curves: Iterable[Curve]) -> list[Curve]:
    """The curves that a legend names; those that look alike and have one name, once."""
    found: dict[tuple[object, ...], Curve] = {}
    for c in curves:
        if c.has_entry:
            found.setdefault((c.name, c.note, c.colour, c.line_style, c.marker, c.fill), c)
    return list(found.values())


def _height(plot: Plot) -> float:
    rows = len(plot.rows)
    title = 0.2 if plot.title else 0.0
    if plot.legend == "right":
        entries = sum(c.has_entry for _, _, p in plot.panels() for c in p.curves)
        return title + max(plot.panel_height + 0.5, _LEGEND_LINE * entries + 0.3)
    lines = 0.0
    if plot.legend == "below":
        for i in range(rows):
            lines += max((len(_entries(p.curves)) for at, _, p in plot.panels() if at == i))
    else:
        entries = len(_entries([c for _, _, p in plot.panels() for c in p.curves]))
        lines = -(-entries // plot.legend_columns)
    return title + rows * (plot.panel_height + 0.55) + _LEGEND_LINE * lines + 0.1


# pgfplots


def to_tex(plot: Plot, caption: str = "") -> str:
    """A plot as LaTeX: alone a document, within one a `tikzpicture`."""
    comment = " ".join(caption.split())
    lines = [
        *([f"% {comment}"] if comment else []),
        r"% Alone: pdflatex. Within a document: \usepackage{pgfplots} and \input of this file.",
        r"\expandafter\ifx\csname @twoclasseserror\endcsname\documentclass\else",
        r"\IfFileExists{standalone.cls}{\documentclass[border=3pt]{standalone}}"
        r"{\documentclass{article}\pagestyle{empty}}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{pgfplots}",
        r"\pgfplotsset{compat=1.9}",
        r"\begin{document}",
        r"\def\privacyevalend{\end{document}}",
        r"\fi",
        r"\begin{tikzpicture}",
    ]
    colours = {c.colour: f"privacyeval{i}" for i, c in enumerate(_all_curves(plot))}
    for colour, name in colours.items():
        lines.append(rf"\definecolor{{{name}}}{{HTML}}{{{_hex(colour)}}}")
    below = _LEGEND_LINE * max(len(_entries(p.curves)) for _, _, p in plot.panels())
    pitch = (
        plot.panel_height
        + (1.2 if plot.legend == "below" else 0.9)
        + (below if plot.legend == "below" else 0)
    )
    # The legend on the right takes its place, each panel its labels.
    free = plot.width - (2.6 if plot.legend == "right" else 0)
    width = free / plot.columns - (0.5 if plot.columns > 2 else 0.75)
    last = max(i for i, _, _ in plot.panels())
    shared = min((j for i, j, _ in plot.panels() if i == last), default=0)
    everything = _entries(_all_curves(plot))
    for i, j, panel in plot.panels():
        height = width if panel.square else plot.panel_height
        place = f"at={{({j * free / plot.columns:.3g}in,{-i * pitch:.3g}in)}}"
        size = f"scale only axis, width={width:.3g}in, height={height:.3g}in"
        entries: list[Curve] = []
        if plot.legend == "below":
            entries = _entries(panel.curves)
            anchor = "at={(0.5,-0.27)}, anchor=north"
        elif plot.legend == "right":
            entries, anchor = everything, "at={(1.03,1)}, anchor=north west"
        elif (i, j) == (last, shared):
            entries = everything
            anchor = f"at={{(0,-0.4)}}, anchor=north west, legend columns={plot.legend_columns}"
        limit = _limit(plot, entries)
        lines += _tex_axis(
            panel, f"{place}, {size}", colours, entries, anchor if entries else "", limit
        )
    if plot.title:
        lines.append(
            r"\node[anchor=south, font=\footnotesize] at (current bounding box.north) "
            f"{{{escape_latex(plot.title)}}};"
        )
    lines += [
        r"\end{tikzpicture}%",
        r"\ifdefined\privacyevalend\expandafter\privacyevalend\fi",
    ]
    return "".join(f"{line}\n" for line in lines)


def _tex_axis(
    panel: Panel,
    place: str,
    colours: dict[str, str],
    entries: Sequence[Curve],
    anchor: str,
    limit: int,
) -> list[str]:
    side = f"{escape_latex(_short(panel.side_title, _SIDE))}\\\\" if panel.side_title else ""
    common = (
        r"label style={font=\footnotesize, align=center}, tick label style={font=\scriptsize}, "
        r"title style={font=\footnotesize}, scaled ticks=false, tick align=outside"
    )
    options = [
        place,
        common,
        "axis lines=left, axis line style={-}, grid=major, grid style={black!15}",
        _tex_limits("x", panel.x_limits) + ", " + _tex_limits("y", panel.y_limits),
        f"xlabel={{{_own(panel.x_label)}}}, ylabel={{{side}{_own(panel.y_label)}}}",
    ]
    if panel.title or panel.title_math:
        options.append(f"title={{{escape_latex(panel.title)}{panel.title_math}}}")
    for axis, ticks in (("x", panel.x_ticks), ("y", panel.y_ticks)):
        if ticks:
            places = ",".join(f"{at:.6g}" for at, _ in ticks)
            texts = ",".join(f"{{{text}}}" for _, text in ticks)
            options.append(f"{axis}tick={{{places}}}, {axis}ticklabels={{{texts}}}")
    if anchor:
        options.append(
            rf"legend style={{{anchor}, draw=none, fill=none, font=\scriptsize}}, "
            "legend cell align=left"
        )
    lines = [r"\begin{axis}[", *(f"  {o}," for o in options), "]"]
    for curve in entries:
        lines.append(f"\\addlegendimage{{{_tex_line(curve, colours, marked=True)}}}")
        text = " ".join(filter(None, (_short(curve.name, limit), curve.note)))
        lines.append(f"\\addlegendentry{{{escape_latex(text)}}}")
    lines += [_tex_curve(c, panel, colours) for c in panel.curves if not c.right]
    lines.append(r"\end{axis}")
    if any(c.right for c in panel.curves):
        labels = f"ylabel={{{_own(panel.right_label)}}}" if panel.right_label else "yticklabels={}"
        lines += [
            r"\begin{axis}[",
            f"  {place},",
            f"  {common},",
            "  axis y line*=right, axis x line=none, ymin=0, ymax=1.05, "
            f"{_tex_limits('x', panel.x_limits)}, {labels},",
            "]",
            *(_tex_curve(c, panel, colours) for c in panel.curves if c.right),
            r"\end{axis}",
        ]
    return lines


def _tex_curve(curve: Curve, panel: Panel, colours: dict[str, str]) -> str:
    y_limits = (0.0, 1.05) if curve.right else panel.y_limits
    x, y = thinned(curve.x, curve.y, panel.x_limits, y_limits)
    text = f"\\addplot[{_tex_line(curve, colours)}, forget plot] coordinates {{{_points(x, y)}}}"
    if curve.fill:
        return f"{text} \\closedcycle;"
    if curve.marks.size:
        mark = _tex_line(curve, colours, marked=True)
        at = _points(*(_near(v, lim) for v, lim in zip(curve.marks.T, _limits(panel), strict=True)))
        text += f";\n\\addplot[{mark}, only marks, forget plot] coordinates {{{at}}}"
    return f"{text};"


def _tex_line(curve: Curve, colours: dict[str, str], *, marked: bool = False) -> str:
    name = colours[curve.colour]
    if curve.fill:
        legend = ", area legend" if marked else ""
        return f"draw=none, fill={name}, fill opacity=0.3{legend}"
    options = [name, f"line width={curve.width:g}pt"]
    if not isinstance(curve.line_style, str):
        lengths = [curve.width * length for length in curve.line_style[1]]
        words = zip(("on", "off") * (len(lengths) // 2), lengths, strict=True)
        options.append("dash pattern=" + " ".join(f"{w} {v:.3g}pt" for w, v in words))
    if marked and curve.marker:
        options.append(f"mark={_TEX_MARKS[curve.marker]}, mark size=1.8pt")
    else:
        options.append("mark=none")
    return ", ".join(options)


def thinned(
    x: FloatArray,
    y: FloatArray,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    most: int = MOST_POINTS,
) -> tuple[FloatArray, FloatArray]:
    """At most so many of a curve's points: the ends, and those next to equal distances
    along the curve as it is seen; what is far outside of the axes comes nearer."""
    x, y = _near(x, x_limits), _near(y, y_limits)
    if x.size <= most:
        return x, y
    steps = [
        np.diff(np.clip((v - low) / (high - low), -0.1, 1.1))
        for v, (low, high) in ((x, x_limits), (y, y_limits))
    ]
    along = np.append(0.0, np.cumsum(np.hypot(*steps)))
    kept = np.searchsorted(along, np.linspace(0, along[-1], most - 1), side="left")
    kept = np.unique(np.append(np.minimum(kept, x.size - 1), x.size - 1))
    return x[kept], y[kept]


def _near(values: FloatArray, limits: tuple[float, float]) -> FloatArray:
    low, high = limits
    far = _OUTSIDE * (high - low)
    return np.clip(values, low - far, high + far)


def _limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    return panel.x_limits, panel.y_limits


def _points(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    return " ".join(f"({a:.5g},{b:.5g})" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _tex_limits(axis: str, limits: tuple[float, float]) -> str:
    return f"{axis}min={limits[0]:.6g}, {axis}max={limits[1]:.6g}"


def _short(text: str, limit: int = _NAME) -> str:
    """A name in at most so many characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2 - 1]}...{text[len(text) - (limit - limit // 2 - 2) :]}"


def _own(label: str) -> str:
    """A label of ours, which means the same to matplotlib, as LaTeX."""
    return label.replace("%", r"\%")


def _all_curves(plot: Plot) -> list[Curve]:
    return [c for _, _, panel in plot.panels() for c in panel.curves]


def _hex(colour: str) -> str:
    return {"black": "000000", "white": "FFFFFF"}.get(colour, colour.lstrip("#").upper())
