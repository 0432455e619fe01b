"""DET curves: probit axes, markers at the EERs, all curves visible."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from report.figures.figure_data import (
    ODD,
    data_of_records,
    record_of,
    scores_of,
    simulated,
    texts_of,
)
from scipy.special import ndtr, ndtri

from privacy_eval.curves import figures
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.metrics.detection import det_curve
from privacy_eval.report.figures import panels, style
from privacy_eval.report.figures.axes import plot_det, plot_ece


def crossing(miss: NDArray[np.float64], false_alarm: NDArray[np.float64]) -> float:
    """Where the polyline meets miss = false alarm, by bisection along the way."""
    place = np.arange(miss.size)

    def rates(at: float) -> tuple[float, float]:
        return float(np.interp(at, place, miss)), float(np.interp(at, place, false_alarm))

    low, high = 0.0, miss.size - 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if np.subtract(*rates(middle)) >= 0 else (middle, high)
    return rates(high)[0]


def line(scores: TrialScores, name: str = "B1") -> panels.Line:
    return panels.Line(name, *det_curve(scores), kaldi_eer(scores).value)


def test_the_marker_is_on_the_curve_where_kaldis_eer_is_not(tmp_path: Path) -> None:
    # Between the scores 2 and 3 one nontarget of four is above and two targets of ten below; at 3
    # a third one falls below: the step crosses the diagonal at 0.25.
    scores = TrialScores([1, 2, 3, 4, 5, 6, 7, 8, 10, 11], [0.0, 0.5, 0.7, 9.0])
    data = data_of_records(tmp_path, [record_of(tmp_path, "B1", "ignorant", scores)])
    (drawn,) = figures.det_figures(data)
    (curve,) = drawn.plot.curves
    assert ndtr(curve.marker_points) == pytest.approx(np.full((1, 2), 0.25))
    axes = plot_det(scores, Figure().subplots())
    np.testing.assert_array_equal(axes.lines[-1].get_xydata(), curve.marker_points)
    assert axes.get_legend().get_texts()[0].get_text() == f"EER {curve.note}"
    kaldi = kaldi_eer(scores).value
    assert (
        kaldi in (0.2, 0.3)
        and curve.note == f"? too few trials ({100 * kaldi:.2f}? %, curve 25.00? %)"
    )


@pytest.mark.parametrize("plot", [plot_det, plot_ece])
def test_curves_of_several_calls_on_one_axes_are_told_apart(plot: Callable[..., Axes]) -> None:
    scores, others = (
        TrialScores([3, 5, 7, 8], [1, 2, 4, 6]),
        TrialScores([3, 5, 7, 8], [1, 2, 4, 9]),
    )
    axes = Figure().subplots()
    own = axes.axhline(0.5)  # of the user: stays
    for of_system, label in ((scores, "a"), (others, "b"), (others, "b")):
        plot(of_system, axes, label=label)
    together = plot({"a": scores, "b": others, "b (2)": others}, Figure().subplots())
    drawn = [line for line in axes.lines if line is not own]
    assert len(drawn) == len(together.lines) and own in axes.lines
    for line, expected in zip(drawn, together.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), expected.get_xydata())
        assert line.get_color() == expected.get_color()
    texts = [[t.get_text() for t in a.get_legend().get_texts()] for a in (axes, together)]
    assert texts[0] == texts[1] and axes.get_xlim() == together.get_xlim()
    axes.clear()
    plot(others, axes, label="c")
    assert len(axes.lines) == len(plot(others, Figure().subplots()).lines)


def test_damaged_curves_are_omitted(tmp_path: Path) -> None:
    records = [record_of(tmp_path, "B1", "ignorant", scores_of(1.0))]
    data = data_of_records(tmp_path, records)
    for miss, false_alarm in (([0.0], [0.0]), ([0.0, 0.0], [1.0, 1.0]), ([1e308], [-1e308])):
        arrays = {"det_miss": np.array(miss), "det_false_alarm": np.array(false_alarm)}
        stored = SimpleNamespace(plotted=lambda _, arrays=arrays: arrays)
        assert not list(figures.det_figures(replace(data, arrays=stored)))  # type: ignore[arg-type]


def test_curves_and_eers_of_a_condition(tmp_path: Path) -> None:
    data = simulated(tmp_path, {"B1": 1.0, ODD: 0.0})
    drawn = list(figures.det_figures(data))
    assert [d.name for d in drawn] == [
        f"det_{a}_libri_test_f" for a in ("ignorant", "lazy-informed", "semi-informed")
    ]
    (axes,) = drawn[1].canvas.axes
    records = {
        r.condition.system: r
        for r in data.results.verification
        if r.condition.attack_model == "lazy-informed"
    }
    eers = {name: r.values("challenge")["eer"] for name, r in records.items()}
    texts = texts_of(drawn[1].canvas)
    arrays = {n: data.arrays.of(records[n]) for n in (ODD, "B1")}
    meet = {n: crossing(c["det_miss"], c["det_false_alarm"]) for n, c in arrays.items() if c}
    assert texts[:2] == [
        f"{n} ({100 * eers[n]:.2f} %, curve {100 * meet[n]:.2f} %)" for n in (ODD, "B1")
    ]
    assert texts[2].startswith("Orig (")
    stored = arrays["B1"]
    found = axes.lines[2]
    drawn_rates = {(round(m, 9), round(f, 9)) for m, f in ndtr(found.get_data()[::-1]).T}
    rates = zip(stored["det_miss"][1:-1], stored["det_false_alarm"][1:-1], strict=True)
    expected = {(round(m, 9), round(f, 9)) for m, f in rates if 0 < m < 1 and 0 < f < 1}
    assert expected <= drawn_rates
    mark = axes.lines[3]
    assert ndtr(mark.get_xdata()[0]) == pytest.approx(meet["B1"]) != pytest.approx(eers["B1"])
    assert mark.get_xdata()[0] == mark.get_ydata()[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("false-alarm rate (%)", "miss rate (%)")


def test_axes_are_equal_and_on_the_probit_scale(tmp_path: Path) -> None:
    for drawn in figures.det_figures(simulated(tmp_path, {"B1": 1.0})):
        (axes,) = drawn.canvas.axes
        assert axes.get_xlim() == axes.get_ylim() and axes.get_box_aspect() == 1
        for axis in (axes.xaxis, axes.yaxis):
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            for at, text in ticks:
                assert 100 * ndtr(at) == pytest.approx(float(text.get_text()))


@pytest.mark.parametrize("apart", [-1.0, 0.0, 1.0, 3.0, 6.0])
def test_the_eer_lies_within_the_axes_and_on_the_curve(apart: float) -> None:
    one = line(scores_of(apart, 4000))
    panel = panels.det_panel([one], style.system_styles(["B1"]))
    low, high = panel.x_limits
    assert 0.001 <= ndtr(low) + 1e-12 and ndtr(high) <= 0.99 + 1e-12
    (curve,) = panel.curves
    visible = (curve.x >= low) & (curve.x <= high) & (curve.y >= low) & (curve.y <= high)
    assert visible.any()
    if one.marker > 0.001:
        assert low < curve.marker_points[0, 0] < high
        way = np.linspace(0, curve.x.size - 1, 50 * curve.x.size)
        place = np.arange(curve.x.size)
        polyline = [
            np.interp(way, place, v) - curve.marker_points[0, 0] for v in (curve.x, curve.y)
        ]
        assert np.hypot(*polyline).min() < 0.1


def test_bands_of_few_curves_are_in_probits() -> None:
    band = np.array([0.01, 0.5]), np.array([0.1, 0.0]), np.array([0.9, 0.2])
    lines = [replace(line(scores_of(1.0, 400), f"B{i}"), band=band) for i in range(5)]
    styles = style.system_styles([one.name for one in lines])
    assert not any(c.fill for c in panels.det_panel(lines, styles).curves)
    panel = panels.det_panel(lines[:1], styles)
    (drawn,) = (c for c in panel.curves if c.fill)
    assert drawn.base is not None
    assert 100 * ndtr(drawn.x) == pytest.approx([1, 50])
    assert 100 * ndtr(drawn.base) == pytest.approx([10, 0])
    assert 100 * ndtr(drawn.y) == pytest.approx([90, 20])


def test_a_curve_beyond_the_corner_runs_along_the_axes() -> None:
    separated = line(TrialScores(np.full(20, 1.0), np.zeros(30)), "B1")
    panel = panels.det_panel(
        [separated, line(scores_of(1.0), "B2")], style.system_styles(["B1", "B2"])
    )
    curve = next(c for c in panel.curves if c.name == "B1")
    low, high = panel.x_limits
    assert curve.note == "(0.00 %, curve 0.00 %)"
    assert low == pytest.approx(ndtri(0.001))
    assert (curve.x.min(), curve.x.max(), curve.y.min(), curve.y.max()) == (low, high, low, high)
    assert np.all((curve.x == low) | (curve.y == low))


@given(points=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12))
def test_steps_in_both_rates_are_straight_in_the_rates(points: list[tuple[int, int]]) -> None:
    miss = np.array([0, *sorted(m for m, _ in points), 20]) / 20
    false_alarm = np.array([20, *sorted((f for _, f in points), reverse=True), 0]) / 20
    x, y = panels.probit_curve(miss, false_alarm)
    assert np.all(np.isfinite(x)) and np.all(np.isfinite(y))
    assert np.all(np.diff(x) <= 1e-9) and np.all(np.diff(y) >= -1e-9)
    # Along the way, u = miss - false alarm tells the place on the polyline of the rates.
    u, v = miss - false_alarm, miss + false_alarm
    kept = np.append(True, np.diff(u) > 0)
    at = ndtr(y) - ndtr(x)
    np.testing.assert_allclose(np.interp(at, u[kept], v[kept]), ndtr(y) + ndtr(x), atol=1e-6)


def test_tied_scores_of_chance_are_the_diagonal() -> None:
    one = line(TrialScores([1.0] * 5, [1.0] * 9))
    x, y = panels.probit_curve(one.miss, one.false_alarm)
    np.testing.assert_allclose(x, -y, atol=1e-6)
    assert np.abs(np.diff(x)).max() < 1.1 * np.abs(x).max() and x.size > 20


def test_records_without_points_are_omitted(tmp_path: Path) -> None:
    records = [
        record_of(tmp_path, "B1", "ignorant", scores_of(1.0), without=["det_miss"]),
        record_of(tmp_path, "B2", "ignorant", scores_of(1.0)),
    ]
    (drawn,) = figures.det_figures(data_of_records(tmp_path, records))
    assert [c.name for c in drawn.plot.curves] == ["B2"]
