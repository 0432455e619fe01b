"""DET curves: miss rate over false-alarm rate, both on the probit scale, with the EER.

The closer a curve is to the upper right corner, the better the privacy.
Reference: Martin et al., "The DET curve in assessment of detection task performance"
(1997); Figures 25 and 26 of the supplement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtri

from ...metrics.pav import FloatArray
from ...protocol.protocol import Protocol
from ...results.arrays import Curves
from ...results.records import Results, VerificationRecord
from ..values import ORIGINAL_COLUMN
from . import style
from .draw import CurveDrawing, drawing
from .ece import MOST_SYSTEMS, conditions, load, numbered, part_of
from .plot import Curve, Panel, Plot
from .style import SystemStyle

#: Stored arrays that the figures need.
DET = ("det_miss", "det_false_alarm")

# Rates in percent where axes may begin or end, and where they have ticks.
_LOWEST = (0.1, 0.5, 1.0, 2.0, 5.0)
_HIGHEST = (40.0, 60.0, 80.0, 90.0, 95.0, 99.0)
_TICKS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99)
# Rates of 0 and 1 are drawn this many probits out.
_FAR = 8.0
# Steps of a straight line between two points of the curve, as log odds of the way.
_STEPS = np.append(0.0, expit(np.linspace(-14, 14, 29)))
_SHORT = 0.1


@dataclass(frozen=True)
class Line:
    """One curve of a figure.

    Attributes
    ----------
    name : str
    miss, false_alarm : float arrays, shape (P,)
    eer : float
        Where its mark is; fraction.
    printed : str
        The EER that the legend prints, in percent; unless given, that of the mark.
    """

    name: str
    miss: FloatArray
    false_alarm: FloatArray
    eer: float
    printed: str = ""


def det_panel(
    lines: Iterable[Line], styles: Mapping[str, SystemStyle], *, title: str = ""
) -> Panel:
    """DET curves, from the highest EER to the lowest, with a mark at each EER.

    Both axes run over the same rates, from at most a third of the lowest EER (but 0.1 %)
    to half as much again as the highest (but 99 %). A curve whose EER is below all of
    them runs along the axes.

    Parameters
    ----------
    styles : mapping
        By name of a line.
    """
    ordered = sorted(lines, key=lambda line: -line.eer)
    eers = [100 * line.eer for line in ordered]
    low = max((v for v in _LOWEST if v <= min(eers) / 3), default=_LOWEST[0])
    high = min((v for v in _HIGHEST if v >= 1.5 * max(eers)), default=_HIGHEST[-1])
    limits = float(ndtri(low / 100)), float(ndtri(high / 100))
    ticks = tuple(
        (float(ndtri(v / 100)), f"{v:g}")
        for v in _TICKS
        if low <= v <= high and (v not in (30, 50, 70) or low >= 5)
    )
    curves = []
    for line in ordered:
        look = styles[line.name]
        x, y = probit_curve(line.miss, line.false_alarm)
        beyond = 100 * line.eer < low
        if beyond:
            x, y = np.clip(x, *limits), np.clip(y, *limits)
        mark = np.full((1, 2), ndtri(np.clip(line.eer, low / 100, 1)))
        curves.append(
            Curve(
                x,
                y,
                line.name,
                f"({line.printed or _percent(line.eer)} %)",
                look.colour,
                look.line_style,
                marker=look.marker,
                marks=mark if limits[0] <= mark[0, 0] <= limits[1] else np.zeros((0, 2)),
            )
        )
    return Panel(
        tuple(curves),
        "false-alarm rate (%)",
        "miss rate (%)",
        limits,
        limits,
        title=title,
        x_ticks=ticks,
        y_ticks=ticks,
        square=True,
    )


def probit_curve(miss: FloatArray, false_alarm: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probits of the false-alarm and of the miss rate along a curve.

    Two operating points are joined as thresholds drawn at random between them would be:
    straight in the rates, which is not straight in probits.
    """
    ends = [_probit(rates) for rates in (false_alarm, miss)]
    moves = np.array([np.abs(np.diff(probits)) for probits in ends])
    # A line along an axis is straight in probits too, a short one nearly so.
    bent = (moves.min(axis=0) > 0) & (moves.max(axis=0) > _SHORT)
    kept = np.append((bent[:, None] & (_STEPS > 0)) | (_STEPS == 0), True)
    pieces = []
    for rates in (false_alarm, miss):
        between = rates[:-1, None] + np.diff(rates)[:, None] * _STEPS
        pieces.append(_probit(np.append(between, rates[-1])[kept]))
    return pieces[0], pieces[1]


def figures(
    results: Results, curves: Curves, *, systems: Sequence[str] | None = None
) -> Iterator[CurveDrawing]:
    """Per trial set and attack model the curves of all systems and of original speech."""
    protocol = results.protocol
    styles = style.system_styles(results.systems)
    for condition in conditions(results, systems):
        found = _found(condition.records, curves, protocol)
        if not found:
            continue
        original = _found(condition.original, curves, protocol)[:1]
        original = [replace(line, name=ORIGINAL_COLUMN) for line in original]
        by_name = {line.name: line for line in sorted(found, key=lambda line: -line.eer)}
        pages = style.pages(list(by_name), MOST_SYSTEMS)
        for number, page in enumerate(pages):
            shown = [*(by_name[name] for name in page), *original]
            panel = det_panel(shown, styles, title=condition.title(protocol))
            yield drawing(
                style.stem("det", *condition.key, *numbered(number, pages)),
                f"DET curves: {condition.title(protocol)}{part_of(number, pages)}. "
                "In brackets, and marked: EER.",
                Plot(((panel,),), panel_height=3.4, width=5.9),
            )


def _found(records: Iterable[VerificationRecord], curves: Curves, protocol: Protocol) -> list[Line]:
    found = []
    for record in records:
        arrays = load(record, curves, DET)
        eer = record.values(protocol.variant).get("eer")
        if arrays is not None and eer is not None and math.isfinite(eer):
            found.append(
                Line(record.condition.system, arrays["det_miss"], arrays["det_false_alarm"], eer)
            )
    return found


def _probit(rates: FloatArray) -> FloatArray:
    return np.asarray(np.clip(ndtri(np.clip(rates, 0, 1)), -_FAR, _FAR), dtype=np.float64)


def _percent(eer: float) -> str:
    return f"{100 * eer:.2f}"
