"""Bars: heights are the cells' values, in the captions' order; nothing is invented."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer

from privacy_eval.metrics import bengio_mariethoz_interval
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.report.figures import bars, style
from privacy_eval.report.values import (
    ORIGINAL_COLUMN,
    Cell,
    Cells,
    Place,
    cells_of_published,
    merged,
)

CONFIG = load_protocol("vpc2020")
PUBLISHED = cells_of_published("vpc2020")
#: For what is said of a single figure: all metrics and systems take long.
_FEW = ("B1", "B2", "K2", ORIGINAL_COLUMN)
PUBLISHED_EER = replace(
    PUBLISHED,
    systems=tuple(s for s in PUBLISHED.systems if s in _FEW),
    values={p: c for p, c in PUBLISHED.values.items() if p.metric == "eer" and p.system in _FEW},
)
ODD = "_50%_team & $x$ Co"
SEMI = {"B1", "B2", "K2", "M1", "O1", "S2"}


def own(name: str = ODD, **changes: object) -> Cells:
    """A system whose EER is known of female speakers of LibriSpeech test alone."""
    cell = replace(Cell(0.2, "20.00", n_target=100, n_nontarget=900), **changes)
    values = {
        Place("eer", attack, "test", "libri", "f", name): cell
        for attack in ("ignorant", "lazy-informed")
    }
    return Cells(values, (name,), frozenset({name}))


def order(axes: Axes) -> list[str]:
    """Systems from left to right, also where names stand below another panel only."""
    texts = axes.xaxis.get_major_formatter().format_ticks(axes.get_xticks())
    return [t.replace("\\$", "$") for t in texts]


def heights(axes: Axes) -> dict[str, dict[str, float]]:
    """By series and system."""
    systems = order(axes)
    return {
        str(c.get_label()): {
            systems[round(p.get_x() + p.get_width() / 2)]: p.get_height() for p in c.patches
        }
        for c in axes.containers
        if isinstance(c, BarContainer)
    }


def whiskers(axes: Axes) -> list[tuple[float, float]]:
    return [
        (segment[0][1], segment[1][1])
        for c in axes.collections
        if isinstance(c, LineCollection)
        for segment in c.get_segments()
    ]


@pytest.mark.parametrize("metric", ["eer", "cllr_min"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_every_bar_is_its_cell_and_females_set_the_order(metric: str, split: str) -> None:
    canvas = bars.metric_bars(PUBLISHED, CONFIG, split, metric)
    panels = [(d.id, g) for d in CONFIG.data_sets for g in CONFIG.genders]
    assert len(canvas.axes) == len(panels) == 6
    for axes, (data_set, gender) in zip(canvas.axes, panels, strict=True):
        drawn = heights(axes)
        assert list(drawn) == ["original", "ignorant", "lazy-informed"]
        assert list(drawn["original"]) == ["Orig"]
        assert set(drawn["ignorant"]) == set(PUBLISHED.systems)
        for attack, by_system in drawn.items():
            for system, height in by_system.items():
                cell = PUBLISHED.get(metric, attack, split, data_set, gender, system)
                assert cell is not None
                assert height == pytest.approx(style.shown(metric, cell.value))
        first, *systems = order(axes)
        assert first == "Orig"
        values = [
            PUBLISHED.values[Place(metric, "lazy-informed", split, data_set, "f", s)].value
            for s in systems
        ]
        assert values == sorted(values)
        assert not whiskers(axes)  # nobody published numbers of trials


@pytest.mark.parametrize("metric", ["gvd_db", "deid"])
def test_similarity_is_ordered_by_male_speakers(metric: str) -> None:
    canvas = bars.similarity_bars(PUBLISHED, CONFIG, "test", metric)
    assert len(canvas.axes) == 3
    for axes, data_set in zip(canvas.axes, CONFIG.data_sets, strict=True):
        drawn = heights(axes)
        assert list(drawn) == ["f", "m"]
        assert "Orig" not in order(axes)
        male = [drawn["m"][s] for s in order(axes)]
        assert male == sorted(male)
        for gender, by_system in drawn.items():
            for s, height in by_system.items():
                value = PUBLISHED.values[Place(metric, None, "test", data_set.id, gender, s)].value
                assert height == pytest.approx(style.shown(metric, value))


def test_semi_informed_bars_stand_in_front_narrower_and_darker() -> None:
    (drawing,) = [d for d in bars.figures(PUBLISHED, CONFIG) if d.name == "bars_attacks_test"]
    assert len(drawing.canvas.axes) == 6
    for axes in drawing.canvas.axes:
        assert set(order(axes)) == SEMI | {"Orig"}
        by_key = {str(c.get_label()): c.patches for c in axes.containers}
        for lazy, semi in zip(by_key["lazy-informed"], by_key["semi-informed"], strict=True):
            assert semi.get_width() < lazy.get_width()
            assert semi.get_zorder() > lazy.get_zorder()
            assert sum(semi.get_facecolor()[:3]) < sum(lazy.get_facecolor()[:3])
            centres = [p.get_x() + p.get_width() / 2 for p in (lazy, semi)]
            assert centres[0] == pytest.approx(centres[1])


def test_means_are_over_all_data_sets_by_gender() -> None:
    canvas = bars.mean_bars(PUBLISHED, CONFIG, "eer")
    assert len(canvas.axes) == 2
    for axes, gender in zip(canvas.axes, CONFIG.genders, strict=True):
        drawn = heights(axes)
        assert set(drawn["semi-informed"]) == SEMI
        for system, height in drawn["lazy-informed"].items():
            values = [
                cell.value
                for p, cell in PUBLISHED.values.items()
                if (p.metric, p.attack_model, p.gender, p.system)
                == ("eer", "lazy-informed", gender, system)
            ]
            assert len(values) == 6
            assert height == pytest.approx(100 * np.mean(values))


def test_a_mean_of_some_data_sets_is_not_drawn_beside_means_of_all() -> None:
    canvas = bars.mean_bars(merged([own(), PUBLISHED]), CONFIG, "eer")
    assert canvas.axes and all(ODD not in order(axes) for axes in canvas.axes)


def with_original(
    part: Cells, places: list[tuple[str, str, str]], *, as_published: bool = False
) -> Cells:
    """A system's cells with original speech of these splits, data sets and genders: an EER
    of 1 %, or what is published."""
    values = dict(part.values)
    for at in places:
        place = Place("eer", "original", *at, "Orig")
        values[place] = PUBLISHED.values[place] if as_published else Cell(0.01, "1.00")
    return replace(part, values=values)


def test_original_speech_of_several_sources_has_no_mean_and_captions_say_so() -> None:
    own_places = [("test", "libri", g) for g in CONFIG.genders]
    cells = merged([with_original(own(), own_places), PUBLISHED_EER])
    words = "Original speech: of another source, where the first has none: eer (test)"
    captions = {d.name: d.caption for d in bars.figures(cells, CONFIG)}
    assert f"{words}." in captions["bars_eer_test"]
    assert words not in captions["bars_eer_dev"]  # published throughout
    assert "Original speech of several sources has no mean." in captions["bars_mean_eer"]
    canvas = bars.mean_bars(cells, CONFIG, "eer")
    assert len(canvas.axes) == 2
    assert not any("Orig" in order(axes) for axes in canvas.axes)
    for alone in (
        PUBLISHED_EER,
        merged([with_original(own(), own_places, as_published=True), PUBLISHED_EER]),
    ):
        drawn = [heights(axes)["original"] for axes in bars.mean_bars(alone, CONFIG, "eer").axes]
        for by_system, gender in zip(drawn, CONFIG.genders, strict=True):
            published = [
                cell.value
                for p, cell in PUBLISHED_EER.values.items()
                if (p.metric, p.attack_model, p.gender) == ("eer", "original", gender)
            ]
            assert by_system["Orig"] == pytest.approx(100 * np.mean(published))
        assert "several sources" not in str([d.caption for d in bars.figures(alone, CONFIG)])


def test_titles_and_captions_say_what_means_are_over() -> None:
    def said(cells: Cells) -> tuple[list[str], str]:
        titles = [a.get_title(loc="left") for a in bars.mean_bars(cells, CONFIG, "eer").axes]
        (caption,) = [d.caption for d in bars.figures(cells, CONFIG) if "mean" in d.name]
        return titles, caption

    titles, caption = said(PUBLISHED_EER)
    assert titles == [f"All splits and data sets, {g}" for g in ("female", "male")]
    assert caption.startswith("Mean EER over all splits and data sets. ")
    titles, caption = said(own())
    assert titles == ["LibriSpeech test, female"]
    assert caption.startswith("Mean EER over LibriSpeech test. ")
    test = {p: c for p, c in PUBLISHED_EER.values.items() if p.split == "test"}
    titles, caption = said(replace(PUBLISHED_EER, values=test))
    assert titles[0] == "All data sets, test, female"
    abbreviate = {
        p: c for p, c in test.items() if (p.attack_model, p.data_set) != ("ignorant", "vctk_common")
    }
    titles, caption = said(replace(PUBLISHED_EER, values=abbreviate))
    assert titles == ["Means, female", "Means, male"]
    assert "LibriSpeech, VCTK (different) test (ignorant female, ignorant male)" in caption


def test_a_system_is_only_where_it_has_a_value() -> None:
    canvas = bars.metric_bars(merged([own(), PUBLISHED]), CONFIG, "test", "eer")
    assert [ODD in order(axes) for axes in canvas.axes] == [True] + [False] * 5


def test_a_missing_value_leaves_a_gap() -> None:
    place = Place("eer", "ignorant", "test", "libri", "f", "B1")
    values = {p: c for p, c in PUBLISHED.values.items() if p != place}
    axes = bars.metric_bars(replace(PUBLISHED, values=values), CONFIG, "test", "eer").axes[0]
    drawn = heights(axes)
    assert "B1" in drawn["lazy-informed"] and "B1" not in drawn["ignorant"]


def test_a_system_without_the_ordering_value_comes_last() -> None:
    place = Place("eer", "lazy-informed", "test", "libri", "f", "K2")
    values = {p: c for p, c in PUBLISHED.values.items() if p != place}
    axes = bars.metric_bars(replace(PUBLISHED, values=values), CONFIG, "test", "eer").axes[0]
    assert order(axes)[-1] == "K2"


def test_whiskers_are_the_intervals() -> None:
    both = merged([own(interval=(0.21, 0.3)), PUBLISHED])
    low, high = bengio_mariethoz_interval(0.2, 100, 900)
    for interval, bounds in (
        ("independent", (low, high)),
        ("speakers", (0.21, 0.3)),  # need not hold the value
    ):
        canvas = bars.metric_bars(both, CONFIG, "test", "eer", interval=interval)
        drawn = whiskers(canvas.axes[0])
        assert len(drawn) == 2 and np.allclose(drawn, 100 * np.array(bounds))
        assert not any(whiskers(axes) for axes in canvas.axes[1:])
    assert not whiskers(bars.metric_bars(both, CONFIG, "test", "eer", interval=None).axes[0])


def test_an_infinite_value_is_said_and_not_drawn() -> None:
    axes = bars.metric_bars(own(value=math.inf), CONFIG, "test", "eer").axes[0]
    assert [t.get_text() for t in axes.texts] == ["\u221e", "\u221e"]
    assert not any(heights(axes).values())


def test_names_are_literal_coloured_by_family_and_bold_if_own() -> None:
    canvas = bars.metric_bars(
        merged([own(), PUBLISHED]), CONFIG, "test", "eer", data_sets=["libri"]
    )
    shown = {}
    for axes in canvas.axes:
        shown |= dict(zip(order(axes), axes.get_xticklabels(), strict=True))
    assert shown[ODD].get_text() == ODD.replace("$", "\\$")
    assert shown[ODD].get_fontweight() == "bold"
    assert shown["A1"].get_color() == shown["B1"].get_color() != shown["D1"].get_color()
    assert shown["D1"].get_fontstyle() == "italic"
    assert shown["Orig"].get_color() == "black"


def test_all_figures_of_published_values_one_by_one(tmp_path: Path) -> None:
    drawings = bars.figures(PUBLISHED, CONFIG)
    first = next(drawings)
    assert first.name == "bars_eer_dev"
    assert [first.name, *(d.name for d in drawings)] == [
        *(f"bars_{m}_{s}" for s in ("dev", "test") for m in ("eer", "cllr_min")),
        *(f"bars_{m}_{s}" for s in ("dev", "test") for m in ("gvd_db", "deid")),
        "bars_attacks_dev",
        "bars_attacks_test",
        "bars_mean_eer",
    ]
    assert "Whiskers" not in first.caption and "Blue" in first.caption
    assert style.write(first, tmp_path, ("pdf",)).files[0].is_file()


def test_captions_speak_of_whiskers_own_systems_and_what_was_left_out() -> None:
    cells = merged([own(left_out=True), PUBLISHED])
    captions = {d.name: d.caption for d in bars.figures(cells, CONFIG)}
    assert "Whiskers: 95 %" in captions["bars_eer_test"]
    assert "Bold" in captions["bars_eer_test"]
    assert captions["bars_eer_test"].endswith(f"left out on request: {ODD}.")
    for name in ("bars_eer_dev", "bars_gvd_db_test"):
        assert "Whiskers" not in captions[name] and "Bold" not in captions[name]


def test_many_systems_go_on_several_figures() -> None:
    cells = merged(own(f"S{i}", value=i / 100) for i in range(45))
    drawings = [d for d in bars.figures(cells, CONFIG) if d.name.startswith("bars_eer_test")]
    assert [d.name for d in drawings] == [f"bars_eer_test{s}" for s in ("", "_2", "_3")]
    drawn = [order(d.canvas.axes[0]) for d in drawings]
    assert [len(p) for p in drawn] == [15, 15, 15]
    assert {s for p in drawn for s in p} == set(cells.systems)


def test_nothing_makes_no_figure() -> None:
    assert list(bars.figures(Cells({}, ()), CONFIG)) == []


def test_same_bytes_twice(tmp_path: Path) -> None:
    cells = merged([own(), PUBLISHED])
    for folder in ("a", "b"):
        canvas = bars.metric_bars(cells, CONFIG, "test", "eer", data_sets=["libri"])
        style.save(canvas, tmp_path / folder, "f")
    for name in ("f.png", "f.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
