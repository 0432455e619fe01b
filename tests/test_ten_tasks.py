"""Ten tasks of a notebook, each in a few lines, from data of any library; the expected numbers are
those of slow computations of their own."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import reference_metrics
import reference_similarity
from latex_support import compiled
from support import ROOT

import privacy_eval as pe

SPEAKERS = [f"s{number:03}" for number in range(100)]
ROWS = [(e, f"{s}-{n}", s) for e in SPEAKERS for s in SPEAKERS for n in range(2)]
SAME = np.array([enrolled == speaker for enrolled, _, speaker in ROWS])
SEX = np.array(["fm"[int(speaker[1:]) % 2] for _, _, speaker in ROWS])
BOTH = SEX == ["fm"[int(enrolled[1:]) % 2] for enrolled, _, _ in ROWS]
B1, MINE = (
    np.float32(np.random.default_rng(seed).normal(SAME * shift)).astype(float)
    for seed, shift in enumerate((2.0, 1.2))
)
COLUMNS = {
    **dict(zip(("enroll", "utt", "spk"), map(list, zip(*ROWS, strict=True)), strict=True)),
    **{"label": SAME.tolist(), "sex": SEX.tolist()},
}


def of_pandas(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(columns)


def of_polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(columns)


@pytest.fixture(params=[of_pandas, of_polars, dict], ids=["pandas", "polars", "dicts"])
def frames(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    make: Callable[[dict[str, Any]], Any] = request.param
    order = np.random.default_rng(9).permutation(len(ROWS))
    columns = {**COLUMNS, "score": MINE.tolist()}
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    return make({**COLUMNS, "score": B1.tolist()}), make(shuffled)


def eer(scores: Any, rows: Any = slice(None)) -> float:
    """Kaldi's, by its loop."""
    s, same = scores[rows], SAME[rows]
    return reference_metrics.kaldi_eer(s[same].tolist(), s[~same].tolist())[0]


def test_all_metrics(frames: tuple[Any, Any]) -> None:
    result = pe.evaluate(frames[0], bootstrap=0)
    trials = reference_metrics.trials_of(B1[SAME], B1[~SAME])
    assert result["eer"] == pytest.approx(eer(B1))
    assert result["cllr"] == pytest.approx(reference_metrics.cllr(trials))
    assert (result.n_target, result.n_nontarget) == (200, 19800)


def test_intervals(frames: tuple[Any, Any]) -> None:
    interval = pe.evaluate(frames[0], bootstrap=40).intervals["eer"]
    same = pe.speaker_bootstrap(pe.Trials(frames[0]), replicates=40, seed=0).interval("exact eer")
    assert (interval.low, interval.high) == (same.low, same.high)
    assert interval.low < eer(B1) < interval.high


def test_by_sex(frames: tuple[Any, Any]) -> None:
    by_sex = pe.evaluate(frames[0], by="sex", bootstrap=0)["eer"]
    expected = {sex: eer(B1, BOTH & (SEX == sex)) for sex in "fm"}
    assert by_sex == pytest.approx(expected)


def test_two_systems_compared(frames: tuple[Any, Any]) -> None:
    found = pe.compare(dict(zip(("B1", "mine"), frames, strict=True)), bootstrap=40)["eer"]["mine"]
    assert (found.value, found.difference) == pytest.approx((eer(MINE), eer(B1) - eer(MINE)))


def test_det_curves(frames: tuple[Any, Any]) -> None:
    axes = pe.plot_det({"B1": frames[0], "mine": frames[1]})
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    for name, scores in (("B1", B1), ("mine", MINE)):
        assert any(name in text and f"{100 * eer(scores):.2f}" in text for text in texts), texts
    plt.close("all")


def test_least_protected_speakers(frames: tuple[Any, Any]) -> None:
    of_speakers = pe.evaluate(frames[0], by="enrolled", bootstrap=0)["cllr_min"]
    least = sorted(of_speakers, key=of_speakers.__getitem__)[:5]
    enrolled = np.array([row[0] for row in ROWS])
    own = [(B1[(enrolled == s) & SAME], B1[(enrolled == s) & ~SAME]) for s in SPEAKERS]
    trials = map(reference_metrics.trials_of, *zip(*own, strict=True))
    values = [reference_metrics.min_cllr(of, "exact") for of in trials]
    expected = dict(zip(SPEAKERS, values, strict=True))
    assert of_speakers == pytest.approx(expected)
    assert least == sorted(SPEAKERS, key=lambda speaker: (expected[speaker], speaker))[:5]


def test_rank_1(frames: tuple[Any, Any]) -> None:
    found = pe.identify(frames[0], gallery=[10, 100], bootstrap=0)["rank1"]
    matrix = B1.reshape(100, 100, 2)
    for size in (10, 100):
        rates = [
            math.comb(99 - int((matrix[:, own, n] >= matrix[own, own, n]).sum() - 1), size - 1)
            / math.comb(99, size - 1)
            for own in range(100)
            for n in range(2)
        ]
        assert found[size] == pytest.approx(np.mean(rates))


VECTORS = np.random.default_rng(5).normal(size=(2, 60, 8)) + np.random.default_rng(6).normal(
    size=(20, 8)
).repeat(3, axis=0)
OWNER = np.repeat([f"p{number}" for number in range(20)], 3)


def test_from_embeddings_to_eer() -> None:
    trials = pe.score(*VECTORS, enrolled=OWNER, trial_speaker=OWNER)
    means = [np.mean(VECTORS[0][OWNER == name], axis=0) for name in dict.fromkeys(OWNER.tolist())]
    scores = [
        [m @ v / np.linalg.norm(m) / np.linalg.norm(v) for v in VECTORS[1]]
        for m in np.float32(means)
    ]
    own = np.arange(20)[:, None] == np.arange(20).repeat(3)
    found = np.array(scores)
    expected = reference_metrics.kaldi_eer(found[own].tolist(), found[~own].tolist())[0]
    assert pe.evaluate(trials, bootstrap=0)["eer"] == pytest.approx(expected)


def test_from_embeddings_to_deid_and_gvd() -> None:
    result = pe.voice_similarity(*VECTORS, OWNER)
    ids = [str(number) for number in range(len(OWNER))]
    speaker = dict(zip(ids, OWNER.tolist(), strict=True))
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in np.float32(VECTORS).astype(float)]
    scores = {
        kind: lambda a, b, x=x, y=y: float(np.float32(unit[x][int(a)] @ unit[y][int(b)]))
        for kind, x, y in (("oo", 0, 0), ("oa", 0, 1), ("aa", 1, 1))
    }
    expected = reference_similarity.similarity(scores, speaker, ids, "exact", ids)
    assert result["deid"]["exact"] == pytest.approx(expected.deid, abs=1e-4)
    assert result["gvd_db"]["exact"] == pytest.approx(expected.gvd_db, abs=1e-3)


def test_a_row_of_a_paper(frames: tuple[Any, Any], tmp_path: Path) -> None:
    systems = {"B1": frames[0], "my_100%": frames[1]}
    text = pe.evaluate(systems, bootstrap=0).to_latex(["eer", "zebra_population"])
    rows = [line for line in text.splitlines() if line.endswith(r"\\")][1:]
    assert rows[0].startswith(f"B1 & {100 * eer(B1):.2f} & ")
    assert rows[1].startswith(rf"my\_100\% & {100 * eer(MINE):.2f} & ")
    if shutil.which("pdflatex"):
        document = rf"\documentclass{{article}}\begin{{document}}{text}" + "\n\\end{document}\n"
        (tmp_path / "paper.tex").write_text(document)
        compiled(tmp_path, "paper.tex")


def test_the_page_shows_them_first() -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    tasks = page.partition("\n## Ten tasks\n")[2].partition("\n## ")[0]
    blocks = tasks.split("\n**")[1:]
    assert len(blocks) == 10
    assert all(block.count("\n>>> ") + block.count("\n... ") <= 5 for block in blocks)
