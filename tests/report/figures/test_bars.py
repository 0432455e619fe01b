"""Bar charts: heights and order of bars against the values."""

import math
from dataclasses import replace

import numpy as np
import pytest
from figure_data import CONFIG, ODD, PUBLISHED, PUBLISHED_EER, data_of
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer
from support import chosen, side_by_side

from privacy_eval.metrics import bengio_mariethoz_interval, describe
from privacy_eval.numbers.cells import Cells, cells_from_published, merge_cells, place_of
from privacy_eval.numbers.rankings import rank
from privacy_eval.numbers.report_data import ReportData, Whiskers
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published_results
from privacy_eval.report.figures import bars
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.results.measurements import Measurements, Row
from privacy_eval.results.records import Results

SEMI = {"B1", "B2", "K2", "M1", "O1", "S2"}


def submitted(name: str = ODD, **changes: object) -> Cells:
    """A system with EERs of female speakers of LibriSpeech test only."""
    cell = {"value": 0.2, "n_target": 100, "n_nontarget": 900, **changes}
    values = {
        ("eer", attack, "test", "libri", "f", name): cell
        for attack in ("ignorant", "lazy-informed")
    }
    return side_by_side(values, (name,), own=frozenset({name}))


def drawings(cells: Cells, whiskers: Whiskers = "speakers") -> dict[str, Drawing]:
    return {d.name: d for d in bars.figures(replace(data_of(cells), whiskers=whiskers))}


def panels(cells: Cells, name: str) -> list[Axes]:
    return list(drawings(cells)[name].canvas.axes)


def order(axes: Axes) -> list[str]:
    """Systems from left to right, also if their names are below another panel."""
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


def ranked_systems(cells: Cells, split: str) -> list[str]:
    return [r["system"] for r in rank(data_of(cells).means, metric="eer", split=split).ranked]


def whiskers(axes: Axes) -> list[tuple[float, float]]:
    return [
        (segment[0][1], segment[1][1])
        for c in axes.collections
        if isinstance(c, LineCollection)
        for segment in c.get_segments()
    ]


@pytest.mark.parametrize("metric", ["eer", "cllr_min"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_bars_have_the_heights_of_cells_in_the_order_of_the_ranking(
    metric: str, split: str
) -> None:
    ranked = ranked_systems(PUBLISHED, split)
    axes_of_figure = panels(PUBLISHED, f"bars_{metric}_{split}")
    places = [(d.id, g) for d in CONFIG.data_sets for g in CONFIG.genders]
    assert len(axes_of_figure) == len(places) == 6
    for axes, (data_set, gender) in zip(axes_of_figure, places, strict=True):
        drawn = heights(axes)
        assert list(drawn) == ["original", "ignorant", "lazy-informed"]
        assert list(drawn["original"]) == ["Orig"]
        assert set(drawn["ignorant"]) == set(PUBLISHED.systems)
        for attack, by_system in drawn.items():
            for system, height in by_system.items():
                cell = PUBLISHED.get(metric, attack, split, data_set, gender, system)
                assert height == pytest.approx(describe(metric).printed(cell["value"]))
        first, *systems = order(axes)
        assert first == "Orig"
        assert systems == ranked
        assert not whiskers(axes)  # nobody published numbers of trials


@pytest.mark.parametrize("metric", ["gvd_db", "deid"])
def test_similarity_is_in_the_order_of_the_ranking(metric: str) -> None:
    ranked = ranked_systems(PUBLISHED, "test")
    axes_of_figure = panels(PUBLISHED, f"bars_{metric}_test")
    for axes, data_set in zip(axes_of_figure, CONFIG.data_sets, strict=True):
        drawn = heights(axes)
        assert list(drawn) == ["f", "m"]
        assert "Orig" not in order(axes)
        assert order(axes) == [s for s in ranked if s in drawn["m"]]
        for gender, by_system in drawn.items():
            for s, height in by_system.items():
                cell = PUBLISHED.get(metric, None, "test", data_set.id, gender, s)
                assert height == pytest.approx(describe(metric).printed(cell["value"]))


def test_no_bar_hides_another_and_all_are_centred_over_their_names() -> None:
    """Also where a system has one bar, and others have several."""
    some = chosen(PUBLISHED, lambda r: (r["system"], r.get("attack_model")) != ("B1", "ignorant"))
    axes_of_figure = panels(some, "bars_attacks_test")
    assert some.get("eer", "ignorant", "test", "libri", "f", "B1") is None
    assert len(axes_of_figure) == 6
    for axes in axes_of_figure:
        assert set(order(axes)) == SEMI | {"Orig"}
        spans: dict[int, list[tuple[float, float]]] = {}
        for container in axes.containers:
            for p in container.patches:
                middle = round(p.get_x() + p.get_width() / 2)
                spans.setdefault(middle, []).append((p.get_x(), p.get_x() + p.get_width()))
        assert {len(of) for of in spans.values()} == {1, 2, 3}
        for at, of_system in spans.items():
            edges = [edge for span in sorted(of_system) for edge in span]
            assert edges == sorted(edges)
            assert (edges[0] + edges[-1]) / 2 == pytest.approx(at)


def test_the_attack_model_of_the_ranking_is_drawn() -> None:
    protocol = load_protocol("vpc2024")
    cells = cells_from_published(load_published_results("vpc2024"))
    drawn = {d.name: d for d in bars.figures(ReportData(Results(protocol), cells))}
    assert not [name for name in drawn if name.startswith("bars_attacks")]
    axes = drawn[f"bars_{protocol.eer}_test"].canvas.axes[0]
    assert protocol.average_attack_model in heights(axes)


def test_means_are_over_all_data_sets_by_gender() -> None:
    for axes, gender in zip(panels(PUBLISHED, "bars_mean_eer"), CONFIG.genders, strict=True):
        drawn = heights(axes)
        assert set(drawn["semi-informed"]) == SEMI
        for system, height in drawn["lazy-informed"].items():
            of_bar = {"metric": "eer", "attack_model": "lazy-informed", "system": system}
            values = PUBLISHED.rows.select(**of_bar, gender=gender)["value"]
            assert len(values) == 6
            assert height == pytest.approx(100 * np.mean(values))


def with_original(*, as_published: bool) -> Cells:
    """A system's cells with original speech of a trial set: an EER of 1 %, or what is
    published; beside published cells."""
    rows: list[Row] = submitted().rows.to_rows()
    for row in PUBLISHED.rows.select(
        metric="eer", split="test", data_set="libri", system="Orig", attack_model="original"
    ):
        rows.append(row if as_published else {**row, "value": 0.01, "printed": "1.00"})
    return merge_cells([replace(submitted(), rows=Measurements.of(rows)), PUBLISHED_EER])


def test_original_speech_of_several_sources_has_no_mean() -> None:
    found = drawings(with_original(as_published=False))
    words = "Original speech: published results vpc2020 if missing in the first: EER (test)"
    assert f"{words}." in found["bars_eer_test"].caption
    assert words not in found["bars_eer_dev"].caption  # published throughout
    mean = found["bars_mean_eer"]
    assert "Original speech of several sources has no mean." in mean.caption
    assert [("Orig" in order(axes)) for axes in mean.canvas.axes] == [False, False]


@pytest.mark.parametrize("cells", [PUBLISHED_EER, with_original(as_published=True)])
def test_original_speech_of_one_source_has_a_mean(cells: Cells) -> None:
    found = drawings(cells)
    for axes, gender in zip(found["bars_mean_eer"].canvas.axes, CONFIG.genders, strict=True):
        originals = PUBLISHED_EER.rows.select(attack_model="original", gender=gender)
        published = list(originals["value"])
        assert heights(axes)["original"]["Orig"] == pytest.approx(100 * np.mean(published))
    assert "several sources" not in str([d.caption for d in found.values()])


def test_titles_and_captions_name_the_averaged_sets() -> None:
    def title_and_caption(cells: Cells) -> tuple[list[str], str]:
        mean = drawings(cells)["bars_mean_eer"]
        return [a.get_title(loc="left") for a in mean.canvas.axes], mean.caption

    titles, caption = title_and_caption(PUBLISHED_EER)
    assert titles == [f"All splits and data sets, {g}" for g in ("female", "male")]
    assert caption.startswith("Mean EER over all splits and data sets. ")
    titles, caption = title_and_caption(submitted())
    assert titles == ["LibriSpeech test, female"]
    assert caption.startswith("Mean EER over LibriSpeech test. ")
    test = chosen(PUBLISHED_EER, lambda row: row["split"] == "test")
    titles, caption = title_and_caption(test)
    assert titles[0] == "All data sets, test, female"
    incomplete = chosen(
        test, lambda r: (r["attack_model"], r["data_set"]) != ("ignorant", "vctk_common")
    )
    titles, caption = title_and_caption(incomplete)
    assert titles == ["Means, female", "Means, male"]
    assert "LibriSpeech, VCTK (different) test (ignorant female, ignorant male)" in caption


def test_systems_without_a_value_are_omitted() -> None:
    found = drawings(merge_cells([submitted(), PUBLISHED_EER]))
    for name, present in (("bars_eer_test", [True] + [False] * 5), ("bars_mean_eer", [False] * 2)):
        assert [ODD in order(axes) for axes in found[name].canvas.axes] == present


@pytest.mark.parametrize("attack", ["ignorant", "lazy-informed"])
def test_missing_values_leave_a_gap_and_are_last(attack: str) -> None:
    """Last where it is what systems are ordered by."""
    place = ("eer", attack, "test", "libri", "f", "B1")
    incomplete = chosen(PUBLISHED_EER, lambda row: place_of(row) != place)
    axes = panels(incomplete, "bars_eer_test")[0]
    drawn = {attack for attack, by_system in heights(axes).items() if "B1" in by_system}
    assert drawn == {"ignorant", "lazy-informed"} - {attack}
    assert (order(axes)[-1] == "B1") == (attack == "lazy-informed")


@pytest.mark.parametrize(
    ("kind", "bounds", "named"),
    [
        ("speakers", (0.13, 0.3), "speakers"),
        ("independent", bengio_mariethoz_interval(0.2, 100, 900), "Bengio"),
    ],
)
def test_whiskers_are_the_intervals_asked_for(
    kind: Whiskers, bounds: tuple[float, float], named: str
) -> None:
    both = merge_cells([submitted(low=0.13, high=0.3), PUBLISHED_EER])
    drawing = drawings(both, kind)["bars_eer_test"]
    first, *others = drawing.canvas.axes
    assert len(whiskers(first)) == 2 and np.allclose(whiskers(first), 100 * np.array(bounds))
    assert not any(map(whiskers, others))
    (sentence,) = [s for s in drawing.caption.split(". ") if "Whiskers" in s]
    assert named in sentence


@pytest.mark.parametrize("changes", [{}, {"low": 0.1, "high": math.inf}])
def test_without_a_finite_interval_there_is_no_whisker(changes: dict[str, object]) -> None:
    """Independent trials, whose numbers are known, are not assumed unasked."""
    drawing = drawings(submitted(**changes))["bars_eer_test"]
    assert not whiskers(drawing.canvas.axes[0]) and "Whiskers" not in drawing.caption


def test_infinite_values_are_written() -> None:
    axes = panels(submitted(value=math.inf), "bars_eer_test")[0]
    assert [t.get_text() for t in axes.texts] == ["\u221e", "\u221e"]
    assert not any(heights(axes).values())


def test_names_are_literal_coloured_by_family_and_bold_if_submitted() -> None:
    shown = {}
    for axes in panels(merge_cells([submitted(), PUBLISHED]), "bars_eer_test"):
        if axes.get_xticklabels():  # not where names are below another panel only
            shown |= dict(zip(order(axes), axes.get_xticklabels(), strict=True))
    assert shown[ODD].get_text() == ODD.replace("$", "\\$")
    assert shown[ODD].get_fontweight() == "bold"
    assert shown["A1"].get_color() == shown["B1"].get_color() != shown["D1"].get_color()
    assert shown["D1"].get_fontstyle() == "italic"
    assert shown["Orig"].get_color() == "black"


def test_figures_and_captions() -> None:
    cells = merge_cells([submitted(left_out=True, low=0.1, high=0.3), PUBLISHED])
    captions = {name: d.caption for name, d in drawings(cells).items()}
    assert list(captions) == [
        *(f"bars_{m}_{s}" for s in ("dev", "test") for m in ("eer", "cllr_min")),
        *(f"bars_{m}_{s}" for s in ("dev", "test") for m in ("gvd_db", "deid")),
        "bars_attacks_dev",
        "bars_attacks_test",
        "bars_mean_eer",
    ]
    assert "Blue" in captions["bars_eer_dev"]
    assert "Whiskers: 95 %" in captions["bars_eer_test"]
    assert "Bold" in captions["bars_eer_test"]
    assert captions["bars_eer_test"].endswith(f"left out on request: {ODD}.")
    for name in ("bars_eer_dev", "bars_gvd_db_test"):
        assert "Whiskers" not in captions[name] and "Bold" not in captions[name]


def test_many_systems_are_split_over_several_figures() -> None:
    cells = merge_cells(submitted(f"S{i}", value=i / 100) for i in range(45))
    names = [name for name in drawings(cells) if name.startswith("bars_eer_test")]
    assert names == [f"bars_eer_test{s}" for s in ("", "_2", "_3")]
    drawn = [order(panels(cells, name)[0]) for name in names]
    assert [len(p) for p in drawn] == [15, 15, 15]
    assert {s for p in drawn for s in p} == set(cells.systems)
