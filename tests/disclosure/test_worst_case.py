"""Worst cases: golden values of independent tools, slow loops, refusals."""

import json
import math
import statistics
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_metrics import calibrated, pooled_points, single_points, trials_of
from scipy import stats
from strategies import ScoreLists, any_scores
from support import ROOT, Run, cli

from privacy_eval.disclosure.worst_case import (
    WorstCase,
    fit_student,
    gaussian_worst_case,
    rank_counts,
    rank_evidence,
    student_worst_case,
    worst_case,
)
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.trials import Trials

SMALL = FOLDER.parent / "worst_case"
SHARED = ROOT.parent / "shared/disclosure/worst_case"
ALL = SHARED if SHARED.is_dir() else SMALL
EXPECTED = json.loads((SMALL / "expected.json").read_text()) | json.loads(
    (ALL / "expected.json").read_text()
)


@cache
def trials_of_set(name: str) -> Trials:
    folder = SMALL / name
    if folder.is_dir():
        return pair(read_scores(folder / "scores.gz"), read_trials(folder / "trials.gz"))
    return pair(read_scores(SHARED / name / "scores"), read_trials(SHARED / name / "trials"))


@cache
def estimated(name: str) -> WorstCase:
    return worst_case(trials_of_set(name), permutations=2)


def eps(expected: Any) -> Any:
    return None if expected is None else pytest.approx(float(expected["eps"]), rel=0, abs=1e-9)


@pytest.mark.parametrize("name", EXPECTED)
def test_golden_values(name: str) -> None:
    values, expected = estimated(name), EXPECTED[name]
    assert values.pav_exact == eps(expected["pav_exact"])
    assert values.pav_released == eps(expected["pav_released_step0"])
    assert values.gauss == eps(expected["gauss"])
    assert values.rank["raw"] == eps(expected["rank"]["raw"])
    assert values.rank["laplace"] == eps(expected["rank"]["laplace"])
    fitted = float(expected["rank"]["beta_binomial"]["eps"])
    assert values.rank["beta_binomial"] == pytest.approx(fitted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", EXPECTED)
def test_golden_student(name: str) -> None:
    trials, expected = trials_of_set(name), EXPECTED[name]["student"]
    if expected is None or EXPECTED[name]["n_target"] < 10:
        assert estimated(name).student is None
        return
    flat = max(expected["target"][0], expected["nontarget"][0]) > 100
    value = estimated(name).student
    assert value == pytest.approx(expected["eps"], rel=2e-2 if flat else 1e-3)
    for of, likelihood in zip((True, False), expected["mean_log_likelihood"], strict=True):
        scores = trials.score[trials.is_target == of]
        fit = fit_student(scores)
        assert 1 <= fit[0] <= 1000.0001
        assert stats.t.logpdf(scores, *fit).mean() >= likelihood - 1e-6


# Loops


def slow_rank_counts(trials: list[tuple[str, float, bool]]) -> list[float] | None:
    """Rank every test's target, one test after the other."""
    tests = defaultdict(list)
    for test, score, is_target in trials:
        tests[test].append((score, is_target))
    sizes = {len(of) for of in tests.values()}
    if len(sizes) > 1 or sizes == {1} or any(sum(t for _, t in of) != 1 for of in tests.values()):
        return None
    counts = [0.0] * sizes.pop()
    for of in tests.values():
        (own,) = (score for score, is_target in of if is_target)
        better = sum(score > own for score, _ in of)
        equal = sum(score == own for score, _ in of)
        for rank in range(better, better + equal):
            counts[rank] += 1 / equal
    return counts


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3).map(float), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_rank_counts(trials: list[tuple[str, float, bool]]) -> None:
    tests, scores, labels = zip(*trials, strict=True)
    expected = slow_rank_counts(trials)
    counts = rank_counts(Trials(score=scores, label=np.array(labels), utterance=tests))
    assert (counts is None) == (expected is None)
    if counts is not None:
        assert counts.tolist() == pytest.approx(expected)


@settings(max_examples=60)
@given(any_scores(20))
def test_pav_and_gaussian(scores: ScoreLists) -> None:
    target, nontarget = scores
    pooled = [*target, *nontarget]
    values = worst_case(TrialScores(target, nontarget), permutations=1)
    trials = trials_of(target, nontarget)
    exact = calibrated(pooled_points(trials), laplace=True)
    released = calibrated(single_points(trials), laplace=True)
    assert values.pav_exact == pytest.approx(max(abs(v) for v, _ in exact), abs=1e-9)
    assert values.pav_released == pytest.approx(max(abs(v) for v, _ in released), abs=1e-9)
    of_targets = sorted(value for value, is_target in exact if is_target)
    place = 0.99 * (len(of_targets) - 1)
    low, high = of_targets[math.floor(place)], of_targets[math.ceil(place)]
    quantile = low + (high - low) * (place % 1)
    assert values.quantile_99 == pytest.approx(quantile, abs=1e-9)
    if len(set(target)) > 1 and len(set(nontarget)) > 1:
        fits = [statistics.NormalDist(statistics.mean(x), statistics.pstdev(x)) for x in scores]
        ratios = [stats.norm(f.mean, f.stdev).logpdf(pooled) for f in fits]
        largest = max(abs(float(a - b)) for a, b in zip(*ratios, strict=True))
        assert values.gauss == pytest.approx(largest, rel=1e-6, abs=1e-6)
    else:
        assert values.gauss is None
    assert values.rank is None


def test_student_is_the_most_likely_of_many() -> None:
    scores = stats.t.rvs(3, size=300, random_state=1)
    degrees, location, scale = fit_student(scores)
    best = stats.t.logpdf(scores, degrees, location, scale).mean()
    for factor in (0.9, 0.99, 1.01, 1.1):
        for other in (
            (degrees * factor, location, scale),
            (degrees, location + factor - 1, scale),
            (degrees, location, scale * factor),
        ):
            assert stats.t.logpdf(scores, *other).mean() < best


def test_rank_fit_beats_a_grid() -> None:
    counts = np.array([5.0, 3.0, 1.0, 0.0, 2.0])
    a, b = np.meshgrid(*[np.exp(np.linspace(-3, 5, 60))] * 2)
    likelihood = sum(c * stats.betabinom.logpmf(k, 4, a, b) for k, c in enumerate(counts))
    best = np.argmax(likelihood)
    shares = stats.betabinom.pmf(range(5), 4, a.flat[best], b.flat[best])
    near = np.abs(np.log(shares * 4 / (1 - shares))).max()
    assert rank_evidence(counts)["beta_binomial"] == pytest.approx(near, rel=0.05)


# Chance, refusals, scale


def test_chance_is_seeded_and_reached_by_scores_without_information() -> None:
    generator = np.random.default_rng(3)
    trials = Trials(score=generator.normal(size=3000), label=np.arange(3000) < 200)
    first, again = (worst_case(trials, permutations=100) for _ in range(2))
    assert first == again
    assert 2 < first.chance_95 < 4  # 1.3 to 1.6 in log10, as simulated
    assert first.pav_exact < first.chance_95
    scores = trials.score + 3 * trials.is_target
    shifted = worst_case(trials.with_columns(score=scores), permutations=100)
    assert shifted.chance_95 == first.chance_95 and shifted.pav_exact > first.chance_95


def test_refusals() -> None:
    few = TrialScores(np.arange(9.0), np.arange(20.0))
    assert student_worst_case(few) is None
    half = TrialScores([0.0] * 10 + list(range(10)), np.arange(20.0))
    assert student_worst_case(half) is None
    assert student_worst_case(TrialScores(np.arange(10.0), np.arange(20.0))) is not None
    assert gaussian_worst_case(TrialScores([1.0, 1.0], [0.0, 1.0])) is None
    assert (
        rank_evidence([4.0, 0.0])["beta_binomial"] == rank_evidence([0.0, 4.0])["raw"] == math.inf
    )


def test_scores_of_any_size() -> None:
    generator = np.random.default_rng(4)
    scores, labels = generator.normal(size=200), np.arange(200) < 40
    one, huge = (
        worst_case(Trials(score=scores * s, label=labels), permutations=2) for s in (1, 1e300)
    )
    assert huge.pav_exact == one.pav_exact
    assert [huge.gauss, huge.student] == pytest.approx([one.gauss, one.student], rel=1e-4)


# The verb


def run(name: str, *options: object) -> Run:
    files = ("--scores", SMALL / name / "scores.gz", "--trials", SMALL / name / "trials.gz")
    return cli("metrics", *files, *options)


def test_json() -> None:
    done = run("few_targets_12", "--worst-case", "--format", "json")
    values = json.loads(done.out)["worst_case"]
    assert list(values) == [
        *("pav_exact", "pav_released", "gauss", "student", "rank", "quantile_99", "chance_95")
    ]
    assert list(values["rank"]) == ["raw", "laplace", "beta_binomial"]
    assert values["rank"]["raw"] == "inf"
    assert values["gauss"] == eps(EXPECTED["few_targets_12"]["gauss"])
    assert "worst_case" not in json.loads(run("few_targets_12", "--format", "json").out)


def test_text_has_trials_and_caveats() -> None:
    out = run("few_targets_12", "--worst-case").out
    assert "12 target and 468 nontarget trials" in out
    assert "estimates differ: the tails decide" in out
    assert "no evidence of a leak" in out
    student = run("few_targets_3", "--worst-case").out
    assert "Student t" in student and "n/a" in student
    assert "the tails decide" not in run("ties_five_values", "--worst-case").out


def test_arrays_have_no_ranks(tmp_path: Path) -> None:
    for name, of in (("t.npy", [1.0, 2.0, 4.0]), ("n.npy", [0.0, 3.0])):
        np.save(tmp_path / name, np.array(of))
    files = ("--target", tmp_path / "t.npy", "--nontarget", tmp_path / "n.npy")
    values = json.loads(cli("metrics", *files, "--worst-case", "--format", "json").out)
    assert values["worst_case"]["rank"] is None and values["worst_case"]["gauss"] > 0


def test_wrong_usage() -> None:
    assert run("few_targets_12", "--worst-case", "--format", "csv").code == 2
