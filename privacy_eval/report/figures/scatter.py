"""Metric against metric, a point per system, data set, gender and split: Figures 17 to 23
of the supplement.

A point requires both values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ...metrics import Caveat, describe
from ...metrics.caveats import worst_caveat
from ...numbers.cells import ORIGINAL_COLUMN, Cells, conditions_of, conflicting_originals
from ...numbers.report_data import ReportData
from ...protocol.protocol import Protocol, TrialSet
from ...results.measurements import Row
from . import style
from .drawing import Drawing
from .style import SystemStyle

#: x and y of the figures with a panel per attack model: 17, 18, 19, 20, 21, 22.
PAIRS = (
    ("eer", "cllr_min"),
    ("linkability", "cllr_min"),
    ("eer", "cllr"),
    ("eer", "linkability"),
    ("zebra_population", "cllr_min"),
    ("zebra_individual", "cllr_min"),
)

_LOGARITHMIC = frozenset({"cllr"})

_MOST_SYSTEMS = 40
_MOST_PANELS = 3
_NAME = 20


@dataclass(frozen=True)
class Axis:
    """A metric under an attack model; None for voice similarity and listening tests.
    `words` precede the metric's label."""

    metric: str
    attack_model: str | None
    words: str = ""

    @property
    def label(self) -> str:
        """Label of the axis, with the unit."""
        return self.words + describe(self.metric).axis

    @property
    def scale(self) -> str:
        """Matplotlib's scale of the axis."""
        return "log" if self.metric in _LOGARITHMIC else "linear"


@dataclass(frozen=True)
class Point:
    """The two values of a system, of `rows`; `group` determines whether the marker is filled or
    open. Either has a caveat if it must be neither ranked nor graded."""

    system: str
    group: str
    x: float
    y: float
    caveat: Caveat | None
    rows: tuple[Row, Row]


@dataclass(frozen=True)
class MetricPair:
    """Two metrics and their points."""

    title: str
    x: Axis
    y: Axis
    points: Sequence[Point]


def points_of(
    cells: Cells,
    x: Axis,
    y: Axis,
    trial_sets: Iterable[TrialSet],
    group: Callable[[TrialSet], str],
) -> list[Point]:
    """Collect the points of all systems and original speech that have both values."""
    points = []
    for system, t in itertools.product((*cells.systems, ORIGINAL_COLUMN), trial_sets):
        place = t.split, t.data_set.id, t.gender, system
        of_x, of_y = (cells.get(axis.metric, axis.attack_model, *place) for axis in (x, y))
        if of_x is not None and of_y is not None:
            x_value, y_value = (describe(r["metric"]).printed(r["value"]) for r in (of_x, of_y))
            caveat = worst_caveat((of_x.get("caveat"), of_y.get("caveat")))
            points.append(Point(system, group(t), x_value, y_value, caveat, (of_x, of_y)))
    return points


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield all scatter plots that have points: `scatter_<x>_<y>` for each of `PAIRS`, and
    `scatter_deid`. Many systems are split over several."""
    cells, protocol = data.cells, data.protocol
    groups = {split: protocol.split_title(split) for split in protocol.splits}
    for name, what, pairs in _kinds(protocol):
        panels = [panel for pair in pairs if (panel := _panel(cells, protocol, *pair)) is not None]
        points = [p for panel in panels for p in panel.points]
        systems = [s for s in cells.systems if any(p.system == s for p in points)]
        parts = itertools.product(
            [panels[i : i + _MOST_PANELS] for i in range(0, len(panels), _MOST_PANELS)],
            style.split_evenly(systems, _MOST_SYSTEMS),
        )
        caption = f"{what}. {_points_caption(groups, {p.group for p in points})}"
        for number, (some_panels, some_systems) in enumerate(parts, start=1):
            drawn = [*some_systems, ORIGINAL_COLUMN]
            shown = [p for panel in some_panels for p in panel.points if p.system in drawn]
            rows = [row for p in shown for row in p.rows]
            originals = conflicting_originals(cells, rows)
            yield Drawing(
                style.page_name(name, number),
                f"{caption} {originals}." if originals else caption,
                functools.partial(scatter, cells, some_panels, groups, drawn),
                {axis.metric for panel in some_panels for axis in (panel.x, panel.y)},
                conditions_of(rows),
            )


def scatter(
    cells: Cells, panels: Sequence[MetricPair], groups: Mapping[str, str], systems: Sequence[str]
) -> Canvas:
    """Draw panels side by side.

    Parameters
    ----------
    groups : mapping
        Titles of the groups of points; filled in the last, open in the others.
    systems : sequence of str
        Systems to draw, in their style among all systems.
    """
    styles = style.system_styles(cells.systems)
    drawn = {(p.system, p.group) for panel in panels for p in panel.points}
    systems = [s for s in systems if any((s, g) in drawn for g in groups)]
    handles = [Line2D([], [], **_marker(styles[s], filled=True)) for s in systems]
    names = [style.escape_mathtext(s, _NAME) for s in systems]
    width = style.FULL_WIDTH if len(panels) > 1 else style.COLUMN_WIDTH
    columns = style.legend_columns(width, names)
    height = 2.3 + 0.16 * (math.ceil(len(names) / columns) + 1)
    filled = list(groups)[-1]
    if len(groups) > 1:
        grey = SystemStyle(style.GREY, "o", "-")
        for group in (g for g in groups if any((s, g) in drawn for s in systems)):
            handles.append(Line2D([], [], **_marker(grey, filled=group == filled)))
            names.append(style.escape_mathtext(groups[group], _NAME))
    points = [p for panel in panels for p in panel.points if p.system in systems]
    for caveat in dict.fromkeys((p.caveat.mark, p.caveat.word) for p in points if p.caveat):
        mark = SystemStyle(style.GREY, f"${caveat[0]}$", "-")
        handles.append(Line2D([], [], **_marker(mark, filled=False)))
        names.append(" ".join(caveat))
    # x has the same unit in all panels; y is shared if it has, too.
    same = len({panel.y.metric for panel in panels}) == 1
    with style.figure(width, height) as canvas:
        for axes, panel in style.panels(canvas, [panels], sharex=True, sharey=same):
            for system, group in itertools.product(systems, groups):
                look = _marker(styles[system], filled=group == filled)
                if system in cells.own and len(cells.own) < len(cells.systems):
                    look["zorder"] = 3  # not below published systems
                withheld = _marker(replace(styles[system], colour=style.GREY), filled=False)
                _draw_points(axes, panel, (system, group), (look, withheld))
            _note_infinite(axes, panel, systems)
            axes.set_title(panel.title, loc="left")
            axes.set(xlabel=panel.x.label, xscale=panel.x.scale, yscale=panel.y.scale)
            if panel is panels[0] or not same:
                axes.set_ylabel(panel.y.label)
            axes.grid()
        options = dict(ncols=columns, handlelength=1.0, columnspacing=1.2)
        legend = style.legend(canvas, handles, names, loc="outside lower center", **options)
        for text, system in zip(legend.get_texts(), systems, strict=False):
            style.set_name(text, cells, system)
    return canvas


def _draw_points(
    axes: Axes, panel: MetricPair, of: tuple[str, str], looks: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Draw the points of a system and group: those shown, then those withheld."""
    for withheld, look in zip((False, True), looks, strict=True):
        points = [
            p
            for p in panel.points
            if (p.system, p.group) == of and bool(p.caveat) == withheld and _is_drawable(panel, p)
        ]
        if points:
            (line,) = axes.plot([p.x for p in points], [p.y for p in points], **look)
            line.set_gid("/".join(of))
        for p in points:
            if p.caveat is not None:
                style.mark_withheld(axes, p.x, p.y, p.caveat.mark)


def _note_infinite(axes: Axes, panel: MetricPair, systems: Collection[str]) -> None:
    """Write how many points of the systems cannot be drawn."""
    infinite = sum(p.system in systems and not _is_drawable(panel, p) for p in panel.points)
    if infinite:
        text = f"infinite, not drawn: {infinite}"
        place: dict[str, Any] = dict(transform=axes.transAxes, va="top", fontsize=style.SMALL_FONT)
        axes.text(0.02, 0.98, text, **place)


def _kinds(protocol: Protocol) -> Iterator[tuple[str, str, list[tuple[str, Axis, Axis]]]]:
    """Name and caption of each figure, with title and axes of its panels."""
    attacks = [a.id for a in protocol.attack_models if not a.is_original]
    titles: dict[str | None, str] = {a: style.attack_label(protocol, a) for a in attacks}
    for x, y in (map(protocol.shown, pair) for pair in PAIRS):
        panels = [(title, Axis(x, attack), Axis(y, attack)) for attack, title in titles.items()]
        what = f"{describe(x).sentence} vs. {describe(y).sentence} by attack model"
        yield f"scatter_{x}_{y}", what, panels
    first = next(iter(titles), None)
    titles[None] = "Voice similarity"
    against = [Axis("gvd_db", None), *(Axis(m, first) for m in (protocol.eer, "cllr_min") if first)]
    panels = [(titles[axis.attack_model], Axis("deid", None), axis) for axis in against]
    yield "scatter_deid", f"{describe('deid').sentence} vs. other metrics", panels


def _panel(cells: Cells, protocol: Protocol, title: str, x: Axis, y: Axis) -> MetricPair | None:
    """Make a panel if any system has points in it."""
    points = points_of(cells, x, y, protocol.trial_sets(), lambda t: t.split)
    systems = {p.system for p in points} - {ORIGINAL_COLUMN}
    return MetricPair(title, x, y, points) if systems else None


def _points_caption(splits: Mapping[str, str], present: Collection[str]) -> str:
    """Describe the points and which of them are filled."""
    titles = [title for split, title in splits.items() if split in present]
    if len(titles) == 1:
        return f"A point per system, data set and gender of the {titles[0]}."
    last = titles.pop() if list(splits)[-1] in present else ""
    shapes = [*([f"filled: {last}"] if last else ()), f"open: {', '.join(titles)}"]
    return f"A point per system, data set and gender of each split; {', '.join(shapes)}."


def _is_drawable(panel: MetricPair, point: Point) -> bool:
    values = ((point.x, panel.x), (point.y, panel.y))
    return all(math.isfinite(v) and (v > 0 or axis.scale == "linear") for v, axis in values)


def _marker(look: SystemStyle, *, filled: bool) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 5.7 if look.marker == "*" else 4.2,
        "markerfacecolor": look.colour if filled else "none",
        "markeredgecolor": "black" if filled else look.colour,
        "markeredgewidth": 0.3 if filled else 0.9,
    }
