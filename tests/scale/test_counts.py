"""Scores as counts: brackets that hold the exact values, and merging."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import reference_metrics as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics.strategies import ScoreLists, any_scores
from numpy.typing import NDArray

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import TrialScores, kaldi_eer, score_metrics
from privacy_eval.scale.counts import (
    Bracket,
    ScoreCounts,
    count_metrics,
    count_scores,
    merge_counts,
    sortable_key,
)

FOLDER = Path(__file__).parents[1] / "data/golden/counts"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
#: Names of the golden brackets.
GOLDEN = {
    "eer_kaldi": "eer_kaldi",
    "eer_crossing": "eer_crossing",
    "eer_rocch": "rocch_eer",
    "cllr_min": "min_cllr",
    "linkability": "linkability",
}
BITS = ("8", "12", "16", "20", "24", "32")


def scores_of(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    case = EXPECTED["small"][name]
    if "targets" in case:
        return np.float32(case["targets"]), np.float32(case["nontargets"])
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as arrays:
        return arrays["target"], arrays["nontarget"]


def holds(bracket: Bracket, value: float) -> bool:
    return bracket.low - 1e-9 <= value <= bracket.high + 1e-9


def same(first: ScoreCounts, second: ScoreCounts) -> bool:
    names = ("bits", "bins", "targets", "nontargets", "smallest", "largest")
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in names)


def test_keys_are_the_golden_ones_and_sort_as_numbers() -> None:
    for row in EXPECTED["keys"]:
        assert f"{int(sortable_key([row['float32']])[0]):08x}" == row["hex"]
    numbers = np.sort(np.random.default_rng(0).standard_cauchy(1000).astype(np.float32))
    assert np.all(np.diff(sortable_key(numbers).astype(np.int64)) > 0)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXPECTED["small"])
def test_brackets_hold_the_golden_values_and_are_as_narrow(name: str, bits: str) -> None:
    case = EXPECTED["small"][name]
    metrics = count_metrics(count_scores(*scores_of(name), bits=int(bits)))
    assert (metrics["n_target"], metrics["n_nontarget"]) == (case["n_target"], case["n_nontarget"])
    for field, golden in GOLDEN.items():
        bracket, (low, high) = metrics[field], case["bits"][bits][golden]
        for value in np.atleast_1d(case[golden]):
            assert holds(bracket, value), field
        assert bracket.high - bracket.low <= high - low + 1e-9, field
    if bits == "32":
        nats = case["zebra_individual_nat"]
        assert metrics["zebra_individual"] == pytest.approx(nats / math.log(10), abs=1e-9)
    else:
        assert metrics["zebra_individual"] is metrics["cllr"] is None


@settings(max_examples=60, deadline=None)
@given(scores=any_scores(), bits=st.sampled_from([8, 16, 20, 24, 32]), factor=st.floats(0.1, 10))
def test_brackets_hold_the_values_of_the_scores(
    scores: ScoreLists, bits: int, factor: float
) -> None:
    target, nontarget = (np.float32(factor * np.array(s)).astype(float) for s in scores)
    exact = score_metrics(TrialScores(target, nontarget), variant="exact")
    metrics = count_metrics(count_scores(target, nontarget, bits=bits))
    assert holds(metrics["eer_rocch"], exact["rocch_eer"])
    assert holds(metrics["cllr_min"], exact["cllr_min"])
    assert holds(metrics["linkability"], exact["linkability"])
    eer = float(np.float32(kaldi_eer(TrialScores(target, nontarget)).value))
    assert metrics["eer_kaldi"].low <= eer <= metrics["eer_kaldi"].high
    if bits == 32:
        for field in ("eer_kaldi", "eer_rocch", "cllr_min"):
            assert metrics[field].low == metrics[field].high
        assert metrics["cllr"] == pytest.approx(exact["cllr"], rel=1e-9)
        assert metrics["zebra_individual"] == pytest.approx(exact["zebra_individual"], abs=1e-9)


def crossings(target: Sequence[float], nontarget: Sequence[float]) -> tuple[float, float]:
    """The least and the largest rate where miss and false-alarm rates cross, threshold by
    threshold: scores of one threshold may be in any order."""

    def miss(threshold: float) -> float:
        return sum(s < threshold for s in target) / len(target)

    def false_alarm(threshold: float) -> float:
        return sum(s >= threshold for s in nontarget) / len(nontarget)

    thresholds = [*sorted({*target, *nontarget}), math.inf]
    after = next(n for n, s in enumerate(thresholds) if miss(s) >= false_alarm(s))
    before, at = thresholds[after - 1], thresholds[after]
    return max(miss(before), false_alarm(at)), min(miss(at), false_alarm(before))


@pytest.mark.parametrize("bits", [16, 20, 24, 32])
def test_brackets_hold_the_exact_values_of_250_random_cases(bits: int) -> None:
    """1000 in all, by the slow second implementation; scores that share bins, and ties."""
    rng = np.random.default_rng(bits)
    for _ in range(250):
        spread, step = 10.0 ** rng.uniform(-6, 3), rng.choice([0, 0.1, 0.5])
        target, nontarget = (
            1 + spread * (rng.normal(shift, 1, rng.integers(1, 15))) for shift in (rng.normal(), 0)
        )
        if step:
            target, nontarget = (
                (s / (step * spread)).round() * step * spread for s in (target, nontarget)
            )
        target, nontarget = (np.float32(s).astype(float).tolist() for s in (target, nontarget))
        metrics = count_metrics(count_scores(target, nontarget, bits=bits))
        trials = reference.trials_of(target, nontarget)
        assert holds(metrics["eer_rocch"], reference.rocch_eer(trials, "exact"))
        assert holds(metrics["cllr_min"], reference.min_cllr(trials, "exact"))
        assert holds(metrics["linkability"], reference.linkability(target, nontarget, "exact"))
        assert holds(metrics["eer_kaldi"], np.float32(reference.kaldi_eer(target, nontarget)[0]))
        for value in crossings(target, nontarget):
            assert holds(metrics["eer_crossing"], value)


@settings(max_examples=60, deadline=None)
@given(scores=any_scores(), bits=st.sampled_from([8, 24, 32]), data=st.data())
def test_parts_in_any_order_merge_to_the_whole(
    scores: ScoreLists, bits: int, data: st.DataObject
) -> None:
    labelled = [*((s, True) for s in scores[0]), *((s, False) for s in scores[1])]
    labelled = data.draw(st.permutations(labelled))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(labelled) - 1), max_size=4)))
    parts = [labelled[a:b] for a, b in zip([0, *cuts], [*cuts, len(labelled)], strict=True)]
    tables = [
        count_scores([s for s, t in part if t], [s for s, t in part if not t], bits=bits)
        for part in parts
    ]
    while len(tables) > 1:  # some of them first, then these with others
        tables = data.draw(st.permutations(tables))
        some = data.draw(st.integers(2, len(tables)))
        tables = [merge_counts(tables[:some]), *tables[some:]]
    assert same(tables[0], count_scores(*scores, bits=bits))


def test_singular_cases() -> None:
    metrics = count_metrics(count_scores([0.0, -0.0], [0.0]))
    assert metrics["eer_rocch"] == Bracket(0.5, 0.5) and metrics["linkability"] == Bracket(0, 0)
    assert metrics["eer_crossing"] == Bracket(0, 1)  # all tied: any rate
    extreme = np.finfo(np.float32).max
    for bits in (8, 32):
        assert holds(count_metrics(count_scores([extreme], [-extreme], bits=bits))["eer_rocch"], 0)
    for scores in (([], []), ([np.nan], [0.0]), ([1e39], [0.0])):
        with pytest.raises(PrivacyEvalError, match="finite as float32"):
            count_scores(*scores)
    with pytest.raises(PrivacyEvalError, match="no target"):
        count_metrics(count_scores([], [1.0]))
    with pytest.raises(PrivacyEvalError, match="of 8 and 32 bits"):
        merge_counts([count_scores([1.0], []), count_scores([1.0], [], bits=8)])
