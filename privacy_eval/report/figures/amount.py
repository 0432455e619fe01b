"""Error rates by the number of utterances per test, with bands."""

from __future__ import annotations

import numpy as np

from ...metrics.amount import AmountCurve
from .plot import Curve, Panel, Plot
from .style import system_styles

_COLOUR = system_styles([""])[""].colour


def amount_plot(curve: AmountCurve) -> Plot:
    """Plot how often the right person is found, and the EER, over equal speakers.

    Parameters
    ----------
    curve : AmountCurve
        Bands are drawn where it has intervals.

    Returns
    -------
    Plot
    """
    speakers = curve.equal[-1].speakers
    panels = (
        _panel(curve, "rank1", "right person found (%)", f"{speakers} speakers at every length"),
        _panel(curve, "eer", "EER (%)", ""),
    )
    return Plot((panels,), legend="bottom", panel_height=2.4)


def _panel(curve: AmountCurve, name: str, label: str, title: str) -> Panel:
    points = [amount for amount in curve.equal if getattr(amount, name) is not None]
    x = np.log10([amount.length for amount in points])
    y = 100 * np.array([getattr(amount, name) for amount in points])
    curves = [Curve(x, y, colour=_COLOUR, marker="o", marker_points=np.column_stack([x, y]))]
    intervals = [getattr(amount, f"{name}_interval") for amount in points]
    if all(intervals) and intervals:
        low, high = 100 * np.array(intervals).T
        curves.append(Curve(x, high, colour=_COLOUR, fill=True, base=low))
    lengths = [amount.length for amount in curve.equal]
    return Panel(
        tuple(curves),
        "sentences per test",
        label,
        (-0.05, float(np.log10(max(*lengths, 2))) + 0.05),
        (0.0, 105.0),
        title=title,
        x_ticks=tuple((float(np.log10(n)), str(n)) for n in lengths),
        x_scale="log10",
    )
