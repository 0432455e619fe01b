"""ECE profiles: what is drawn is what is stored, in the order of D_ECE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit
from simulated_curves import APART, CONFIG, ODD, record_of, results_of, scores_of, simulated
from support import changed

from privacy_eval.metrics import population_disclosure
from privacy_eval.report.figures import ece, style
from privacy_eval.report.figures.draw import CurveDrawing
from privacy_eval.results.records import Results


def entries(drawn: CurveDrawing) -> list[str]:
    texts = drawn.canvas.legends[0].get_texts()
    return [t.get_text().replace(r"\$", "$") for t in texts]


def test_systems_of_a_condition_in_the_order_of_their_disclosure(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 1.0, ODD: 0.0, "K2": 2.0})
    drawn = {d.name: d for d in ece.profiles(results, curves, over=["log odds"])}
    assert list(drawn) == [
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
    stored = curves.of(record)
    assert stored is not None
    np.testing.assert_array_equal(lines[2].get_xdata(), stored["prior_log_odds"])
    np.testing.assert_array_equal(lines[2].get_ydata(), stored["ece_minimum"])
    values = record.values("challenge")
    triple = f"({values['zebra_population']:.3f}, {values['zebra_individual']:.3f}, "
    assert entries(one)[2] == f"B1 {triple}{record.tag('challenge')})"
    assert lines[2].get_color() == style.system_styles(results.systems)["B1"].colour


def test_full_privacy_is_black_and_the_entropy_of_the_prior(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 0.0})
    for over in ("log odds", "log10 odds", "prior"):
        drawn = next(ece.profiles(results, curves, over=[over]))
        line = drawn.canvas.axes[0].lines[0]
        assert line.get_color() == "#000000" and line.get_linewidth() == 2
        x = np.asarray(line.get_xdata())
        prior = {"log odds": expit(x), "log10 odds": expit(x * np.log(10)), "prior": x}[over]
        inner = (prior > 0) & (prior < 1)
        p = prior[inner]
        entropy = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
        np.testing.assert_allclose(np.asarray(line.get_ydata())[inner], entropy, atol=1e-12)
        # Nothing lies above it.
        for other in drawn.plot.rows[0][0].curves[1:]:  # type: ignore[union-attr]
            assert np.all(other.y <= line.get_ydata() + 1e-12)


def test_the_area_to_full_privacy_over_the_prior_is_d_ece(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 0.0})
    for drawn in ece.profiles(results, curves, over=["prior"]):
        full, *profiles = drawn.plot.rows[0][0].curves  # type: ignore[union-attr]
        assert (full.x[0], full.x[-1], full.y[0], full.y[-1]) == (0, 1, 0, 0)
        for curve in profiles:
            attack = "original" if curve.name == "Orig" else drawn.name.split("_")[1]
            expected = population_disclosure(scores_of(APART[attack]))
            assert trapezoid(full.y - curve.y, full.x) == pytest.approx(expected, abs=5e-4)
            assert curve.note.startswith(f"({expected:.3f}, ")


def test_marks_lie_on_their_curves(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 0.0, "B2": 1.0})
    for drawn in ece.profiles(results, curves):
        for curve in drawn.plot.rows[0][0].curves[1:]:  # type: ignore[union-attr]
            expected = np.interp(curve.marks[:, 0], curve.x, curve.y)
            np.testing.assert_allclose(curve.marks[:, 1], expected, atol=1e-12)
            assert len(curve.marks) == 7 and curve.marker


def test_more_systems_than_a_figure_holds_go_over_several(tmp_path: Path) -> None:
    systems = {f"S{i}": i / 20 for i in range(23)}
    results, curves = simulated(tmp_path, systems, ("ignorant", "original"))
    drawn = list(ece.profiles(results, curves, over=["log odds"]))
    assert [d.name for d in drawn] == [f"ece_ignorant_libri_test_f_{i}" for i in (1, 2)]
    shown = [e.split(" ")[0] for d in drawn for e in entries(d)]
    assert sorted(set(shown) - {"full", "Orig"}) == sorted(systems)
    assert shown.count("Orig") == 2 and len(shown) == 23 + 4
    assert "(2 of 2)" in drawn[1].caption


def test_a_system_and_its_conditions(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 0.0, "B2": 1.0}, genders="fm")
    drawn = list(ece.system_profiles(results, curves, systems=["B2"]))
    assert [d.name for d in drawn] == ["ece_system_B2_test"]
    assert drawn[0].canvas.get_suptitle() == "B2, Test set"
    axes = drawn[0].canvas.axes
    assert [a.get_title() for a in axes] == [a.title for a in CONFIG.attack_models]
    for one in axes:
        names = [t.get_text() for t in one.get_legend().get_texts()]
        assert names[0] == "full privacy"
        assert {n.split(" (")[0] for n in names[1:]} == {"LibriSpeech female", "LibriSpeech male"}


def test_conventional_plots_are_of_the_stored_curves(tmp_path: Path) -> None:
    results, curves = simulated(tmp_path, {"B1": 0.0}, ("lazy-informed",))
    (drawn,) = ece.conventional(results, curves)
    assert drawn.name == "conventional_B1_lazy-informed_libri_test_f"
    assert drawn.canvas.get_suptitle() == "B1, LibriSpeech test, female, lazy-informed"
    stored = curves.of(results.verification[0])
    assert stored is not None
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
    names = [t.get_text() for t in drawn.canvas.legends[0].get_texts()]
    assert names == ["without evidence", "actual", "minimum"]


def test_an_actual_curve_above_the_panel_is_said_to_be(tmp_path: Path) -> None:
    bad = record_of(tmp_path, "B1", "ignorant", scores_of(0.0, seed=3))
    results, curves = results_of(tmp_path, [bad])
    arrays = dict(curves.of(bad) or {})
    arrays["ece_actual"] = arrays["ece_zero_evidence"] * 7
    plot = ece.conventional_plot(arrays)
    titles = [p.title for _, _, p in plot.panels()]
    assert titles == ["", "", "actual: 7 and above", ""]


def test_what_has_no_curves_is_left_out_and_named(tmp_path: Path) -> None:
    good = record_of(tmp_path, "B1", "ignorant", scores_of(1.0))
    old = record_of(tmp_path, "B2", "ignorant", scores_of(1.0), without=["dcf_actual"])
    imported = changed(good, system="K2", curves=None, curves_sha256=None)
    nameless = changed(good, name="ASV-x", attack_model=None)
    results, curves = results_of(tmp_path, [good, old, imported, nameless])
    assert list(ece.skipped(results, curves, ece.PROFILE)) == [
        "K2 ASV-ignorant-test-f (no curves stored (imported results have none))",
        "B1 ASV-x (no attack model of the plan)",
    ]
    left_out = list(ece.skipped(results, curves, ece.CONVENTIONAL))
    assert left_out[0].startswith("B2 ASV-ignorant-test-f (curves of an earlier version")
    assert [d.name.split("_")[1] for d in ece.conventional(results, curves)] == ["B1"]
    (drawn,) = ece.profiles(results, curves, over=["prior"])
    assert [e.split(" (")[0] for e in entries(drawn)] == ["full privacy", "B1", "B2"]
    assert list(ece.figures(Results(CONFIG, (imported,)), curves)) == []
