"""The figures' shared style: looks and literal text."""

import pytest
from figure_data import CONFIG
from matplotlib.colors import to_rgb

from privacy_eval.numbers.cells import ORIGINAL_COLUMN
from privacy_eval.report.figures import style

ODD = r"_50%_team & $x$ \$ Co"


def test_systems_differ_and_keep_their_style() -> None:
    names = [f"S{i}" for i in range(300)]
    styles = style.system_styles(names)
    assert len({styles[n] for n in names}) == 300
    assert len({(styles[n].colour, styles[n].marker) for n in names[:77]}) == 77
    assert len({(styles[n].colour, styles[n].line_style) for n in names[:35]}) == 35
    assert styles["S7"] == style.system_styles(names[:20])["S7"]
    assert {n for n, s in styles.items() if s.colour == "black"} == {ORIGINAL_COLUMN}
    assert style.system_styles([ORIGINAL_COLUMN, "B1"]) == style.system_styles(["B1"])


def test_attack_models_differ_in_grey() -> None:
    fills = style.attack_fills(CONFIG)
    assert list(fills) == ["original", "ignorant", "lazy-informed", "semi-informed"]
    grey = {a: sum(to_rgb(f["facecolor"])) / 3 for a, f in fills.items()}
    assert grey["semi-informed"] < min(v for a, v in grey.items() if a != "semi-informed") - 0.2
    assert fills["lazy-informed"]["hatch"] and not fills["ignorant"]["hatch"]


@pytest.mark.parametrize("name", [ODD, "$", "$$", r"\$a\$", r"$\frac{1}{2}$", "_x", "a{b}^c"])
def test_names_are_drawn_letter_by_letter(name: str) -> None:
    with style.figure(2, 1) as canvas:
        text = canvas.text(0, 0, style.escape_mathtext(name))
    line, mathtext = text._preprocess_math(text.get_text())
    assert (line, mathtext) == (name, False)


def test_literal_is_one_short_line_of_known_glyphs() -> None:
    assert style.escape_mathtext("a\nb\x00c") == "a b c"
    assert style.escape_mathtext("x" * 50, 10) == "xxxx...xxx"
    assert style.escape_mathtext("\u4e2d") == "[U+4E2D]"


def test_legend_keeps_labels_that_start_with_an_underscore() -> None:
    with style.figure(3, 2) as canvas:
        axes = canvas.subplots()
        made = style.legend(axes, axes.plot([1, 2]), [style.escape_mathtext(ODD)])
    assert [t.get_text() for t in made.get_texts()] == [style.escape_mathtext(ODD)]


def test_stems_are_plain_and_distinct() -> None:
    assert style.file_stem("eer", "libri") == "eer_libri"
    made = {style.file_stem(*p) for p in [("a/b",), ("a b",), ("a", "b"), ("../a_b",), ("\u00e9",)]}
    assert len(made) == 5
    assert all(m.isascii() and "/" not in m and not m.startswith(".") for m in made)


def test_pages_are_even_and_complete() -> None:
    assert style.split_evenly([], 3) == []
    assert [len(p) for p in style.split_evenly(range(7), 3)] == [3, 3, 1]
    assert [i for p in style.split_evenly(range(100), 6) for i in p] == list(range(100))
