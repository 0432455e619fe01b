"""Claims of the comparative study of metrics on its simulations."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_support import rows_of, tasks_of

from privacy_eval.metrics import TrialScores, kaldi_eer, min_cllr, rocch_eer
from privacy_eval.study.protocol import ClustersExperiment, ClusterTrials, load_study
from privacy_eval.study.scores import (
    cllr_min_in_between,
    discrete_scores,
    fraction_below,
    gaussian_scores,
)

STUDY = load_study("metric_study")


@pytest.fixture(scope="module")
def gaussian() -> dict[str, list[dict[str, float]]]:
    assert STUDY.gaussian is not None
    by_case = defaultdict(list)
    for row in rows_of(tasks_of(gaussian=STUDY.gaussian)):
        by_case[row["case"]].append(row["metrics"]["exact"])
    return by_case


def test_table_1() -> None:
    """The third min Cllr is printed as 0.65 in the table and as 0.69 in the text; the released
    scripts give 0.656 (METRICS.md's note on it)."""
    assert STUDY.discrete is not None
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
    row = rows_of(tasks_of(clusters=STUDY.clusters)[number : number + 1])[0]
    values = row["metrics"]
    assert values["exact"]["linkability"] > 0.95
    assert values["challenge"]["linkability"] > 0.95
    formula = cllr_min_in_between(row["share_below"])
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
    (row,) = rows_of(tasks_of(clusters=experiment))
    assert (row["n_target"], row["n_nontarget"]) == (16, 16)
    # 3 of 4 left with 1 of 4 left: pairs apart are 3 * 3 + 1 * 1 of 16.
    assert row["share_below"] == 10 / 16
    left = [x for x, _ in row["points"]["A enrollment"] if x < 0]
    assert len(left) == 3 and all(abs(x + 10) < 1 for x in left)
