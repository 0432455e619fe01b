"""Slow second implementations of what listening tests need, straight from the definitions:
loops over ratings, no ranks from a library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def normalized_ranks(scores: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    """(r - 1) / (n - 1); r of a score: 1, one for every smaller score of its group, half of
    one for every other equal one."""
    result = []
    for i, (score, group) in enumerate(zip(scores, groups, strict=True)):
        others = [s for j, s in enumerate(scores) if groups[j] == group and j != i]
        if not others:
            result.append(0.5)
            continue
        before = sum(s < score for s in others) + sum(s == score for s in others) / 2
        result.append(before / len(others))
    return result


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """U by counting all pairs; p by the normal approximation with the tie-corrected
    variance n m / 12 (N + 1 - sum (t^3 - t) / (N (N - 1))) and the continuity correction."""
    n, m = len(one), len(other)
    u = sum((x > y) + (x == y) / 2 for x in one for y in other)
    total = n + m
    ties = sum(t**3 - t for t in Counter([*one, *other]).values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return u, 1.0
    z = (max(u, n * m - u) - n * m / 2 - 0.5) / math.sqrt(variance)
    return u, min(1.0, math.erfc(z / math.sqrt(2)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Each: the largest, over the p-values not above it, of p times how many are not below
    (counted in a fixed order of ties), at most 1."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    result = [0.0] * len(p_values)
    for place, i in enumerate(order):
        steps = [(len(order) - k) * p_values[order[k]] for k in range(place + 1)]
        result[i] = min(1.0, max(steps))
    return result


def opinion(
    influence: Sequence[float], listeners: Sequence[str], speakers: Sequence[str], value: float
) -> tuple[float, float, float]:
    """Standard error, degrees of freedom, and t of a value, given what each rating adds to it: the
    sum of the products of all pairs of ratings that share a listener, plus those that share a
    speaker, minus those that share both."""
    alike = {
        "listener": lambda i, j: listeners[i] == listeners[j],
        "speaker": lambda i, j: speakers[i] == speakers[j],
        "both": lambda i, j: (listeners[i], speakers[i]) == (listeners[j], speakers[j]),
    }
    groups = {
        "listener": len(set(listeners)),
        "speaker": len(set(speakers)),
        "both": len(set(zip(listeners, speakers, strict=True))),
    }
    pairs = [(i, j) for i in range(len(influence)) for j in range(len(influence))]
    v = {
        name: groups[name]
        / (groups[name] - 1)
        * sum(influence[i] * influence[j] for i, j in pairs if same(i, j))
        for name, same in alike.items()
    }
    variance = max(v["listener"] + v["speaker"] - v["both"], v["listener"], v["speaker"])
    error = math.sqrt(variance)
    return error, min(groups["listener"], groups["speaker"]) - 1, value / error


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's correlation of the average ranks."""
    x, y = (normalized_ranks(values, [0] * len(values)) for values in (one, other))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    below = math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))
    return above / below if below else None
