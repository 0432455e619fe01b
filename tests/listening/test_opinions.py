"""Mean opinions against sums over all pairs of ratings."""

import numpy as np
import pytest
import reference_subjective as slow
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_eval.listening.opinions import mean_opinion, opinion_difference

RATING = st.tuples(st.integers(1, 10), st.sampled_from("abcd"), st.sampled_from("xyz"))
Ratings = list[tuple[int, str, str]]


def columns(ratings: Ratings) -> tuple[list[float], list[str], list[str]]:
    return tuple(map(list, zip(*ratings, strict=True)))  # type: ignore[return-value]


@settings(max_examples=40, deadline=None)
@given(st.lists(RATING, min_size=2, max_size=14), st.lists(RATING, min_size=1, max_size=14))
def test_estimates_agree_with_sums_over_pairs(first: Ratings, second: Ratings) -> None:
    samples = [columns(first), columns(second)]
    means = [sum(values) / len(values) for values, _, _ in samples]
    influence = [
        [sign * (v - mean) / len(values) for v in values]
        for sign, mean, (values, _, _) in zip((1, -1), means, samples, strict=True)
    ]
    listeners, speakers = (samples[0][k] + samples[1][k] for k in (1, 2))
    cases = [
        (mean_opinion(*samples[0]), influence[0], samples[0][1:], means[0]),
        (
            opinion_difference(*samples),
            influence[0] + influence[1],
            (listeners, speakers),
            means[0] - means[1],
        ),
    ]
    for estimate, of_ratings, units, value in cases:
        assert estimate.value == pytest.approx(value)
        if min(len(set(names)) for names in units) < 2 or estimate.low is None:
            assert estimate.low is estimate.high is estimate.p_value is None
            continue
        error, freedom, t = slow.opinion(of_ratings, *units, value)
        half = scipy.stats.t.ppf(0.975, freedom) * error
        assert (estimate.low, estimate.high) == pytest.approx((value - half, value + half))
        assert estimate.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))


def test_what_systems_share_cancels_out_in_their_difference() -> None:
    generator = np.random.default_rng(0)
    listeners, speakers = (g.ravel() for g in np.meshgrid(np.arange(12), np.arange(8)))
    shared = generator.normal(5, 2, 12)[listeners] + generator.normal(0, 2, 8)[speakers]
    first, second = (shared + shift + generator.normal(0, 0.2, 96) for shift in (0.5, 0))
    apart = [mean_opinion(values, listeners, speakers) for values in (first, second)]
    difference = opinion_difference((first, listeners, speakers), (second, listeners, speakers))
    assert all(a.high is not None and a.low is not None and a.high - a.low > 2 for a in apart)
    assert difference.low is not None and difference.high is not None
    assert 0.3 < difference.low < 0.5 < difference.high < 0.7


@pytest.mark.parametrize(
    ("ratings", "listeners", "speakers"),
    [
        ([3, 4, 5], ["a", "a", "a"], ["x", "y", "z"]),
        ([3, 4, 5], ["a", "b", "c"], ["x", "x", "x"]),
        ([4, 4, 4], ["a", "b", "c"], ["x", "y", "z"]),
        ([4], ["a"], ["x"]),
    ],
)
def test_nothing_is_inferred_from_one_listener_or_speaker_or_without_variation(
    ratings: list[float], listeners: list[str], speakers: list[str]
) -> None:
    estimate = mean_opinion(ratings, listeners, speakers)
    assert (estimate.value, estimate.low, estimate.p_value) == (4, None, None)


def test_ratings_without_their_listeners_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        mean_opinion([1, 2], ["a"], ["x", "y"])
    with pytest.raises(ValueError, match="shapes"):
        mean_opinion([], [], [])
