"""A folder of figures: brought up to date, shared between jobs, cleared of old ones."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure as Canvas
from support import ANON, imported, undrawn

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.products.freshness import NOTE, Run
from privacy_eval.report.figures import all_figures, drawing, kinds, pictures, write_figures
from privacy_eval.report.page import Picture

NAMES = ["a", "b", "c"]


@pytest.fixture
def drawn() -> list[str]:
    """Names of the figures there are."""
    return list(NAMES)


def few(names: list[str]) -> Iterator[drawing.Drawing]:
    for name in names:
        yield drawing.Drawing(
            name, f"caption of {name}", functools.partial(Canvas, (1, 1)), section="S"
        )


def write(drawn: list[str], out: Path, drawn_from: str = "x", **options: Any) -> tuple[int, int]:
    return write_figures(few(drawn), out, drawn_from={"results": drawn_from}, **options)


def names(out: Path) -> list[str]:
    return sorted(p.name for p in out.iterdir() if p.suffix in (".png", ".pdf", ".tex"))


FILES = [f"{name}.{kind}" for name in NAMES for kind in ("pdf", "png")]


def test_figures_and_captions(drawn: list[str], tmp_path: Path) -> None:
    assert write(drawn, tmp_path) == (3, 0)
    assert names(tmp_path) == FILES
    expected = [Picture(tmp_path / f"{n}.png", f"caption of {n}", section="S") for n in NAMES]
    assert pictures(tmp_path) == expected


def test_nothing_changed_nothing_drawn(drawn: list[str], tmp_path: Path) -> None:
    write(drawn, tmp_path)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert write(drawn, tmp_path) == (0, 3)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == times


def test_a_figure_that_is_gone_is_drawn_again(drawn: list[str], tmp_path: Path) -> None:
    write(drawn, tmp_path)
    (tmp_path / "b.png").unlink()
    assert write(drawn, tmp_path) == (1, 2)
    assert names(tmp_path) == FILES


def test_other_results_leave_no_figure_of_before(drawn: list[str], tmp_path: Path) -> None:
    write(drawn, tmp_path)
    (tmp_path / "mine.png").write_text("not ours")
    drawn.remove("b")
    assert write(drawn, tmp_path, "y") == (2, 0)
    assert names(tmp_path) == ["a.pdf", "a.png", "c.pdf", "c.png", "mine.png"]
    assert [p.path.stem for p in pictures(tmp_path) if p.path] == ["a", "c"]


def test_jobs_share_the_figures(drawn: list[str], tmp_path: Path) -> None:
    assert write(drawn, tmp_path, run=Run((2, 2))) == (1, 0)
    assert write(drawn, tmp_path, run=Run((1, 2))) == (2, 0)
    assert names(tmp_path) == FILES
    assert write(drawn, tmp_path, run=Run((1, 2))) == (0, 2)
    assert write(drawn, tmp_path, run=Run((2, 2))) == (0, 1)


def test_a_killed_run_goes_on(
    drawn: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed run drew of these results stays, what it drew of others does not."""
    write(drawn, tmp_path)
    save = drawing.save

    def killed(canvas: Canvas, files: dict[str, Path]) -> None:
        if files["png"].stem == "b":
            raise KeyboardInterrupt
        save(canvas, files)

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            write(drawn, tmp_path, "y")
    assert names(tmp_path) == ["a.pdf", "a.png"]
    assert write(drawn, tmp_path, "y") == (2, 1)
    assert names(tmp_path) == FILES


def test_two_figures_of_one_name(drawn: list[str], tmp_path: Path) -> None:
    drawn.append("a")
    with pytest.raises(PrivacyEvalError, match="two figures would have this name"):
        write(drawn, tmp_path)


def test_a_list_of_strange_names_removes_nothing(drawn: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(drawn, out)
    (tmp_path / "precious.png").write_text("x")
    note = out / NOTE
    note.write_text(note.read_text().replace('"a.png"', '"../precious.png"'))
    write(drawn, out, "y")
    assert (tmp_path / "precious.png").exists()


def test_damaged_captions(tmp_path: Path) -> None:
    for text in ("[]", "{", '{"a": 1}', '{"a": {"caption": "c"}}'):
        (tmp_path / "captions.json").write_text(text)
        with pytest.raises(PrivacyEvalError, match="captions.json"):
            pictures(tmp_path)


def test_imported_results_have_bars_and_no_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undrawn(monkeypatch)
    results = imported(ANON, protocol="vpc2022")
    data = ReportData(results, cells_from_results(results))
    drawings = all_figures(data, everything=True)
    made = write_figures(drawings, tmp_path, drawn_from={}, formats=["png"])
    captions = json.loads((tmp_path / "captions.json").read_text())
    assert made == (len(captions), 0)
    drawn = {name.split("_")[0] for name in captions}
    assert drawn >= {"bars", "plane", "scatter"}
    of_arrays = {kind.name for kind in kinds() if kind.curves or kind.conventional}
    assert not drawn & {*of_arrays, "matrices", "groups", "amount"}
