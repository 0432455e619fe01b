"""Linkability: densities of mated and non-mated scores with the local D(s), Figure 7 of
the supplement.

D(s) is 1 where a score links for certain and 0 where it does not; D_sys is its mean over
mated scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...metrics import Variant
from ...metrics.pav import FloatArray
from ...results.arrays import Arrays, Curves
from ...results.records import Results, VerificationRecord
from . import style
from .draw import CurveDrawing, drawing
from .ece import conditions, load, numbered, part_of
from .plot import Curve, Panel, Plot

#: Stored arrays that the figures need.
LINKABILITY = (
    "linkability_edges",
    "linkability_target_mass",
    "linkability_nontarget_mass",
    "linkability_local",
    "density_scores",
    "density_target",
    "density_nontarget",
)

#: Systems, a row each, in a figure; more go over several.
MOST_SYSTEMS = 4

#: What the curve of D(s) and its axis are called.
LOCAL = "local D(s)"

_MATED, _NONMATED, _LOCAL = "#009E73", "#D55E00", "#0058A3"
# Share of a class's scores that may lie outside on either side: outliers would squeeze
# the rest.
_OUTSIDE = 5e-4


def linkability_panel(arrays: Arrays, value: float, title: str) -> Panel:
    """Histograms and kernel densities of both classes, local D(s) on the right.

    Parameters
    ----------
    arrays : mapping
        The stored curves of a record: `LINKABILITY`; may lack densities.
    value : float
        D_sys.
    """
    edges = arrays["linkability_edges"]
    low, high = _shown(arrays)
    top = 0.0
    curves = []
    for kind, name, colour, line in (
        ("nontarget", "non-mated", _NONMATED, (0, (4, 1.5))),
        ("target", "mated", _MATED, "-"),
    ):
        height = arrays[f"linkability_{kind}_mass"] / np.diff(edges)
        curves.append(Curve(*_steps(edges, height), f"{name}: histogram", colour=colour, fill=True))
        top = max(top, float(height.max()))
        density = arrays.get(f"density_{kind}")
        if density is not None:
            x = arrays["density_scores"]
            curves.append(Curve(x, density, f"{name}: density", colour=colour, line_style=line))
            top = max(top, float(density.max()))
    curves.append(
        Curve(
            *_steps(edges, arrays["linkability_local"]),
            LOCAL,
            colour=_LOCAL,
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
        title_math=rf": $D_\mathrm{{sys}} = {value:.3f}$",
    )


def figures(
    results: Results, curves: Curves, *, systems: Sequence[str] | None = None
) -> Iterator[CurveDrawing]:
    """Per trial set the systems in rows, the attack models side by side."""
    protocol = results.protocol
    attacks = [a for a in protocol.attack_models if not a.is_original]
    sets: dict[tuple[str, str, str], dict[str, dict[str, VerificationRecord]]] = {}
    titles = {}
    for condition in conditions(results, systems):
        place = condition.key[1:]
        titles[place] = condition.set_title(protocol)
        for record in condition.records:
            by_attack = sets.setdefault(place, {}).setdefault(record.condition.system, {})
            by_attack[condition.attack_model] = record
    for place, of_set in sets.items():
        # Only what tells where there are curves is kept of all systems at once.
        having = [s for s in results.systems if s in of_set]
        having = [
            s
            for s in having
            if any(load(r, curves, LINKABILITY) is not None for r in of_set[s].values())
        ]
        pages = style.pages(having, MOST_SYSTEMS)
        for number, page in enumerate(pages):
            rows: list[list[Panel | None]] = []
            for system in page:
                row: list[Panel | None] = []
                for attack in attacks:
                    row.append(
                        _panel(
                            of_set[system].get(attack.id), curves, attack.title, protocol.variant
                        )
                    )
                rows.append(row)
            yield drawing(
                style.stem("linkability", *place, *numbered(number, pages)),
                f"Linkability: {titles[place]}{part_of(number, pages)}. Densities of mated and "
                "non-mated scores; the local linkability D(s) on the axis on the right.",
                Plot(
                    _labelled(rows, page), legend="bottom", panel_height=1.35, title=titles[place]
                ),
            )


def _panel(
    record: VerificationRecord | None, curves: Curves, title: str, variant: Variant
) -> Panel | None:
    arrays = None if record is None else load(record, curves, LINKABILITY)
    if record is None or arrays is None:
        return None
    return linkability_panel(arrays, record.values(variant)["linkability"], title)


def _labelled(
    rows: Sequence[Sequence[Panel | None]], systems: Sequence[str]
) -> tuple[tuple[Panel | None, ...], ...]:
    """Without columns that hold nothing; the system's name left of a row's first panel, the
    label of D(s) right of its last."""
    used = [j for j, column in enumerate(zip(*rows, strict=True)) if any(column)]
    labelled = []
    for row, system in zip(rows, systems, strict=True):
        held = [j for j in used if row[j] is not None]
        places: list[Panel | None] = []
        for j in used:
            panel = row[j]
            if panel is not None:
                panel = replace(
                    panel,
                    side_title=system if j == held[0] else "",
                    y_label=panel.y_label if j == held[0] else "",
                    right_label=LOCAL if j == held[-1] else "",
                )
            places.append(panel)
        labelled.append(tuple(places))
    return tuple(labelled)


def _steps(edges: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of a histogram."""
    return np.repeat(edges, 2)[1:-1], np.repeat(height, 2)


def _shown(arrays: Arrays) -> tuple[float, float]:
    """The range of scores that holds nearly all of both classes."""
    edges = arrays["linkability_edges"]
    lows, highs = [], []
    for kind in ("target", "nontarget"):
        share = np.cumsum(arrays[f"linkability_{kind}_mass"])
        lows.append(int(np.argmax(share > _OUTSIDE)))
        highs.append(int(np.argmax(share >= 1 - _OUTSIDE)) + 1)
    return float(edges[min(lows)]), float(edges[max(highs)])
