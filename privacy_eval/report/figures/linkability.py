"""Linkability: densities of target and nontarget scores with the local D(s), Figure 7 of
the supplement.

D(s) is 1 for scores that link with certainty and 0 for scores that do not link; D_sys is its
mean over target scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...metrics import Caveat
from ...metrics.caveats import marked_text
from ...metrics.pav import FloatArray
from ...numbers.report_data import ReportData
from ...results.arrays import Arrays
from ...results.records import VerificationRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot
from .selection import conditions, load, set_title

# Required arrays of a record.
_ARRAYS = (
    "linkability_edges",
    "linkability_target_mass",
    "linkability_nontarget_mass",
    "linkability_local",
    "density_scores",
    "density_target",
    "density_nontarget",
)

#: Systems of a figure, a row each; more are split over several.
MOST_SYSTEMS = 4

#: Label of the curve of D(s) and of its axis.
LOCAL = "local D(s)"

# Fraction of the scores of a class that may be outside on either side, so that outliers do not
# compress the rest.
_OUTSIDE = 5e-4


def linkability_panel(
    arrays: Arrays, value: float, title: str, caveat: Caveat | None = None
) -> Panel:
    """Draw histograms and kernel densities of both classes, local D(s) on the right.

    Parameters
    ----------
    arrays : mapping
        The stored arrays of a record; densities may be missing.
    value : float
        D_sys.
    caveat : Caveat, optional
        For which D_sys must be neither ranked nor graded.
    """
    value_text = f" = {value:.3f}$"
    if caveat is not None:
        value_text = f"$: {marked_text(f'{value:.3f}', caveat)}"
    edges = arrays["linkability_edges"]
    low, high = _score_range(arrays)
    top = 0.0
    curves = []
    looks: tuple[tuple[str, str, style.LineStyle], ...] = (
        ("nontarget", "#D55E00", (0, (4, 1.5))),
        ("target", "#009E73", "-"),
    )
    for kind, colour, line in looks:
        height = arrays[f"linkability_{kind}_mass"] / np.diff(edges)
        curves.append(Curve(*_steps(edges, height), f"{kind}: histogram", colour=colour, fill=True))
        top = max(top, float(height.max()))
        density = arrays.get(f"density_{kind}")
        if density is not None:
            x = arrays["density_scores"]
            curves.append(Curve(x, density, f"{kind}: density", colour=colour, line_style=line))
            top = max(top, float(density.max()))
    curves.append(
        Curve(
            *_steps(edges, arrays["linkability_local"]),
            LOCAL,
            colour="#0058A3",
            line_style=(0, (1, 1)),
            width=1.4,
            right=True,
        )
    )
    return Panel(
        tuple(curves),
        "score",
        "density",
        (low, high),
        (0.0, 1.05 * top),
        title=title,
        title_math=rf": $D_\mathrm{{sys}}{value_text}",
    )


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `linkability_*` per trial set: systems in rows, the attack models side by side."""
    sets: dict[tuple[str, str, str], dict[str, dict[str, VerificationRecord]]] = {}
    for key, records, _ in conditions(data.results):
        for record in records:
            by_system = sets.setdefault(key[1:], {})
            by_system.setdefault(record.condition.system, {})[key.attack_model] = record
    for key_of_set, of_set in sets.items():
        title = set_title(data.protocol, *key_of_set)
        # Arrays are loaded page by page; here only whether a system has any.
        drawable = [
            s
            for s in data.results.systems
            if any(load(r, data.arrays, _ARRAYS) is not None for r in of_set.get(s, {}).values())
        ]
        for page, number, part in style.numbered_pages(drawable, MOST_SYSTEMS):
            rows = [_row(system, of_set[system], data) for system in page]
            used = [j for j, column in enumerate(zip(*rows, strict=True)) if any(column)]
            yield Drawing(
                style.file_stem("linkability", *key_of_set, *number),
                f"Linkability: {title}{part}. Densities of target and nontarget scores; the local "
                "linkability D(s) on the axis on the right.",
                Plot(
                    tuple(tuple(row[j] for j in used) for row in rows),
                    legend="bottom",
                    panel_height=1.35,
                    title=title,
                ),
                ("linkability",),
                [r.condition for system in page for r in of_set[system].values()],
            )


def _row(
    system: str, by_attack: Mapping[str, VerificationRecord], data: ReportData
) -> list[Panel | None]:
    """Panels by attack model: the system's name left of the first, the label of D(s) right of
    the last."""
    panels: dict[str, Panel] = {}
    for attack in data.protocol.attack_models:
        record = by_attack.get(attack.id)
        arrays = None if record is None else load(record, data.arrays, _ARRAYS)
        if record is not None and arrays is not None:
            caveat = record.caveat("linkability", data.protocol.variant)
            value = record.values(data.protocol.variant)["linkability"]
            panel = linkability_panel(arrays, value, attack.title, caveat)
            panels[attack.id] = replace(panel, y_label="") if panels else panel
    if panels:
        first, last = next(iter(panels)), list(panels)[-1]
        panels[first] = replace(panels[first], side_title=system)
        panels[last] = replace(panels[last], right_label=LOCAL)
    return [panels.get(attack.id) for attack in data.protocol.attack_models]


def _steps(edges: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of a histogram."""
    return np.repeat(edges, 2)[1:-1], np.repeat(height, 2)


def _score_range(arrays: Arrays) -> tuple[float, float]:
    """Range of nearly all scores of both classes."""
    edges = arrays["linkability_edges"]
    lows, highs = [], []
    for kind in ("target", "nontarget"):
        fraction = np.cumsum(arrays[f"linkability_{kind}_mass"])
        lows.append(int(np.argmax(fraction > _OUTSIDE)))
        highs.append(int(np.argmax(fraction >= 1 - _OUTSIDE)) + 1)
    return float(edges[min(lows)]), float(edges[max(highs)])
