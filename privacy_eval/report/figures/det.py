"""DET curves: miss rate over false-alarm rate, both on the probit scale, with a marker where they
are equal.

Kaldi's EER, which tables show, is that of one threshold, where both rates may differ: it is
printed beside that of the curve.

The closer a curve is to the upper right corner, the better the privacy.
Reference: Martin et al., "The DET curve in assessment of detection task performance"
(1997); Figures 25 and 26 of the supplement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtri

from ...metrics import METRICS, Caveat
from ...metrics.caveats import marked_text
from ...metrics.eer import equal_rate
from ...metrics.pav import FloatArray
from ...numbers.report_data import ReportData
from ...results.arrays import DET_BAND
from ...results.records import VerificationRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, system_curve
from .selection import condition_pages, load
from .style import SystemStyle

# Required arrays of a record.
_ARRAYS = ("det_miss", "det_false_alarm")

# Rates in percent: possible limits of the axes, and their ticks.
_LOWEST = (0.1, 0.5, 1.0, 2.0, 5.0)
_HIGHEST = (40.0, 60.0, 80.0, 90.0, 95.0, 99.0)
_TICKS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99)
# Probits at which rates of 0 and 1 are drawn.
_FAR = 8.0
# Steps along the straight line between two points of a curve, dense at its ends.
_STEPS = np.append(0.0, expit(np.linspace(-14, 14, 29)))
_SHORT = 0.1
# Maximum number of curves with bands: more bands hide one another.
_MOST_BANDS = 4


@dataclass(frozen=True)
class Line:
    """One curve of a figure.

    Attributes
    ----------
    name : str
    miss, false_alarm : float arrays, shape (P,)
    eer : float
        As in tables, a fraction.
    text : str
        Percent in the legend; default: `eer` with its interval beside the rate at the marker.
    caveat : Caveat or None
        For which its EER must be neither ranked nor graded.
    band : tuple of float arrays, shape (Q,), or None
        False-alarm rates, and lowest and highest miss rates there.
    interval : (float, float) or None
        Bounds of `eer`.
    """

    name: str
    miss: FloatArray
    false_alarm: FloatArray
    eer: float
    text: str = ""
    caveat: Caveat | None = None
    band: tuple[FloatArray, FloatArray, FloatArray] | None = None
    interval: tuple[float, float] | None = None

    @cached_property
    def marker(self) -> float:
        """Rate at which the curve's two rates are equal, a fraction."""
        with np.errstate(all="ignore"):  # stored arrays are untrusted
            return equal_rate(self.miss, self.false_alarm)

    @property
    def printed(self) -> str:
        """EER in the legend, in percent."""
        if self.text:
            return self.text
        metric = METRICS["eer"]
        eer, marker = (
            marked_text(metric.format(rate), self.caveat) for rate in (self.eer, self.marker)
        )
        return f"{eer} {metric.interval(self.interval)}".rstrip() + f" %, curve {marker}"

    @property
    def rank(self) -> tuple[bool, float]:
        """Place in the legend: implausible scores are last."""
        return self.caveat is not None, -self.marker


def det_panel(
    lines: Iterable[Line], styles: Mapping[str, SystemStyle], *, title: str = ""
) -> Panel:
    """Draw DET curves from the highest EER to the lowest, with a marker at each EER.

    Both axes have the same limits: from at most a third of the lowest EER (at least 0.1 %)
    to at least 1.5 times the highest (at most 99 %). A curve whose EER is below them runs
    along the axes.

    Parameters
    ----------
    styles : mapping
        By name of a line.
    """
    ordered = sorted(lines, key=lambda line: line.rank)
    eers = [100 * line.marker for line in ordered]
    low = max((v for v in _LOWEST if v <= min(eers) / 3), default=_LOWEST[0])
    high = min((v for v in _HIGHEST if v >= 1.5 * max(eers)), default=_HIGHEST[-1])
    limits = float(ndtri(low / 100)), float(ndtri(high / 100))
    ticks = tuple(
        (float(ndtri(v / 100)), f"{v:g}")
        for v in _TICKS
        if low <= v <= high and (v not in (30, 50, 70) or low >= 5)
    )
    curves: list[Curve] = []
    bands: list[Curve] = []
    for line in ordered:
        look = styles[line.name]
        x, y = probit_curve(line.miss, line.false_alarm)
        if 100 * line.marker < low:
            x, y = np.clip(x, *limits), np.clip(y, *limits)
        eer = np.full((1, 2), ndtri(np.clip(line.marker, low / 100, 1)))
        points = eer if limits[0] <= eer[0, 0] <= limits[1] else np.zeros((0, 2))
        note = f"({'EER ' if line.interval else ''}{line.printed} %)"
        curves.append(system_curve(look, x, y, points, line.name, note, line.caveat))
        if line.band is not None and len(ordered) <= _MOST_BANDS:
            at, below, above = map(_probit, line.band)
            bands.append(Curve(at, above, colour=look.colour, fill=True, base=below))
    return Panel(
        (*curves, *bands),
        "false-alarm rate (%)",
        "miss rate (%)",
        limits,
        limits,
        title=title,
        x_ticks=ticks,
        y_ticks=ticks,
        x_scale="probit",
        y_scale="probit",
        square=True,
    )


def probit_curve(miss: FloatArray, false_alarm: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute probits of the false-alarm and miss rates along a curve.

    Two operating points are joined by a straight line in the rates (thresholds drawn at random
    between them), which is not straight in probits.
    """
    ends = [_probit(rates) for rates in (false_alarm, miss)]
    moves = np.array([np.abs(np.diff(probits)) for probits in ends])
    # A line along an axis is straight in probits too, a short one nearly so.
    bent = (moves.min(axis=0) > 0) & (moves.max(axis=0) > _SHORT)
    selected = np.append((bent[:, None] & (_STEPS > 0)) | (_STEPS == 0), True)
    pieces = []
    for rates in (false_alarm, miss):
        between = rates[:-1, None] + np.diff(rates)[:, None] * _STEPS
        pieces.append(_probit(np.append(between, rates[-1])[selected]))
    return pieces[0], pieces[1]


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `det_*` per trial set and attack model: the curves of all systems and of original
    speech."""
    styles = style.system_styles(data.results.systems)

    def read(name: str, record: VerificationRecord) -> Line | None:
        arrays = load(record, data.arrays, _ARRAYS)
        eer = record.values(data.protocol.variant).get(data.protocol.eer)
        if arrays is None or eer is None or not math.isfinite(eer):
            return None
        band = tuple(arrays[name] for name in DET_BAND if name in arrays)
        whole = (band[0], band[1], band[2]) if len(band) == len(DET_BAND) else None
        caveat = record.caveat("eer")
        line = Line(
            name, arrays["det_miss"], arrays["det_false_alarm"], eer, caveat=caveat, band=whole
        )
        return line if 0 <= line.marker <= 1 else None

    kaldi = " (Kaldi's)" if data.protocol.eer == "eer" else ""
    for page in condition_pages(data, read, lambda line: line.rank):
        panel = det_panel(page.items, styles, title=page.title)
        bands = " Bands: 95 % intervals of the miss rate, by the bootstrap over speakers."
        yield Drawing(
            style.file_stem("det", *page.key),
            f"DET curves: {page.title}{page.part}. In brackets: EER as in tables{kaldi}, and the "
            "rate at which the curve's miss and false-alarm rates are equal, at its marker."
            + bands
            * any(c.fill for c in panel.curves),
            det_plot(panel),
            ("eer",),
            page.conditions,
        )


def det_plot(panel: Panel, *, title: str = "") -> Plot:
    """Plot a single panel of DET curves."""
    return Plot(((panel,),), panel_height=3.4, width=5.9, title=title)


def _probit(rates: FloatArray) -> FloatArray:
    return np.asarray(np.clip(ndtri(np.clip(rates, 0, 1)), -_FAR, _FAR), dtype=np.float64)
