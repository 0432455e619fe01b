"""The strongest attacker: golden intervals, and a slow second implementation."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import GOLDEN

from privacy_eval.attackers.strongest import strongest

CASES = json.loads((GOLDEN.parent / "attackers/strongest.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["true"]))
def test_intervals_are_golden(case: dict) -> None:
    result = strongest(case["estimates"], case["replicates"])
    assert result.rivals == tuple(case["rivals"])
    assert (result.name, result.attackers) == (
        int(np.argmin(case["estimates"])),
        len(case["estimates"]),
    )
    for field in ("minimum", "corrected", "lower", "upper"):
        assert getattr(result, field) == pytest.approx(case[field], rel=0, abs=1e-12)


def quantile(values: list[float], level: float) -> float:
    """Linear between the order statistics."""
    ordered, place = sorted(values), level * (len(values) - 1)
    below = min(int(place), len(values) - 2)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def average_rank(value: float, values: list[float]) -> float:
    below = sum(v < value for v in values)
    return below + (sum(v == value for v in values) + 1) / 2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(2, 12), st.integers(0, 999))
def test_intervals_are_those_of_loops(attackers: int, replicates: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    estimates = (generator.integers(0, 12, attackers) / 12).tolist()
    drawn = (generator.integers(0, 12, (attackers, replicates)) / 12).tolist()
    best = estimates.index(min(estimates))
    rivals = [
        k
        for k in range(attackers)
        if estimates[k] - estimates[best]
        <= 2 * statistics.stdev(a - b for a, b in zip(drawn[k], drawn[best], strict=True)) + 1e-12
    ]
    highest = [
        max((average_rank(drawn[k][r], drawn[k]) - 0.5) / replicates for k in rivals)
        for r in range(replicates)
    ]
    level = quantile(highest, 0.975)
    optimism = []
    for r in range(replicates):
        column = [of_attacker[r] for of_attacker in drawn]
        optimism.append(estimates[column.index(min(column))] - min(column))
    result = strongest(estimates, drawn)
    assert result.rivals == tuple(rivals)
    assert result.lower == pytest.approx(min(quantile(d, 0.025) for d in drawn))
    assert result.upper == pytest.approx(min(quantile(drawn[k], level) for k in rivals))
    corrected = statistics.fmean(optimism) + statistics.fmean(drawn[best])
    assert result.corrected == pytest.approx(corrected)


def test_one_attacker_has_its_own_interval() -> None:
    drawn = np.random.default_rng(0).normal(0.3, 0.05, (1, 400))
    result = strongest([0.31], drawn)
    expected = tuple(np.quantile(drawn, [0.025, 0.975]))  # up to the place between two replicates
    assert (result.lower, result.upper) == pytest.approx(expected, abs=1e-3)
    assert result.minimum == result.corrected == pytest.approx(0.31)


@pytest.mark.parametrize(
    ("estimates", "replicates"),
    [([], []), ([0.1], [[0.1]]), ([0.1], [[0.1, np.nan]]), ([0.1, 0.2], [[0.1, 0.2]])],
)
def test_what_is_no_comparison_is_an_error(estimates: list, replicates: list) -> None:
    with pytest.raises(ValueError, match=r"estimates|replicates|finite"):
        strongest(estimates, replicates)
