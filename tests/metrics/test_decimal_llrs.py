"""Units of log-likelihood ratios: a program for decimal ones, and when a caution is due."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import GOLDEN, cli, lines_to

import privacy_eval as pe
from privacy_eval.io.scores import read_scores
from privacy_eval.metrics import TrialScores, find_ties
from privacy_eval.metrics.caveats import DECIMAL

LIR = json.loads((GOLDEN.parent / "lir/decimal.json").read_text())
TARGET, NONTARGET = np.array(LIR["target"]), np.array(LIR["nontarget"])
LN10 = np.log(10)


def llrs(d: float, seed: int, sizes: tuple[int, int] = (500, 5000)) -> list[np.ndarray]:
    """Calibrated natural LLRs of normal scores, d' apart."""
    generator = np.random.default_rng(seed)
    return [
        sign * d**2 / 2 + d * generator.normal(size=n)
        for sign, n in zip((1, -1), sizes, strict=True)
    ]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Scores and key, in one order."""
    rows = [(f"s{n % 9}", f"u{n}", x, "target") for n, x in enumerate(LIR["target"])]
    rows += [(f"s{n % 9}", f"v{n}", x, "nontarget") for n, x in enumerate(LIR["nontarget"])]
    scores = lines_to(tmp_path / "scores", [f"{s} {u} {x}" for s, u, x, _ in rows])
    return scores, lines_to(tmp_path / "trials", [f"{s} {u} {what}" for s, u, _, what in rows])


def test_decimal_scores_have_the_cllr_of_lir(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Of a file in blocks, of a file whose key is in another order, and of arrays."""
    scores, trials = files
    turned = lines_to(tmp_path / "turned", reversed(trials.read_text().splitlines()))
    for key in (trials, turned):
        command = ("metrics", "--scores", scores, "--trials", key)
        plain = json.loads(cli(*command, "--log10", "--format", "json").out)
        for values in (plain[variant] for variant in ("exact", "challenge")):
            assert values["cllr"] == pytest.approx(LIR["cllr"], abs=1e-12)
            assert values["cllr_min"] == pytest.approx(LIR["cllr_min"], abs=1e-5)
        assert DECIMAL not in plain["caveats"]
        natural = json.loads(cli(*command, "--format", "json").out)
        costs = np.log2(1 + np.exp(-TARGET)), np.log2(1 + np.exp(NONTARGET))
        assert natural["exact"]["cllr"] == pytest.approx(sum(map(np.mean, costs)) / 2, abs=1e-12)
        assert DECIMAL in natural["caveats"]
    arrays = tmp_path / "t.npy", tmp_path / "n.npy"
    for path, values in zip(arrays, (TARGET, NONTARGET), strict=True):
        np.save(path, values)
    of_arrays = ("--target", arrays[0], "--nontarget", arrays[1], "--log10", "--format", "json")
    of_arrays_exact = json.loads(cli("metrics", *of_arrays).out)["exact"]
    assert of_arrays_exact["cllr"] == pytest.approx(LIR["cllr"], abs=1e-12)
    assert read_scores(scores, log10=True).score[:30] == pytest.approx(LN10 * TARGET)


@pytest.mark.wing("scale")
def test_counts_of_decimal_scores_have_the_cllr_of_lir(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    counts = ("--scores", files[0], "--trials", files[1], "--out", tmp_path / "c", "--log10")
    assert cli("count", *counts).code == 0
    counted = json.loads(cli("count-metrics", tmp_path / "c", "--format", "json").out)
    assert counted["cllr"] == pytest.approx(LIR["cllr"], abs=1e-6)


def test_the_unit_and_the_caution_are_printed(files: tuple[Path, Path]) -> None:
    command = ("metrics", "--scores", files[0], "--trials", files[1])
    for text in (cli(*command).out, repr(pe.evaluate(TARGET, NONTARGET))):
        (line,) = (row for row in text.splitlines() if row.startswith("Cllr "))
        assert "0.664 bit" in line and "natural-log" in line
        (caution,) = (row for row in text.splitlines() if "log10" in row and "Cllr" in row)
        assert "--log10" in caution and "calibrate" in caution and "0.565" in caution
    for text in (
        cli(*command, "--log10").out,
        repr(pe.evaluate(LN10 * TARGET, LN10 * NONTARGET)),
        cli(*command, "--metrics", "eer").out,
    ):
        assert "--log10" not in text
    assert "log10 LRs" in cli("metrics", "--help").out and "natural" in cli("metrics", "--help").out


@pytest.mark.parametrize("d", [1.7, 2.6, 3.3, 4.1])
def test_calibrated_decimal_llrs_are_recognized_and_natural_ones_are_not(d: float) -> None:
    """EERs of 20, 10, 5 and 2 %."""
    for seed in range(20):
        target, nontarget = llrs(d, seed)
        assert find_ties(TrialScores(target, nontarget)) == {}
        found = find_ties(TrialScores(target / LN10, nontarget / LN10))
        exact = pe.evaluate(target, nontarget).values["cllr"]
        assert found == {DECIMAL: pytest.approx(exact, abs=1e-12)}


@pytest.mark.parametrize("d", [0.0, 0.5, 1.0, 2.6, 4.1])
@pytest.mark.parametrize(
    ("factor", "offset"),
    [(0.1, 0), (0.1, 0.1), (0.05, 0.7), (1, 0), (1, -1), (2, 0), (5, 0), (20, -30), (1e6, 0)],
)
def test_other_scores_are_not(d: float, factor: float, offset: float) -> None:
    """Cosines, normalized scores, LLRs of a bad back end, and what is far too large for an LLR."""
    for seed in range(3):
        scores = llrs(d, seed)
        if factor < 1:  # cosines: nontargets have a mean and a standard deviation
            scores = [x / max(d, 1) + d / 2 for x in scores]
        found = find_ties(TrialScores(*(factor * x + offset for x in scores)))
        assert DECIMAL not in found


def test_scores_of_speaker_recognition_are_not() -> None:
    """Golden scores of real and simulated back ends."""
    for folder in sorted(GOLDEN.parent.glob("scores/*/scores.gz")):
        scores = read_scores(folder)
        key = pe.read_trials(folder.parent / "trials.gz")
        paired = pe.pair(scores, key)
        found = find_ties(TrialScores.from_labels(paired.score, paired.is_target))
        assert DECIMAL not in found, folder


def test_many_scores_are_judged_by_some_of_them() -> None:
    target, nontarget = llrs(2.6, 0, (30_000, 50_001))
    found = find_ties(TrialScores(target / LN10, nontarget / LN10))
    exact = pe.evaluate(target, nontarget).values["cllr"]
    assert found[DECIMAL] == pytest.approx(exact, abs=1e-12)
