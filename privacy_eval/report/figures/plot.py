"""What a plot of curves shows: curves, panels, axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...metrics.pav import FloatArray
from .style import FULL_WIDTH, LineStyle

#: Points of a curve in a `.tex` file; a histogram of 100 bins has 2 a bin.
MOST_POINTS = 204

LEGEND_LINE = 0.145  # inches

TITLE = 80  # characters that a page has room for

NAME, LONG_NAME, FEW = 28, 40, 4  # characters of a name in a legend, 40 of up to 4 names

SIDE = 16  # characters that the height of a panel has room for

# TeX's numbers end at 16383 pt: what is far outside of the axes is drawn this far outside.
_OUTSIDE = 50


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


def name_limit(plot: Plot, entries: Sequence[Curve]) -> int:
    """Characters of a name in the legend: few names beside the panel may be longer."""
    return LONG_NAME if plot.legend == "right" and len(entries) <= FEW else NAME


def legend_entries(curves: Iterable[Curve]) -> list[Curve]:
    """The curves that a legend names; those that look alike and have one name, once."""
    found: dict[tuple[object, ...], Curve] = {}
    for c in curves:
        if c.has_entry:
            found.setdefault((c.name, c.note, c.colour, c.line_style, c.marker, c.fill), c)
    return list(found.values())


def thinned(
    x: FloatArray,
    y: FloatArray,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    most: int = MOST_POINTS,
) -> tuple[FloatArray, FloatArray]:
    """At most so many of a curve's points: the ends, and those next to equal distances
    along the curve as it is seen; what is far outside of the axes comes nearer."""
    x, y = clipped(x, x_limits), clipped(y, y_limits)
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


def clipped(values: FloatArray, limits: tuple[float, float]) -> FloatArray:
    low, high = limits
    far = _OUTSIDE * (high - low)
    return np.clip(values, low - far, high + far)


def panel_limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    return panel.x_limits, panel.y_limits


def shortened(text: str, limit: int = NAME) -> str:
    """A name in at most so many characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2 - 1]}...{text[len(text) - (limit - limit // 2 - 2) :]}"


def own_marked(label: str) -> str:
    """A label of ours, which means the same to matplotlib, as LaTeX."""
    return label.replace("%", r"\%")


def all_curves(plot: Plot) -> list[Curve]:
    return [c for _, _, panel in plot.panels() for c in panel.curves]
