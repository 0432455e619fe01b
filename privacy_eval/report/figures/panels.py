"""Panels of curves of sets of scores, from arrays.

DET curves: miss rate over false-alarm rate, both on the probit scale, with a marker where they
are equal. Kaldi's EER, which tables show, is that of one threshold, where both rates may differ:
it is printed beside that of the curve. The closer a curve is to the upper right corner, the better
the privacy. Reference: Martin et al., "The DET curve in assessment of detection task performance"
(1997); Figures 25 and 26 of the supplement.

ECE profiles of ZEBRA: Figures 3 to 6 of the supplement, Figures 2 and 3 of the ZEBRA paper. The
area between a profile and that of full privacy (black) is the disclosure at a prior. Legends are in
the order of the expected disclosure DECE, as `system (DECE in bit, worst case in log10 LR,
category)`.

Linkability: densities of target and nontarget scores with the local D(s), Figure 7 of the
supplement. D(s) is 1 for scores that link with certainty and 0 for scores that do not link; D_sys
is its mean over target scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import expit, ndtri

from ...metrics import METRICS, Caveat
from ...metrics.caveats import IMPLAUSIBLE_MARK, marked_text
from ...metrics.eer import equal_rate
from ...metrics.llr import zebra_number
from ...metrics.pav import FloatArray
from ...results.arrays import Arrays
from . import style
from .plot import Curve, Panel, Plot, system_curve
from .style import SystemStyle

# DET curves

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
    band : tuple of float arrays, shape (Q,)
        False-alarm rates, and lowest and highest miss rates there; () if unknown.
    interval : (float, float) or None
        Bounds of `eer`.
    """

    name: str
    miss: FloatArray
    false_alarm: FloatArray
    eer: float
    text: str = ""
    caveat: Caveat | None = None
    band: tuple[FloatArray, ...] = ()
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
    curves, bands = [], []
    for line in ordered:
        look = styles[line.name]
        x, y = probit_curve(line.miss, line.false_alarm)
        if 100 * line.marker < low:
            x, y = np.clip(x, *limits), np.clip(y, *limits)
        eer = np.full((1, 2), ndtri(np.clip(line.marker, low / 100, 1)))
        points = eer if limits[0] <= eer[0, 0] <= limits[1] else np.zeros((0, 2))
        note = f"({'EER ' if line.interval else ''}{line.printed} %)"
        curves.append(system_curve(look, x, y, points, line.name, note, line.caveat))
        if line.band and len(ordered) <= _MOST_BANDS:
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


def det_plot(panel: Panel, *, title: str = "") -> Plot:
    """Plot a single panel of DET curves."""
    return Plot(((panel,),), panel_height=3.4, width=5.9, title=title)


def _probit(rates: FloatArray) -> FloatArray:
    return np.asarray(np.clip(ndtri(np.clip(rates, 0, 1)), -_FAR, _FAR), dtype=np.float64)


# ECE profiles

#: x axis of a profile: prior log odds, or the prior itself.
Over = Literal["log odds", "prior"]

#: Labels of the axes.
LOG_ODDS_LABEL = r"prior log-odds $\log(\pi/(1-\pi))$"
ECE_LABEL = "empirical cross-entropy (bit)"

#: Arrays and metrics of a profile.
ECE = ("prior_log_odds", "ece_minimum", "ece_zero_evidence")
ZEBRA = ("zebra_population", "zebra_individual")
_MARKERS = 7
_X_LABELS: Mapping[Over, str] = {
    "log odds": LOG_ODDS_LABEL,
    "prior": r"prior $\pi$",
}


@dataclass(frozen=True)
class Profile:
    """One line of a figure.

    Attributes
    ----------
    name : str
    prior_log_odds, minimum, zero_evidence : float arrays, shape (P,)
        ECE in bit.
    population, individual : float
    tag : str
    caveat : Caveat or None
        For which its values must be neither ranked nor graded.
    """

    name: str
    prior_log_odds: FloatArray
    minimum: FloatArray
    zero_evidence: FloatArray
    population: float
    individual: float
    tag: str
    caveat: Caveat | None = None

    @property
    def triple(self) -> str:
        """Text in legends: `(0.584, 3.979, C)`."""
        values = (zebra_number(self.population), zebra_number(self.individual))
        numbers = ", ".join(marked_text(value, self.caveat) for value in values)
        return f"({numbers}, {self.tag})"

    @property
    def rank(self) -> tuple[bool, float]:
        """Place in the legend: implausible scores are last."""
        return self.caveat is not None, self.population


def profile_panel(
    profiles: Sequence[Profile],
    looks: Sequence[SystemStyle],
    *,
    over: Over = "log odds",
    title: str = "",
) -> Panel:
    """Draw ECE profiles in the order of DECE, and the profile of full privacy.

    Parameters
    ----------
    looks : sequence of SystemStyle
        One for each profile.
    """
    ordered = sorted(zip(profiles, looks, strict=True), key=lambda pair: pair[0].rank)
    first = ordered[0][0]
    full = _against(first.prior_log_odds, first.zero_evidence, over)
    curves = [Curve(*full, "full privacy", width=2.0)]
    for number, (profile, look) in enumerate(ordered):
        x, y = _against(profile.prior_log_odds, profile.minimum, over)
        points = _markers(x, y, number / len(ordered), over)
        entry = (profile.name, profile.triple, profile.caveat)
        curves.append(system_curve(look, x, y, points, *entry))
    limits = float(full[0][0]), float(full[0][-1])
    return Panel(
        tuple(curves),
        _X_LABELS[over],
        ECE_LABEL,
        limits,
        (0.0, 1.05),
        title=title,
        x_ticks=log_odds_ticks(*limits) if over == "log odds" else (),
    )


def log_odds_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Ticks at multiples of 5; automatic ones would be at multiples of 2.5."""
    if not -50 <= low < high <= 50:
        return ()
    return tuple((float(t), f"{t}") for t in range(-50, 51, 5) if low <= t <= high)


def profile_of(
    name: str, arrays: Arrays, values: Mapping[str, float], tag: str | None, caveat: Caveat | None
) -> Profile:
    """Make a profile of stored arrays and of the metrics of the same scores."""
    log_odds, minimum, zero = (arrays[key] for key in ECE)
    population, individual = (values[metric] for metric in ZEBRA)
    tag = tag or IMPLAUSIBLE_MARK
    return Profile(name, log_odds, minimum, zero, population, individual, tag, caveat)


def _against(log_odds: FloatArray, y: FloatArray, over: Over) -> tuple[FloatArray, FloatArray]:
    """A curve over the chosen axis; over the prior with its ends, where ECE is 0."""
    if over == "log odds":
        return log_odds, y
    prior = np.concatenate([[0], expit(log_odds), [1]])
    return prior, np.concatenate([[0], y, [0]])


def _markers(x: FloatArray, y: FloatArray, phase: float, over: Over) -> FloatArray:
    """Points of a curve with markers, shifted from curve to curve, where profiles differ."""
    low, high = (0.05, 0.95) if over == "prior" else (0.6 * x[0], 0.6 * x[-1])
    at = low + (high - low) * (np.arange(_MARKERS) + phase) / _MARKERS
    return np.column_stack([at, np.interp(at, x, y)])


# Linkability


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
    number = f"{value:.3f}"
    text = f" = {number}$" if caveat is None else f"$: {marked_text(number, caveat)}"
    edges = arrays["linkability_edges"]
    curves, top = [], 0.0
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
        _score_range(arrays),
        (0.0, 1.05 * top),
        title=title,
        title_math=rf": $D_\mathrm{{sys}}{text}",
    )


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
