"""Claims of the comparative study of metrics on its simulations; population values of estimates
against integration and samples, the ceiling, bias and spread."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from study_support import generator_of, records_of, rows_of, small_study

from privacy_eval.metrics import TrialScores, kaldi_eer, min_cllr, rocch_eer, score_metrics
from privacy_eval.metrics.llr import individual_disclosure
from privacy_eval.simulate import simulate_trials
from privacy_eval.study.protocol import ClustersExperiment, ClusterTrials, load_study
from privacy_eval.study.scores import (
    cllr_min_in_between,
    discrete_scores,
    fraction_below,
    gaussian_scores,
    individual_ceiling,
    model_with_speakers,
    population_values,
)

STUDY = load_study("metric_study")


@pytest.fixture(scope="module")
def gaussian() -> dict[str, list[dict[str, float]]]:
    assert STUDY.gaussian is not None
    by_case = defaultdict(list)
    for row in rows_of(records_of(gaussian=STUDY.gaussian)):
        by_case[row["case"]].append(row["metrics"]["exact"])
    return by_case


def test_table_1() -> None:
    """The third min Cllr is printed as 0.65 in the table and as 0.69 in the text; the released
    scripts give 0.656 (METRICS.md's note on it)."""
    cases = {case.labels: case.printed for case in STUDY.discrete.cases}
    printed = {"NNTNTNTT": 0.5, "NNTNTTNT": 0.59, "NNTNTTTN": 0.65}
    assert cases == {labels: {"cllr_min": v, "eer": 0.25} for labels, v in printed.items()}
    for labels, value in {**printed, "NNTNTTTN": 0.656}.items():
        scores = discrete_scores(labels)
        assert kaldi_eer(scores).value == rocch_eer(scores).value == 0.25
        assert min_cllr(scores).value == pytest.approx(value, abs=0.005)


def test_threshold_metrics_are_blind_if_nontarget_scores_are_higher(
    gaussian: dict[str, list[dict[str, float]]],
) -> None:
    assert sorted(map(len, gaussian.values())) == [64, 64, 128, 128]
    actual = gaussian["nontarget higher"]
    assert min(values["cllr_min"] for values in actual) >= 0.93
    assert min(values["rocch_eer"] for values in actual) > 0.45
    assert max(values["zebra_population"] for values in actual) < 0.06
    linkability = [values["linkability"] for values in actual]
    assert max(linkability) - min(linkability) > 0.5
    assert max(linkability) > 0.99


@pytest.mark.parametrize("case", ["target in between", "nontarget in between"])
def test_min_cllr_is_bounded_below_where_scores_are_surrounded(
    case: str, gaussian: dict[str, list[dict[str, float]]]
) -> None:
    actual = gaussian[case]
    assert min(values["cllr_min"] for values in actual) > 0.6
    # While all target scores can be linked in some of these sets.
    assert max(v["linkability"] for v in actual if v["cllr_min"] > 0.65) > 0.95


def test_min_cllr_and_linkability_agree_if_target_scores_are_higher(
    gaussian: dict[str, list[dict[str, float]]],
) -> None:
    """`Agree to a large extent`: what is not linkable is never far from min Cllr, whereas in each
    of the other cases it may be far from it."""
    apart = {
        case: max(values["cllr_min"] - (1 - values["linkability"]) for values in actual)
        for case, actual in gaussian.items()
    }
    assert apart.pop("target higher") < 0.4
    assert min(apart.values()) > 0.6
    correlation = np.corrcoef(
        [(v["cllr_min"], 1 - v["linkability"]) for v in gaussian["target higher"]], rowvar=False
    )
    assert correlation[0, 1] > 0.9


def test_gaussian_scores_are_those_of_the_key() -> None:
    generator = np.random.default_rng(3)
    scores = gaussian_scores("TNT", (10, 20, 30), (0.1, 0.2, 0.3), 5001, generator)
    assert scores.n_target == scores.n_nontarget == 5001
    low, high = scores.target[:2501], scores.target[2501:]
    for part, mean, deviation in ((low, 10, 0.1), (high, 30, 0.3), (scores.nontarget, 20, 0.2)):
        margin = 4 * deviation / math.sqrt(part.size)
        assert part.mean() == pytest.approx(mean, abs=margin)
        assert part.std() == pytest.approx(deviation, rel=4 / math.sqrt(2 * part.size))


# --- Figure 3


@pytest.mark.parametrize("number", range(3))
def test_figure_3(number: int) -> None:
    assert STUDY.clusters is not None
    row = rows_of(records_of(clusters=STUDY.clusters)[number : number + 1])[0]
    values = row["metrics"]
    assert values["exact"]["linkability"] > 0.95
    assert values["challenge"]["linkability"] > 0.95
    formula = cllr_min_in_between(row["numbers"]["share_below"])
    assert values["exact"]["cllr_min"] == pytest.approx(formula, abs=0.02)
    if number == 0:  # the study's own figures
        assert values["exact"]["cllr_min"] == pytest.approx(0.81, abs=0.02)
        assert values["challenge"]["linkability"] == pytest.approx(0.99, abs=0.01)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60))
def test_the_formula_is_min_cllr_of_such_scores(below: int, above: int, nontarget: int) -> None:
    scores = TrialScores([0.0] * below + [2.0] * above, [1.0] * nontarget)
    x = fraction_below(scores)
    assert x == below / (below + above)
    assert min_cllr(scores).value == pytest.approx(cllr_min_in_between(x), abs=1e-12)


def test_trials_of_enrolled_clusters() -> None:
    """Who is enrolled decides which pairs are trials; A's fractions are exact."""
    experiment = ClustersExperiment(10.0, 0.01, 4, (ClusterTrials("x", 0.75, 0.25, ("A",)),))
    (row,) = rows_of(records_of(clusters=experiment))
    assert (row["n_target"], row["n_nontarget"]) == (16, 16)
    # 3 of 4 left with 1 of 4 left: pairs apart are 3 * 3 + 1 * 1 of 16.
    assert row["numbers"]["share_below"] == 10 / 16
    left = [x for x, _ in row["points"]["A enrollment"] if x < 0]
    assert len(left) == 3 and all(abs(x + 10) < 1 for x in left)


# --- bias and spread of estimates

EERS = (0.03, 0.2, 0.45)


@pytest.mark.parametrize("eer", EERS)
def test_population_values_by_integration(eer: float) -> None:
    """From the definitions, with densities of scores in place of LLRs."""
    d = 2 * norm.ppf(1 - eer)
    values = population_values(eer)

    def integral(function: object) -> float:
        return float(quad(function, -12, d + 12, limit=400, points=[d / 2])[0])  # type: ignore[arg-type]

    def density(score: float, mean: float = 0.0) -> float:  # SciPy's takes long for one score
        return math.exp(-((score - mean) ** 2) / 2) / math.sqrt(2 * math.pi)

    def llr(score: float) -> float:
        return (score**2 - (score - d) ** 2) / 2

    target = integral(lambda s: density(s, d) * math.log2(1 + math.exp(-llr(s))))
    nontarget = integral(lambda s: density(s) * math.log2(1 + math.exp(llr(s))))
    assert values["cllr_min"] == pytest.approx((target + nontarget) / 2, abs=1e-7)

    def local(score: float) -> float:
        ratio = math.exp(llr(score))
        return max(0.0, ratio / (1 + ratio) - 1 / (1 + ratio))

    assert values["linkability"] == pytest.approx(
        integral(lambda s: density(s, d) * local(s)), abs=1e-7
    )

    # D_ECE, eq. (5): the area between the ECE of no evidence and that of the scores.
    def disclosed(prior: float) -> float:
        odds = math.log(prior / (1 - prior))
        ece = integral(
            lambda s: (
                prior * density(s, d) * math.log2(1 + math.exp(-llr(s) - odds))
                + (1 - prior) * density(s) * math.log2(1 + math.exp(llr(s) + odds))
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
    records = records_of(estimators=study.estimators)
    assert len(records) == 2 * 2 + 2 == len({r.name for r in records})
    (row,) = rows_of(records[1:2])
    assert (row["n_target"], row["n_nontarget"], row.get("n_speakers")) == (50, 50, None)
    generator, d = generator_of(records[1]), 2 * norm.ppf(0.8)
    values = [
        score_metrics(TrialScores(generator.normal(d, 1, 50), generator.normal(0, 1, 50)))
        for _ in range(5)
    ]
    eers = np.array([v["eer"] for v in values])
    estimate = row["estimates"]["exact"]["eer"]
    assert estimate["mean"] == pytest.approx(eers.mean(), abs=1e-12)
    assert estimate["deviation"] == pytest.approx(eers.std(ddof=1), abs=1e-12)
    assert eers.min() <= estimate["low"] <= estimate["high"] <= eers.max()
    (row,) = rows_of(records[-1:])
    assert (row["n_speakers"], row["n_target"], row["n_nontarget"]) == (6, 60, 300)


def test_bias_and_spread_shrink_with_trials() -> None:
    """Min Cllr is too low and disclosure too high on few trials; both shrink with more. Trials of
    the same speakers are less informative than independent ones."""
    study = load_study("metric_study").estimators
    assert study is not None
    names = ("independent_0.2_10_50", "independent_0.2_10_500", "speakers_0.2_20")
    records = {r.name.removeprefix("estimators_"): r for r in records_of(estimators=study)}
    rows = {name: rows_of([records[name]])[0] for name in names}
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
    ceilings = [
        individual_ceiling(*(rows[n][c] for c in ("n_target", "n_nontarget"))) for n in (few, many)
    ]
    assert all(c > value for c, value in zip(ceilings, individual, strict=True))
