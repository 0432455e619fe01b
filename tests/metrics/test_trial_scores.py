"""The sorted scores that all metrics share."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import ScoreLists, any_scores

from privacy_eval import metrics
from privacy_eval.metrics import VARIANTS, TrialScores, score_metrics
from privacy_eval.metrics.llr import individual_disclosure, population_disclosure
from privacy_eval.metrics.pav import Sets
from privacy_eval.metrics.trial_scores import bin_edges

#: Of whose differences none overflows.
scores_of_any_size = st.floats(-8e307, 8e307) | st.sampled_from([0.0, 5e-324, 1e-320, 1.0, 1e300])


def test_arrays_of_the_caller_are_not_modified() -> None:
    target, nontarget = np.array([2.0, 1.0]), np.array([1.0, 0.0])
    both, labels = np.array([2.0, 1.0, 1.0]), np.array([True, False, True])
    for scores in (TrialScores(target, nontarget), TrialScores.from_labels(both, labels)):
        for variant in VARIANTS:
            score_metrics(scores, variant=variant)
        assert scores.in_score_order[0].tolist() == sorted([*scores.target, *scores.nontarget])
    assert target.tolist() == [2, 1]
    assert nontarget.tolist() == [1, 0]
    assert both.tolist() == [2, 1, 1]
    assert labels.tolist() == [True, False, True]


def test_from_labels_needs_a_label_each() -> None:
    with pytest.raises(ValueError, match=r"\(3,\) scores but \(2,\) labels"):
        TrialScores.from_labels([1.0, 2.0, 3.0], [True, False])


def test_matrices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a vector, not of shape \(1, 2\)"):
        TrialScores([[1.0, 2.0]], [0.0])


@settings(max_examples=50)
@given(scores=any_scores())
@example(scores=([-0.0], [0.0]))
@example(scores=([1.0, 1.0], [0.0, 0.0, 2.0]))
def test_counts_below_each_target(scores: ScoreLists) -> None:
    trials = TrialScores(*scores)
    for i, score in enumerate(sorted(scores[0])):
        assert trials.targets_below[i] == sum(t < score for t in scores[0])
        assert trials.nontargets_below[i] == sum(n < score for n in scores[1])
        assert trials.nontargets_up_to[i] == sum(n <= score for n in scores[1])
    assert trials.has_mixed_ties == bool(set(scores[0]) & set(scores[1]))


@settings(max_examples=50)
@given(trials=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2))
def test_file_order_is_kept_at_ties(trials: list[tuple[int, bool]]) -> None:
    trials = [*trials, (0, True), (3, False)]
    values, labels = zip(*trials, strict=True)
    ordered = sorted(range(len(trials)), key=lambda i: values[i])  # stable
    got_scores, got_labels, position = TrialScores.from_labels(values, labels).in_score_order
    assert position.tolist() == ordered
    assert got_scores.tolist() == [values[i] for i in ordered]
    assert got_labels.tolist() == [labels[i] for i in ordered]


def test_file_order_without_labels_is_nontargets_then_targets() -> None:
    scores = TrialScores([1.0, 0.0], [1.0, 1.0])
    _, labels, _ = scores.in_score_order
    assert labels.tolist() == [True, False, False, True]


VARIED = {
    **{
        name: getattr(metrics, name)
        for name in ("cllr", "min_cllr", "rocch_eer", "linkability", "zebra", "score_metrics")
    },
    "population_disclosure": population_disclosure,
    "individual_disclosure": individual_disclosure,
    "min_dcf": partial(metrics.min_dcf, p_target=0.5),
    "categorical_tag": lambda _, variant: metrics.categorical_tag(1.0, variant=variant),
}


@pytest.mark.parametrize("name", VARIED)
def test_an_unknown_variant_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="variant must be one of .* not 'Exact'"):
        VARIED[name](TrialScores([1.0], [0.0]), variant="Exact")


@given(
    st.lists(st.tuples(scores_of_any_size, scores_of_any_size), min_size=1, max_size=4),
    st.integers(1, 100),
)
def test_edges_of_ranges_are_those_of_linspace(
    ranges: list[tuple[float, float]], bins: int
) -> None:
    """To the last bit, of several ranges at once and of one alone."""
    ends = [(min(pair), max(pair)) for pair in ranges]
    counts = np.arange(bins, bins + len(ends))
    sets = Sets(np.cumsum(counts + 1) - counts - 1, int((counts + 1).sum()))
    low, high = np.array(ends).T
    at_once = np.split(bin_edges(low, high, counts, sets), sets.first[1:])
    for (first, last), count, actual in zip(ends, counts.tolist(), at_once, strict=True):
        around = 0.5 * (first == last)
        expected = np.linspace(first - around, last + around, count + 1)
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(TrialScores([first], [last]).edges(count), expected)
