"""Plots of one set of scores on user-supplied axes, for notebooks and papers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib import rcParams, rcParamsDefault
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ...errors import PrivacyEvalError, abbreviate
from ...metrics import Evaluation, TrialScores, evaluate, score_curves, withholding_caveat
from ...metrics.arguments import is_table
from ...metrics.pav import FloatArray
from ...metrics.trials import Trials
from . import style
from .drawing import TITLE, draw_legend, draw_panel
from .panels import Line, det_panel, linkability_panel, profile_of, profile_panel
from .plot import Curve, Panel, Plot

#: Maximum characters of the path of a score file in a legend.
_PATH = 46

#: Scores of one system.
Scores = Trials | TrialScores | Evaluation | tuple[ArrayLike, ArrayLike]
_Arrays = Mapping[str, FloatArray]
#: Systems by name, as evaluated, with the arrays that figures are drawn from.
_Systems = Mapping[str, tuple[Evaluation, _Arrays]]
#: Systems drawn so far, and what marks their lines.
_drawn: WeakKeyDictionary[Axes, _Systems] = WeakKeyDictionary()
_DRAWN = "privacy_eval"
_panels: WeakKeyDictionary[Axes, Panel] = WeakKeyDictionary()


def plot_det(
    scores: Scores | Mapping[str, Scores], axes: Axes | None = None, *, label: str = ""
) -> Axes:
    """Plot the DET curve: miss rate against false-alarm rate, with a marker where they are equal.

    Parameters
    ----------
    scores : Trials, TrialScores, Evaluation or (target, nontarget), or mapping of str to them
        Of one system, or of several by name.
    axes : matplotlib Axes, optional
        Default: those of a new figure. On axes of an earlier call all systems are drawn.
    label : str
        In the legend, of one system.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_det(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).get_xlabel()
    'false-alarm rate (%)'
    """
    return _plot(_det, _systems(scores, label or "EER"), axes)


def plot_ece(
    scores: Scores | Mapping[str, Scores], axes: Axes | None = None, *, label: str = ""
) -> Axes:
    """Plot the ECE profile: actual, minimum and that of no evidence, against the prior log odds.

    The area between the last two is the expected privacy disclosure (ZEBRA).

    Parameters
    ----------
    scores : Trials, TrialScores, Evaluation or (target, nontarget), or mapping of str to them
        Of one system, or of several by name: their actual profiles are left out.
    axes : matplotlib Axes, optional
        Default: those of a new figure. On axes of an earlier call all systems are drawn.
    label : str
        In the legend, of one system.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_ece(([3, 5, 7, 8], [1, 2, 4, 6])).get_ylabel()
    'empirical cross-entropy (bit)'
    """
    return _plot(_ece, _systems(scores, label or "minimum"), axes)


def plot_scores(
    scores: Scores | Mapping[str, Scores], axes: Axes | None = None, *, label: str = ""
) -> Axes:
    """Plot histograms and densities of target and nontarget scores, and the local linkability.

    Parameters
    ----------
    scores : Trials, TrialScores, Evaluation or (target, nontarget), or mapping of str to one
    axes : matplotlib Axes, optional
        Default: those of a new figure.
    label : str
        In the title.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_scores(TrialScores([3, 5, 7, 8], [1, 2, 4, 6])).get_xlabel()
    'score'
    """
    return _plot(_densities, _systems(scores, label or "Scores"), axes)


def score_plot(systems: Mapping[str, Scores]) -> Plot:
    """Plot DET curves and ECE profiles of systems side by side."""
    evaluated = _systems(systems, "")
    panels = _det(evaluated), _ece(evaluated)
    return Plot((panels,), legend="below", longest_name=_PATH)


def _systems(scores: Scores | Mapping[str, Scores], name: str) -> _Systems:
    """Evaluate the scores of one system or of several."""
    given = scores if isinstance(scores, Mapping) else {name: scores}
    systems = {}
    for key, of in given.items():
        of_system: object = Trials.of(of).scores if is_table(of) else of
        if isinstance(of_system, tuple | list) and [*map(np.ndim, of_system)] == [1, 1]:
            of_system = TrialScores(*of_system)
        if isinstance(of_system, TrialScores):
            of_system = evaluate(of_system.target, of_system.nontarget)
        if not isinstance(of_system, Evaluation) or of_system.scores is None:
            raise TypeError(
                "expected Trials, TrialScores, what evaluate() returns, or two arrays (target, "
                f"nontarget), not {type(of)}"
            )
        systems[key] = of_system, score_curves(of_system.scores)
    return systems


def _plot(describe: Callable[[_Systems], Panel], systems: _Systems, axes: Axes | None) -> Axes:
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(layout="constrained")[1]
    if describe is not _densities:  # which has one system
        systems = _with_earlier(systems, axes)
    panel = _beside_others(_in_users_colours(describe(systems)), axes)
    others, inside = set(axes.lines), describe is _det
    draw_panel(axes, panel, style.NAME if inside else TITLE)
    for line in set(axes.lines) - others:
        line.set_gid(_DRAWN)
    draw_legend(axes, inside=inside)
    _panels[axes] = panel
    return axes


def _in_users_colours(panel: Panel) -> Panel:
    """Draw what is black in the colour of text, and the rest in the colours of a style that has
    other ones than matplotlib's own."""
    cycles = (settings["axes.prop_cycle"].by_key() for settings in (rcParams, rcParamsDefault))
    colours, default = (cycle.get("color", []) for cycle in cycles)
    fixed = {"black": rcParams["text.color"], "#000000": rcParams["text.color"]}
    others = dict.fromkeys(c.colour for c in panel.curves if c.colour not in (*fixed, style.GREY))
    if colours != default and colours:
        fixed |= dict(zip(others, itertools.cycle(colours), strict=False))
    curves = (replace(c, colour=fixed.get(c.colour, c.colour)) for c in panel.curves)
    return replace(panel, curves=tuple(curves))


def _beside_others(panel: Panel, axes: Axes) -> Panel:
    """Widen the limits, and add ticks, to those of other axes that share them."""
    changes: dict[str, Any] = {}
    for axis in ("x", "y"):
        shared = getattr(axes, f"get_shared_{axis}_axes")().get_siblings(axes)
        others = [one for one in shared if one is not axes and one.has_data()]
        limits = [getattr(one, f"get_{axis}lim")() for one in others]
        ends = [end for pair in (getattr(panel, f"{axis}_limits"), *limits) for end in pair]
        ticks = {*getattr(panel, f"{axis}_ticks")}.union(
            *(getattr(_panels[one], f"{axis}_ticks") for one in others if one in _panels)
        )
        changes[f"{axis}_limits"] = min(ends), max(ends)
        changes[f"{axis}_ticks"] = tuple(sorted(ticks))
    return replace(panel, **changes)


def _with_earlier(systems: _Systems, axes: Axes) -> _Systems:
    """Add the systems that earlier calls drew on the axes, whose lines are removed."""
    drawn = [line for line in axes.lines if line.get_gid() == _DRAWN]
    together = dict(_drawn.get(axes, {})) if drawn else {}  # none: cleared in the meantime
    for line in drawn:
        line.remove()
    for name, system in systems.items():
        names = itertools.chain([name], (f"{name} ({n})" for n in itertools.count(2)))
        together[next(n for n in names if n not in together)] = system
    _drawn[axes] = together
    return together


def _det(systems: _Systems) -> Panel:
    lines = [
        Line(
            name,
            arrays["det_miss"],
            arrays["det_false_alarm"],
            evaluation.values["eer"],
            caveat=withholding_caveat(evaluation.caveats, "eer"),
            interval=_interval(evaluation, "eer"),
        )
        for name, (evaluation, arrays) in systems.items()
    ]
    return det_panel(lines, style.system_styles(list(systems)))


def _interval(evaluation: Evaluation, key: str) -> tuple[float, float] | None:
    bounds = evaluation.intervals.get(key)
    return None if bounds is None else (bounds.low, bounds.high)


def _ece(systems: _Systems) -> Panel:
    profiles = [
        profile_of(
            name,
            arrays,
            evaluation.values,
            evaluation.zebra_tag,
            withholding_caveat(evaluation.caveats, "zebra_population"),
        )
        for name, (evaluation, arrays) in systems.items()
    ]
    looks = style.system_styles(list(systems))
    panel = profile_panel(profiles, [looks[name] for name in systems])
    if len(profiles) > 1:
        return panel
    ((_, arrays),) = systems.values()
    actual = Curve(arrays["prior_log_odds"], arrays["ece_actual"], "actual", colour="#D55E00")
    return replace(panel, curves=(*panel.curves, actual))


def _densities(systems: _Systems) -> Panel:
    if len(systems) > 1:
        raise PrivacyEvalError(f"one system is plotted at a time, not {abbreviate([*systems])}")
    ((name, (evaluation, arrays)),) = systems.items()
    caveat = withholding_caveat(evaluation.caveats, "linkability")
    panel = linkability_panel(arrays, evaluation.values["linkability"], name, caveat)
    return replace(panel, right_label="local linkability D(s)")
