"""Figures of listening tests: what is drawn is what was computed or published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from scipy.special import ndtr

from privacy_eval.io.ratings import read_ratings
from privacy_eval.listening import figures as drawn
from privacy_eval.listening.evaluation import (
    QUANTITIES,
    ListeningTest,
    ListeningTestCurves,
    evaluate_ratings,
)
from privacy_eval.listening.tables import objective_and_subjective, pooled_table
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published
from privacy_eval.report.figures import style
from privacy_eval.report.figures.tex import to_tex
from privacy_eval.simulate.ratings import simulate_ratings

PLAN = load_protocol("vpc2020")
KEY = "".join(
    f"{e} {s}-{u} {'target' if e == s else 'nontarget'}\n"
    for e in range(3)
    for s in range(3)
    for u in range(5)
)
Test = tuple[ListeningTest, ListeningTestCurves]


def evaluated(folder: Path, *systems: str) -> Test:
    path = folder / "ratings.csv"
    path.write_text(simulate_ratings(systems, {("libri", "f"): KEY}))
    return evaluate_ratings(read_ratings([path]), PLAN)


@pytest.fixture(scope="module")
def test(tmp_path_factory: pytest.TempPathFactory) -> Test:
    return evaluated(tmp_path_factory.mktemp("test"), "_50%_team & $x$ Co", "B2")


def styles_of(test: ListeningTest) -> dict[str, style.SystemStyle]:
    return dict(style.system_styles([drawn.column(s) for s in test.systems]))


def test_violins_are_the_distributions(test: Test) -> None:
    result, curves = test
    (figure,) = drawn.violin_figures(result, curves, styles_of(result))
    assert figure.name == "subjective_violin"
    assert "dotted line: median of _50%_team & $x$ Co" in figure.caption
    assert len(figure.canvas.axes) == 4
    for axes, quantity in zip(figure.canvas.axes, QUANTITIES, strict=True):
        of_quantity = [d for d in result.distributions if d.quantity == quantity]
        assert [c.get_gid() for c in axes.collections] == [
            f"{quantity}/{d.system}" for d in of_quantity
        ]
        assert [t.get_text() for t in axes.texts] == [f"{d.mean:.2f}" for d in of_quantity]
        medians = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "o"]
        assert medians == [d.median for d in of_quantity]
        (reference,) = [line for line in axes.lines if line.get_linestyle() == ":"]
        assert list(reference.get_ydata()) == [of_quantity[1].median] * 2
        bodies = [c.get_paths()[0].vertices[:, 0] for c in axes.collections]
        for at, body in enumerate(bodies):
            assert body.max() - at == pytest.approx(at - body.min()) == pytest.approx(0.42)
    labels = [t.get_text() for t in figure.canvas.axes[2].get_xticklabels()]
    assert labels[0] == "Orig" and labels[1].count(r"\$") == 2
    figure.canvas.draw_without_rendering()


def test_det_panels_are_the_stored_curves(test: Test) -> None:
    result, curves = test
    found = {d.name: d for d in drawn.det_figures(result, curves, styles_of(result))}
    assert list(found) == [
        "subjective_det_pooled",
        "subjective_det_similarity_pooled",
        "subjective_det_libri",
        "subjective_det_similarity_libri",
    ]
    above = [figure.canvas.get_suptitle() for figure in found.values()]
    assert above == ["All data sets pooled"] * 2 + ["LibriSpeech"] * 2
    four = found["subjective_det_pooled"].plot
    assert [len(row) for row in four.rows] == [2, 2]
    names = [sorted(c.name for c in panel.curves) for _, _, panel in four.panels()]
    anonymized = ["B2", "_50%_team & $x$ Co"]
    assert names == [
        anonymized,
        anonymized,
        ["B2", "Orig", anonymized[1]],
        ["B2", "Orig", anonymized[1]],
    ]
    (one,) = [p for _, _, p in found["subjective_det_similarity_libri"].plot.panels()]
    eers = {
        drawn.column(d.system): (d.values("exact")["eer"], d.curve_eer)
        for d in result.detections
        if (d.quantity, d.data_set, d.gender) == ("similarity", "libri", None)
    }
    assert {c.name: c.note for c in one.curves} == {
        name: f"({100 * eer:.3f} %)" for name, (eer, _) in eers.items()
    }
    for curve in one.curves:
        assert ndtr(curve.marks) == pytest.approx(np.full((1, 2), eers[curve.name][1]))
    assert any(eer != of_curve for eer, of_curve in eers.values())
    (pooled,) = [p for _, _, p in found["subjective_det_similarity_pooled"].plot.panels()]
    table = pooled_table(result)
    assert table is not None
    assert {c.name: c.note for c in pooled.curves} == {
        drawn.column(system): f"({eer} %)" for system, eer, *_ in table.groups[0]
    }
    for d in found.values():
        assert "Marked: where the curve" in d.caption
        assert "Figures 25 and 26" in d.caption
        assert ("EER as in tables" in d.caption) == ("similarity" in d.name)
    assert "subjective EERs are of" in found["subjective_det_similarity_libri"].caption
    for figure in found.values():
        to_tex(figure.plot, figure.caption)


def scatter_points(canvas: Canvas) -> set[tuple[str, float, float]]:
    return {
        (str(line.get_gid()), float(x), float(y))
        for axes in canvas.axes
        for line in axes.lines
        for x, y in np.atleast_2d(line.get_xydata())
    }


def test_figures_27_to_30_come_from_the_published_table_alone() -> None:
    cells = objective_and_subjective(None, None, "vpc2020")
    found = list(drawn.figures(None, None, cells, PLAN, "test"))
    metrics = ("eer", "rocch_eer", "cllr_min", "cllr")
    assert [d.name for d in found] == [f"subjective_scatter_{m}" for m in metrics]
    table = [p for p in load_published("vpc2020") if p.table == 18]
    for figure, metric in zip(found, metrics, strict=True):
        printed = {(p.metric, f"{p.data_set}/{p.gender}/{p.system}"): float(p.value) for p in table}
        wanted = {
            (place, x, printed[f"subjective_{metric}", place])
            for (name, place), x in printed.items()
            if name == metric
        }
        points = scatter_points(figure.canvas)
        assert len(points) == len(wanted) == 60
        for (a, *xy), (b, *expected) in zip(sorted(points), sorted(wanted), strict=True):
            assert a == b and xy == pytest.approx(expected)
        titles = [axes.get_title(loc="left") for axes in figure.canvas.axes]
        assert titles == ["LibriSpeech", "VCTK (common)", "VCTK (different)"]
        scales = {axes.get_xscale() for axes in figure.canvas.axes}
        assert scales == {"log" if metric == "cllr" else "linear"}


def test_a_test_without_objective_values_has_no_scatter_plots(test: Test) -> None:
    cells = objective_and_subjective(test[0])
    names = [d.name for d in drawn.figures(*test, cells, PLAN, "test")]
    assert names and not [n for n in names if "scatter" in n]


def test_many_systems_go_over_several_figures(tmp_path: Path) -> None:
    names = [f"system_number_{i}" for i in range(drawn.MOST_CURVES + 1)]
    result, curves = evaluated(tmp_path, *names)
    styles = styles_of(result)
    violins = list(drawn.violin_figures(result, curves, styles))
    assert [d.name for d in violins] == ["subjective_violin_1", "subjective_violin_2"]
    bodies = [len(d.canvas.axes[0].collections) for d in violins]
    assert sum(bodies) == len(names) + 1 and max(bodies) <= drawn.MOST_VIOLINS
    dets = {d.name: d for d in drawn.det_figures(result, curves, styles)}
    assert "subjective_det_pooled_2" in dets and "subjective_det_similarity_pooled" in dets
    shown = [
        {
            c.name
            for _, _, panel in dets[f"subjective_det_pooled_{i}"].plot.panels()
            for c in panel.curves
        }
        for i in (1, 2)
    ]
    assert shown[0] & shown[1] == {"Orig"}
    assert shown[0] | shown[1] == {*names, "Orig"}


def test_only_what_was_rated_has_a_panel(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(
        "evaluator,system,trial,naturalness\na,Original,u,9\na,B1,u,3\nb,B1,u,4\nb,B1,v,2\n"
    )
    result, curves = evaluate_ratings(read_ratings([path]), PLAN)
    cells = objective_and_subjective(result)
    found = {d.name: d for d in drawn.figures(result, curves, cells, PLAN, "test")}
    assert list(found) == ["subjective_violin", "subjective_det_pooled"]
    assert len(found["subjective_violin"].canvas.axes) == 1
    assert "Figures 25 and 26" not in found["subjective_det_pooled"].caption
    for figure in found.values():
        figure.canvas.draw_without_rendering()
