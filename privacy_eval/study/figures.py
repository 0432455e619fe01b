"""Figures of a metric study: Figures 2 to 5 of the comparative study of metrics, Figure 1 of the
voice similarity paper, and the spread of estimates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..choices import grouped
from ..curves.matrices import block, similarity_matrices
from ..metrics import METRICS, VARIANTS, describe
from ..report.figures import style
from ..report.figures.drawing import Drawing
from ..report.figures.panels import LOCAL, linkability_panel
from ..report.figures.plot import Curve, Panel, Plot
from ..results.arrays import Arrays
from ..results.measurements import PRESENT, Measurements
from .protocol import EstimatorsExperiment, StudyProtocol
from .scores import Row, cllr_min_in_between, individual_ceiling, population_values
from .tables import (
    SECTIONS,
    Rows,
    group_rows,
    measurements_of,
    metrics_of,
    nontargets_per_target,
    size_of,
)

_MOST_TICKS = 6
_ATTACKER_MARKERS = ("o", "s", "^", "D", "v")
_COLOURS = "viridis"
_SPEAKER_COLOURS = {"A": "#0058A3", "B": "#D55E00"}
# For small panels.
_SHORT_LABELS = {"cllr_min": r"min $C_\mathrm{llr}$", "linkability": r"$1 - D_\mathrm{sys}$"}
_SHORT_NAMES = {
    "zebra_population": "Population",
    "zebra_individual": "Individual",
    "min_dcf_0.01": "min DCF 0.01",
    "min_dcf_0.001": "min DCF 0.001",
}
_BANDS = (
    "Lines: mean; bands: the central 95 % of estimates; dotted: the population value, for the "
    "individual disclosure the ceiling."
)


def study_figures(study: StudyProtocol, rows: Rows) -> Iterator[Drawing]:
    """Yield every figure that has rows, with the section of its experiment."""
    drawings: dict[str, Iterable[Drawing]] = {}

    def of_variant(rows: Iterable[Row]) -> list[Row]:
        return [{**row, "metrics": row["metrics"][study.variant]} for row in rows]

    if study.gaussian is not None and rows.get("gaussian"):
        drawings["gaussian"] = _gaussian(study.gaussian.pairs, of_variant(rows["gaussian"]))
    if rows.get("clusters"):
        drawings["clusters"] = _clusters(rows["clusters"])
    if study.attacks is not None:
        attacks = of_variant(rows.get("attacks", ()))
        drawings["attacks"] = _attacks(study.attacks.pairs, attacks)
    if rows.get("matrices"):
        blocks = [
            (row["case"], "", block(_arrays(row["matrices"]), study.variant))
            for row in rows["matrices"]
        ]
        caption = "Artificial voice similarity matrices."
        drawings["matrices"] = [Drawing("matrices", caption, partial(similarity_matrices, blocks))]
    if study.estimators is not None and rows.get("estimators"):
        of = measurements_of({"estimators": rows["estimators"]}).select(variant=VARIANTS)
        drawings["estimators"] = _estimators(study.estimators, of, study.variant)
    for experiment, of_experiment in drawings.items():
        yield from (replace(drawing, section=SECTIONS[experiment]) for drawing in of_experiment)


# Metric against metric

# Inches of a panel among many.
_LEAST_PANEL = 1.0


def _gaussian(pairs: Iterable[tuple[str, ...]], rows: Sequence[Row]) -> Iterator[Drawing]:
    for x, y in pairs:
        yield Drawing(
            f"gaussian_{x}_{y}",
            f"Gaussian scores: {_name(x)} vs. {_name(y)}. A point per combination of "
            "trial keys and deviations.",
            partial(_gaussian_pair, rows, x, y),
        )
    yield Drawing(
        "gaussian_pairs",
        "Gaussian scores: every metric against every other.",
        partial(_gaussian_pairs, rows),
    )


def _attacks(pairs: Sequence[tuple[str, ...]], rows: Sequence[Row]) -> Iterator[Drawing]:
    by_speech = group_rows(rows, "speech").items()
    for (speech, of_speech), (x, y) in itertools.product(by_speech, pairs):
        yield Drawing(
            style.file_stem("attacks", x, y, speech),
            f"Attacks on converted x-vectors ({speech}): {_name(x)} vs. {_name(y)}. "
            f"{_combinations(of_speech)} Colour: difference of the means of target and "
            "nontarget scores, in units of their pooled standard deviation.",
            partial(_attacks_pair, of_speech, x, y),
        )


def _gaussian_pair(rows: Sequence[Row], x: str, y: str) -> Canvas:
    """Plot two metrics, with a colour and a marker per case; Figure 2 for linkability and min
    Cllr."""
    with style.figure(style.COLUMN_WIDTH, 3.1) as canvas:
        axes = canvas.subplots()
        cases = _plot_cases(axes, rows, x, y)
        _label_pair(axes, x, y)
        _legend(canvas, cases, ncols=2, handlelength=1.0)
    return canvas


def _gaussian_pairs(rows: Sequence[Row]) -> Canvas:
    """Plot every metric against every other: the lower triangle of a grid."""
    metrics = list(rows[0]["metrics"])
    grid = [
        [(x, y) if metrics.index(x) < metrics.index(y) else None for x in metrics[:-1]]
        for y in metrics[1:]
    ]
    side = max(style.FULL_WIDTH, _LEAST_PANEL * len(grid))
    with style.figure(side, side + 0.3) as canvas:
        for axes, (x, y) in style.panels(canvas, grid, sharex="col", sharey="row"):
            cases = _plot_cases(axes, rows, x, y, size=0.9)
            _diagonal(axes, x, y)
            axes.tick_params(labelsize=5)
            axes.xaxis.set_major_locator(MaxNLocator(2))
            axes.yaxis.set_major_locator(MaxNLocator(2))
            if y == metrics[-1]:
                axes.set_xlabel(_SHORT_LABELS.get(x, _short_name(x)), fontsize=6)
            if x == metrics[0]:
                axes.set_ylabel(_SHORT_LABELS.get(y, _short_name(y)), fontsize=6)
        canvas.align_labels()
        _legend(canvas, cases, ncols=4, handlelength=1.0)
    return canvas


def _attacks_pair(rows: Sequence[Row], x: str, y: str) -> Canvas:
    """Plot two metrics, coloured by the difference of means, with a marker per attacker."""
    separations = [row["numbers"]["separation"] for row in rows]
    handles: dict[str, Artist] = {}
    with style.figure(style.COLUMN_WIDTH + 0.5, 3.0) as canvas:
        axes = canvas.subplots()
        markers = itertools.cycle(_ATTACKER_MARKERS)
        by_attacker = group_rows(rows, "attacker").items()
        for (attacker, of_attacker), marker in zip(by_attacker, markers, strict=False):
            x_values, y_values = _values(of_attacker, x, y)
            points = axes.scatter(
                x_values,
                y_values,
                c=[row["numbers"]["separation"] for row in of_attacker],
                cmap=_COLOURS,
                vmin=min(0.0, *separations),
                vmax=max(map(abs, separations)) or 1.0,
                marker=marker,
                s=14,
                linewidths=0.3,
                edgecolors="black",
            )
            points.set_gid(attacker)
            handles[attacker] = Line2D(
                [], [], linestyle="none", marker=marker, color=style.GREY, markersize=4
            )
        _label_pair(axes, x, y)
        bar = canvas.colorbar(points, ax=axes, aspect=25, pad=0.02)
        bar.set_label("difference of means / standard deviation")
        _legend(canvas, handles, ncols=len(handles), handlelength=1.0)
    return canvas


def _plot_cases(
    axes: Axes, rows: Sequence[Row], x: str, y: str, *, size: float = 2.2
) -> dict[str, Artist]:
    """Plot the points of each case and return the legend's entries."""
    handles: dict[str, Artist] = {}
    looks = zip(itertools.cycle(style.PALETTE), itertools.cycle(style.MARKERS), strict=False)
    by_case = group_rows(rows, "case").items()
    for (case, of_case), (colour, marker) in zip(by_case, looks, strict=False):
        look: dict[str, Any] = dict(marker=marker, color=colour, markerfacecolor="none")
        look["linestyle"] = "none"
        (line,) = axes.plot(*_values(of_case, x, y), markersize=size, markeredgewidth=0.5, **look)
        line.set_gid(case)
        handles[style.escape_mathtext(case)] = Line2D([], [], markersize=4, **look)
    return handles


def _label_pair(axes: Axes, x: str, y: str) -> None:
    _diagonal(axes, x, y)
    axes.set(xlabel=axis_label(x), ylabel=axis_label(y))
    axes.grid()


def _diagonal(axes: Axes, x: str, y: str) -> None:
    """Draw the line of equal min Cllr and 1 - D_sys, which the study calls equivalent."""
    if {x, y} == {"linkability", "cllr_min"}:
        axes.plot([0, 1], [0, 1], color="black", linewidth=0.7)


def _combinations(rows: Sequence[Row]) -> str:
    """Describe and count the points of attacks."""
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


def axis_label(metric: str) -> str:
    """Label an axis: linkability is drawn as 1 - D_sys, which increases with privacy."""
    if metric == "linkability":
        return r"$1 - D_{\leftrightarrow}^\mathrm{sys}$"
    return _label(metric)


def _label(metric: str) -> str:
    return describe(metric).axis if metric in METRICS else style.escape_mathtext(metric)


def _values(rows: Sequence[Row], x: str, y: str) -> list[list[float]]:
    """Return the values of two metrics in the units of the axes."""
    return [
        [
            1 - value if metric == "linkability" else describe(metric).printed(value)
            for row in rows
            for value in [float(row["metrics"][metric])]
        ]
        for metric in (x, y)
    ]


# Clusters


def _clusters(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Figure 3: x-vectors, the score distributions, and min Cllr by formula."""
    first = rows[0]
    yield Drawing(
        "clusters_points",
        f"Converted x-vectors of two speakers. Trials: {first['case']}.",
        partial(_cluster_points, first),
    )
    panels = []
    for row in rows:
        title = style.escape_mathtext(row["case"], 60)
        value = row["metrics"]["exact"]["linkability"]
        panel = linkability_panel(_arrays(row["curves"]), value, title)
        panels.append((replace(panel, right_label=LOCAL),))
    yield Drawing(
        "clusters_scores",
        "Scores of the clusters for each selection of trials: histograms of target and nontarget "
        "scores; the local linkability D(s) on the right axis.",
        Plot(tuple(panels), legend="bottom", panel_height=1.35, width=4.6),
    )
    x = np.linspace(0, 1, 201)
    below = [row["numbers"]["share_below"] for row in rows]
    fractions = np.column_stack([below, [r["metrics"]["exact"]["cllr_min"] for r in rows]])
    look: dict[str, Any] = dict(colour=_SPEAKER_COLOURS["B"], line_style="", marker="o")
    panel = Panel(
        (
            Curve(x, np.array([cllr_min_in_between(value) for value in x]), "formula"),
            Curve(fractions[:, 0], fractions[:, 1], "measured", marker_points=fractions, **look),
        ),
        "x",
        describe("cllr_min").axis,
        (0.0, 1.0),
        (0.0, 1.05),
    )
    yield Drawing(
        "clusters_formula",
        "min Cllr if a fraction x of the target scores is below all nontarget scores.",
        Plot(((panel,),), legend="bottom", panel_height=2.2, width=style.COLUMN_WIDTH),
    )


def _cluster_points(row: Row) -> Canvas:
    with style.figure(style.COLUMN_WIDTH, 1.9) as canvas:
        axes = canvas.subplots()
        handles: dict[str, Artist] = {}
        for name, points in row["points"].items():
            speaker, kind = name.split(" ", 1)
            if kind == "enrollment" and speaker not in row["enrolled"]:
                continue
            (handles[f"speaker {name}"],) = axes.plot(
                *np.asarray(points).T[:2],
                linestyle="none",
                marker="x" if kind == "enrollment" else "o",
                markersize=2.2,
                markerfacecolor="none",
                markeredgewidth=0.6,
                color=_SPEAKER_COLOURS[speaker],
            )
        axes.set_aspect("equal")
        axes.margins(0.05, 0.25)
        axes.set(xlabel="first dimension", ylabel="second")
        _legend(canvas, handles, ncols=2)
    return canvas


# Estimates


def _estimators(
    experiment: EstimatorsExperiment, rows: Measurements, variant: str
) -> Iterator[Drawing]:
    metrics = metrics_of(rows.values("metric"))
    groups = []
    for per_target in experiment.nontargets_per_target:
        independent = [row for row in rows if nontargets_per_target(row) == per_target]
        nontargets = "nontarget trial" if per_target == 1 else "nontarget trials"
        what = f"target trials, {per_target} {nontargets} for each, independent"
        groups.append((f"independent_{per_target}", what, independent, "target trials"))
    what = (
        f"speakers, each with {experiment.utterances} utterances against all, causing "
        f"{100 * experiment.speaker_share:g} % of the variance of scores"
    )
    with_speakers = rows.select(n_speakers=PRESENT).to_rows()
    groups.append(("speakers", what, with_speakers, "speakers"))
    for name, what, of_group, size in groups:
        if of_group:
            yield Drawing(
                f"estimators_{name}",
                f"Estimates against the number of {what}. {_BANDS}",
                partial(_estimates, of_group, metrics, variant, size),
            )


def _estimates(rows: Sequence[Row], metrics: Sequence[str], variant: str, size: str) -> Canvas:
    """Plot mean and central 95 % of estimates, a panel per metric and variant of linkability."""
    rows = sorted(rows, key=size_of)
    other = "challenge" if variant == "exact" else "exact"
    panels: list[tuple[str, str] | None] = []
    for metric in metrics:
        variants = (variant, other) if metric == "linkability" else (variant,)
        panels += [(metric, v) for v in variants]
    count, columns = len(panels), 3
    panels += [None] * (-count % columns)
    grid = [panels[i : i + columns] for i in range(0, count, columns)]
    by_panel = grouped(rows, lambda r: (r["metric"], r["variant"], r["true_eer"]))
    eers = sorted(group_rows(rows, "true_eer"))
    sizes = sorted(set(map(size_of, rows)))
    sizes = sizes[:: math.ceil(len(sizes) / _MOST_TICKS)]
    handles: dict[str, Artist] = {}
    with style.figure(style.FULL_WIDTH, 1.9 * len(grid) + 0.4) as canvas:
        for at, (axes, (metric, of_variant)) in enumerate(style.panels(canvas, grid, sharex=True)):
            for eer, colour in zip(eers, itertools.cycle(style.PALETTE), strict=False):
                _band(axes, by_panel[metric, of_variant, eer], colour)
                handles[f"EER {100 * eer:g} %"] = Line2D([], [], color=colour)
            if metric == "zebra_individual":
                first = by_panel[metric, of_variant, eers[0]]
                ceilings = [individual_ceiling(r["n_target"], r["n_nontarget"]) for r in first]
                axes.plot([*map(size_of, first)], ceilings, "k:", linewidth=0.9)
            title = _short_name(metric)
            axes.set_title(f"{title}, {of_variant}" if metric == "linkability" else title)
            axes.set_ylabel(_label(metric), fontsize=style.SMALL_FONT)
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{n}" for n in sizes])
            axes.minorticks_off()
            axes.grid()
            if at + columns >= count:  # no panel below
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(size)
        _legend(canvas, handles, ncols=len(handles))
    return canvas


def _band(axes: Axes, rows: Sequence[Row], colour: str) -> None:
    if not all(math.isfinite(row["value"]) for row in rows):
        return
    metric, eer = rows[0]["metric"], rows[0]["true_eer"]
    low, mean, high = (
        [describe(metric).printed(row[part]) for row in rows] for part in ("low", "value", "high")
    )
    x = [size_of(row) for row in rows]
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    (line,) = axes.plot(x, mean, color=colour, marker=".", markersize=3)
    line.set_gid(f"{metric}/{rows[0]['variant']}/{eer:g}")
    truth = population_values(eer).get(metric)
    if truth is not None:
        level = describe(metric).printed(truth)
        axes.axhline(level, color=colour, linestyle=":", linewidth=0.9)


# Shared


def _legend(canvas: Canvas, entries: Mapping[str, Artist], **options: Any) -> None:
    style.legend(canvas, entries.values(), entries, loc="outside lower center", **options)


def _name(metric: str) -> str:
    return describe(metric).sentence if metric in METRICS else style.escape_mathtext(metric)


def _short_name(metric: str) -> str:
    return _SHORT_NAMES.get(metric, _name(metric))


def _arrays(plain: Mapping[str, Any]) -> Arrays:
    return {name: np.asarray(values) for name, values in plain.items()}
