"""Metric against metric, a point per system, data set, gender and split: Figures 17 to 23
of the supplement.

A point needs both values: where one is missing there is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ...protocol.protocol import Protocol
from ..values import (
    ORIGINAL_COLUMN,
    Cells,
    Place,
    mixed_originals,
)
from . import style
from .style import Drawing, SystemStyle

#: x and y of the figures with a panel per attack model: 17, 18, 19, 20, 21, 22.
PAIRS = (
    ("eer", "cllr_min"),
    ("linkability", "cllr_min"),
    ("eer", "cllr"),
    ("eer", "linkability"),
    ("zebra_population", "cllr_min"),
    ("zebra_individual", "cllr_min"),
)
#: What DeID is drawn against in Figure 23, and under which attack model.
DEID_PAIRS = (("gvd_db", None), ("eer", "ignorant"), ("cllr_min", "ignorant"))

_MOST_SYSTEMS = 40
_MOST_PANELS = 3
_LOGARITHMIC = frozenset({"cllr"})
_OPEN, _SIZE = 0.9, 4.2


@dataclass(frozen=True)
class Panel:
    """Two metrics, and the attack model of each; None for voice similarity."""

    title: str
    x: tuple[str, str | None]
    y: tuple[str, str | None]


def attack_panels(cells: Cells, protocol: Protocol, x: str, y: str) -> tuple[Panel, ...]:
    """A panel for every attack model that any system has points under."""
    return tuple(
        panel
        for attack in protocol.attack_models
        if not attack.is_original
        for panel in [
            Panel(style.attack_label(protocol, attack.id), (x, attack.id), (y, attack.id))
        ]
        if _any_point(cells, protocol, panel)
    )


def deid_panels(cells: Cells, protocol: Protocol) -> tuple[Panel, ...]:
    """DeID against G_VD, EER and min Cllr, of those that any system has points of."""
    attacks = {a.id for a in protocol.attack_models}
    panels = (
        Panel(
            "Voice similarity" if attack is None else style.attack_label(protocol, attack),
            ("deid", None),
            (metric, attack),
        )
        for metric, attack in DEID_PAIRS
        if attack is None or attack in attacks
    )
    return tuple(panel for panel in panels if _any_point(cells, protocol, panel))


def scatter(
    cells: Cells,
    protocol: Protocol,
    panels: Sequence[Panel],
    *,
    systems: Sequence[str] | None = None,
) -> Canvas:
    """Points of all splits, data sets and genders; filled in the last split (test), open
    in the others.

    Parameters
    ----------
    systems : sequence of str, optional
        Those to draw; all, unless given. The styles are those among all.
    """
    styles = style.system_styles(cells.systems)
    chosen = (*(cells.systems if systems is None else systems), ORIGINAL_COLUMN)
    drawn = {
        system: points
        for system in chosen
        if any(points := [_points(cells, protocol, panel, system) for panel in panels])
    }
    splits = _splits(protocol, itertools.chain.from_iterable(drawn.values()))
    names = {system: style.literal(system, 20) for system in drawn}
    width = style.FULL_WIDTH if len(panels) > 1 else style.COLUMN_WIDTH
    columns = style.legend_columns(width, names.values())
    rows = math.ceil(len(names) / columns) + 1
    # x has one unit in all panels; where y has, too, it is shared.
    same = len({panel.y[0] for panel in panels}) == 1
    with style.figure(width, 2.3 + 0.16 * rows) as canvas:
        grid = canvas.subplots(1, len(panels), sharex=True, sharey=same, squeeze=False)[0]
        for number, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
            infinite = 0
            for system, points in drawn.items():
                infinite += _draw(axes, panel, protocol, styles[system], system, points[number])
            if infinite:
                axes.text(
                    0.02,
                    0.98,
                    f"infinite, not shown: {infinite}",
                    transform=axes.transAxes,
                    va="top",
                    fontsize=style.SMALL_FONT,
                )
            axes.set_title(panel.title, loc="left")
            axes.set_xlabel(style.METRIC_LABELS[panel.x[0]])
            if number == 0 or not same:
                axes.set_ylabel(style.METRIC_LABELS[panel.y[0]])
            if panel.y[0] in _LOGARITHMIC:
                axes.set_yscale("log")
            axes.grid()
        _legend(canvas, cells, protocol, splits, names, styles, columns)
        return canvas


def figures(cells: Cells, protocol: Protocol) -> Iterator[Drawing]:
    """All scatter plots that there are points for, one at a time: `scatter_<x>_<y>` for
    each of `PAIRS`, and `scatter_deid`. Many systems go on several."""
    kinds = [
        (
            f"scatter_{x}_{y}",
            f"{style.METRIC_NAMES[x]} vs. {style.METRIC_NAMES[y]} by attack model",
            attack_panels(cells, protocol, x, y),
        )
        for x, y in PAIRS
    ]
    kinds.append(
        (
            "scatter_deid",
            f"{style.METRIC_NAMES['deid']} vs. other metrics",
            deid_panels(cells, protocol),
        )
    )
    for name, what, panels in kinds:
        columns = (*cells.systems, ORIGINAL_COLUMN)
        found = {s: [_points(cells, protocol, p, s) for p in panels] for s in columns}
        systems = [s for s in cells.systems if any(found[s])]
        splits = _splits(protocol, itertools.chain.from_iterable(found.values()))
        parts = itertools.product(
            [panels[i : i + _MOST_PANELS] for i in range(0, len(panels), _MOST_PANELS)],
            style.pages(systems, _MOST_SYSTEMS),
        )
        for number, (some_panels, some_systems) in enumerate(parts, start=1):
            originals = mixed_originals(cells, _originals(cells, protocol, some_panels))
            yield Drawing(
                name if number == 1 else f"{name}_{number}",
                " ".join(
                    [
                        f"{what}. {_what_points_are(protocol, splits)}",
                        *([f"{originals}."] if originals else ()),
                    ]
                ),
                scatter(cells, protocol, some_panels, systems=some_systems),
            )


def _what_points_are(protocol: Protocol, splits: Sequence[str]) -> str:
    titles = [protocol.split_title(split) for split in splits]
    if len(titles) == 1:
        return f"A point per system, data set and gender of the {titles[0]}."
    # Of the last split of the plan, filled, there may be none.
    last = titles.pop() if splits and splits[-1] == protocol.splits[-1] else ""
    shapes = [*([f"filled: {last}"] if last else ()), f"open: {', '.join(titles)}"]
    return f"A point per system, data set and gender of each split; {', '.join(shapes)}."


def _splits(
    protocol: Protocol, points: Iterable[Iterable[tuple[str, float, float]]]
) -> tuple[str, ...]:
    """Those that there are points of, in the order of the plan."""
    found = {split for abbreviate in points for split, _, _ in abbreviate}
    return tuple(split for split in protocol.splits if split in found)


def _points(
    cells: Cells, protocol: Protocol, panel: Panel, system: str
) -> list[tuple[str, float, float]]:
    """Split, x and y of a system's points."""
    found = []
    for t in protocol.trial_sets():
        x, y = (
            cells.get(metric, attack, t.split, t.data_set.id, t.gender, system)
            for metric, attack in (panel.x, panel.y)
        )
        if x is not None and y is not None:
            found.append(
                (t.split, style.shown(panel.x[0], x.value), style.shown(panel.y[0], y.value))
            )
    return found


def _originals(cells: Cells, protocol: Protocol, panels: Sequence[Panel]) -> Iterator[Place]:
    """What the points of original speech are made of."""
    for panel, t in itertools.product(panels, protocol.trial_sets()):
        both = [
            Place(metric, attack, t.split, t.data_set.id, t.gender, ORIGINAL_COLUMN)
            for metric, attack in (panel.x, panel.y)
        ]
        if all(cells.at(place) is not None for place in both):
            yield from both


def _any_point(cells: Cells, protocol: Protocol, panel: Panel) -> bool:
    return any(_points(cells, protocol, panel, system) for system in cells.systems)


def _draw(
    axes: Axes,
    panel: Panel,
    protocol: Protocol,
    look: SystemStyle,
    system: str,
    points: Sequence[tuple[str, float, float]],
) -> int:
    """Draw a system's points, a line without line per split; how many are infinite."""
    infinite = 0
    for split in protocol.splits:
        of_split = [(x, y) for s, x, y in points if s == split]
        finite = [(x, y) for x, y in of_split if _drawable(panel, x, y)]
        infinite += len(of_split) - len(finite)
        if not finite:
            continue
        (line,) = axes.plot(
            [x for x, _ in finite],
            [y for _, y in finite],
            **_marker(look, filled=split == protocol.splits[-1]),
        )
        line.set_gid(f"{system}/{split}")
    return infinite


def _drawable(panel: Panel, x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y) and (panel.y[0] not in _LOGARITHMIC or y > 0)


def _marker(look: SystemStyle, *, filled: bool) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": _SIZE + (1.5 if look.marker == "*" else 0),
        "markerfacecolor": look.colour if filled else "none",
        "markeredgecolor": "black" if filled else look.colour,
        "markeredgewidth": 0.3 if filled else _OPEN,
    }


def _legend(
    canvas: Canvas,
    cells: Cells,
    protocol: Protocol,
    splits: Sequence[str],
    names: Mapping[str, str],
    styles: Mapping[str, SystemStyle],
    columns: int,
) -> None:
    handles: list[Artist] = [Line2D([], [], **_marker(styles[s], filled=True)) for s in names]
    labels = list(names.values())
    if len(protocol.splits) > 1:
        grey = SystemStyle(style.GREY, "o", "-")
        for split in splits:
            filled = split == protocol.splits[-1]
            handles.append(Line2D([], [], **_marker(grey, filled=filled)))
            labels.append(style.literal(protocol.split_title(split), 20))
    made = style.legend(
        canvas,
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        handlelength=1.0,
        columnspacing=1.2,
    )
    for text, system in zip(made.get_texts(), names, strict=False):
        style.name_style(cells, system).apply(text)
