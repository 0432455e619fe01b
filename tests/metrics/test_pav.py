"""Pool adjacent violators."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import reference_metrics as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from strategies import ScoreLists, any_scores, each_variant

from privacy_eval.metrics import VARIANTS, TrialScores, Variant
from privacy_eval.metrics.pav import Groups, PavBlocks, pav, sloped_llr, with_laplace

group_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any), min_size=1, max_size=60
)


def solve(groups: list[tuple[int, int]]) -> PavBlocks:
    """PAV of (targets, nontargets) groups."""
    targets, nontargets = np.array(groups, dtype=np.int64).T
    return pav(Groups(targets, nontargets))


def counts(blocks: PavBlocks) -> list[tuple[int, int]]:
    return list(zip(blocks.targets.tolist(), blocks.nontargets.tolist(), strict=True))


def stack_pav(groups: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The textbook algorithm on integers: pool while the fraction of targets does not rise."""
    stack: list[tuple[int, int]] = []
    for t, n in groups:
        while stack and stack[-1][0] * n >= t * stack[-1][1]:
            t, n = t + stack[-1][0], n + stack[-1][1]
            stack.pop()
        stack.append((t, n))
    return stack


def test_by_hand() -> None:
    # Shares of targets 0/2, 1/1, 0/1, 2/2: the second exceeds the third, so they pool to
    # 1/2; 0 < 1/2 < 1 rises. T = N = 3, so LLR = logit: -inf, log(1/1) = 0, inf.
    blocks = solve([(0, 2), (1, 0), (0, 1), (2, 0)])
    assert counts(blocks) == [(0, 2), (1, 1), (2, 0)]
    assert blocks.llr.tolist() == [-math.inf, 0.0, math.inf]


def test_prior_log_odds_are_subtracted() -> None:
    # Shares 1/5 and 3/5 rise already. T/N = 4/6; odds 1/4 and 3/2:
    # LLR = log(1/4) - log(4/6) = log(3/8), and log(3/2) - log(4/6) = log(9/4).
    blocks = solve([(1, 4), (3, 2)])
    assert blocks.llr.tolist() == pytest.approx([math.log(3 / 8), math.log(9 / 4)], abs=1e-15)


def test_pooling_continues_backwards() -> None:
    # 1, 1/2, 1/3, 0 fall all the way: one block of 3 targets and 4 nontargets, LLR = 0.
    blocks = solve([(1, 0), (1, 1), (1, 2), (0, 1)])
    assert counts(blocks) == [(3, 4)]
    assert blocks.llr.tolist() == pytest.approx([0.0], abs=1e-15)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        # All shares 1/3.
        ([(1, 2), (2, 4), (3, 6)], [(6, 12)]),
        # 1, 0, 0 pool to 1/3, the share of the next one.
        ([(1, 0), (0, 2), (1, 2), (4, 1)], [(2, 4), (4, 1)]),
        # 1/10 ten times over, whose sum rounds.
        ([(1, 9)] * 10 + [(1, 0)], [(10, 90), (1, 0)]),
        # Shares 1/3 and 333333333/1000000000 = 1/3 - 3e-10: pooled, though nearly equal.
        ([(1, 2), (333333333, 666666667)], [(333333334, 666666669)]),
        # And the reverse: it rises by 3e-10 and stays apart.
        ([(333333333, 666666667), (1, 2)], [(333333333, 666666667), (1, 2)]),
        # Equal classes at the ends: posteriors 0, 0 and 1, 1.
        ([(0, 1), (0, 5), (2, 0), (7, 0)], [(0, 6), (9, 0)]),
    ],
)
def test_equal_posteriors_share_a_block(
    groups: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    assert counts(solve(groups)) == expected


@settings(max_examples=100)
@given(groups=group_lists.filter(lambda g: all(map(any, zip(*g, strict=True)))))
@example(groups=[(1, 2), (2, 4), (1, 0), (0, 2), (3, 6)])
def test_agrees_with_isotonic_regression_in_fractions(groups: list[tuple[int, int]]) -> None:
    blocks = solve(groups)
    posterior = reference.isotonic([(t, t + n) for t, n in groups])
    levels = sorted(set(posterior))
    expected = [
        tuple(
            sum(column)
            for column in zip(
                *(g for g, p in zip(groups, posterior, strict=True) if p == level), strict=True
            )
        )
        for level in levels
    ]
    assert counts(blocks) == expected
    prior = Fraction(sum(t for t, _ in groups), sum(n for _, n in groups))
    for (t, n), llr in zip(counts(blocks), blocks.llr.tolist(), strict=True):
        if t and n:
            assert llr == pytest.approx(math.log(Fraction(t, n) / prior), rel=0, abs=1e-12)
        else:
            assert llr == (math.inf if t else -math.inf)
    assert np.all(np.diff(blocks.llr[np.isfinite(blocks.llr)]) > 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("highest", [1, 2, 1000])
def test_agrees_with_stack_algorithm_on_many_groups(seed: int, highest: int) -> None:
    generator = np.random.default_rng(seed)
    size = 30_000
    # The share of targets drifts upwards under noise, so that blocks are of all sizes.
    share = np.linspace(0, 1, size) ** (seed + 1)
    total = generator.integers(1, highest + 1, size)
    targets = generator.binomial(total, share)
    groups = list(zip(targets.tolist(), (total - targets).tolist(), strict=True))
    assert counts(solve(groups)) == stack_pav(groups)


def solve_sets(sets: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Blocks of several sets of groups, solved at once."""
    targets, nontargets = np.array([group for of in sets for group in of], dtype=np.int64).T
    first = np.cumsum([0, *map(len, sets[:-1])])
    blocks = pav(Groups(targets, nontargets, first))
    ends = [*blocks.first.tolist(), blocks.targets.size]
    return [counts(blocks)[a:b] for a, b in itertools.pairwise(ends)]


@given(sets=st.lists(group_lists.filter(lambda g: all(map(any, zip(*g, strict=True)))), min_size=1))
def test_every_set_is_regressed_alone(sets: list[list[tuple[int, int]]]) -> None:
    for groups, pooled in zip(sets, solve_sets(sets), strict=True):
        targets, nontargets = np.array(groups).T
        size = targets + nontargets
        blocks = isotonic_regression(targets / size, weights=size.astype(float)).blocks
        # It compares rounded means: equal ones may stay apart, which the textbook's then pools.
        starts = blocks[:-1]
        of_classes = (np.add.reduceat(of, starts).tolist() for of in (targets, nontargets))
        assert pooled == stack_pav(list(zip(*of_classes, strict=True)))


@pytest.mark.parametrize("length", [200, 1000, 4000])
def test_a_large_group_pools_with_those_before_it_one_by_one(length: int) -> None:
    # Shares rise by 1/length from group to group; the last group's share is about 0.
    rising = [(k, length + 1 - k) for k in range(1, length + 1)]
    some, all_of_them = [*rising, (1, length**2)], [*rising, (1, length**4)]
    assert solve_sets([some, all_of_them, some]) == [*map(stack_pav, (some, all_of_them, some))]


# Laplace's rule


def test_laplace_by_hand() -> None:
    # 3 nontargets below 2 targets. With the dummies, from below: T N NNN TT T N.
    # T NNNN pools to 1/5 (odds 1/4), TT T N to 3/4 (odds 3). T/N = 2/3:
    # LLR = log(1/4 * 3/2) = log(3/8), and log(3 * 3/2) = log(9/2).
    blocks = with_laplace(solve([(0, 3), (2, 0)]))
    assert counts(blocks) == [(0, 3), (2, 0)]
    assert blocks.llr.tolist() == pytest.approx([math.log(3 / 8), math.log(9 / 2)], abs=1e-15)


def test_blocks_of_dummies_are_removed() -> None:
    # 3 targets below 1 nontarget pool to 3/4. With the dummies: T N | TTT N T N. The lower
    # pair keeps its 1/2, the upper joins: 4/6, odds 2. T/N = 3: LLR = log(2/3). The lower
    # dummies' log(1/3) would be the stronger evidence, but it is no trial's.
    blocks = with_laplace(solve([(3, 0), (0, 1)]))
    assert counts(blocks) == [(3, 1)]
    assert blocks.llr.tolist() == pytest.approx([math.log(2 / 3)], abs=1e-15)


@each_variant
@settings(max_examples=60)
@given(scores=any_scores())
def test_laplace_agrees_with_explicit_dummies(scores: ScoreLists, variant: Variant) -> None:
    trials = reference.trials_of(*scores)
    points = (reference.pooled_points if variant == "exact" else reference.single_points)(trials)
    expected = [llr for llr, _ in reference.calibrated(points, laplace=True)]
    blocks = TrialScores(*scores).pav_laplace(variant)
    got = np.repeat(blocks.llr, blocks.targets + blocks.nontargets)
    assert np.all(np.isfinite(got))
    assert got.tolist() == pytest.approx(expected, rel=0, abs=1e-12)


# PAV of scores


@each_variant
@settings(max_examples=60)
@given(scores=any_scores())
def test_pav_of_scores_agrees_with_reference(scores: ScoreLists, variant: Variant) -> None:
    trials = reference.trials_of(*scores)
    points = (reference.pooled_points if variant == "exact" else reference.single_points)(trials)
    expected = reference.calibrated(points)
    blocks = TrialScores(*scores).pav(variant)
    assert int(blocks.targets.sum()) == len(scores[0])
    assert int(blocks.nontargets.sum()) == len(scores[1])
    got = np.repeat(blocks.llr, blocks.targets + blocks.nontargets)
    assert got.tolist() == pytest.approx([llr for llr, _ in expected], rel=0, abs=1e-12)


def test_ties_by_hand() -> None:
    # Scores 0: N; 1: N and T; 2: T. Pooled: 0, 1/2, 1. Nontargets first, each trial alone:
    # N N T T, which is separated.
    scores = TrialScores([1.0, 2.0], [0.0, 1.0])
    assert counts(scores.pav("exact")) == [(0, 1), (1, 1), (1, 0)]
    assert counts(scores.pav("challenge")) == [(0, 2), (2, 0)]


def test_pav_is_cached() -> None:
    scores = TrialScores([1.0, 2.0], [0.0, 1.0])
    for variant in VARIANTS:
        assert scores.pav(variant) is scores.pav(variant)


# The slope of the released scripts


def test_slope_by_hand() -> None:
    # Blocks N | N T T | T of LLR -inf, l, inf; ranks 0 | 1 2 3 | 4, targets at 2, 3, 4.
    # The slope is 1e-6 / 5. Means over the middle block: targets (2+3)/2, nontarget 1.
    blocks = PavBlocks(np.array([0, 2, 1]), np.array([1, 1, 0]), llr=np.array([-1.0, 0.25, 1]))
    of_targets, of_nontargets = sloped_llr(blocks, np.array([2, 3, 4]))
    assert of_targets[1:].tolist() == pytest.approx([0.25 + 0.5e-6, 1 + 0.8e-6], abs=1e-15)
    assert of_nontargets[:2].tolist() == pytest.approx([-1.0, 0.25 + 0.2e-6], abs=1e-15)
