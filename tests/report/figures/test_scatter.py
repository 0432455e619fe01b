"""Scatter plots: every point is two cells of one system; styles are those of all systems."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color

from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.report.figures import scatter, style
from privacy_eval.report.values import Cell, Cells, Place, cells_of_published, merged

CONFIG = load_protocol("vpc2020")
PUBLISHED = cells_of_published("vpc2020")
ODD = "_50%_team & $x$ Co"
Point = tuple[str, str, float, float]


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
            x, y = cells.get(*panel.x, *at), cells.get(*panel.y, *at)
            if x is not None and y is not None:
                values = (style.shown(panel.x[0], x.value), style.shown(panel.y[0], y.value))
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
    assert [p.x[1] for p in panels] == ["ignorant", "lazy-informed", "semi-informed"]
    canvas = scatter.scatter(PUBLISHED, CONFIG, panels)
    assert len(canvas.axes) == 3
    for axes, panel in zip(canvas.axes, panels, strict=True):
        assert points(axes) == expected(panel)
        assert axes.get_xlabel() == style.METRIC_LABELS[x]
        assert axes.get_yscale() == ("log" if y == "cllr" else "linear")
    assert len(points(canvas.axes[0])) == 19 * 12
    assert len(points(canvas.axes[2])) == (6 + 1) * 12


def test_deid_against_other_metrics() -> None:
    panels = scatter.deid_panels(PUBLISHED, CONFIG)
    assert [(p.x, p.y) for p in panels] == [
        (("deid", None), ("gvd_db", None)),
        (("deid", None), ("eer", "ignorant")),
        (("deid", None), ("cllr_min", "ignorant")),
    ]
    canvas = scatter.scatter(PUBLISHED, CONFIG, panels)
    for axes, panel in zip(canvas.axes, panels, strict=True):
        assert points(axes) == expected(panel)
        assert axes.get_ylabel() == style.METRIC_LABELS[panel.y[0]]


def test_a_subset_keeps_its_styles_and_the_last_split_is_filled() -> None:
    styles = style.system_styles(PUBLISHED.systems)
    panels = scatter.attack_panels(PUBLISHED, CONFIG, "eer", "cllr_min")
    axes = scatter.scatter(PUBLISHED, CONFIG, panels, systems=["S2", "K2"]).axes[0]
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
    cells = few()
    canvas = scatter.scatter(cells, CONFIG, scatter.attack_panels(cells, CONFIG, "eer", "cllr_min"))
    (legend,) = canvas.legends
    texts = legend.get_texts()
    assert [t.get_text() for t in texts] == [style.literal(ODD), "B", "Dev. set", "Test set"]
    assert texts[0].get_fontweight() == "bold" and texts[1].get_fontweight() == "normal"


def test_a_split_without_points_is_not_named() -> None:
    cells = few()
    test = {p: c for p, c in cells.values.items() if p.split == "test"}
    for values, words, title in (
        (test, "A point per system, data set and gender of the Test set.", "Test set"),
        ({p: c for p, c in cells.values.items() if p not in test}, "of the Dev. set.", "Dev. set"),
    ):
        drawing = next(scatter.figures(replace(cells, values=values), CONFIG))
        assert words in drawing.caption
        (legend,) = drawing.canvas.legends
        assert [t.get_text() for t in legend.get_texts()] == [style.literal(ODD), "B", title]


def test_a_value_without_its_partner_makes_no_point() -> None:
    cells = few()
    values = {p: c for p, c in cells.values.items() if (p.metric, p.system) != ("cllr_min", "B")}
    cells = replace(cells, values=values)
    (panel,) = scatter.attack_panels(cells, CONFIG, "eer", "cllr_min")
    axes = scatter.scatter(cells, CONFIG, [panel]).axes[0]
    assert {p[0] for p in points(axes)} == {ODD}


def test_infinite_values_are_counted() -> None:
    cells = few()
    place = Place("cllr", "ignorant", "test", "libri", "f", "B")
    cells = replace(cells, values={**cells.values, place: Cell(math.inf, "inf")})
    axes = scatter.scatter(cells, CONFIG, scatter.attack_panels(cells, CONFIG, "eer", "cllr")).axes[
        0
    ]
    assert [t.get_text() for t in axes.texts] == ["infinite, not shown: 1"]
    assert len(points(axes)) == 3


def test_figures_are_those_with_points() -> None:
    names = [d.name for d in scatter.figures(PUBLISHED, CONFIG)]
    assert names == [*(f"scatter_{x}_{y}" for x, y in scatter.PAIRS), "scatter_deid"]
    drawings = list(scatter.figures(few(), CONFIG))
    assert [d.name for d in drawings] == ["scatter_eer_cllr_min", "scatter_eer_cllr"]
    assert "filled: Test set, open: Dev. set" in drawings[0].caption
    assert list(scatter.figures(Cells({}, ()), CONFIG)) == []


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
        kind: next(scatter.figures(cells, CONFIG)).caption
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
    drawings = [
        d for d in scatter.figures(cells, CONFIG) if d.name.startswith("scatter_eer_cllr_m")
    ]
    drawn = [{p[0] for p in points(d.canvas.axes[0])} for d in drawings]
    assert [len(systems) for systems in drawn] == [30, 30, 30]
    assert set().union(*drawn) == set(cells.systems)


def test_same_bytes_twice(tmp_path: Path) -> None:
    cells = few()
    for folder in ("a", "b"):
        style.write(next(scatter.figures(cells, CONFIG)), tmp_path / folder)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
