"""Plots of curves in matplotlib and in LaTeX."""

import re
from dataclasses import replace

import numpy as np
import pytest
from figure_data import ODD, texts_of
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_eval.metrics.printed import escape_latex
from privacy_eval.report.figures.drawing import draw
from privacy_eval.report.figures.plot import Curve, Panel, Plot
from privacy_eval.report.figures.tex import MOST_POINTS, thin_curve, to_tex

X = np.linspace(0.0, 1.0, 50)


def panel(**changes: object) -> Panel:
    curves = (
        Curve(
            X,
            X**2,
            ODD,
            "(1, 2)",
            "#0072B2",
            (0, (4, 1.5)),
            marker="v",
            marker_points=np.eye(2) / 2,
        ),
        Curve(X, 1 - X, "second", colour="#E69F00"),
        Curve(X, X / 2, colour="#009E73", fill=True),
    )
    plain = Panel(curves, r"prior $\pi$ (%)", "y (bit)", (0.0, 1.0), (0.0, 1.0), title=ODD)
    return replace(plain, **changes)


def coordinates(tex: str) -> list[np.ndarray]:
    found = re.findall(r"coordinates \{(.*?)\}", tex)
    return [np.array(re.findall(r"\(([^,]+),([^)]+)\)", text), dtype=float) for text in found]


def test_drawings_have_curves_markers_and_labels() -> None:
    canvas = draw(Plot(((panel(),),)))
    (axes,) = canvas.axes
    first, marks, second = axes.lines
    np.testing.assert_array_equal(first.get_ydata(), X**2)
    np.testing.assert_array_equal(np.transpose(marks.get_data()), np.eye(2) / 2)
    assert (marks.get_marker(), marks.get_linestyle()) == ("v", "None")
    np.testing.assert_array_equal(second.get_ydata(), 1 - X)
    assert len(axes.collections) == 1  # the area
    assert texts_of(canvas) == [f"{ODD} (1, 2)", "second"]
    assert axes.get_title().replace(r"\$", "$") == ODD
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"prior $\pi$ (%)", "y (bit)")
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0, 1))


def test_names_in_tex_are_escaped() -> None:
    tex = to_tex(Plot(((panel(side_title=ODD),),), title=ODD), "caption\nof two lines")
    assert ODD not in tex
    assert tex.count(escape_latex(ODD)) == 3  # legend, title of the panel and of all
    assert escape_latex(f"{ODD[:7]}...{ODD[-6:]}") in tex  # side
    assert r"xlabel={prior $\pi$ (\%)}" in tex
    assert tex.splitlines()[0] == "% caption of two lines"


@pytest.mark.parametrize(
    ("length", "entries", "shown"), [(28, 20, 28), (40, 4, 40), (41, 4, 40), (40, 5, 28)]
)
def test_long_names_are_shortened_in_legends(length: int, entries: int, shown: int) -> None:
    name = "x" * (length - 3) + "end"
    curves = tuple(
        Curve(X, X, f"{i}{name[1:]}", "(0.584, 3.979, C)", marker="o") for i in range(entries)
    )
    plot = Plot(((Panel(curves, "x", "y", (0, 1), (0, 1)),),))
    canvas = draw(plot)
    first = texts_of(canvas)[0]
    expected = (
        name if shown == length else f"{name[: shown // 2 - 1]}...{name[length - shown // 2 + 2 :]}"
    )
    expected = f"0{expected[1:]}"
    assert len(expected) in (shown, shown - 1)
    note = "(0.584, 3.979, C)"
    assert first == f"{expected}{' ' if shown == 28 else chr(10)}{note}"
    assert f"\\addlegendentry{{{expected} {note}}}" in to_tex(plot)
    canvas.draw_without_rendering()
    box, (axes,) = canvas.legends[0].get_window_extent(), canvas.axes
    assert canvas.bbox.padded(1).containsx(box.x1)
    assert not box.padded(-2).overlaps(axes.get_window_extent())


def test_tex_is_balanced_and_has_the_points() -> None:
    tex = to_tex(Plot(((panel(), None), (panel(), panel())), legend="bottom"))
    assert tex.count(r"\begin{axis}") == tex.count(r"\end{axis}") == 3
    assert tex.count("{") - tex.count(r"\{") == tex.count("}") - tex.count(r"\}")
    curves = coordinates(tex)
    assert len(curves) == 3 * 4  # three curves and the marks of one
    np.testing.assert_allclose(curves[0], np.column_stack([X, X**2]), rtol=1e-4)
    np.testing.assert_allclose(curves[1], np.eye(2) / 2)
    assert tex.count(r"\addlegendentry") == 2  # once for the whole figure


def test_right_axis_is_separate() -> None:
    both = panel(curves=(Curve(X, X, "left"), Curve(X, 1 - X, "right", right=True)))
    plot = Plot(((both,),), legend="bottom")
    left, right = draw(plot).axes
    assert (len(left.lines), len(right.lines)) == (1, 1)
    assert right.get_ylim() == (0, 1.05)
    tex = to_tex(plot)
    assert tex.count(r"\begin{axis}") == 2 and "axis y line*=right" in tex


def test_points_far_outside_are_moved_to_what_tex_can_count() -> None:
    x, y = thin_curve(X, np.where(X > 0.5, 1e300, X), (0.0, 1.0), (0.0, 2.0))
    assert y.max() == 2 + 50 * 2 and np.array_equal(y[X <= 0.5], X[X <= 0.5])


@settings(max_examples=50)
@given(size=st.integers(2, 2000), bends=st.floats(0.1, 5), power=st.floats(0.2, 5))
def test_thinned_curves_look_the_same(size: int, bends: float, power: float) -> None:
    x = np.linspace(0, 1, size) ** power
    y = np.sin(bends * x)
    few_x, few_y = thin_curve(x, y, (0.0, 1.0), (-1.0, 1.0))
    assert few_x.size <= MOST_POINTS
    assert (few_x[0], few_y[0], few_x[-1], few_y[-1]) == (x[0], y[0], x[-1], y[-1])
    if size <= MOST_POINTS:
        assert few_x.size == size
    elif power <= 1:  # points are close to each other
        np.testing.assert_allclose(np.interp(x, few_x, few_y), y, atol=2e-3)
