"""Population values against integration and samples; the ceiling; bias and spread."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from study_support import small_study

from privacy_eval.metrics import TrialScores, score_metrics
from privacy_eval.metrics.llr import individual_disclosure
from privacy_eval.simulate import simulate_trials
from privacy_eval.study.estimators import (
    estimator_tasks,
    individual_ceiling,
    model_with_speakers,
    population_values,
)
from privacy_eval.study.protocol import load_study
from privacy_eval.study.tasks import Metrics

EERS = (0.03, 0.2, 0.45)


@pytest.mark.parametrize("eer", EERS)
def test_population_values_by_integration(eer: float) -> None:
    """From the definitions, with densities of scores in place of LLRs."""
    d = 2 * norm.ppf(1 - eer)
    values = population_values(eer)

    def integral(function: object) -> float:
        return float(quad(function, -12, d + 12, limit=400, points=[d / 2])[0])  # type: ignore[arg-type]

    def llr(score: float) -> float:
        return float(norm.logpdf(score, d) - norm.logpdf(score))

    target = integral(lambda s: norm.pdf(s, d) * math.log2(1 + math.exp(-llr(s))))
    nontarget = integral(lambda s: norm.pdf(s) * math.log2(1 + math.exp(llr(s))))
    assert values["cllr_min"] == pytest.approx((target + nontarget) / 2, abs=1e-7)

    def local(score: float) -> float:
        ratio = math.exp(llr(score))
        return max(0.0, ratio / (1 + ratio) - 1 / (1 + ratio))

    assert values["linkability"] == pytest.approx(
        integral(lambda s: norm.pdf(s, d) * local(s)), abs=1e-7
    )

    # D_ECE, eq. (5): the area between the ECE of no evidence and that of the scores.
    def disclosed(prior: float) -> float:
        odds = math.log(prior / (1 - prior))
        ece = integral(
            lambda s: (
                prior * norm.pdf(s, d) * math.log2(1 + math.exp(-llr(s) - odds))
                + (1 - prior) * norm.pdf(s) * math.log2(1 + math.exp(llr(s) + odds))
            )
        )
        return -prior * math.log2(prior) - (1 - prior) * math.log2(1 - prior) - ece

    nodes, weights = np.polynomial.legendre.leggauss(16)
    area = sum(w * disclosed((x + 1) / 2) for x, w in zip(nodes, weights, strict=True)) / 2
    assert values["zebra_population"] == pytest.approx(area, abs=1e-4)


def test_large_samples_approach_the_population_values() -> None:
    generator = np.random.default_rng(1)
    for eer in EERS:
        d = 2 * norm.ppf(1 - eer)
        scores = TrialScores(generator.normal(d, 1, 200_000), generator.normal(0, 1, 200_000))
        expected = population_values(eer)
        actual = {m: v for m, v in score_metrics(scores).items() if m in expected}
        assert actual == pytest.approx(expected, abs=0.006)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_no_scores_are_above_the_ceiling(targets: int, nontargets: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    kind = seed % 3
    scores = TrialScores(
        generator.normal((0.0, 1.0, 4.0)[kind], 1, targets).round(kind),
        generator.normal(0, 1, nontargets).round(kind),
    )
    ceiling = individual_ceiling(targets, nontargets)
    assert individual_disclosure(scores) <= ceiling + 1e-12
    separated = TrialScores([1.0] * targets, [0.0] * nontargets)
    assert individual_disclosure(separated) == pytest.approx(ceiling, abs=1e-12)


def test_speakers_cause_a_fraction_of_the_variance_in_both_classes() -> None:
    model = model_with_speakers(0.2, 0.25)
    assert model.eer == pytest.approx(0.2, abs=1e-12)
    assert model.target_deviation == pytest.approx(model.nontarget_deviation, abs=1e-12)
    assert model.target_speaker**2 / model.target_deviation**2 == pytest.approx(0.25)
    trials = simulate_trials(
        model, enrolled=300, speakers=300, utterances=2, generator=np.random.default_rng(0)
    )
    deviation = trials.score[~trials.is_target].std()
    assert deviation == pytest.approx(model.nontarget_deviation, rel=0.02)


def test_rows_have_mean_and_spread_of_replicates() -> None:
    study = small_study()
    assert study.estimators is not None
    tasks = list(estimator_tasks(study.estimators))
    assert len(tasks) == 2 * 2 + 2 == len({task.name for task in tasks})
    (row,) = tasks[1].compute(np.random.default_rng(4), Metrics())
    assert (row["n_target"], row["n_nontarget"], row["speakers"]) == (50, 50, None)
    generator, d = np.random.default_rng(4), 2 * norm.ppf(0.8)
    values = [
        score_metrics(TrialScores(generator.normal(d, 1, 50), generator.normal(0, 1, 50)))
        for _ in range(5)
    ]
    eers = np.array([v["eer"] for v in values])
    estimate = row["estimates"]["exact"]["eer"]
    assert estimate["mean"] == pytest.approx(eers.mean(), abs=1e-12)
    assert estimate["deviation"] == pytest.approx(eers.std(ddof=1), abs=1e-12)
    assert eers.min() <= estimate["low"] <= estimate["high"] <= eers.max()
    (row,) = tasks[-1].compute(np.random.default_rng(4), Metrics())
    assert (row["speakers"], row["n_target"], row["n_nontarget"]) == (6, 60, 300)


def test_bias_and_spread_shrink_with_trials() -> None:
    """Min Cllr is too low and disclosure too high on few trials; both shrink with more. Trials of
    the same speakers are less informative than independent ones."""
    study = load_study("metric_study").estimators
    assert study is not None
    chosen = {"independent_0.2_10_50", "independent_0.2_10_500", "speakers_0.2_20"}
    rows = {
        task.name: task.compute(np.random.default_rng(0), Metrics())[0]
        for task in estimator_tasks(study)
        if task.name in chosen
    }
    truth = population_values(0.2)

    def bias(name: str, metric: str) -> float:
        return float(rows[name]["estimates"]["exact"][metric]["mean"] - truth[metric])

    few, many, speakers = sorted(rows)
    assert few == "independent_0.2_10_50"
    assert bias(few, "cllr_min") < -0.04 < bias(many, "cllr_min") < 0
    assert bias(few, "zebra_population") > 0.04 > bias(many, "zebra_population") > 0
    # 200 target trials of 20 speakers scatter much more than 500 independent ones.
    spread = {n: rows[n]["estimates"]["exact"]["eer"]["deviation"] for n in rows}
    assert spread[many] < 0.6 * spread[few] and spread[speakers] > 1.5 * spread[many]
    individual = [rows[n]["estimates"]["exact"]["zebra_individual"]["mean"] for n in (few, many)]
    assert individual[1] > individual[0] + 0.2
    assert all(rows[n]["ceiling"] > v for n, v in zip((few, many), individual, strict=True))
