"""Figures of a metric study: Figures 2 to 5 of the comparative study of metrics, Figure 1 of the
voice similarity paper, and how estimates scatter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..report.figures import style
from ..report.figures.draw import drawing
from ..report.figures.linkability import LOCAL, linkability_panel
from ..report.figures.matrices import block, similarity_matrices
from ..report.figures.plot import Curve, Panel, Plot
from ..report.figures.style import Drawing
from ..results.arrays import Arrays
from .estimators import individual_ceiling, population_values
from .protocol import EstimatorsExperiment, StudyProtocol
from .scores import cllr_min_in_between

Row = Mapping[str, Any]

Rows = Mapping[str, Sequence[Row]]

_MARKER = 2.2

_MOST_TICKS = 6

_ATTACKER_MARKERS = ("o", "s", "^", "D", "v")

_COLOURS = "viridis"

_SPEAKER_COLOURS = {"A": "#0058A3", "B": "#D55E00"}

_SHORT = {"cllr_min": r"min $C_\mathrm{llr}$", "linkability": r"$1 - D_\mathrm{sys}$"}

_ESTIMATED = ("eer", "cllr_min", "linkability", "zebra_population", "zebra_individual")


def study_figures(plan: StudyProtocol, rows: Rows) -> Iterator[Drawing]:
    """Every figure that there are rows for, one at a time."""
    gaussian, attacks = rows.get("gaussian", ()), rows.get("attacks", ())
    if plan.gaussian is not None and gaussian:
        for x, y in plan.gaussian.pairs:
            yield Drawing(
                f"gaussian_{x}_{y}",
                f"Gaussian scores: {_name(x)} vs. {_name(y)}. A point per combination of keys and "
                "deviations.",
                gaussian_pair(gaussian, x, y, plan.variant),
            )
        yield Drawing(
            "gaussian_pairs",
            "Gaussian scores: every metric against every other.",
            gaussian_pairs(gaussian, plan.variant),
        )
    if rows.get("clusters"):
        yield from _clusters(rows["clusters"])
    if plan.attacks is not None:
        speeches = list(dict.fromkeys(row["speech"] for row in attacks))
        for speech, (x, y) in itertools.product(speeches, plan.attacks.pairs):
            found = [r for r in attacks if r["speech"] == speech]
            yield Drawing(
                style.stem("attacks", x, y, speech),
                f"Attacks on converted x-vectors ({speech}): {_name(x)} vs. {_name(y)}. "
                f"{_combinations(found)} The colour: difference of the means of mated and "
                "non-mated scores, in units of their deviation.",
                attacks_pair(found, x, y, plan.variant),
            )
    if rows.get("matrices"):
        yield Drawing(
            "matrices",
            "Artificial voice similarity matrices.",
            similarity_matrices(
                [
                    (row["title"], "", block(_arrays(row["matrices"]), plan.variant))
                    for row in rows["matrices"]
                ]
            ),
        )
    if plan.estimators is not None and rows.get("estimators"):
        yield from _estimators(plan.estimators, rows["estimators"], plan.variant)


def gaussian_pair(rows: Sequence[Row], x: str, y: str, variant: str) -> Canvas:
    """Two metrics, a colour and a marker per case; Figure 2 for linkability and min Cllr."""
    with style.figure(style.COLUMN_WIDTH, 3.1) as canvas:
        axes = canvas.subplots()
        looks = _case_looks(rows)
        for case, look in looks.items():
            of_case = [row for row in rows if row["case"] == case]
            _points(axes, of_case, x, y, variant, look)
        _diagonal(axes, x, y)
        axes.set_xlabel(axis_label(x))
        axes.set_ylabel(axis_label(y))
        axes.grid()
        _legend(canvas, looks, columns=2)
        return canvas


def gaussian_pairs(rows: Sequence[Row], variant: str) -> Canvas:
    """Every metric against every other: the lower triangle of a grid."""
    metrics = list(rows[0]["metrics"][variant])
    looks = _case_looks(rows)
    size = len(metrics) - 1
    with style.figure(style.FULL_WIDTH, style.FULL_WIDTH + 0.3) as canvas:
        grid = canvas.subplots(size, size, squeeze=False, sharex="col", sharey="row")
        for (i, y), (j, x) in itertools.product(enumerate(metrics[1:]), enumerate(metrics[:-1])):
            axes = grid[i, j]
            if j > i:
                axes.set_visible(False)
                continue
            for case, look in looks.items():
                of_case = [row for row in rows if row["case"] == case]
                _points(axes, of_case, x, y, variant, look, size=0.9)
            _diagonal(axes, x, y)
            axes.tick_params(labelsize=5)
            axes.xaxis.set_major_locator(MaxNLocator(2))
            axes.yaxis.set_major_locator(MaxNLocator(2))
            if i == size - 1:
                axes.set_xlabel(_SHORT.get(x, _name(x, short=True)), fontsize=6)
            if j == 0:
                axes.set_ylabel(_SHORT.get(y, _name(y, short=True)), fontsize=6)
        canvas.align_labels()
        _legend(canvas, looks, columns=4)
        return canvas


def attacks_pair(rows: Sequence[Row], x: str, y: str, variant: str) -> Canvas:
    """Two metrics, coloured by the difference of means, a marker per attacker."""
    attackers = list(dict.fromkeys(row["attacker"] for row in rows))
    markers = dict(zip(attackers, itertools.cycle(_ATTACKER_MARKERS), strict=False))
    most = max(abs(row["separation"]) for row in rows) or 1.0
    with style.figure(style.COLUMN_WIDTH + 0.5, 3.0) as canvas:
        axes = canvas.subplots()
        for attacker, marker in markers.items():
            found = [row for row in rows if row["attacker"] == attacker]
            points = axes.scatter(
                [_value(row, x, variant) for row in found],
                [_value(row, y, variant) for row in found],
                c=[row["separation"] for row in found],
                cmap=_COLOURS,
                vmin=min(0.0, min(row["separation"] for row in rows)),
                vmax=most,
                marker=marker,
                s=14,
                linewidths=0.3,
                edgecolors="black",
            )
            points.set_gid(attacker)
        _diagonal(axes, x, y)
        axes.set_xlabel(axis_label(x))
        axes.set_ylabel(axis_label(y))
        axes.grid()
        bar = canvas.colorbar(points, ax=axes, aspect=25, pad=0.02)
        bar.set_label("difference of means, in deviations")
        style.legend(
            canvas,
            [
                Line2D([], [], linestyle="none", marker=m, color=style.GREY, markersize=4)
                for m in markers.values()
            ],
            markers,
            loc="outside lower center",
            ncols=len(markers),
            handlelength=1.0,
        )
        return canvas


def _combinations(rows: Sequence[Row]) -> str:
    """What the points of attacks are, and how many."""
    numbers = [
        f"{name} ({len({row[kind] for row in rows})})"
        for kind, name in (
            ("technique", "techniques"),
            ("selection", "target selections"),
            ("attacker", "attackers"),
            ("linkage", "linkages"),
        )
    ]
    return (
        f"{len(rows)} points: the combinations of {', '.join(numbers[:-1])} and {numbers[-1]}. The "
        "comparative study had 72, as not all target selections apply to each of its 4 techniques."
    )


def _clusters(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Figure 3: x-vectors, the score distributions, and min Cllr by formula."""
    first = rows[0]
    yield Drawing(
        "clusters_points",
        f"Converted x-vectors of two speakers. Trials: {first['title']}.",
        _cluster_points(first),
    )
    panels = []
    for row in rows:
        values = row["metrics"]["exact"]
        panel = linkability_panel(
            _arrays(row["curves"]), values["linkability"], style.literal(row["title"], 60)
        )
        panels.append((replace(panel, right_label=LOCAL),))
    yield drawing(
        "clusters_scores",
        "Scores of the clusters by which pairs are trials: histograms of mated and non-mated "
        "scores; the local linkability D(s) on the axis on the right.",
        Plot(tuple(panels), legend="bottom", panel_height=1.35, width=4.6),
    )
    share = np.linspace(0, 1, 201)
    curve = Curve(share, np.array([cllr_min_in_between(x) for x in share]), "formula")
    shares = np.array([[r["share_below"], r["metrics"]["exact"]["cllr_min"]] for r in rows])
    measured = Curve(
        shares[:, 0],
        shares[:, 1],
        "measured",
        colour=_SPEAKER_COLOURS["B"],
        line_style="",
        marker="o",
        marks=shares,
    )
    yield drawing(
        "clusters_formula",
        "min Cllr where a share x of the mated scores is below all non-mated ones.",
        Plot(
            (
                (
                    Panel(
                        (curve, measured),
                        "x",
                        style.METRIC_LABELS["cllr_min"],
                        (0.0, 1.0),
                        (0.0, 1.05),
                    ),
                ),
            ),
            legend="bottom",
            panel_height=2.2,
            width=style.COLUMN_WIDTH,
        ),
    )


def _cluster_points(row: Row) -> Canvas:
    with style.figure(style.COLUMN_WIDTH, 1.9) as canvas:
        axes = canvas.subplots()
        handles = {}
        for name, points in row["points"].items():
            speaker, kind = name.split(" ", 1)
            if kind == "enrollment" and speaker not in row["enrolled"]:
                continue
            xy = np.asarray(points)
            (handles[name],) = axes.plot(
                xy[:, 0],
                xy[:, 1],
                linestyle="none",
                marker="x" if kind == "enrollment" else "o",
                markersize=_MARKER,
                markerfacecolor="none",
                markeredgewidth=0.6,
                color=_SPEAKER_COLOURS[speaker],
            )
        axes.set_aspect("equal")
        axes.margins(0.05, 0.25)
        axes.set_xlabel("first dimension")
        axes.set_ylabel("second")
        style.legend(
            canvas,
            list(handles.values()),
            [f"speaker {name}" for name in handles],
            loc="outside lower center",
            ncols=2,
        )
        return canvas


def _estimators(plan: EstimatorsExperiment, rows: Sequence[Row], variant: str) -> Iterator[Drawing]:
    metrics = [
        m for m in rows[0]["estimates"][variant] if m in _ESTIMATED or m not in style.METRIC_NAMES
    ]
    for per_target in plan.nontargets_per_target:
        found = [
            row
            for row in rows
            if row["speakers"] is None and row["n_nontarget"] == per_target * row["n_target"]
        ]
        if found:
            nontargets = "nontarget trial" if per_target == 1 else "nontarget trials"
            yield Drawing(
                f"estimators_independent_{per_target}",
                f"Estimates against the number of target trials, {per_target} {nontargets} to "
                f"each, independent. {_BANDS}",
                estimates(found, metrics, variant, "target trials"),
            )
    found = [row for row in rows if row["speakers"] is not None]
    if found:
        yield Drawing(
            "estimators_speakers",
            f"Estimates against the number of speakers, each with {plan.utterances} utterances "
            f"against all, who cause {100 * plan.speaker_share:g} % of the variance of scores. "
            f"{_BANDS}",
            estimates(found, metrics, variant, "speakers"),
        )


_BANDS = (
    "Lines: mean; bands: the central 95 % of estimates; dotted: the population's value, for the "
    "individual disclosure the ceiling."
)


def estimates(rows: Sequence[Row], metrics: Sequence[str], variant: str, size: str) -> Canvas:
    """A panel per metric and variant of linkability: mean and central 95 % of estimates."""
    panels = []
    for metric in metrics:
        panels.append((metric, variant))
        if metric == "linkability":
            panels.append((metric, "challenge" if variant == "exact" else "exact"))
    eers = sorted({row["eer"] for row in rows})
    columns = 3
    height = math.ceil(len(panels) / columns)
    sizes = sorted({row["speakers"] or row["n_target"] for row in rows})
    sizes = sizes[:: math.ceil(len(sizes) / _MOST_TICKS)]
    with style.figure(style.FULL_WIDTH, 1.9 * height + 0.4) as canvas:
        grid = canvas.subplots(height, columns, squeeze=False, sharex=True)
        for axes in grid.ravel()[len(panels) :]:
            axes.set_visible(False)
        for axes, (metric, of_variant) in zip(grid.ravel(), panels, strict=False):
            for eer, colour in zip(eers, itertools.cycle(style.PALETTE), strict=False):
                found = sorted(
                    (r for r in rows if r["eer"] == eer),
                    key=lambda r: r["speakers"] or r["n_target"],
                )
                _band(axes, found, metric, of_variant, colour)
            if metric == "zebra_individual":
                _ceiling(axes, [r for r in rows if r["eer"] == eers[0]])
            title = _name(metric, short=True)
            axes.set_title(f"{title}, {of_variant}" if metric == "linkability" else title)
            axes.set_ylabel(
                style.METRIC_LABELS.get(metric, style.literal(metric)), fontsize=style.SMALL_FONT
            )
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{n}" for n in sizes])
            axes.minorticks_off()
            axes.grid()
        for column in grid.T:
            lowest = [axes for axes in column if axes.get_visible()][-1]
            lowest.tick_params(labelbottom=True)
            lowest.set_xlabel(size)
        style.legend(
            canvas,
            [
                Line2D([], [], color=colour)
                for _, colour in zip(eers, itertools.cycle(style.PALETTE), strict=False)
            ],
            [f"EER {100 * eer:g} %" for eer in eers],
            loc="outside lower center",
            ncols=len(eers),
        )
        return canvas


def _band(axes: Axes, rows: Sequence[Row], metric: str, variant: str, colour: str) -> None:
    x = [row["speakers"] or row["n_target"] for row in rows]
    found = [row["estimates"][variant][metric] for row in rows]
    if not all(math.isfinite(float(one["mean"])) for one in found):
        return
    low, mean, high = (
        [style.shown(metric, one[part]) for one in found] for part in ("low", "mean", "high")
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    (line,) = axes.plot(x, mean, color=colour, marker=".", markersize=3)
    line.set_gid(f"{metric}/{variant}/{rows[0]['eer']:g}")
    truth = population_values(rows[0]["eer"]).get(metric)
    if truth is not None:
        axes.axhline(style.shown(metric, truth), color=colour, linestyle=":", linewidth=0.9)


def _ceiling(axes: Axes, rows: Sequence[Row]) -> None:
    ordered = sorted(rows, key=lambda r: r["speakers"] or r["n_target"])
    axes.plot(
        [r["speakers"] or r["n_target"] for r in ordered],
        [individual_ceiling(r["n_target"], r["n_nontarget"]) for r in ordered],
        color="black",
        linestyle=":",
        linewidth=0.9,
    )


def axis_label(metric: str) -> str:
    """Beside an axis: linkability is drawn as 1 - D_sys, which rises with privacy."""
    if metric == "linkability":
        return r"$1 - D_{\leftrightarrow}^\mathrm{sys}$"
    return style.METRIC_LABELS.get(metric, style.literal(metric))


def _value(row: Row, metric: str, variant: str) -> float:
    value = float(row["metrics"][variant][metric])
    return 1 - value if metric == "linkability" else style.shown(metric, value)


def _points(
    axes: Axes,
    rows: Sequence[Row],
    x: str,
    y: str,
    variant: str,
    look: tuple[str, str],
    *,
    size: float = _MARKER,
) -> None:
    colour, marker = look
    (line,) = axes.plot(
        [_value(row, x, variant) for row in rows],
        [_value(row, y, variant) for row in rows],
        linestyle="none",
        marker=marker,
        markersize=size,
        markerfacecolor="none",
        markeredgewidth=0.5,
        color=colour,
    )
    line.set_gid(rows[0]["case"])


def _diagonal(axes: Axes, x: str, y: str) -> None:
    """Where min Cllr and 1 - D_sys are equal, which the study calls equivalent."""
    if {x, y} == {"linkability", "cllr_min"}:
        axes.plot([0, 1], [0, 1], color="black", linewidth=0.7)


def _case_looks(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    cases = dict.fromkeys(row["case"] for row in rows)
    looks = zip(itertools.cycle(style.PALETTE), itertools.cycle(style.MARKERS), strict=False)
    return dict(zip(cases, looks, strict=False))


def _legend(canvas: Canvas, looks: Mapping[str, tuple[str, str]], *, columns: int) -> None:
    style.legend(
        canvas,
        [
            Line2D(
                [], [], linestyle="none", marker=m, color=c, markersize=4, markerfacecolor="none"
            )
            for c, m in looks.values()
        ],
        [style.literal(case) for case in looks],
        loc="outside lower center",
        ncols=columns,
        handlelength=1.0,
    )


def _name(metric: str, *, short: bool = False) -> str:
    if metric not in style.METRIC_NAMES:
        return style.literal(metric)
    name = style.METRIC_NAMES[metric]
    return _SHORT_NAMES.get(metric, name) if short else name


_SHORT_NAMES = {
    "zebra_population": "Population",
    "zebra_individual": "Individual",
    "min_dcf_0.01": "min DCF 0.01",
    "min_dcf_0.001": "min DCF 0.001",
}


def _arrays(plain: Mapping[str, Any]) -> Arrays:
    return {name: np.asarray(values) for name, values in plain.items()}
