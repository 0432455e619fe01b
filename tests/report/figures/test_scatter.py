"""Scatter plots: every point is two cells of one system; styles are those of all systems."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from figure_data import CONFIG, ODD, PUBLISHED, data_of, texts_of
from matplotlib.axes import Axes
from matplotlib.colors import same_color

from privacy_eval.report.figures import scatter, style
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.report.values import Cell, Cells, Place, merged

Point = tuple[str, str, float, float]


def drawings(cells: Cells) -> dict[str, Drawing]:
    return {d.name: d for d in scatter.figures(data_of(cells))}


def points(axes: Axes) -> list[Point]:
    """System, split, x and y of what is drawn."""
    found = []
    for line in axes.lines:
        system, _, split = str(line.get_gid()).rpartition("/")
        found += [(system, split, x, y) for x, y in line.get_xydata()]
    return sorted(found)


def expected(panel: scatter.Panel, cells: Cells = PUBLISHED) -> list[Point]:
    found = []
    for t in CONFIG.trial_sets():
        for system in (*cells.systems, "Orig"):
            at = (t.split, t.data_set.id, t.gender, system)
            x, y = (cells.get(a.metric, a.attack_model, *at) for a in (panel.x, panel.y))
            if x is not None and y is not None:
                values = (
                    style.shown(panel.x.metric, x.value),
                    style.shown(panel.y.metric, y.value),
                )
                found.append((system, t.split, *values))
    return sorted(found)


def few(value: float = 0.3, systems: tuple[str, ...] = (ODD, "B")) -> Cells:
    return Cells(
        {
            Place(metric, "ignorant", split, "libri", "f", system): Cell(value, "")
            for metric in ("eer", "cllr_min", "cllr")
            for split in CONFIG.splits
            for system in systems
        },
        systems,
        frozenset({ODD}),
    )


@pytest.mark.parametrize("x, y", scatter.PAIRS)
def test_every_point_is_two_cells(x: str, y: str) -> None:
    panels = scatter.attack_panels(PUBLISHED, CONFIG, x, y)
    assert [p.x.attack_model for p in panels] == ["ignorant", "lazy-informed", "semi-informed"]
    canvas = drawings(PUBLISHED)[f"scatter_{x}_{y}"].canvas
    for axes, panel in zip(canvas.axes, panels, strict=True):
        assert points(axes) == expected(panel)
        assert axes.get_xlabel() == style.METRIC_LABELS[x]
        assert axes.get_yscale() == ("log" if y == "cllr" else "linear")
    assert len(points(canvas.axes[0])) == 19 * 12
    assert len(points(canvas.axes[2])) == (6 + 1) * 12


def test_deid_against_other_metrics() -> None:
    panels = scatter.deid_panels(PUBLISHED, CONFIG)
    assert {p.x for p in panels} == {scatter.Axis("deid", None)}
    assert [p.y for p in panels] == [
        scatter.Axis("gvd_db", None),
        scatter.Axis("eer", "ignorant"),
        scatter.Axis("cllr_min", "ignorant"),
    ]
    canvas = drawings(PUBLISHED)["scatter_deid"].canvas
    for axes, panel in zip(canvas.axes, panels, strict=True):
        assert points(axes) == expected(panel)
        assert axes.get_ylabel() == style.METRIC_LABELS[panel.y.metric]


def test_a_subset_keeps_its_styles_and_the_last_split_is_filled() -> None:
    styles = style.system_styles(PUBLISHED.systems)
    panels = scatter.attack_panels(PUBLISHED, CONFIG, "eer", "cllr_min")
    groups = {split: split for split in CONFIG.splits}
    axes = scatter.scatter(PUBLISHED, panels, groups, ["S2", "K2", "Orig"]).axes[0]
    assert {p[0] for p in points(axes)} == {"S2", "K2", "Orig"}
    for line in axes.lines:
        system, _, split = str(line.get_gid()).rpartition("/")
        assert line.get_marker() == styles[system].marker
        if split == "test":
            assert same_color(line.get_markerfacecolor(), styles[system].colour)
        else:
            assert line.get_markerfacecolor() == "none"
            assert same_color(line.get_markeredgecolor(), styles[system].colour)


def test_the_legend_names_every_system_literally() -> None:
    canvas = drawings(few())["scatter_eer_cllr_min"].canvas
    assert texts_of(canvas) == [ODD, "B", "Dev. set", "Test set"]
    first, second, *_ = canvas.legends[0].get_texts()
    assert first.get_text() == style.literal(ODD)
    assert first.get_fontweight() == "bold" and second.get_fontweight() == "normal"


@pytest.mark.parametrize(("split", "title"), [("test", "Test set"), ("dev", "Dev. set")])
def test_a_split_without_points_is_not_named(split: str, title: str) -> None:
    values = {p: c for p, c in few().values.items() if p.split == split}
    drawing = drawings(replace(few(), values=values))["scatter_eer_cllr_min"]
    assert f"of the {title}." in drawing.caption
    assert texts_of(drawing.canvas) == [ODD, "B", title]


def test_a_value_without_its_partner_makes_no_point() -> None:
    cells = few()
    values = {p: c for p, c in cells.values.items() if (p.metric, p.system) != ("cllr_min", "B")}
    (axes,) = drawings(replace(cells, values=values))["scatter_eer_cllr_min"].canvas.axes
    assert {p[0] for p in points(axes)} == {ODD}


def test_infinite_values_are_counted() -> None:
    cells = few()
    place = Place("cllr", "ignorant", "test", "libri", "f", "B")
    cells = replace(cells, values={**cells.values, place: Cell(math.inf, "inf")})
    (axes,) = drawings(cells)["scatter_eer_cllr"].canvas.axes
    assert [t.get_text() for t in axes.texts] == ["infinite, not shown: 1"]
    assert len(points(axes)) == 3


def test_figures_are_those_with_points() -> None:
    names = [*(f"scatter_{x}_{y}" for x, y in scatter.PAIRS), "scatter_deid"]
    assert list(drawings(PUBLISHED)) == names
    found = drawings(few())
    assert list(found) == ["scatter_eer_cllr_min", "scatter_eer_cllr"]
    assert "filled: Test set, open: Dev. set" in found["scatter_eer_cllr"].caption


def test_a_caption_says_where_original_speech_is_of_several_sources() -> None:
    def original(data_set: str) -> Cells:
        return Cells(
            {
                Place(metric, "original", "test", data_set, "f", "Orig"): Cell(0.3, "0.300")
                for metric in ("eer", "cllr_min")
            },
            (),
        )

    mine = replace(few(), values={**few().values, **original("libri").values})
    captions = {
        kind: drawings(cells)["scatter_eer_cllr_min"].caption
        for kind, cells in (
            ("both", merged([mine, original("vctk_common")])),
            ("one", merged([mine])),
        )
    }
    words = "Original speech: of another source, where the first has none: "
    assert captions["both"].endswith(f"{words}eer (test), cllr_min (test).")
    assert words not in captions["one"]


def test_many_systems_go_on_several_figures() -> None:
    cells = few(systems=tuple(f"S{i}" for i in range(90)))
    found = [d for name, d in drawings(cells).items() if name.startswith("scatter_eer_cllr_m")]
    drawn = [{p[0] for p in points(d.canvas.axes[0])} for d in found]
    assert [len(systems) for systems in drawn] == [30, 30, 30]
    assert set().union(*drawn) == set(cells.systems)
