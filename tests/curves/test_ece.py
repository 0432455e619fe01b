"""ECE profiles: curves equal the stored arrays, in the order of D_ECE."""

from pathlib import Path

import numpy as np
import pytest
from report.figures.figure_data import (
    APART,
    CONFIG,
    ODD,
    data_of_records,
    record_of,
    scores_of,
    simulated,
    texts_of,
)
from scipy.integrate import trapezoid
from scipy.special import expit
from support import changed

from privacy_eval.curves import figures
from privacy_eval.metrics.llr import ece_profile, population_disclosure
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.figures import panels, style
from privacy_eval.report.figures.drawing import Drawing


def profiles(data: ReportData, prefix: str = "ece") -> dict[str, Drawing]:
    """Profiles over log odds, or over the prior, or of a system."""
    return {d.name: d for d in figures.ece_figures(data) if d.name.startswith(f"{prefix}_")}


def entries(drawn: Drawing) -> list[str]:
    return texts_of(drawn.canvas)


def test_systems_of_a_condition_in_the_order_of_their_disclosure(tmp_path: Path) -> None:
    data = simulated(tmp_path, {"B1": 1.0, ODD: 0.0, "K2": 2.0})
    results, drawn = data.results, profiles(data)
    assert [name for name in drawn if "system" not in name] == [
        f"ece_{attack}_libri_test_f" for attack in ("ignorant", "lazy-informed", "semi-informed")
    ]
    one = drawn["ece_lazy-informed_libri_test_f"]
    assert [e.split(" (")[0] for e in entries(one)] == ["full privacy", ODD, "B1", "K2", "Orig"]
    assert "LibriSpeech test, female, lazy-informed" in one.caption
    (axes,) = one.canvas.axes
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    record = next(
        r for r in results.of("B1").verification if r.condition.attack_model == "lazy-informed"
    )
    stored = data.arrays.of(record)
    np.testing.assert_array_equal(lines[2].get_xdata(), stored["prior_log_odds"])
    np.testing.assert_array_equal(lines[2].get_ydata(), stored["ece_minimum"])
    values = record.values("challenge")
    triple = f"({values['zebra_population']:.3f}, {values['zebra_individual']:.3f}, "
    assert entries(one)[2] == f"B1 {triple}{record.tag('challenge')})"
    assert lines[2].get_color() == style.system_styles(results.systems)["B1"].colour


@pytest.mark.parametrize("over", ["log odds", "prior"])
def test_full_privacy_is_black_and_the_entropy_of_the_prior(over: panels.Over) -> None:
    found = ece_profile(scores_of(0.3))
    arrays = found["prior_log_odds"], found["minimum"], found["zero_evidence"]
    looks = list(style.system_styles(["x"]).values())[:1]
    panel = panels.profile_panel([panels.Profile("x", *arrays, 0.1, 0.2, "A")], looks, over=over)
    full, profile = panel.curves
    assert full.colour == "#000000" and full.width == 2
    prior = {"log odds": expit(full.x), "prior": full.x}
    inner = (prior[over] > 0) & (prior[over] < 1)
    p = prior[over][inner]
    entropy = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    np.testing.assert_allclose(full.y[inner], entropy, atol=1e-12)
    assert np.all(profile.y <= full.y + 1e-12)


def test_the_area_to_full_privacy_over_the_prior_is_d_ece(tmp_path: Path) -> None:
    for drawn in profiles(simulated(tmp_path, {"B1": 0.0}), "ece-prior").values():
        full, *others = drawn.plot.curves
        assert (full.x[0], full.x[-1], full.y[0], full.y[-1]) == (0, 1, 0, 0)
        for curve in others:
            attack = "original" if curve.name == "Orig" else drawn.name.split("_")[1]
            expected = population_disclosure(scores_of(APART[attack]))
            assert trapezoid(full.y - curve.y, full.x) == pytest.approx(expected, abs=5e-4)
            assert curve.note.startswith(f"({expected:.3f}, ")


def test_markers_are_on_their_curves(tmp_path: Path) -> None:
    for drawn in figures.ece_figures(simulated(tmp_path, {"B1": 0.0, "B2": 1.0})):
        for curve in (c for c in drawn.plot.curves if c.name != "full privacy"):
            expected = np.interp(curve.marker_points[:, 0], curve.x, curve.y)
            np.testing.assert_allclose(curve.marker_points[:, 1], expected, atol=1e-12)
            assert len(curve.marker_points) == 7 and curve.marker


def test_many_systems_are_split_over_several_figures(tmp_path: Path) -> None:
    systems = {f"S{i}": i / 20 for i in range(23)}
    data = simulated(tmp_path, systems, ("ignorant", "original"))
    drawn = list(profiles(data, "ece_ignorant").values())
    assert [d.name for d in drawn] == [f"ece_ignorant_libri_test_f_{i}" for i in (1, 2)]
    shown = [e.split(" ")[0] for d in drawn for e in entries(d)]
    assert sorted(set(shown) - {"full", "Orig"}) == sorted(systems)
    assert shown.count("Orig") == 2 and len(shown) == 23 + 4
    assert "(2 of 2)" in drawn[1].caption


def test_a_system_and_its_conditions(tmp_path: Path) -> None:
    drawn = profiles(simulated(tmp_path, {"B1": 0.0, "B2": 1.0}, genders="fm"), "ece_system")
    assert list(drawn) == ["ece_system_B1_test", "ece_system_B2_test"]
    canvas = drawn["ece_system_B2_test"].canvas
    assert canvas.get_suptitle() == "B2, Test set"
    axes = canvas.axes
    assert [a.get_title() for a in axes] == [a.title for a in CONFIG.attack_models]
    for one in axes:
        names = texts_of(one)
        assert names[0] == "full privacy"
        assert {n.split(" (")[0] for n in names[1:]} == {"LibriSpeech female", "LibriSpeech male"}


def test_conventional_plots_are_of_the_stored_curves(tmp_path: Path) -> None:
    data = simulated(tmp_path, {"B1": 0.0}, ("lazy-informed",))
    (drawn,) = figures.conventional_figures(data)
    assert drawn.name == "conventional_B1_lazy-informed_libri_test_f"
    assert drawn.canvas.get_suptitle() == "B1, LibriSpeech test, female, lazy-informed"
    stored = data.arrays.of(data.results.verification[0])
    cross_entropy, cost, necr, nber = drawn.canvas.axes
    prior = expit(stored["prior_log_odds"])
    default = {"ece": stored["ece_zero_evidence"], "dcf": np.minimum(prior, 1 - prior)}
    for kind, above, below in (("ece", cross_entropy, necr), ("dcf", cost, nber)):
        for number, curve in enumerate((default[kind], stored[f"{kind}_actual"])):
            np.testing.assert_allclose(above.lines[number].get_ydata(), curve, rtol=1e-9)
        np.testing.assert_array_equal(above.lines[2].get_ydata(), stored[f"{kind}_minimum"])
        minimum = stored[f"{kind}_minimum"] / default[kind]
        np.testing.assert_allclose(below.lines[2].get_ydata(), minimum, rtol=1e-9)
        assert np.all(below.lines[0].get_ydata() == 1)
        assert below.get_ylim()[1] <= 1.8
    assert entries(drawn) == ["without evidence", "actual", "minimum"]


def test_actual_curves_above_the_panel_are_noted(tmp_path: Path) -> None:
    bad = record_of(tmp_path, "B1", "ignorant", scores_of(0.0, seed=3))
    arrays = dict(data_of_records(tmp_path, [bad]).arrays.of(bad) or {})
    arrays["ece_actual"] = arrays["ece_zero_evidence"] * 7
    plot = figures.conventional_plot(arrays)
    titles = [p.title for _, _, p in plot.panels()]
    assert titles == ["", "", "actual: 7 and above", ""]


def test_records_without_arrays_or_attack_model_are_omitted(tmp_path: Path) -> None:
    good = record_of(tmp_path, "B1", "ignorant", scores_of(1.0))
    old = record_of(tmp_path, "B2", "ignorant", scores_of(1.0), without=["dcf_actual"])
    imported = changed(good, system="K2", curves=None, curves_sha256=None)
    nameless = changed(good, name="ASV-x", attack_model=None)
    data = data_of_records(tmp_path, [good, old, imported, nameless])
    assert [d.name.split("_")[1] for d in figures.conventional_figures(data)] == ["B1"]
    (drawn,) = profiles(data, "ece-prior").values()
    assert [e.split(" (")[0] for e in entries(drawn)] == ["full privacy", "B1", "B2"]
