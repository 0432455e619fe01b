"""Plots of one set of scores on user-supplied axes, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from matplotlib.axes import Axes

from ...metrics import Evaluation, TrialScores, evaluate, score_curves, withholding_caveat
from ...metrics.caveats import IMPLAUSIBLE_MARK
from ...metrics.pav import FloatArray
from . import style
from .det import Line, det_panel
from .draw import draw_legend, draw_panel
from .ece import Profile, profile_panel
from .linkability import linkability_panel
from .plot import Curve, Panel

_LOOK = style.SystemStyle(style.PALETTE[0], "o", "-")
_Arrays = Mapping[str, FloatArray]
_Describe = Callable[[Evaluation, _Arrays, str], Panel]


def plot_det(scores: TrialScores | Evaluation, axes: Axes | None = None, *, name: str = "") -> Axes:
    """Plot the DET curve: miss rate against false-alarm rate, with a marker where they are equal.

    Parameters
    ----------
    scores : TrialScores or Evaluation
    axes : matplotlib Axes, optional
        Default: those of a new figure.
    name : str
        In the legend.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_det(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).get_xlabel()
    'false-alarm rate (%)'
    """
    return _plot(_det, scores, axes, name)


def plot_ece(scores: TrialScores | Evaluation, axes: Axes | None = None, *, name: str = "") -> Axes:
    """Plot the ECE profile: actual, minimum and that of no evidence, against the prior log odds.

    The area between the last two is the expected privacy disclosure (ZEBRA).

    Parameters
    ----------
    scores : TrialScores or Evaluation
    axes : matplotlib Axes, optional
        Default: those of a new figure.
    name : str
        In the legend.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_ece(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).get_ylabel()
    'empirical cross-entropy (bit)'
    """
    return _plot(_ece, scores, axes, name)


def plot_scores(
    scores: TrialScores | Evaluation, axes: Axes | None = None, *, name: str = ""
) -> Axes:
    """Plot histograms and densities of target and nontarget scores, and the local linkability.

    Parameters
    ----------
    scores : TrialScores or Evaluation
    axes : matplotlib Axes, optional
        Default: those of a new figure.
    name : str
        In the title.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_scores(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).get_xlabel()
    'score'
    """
    return _plot(_densities, scores, axes, name)


def _plot(
    describe: _Describe, given: TrialScores | Evaluation, axes: Axes | None, name: str
) -> Axes:
    evaluation = given
    if isinstance(given, TrialScores):
        evaluation = evaluate(given.target, given.nontarget)
    if not isinstance(evaluation, Evaluation) or evaluation.scores is None:
        raise TypeError(f"expected TrialScores or what evaluate() returns, not {type(given)}")
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots()[1]
    panel = describe(evaluation, score_curves(evaluation.scores), name)
    draw_panel(axes, panel)
    draw_legend(axes, panel.curves)
    return axes


def _det(evaluation: Evaluation, arrays: _Arrays, name: str) -> Panel:
    line = Line(
        name or "EER",
        arrays["det_miss"],
        arrays["det_false_alarm"],
        evaluation.values["eer"],
        caveat=withholding_caveat(evaluation.caveats, "eer"),
    )
    return det_panel([line], {line.name: _LOOK})


def _ece(evaluation: Evaluation, arrays: _Arrays, name: str) -> Panel:
    profile = Profile(
        name or "minimum",
        arrays["prior_log_odds"],
        arrays["ece_minimum"],
        arrays["ece_zero_evidence"],
        evaluation.values["zebra_population"],
        evaluation.values["zebra_individual"],
        evaluation.zebra_tag or IMPLAUSIBLE_MARK,
        withholding_caveat(evaluation.caveats, "zebra_population"),
    )
    panel = profile_panel([profile], [_LOOK])
    actual = Curve(profile.prior_log_odds, arrays["ece_actual"], "actual", colour="#D55E00")
    return replace(panel, curves=(*panel.curves, actual))


def _densities(evaluation: Evaluation, arrays: _Arrays, name: str) -> Panel:
    caveat = withholding_caveat(evaluation.caveats, "linkability")
    return linkability_panel(arrays, evaluation.values["linkability"], name or "Scores", caveat)
