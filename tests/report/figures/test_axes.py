"""Plots on a user's axes: beside own lines, in the user's style, with shared axes, by LaTeX."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_data import ODD
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import TrialScores, evaluate
from privacy_eval.metrics.printed import escape_latex
from privacy_eval.metrics.trials import Trials
from privacy_eval.report.figures.axes import plot_det, plot_ece, plot_scores

RANDOM = np.random.default_rng(1)
WEAK = TrialScores(RANDOM.normal(1.0, 1, 400), RANDOM.normal(0, 1, 2000))
STRONG = TrialScores(RANDOM.normal(3.0, 1, 400), RANDOM.normal(0, 1, 2000))


def entries(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [text.get_text().strip() for text in legend.get_texts()]


@pytest.mark.parametrize("plot", [plot_det, plot_ece, plot_scores])
def test_one_legend_has_own_lines_and_those_of_the_plot(plot) -> None:  # type: ignore[no-untyped-def]
    """Drawn before or after, by the plot's own legend or the user's."""
    alone = entries(plot(WEAK, Figure().subplots(), label="_B1"))
    assert len(alone) == {plot_det: 1, plot_ece: 3, plot_scores: 5}[plot]
    axes = Figure().subplots()
    axes.plot([0, 1], [0.1, 0.2], label="mine")
    plot(WEAK, axes, label="_B1")
    assert sorted(entries(axes)) == sorted([*alone, "mine"])
    axes.axvline(0.5, label="another")
    axes.legend()
    assert sorted(entries(axes)) == sorted([*alone, "mine", "another"])
    if plot is not plot_scores:
        assert any(text.startswith("_B1") for text in alone)


@pytest.mark.parametrize("plot", [plot_det, plot_ece, plot_scores])
def test_all_kinds_of_scores_give_the_same_lines(plot) -> None:  # type: ignore[no-untyped-def]
    values = [WEAK.target, WEAK.nontarget]
    order = np.random.default_rng(2).permutation(2400)
    trials = Trials(
        score=np.concatenate(values)[order], label=np.repeat([True, False], [400, 2000])[order]
    )
    want = plot(WEAK, Figure().subplots(), label="x")
    for scores in (trials, tuple(values), [v.tolist() for v in values], evaluate(*values)):
        for axes in (plot(scores, Figure().subplots(), label="x"), plot({"x": scores})):
            assert entries(axes) == entries(want)
            for one, other in zip(axes.lines, want.lines, strict=True):
                assert np.array_equal(one.get_xydata(), other.get_xydata())
    for wrong in ([1.0, 2.0], "scores", ([[1.0]], [[2.0]])):
        with pytest.raises(TypeError, match="two arrays"):
            plot(wrong)
    plt.close("all")


def test_several_systems_of_several_kinds() -> None:
    several = {"weak": (WEAK.target, WEAK.nontarget), "strong": STRONG}
    for plot in (plot_det, plot_ece):
        axes = plot(several, Figure().subplots())
        shown = entries(axes)
        assert all(any(text.startswith(name) for text in shown) for name in several)
    with pytest.raises(PrivacyEvalError, match="one system .* weak, strong"):
        plot_scores(several, Figure().subplots())


@pytest.mark.parametrize("style", ["dark_background", "ggplot", "grayscale", "seaborn-v0_8"])
@pytest.mark.parametrize("plot", [plot_det, plot_ece, plot_scores])
def test_lines_have_the_colours_of_the_users_style(plot, style: str) -> None:  # type: ignore[no-untyped-def]
    with plt.style.context(style):
        axes = plot(WEAK, Figure().subplots())
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        expected = {to_rgb(colour) for colour in (*cycle, plt.rcParams["text.color"])}
        found = {to_rgb(line.get_color()) for line in axes.lines}
        assert found <= expected and to_rgb(axes.get_facecolor()) not in found


def test_lines_keep_their_colours_in_matplotlibs_own_style() -> None:
    axes = plot_ece(WEAK, Figure().subplots())
    assert {to_rgb("#000000"), to_rgb("#0072B2")} < {to_rgb(x.get_color()) for x in axes.lines}


@pytest.mark.parametrize("shared", [{"sharey": True}, {"sharex": True}, {"sharey": "row"}])
def test_shared_axes_cut_no_panel(shared: dict[str, object]) -> None:
    first, second = Figure().subplots(1, 2, **shared)
    alone = [plot_det(scores, Figure().subplots()) for scores in (WEAK, STRONG)]
    plot_det(WEAK, first)
    plot_det(STRONG, second)
    axis = "x" if "sharex" in shared else "y"
    limits = [getattr(axes, f"get_{axis}lim")() for axes in alone]
    low, high = min(x for x, _ in limits), max(y for _, y in limits)
    assert limits[0] != limits[1]
    for axes in (first, second):
        assert getattr(axes, f"get_{axis}lim")() == (low, high)
        ticks = set(getattr(axes, f"get_{axis}ticks")())
        assert ticks == {t for one in alone for t in getattr(one, f"get_{axis}ticks")()}


def test_an_axis_shared_with_other_data_shows_both() -> None:
    axes = Figure().subplots()
    axes.plot([0, 20], [100, 300])
    twin = axes.twinx()
    plot_ece(WEAK, twin)
    low, high = axes.get_xlim()
    assert low <= -10 and high >= 20 and twin.get_ylim() == (0.0, 1.05)
    assert axes.get_ylim()[1] > 300


@pytest.mark.parametrize("plot", [plot_det, plot_ece, plot_scores])
def test_texts_are_escaped_for_latex(plot) -> None:  # type: ignore[no-untyped-def]
    """With `text.usetex`: labels, legend and title; without it, nothing is escaped."""
    with plt.rc_context({"text.usetex": True}):
        axes = plot(WEAK, Figure().subplots(), label=ODD)
        texts = [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(), *entries(axes)]
    assert any(escape_latex(ODD) in text for text in texts)
    for text in texts:
        assert all(text[at - 1] == "\\" for at, c in enumerate(text) if c in "%&#")
    plain = plot_det(WEAK, Figure().subplots(), label="50%_x")
    assert plain.get_xlabel() == "false-alarm rate (%)" and entries(plain)[0].startswith("50%_x")
