"""Describe a plot of curves: curves, panels, axes. `draw` and `tex` turn it into figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ...metrics import Caveat
from ...metrics.pav import FloatArray
from .style import FULL_WIDTH, GREY, NAME, LineStyle, SystemStyle

LEGEND_LINE = 0.145  # inches

_LONG_NAME, _FEW = 40, 4  # characters of a name in a legend of few entries


_DISC = "M0-3a3 3 0 1 0 .01 0z"

#: Markers in pgfplots, and as SVG: outlines about the origin, of at most 4 pixels, or discs.
MARKS: Mapping[str, tuple[str, str]] = {
    "": ("none", _DISC),
    "o": ("*", _DISC),
    "s": ("square*", "M-3-3h6v6h-6z"),
    "^": ("triangle*", "M0-4l4 7h-8z"),
    "D": ("diamond*", "M0-4l4 4l-4 4l-4-4z"),
    "v": ("triangle*, mark options={rotate=180}", "M0 4l4-7h-8z"),
    "P": ("+", "M-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z"),
    "X": ("x", "M-4-3l1-1l3 3l3-3l1 1l-3 3l3 3l-1 1l-3-3l-3 3l-1-1l3-3z"),
    "<": ("triangle*, mark options={rotate=90}", "M-4 0l7-4v8z"),
    ">": ("triangle*, mark options={rotate=270}", "M4 0l-7-4v8z"),
    "p": ("pentagon*", _DISC),
    "h": ("otimes*", _DISC),
    "*": ("star", "M0-5l1 4h4l-3 2l1 4l-3-2l-3 2l1-4l-3-2h4z"),
}

#: Transformation from values to coordinates.
Scale = Literal["linear", "log10", "probit"]


@dataclass(frozen=True)
class Curve:
    """A line, or the area below it.

    Attributes
    ----------
    x, y : float arrays, shape (P,)
    name, note : str
        Entry in the legend, none if both are empty; only `name` is shortened.
    colour : str
        As #RRGGBB.
    width : float
        In points.
    marker : str
        Symbol at the points `marker_points`, shape (M, 2), and in the legend.
    right : bool
        Plotted on the right axis, from 0 to 1.
    fill : bool
        Fill the area below, without a line.
    base : float array, shape (P,), or None
        Lower edge of the filled area; None is 0.
    """

    x: FloatArray
    y: FloatArray
    name: str = ""
    note: str = ""
    colour: str = "#000000"
    line_style: LineStyle = "-"
    width: float = 1.2
    marker: str = ""
    marker_points: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    right: bool = False
    fill: bool = False
    base: FloatArray | None = None


@dataclass(frozen=True)
class Panel:
    """A pair of axes with its curves.

    Attributes
    ----------
    title, side_title : str
        Plain text above, and left of the label of the y axis.
    title_math : str
        Mathtext after the title.
    x_label, y_label, right_label : str
    x_limits, y_limits : (float, float)
    x_ticks, y_ticks : tuple of (float, str)
        Empty: automatic.
    x_scale, y_scale : {"linear", "log10", "probit"}
        Transformation to coordinates; the report shows the original values under the pointer.
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
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    square: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure of panels in rows.

    Attributes
    ----------
    rows : tuple of tuples of Panel or None
        None leaves a gap.
    legend : {"right", "below", "bottom"}
        Next to the only panel, below each panel, or one for all panels at the bottom.
    panel_height : float
        In inches.
    title : str
        Plain text above all panels.
    longest_name : int
        Maximum number of characters of a name in the legend, unless there is more room.
    """

    rows: tuple[tuple[Panel | None, ...], ...]
    legend: Literal["right", "below", "bottom"] = "right"
    panel_height: float = 3.0
    legend_columns: int = 3
    width: float = FULL_WIDTH
    title: str = ""
    longest_name: int = NAME

    def panels(self) -> Iterator[tuple[int, int, Panel]]:
        """Yield each panel with its row and column."""
        for i, row in enumerate(self.rows):
            for j, panel in enumerate(row):
                if panel is not None:
                    yield i, j, panel

    @property
    def columns(self) -> int:
        """Maximum number of panels in a row."""
        return max(len(row) for row in self.rows)

    @property
    def curves(self) -> list[Curve]:
        """The curves of all panels."""
        return [c for _, _, panel in self.panels() for c in panel.curves]

    def name_limit(self, entries: Sequence[Curve]) -> int:
        """Maximum number of characters of a name in the legend: few names may be longer."""
        few = self.legend == "right" and len(entries) <= _FEW
        return _LONG_NAME if few else self.longest_name


def system_curve(
    look: SystemStyle,
    x: FloatArray,
    y: FloatArray,
    points: FloatArray,
    name: str,
    note: str,
    caveat: Caveat | None = None,
) -> Curve:
    """Describe the curve of a system with its markers; if its scores are implausible, it is grey,
    and the legend says so."""
    curve = Curve(
        x, y, name, note, look.colour, look.line_style, marker=look.marker, marker_points=points
    )
    return (
        curve
        if caveat is None
        else replace(curve, colour=GREY, note=f"{caveat.mark} {caveat.word} {note}")
    )


def in_pairs(panels: Sequence[Panel]) -> tuple[tuple[Panel, ...], ...]:
    """Arrange panels in rows of two."""
    return tuple(tuple(panels[i : i + 2]) for i in range(0, len(panels), 2))


def legend_entries(curves: Iterable[Curve]) -> list[Curve]:
    """Select the curves that a legend names; of identical entries the first."""
    entries: dict[tuple[object, ...], Curve] = {}
    for c in curves:
        if c.name or c.note:
            entries.setdefault((c.name, c.note, c.colour, c.line_style, c.marker, c.fill), c)
    return list(entries.values())
