"""Properties of every kind of figure, and how a kind is added."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from figure_data import CONFIG, ODD, PUBLISHED_EER, data_of, simulated
from latex_support import compiled
from support import rows_record, scored, side_by_side

from privacy_eval.io.wer import WerLine
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.report import figures
from privacy_eval.report.figures import (
    FigureKind,
    all_figures,
    figures_source,
    kinds,
    write_figures,
)
from privacy_eval.report.figures.drawing import Drawing, write
from privacy_eval.report.page import Section
from privacy_eval.report.sections import report_sections
from privacy_eval.results.records import (
    Record,
    Results,
    facts_of_line,
)
from privacy_eval.tree.conditions import Condition
from privacy_eval.wings import absent

KIND = {kind.name: kind for kind in kinds()}
#: Those of which figures are drawn.
NAMES = [n for n, kind in KIND.items() if not (kind.left and "disclosure" in absent())]
WITH_LEGEND = (
    *("bars", "groups", "amount", "det", "ece", "linkability", "identification", "scatter"),
    "conventional",
)
ARRAYS = {f"challenge_{part}": np.full((3, 3), 0.5) for part in ("oo", "oa", "aa")}


class Matrices:
    """Replacement of `StoredArrays`."""

    def of(self, record: object) -> dict[str, np.ndarray]:
        return ARRAYS


@pytest.fixture(name="data", scope="module")
def _data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReportData]:
    """Data of each kind of figure."""
    curves = simulated(tmp_path_factory.mktemp("curves"), {ODD: 0.0, "K2": 1.0})
    place = Condition(ODD, "", "t", "libri", "test", "f", asv_model="original")
    record = Record(place, "similarity", (), curves="a.npz")
    matrices = ReportData(Results(CONFIG, similarity=(record,)), arrays=Matrices())  # type: ignore[arg-type]
    conditions = [r.condition for r in curves.results.verification]
    disclosed = (
        disclosures(curves.results.verification, conditions) if "disclosure" not in absent() else {}
    )
    points = side_by_side(
        {(metric, "ignorant", "test", "libri", "f", ODD): 0.3 for metric in ("eer", "cllr_min")},
        (ODD,),
    )
    plane = side_by_side(
        {
            (metric, attack, "test", data_set, gender, ODD): 0.3
            for metric, attack, data_set, genders in (
                ("eer_speechbrain", "semi-informed", "libri", "fm"),
                ("wer", None, "libri", [""]),
                ("uar", None, "IEMOCAP", [""]),
            )
            for gender in genders
        },
        (ODD,),
    )
    whole = replace(curves, cells=cells_from_results(curves.results))
    return {
        **dict.fromkeys(NAMES, whole),
        "plane": ReportData(Results(load_protocol("vpc2024")), plane),
        "bars": data_of(PUBLISHED_EER),
        "matrices": matrices,
        **disclosed,
        "scatter": data_of(points),
    }


def disclosures(
    verification: Iterable[Record], conditions: list[Condition]
) -> dict[str, ReportData]:
    """Values of groups, rates in galleries and by the amount of speech."""
    from disclosure_support import Galleries

    found = tuple(
        Galleries(c, (2, 5, 30), (0.9, 0.5, 0.1), n_enrolled=30).record for c in conditions
    )
    amounts = tuple(map(with_amounts, conditions))
    return {
        "groups": ReportData(Results(CONFIG, tuple(map(with_groups, verification)))),
        "identification": ReportData(Results(CONFIG, identification=found)),
        "amount": ReportData(Results(CONFIG, amounts=amounts)),
    }


def with_amounts(condition: Condition) -> Record:
    """Rates of tests of three lengths and their seconds, of one without interval or EER."""
    from privacy_eval.disclosure.amount import Amount, AmountCurve

    lengths = (
        Amount(1, 60, 4, 0.4, 0.2, (0.3, 0.5), (0.1, 0.3), 6.5),
        Amount(5, 12, 4, 0.3, 0.5, (0.2, 0.4), (0.4, 0.6), 33.0),
        Amount(30, 4, 4, None, 1.0, seconds=195.0),
    )
    rows = AmountCurve(lengths, lengths).to_rows()
    return rows_record("amounts", condition, rows, averaged="scores", n_enrolled=6)


def with_groups(record: Record) -> Record:
    """A record with values of groups with odd names, one of them without an EER."""
    from privacy_eval.disclosure.group_records import summary_rows
    from privacy_eval.metrics.strata import Stratum

    of = Stratum(9, 9, 3, 0.3, 0.8, 0.1, 0.4)
    groups = {
        ODD: replace(of, intervals={"eer": (0.2, 0.4)}),
        "b": of,
        "c": Stratum(3, 0, 1),
    }
    return scored(record, of_groups=[*summary_rows("accent", groups)])


@pytest.mark.wing("disclosure")
def test_groups_of_other_rates_are_drawn(data: dict[str, ReportData]) -> None:
    """Dots of identification around chance, and of word errors around those of all speakers."""
    from disclosure_support import Galleries

    counts = {"metric": "linkage", "n_tests": 9, "n_speakers": 3, "n_enrolled": 4}
    sizes = [{**counts, "gallery": 2}, {**counts, "gallery": 4}]
    bounds = [{"value": 0.7, "low": 0.6, "high": 0.8}, {"value": 0.4, "low": 0.3, "high": 0.5}]
    galleries = {
        "a": [{**size, **of} for size, of in zip(sizes, bounds, strict=True)],
        ODD: [{**size, "value": of} for size, of in zip(sizes, (0.5, 0.1), strict=True)],
        "c": [{**counts, "n_tests": 0, "n_speakers": 0, "n_enrolled": 1}],
    }
    found = tuple(
        Galleries(
            r.condition, (2, 5, 30), (0.9, 0.5, 0.1), n_enrolled=30, groups={"accent": galleries}
        ).record
        for r in data["identification"].results.identification
    )
    place = Condition(ODD, "", "ASR", "libri", "test", trial="anonymized")
    line = WerLine(0.15, 3, 20, 1, 1, 1, "d", None, None)
    groups = [
        {"metric": "wer", "value": rate, "group_by": "accent", "group": name} | more
        for name, rate, more in (
            ("a", 0.1, {"low": 0.05, "high": 0.2}),
            (ODD, 0.2, {}),
            ("c", None, {}),
        )
    ]
    rows = [{"metric": "wer", "value": line.wer}, *groups]
    words = rows_record("recognition", place, rows, **facts_of_line(line))
    results = Results(CONFIG, identification=found, recognition=(words,))
    drawings = list(KIND["groups"].figures(ReportData(results)))
    values = {}
    for stem in ("groups-identification", "groups-wer"):
        drawing = next(d for d in drawings if d.name.startswith(f"{stem}_accent"))
        (axes,) = drawing.canvas.axes
        lines = [artist.get_xdata() for artist in axes.lines]
        values[stem] = {round(float(x[0]), 6) for x in lines if len(x)}
        assert drawing.name.isascii()
    assert values["groups-identification"] == {50.0, 60.0, 70.0}  # chance and dots, an interval
    assert values["groups-wer"] == {5.0, 10.0, 15.0, 20.0}


def first(kind: str, data: dict[str, ReportData]) -> Drawing:
    drawing = next(KIND[kind].figures(data[kind]))
    assert drawing.name.startswith(kind) and drawing.caption.endswith(".")
    return drawing


@pytest.mark.parametrize("kind", NAMES)
def test_same_bytes_twice(kind: str, data: dict[str, ReportData], tmp_path: Path) -> None:
    files = [write(first(kind, data), tmp_path / folder) for folder in "ab"]
    assert len(files[0]) >= 2
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("kind", KIND.values(), ids=list(KIND))
def test_no_data_no_figure(kind: FigureKind) -> None:
    assert list(kind.figures(ReportData(Results(CONFIG)))) == []


@pytest.mark.parametrize("kind", NAMES)
def test_no_text_is_clipped_and_no_legend_covers_the_axes(
    kind: str, data: dict[str, ReportData]
) -> None:
    for drawing in KIND[kind].figures(data[kind]):
        canvas = drawing.canvas
        canvas.draw_without_rendering()
        whole = canvas.bbox.padded(1)
        legends = [*canvas.legends, *(a.get_legend() for a in canvas.axes if a.get_legend())]
        assert legends or kind not in WITH_LEGEND
        boxes = [legend.get_window_extent() for legend in legends]
        for axes in canvas.axes:
            assert not any(box.padded(-2).overlaps(axes.get_window_extent()) for box in boxes)
            texts = (canvas._suptitle, axes.title, axes.xaxis.label, axes.yaxis.label)
            boxes += [t.get_window_extent() for t in texts if t is not None and t.get_text()]
        for box in boxes:
            assert whole.contains(box.x0, box.y0) and whole.contains(box.x1, box.y1), drawing.name


TOY = """
from privacy_eval.report.figures import style
from privacy_eval.report.figures.drawing import Drawing


def draw():
    with style.figure(2, 1) as canvas:
        canvas.subplots().plot([1, 2])
    return canvas


def figures(data):
    yield Drawing("toy_plot", f"A toy of {data.protocol.name}.", draw)
"""


def test_new_kinds_need_one_file_and_one_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    before = figures_source(ReportData(Results(CONFIG)).sources, conventional=False)
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    monkeypatch.setattr(figures, "KINDS", (*figures.KINDS, FigureKind("toy", "Toys")))
    data, out = ReportData(Results(CONFIG)), tmp_path / "figures"
    drawn_from = figures_source(data.sources, conventional=False)
    assert drawn_from != before
    assert write_figures(all_figures(data), out, drawn_from=drawn_from) == (1, 0)
    assert {p.suffix for p in out.glob("toy_plot.*")} == {".png", ".pdf"}
    _, sections, _ = report_sections(data, figures=out)
    assert [(s.title, [p.path for p in s.pictures]) for s in sections] == [
        ("Toys", [out / "toy_plot.png"])
    ]
    assert isinstance(sections[0], Section)


def has_pgfplots() -> bool:
    if not (shutil.which("pdflatex") and shutil.which("kpsewhich")):
        return False
    found = subprocess.run(["kpsewhich", "pgfplots.sty"], capture_output=True, check=False)
    return found.returncode == 0


@pytest.mark.wing("curves")
@pytest.mark.skipif(not has_pgfplots(), reason="pdflatex with pgfplots is not installed")
def test_tex_compiles_alone_and_within_a_document(
    data: dict[str, ReportData], tmp_path: Path
) -> None:
    drawings = [first(kind, data) for kind in ("ece", "conventional", "det", "linkability")]
    names = [write(d, tmp_path, ["tex"])[0].name for d in drawings]
    compiled(tmp_path, names[-1])
    inputs = "".join(f"\\input{{{name}}}\\clearpage\n" for name in names)
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{pgfplots}\n"
        f"\\begin{{document}}\n{inputs}The end.\n\\end{{document}}\n"
    )
    log = compiled(tmp_path, "paper.tex")
    assert f"({len(names) + 1} pages" in log  # the text after the figures is there too


@pytest.mark.wing("curves")
@pytest.mark.skipif(not has_pgfplots(), reason="pdflatex with pgfplots is not installed")
@pytest.mark.parametrize("active", ["=", ":;!?", "<>", '"'], ids=["tr", "fr", "es", "de"])
def test_tex_compiles_in_languages_with_active_characters(
    active: str, data: dict[str, ReportData], tmp_path: Path
) -> None:
    """Characters that TikZ reads are active, as babel makes them in a language."""
    (written,) = write(first("det", data), tmp_path, ["tex"])
    lines = "".join(
        rf"\begingroup\lccode126={ord(c)} \lowercase{{\endgroup\protected\def~}}{{\string{c}}}"
        for c in active
    )
    lines += "".join(rf"\catcode{ord(c)} 13 " for c in active)
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage{pgfplots}\n"
        f"\\begin{{document}}\n{lines}\\input{{{written.name}}}The end.\n\\end{{document}}\n"
    )
    compiled(tmp_path, "paper.tex")
