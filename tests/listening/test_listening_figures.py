"""Figures of listening tests against computed and published values."""

from pathlib import Path

import numpy as np
import pytest
from listening_support import PROTOCOL, Evaluated, ratings_of, simulated
from scipy.special import ndtr

from privacy_eval.listening.evaluation import QUANTITIES, evaluate_ratings
from privacy_eval.listening.figures import MOST_CURVES, MOST_VIOLINS, figures
from privacy_eval.listening.tables import (
    listening_column,
    listening_test_tables,
    objective_and_subjective,
)
from privacy_eval.protocol.published import load_published
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.report.figures.tex import to_tex

PARTS = ("mean", "median")
ODD = "_50%_team & $x$ Co"


def evaluated(folder: Path, *systems: str) -> Evaluated:
    text = simulated(*systems, places=[("libri", "f")])
    return evaluate_ratings(ratings_of(text, folder), PROTOCOL)


def drawings(test: Evaluated) -> dict[str, Drawing]:
    cells = objective_and_subjective(test[0])
    return {d.name: d for d in figures(*test, cells, PROTOCOL, "test")}


@pytest.fixture(scope="module")
def test(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated(tmp_path_factory.mktemp("test"), ODD, "B2")


def test_violins_are_the_distributions(test: Evaluated) -> None:
    result, figure = test[0], drawings(test)["subjective_violin"]
    assert f"dotted line: median of {ODD}" in figure.caption
    for axes, quantity in zip(figure.canvas.axes, QUANTITIES, strict=True):
        of_quantity = {s: d for (q, s), d in result.distributions.items() if q == quantity}
        assert [c.get_gid() for c in axes.collections] == [f"{quantity}/{s}" for s in of_quantity]
        means, of_systems = ([d[f"rank_{n}"] for d in of_quantity.values()] for n in PARTS)
        assert [t.get_text() for t in axes.texts] == [f"{mean:.2f}" for mean in means]
        medians = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "o"]
        assert medians == of_systems
        (reference,) = [line for line in axes.lines if line.get_linestyle() == ":"]
        assert list(reference.get_ydata()) == [of_systems[1]] * 2
        bodies = [c.get_paths()[0].vertices[:, 0] for c in axes.collections]
        for at, body in enumerate(bodies):
            assert body.max() - at == pytest.approx(at - body.min()) == pytest.approx(0.42)
    labels = [t.get_text() for t in figure.canvas.axes[2].get_xticklabels()]
    assert labels[0] == "Orig" and labels[1].count(r"\$") == 2
    figure.canvas.draw_without_rendering()


def test_det_panels_are_the_stored_curves(test: Evaluated) -> None:
    result, actual = test[0], drawings(test)
    names = [
        f"subjective_det{kind}_{part}"
        for part in ("pooled", "libri")
        for kind in ("", "_similarity")
    ]
    assert list(actual) == ["subjective_violin", *names]
    above = [actual[name].canvas.get_suptitle() for name in names]
    assert above == ["All data sets pooled"] * 2 + ["LibriSpeech"] * 2
    four = actual["subjective_det_pooled"].plot
    assert [len(row) for row in four.rows] == [2, 2]
    curves = [{c.name for c in panel.curves} for _, _, panel in four.panels()]
    assert curves == [{"B2", ODD}] * 2 + [{"B2", "Orig", ODD}] * 2
    of_similarity = {c.name: c for c in actual["subjective_det_similarity_libri"].plot.curves}
    of_libri = {"quantity": "similarity", "data_set": "libri", "gender": None}
    eers, on_curves = (
        {listening_column(row["system"]): row["value"] for row in of}
        for variant, metric in (("exact", "eer"), (None, "curve_eer"))
        for of in [result.measurements.select(metric=metric, variant=variant, **of_libri)]
    )
    assert of_similarity.keys() == eers.keys() == on_curves.keys()
    for name, eer in eers.items():
        assert of_similarity[name].note == f"({100 * eer:.3f} %)"
        at = ndtr(of_similarity[name].marker_points)
        assert at == pytest.approx(np.full((1, 2), on_curves[name]))
    assert eers != on_curves
    cells = objective_and_subjective(result)
    tables = listening_test_tables(result, cells, PROTOCOL, "test")
    (table,) = [table for table in tables if table.name == "subjective_pooled"]
    pooled = actual["subjective_det_similarity_pooled"].plot.curves
    assert {c.name: c.note for c in pooled} == {
        listening_column(system): f"({eer} %)" for system, eer, *_ in table.groups[0]
    }
    for name in names:
        caption = actual[name].caption
        assert "Figures 25 and 26" in caption
        assert ("EER as in tables" in caption) == ("similarity" in name)
        to_tex(actual[name].plot, caption)


def test_figures_27_to_30_come_from_the_published_table_alone() -> None:
    cells = objective_and_subjective(None, None, "vpc2020")
    items = list(figures(None, None, cells, PROTOCOL, "test"))
    metrics = ("eer", "rocch_eer", "cllr_min", "cllr")
    assert [d.name for d in items] == [f"subjective_scatter_{m}" for m in metrics]
    printed: dict[str, dict[tuple[str, str], float]] = {}
    for p in load_published("vpc2020"):
        if p.table == 18:
            place = (PROTOCOL.data_set(p.data_set).title, f"{p.system}/{p.gender}")
            printed.setdefault(p.metric, {})[place] = float(p.value)
    for figure, metric in zip(items, metrics, strict=True):
        points = {
            (axes.get_title(loc="left"), str(line.get_gid())): tuple(line.get_xydata()[0])
            for axes in figure.canvas.axes
            for line in axes.lines
        }
        x, y = printed[metric], printed[f"subjective_{metric}"]
        assert points == {place: pytest.approx((x[place], y[place])) for place in x if place in y}
        assert len(points) == 60
        scales = {axes.get_xscale() for axes in figure.canvas.axes}
        assert scales == {"log" if metric == "cllr" else "linear"}


def test_many_systems_are_split_over_several_figures(tmp_path: Path) -> None:
    names = [f"system_number_{i}" for i in range(MOST_CURVES + 1)]
    by_name = drawings(evaluated(tmp_path, *names))
    bodies = [len(by_name[f"subjective_violin_{i}"].canvas.axes[0].collections) for i in (1, 2)]
    assert sum(bodies) == len(names) + 1 and max(bodies) <= MOST_VIOLINS
    assert "subjective_det_similarity_pooled" in by_name
    shown = [{c.name for c in by_name[f"subjective_det_pooled_{i}"].plot.curves} for i in (1, 2)]
    assert shown[0] & shown[1] == {"Orig"}
    assert shown[0] | shown[1] == {*names, "Orig"}


def test_only_rated_quantities_have_a_panel(tmp_path: Path) -> None:
    text = "evaluator,system,trial,naturalness\na,Original,u,9\na,B1,u,3\nb,B1,u,4\nb,B1,v,2\n"
    by_name = drawings(evaluate_ratings(ratings_of(text, tmp_path), PROTOCOL))
    assert list(by_name) == ["subjective_violin", "subjective_det_pooled"]
    assert len(by_name["subjective_violin"].canvas.axes) == 1
    assert "Figures 25 and 26" not in by_name["subjective_det_pooled"].caption
    for figure in by_name.values():
        figure.canvas.draw_without_rendering()
