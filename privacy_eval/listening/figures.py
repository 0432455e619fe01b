"""Figures of listening tests: violin plots of ratings (Figure 24 of the supplement), DET curves
(Figures 25, 26), objective against subjective metrics (Figures 27 to 30); and their section of the
report.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from ..choices import ORIGINAL_SYSTEM
from ..errors import PrivacyEvalError
from ..metrics import describe
from ..metrics.pav import FloatArray
from ..numbers.cells import ORIGINAL_COLUMN, Cells
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..report.figures import drawn_from, pictures, style
from ..report.figures.drawing import Drawing
from ..report.figures.panels import Line, det_panel, det_plot
from ..report.figures.plot import Panel, Plot, in_pairs
from ..report.figures.scatter import Axis, MetricPair, points_of, scatter
from ..report.figures.style import SystemStyle
from ..report.page import Section
from . import FIGURES, RESULTS
from .evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    SIMILARITY,
    ListeningTest,
    ListeningTestCurves,
)
from .store import read_listening_test
from .tables import (
    ATTACK,
    PREFIX,
    VARIANT,
    figures_source,
    format_metric,
    listening_column,
    listening_test_tables,
    objective_and_subjective,
    quantity_titles,
    summary,
)

#: Systems in a violin plot; more are split over several figures.
MOST_VIOLINS = 12

#: Systems in four panels of DET curves.
MOST_CURVES = 12

_HALF_WIDTH = 0.42  # of a violin; systems are at a distance of 1

_ALPHA = 0.45

_TASKS: Mapping[str, str] = {
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
    "similarity_same_speaker": "Similarity: same-speaker pairs",
    "similarity_different_speaker": "Similarity: different-speaker pairs",
    SIMILARITY: "Similarity: both kinds of pairs",
}

_TASKS_CAPTION = (
    "Naturalness, intelligibility: original speech (target) against the system's. Similarity, "
    "same speaker: the system's pairs (target) against different-speaker pairs of original speech. "
    "Different speakers: same-speaker pairs of original speech (target) against the system's pairs."
)

_LEFT_OPEN = (
    " The supplement does not define the other class in its Figures 25 and 26. It describes "
    "anonymized speech near the upper right corner in both panels of similarity. This matches the "
    "figure of both kinds of pairs (subjective_det_similarity) rather than the last panel here."
)

_BOTH_KINDS = (
    "Same-speaker pairs (target) against different-speaker pairs, both of one system: the task of "
    "the subjective EERs. It matches the supplement's description of its Figures 25 and 26."
)

_MARKER = (
    "Markers: equal rates of the curve, on which ties are broken at random. With many ties the EER "
    "of tables differs."
)


def figures(
    subjective: ListeningTest | None,
    curves: ListeningTestCurves | None,
    cells: Cells,
    protocol: Protocol,
    split: str,
) -> Iterator[Drawing]:
    """Yield all figures that have data.

    Parameters
    ----------
    subjective, curves : ListeningTest, ListeningTestCurves or None
        A listening test; None for a published one, which has metrics only.
    cells : Cells
        Of `listening.tables.objective_and_subjective`.
    """
    if subjective is not None and curves is not None:
        names = [listening_column(s) for s in subjective.systems]
        styles = style.system_styles([*cells.systems, *names])
        yield from violin_figures(subjective, curves, styles)
        yield from det_figures(subjective, curves, styles)
    yield from scatter_figures(cells, protocol, split)


def violin_figures(
    subjective: ListeningTest, curves: ListeningTestCurves, styles: Mapping[str, SystemStyle]
) -> Iterator[Drawing]:
    """Yield `subjective_violin`: a panel per quantity, a violin per system."""
    line = f"dotted line: median of {subjective.reference}. " if subjective.reference else ""
    for page, number, part in style.numbered_pages(subjective.systems, MOST_VIOLINS):
        yield Drawing(
            style.file_stem("subjective_violin", *number),
            f"Normalized ratings{part}. Numbers: means; bars: quartiles, points: medians; {line}"
            "Higher naturalness and intelligibility are better utility, lower similarity is better "
            "privacy.",
            functools.partial(_violins, subjective, curves, styles, page),
        )


def det_figures(
    subjective: ListeningTest, curves: ListeningTestCurves, styles: Mapping[str, SystemStyle]
) -> Iterator[Drawing]:
    """Yield `subjective_det`, four panels, of all data sets pooled and of each; and
    `subjective_det_similarity` of both kinds of pairs of each system.

    The supplement does not define the other class in its panels of same-speaker and
    different-speaker pairs (Figures 25, 26), where anonymized speech is near the upper right
    corner. As anonymization hardly changes ratings of different-speaker pairs, all systems are
    near original speech in this panel; `subjective_det_similarity` matches the description.
    """
    protocol = subjective.protocol
    for data_set in (None, *(d.id for d in protocol.data_sets)):
        title = "all data sets pooled" if data_set is None else protocol.data_set(data_set).title
        where = "pooled" if data_set is None else data_set
        for name, quantities in (
            ("subjective_det", QUANTITIES),
            ("subjective_det_similarity", (SIMILARITY,)),
        ):
            lines = {q: _lines(subjective, curves, q, data_set) for q in quantities}
            yield from _det_pages(name, where, title, lines, styles)


def scatter_figures(cells: Cells, protocol: Protocol, split: str) -> Iterator[Drawing]:
    """Yield `subjective_scatter_<metric>`: a panel per data set, a point per system and gender with
    both values."""
    for metric in DETECTION_METRICS:
        x, y = Axis(metric, ATTACK, "objective "), Axis(f"{PREFIX}{metric}", None, "subjective ")
        panels = []
        for data_set in map(protocol.data_set, protocol.table_rows):
            sets = [t for t in protocol.trial_sets() if (t.split, t.data_set) == (split, data_set)]
            points = points_of(cells, x, y, sets, lambda t: t.gender)
            if points:
                panels.append(MetricPair(style.escape_mathtext(data_set.title), x, y, points))
        if panels:
            systems = [ORIGINAL_COLUMN, *cells.systems]
            yield Drawing(
                f"subjective_scatter_{metric}",
                f"Objective (ignorant attack model) vs. subjective {describe(metric).sentence}, "
                f"{protocol.split_title(split)}. A point per system and gender.",
                functools.partial(scatter, cells, panels, protocol.genders, systems),
            )


def _violins(
    subjective: ListeningTest,
    curves: ListeningTestCurves,
    styles: Mapping[str, SystemStyle],
    systems: Sequence[str],
) -> Canvas:
    distributions = subjective.distributions
    present = [q for q in QUANTITIES if any((q, s) in distributions for s in systems)]
    names = [style.escape_mathtext(listening_column(s), 16) for s in systems]
    rows = [present[i : i + 2] for i in range(0, len(present), 2)]
    width = style.FULL_WIDTH if len(present) > 1 else style.COLUMN_WIDTH
    longest = max(map(style.text_width, names))
    level = longest + 0.04 < (width / len(rows[0]) - 0.5) / len(systems)
    height = 2.1 * len(rows) + (0.2 if level else longest + 0.1)
    with style.figure(width, height) as canvas:
        for axes, quantity in style.panels(canvas, rows, sharey=True):
            if (middle := (quantity, subjective.reference or "")) in distributions:
                line = distributions[middle]["rank_median"]
                axes.axhline(line, color="black", linestyle=":", linewidth=1.0, zorder=4)
            for at, system in enumerate(systems):
                if (place := (quantity, system)) in distributions:
                    look = styles[listening_column(system)]
                    colour = style.GREY if system == ORIGINAL_SYSTEM else look.colour
                    values, density = distributions[place], curves.densities[place]
                    body = _violin(axes, at, values, curves.at, density, colour)
                    body.set_gid(f"{quantity}/{system}")
            axes.set_title(quantity_titles()[quantity], loc="left")
            axes.set_xticks(range(len(systems)), names, rotation=0 if level else 90)
            if present.index(quantity) + 2 < len(present):
                axes.tick_params(axis="x", labelbottom=False)  # names are below the next row
            limits: dict[str, Any] = {"xlim": (-0.6, len(systems) - 0.4), "ylim": (-0.03, 1.12)}
            axes.set(**limits, yticks=np.linspace(0, 1, 6))
            axes.grid(axis="y")
            if quantity in present[::2]:
                axes.set_ylabel("normalized rating")
    return canvas


def _violin(
    axes: Axes,
    at: float,
    values: Mapping[str, float],
    points: FloatArray,
    density: FloatArray,
    colour: str,
) -> Artist:
    """Draw a violin with the mean and quartiles of ratings, and return its body."""
    positive = density > 0
    half = _HALF_WIDTH * density[positive] / density.max()
    body = axes.fill_betweenx(
        points[positive], at - half, at + half, facecolor=colour, edgecolor=colour, alpha=_ALPHA
    )
    quartiles = (values["rank_lower_quartile"], values["rank_upper_quartile"])
    axes.plot([at, at], quartiles, color="black", linewidth=2.2, zorder=3, solid_capstyle="butt")
    edge: dict[str, Any] = dict(markeredgecolor="black", markeredgewidth=0.7, markersize=3.6)
    axes.plot([at], [values["rank_median"]], "o", color="white", zorder=5, **edge)
    mean = f"{values['rank_mean']:.2f}"
    axes.text(at, 1.04, mean, ha="center", va="bottom", fontsize=style.SMALL_FONT)
    return body


# DET curves


def _lines(
    subjective: ListeningTest, curves: ListeningTestCurves, quantity: str, data_set: str | None
) -> list[Line]:
    of_task = {"quantity": quantity, "data_set": data_set, "gender": None}
    eers = subjective.measurements.select(metric="eer", variant=VARIANT, **of_task)
    return [
        Line(
            listening_column(row["system"]),
            *curves.det[quantity, row["system"], data_set, None],
            row["value"],
            text=format_metric("eer", row["value"]),
        )
        for row in eers
    ]


def _det_pages(
    name: str,
    where: str,
    title: str,
    by_quantity: Mapping[str, Sequence[Line]],
    styles: Mapping[str, SystemStyle],
) -> Iterator[Drawing]:
    """Draw some quantities in one figure, or in several pages of systems, each with original
    speech."""
    names = list(dict.fromkeys(line.name for lines in by_quantity.values() for line in lines))
    pair = SIMILARITY in by_quantity
    for page, number, part in style.numbered_pages(
        [n for n in names if n != ORIGINAL_COLUMN] or names,
        style.MOST_SYSTEMS if pair else MOST_CURVES,
    ):
        visible = {*page, ORIGINAL_COLUMN}
        panels = [
            det_panel(of_page, styles, title=_TASKS[quantity])
            for quantity, lines in by_quantity.items()
            if (of_page := [line for line in lines if line.name in visible])
        ]
        above = f"{title[:1].upper()}{title[1:]}"
        what = _BOTH_KINDS if pair else _TASKS_CAPTION
        if any(by_quantity.get(quantity) for quantity in QUANTITIES[2:]):
            what += _LEFT_OPEN
        if len(panels) == 1:
            plot = det_plot(panels[0], title=above)
            what += " In brackets: EER as in tables."
        else:
            plot = _in_pairs(panels, [*page, ORIGINAL_COLUMN], above)
        yield Drawing(
            style.file_stem(name, where, *number),
            f"DET curves of normalized ratings, {title}{part}. {what} {_MARKER}",
            plot,
        )


def _in_pairs(panels: Sequence[Panel], names: Sequence[str], title: str) -> Plot:
    """Two panels per row and one legend of names, without the EERs of the panels."""
    without_eer = [replace(p, curves=tuple(replace(c, note="") for c in p.curves)) for p in panels]
    columns = min(6, style.legend_columns(style.FULL_WIDTH, names))
    rows = in_pairs(without_eer)
    return Plot(rows, "bottom", panel_height=2.7, legend_columns=columns, title=title)


# The section of the report


def listening_section(folder: Path, data: ReportData) -> Section:
    """Compose the section on a listening test, with figures, beside objective results.

    Raises
    ------
    PrivacyEvalError
        The test is under another protocol, its figures are of other ratings or results.
    """
    path, drawn = folder / RESULTS, folder / FIGURES
    subjective, curves = read_listening_test(path)
    if subjective.protocol.name != data.protocol.name:
        raise PrivacyEvalError(
            f"{path}: protocol {subjective.protocol.name}, but the results are of protocol "
            f"{data.protocol.name}; evaluate the ratings again with privacy-eval listening "
            "(stage 11)"
        )
    if not figures_source(folder, data.sources).items() <= drawn_from(drawn).items():
        raise PrivacyEvalError(
            f"{drawn}: figures of other ratings or results; draw them again with privacy-eval "
            "listening (stage 11)"
        )
    published = data.sources.published or None
    cells = objective_and_subjective(subjective, data.results, published)
    tables = listening_test_tables(
        subjective, cells, data.protocol, subjective.split, published=published
    )
    drawings = figures(subjective, curves, cells, data.protocol, subjective.split)
    plots = {d.name: d.content for d in drawings if isinstance(d.content, Plot)}
    shown = (
        replace(p, path=None, plot=plots[p.path.stem]) if p.path and p.path.stem in plots else p
        for p in pictures(drawn)
    )
    return Section("Subjective evaluation", tuple(summary(subjective)), tuple(tables), tuple(shown))
