"""Figures of subjective evaluation: violin plots of ratings (Figure 24 of the supplement),
DET curves (Figures 25, 26), objective against subjective metrics (Figures 27 to 30).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ..io.ratings import ORIGINAL_SYSTEM
from ..metrics.pav import FloatArray
from ..protocol.protocol import Protocol
from ..report.figures import det, style
from ..report.figures.draw import CurveDrawing, drawing
from ..report.figures.ece import MOST_SYSTEMS, numbered, part_of
from ..report.figures.plot import Panel, Plot
from ..report.figures.style import Drawing, SystemStyle
from ..report.values import ORIGINAL_COLUMN, Cells, column_of
from .evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    SIMILARITY,
    Distribution,
    ListeningTest,
    ListeningTestCurves,
)
from .tables import ATTACK, PREFIX, QUANTITY_TITLES, VARIANT, metric_text

#: Systems side by side in a violin plot; more go over several figures.
MOST_VIOLINS = 12

#: Systems in four panels of DET curves.
MOST_CURVES = 12

_WIDTH = 0.42  # of half a violin; systems are 1 apart

_LEVEL = 5  # systems whose names of usual length stand level below a violin

_NAME = 6

_FILL = 0.45

_LOGARITHMIC = frozenset({"cllr"})

_TASKS: Mapping[str, str] = {
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
    "similarity_same_speaker": "Similarity: same-speaker pairs",
    "similarity_different_speaker": "Similarity: different-speaker pairs",
    SIMILARITY: "Similarity: both kinds of pairs",
}

_WHAT_TASKS_ARE = (
    "Naturalness, intelligibility: original speech (target) against the system's. Similarity: "
    "the system's same-speaker pairs (target) against different-speaker pairs of original "
    "speech, and same-speaker pairs of original speech (target) against the system's "
    "different-speaker pairs."
)

_LEFT_OPEN = (
    " The supplement leaves open what it sets against the pairs in its Figures 25 and 26; its "
    "words on them, anonymized speech near the upper right corner in both panels of similarity, "
    "rather fit the figure of both kinds of pairs of one system (subjective_det_similarity) than "
    "the last panel here."
)

_BOTH_KINDS = (
    "Same-speaker pairs (target) against different-speaker pairs, both of one system: what "
    "subjective EERs are of, and what fits the supplement's words on its Figures 25 and 26."
)

_MARK = (
    "Marked: where the curve, on which ties are broken at random, has equal rates; with many ties "
    "the EER of tables is beside it."
)


def figures(
    subjective: ListeningTest | None,
    curves: ListeningTestCurves | None,
    cells: Cells,
    protocol: Protocol,
    split: str,
) -> Iterator[Drawing]:
    """All figures that there is anything for, one at a time.

    Parameters
    ----------
    subjective, curves : ListeningTest, ListeningTestCurves or None
        A listening test; None for a published one, of which only metrics are known.
    cells : Cells
        Of `report.subjective.objective_and_subjective`.
    """
    if subjective is not None and curves is not None:
        names = [column(s) for s in subjective.systems]
        styles = style.system_styles([*cells.systems, *names])
        yield from violin_figures(subjective, curves, styles)
        yield from det_figures(subjective, curves, styles)
    yield from scatter_figures(cells, protocol, split)


def column(system: str) -> str:
    """What figures of several sources call a system of a listening test."""
    return ORIGINAL_COLUMN if system == ORIGINAL_SYSTEM else column_of(system)


def violin_figures(
    subjective: ListeningTest, curves: ListeningTestCurves, styles: Mapping[str, SystemStyle]
) -> Iterator[Drawing]:
    """`subjective_violin`: a panel per quantity, a violin per system."""
    line = f"dotted line: median of {subjective.reference}. " if subjective.reference else ""
    pages = style.pages(subjective.systems, MOST_VIOLINS)
    for number, page in enumerate(pages):
        yield Drawing(
            style.stem("subjective_violin", *numbered(number, pages)),
            f"Normalised ratings{part_of(number, pages)}. Numbers: means; bars: quartiles, points: "
            f"medians; {line}Higher naturalness and intelligibility "
            "are better utility, lower similarity is better privacy.",
            _violins(subjective, curves, styles, page),
        )


def det_figures(
    subjective: ListeningTest, curves: ListeningTestCurves, styles: Mapping[str, SystemStyle]
) -> Iterator[CurveDrawing]:
    """`subjective_det`, four panels, of all data sets pooled and of each; and
    `subjective_det_similarity` of both kinds of pairs of each system.

    The supplement does not say what its panels of same- and of different-speaker pairs
    (Figures 25, 26) set against these; `subjective._task` does what we take. It says that
    anonymized speech is near the upper right corner in both. Ratings of different-speaker
    pairs hardly change when speech is anonymized, so in our panel of these all systems are
    near original speech; `subjective_det_similarity` shows what it describes.
    """
    protocol = subjective.protocol
    for data_set in (None, *(d.id for d in protocol.data_sets)):
        title = "all data sets pooled" if data_set is None else protocol.data_set(data_set).title
        where = "pooled" if data_set is None else data_set
        found = {
            quantity: _lines(subjective, curves, quantity, data_set)
            for quantity in (*QUANTITIES, SIMILARITY)
        }
        yield from _det_pages("subjective_det", where, title, found, QUANTITIES, styles)
        yield from _det_pages(
            "subjective_det_similarity", where, title, found, (SIMILARITY,), styles
        )


def scatter_figures(cells: Cells, protocol: Protocol, split: str) -> Iterator[Drawing]:
    """`subjective_scatter_<metric>`: a point per system, data set and gender that has both
    values, a panel per data set."""
    for metric in DETECTION_METRICS:
        points = {
            data_set: _points(cells, protocol, split, metric, data_set)
            for data_set in protocol.table_rows
        }
        points = {data_set: found for data_set, found in points.items() if found}
        if points:
            yield Drawing(
                f"subjective_scatter_{metric}",
                f"Objective (ignorant attack model) vs. subjective {style.METRIC_NAMES[metric]}, "
                f"{protocol.split_title(split)}. A point per system and gender.",
                _scatter(cells, protocol, metric, points),
            )


# Violin plots


def _violins(
    subjective: ListeningTest,
    curves: ListeningTestCurves,
    styles: Mapping[str, SystemStyle],
    systems: Sequence[str],
) -> Canvas:
    found = {(d.quantity, d.system): i for i, d in enumerate(subjective.distributions)}
    present = [q for q in QUANTITIES if any((q, s) in found for s in systems)]
    names = [style.literal(column(s), 16) for s in systems]
    level = len(systems) <= _LEVEL or max(map(len, names)) * len(systems) <= _NAME * MOST_VIOLINS
    rows = math.ceil(len(present) / 2)
    columns = min(2, len(present))
    height = 2.1 * rows + (0.2 if level else 0.07 * max(map(len, names)))
    width = style.FULL_WIDTH if columns > 1 else style.COLUMN_WIDTH
    with style.figure(width, height) as canvas:
        grid = canvas.subplots(rows, columns, squeeze=False, sharey=True)
        for number, axes in enumerate(grid.flat):
            if number >= len(present):
                axes.remove()
                continue
            quantity = present[number]
            middle = found.get((quantity, subjective.reference or ""))
            if middle is not None:
                line = subjective.distributions[middle].median
                axes.axhline(line, color="black", linestyle=":", linewidth=1.0, zorder=4)
            for at, system in enumerate(systems):
                index = found.get((quantity, system))
                if index is not None:
                    distribution = subjective.distributions[index]
                    look = styles[column(system)]
                    _violin(axes, at, distribution, curves.at, curves.densities[index], look)
            axes.set_title(QUANTITY_TITLES[quantity], loc="left")
            axes.set_xticks(range(len(systems)), names, rotation=0 if level else 90)
            if number + columns < len(present):
                axes.tick_params(axis="x", labelbottom=False)  # the names stand below
            axes.set_xlim(-0.6, len(systems) - 0.4)
            axes.set_ylim(-0.03, 1.12)
            axes.set_yticks(np.linspace(0, 1, 6))
            axes.grid(axis="y")
            if number % columns == 0:
                axes.set_ylabel("normalised rating")
        return canvas


def _violin(
    axes: Axes,
    at: float,
    distribution: Distribution,
    points: FloatArray,
    density: FloatArray,
    look: SystemStyle,
) -> None:
    held = density > 0
    half = _WIDTH * density[held] / density.max()
    colour = style.GREY if distribution.system == ORIGINAL_SYSTEM else look.colour
    body = axes.fill_betweenx(
        points[held], at - half, at + half, facecolor=colour, edgecolor=colour, alpha=_FILL
    )
    body.set_gid(f"{distribution.quantity}/{distribution.system}")
    quartiles = (distribution.lower_quartile, distribution.upper_quartile)
    axes.plot([at, at], quartiles, color="black", linewidth=2.2, zorder=3, solid_capstyle="butt")
    axes.plot(
        [at],
        [distribution.median],
        "o",
        color="white",
        markeredgecolor="black",
        markeredgewidth=0.7,
        markersize=3.6,
        zorder=5,
    )
    axes.text(
        at, 1.04, f"{distribution.mean:.2f}", ha="center", va="bottom", fontsize=style.SMALL_FONT
    )


# DET curves


def _lines(
    subjective: ListeningTest, curves: ListeningTestCurves, quantity: str, data_set: str | None
) -> list[det.Line]:
    return [
        det.Line(
            column(d.system),
            miss,
            false_alarm,
            d.curve_eer,
            metric_text("eer", d.values(VARIANT)["eer"]),
        )
        for d, miss, false_alarm in zip(
            subjective.detections, curves.miss, curves.false_alarm, strict=True
        )
        if (d.quantity, d.data_set, d.gender) == (quantity, data_set, None)
    ]


def _det_pages(
    name: str,
    where: str,
    title: str,
    found: Mapping[str, Sequence[det.Line]],
    quantities: Sequence[str],
    styles: Mapping[str, SystemStyle],
) -> Iterator[CurveDrawing]:
    """A figure of some quantities, or several of some systems each; original speech is on
    all of them."""
    names = list(dict.fromkeys(line.name for q in quantities for line in found[q]))
    pages = style.pages(
        [n for n in names if n != ORIGINAL_COLUMN] or names,
        MOST_SYSTEMS if quantities == (SIMILARITY,) else MOST_CURVES,
    )
    for number, page in enumerate(pages):
        panels = []
        for quantity in quantities:
            lines = [ln for ln in found[quantity] if ln.name in (*page, ORIGINAL_COLUMN)]
            if lines:
                panels.append(det.det_panel(lines, styles, title=_TASKS[quantity]))
        above = f"{title[:1].upper()}{title[1:]}"
        what = _BOTH_KINDS if quantities == (SIMILARITY,) else _WHAT_TASKS_ARE
        if any(found[q] for q in quantities if q in QUANTITIES[2:]):
            what += _LEFT_OPEN
        if len(panels) == 1:
            plot = Plot((tuple(panels),), panel_height=3.4, width=5.9, title=above)
            what += f" In brackets: EER as in tables. {_MARK}"
        else:
            plot = replace(_in_pairs(panels, [*page, ORIGINAL_COLUMN]), title=above)
            what += f" {_MARK}"
        yield drawing(
            style.stem(name, where, *numbered(number, pages)),
            f"DET curves of normalised ratings, {title}{part_of(number, pages)}. {what}",
            plot,
        )


def _in_pairs(panels: Sequence[Panel], names: Sequence[str]) -> Plot:
    """Two panels in a row and one legend of names: rates differ from panel to panel."""
    plain = [replace(p, curves=tuple(replace(c, note="") for c in p.curves)) for p in panels]
    rows = tuple(tuple(plain[i : i + 2]) for i in range(0, len(plain), 2))
    columns = min(6, style.legend_columns(style.FULL_WIDTH, names))
    return Plot(rows, legend="bottom", panel_height=2.7, legend_columns=columns)


# Metric against metric


def _points(
    cells: Cells, protocol: Protocol, split: str, metric: str, data_set: str
) -> list[tuple[str, str, float, float]]:
    """System, gender, objective and subjective value."""
    found = []
    for system in (*cells.systems, ORIGINAL_COLUMN):
        for gender in protocol.genders:
            objective = cells.get(metric, ATTACK, split, data_set, gender, system)
            subjective = cells.get(f"{PREFIX}{metric}", None, split, data_set, gender, system)
            if objective is not None and subjective is not None:
                x, y = (style.shown(metric, cell.value) for cell in (objective, subjective))
                if math.isfinite(x) and math.isfinite(y):
                    found.append((system, gender, x, y))
    return found


def _scatter(
    cells: Cells,
    protocol: Protocol,
    metric: str,
    points: Mapping[str, Sequence[tuple[str, str, float, float]]],
) -> Canvas:
    styles = style.system_styles(cells.systems)
    drawn = {system for of_set in points.values() for system, _, _, _ in of_set}
    systems = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in drawn]
    names = [style.literal(s, 20) for s in systems]
    genders = list(protocol.genders)
    columns = style.legend_columns(style.FULL_WIDTH, [*names, *protocol.genders.values()])
    rows = math.ceil((len(names) + len(genders)) / columns)
    label = style.METRIC_LABELS[metric]
    with style.figure(style.FULL_WIDTH, 2.5 + 0.16 * rows) as canvas:
        grid = canvas.subplots(1, len(points), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (data_set, of_set) in zip(grid, points.items(), strict=True):
            for system, gender, x, y in of_set:
                look = _marker(styles[system], filled=gender == genders[-1])
                (mark,) = axes.plot([x], [y], **look)
                mark.set_gid(f"{data_set}/{gender}/{system}")
            if metric in _LOGARITHMIC:
                axes.set_xscale("log")
            axes.set_title(style.literal(protocol.data_set(data_set).title), loc="left")
            axes.set_xlabel(f"objective {label}")
            axes.grid()
        grid[0].set_ylabel(f"subjective {label}")
        grey = SystemStyle(style.GREY, "o", "-")
        handles: list[Artist] = [
            *(Line2D([], [], **_marker(styles[s], filled=True)) for s in systems),
            *(Line2D([], [], **_marker(grey, filled=g == genders[-1])) for g in genders),
        ]
        words = [style.literal(protocol.genders[g], 20) for g in genders]
        made = style.legend(
            canvas,
            handles,
            [*names, *words],
            loc="outside lower center",
            ncols=columns,
            handlelength=1.0,
            columnspacing=1.2,
        )
        for text, system in zip(made.get_texts(), systems, strict=False):
            style.name_style(cells, system).apply(text)
        return canvas


def _marker(look: SystemStyle, *, filled: bool) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 5.7 if look.marker == "*" else 4.2,
        "markerfacecolor": look.colour if filled else "none",
        "markeredgecolor": "black" if filled else look.colour,
        "markeredgewidth": 0.3 if filled else 0.9,
    }
