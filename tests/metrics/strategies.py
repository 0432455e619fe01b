"""Sets of scores for Hypothesis."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from privacy_eval.metrics import VARIANTS, TrialScores

each_variant = pytest.mark.parametrize("variant", VARIANTS)

ScoreLists = tuple[list[float], list[float]]


@st.composite
def tied(draw: st.DrawFn, max_trials: int = 40) -> ScoreLists:
    """Targets and nontargets on a handful of integers, so that most scores are shared."""
    top = draw(st.integers(0, 12))
    value = st.integers(-top, top).map(float)
    lists = st.lists(value, min_size=1, max_size=max_trials)
    return draw(lists), draw(lists)


@st.composite
def untied(draw: st.DrawFn, max_trials: int = 40) -> ScoreLists:
    """No two trials share a score, not even as float32: multiples of 1/4 below 2^20."""
    values = draw(
        st.lists(st.integers(-(2**20), 2**20), min_size=2, max_size=2 * max_trials, unique=True)
    )
    size = draw(st.integers(1, len(values) - 1))
    # Divided by a large number as well, so that the scores are not far out of the range of LLRs.
    scale = draw(st.sampled_from([4.0, 2.0**18]))
    scores = [value / scale for value in values]
    return scores[:size], scores[size:]


def any_scores(max_trials: int = 40) -> st.SearchStrategy[ScoreLists]:
    """With ties and without."""
    return tied(max_trials) | untied(max_trials)


def normal_scores(trials: int, share: float = 0.1, *, scale: float = 1.0) -> TrialScores:
    generator = np.random.default_rng(trials)
    targets = int(trials * share)
    return TrialScores(
        scale * (generator.standard_normal(targets) + 1.5),
        scale * generator.standard_normal(trials - targets),
    )


def operating_points(target: list[float], nontarget: list[float]) -> set[tuple[float, float]]:
    """Miss and false-alarm rates at every threshold."""
    points = set()
    for threshold in {*target, *nontarget, math.inf}:
        missed = sum(t < threshold for t in target)
        accepted = sum(n >= threshold for n in nontarget)
        points.add((missed / len(target), accepted / len(nontarget)))
    return points
