"""The picture of the first screen, for a paper: how often each attack on each system errs, from
0 % (the speaker is identified) to 50 % (guessing), with the utility of the speech on the same rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ...metrics import describe
from ...numbers.cells import conditions_of, interval_of
from ...numbers.report_data import ReportData
from ...results.measurements import Row
from ..answer import GUESSING, UNPROTECTED, attack_rows, costs, lanes, percent, shapes
from . import style
from .drawing import Drawing

_LANE, _ROW, _REST = 0.09, 0.12, 0.75  # inches
_NAME = 20


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `answer`, where any system was attacked."""
    rows = attack_rows(data)
    if not rows.keys() - {UNPROTECTED}:
        return
    cells = data.cells.rows.select(metric=data.protocol.eer, split=data.main_split)
    bars = any(interval_of(row) for of in rows.values() for row in of)
    caption = (
        f"How often each attack errs ({data.protocol.split_name(data.main_split)}), from 0 % (the "
        f"speaker is identified) to 50 % (guessing). Large marks: the best attack on the system."
        f"{' Bars: 95 % intervals over speakers.' * bars}"
    )
    drawn = functools.partial(draw_answer, data, rows)
    yield Drawing("answer", caption, drawn, (data.protocol.eer,), conditions_of(cells))


def draw_answer(data: ReportData, rows: Mapping[str, Sequence[Row]]) -> Canvas:
    """Draw a row for each system, and a narrow panel for each utility."""
    beside = costs(data)
    height = _REST + sum(_ROW + _LANE * lanes(of, rows) for of in rows.values())
    numbers = shapes(rows)
    names = [style.escape_mathtext(title, _NAME) for title in numbers]
    width = style.COLUMN_WIDTH + min(1.2 * len(beside), style.FULL_WIDTH - style.COLUMN_WIDTH)
    columns = style.legend_columns(width, names)
    with style.figure(width, height + 0.15 * (len(names) // columns)) as canvas:
        ratios = {"width_ratios": [2.2, *[1] * len(beside)]}
        axes = canvas.subplots(1, 1 + len(beside), squeeze=False, sharey=True, gridspec_kw=ratios)
        middles = _draw_attacks(axes[0, 0], data, rows, numbers)
        for panel, (metric, of) in zip(axes[0, 1:], beside.items(), strict=True):
            _draw_cost(panel, metric, of, middles)
        axes[0, 0].set_yticks(
            [*middles.values()], [style.escape_mathtext(s, _NAME) for s in middles]
        )
        axes[0, 0].invert_yaxis()
        handles = [Line2D([], [], **_look(number, best=False)) for number in numbers.values()]
        style.legend(canvas, handles, names, loc="outside lower center", ncols=columns)
    return canvas


def _look(number: int | None, *, best: bool) -> dict[str, Any]:
    """Return the look of an attack's mark; of original speech for None."""
    of = style.ORIGINAL_STYLE
    colour = of.colour if number is None else style.PALETTE[number % len(style.PALETTE)]
    marker = of.marker if number is None else style.MARKERS[number % len(style.MARKERS)]
    size = {"markersize": 6.5 if best else 3.5, "markeredgewidth": 0.3}
    return {"linestyle": "none", "color": colour, "marker": marker, "markeredgecolor": "k", **size}


def _draw_attacks(
    axes: Axes, data: ReportData, rows: Mapping[str, Sequence[Row]], numbers: Mapping[str, int]
) -> dict[str, float]:
    """Draw the marks of all attacks; return the middle of each system's row."""
    at, middles = 0.0, dict[str, float]()
    for system, of in rows.items():
        if middles:
            axes.axhline(at, color=style.GREY, linewidth=0.3)
        number = lanes(of, rows)
        middles[system] = at + (_ROW + _LANE * number) / 2
        for lane, row in enumerate(sorted(of, key=percent)):
            y = at + _ROW / 2 + _LANE * (min(lane, number - 1) + 0.5)
            if (bounds := interval_of(row)) is not None:
                ends = [min(100 * end, GUESSING) for end in bounds]
                axes.plot(ends, [y, y], color="k" if row["is_best"] else style.GREY, linewidth=1)
            x = min(percent(row), GUESSING)
            look = _look(numbers.get(row["title"]), best=row["is_best"])
            axes.plot([x], [y], clip_on=False, zorder=3, **look)
            if percent(row) > GUESSING:
                text = f" {row['printed']}"
                axes.text(x, y, text, va="center", fontsize=style.SMALL_FONT)
        at += _ROW + _LANE * number
    for threshold in data.protocol.eer_thresholds:
        axes.axvline(100 * threshold, color=style.GREY, linestyle="--", linewidth=0.6)
    axes.set(xlim=(0, GUESSING), ylim=(0, at), xlabel=describe(data.protocol.eer).axis)
    return middles


def _draw_cost(
    axes: Axes, metric: str, of: Mapping[str, Row], middles: Mapping[str, float]
) -> None:
    """Draw the utility of each system on its row, that of original speech as a line."""
    scale = 100 if describe(metric).percent else 1
    for system, row in of.items():
        if system not in middles:
            continue
        value, bounds = scale * row["value"], interval_of(row)
        if bounds is not None:
            ends = [scale * end for end in bounds]
            axes.plot(ends, [middles[system]] * 2, color=style.GREY, linewidth=1)
        axes.plot([value], [middles[system]], "ko", markersize=3.5)
        if system == UNPROTECTED:
            axes.axvline(value, color=style.GREY, linestyle=":", linewidth=0.8)
    axes.margins(x=0.15)
    axes.set_xlabel(describe(metric).axis)
