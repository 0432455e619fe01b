"""Linkability: histograms, densities and local D(s) of the attack models side by side."""

from pathlib import Path

import numpy as np
import pytest
from metrics.golden import load
from report.figures.figure_data import APART, ODD, data_of_records, record_of, scores_of, simulated
from scipy.integrate import trapezoid

from privacy_eval.curves.figures import linkability_figures
from privacy_eval.metrics import TrialScores, linkability
from privacy_eval.metrics.registry import score_curves
from privacy_eval.report.figures.drawing import Drawing, write
from privacy_eval.report.figures.panels import linkability_panel
from privacy_eval.report.figures.plot import Plot


def test_systems_in_rows_and_attack_models_in_columns(tmp_path: Path) -> None:
    data = simulated(tmp_path, {"B1": 0.0, ODD: 1.0})
    (drawn,) = linkability_figures(data)
    assert drawn.name == "linkability_libri_test_f"
    left = [a for a in drawn.canvas.axes if a.get_title()]
    right = [a for a in drawn.canvas.axes if not a.get_title()]
    assert len(left) == len(right) == 6
    titles = [a.get_title().split(":")[0] for a in left]
    assert titles == ["Ignorant", "Lazy-informed", "Semi-informed"] * 2
    sides = [a.get_ylabel().replace(r"\$", "$") for a in left]
    assert sides == ["B1\ndensity", "", "", f"{ODD[:7]}...{ODD[-6:]}\ndensity", "", ""]
    assert [a.get_ylabel() for a in right] == ["", "", "local D(s)"] * 2
    for record, axes in zip(
        [r for r in data.results.verification if r.condition.attack_model != "original"],
        left,
        strict=True,
    ):
        value = record.values("challenge")["linkability"]
        assert axes.get_title().endswith(rf"$D_\mathrm{{sys}} = {value:.3f}$")


@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
def test_panels_show_the_terms_of_d_sys(apart: float) -> None:
    scores = scores_of(apart, 2000)
    value = linkability(scores).value
    panel = linkability_panel(score_curves(scores), value, "x")
    curves = {c.name: c for c in panel.curves}
    local, target = curves["local D(s)"], curves["target: histogram"]
    for name in ("target", "nontarget"):
        histogram, density = curves[f"{name}: histogram"], curves[f"{name}: density"]
        assert trapezoid(histogram.y, histogram.x) == pytest.approx(1)
        assert trapezoid(density.y, density.x) == pytest.approx(1, abs=0.06)
        assert histogram.fill and not density.fill
    # The mean of D(s) over target scores.
    assert trapezoid(local.y * target.y, target.x) == pytest.approx(value, abs=1e-12)
    assert local.right and 0 <= local.y.min() and local.y.max() <= 1
    assert panel.y_limits[1] >= max(c.y.max() for c in panel.curves if not c.right)


def test_outliers_do_not_compress_the_rest() -> None:
    usual = scores_of(1.0, 8000)
    scores = TrialScores(usual.target, np.append(usual.nontarget, 1e4))
    panel = linkability_panel(score_curves(scores), 0.0, "x")
    assert panel.x_limits[1] < 1e3


def test_missing_attack_models_leave_a_gap(tmp_path: Path) -> None:
    records = [
        record_of(tmp_path, "B1", "lazy-informed", scores_of(1.0)),
        record_of(tmp_path, "B2", "ignorant", scores_of(APART["ignorant"])),
        record_of(tmp_path, "B2", "lazy-informed", scores_of(1.0)),
        record_of(tmp_path, "K2", "ignorant", scores_of(1.0), without=["density_target"]),
    ]
    (drawn,) = linkability_figures(data_of_records(tmp_path, records))
    shape = [[p is not None for p in row] for row in drawn.plot.rows]
    assert shape == [[False, True], [True, True]]
    assert len(drawn.canvas.axes) == 2 * 3
    first = drawn.plot.rows[0][1]
    assert first is not None and first.side_title == "B1" and first.right_label == "local D(s)"


def test_many_systems_are_split_over_several_figures(tmp_path: Path) -> None:
    data = simulated(tmp_path, {f"S{i}": i / 5 for i in range(6)}, ("ignorant",))
    drawn = list(linkability_figures(data))
    assert [d.name for d in drawn] == [f"linkability_libri_test_f_{i}" for i in (1, 2)]
    assert [len(d.plot.rows) for d in drawn] == [3, 3]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["beyond_float32", "perfectly_separated", "one_bin_of_ties"])
def test_odd_scores_are_drawn(tmp_path: Path, name: str) -> None:
    panel = linkability_panel(score_curves(load(name).scores), 0.5, "x")
    plot = Plot(((panel,),), legend="bottom")
    assert all(path.stat().st_size > 1000 for path in write(Drawing("x", "", plot), tmp_path))
