"""The privacy-utility plane: average EER against word error rate and against recall of emotions.

Each system is a point, with its interval over speakers; published systems are grey, the Pareto
front is a line, and the protocol's thresholds of EER are dashed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ...metrics import describe
from ...metrics.caveats import INCOMPLETE
from ...numbers.cells import select
from ...numbers.report_data import ReportData
from ...numbers.trade_offs import UTILITY, TradeOff
from ..table import ANSWER
from . import style
from .drawing import Drawing

_NAME = 16
_MOST_NAMED = 12


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `plane_<split>` for each split with systems that have an EER and a utility."""
    for split in data.protocol.splits:
        systems = data.trade_offs[split]
        metrics = [m for m in UTILITY if any(m in t.utility for t in systems)]
        absent = [t.system for t in systems if len(t.utility) < len(metrics)]
        if not metrics:
            continue
        attack = data.protocol.attack(data.protocol.average_attack_model).title.lower()
        caption = (
            f"Privacy against utility, {data.protocol.split_title(split)}: average EER ({attack}) "
            "and utility of anonymized speech. The best are at the top right (line: Pareto front); "
            "bars: 95 % intervals over speakers, where there are"
        )
        if data.protocol.eer_thresholds:
            caption += "; dashed: thresholds of the EER"
        if data.cells.own and set(data.cells.systems) - data.cells.own:
            caption += "; grey: published systems"
        if incomplete := [t.system for t in systems if t.is_incomplete]:
            caption += f"; hollow: not ranked, as trials were left out ({', '.join(incomplete)})"
        if len(systems) > _MOST_NAMED:
            caption += ". Named are the systems of the front, and your own among published ones"
        if withheld := _withheld(data, split):
            caption += f". Not drawn, as their values are implausible or uninformative: {withheld}"
        if absent:
            caption += f". Without a value of one axis, and not drawn there: {', '.join(absent)}"
        under = data.protocol.average_attack_model
        first = split == data.main_split
        eers = select(data.cells, metric=data.protocol.eer, attack_model=under, split=split)
        yield Drawing(
            style.file_stem("plane", split),
            f"{caption}.",
            functools.partial(plane, data, systems, metrics),
            (data.protocol.eer,),
            {c for cell in eers.values() for c in cell.conditions},
            section=ANSWER if first else "",
        )


def _withheld(data: ReportData, split: str) -> str:
    """Name the systems with an EER that says nothing about privacy, such as an inverted one."""
    eer, attack = data.protocol.eer, data.protocol.average_attack_model
    means = {s: data.means.of(eer, attack, split, s) for s in data.cells.systems}
    withheld = [s for s, m in means.items() if m.value is not None and m.caveat is not None]
    return ", ".join(s for s in withheld if means[s].caveat is not INCOMPLETE)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select the points that no other exceeds in both coordinates, in ascending x."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(set(points), reverse=True):
        if not front or y > front[-1][1]:
            front.append((x, y))
    return front[::-1]


def plane(data: ReportData, systems: Sequence[TradeOff], metrics: Sequence[str]) -> Canvas:
    """Draw a panel for each metric of utility, the better systems above and to the right."""
    styles = style.system_styles(data.cells.systems)
    others = set(data.cells.systems) - data.cells.own if data.cells.own else set()
    width = style.FULL_WIDTH if len(metrics) > 1 else style.COLUMN_WIDTH
    listed = [t.system for t in systems if t.system not in others]
    listed = listed if len(listed) > _MOST_NAMED else []
    names = [style.escape_mathtext(system, _NAME) for system in listed]
    columns = style.legend_columns(width, names) if names else 1
    height = 2.9 + 0.16 * math.ceil(len(names) / columns)
    with style.figure(width, height) as canvas:
        for axes, metric in style.panels(canvas, [list(metrics)], sharex=True, sharey=False):
            drawn = [(t, t.utility[metric]) for t in systems if metric in t.utility]
            sign = -1 if describe(metric).best == "lower" else 1
            front = pareto_front(
                [(100 * t.eer, sign * 100 * value) for t, value in drawn if not t.is_incomplete]
            )
            for one, value in drawn:
                look, published = styles[one.system], one.system in others
                colour = style.GREY if published else look.colour
                x, y = 100 * one.eer, 100 * value
                _draw_point(axes, one, metric, y, replace(look, colour=colour))
                few = len(drawn) <= _MOST_NAMED or (bool(others) and not published)
                if few or (x, sign * y) in front:
                    axes.annotate(
                        style.escape_mathtext(one.system, _NAME)
                        + f" ({INCOMPLETE.word})" * one.is_incomplete,
                        (x, y),
                        xytext=(3, 3),
                        textcoords="offset points",
                        fontsize=style.SMALL_FONT,
                        color=colour,
                    )
            if len(front) > 1:
                xs, ys = zip(*((x, sign * y) for x, y in front), strict=True)
                (line,) = axes.plot(xs, ys, color="black", linewidth=0.6, zorder=0)
                line.set_gid("Pareto front")
            for threshold in data.protocol.eer_thresholds:
                axes.axvline(100 * threshold, color=style.GREY, linestyle="--", linewidth=0.6)
            if sign < 0:
                axes.invert_yaxis()
            axes.margins(0.15)
            axes.set_xlabel(describe(data.protocol.eer).axis)
            axes.set_ylabel(describe(metric).axis)
            axes.grid(alpha=0.3)
        if listed:
            handles = [
                Line2D([], [], marker=styles[s].marker, color=styles[s].colour, linestyle="none")
                for s in listed
            ]
            options = dict(ncols=columns, handlelength=1.0, columnspacing=1.2)
            style.legend(canvas, handles, names, loc="outside lower center", **options)
    return canvas


def _draw_point(axes: Axes, one: TradeOff, metric: str, y: float, look: style.SystemStyle) -> None:
    """Draw a system with its intervals; hollow if it is incomplete."""
    x, colour = 100 * one.eer, look.colour
    if one.interval is not None:
        low, high = (100 * bound for bound in one.interval)
        axes.plot([low, high], [y, y], color=colour, linewidth=0.8)
    if metric in one.bounds:
        low, high = (100 * bound for bound in one.bounds[metric])
        axes.plot([x, x], [low, high], color=colour, linewidth=0.8)
    (point,) = axes.plot(
        [x], [y], marker=look.marker, color=colour, linestyle="none", markersize=4.5
    )
    point.set_gid(one.system)
    if one.is_incomplete:
        point.set_markerfacecolor("white")
