"""Place labels beside points so that none hides another: greedily, the same way on every run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from . import style

#: Distances from a point in which a label is looked for, and the first with a line to it, points.
_DISTANCES = (5, 8, 11, 16, 22, 30, 40, 52, 66)
_WITH_LINE = 11
#: Directions, the first where a label is expected: above, to the right.
_DIRECTIONS = tuple(math.radians(a) for a in (45, 0, 90, 315, 135, 180, 270, 225, 22, 67, 112, 157))
_MARK = 3.5  # half the width of a mark, points

#: What a label costs for each square point of a mark or label that it hides, for each of a line,
#: and for each point of its distance.
_HIDDEN, _CROSSED, _FAR = 100.0, 1.0, 0.3


@dataclass(frozen=True)
class Box:
    """A rectangle on the page, points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> float:
        """Compute the common area."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


@dataclass(frozen=True)
class Label:
    """A text to place beside a point, in data coordinates."""

    text: str
    x: float
    y: float
    colour: str


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    within: Box,
    lines: Sequence[Box] = (),
) -> list[Box]:
    """Choose a box of a size for each point, which overlaps neither points nor other boxes if that
    is possible, and lines as little as possible; all in points of the page.

    Examples
    --------
    >>> first, second = place([(50, 50), (50, 50)], [(20, 8)] * 2, Box(0, 0, 100, 100))
    >>> first.overlap(second)
    0.0
    """
    taken = [Box(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in points]
    placed: list[Box] = []
    for (x, y), (width, height) in zip(points, sizes, strict=True):
        best, least = None, math.inf
        for distance, angle in itertools.product(_DISTANCES, _DIRECTIONS):
            across, up = math.cos(angle), math.sin(angle)
            left = x + distance * across - width * _share(across)
            bottom = y + distance * up - height * _share(up)
            left = min(max(left, within.left), within.right - width)
            bottom = min(max(bottom, within.bottom), within.top - height)
            box = Box(left, bottom, left + width, bottom + height)
            cost = _FAR * distance + _HIDDEN * sum(map(box.overlap, taken))
            cost += _CROSSED * sum(map(box.overlap, lines))
            if cost < least:
                best, least = box, cost
        assert best is not None
        taken.append(best)
        placed.append(best)
    return placed


def _share(towards: float) -> float:
    """Return the share of a box that is before the place where it is anchored: none in a
    direction, all of it in the opposite one, half of it across."""
    return 0.5 if abs(towards) < 0.3 else float(towards < 0)


def write_labels(canvas: Canvas, axes: Axes, labels: Sequence[Label]) -> None:
    """Write labels beside their points, with a line to those that are further away, off the lines
    of the axes where possible. Nothing may be laid out differently afterwards."""
    engine = canvas.get_layout_engine()
    if engine is not None:
        engine.execute(canvas)
    scale = 72 / canvas.dpi
    frame = axes.get_window_extent()
    within = Box(*(scale * edge for edge in (frame.x0, frame.y0, frame.x1, frame.y1)))
    points = [tuple(scale * axes.transData.transform((one.x, one.y))) for one in labels]
    height = 1.15 * style.SMALL_FONT
    sizes = [(72 * style.text_width(one.text) + 1, height) for one in labels]
    lines = [box for line in axes.lines for box in _boxes(line, scale)]
    halo = [withStroke(linewidth=1.2, foreground="white")]
    for one, (x, y), box in zip(labels, points, place(points, sizes, within, lines), strict=True):
        nearest = min(max(x, box.left), box.right), min(max(y, box.bottom), box.top)
        far = math.dist(nearest, (x, y)) >= _WITH_LINE - 1
        if far:
            line = dict(arrowstyle="-", linewidth=0.4, color=one.colour, shrinkA=0, shrinkB=2)
            offset = (nearest[0] - x, nearest[1] - y)
            leader = axes.annotate(
                "", (one.x, one.y), offset, textcoords="offset points", arrowprops=line
            )
            leader.set_in_layout(False)
        text = axes.annotate(
            one.text,
            (one.x, one.y),
            ((box.left + box.right) / 2 - x, (box.bottom + box.top) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=style.SMALL_FONT,
            color=one.colour,
            path_effects=halo,
        )
        text.set_in_layout(False)


def _boxes(line: Line2D, scale: float) -> Iterator[Box]:
    """Yield thin boxes along a line, points."""
    ends = line.get_transform().transform(line.get_xydata()) * scale
    for (x0, y0), (x1, y1) in itertools.pairwise(ends):
        steps = max(1, int(math.dist((x0, y0), (x1, y1)) / 4))
        for i in range(steps):
            x, y = x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps
            right, top = x + (x1 - x0) / steps, y + (y1 - y0) / steps
            low, high = sorted((y, top))
            near, far = sorted((x, right))
            yield Box(near - 0.5, low - 0.5, far + 0.5, high + 0.5)
