"""The ZEBRA toolkit's documentation: each of its snippets and commands has a counterpart.

`{scr}` and `{key}` are the paths that the page shows.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from metrics.golden import FOLDER as GOLDEN
from metrics.golden import NAMES, load
from support import cli, command

from privacy_eval.compat.zebra import assess, export, pav_llrs, plot, read_tags, show
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import TrialScores, min_cllr
from privacy_eval.metrics.llr import individual_disclosure

CASE = "lazy_informed"
SCORES, KEY = GOLDEN / CASE / "scores.gz", GOLDEN / CASE / "trials.gz"
LINES = "Population: 0.120 bit\nIndividual: 1.674 (B)\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Exports go to the current folder."""
    monkeypatch.chdir(tmp_path)
    yield


def run_snippet(snippet: str, **names: Any) -> tuple[dict[str, Any], str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(snippet.format(scr=SCORES, key=KEY), names)  # noqa: S102
    return names, out.getvalue()


def files() -> list[str]:
    return sorted(p.name for p in Path().iterdir())


# The page's Python


def test_high_level_snippet() -> None:
    ours = """
from privacy_eval.compat.zebra import assess, export
profile = assess('{scr}', '{key}')
print(profile.text)
export([profile], 'my-experiment', 'png')
"""
    _, printed = run_snippet(ours)
    assert printed == f"ZEBRA profile\n{LINES}"
    assert files() == ["ZEBRA-my-experiment.png"]
    assert Path("ZEBRA-my-experiment.png").read_bytes().startswith(b"\x89PNG")


def test_low_level_snippet() -> None:
    ours = """
from privacy_eval.metrics.llr import zebra_number
from privacy_eval.metrics import TrialScores, zebra
from privacy_eval.metrics.llr import expected_cost_reduction
scores = TrialScores(classA_scores, classB_scores)
disclosure = zebra(scores, variant='challenge')
dece, max_abs_LLR_base10, cat_tag = disclosure.population, disclosure.individual, disclosure.tag
str_dece, str_max_abs_llr = zebra_number(dece), zebra_number(max_abs_LLR_base10)
delta_dcf = expected_cost_reduction(scores)
"""
    case = load(CASE).scores
    values, _ = run_snippet(ours, classA_scores=case.target, classB_scores=case.nontarget)
    printed = (values["str_dece"], values["str_max_abs_llr"], values["cat_tag"])
    assert printed == ("0.120", "1.674", "B")
    assert 0 < values["delta_dcf"] < 0.25


@pytest.mark.parametrize("name", NAMES)
def test_pav_llrs_with_and_without_laplace(name: str) -> None:
    scores = load(name).scores
    for laplace in (False, True):
        target, nontarget = pav_llrs(scores, laplace=laplace)
        assert (target.size, nontarget.size) == (scores.n_target, scores.n_nontarget)
        # A calibration: one ascending function of the score for both classes.
        order = np.argsort(np.concatenate([scores.target, scores.nontarget]), kind="stable")
        assert np.all(np.diff(np.concatenate([target, nontarget])[order].clip(-1e9, 1e9)) >= 0)
    worst = np.abs(np.concatenate([target, nontarget])).max() / math.log(10)
    assert worst == pytest.approx(individual_disclosure(scores), rel=1e-12)
    plain = pav_llrs(scores)
    cost = [np.logaddexp(0, -plain[0]).mean(), np.logaddexp(0, plain[1]).mean()]
    expected = sum(cost) / 2 / math.log(2)
    assert min_cllr(scores).value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_profiles_with_equal_labels_are_plotted_separately() -> None:
    first = assess(SCORES, KEY)
    other = assess(TrialScores([1.0] * 20, [0.0] * 20))
    drawn = plot([first, other])
    (axes,) = drawn.canvas.axes
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    np.testing.assert_array_equal(lines[1].get_ydata(), first.ece["minimum"])
    np.testing.assert_allclose(lines[2].get_ydata(), 0, atol=1e-15)  # no privacy: on the axis
    texts = [t.get_text() for t in drawn.canvas.legends[0].get_texts()]
    assert texts == [
        "full privacy",
        "ZEBRA profile (0.120, 1.674, B)",
        "ZEBRA profile (0.721, 1.322, B)",
    ]
    assert lines[1].get_color() != lines[2].get_color()
    export([first, other], "both", "tex")
    tex = Path("ZEBRA-both.tex").read_text()
    assert all(f"\\addlegendentry{{{text}}}" in tex for text in texts)


# The page's command line


@pytest.mark.parametrize("name", NAMES)
def test_golden_numbers(name: str) -> None:
    folder, expected = GOLDEN / name, load(name).expected["reference"]

    def shown(value: float) -> str:  # as the page's low-level snippet
        return "0" if value == 0 else ("%.3f" if value >= 5e-4 else "%.e") % value

    run = cli("zebra", "--scores", folder / "scores.gz", "--key", folder / "trials.gz")
    implausible = expected["eer"] > 0.65  # the toolkit would print a category all the same
    tag = "n/a" if implausible else expected["zebra_tag"]
    _, population, individual, *caveats = run.out.splitlines()
    assert population == f"Population: {shown(expected['zebra_population'])} bit"
    assert individual == f"Individual: {shown(expected['zebra_individual'])} ({tag})"
    assert [c.startswith("caveat: An EER above 65 %") for c in caveats] == [True] * implausible


@pytest.mark.parametrize("extension", ["tex", "pdf", "png"])
def test_lines_and_export(extension: str) -> None:
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-l", "profile", "-e", extension)
    assert (run.code, run.out) == (0, f"profile\n{LINES}")
    assert run.err == f"written: ZEBRA-profile.{extension}\n"
    assert files() == [f"ZEBRA-profile.{extension}"]
    start = Path(f"ZEBRA-profile.{extension}").read_bytes()[:4]
    assert start == {"tex": b"% ZE", "pdf": b"%PDF", "png": b"\x89PNG"}[extension]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("ZEBRA profile", "ZEBRA-ZEBRA_profile.tex"),
        ("../../etc/passwd", "ZEBRA-etc_passwd.tex"),
        ("a; rm -rf $HOME", "ZEBRA-a_rm_-rf_HOME.tex"),
        ("äöü", "ZEBRA-_.tex"),
    ],
)
def test_labels_become_safe_names(label: str, name: str) -> None:
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-l", label, "-e", "tex")
    assert run.code == 0 and run.out.startswith(f"{label}\n")
    assert files() == [name]


def test_empty_label_and_no_profile() -> None:
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-l", "")
    assert (run.code, run.out) == (1, "") and "label" in run.err
    with pytest.raises(ValueError, match="no profile"):
        export([])
    with pytest.raises(ValueError, match="extension"):
        export([assess(SCORES, KEY)], extension="svg")


def test_scores_and_key_go_together() -> None:
    with pytest.raises(ValueError, match="needs its trial key"):
        assess(SCORES)
    with pytest.raises(ValueError, match="need no trial key"):
        assess(TrialScores([1.0], [0.0]), KEY)
    run = cli("zebra", "-s", "nowhere", "-k", KEY)
    assert run.code == 1 and "nowhere" in run.err and run.out == ""


# Display


def test_display_draws_and_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    make = plt.figure

    def figure(**options: Any) -> Any:
        made = make(**options)
        monkeypatch.setattr(
            type(made.canvas), "required_interactive_framework", "test", raising=False
        )
        return made

    def show_window(*, block: bool) -> None:
        (axes,) = plt.gcf().axes
        shown.append((block, len(axes.lines)))

    monkeypatch.setattr(plt, "figure", figure)
    monkeypatch.setattr(plt, "show", show_window)
    show([assess(SCORES, KEY)])
    assert shown == [(True, 3)]  # full privacy, the profile and its marks
    assert plt.get_fignums() == []
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-p", "-e", "png")
    assert run.code == 0 and len(shown) == 2 and files() == ["ZEBRA-ZEBRA_profile.png"]


@pytest.mark.parametrize("backend", ["", "TkAgg"])  # without any it is agg
def test_missing_displays_are_reported(backend: str) -> None:
    if backend == "TkAgg" and (sys.platform != "linux"):
        pytest.skip("this system has displays without DISPLAY")
    hidden = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "MPLBACKEND": backend}
    run = command("zebra", "-s", SCORES, "-k", KEY, "-p", "-e", "tex", cwd=Path(), **hidden)
    assert run.code == 1
    assert run.out == f"ZEBRA profile\n{LINES}"
    assert "no display" in run.err and "--export" in run.err and "Traceback" not in run.err
    assert files() == ["ZEBRA-ZEBRA_profile.tex"]  # the file is not lost


# Own categories


def test_user_defined_categories_from_yaml() -> None:
    Path("tags.yaml").write_text("low: 0\nmiddle: 1.5\n'7': 2\n")
    assert read_tags(Path("tags.yaml")) == (("low", 0.0), ("middle", 1.5), ("7", 2.0))
    assert assess(SCORES, KEY, tags=read_tags(Path("tags.yaml"))).zebra.tag == "middle"
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-t", "tags.yaml")
    assert run.out == "ZEBRA profile\nPopulation: 0.120 bit\nIndividual: 1.674 (middle)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected lines of a tag"),
        ("A: 1\nB: 2\n", "begin at 0 and ascend, not A: 1, B: 2"),
        ("A: 0\nB: 2\nC: 1\n", "ascend"),
        ("A: 0\nB: 0\n", "ascend"),
        ("A: 0\nB: .inf\n", "ascend"),
        (f"A: 0\nB: 1{'0' * 400}\n", "ascend"),
        ("A: 0\nB: high\n", "B: expected a number"),
        ("A: 0\nB: [1, 2]\n", "B: expected a number"),
        ("A: 0\nno: 1\n", "put it in quotes"),
        ("'0': 0\nA: 1\n", "reserved for no evidence"),
        ("A: 0\n'': 1\n", "cannot be a tag"),
        ("A: 0\nB: 1\nA: 2\n", "duplicate"),
        ("A: 0\nB: 1: 2\n", "invalid YAML"),
        ("A: !!python/object/apply:os.system [ls]\n", "invalid YAML"),
        ("? [1, 2]\n: 0\n", "invalid YAML|put it in quotes"),
        ("[" * 5000, "invalid YAML"),
    ],
)
def test_invalid_categories(text: str, message: str) -> None:
    path = Path("tags.yaml")
    path.write_text(text)
    with pytest.raises(PrivacyEvalError, match=f"tags.yaml:.*({message})"):
        read_tags(path)
    run = cli("zebra", "-s", SCORES, "-k", KEY, "-t", path)
    assert (run.code, run.out) == (1, "") and run.err.startswith("privacy-eval: tags.yaml:")
