"""Scatter plots: every point is two cells of one system; styles are those of all systems."""

import math
from dataclasses import replace

import pytest
from figure_data import ATTACKS, CONFIG, ODD, PUBLISHED, data_of, texts_of
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from support import chosen, side_by_side

from privacy_eval.metrics import describe
from privacy_eval.numbers.cells import Cells, merge_cells, place_of
from privacy_eval.report.figures import scatter, style
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.report.figures.scatter import Axis
from privacy_eval.results.measurements import Measurements

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


def expected(x: Axis, y: Axis) -> list[Point]:
    found = []
    for t in CONFIG.trial_sets():
        for system in (*PUBLISHED.systems, "Orig"):
            at = (t.split, t.data_set.id, t.gender, system)
            cells = [PUBLISHED.get(a.metric, a.attack_model, *at) for a in (x, y)]
            if None not in cells:
                values = [
                    describe(a.metric).printed(c["value"])
                    for a, c in zip((x, y), cells, strict=True)
                    if c
                ]
                found.append((system, t.split, *values))
    return sorted(found)


def few(value: float = 0.3, systems: tuple[str, ...] = (ODD, "B")) -> Cells:
    return side_by_side(
        {
            (metric, "ignorant", split, "libri", "f", system): value
            for metric in ("eer", "cllr_min", "cllr")
            for split in CONFIG.splits
            for system in systems
        },
        systems,
        own=frozenset({ODD}),
    )


AGAINST_DEID = (("gvd_db", None), ("eer", "ignorant"), ("cllr_min", "ignorant"))
PANELS = {
    **{
        f"scatter_{x}_{y}": [(Axis(x, a), Axis(y, a)) for a in ATTACKS[1:]]
        for x, y in scatter.PAIRS
    },
    "scatter_deid": [(Axis("deid", None), Axis(*y)) for y in AGAINST_DEID],
}


@pytest.mark.parametrize("name", PANELS)
def test_points_are_pairs_of_cells(name: str) -> None:
    canvas = drawings(PUBLISHED)[name].canvas
    for axes, (x, y) in zip(canvas.axes, PANELS[name], strict=True):
        assert points(axes) == expected(x, y)
        assert axes.get_xlabel() == describe(x.metric).axis
        assert axes.get_yscale() == ("log" if y.metric == "cllr" else "linear")
    assert len(points(canvas.axes[0])) >= 18 * 12


def test_styles_are_those_among_all_systems_and_the_last_split_is_filled() -> None:
    styles = style.system_styles(PUBLISHED.systems)
    axes = drawings(PUBLISHED)["scatter_eer_cllr_min"].canvas.axes[2]
    assert len({p[0] for p in points(axes)}) == 6 + 1
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
    assert first.get_text() == style.escape_mathtext(ODD)
    assert first.get_fontweight() == "bold" and second.get_fontweight() == "normal"


@pytest.mark.parametrize(("split", "title"), [("test", "Test set"), ("dev", "Dev. set")])
def test_a_split_without_points_is_not_named(split: str, title: str) -> None:
    drawing = drawings(chosen(few(), lambda row: row["split"] == split))["scatter_eer_cllr_min"]
    assert f"of the {title}." in drawing.caption
    assert texts_of(drawing.canvas) == [ODD, "B", title]


def test_infinite_values_are_counted() -> None:
    place = ("cllr", "ignorant", "test", "libri", "f", "B")
    changed = ({**r, "value": math.inf} if place_of(r) == place else r for r in few().rows)
    cells = replace(few(), rows=Measurements.of(changed))
    (axes,) = drawings(cells)["scatter_eer_cllr"].canvas.axes
    assert [t.get_text() for t in axes.texts] == ["infinite, not drawn: 1"]
    assert len(points(axes)) == 3


def test_figures_are_those_with_points() -> None:
    assert list(drawings(PUBLISHED)) == list(PANELS)
    found = drawings(few())
    assert list(found) == ["scatter_eer_cllr_min", "scatter_eer_cllr"]
    assert "filled: Test set, open: Dev. set" in found["scatter_eer_cllr"].caption


@pytest.mark.parametrize("mixed", [True, False])
def test_captions_note_original_speech_of_several_sources(mixed: bool) -> None:
    first, second = (
        {(metric, "original", "test", data_set, "f", "Orig"): 0.3 for metric in ("eer", "cllr_min")}
        for data_set in ("libri", "vctk_common")
    )
    rows = Measurements.of([*few().rows, *side_by_side(first).rows])
    mine = replace(few(), rows=rows)
    cells = merge_cells([mine, side_by_side(second)] if mixed else [mine])
    words = "Original speech: another source if missing in the first: EER (test), min Cllr"
    assert (words in drawings(cells)["scatter_eer_cllr_min"].caption) == mixed


def test_many_systems_are_split_over_several_figures() -> None:
    cells = few(systems=tuple(f"S{i}" for i in range(90)))
    found = [d for name, d in drawings(cells).items() if name.startswith("scatter_eer_cllr_m")]
    drawn = [{p[0] for p in points(d.canvas.axes[0])} for d in found]
    assert [len(systems) for systems in drawn] == [30, 30, 30]
    assert set().union(*drawn) == set(cells.systems)
