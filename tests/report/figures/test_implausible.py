"""Implausible values in figures: shown as such in the picture, named in the captions concerned."""

from dataclasses import replace
from pathlib import Path

import pytest
from figure_data import data_of_records, record_of, scores_of, texts_of
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.container import BarContainer
from support import ANON, imported, inverted, with_eer

from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.figures import all_figures, style
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.results.records import Results

IMPLAUSIBLE = "EER above 65 % is implausible"


def figures_of(results: Results) -> dict[str, Drawing]:
    data = ReportData(results, cells_from_results(results))
    return {d.name: d for d in all_figures(data, everything=True)}


def test_captions_of_figures_name_implausible_scores() -> None:
    for systems in ((), ("mine",)):
        captions = {name: d.caption for name, d in figures_of(inverted(*systems)).items()}
        assert any(name.startswith("bars_eer") for name in captions)
        for name, caption in captions.items():
            # Planes show anonymized speech only, whose attackers failed on original speech.
            found = IMPLAUSIBLE in caption or "Implausible scores of original" in caption
            assert found is bool(systems), name


def test_captions_count_the_conditions_drawn_only() -> None:
    results = imported(ANON, protocol="vpc2022")
    r = next(r for r in results.verification if r.condition.attack_model == "semi-informed")
    records = [with_eer(r, 0.9), *results.verification]
    records.remove(r)
    figures = figures_of(replace(results, verification=tuple(records)))
    split = r.condition.split
    (other,) = {"dev", "test"} - {split}
    caption = figures[f"bars_eer_{split}"].caption
    assert "1 condition of B1" in caption and r.condition.label not in caption
    assert "implausible" not in figures[f"bars_eer_{other}"].caption
    assert "implausible" in figures["bars_mean_eer"].caption
    assert "implausible" not in figures[f"bars_gvd_db_{split}"].caption  # of x-vectors


def hollow(axes: Axes, series: str) -> set[str]:
    """Systems with a hollow, hatched, grey bar."""
    (bars,) = (
        c for c in axes.containers if isinstance(c, BarContainer) and c.get_label() == series
    )
    names = [t.get_text() for t in axes.get_xticklabels()]
    grey = to_rgba(style.GREY)
    return {
        names[round(p.get_x() + p.get_width() / 2)]
        for p in bars.patches
        if p.get_hatch() and p.get_facecolor() == to_rgba("white") and p.get_edgecolor() == grey
    }


def marks(axes: Axes) -> int:
    return sum(t.get_text() == "?" for t in axes.texts)


def test_pictures_show_implausible_values() -> None:
    figures = figures_of(inverted("mine"))
    mean = figures["bars_mean_eer"]
    assert "No bar of Orig, mine: " in mean.caption and "mine" not in texts_of(mean.canvas)
    for name in ("bars_eer_test", "bars_cllr_min_test"):
        canvas = figures[name].canvas
        assert "? implausible" in texts_of(canvas)
        for axes in canvas.axes:
            assert hollow(axes, "lazy-informed") == {"mine"}, name
            assert marks(axes) == 2 + 1, name  # two attack models, original speech
            assert axes.get_xticklabels()[-1].get_text() == "mine"
    canvas = figures["scatter_eer_cllr_min"].canvas
    assert "? implausible" in texts_of(canvas)
    for axes in canvas.axes:
        for line in axes.lines:
            of_mine = str(line.get_gid()).startswith(("mine/", "Orig/"))
            assert (line.get_markeredgecolor() == style.GREY) is of_mine
            assert line.get_markerfacecolor() == "none" or not of_mine
        assert marks(axes) >= 12
    for figure in figures_of(inverted()).values():
        assert "? implausible" not in (texts_of(figure.canvas) if figure.canvas.legends else ())


@pytest.mark.wing("curves")
def test_legends_of_curves_name_implausible_scores(tmp_path: Path) -> None:
    conditions = {"good": 1.0, "bad": -2.0}
    data = data_of_records(
        tmp_path,
        [record_of(tmp_path, s, "ignorant", scores_of(apart)) for s, apart in conditions.items()],
    )
    figures = {d.name: d for d in all_figures(data, conventional=True, everything=True)}
    for name in ("ece_ignorant_libri_test_f", "det_ignorant_libri_test_f"):
        *others, last = texts_of(figures[name].canvas)
        assert last.startswith("bad ? implausible (") and last.count("?") >= 3
        assert not any("?" in text for text in others)
        assert figures[name].plot.curves[-1].colour == style.GREY
    assert "(? implausible)" in figures["conventional_bad_ignorant_libri_test_f"].plot.title
    by_system = figures["linkability_libri_test_f"].plot.rows
    titles = [panel.title_math for row in by_system for panel in row if panel]
    assert [title.endswith("?") for title in titles] == [False, True]
