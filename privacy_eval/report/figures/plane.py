"""The privacy-utility plane: average EER against word error rate and against recall of emotions,
or against other utility that `--utility` names.

Each system is a point, with its interval over speakers; published systems are grey, the Pareto
front is a line, and the protocol's thresholds of EER are dashed. Many systems are numbered.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from ...errors import abbreviate
from ...metrics import describe
from ...metrics.strongest import TOO_LOW
from ...numbers.attackers import with_attackers
from ...numbers.cells import conditions_of, interval_of
from ...numbers.means import UTILITY
from ...numbers.report_data import ReportData
from ...results.measurements import Row
from ..table import ANSWER
from . import style
from .drawing import Drawing

_BESIDE = (
    "Ticks: the lowest EER of the attackers that were tried. Dotted: its 95 % interval, corrected "
    "for the choice among them"
)

_NAME = 20
_MOST_NAMED = 12
_HEIGHT, _KEY_LINE = 3.1, 0.15  # inches
_SINGLE_WIDTH = 4.4


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


#: A text to place beside a point, in data coordinates, and its colour.
Label = tuple[str, tuple[float, float], str]


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
    points = [tuple(scale * axes.transData.transform(at)) for _, at, _ in labels]
    height = 1.15 * style.SMALL_FONT
    sizes = [(72 * style.text_width(text) + 1, height) for text, _, _ in labels]
    lines = [box for line in axes.lines for box in _boxes(line, scale)]
    halo = [withStroke(linewidth=1.2, foreground="white")]
    boxes = place(points, sizes, within, lines)
    for (text, at, colour), (x, y), box in zip(labels, points, boxes, strict=True):
        nearest = min(max(x, box.left), box.right), min(max(y, box.bottom), box.top)
        if math.dist(nearest, (x, y)) >= _WITH_LINE - 1:
            line = dict(arrowstyle="-", linewidth=0.4, color=colour, shrinkA=0, shrinkB=2)
            offset = (nearest[0] - x, nearest[1] - y)
            leader = axes.annotate("", at, offset, textcoords="offset points", arrowprops=line)
            leader.set_in_layout(False)
        written = axes.annotate(
            text,
            at,
            ((box.left + box.right) / 2 - x, (box.bottom + box.top) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=style.SMALL_FONT,
            color=colour,
            path_effects=halo,
        )
        written.set_in_layout(False)


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


@dataclass(frozen=True)
class Plane:
    """Systems to draw, in the order of their numbers.

    Attributes
    ----------
    data : ReportData
    split : str
    systems : tuple of mapping
        Rows of `numbers.means.trade_offs`.
    metrics : tuple of str
        Of utility, a panel for each.
    """

    data: ReportData
    split: str
    systems: tuple[Row, ...]
    metrics: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it shows."""
        return f"Privacy and utility, {self.data.protocol.split_name(self.split)}"

    @property
    def is_numbered(self) -> bool:
        """Whether numbers stand for the names, which are in a key."""
        return len(self.systems) > _MOST_NAMED

    @property
    def names(self) -> list[str]:
        """Names of the systems."""
        return [t["system"] for t in self.systems]

    def factor(self, system: str) -> str:
        """Write the real-time factor of a system, in brackets, if it is known of one machine."""
        costs = self.data.measurements.select(metric="wall_factor", system=system, duration="all")
        values = [row["value"] for row in costs]
        return f" ({values[0]:.2g}\u00d7)" if len(values) == 1 else ""

    @property
    def published(self) -> set[str]:
        """Published systems, if there are others."""
        cells = self.data.cells
        return set(cells.systems) - cells.own if cells.own else set()

    def look(self, system: str) -> style.SystemStyle:
        """Return the style of a system: that among all, but grey if it is published."""
        look = style.system_styles(self.data.cells.systems)[system]
        return replace(look, colour=style.GREY) if system in self.published else look

    def drawn(self, metric: str) -> list[tuple[Row, float]]:
        """Return the systems with a utility, with its printed value."""
        rated = (t for t in self.systems if metric in t["utility"])
        return [(t, describe(metric).printed(t["utility"][metric]["value"])) for t in rated]

    def front(self, metric: str) -> list[tuple[float, float]]:
        """Return the points of the Pareto front, as they are printed."""
        sign = _sign(metric)
        points = [(100 * t["value"], sign * y) for t, y in self.drawn(metric)]
        return [(x, sign * y) for x, y in pareto_front(points)]

    def caption(self) -> str:
        """Describe what is drawn, and nothing else."""
        data = self.data
        attack = data.protocol.average_attack.phrase
        if data.sources.by_strongest:
            attack = "the strongest attacker of each system that was tried"
        front = " (line: Pareto front)" * any(len(self.front(m)) > 1 for m in self.metrics)
        bars = any(interval_of(row) for t in self.systems for row in (t, *t["utility"].values()))
        parts = [
            f"{self.title}: average EER ({attack}) and utility of anonymized speech. "
            f"The best are at the top right{front}",
            "Bars: 95 % intervals over speakers, where there are" * bars,
            _BESIDE * any("lowest" in t for t in self.systems),
            f"{TOO_LOW[:1].upper()}{TOO_LOW[1:]} (strongest attacker)"
            * any(t["strongest"].is_too_low for t in self.systems if t.get("strongest")),
            "Dashed: thresholds of the EER" * bool(data.protocol.eer_thresholds),
            "Grey: published systems" * any(t["system"] in self.published for t in self.systems),
            "Factors in brackets: real-time factors of the anonymization (one run, not repeated)"
            * any(map(self.factor, self.names)),
        ]
        text = ". ".join(filter(None, parts))
        of = data.protocol.eer, data.protocol.average_attack_model, self.split
        if withheld := [s for s in data.cells.systems if data.means.of(*of, s)["withheld"]]:
            why = "as their values are missing, implausible or uninformative"
            text += f". Not drawn, {why}: {', '.join(withheld)}"
        lacking = (t for t in self.systems if not {*self.metrics} <= t["utility"].keys())
        if absent := [t["system"] for t in lacking]:
            text += f". Without a value of an axis, and not drawn there: {abbreviate(absent)}"
        known = {t["system"] for t in self.systems} | {*withheld}
        if others := [s for s in data.cells.systems if s not in known]:
            text += f". Without an average EER, and not drawn: {abbreviate(others)}"
        points = [at for metric in self.metrics for at in self._at_one_point(metric)]
        if points:
            text += f". At one point: {'; '.join(dict.fromkeys(map(', '.join, points)))}"
        return f"{text}."

    def _at_one_point(self, metric: str) -> Iterator[list[str]]:
        """Yield the systems whose points hide each other, as their values are printed alike."""
        points: dict[tuple[str, float], list[str]] = {}
        for one, y in self.drawn(metric):
            x = describe(self.data.protocol.eer).format(one["value"])
            points.setdefault((x, y), []).append(one["system"])
        yield from (systems for systems in points.values() if len(systems) > 1)


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `plane_<split>` for each split with systems that have an EER and a utility."""
    for split in data.protocol.splits:
        by_strongest = data.sources.by_strongest
        rows = with_attackers(data.trade_offs[split], data.tried, split, by_strongest=by_strongest)
        systems = sorted(rows, key=lambda t: -t["value"])
        wanted = data.sources.utility or UTILITY
        metrics = [m for m in wanted if any(m in t["utility"] for t in systems)]
        if not metrics:
            continue
        plane = Plane(data, split, tuple(systems), tuple(metrics))
        under = data.protocol.average_attack_model
        eers = data.cells.rows.select(metric=data.protocol.eer, attack_model=under, split=split)
        yield Drawing(
            style.file_stem("plane", split),
            plane.caption(),
            functools.partial(draw_plane, plane),
            (data.protocol.eer,),
            conditions_of(eers),
            section=ANSWER if split == data.main_split else "",
        )


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select the points that no other exceeds in both coordinates, in ascending x."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(set(points), reverse=True):
        if not front or y > front[-1][1]:
            front.append((x, y))
    return front[::-1]


def _sign(metric: str) -> int:
    return -1 if describe(metric).best == "lower" else 1


def draw_plane(plane: Plane) -> Canvas:
    """Draw a panel for each metric of utility, the better systems above and to the right."""
    protocol = plane.data.protocol
    width = style.FULL_WIDTH if len(plane.metrics) > 1 else _SINGLE_WIDTH
    systems = enumerate(plane.names, start=1)
    names = [f"{n} {style.escape_mathtext(name)}{plane.factor(name)}" for n, name in systems]
    columns = style.legend_columns(width, names)
    lines = math.ceil(len(names) / columns) if plane.is_numbered else 0
    with style.figure(width, _HEIGHT + _KEY_LINE * lines) as canvas:
        canvas.suptitle(plane.title)
        drawn = list(style.panels(canvas, [list(plane.metrics)], sharex=True, sharey=False))
        for axes, metric in drawn:
            _draw_systems(axes, plane, metric)
            for threshold in protocol.eer_thresholds:
                axes.axvline(100 * threshold, color=style.GREY, linestyle="--", linewidth=0.6)
            if _sign(metric) < 0:
                axes.invert_yaxis()
            axes.margins(0.15)
            axes.set(xlabel=describe(protocol.eer).axis, ylabel=describe(metric).axis)
            axes.grid(alpha=0.3)
        if plane.is_numbered:
            handles = [Line2D([], [], linestyle="none") for _ in names]
            options = dict(ncols=columns, handlelength=0, handletextpad=0, columnspacing=1.2)
            style.legend(canvas, handles, names, loc="outside lower center", **options)
        for axes, metric in drawn:
            write_labels(canvas, axes, _labels(plane, metric))
    return canvas


def _labels(plane: Plane, metric: str) -> list[Label]:
    """Return the names of the systems of a panel, or their numbers."""
    numbers = {t["system"]: n for n, t in enumerate(plane.systems, start=1)}
    labels = []
    for one, y in plane.drawn(metric):
        system = one["system"]
        text = style.escape_mathtext(system, _NAME) + plane.factor(system)
        text = f"{numbers[system]}" if plane.is_numbered else text
        labels.append((text, (100 * one["value"], y), plane.look(system).colour))
    return labels


def _draw_systems(axes: Axes, plane: Plane, metric: str) -> None:
    """Draw the systems with their intervals, and the Pareto front if it is a line."""
    for one, y in plane.drawn(metric):
        _draw_point(axes, one, metric, y, plane.look(one["system"]))
    front = plane.front(metric)
    if len(front) > 1:
        xs, ys = zip(*front, strict=True)
        (line,) = axes.plot(xs, ys, color="black", linewidth=0.6, zorder=0)
        line.set_gid("Pareto front")


def _draw_point(axes: Axes, one: Row, metric: str, y: float, look: style.SystemStyle) -> None:
    """Draw a system with its intervals."""
    x, colour = 100 * one["value"], look.colour
    thin: dict[str, Any] = dict(color=colour, linewidth=0.6, alpha=0.6, zorder=1)
    if "lowest" in one:
        if best := one["strongest"]:
            axes.plot([100 * best.lower, 100 * best.upper], [y, y], linestyle=":", **thin)
        eer = 100 * one["lowest"]["of_present"]
        (lowest,) = axes.plot(eer, y, "|", color=colour, markersize=7)
        lowest.set_gid(f"{one['system']}, strongest attacker")
    if bounds := interval_of(one):
        axes.plot([100 * bound for bound in bounds], [y, y], **thin)
    if bounds := interval_of(one["utility"][metric]):
        axes.plot([x, x], [*map(describe(metric).printed, bounds)], **thin)
    mark: dict[str, Any] = dict(marker=look.marker, linestyle="none", markersize=5)
    (point,) = axes.plot([x], [y], color=colour, **mark)
    point.set_gid(one["system"])
