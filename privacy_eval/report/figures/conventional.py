"""Conventional plots of the ZEBRA toolkit: cross-entropy (ECE) and detection cost (APE plot),
and both normalized (NECE, NBER)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from ...metrics.pav import FloatArray
from ...numbers.report_data import ReportData
from ...results.arrays import Arrays
from . import style
from .drawing import Drawing
from .ece import ECE_LABEL, LOG_ODDS_LABEL, log_odds_ticks
from .plot import Curve, Panel, Plot
from .selection import key_of, load

# Required arrays of a record.
_ARRAYS = (
    *("prior_log_odds", "ece_zero_evidence", "ece_minimum"),
    *("ece_actual", "dcf_minimum", "dcf_actual"),
)
_ACTUAL, _MINIMUM = "#D55E00", "#0072B2"


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `conventional_*` per condition of a system: ECE, DCF, NECE, NBER."""
    seen = set()
    for record in data.results.verification:
        key, arrays = key_of(record), load(record, data.arrays, _ARRAYS)
        system = record.condition.system
        if arrays is None or key is None or (system, *key) in seen:
            continue
        seen.add((system, *key))
        where = f"{system}, {key.title(data.protocol)}"
        caveat = record.caveat("eer")
        mark = "" if caveat is None else f" ({caveat.mark} {caveat.word})"
        yield Drawing(
            style.file_stem("conventional", system, *key),
            f"Cross-entropy (ECE), detection cost (APE plot), and both normalized: {where}. "
            "Actual: scores used as log-likelihood ratios, beyond the panel where they "
            "are badly calibrated; minimum: after optimal calibration.",
            conventional_plot(arrays, title=f"{where}{mark}"),
            ("eer",),
            (record.condition,),
        )


def conventional_plot(arrays: Arrays, *, title: str = "") -> Plot:
    """Plot ECE and detection cost (APE), and below both relative to those without evidence
    (NECE, NBER): of the scores as they are, after optimal calibration, and without evidence.

    Parameters
    ----------
    arrays : mapping
        The stored arrays of a record.
    """
    log_odds = arrays["prior_log_odds"]
    without = arrays["ece_zero_evidence"], np.minimum(expit(log_odds), expit(-log_odds))
    above, below = [], []
    for kind, default, label, normalized in (
        ("ece", without[0], ECE_LABEL, "normalized cross-entropy (NECE)"),
        ("dcf", without[1], "Bayes error rate", "normalized rate (NBER)"),
    ):
        actual, minimum = arrays[f"{kind}_actual"], arrays[f"{kind}_minimum"]
        above.append(_panel(log_odds, default, actual, minimum, label))
        ones = np.ones(log_odds.size)
        below.append(_panel(log_odds, ones, actual / default, minimum / default, normalized))
    return Plot((tuple(above), tuple(below)), legend="bottom", panel_height=1.9, title=title)


def _panel(
    x: FloatArray, default: FloatArray, actual: FloatArray, minimum: FloatArray, y_label: str
) -> Panel:
    # Bad calibration is unbounded; the panel leaves room for the other two.
    top = float(np.clip(1.05 * actual.max(), 1.05 * default.max(), 1.8 * default.max()))
    limits = float(x[0]), float(x[-1])
    return Panel(
        (
            Curve(x, default, "without evidence", width=2.0),
            Curve(x, actual, "actual", colour=_ACTUAL),
            Curve(x, minimum, "minimum", colour=_MINIMUM, line_style=(0, (4, 1.5))),
        ),
        LOG_ODDS_LABEL,
        y_label,
        limits,
        (0.0, top),
        title="" if actual.min() <= top else f"actual: {actual.min():.3g} and above",
        x_ticks=log_odds_ticks(*limits),
    )
