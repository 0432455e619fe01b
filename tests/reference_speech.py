"""Slow second implementations of features and linear prediction, one frame at a time."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence


def frame_starts(count: int, window: int, shift: int, snip_edges: bool) -> list[int]:
    """First sample of every frame, which may be before the beginning."""
    starts = []
    t = 0
    while True:
        if snip_edges:
            start, inside = t * shift, t * shift + window <= count
        else:
            start = t * shift + shift // 2 - window // 2
            inside = t < (count + shift // 2) // shift
        if not inside:
            return starts
        starts.append(start)
        t += 1


def mirrored(samples: Sequence[float], place: int) -> float:
    """The sample at a place; beyond the ends they are mirrored, again and again."""
    while not 0 <= place < len(samples):
        place = -place - 1 if place < 0 else 2 * len(samples) - 1 - place
    return samples[place]


def frames(
    samples: Sequence[float], window: int, shift: int, snip_edges: bool
) -> list[list[float]]:
    return [
        [mirrored(samples, start + i) for i in range(window)]
        for start in frame_starts(len(samples), window, shift, snip_edges)
    ]


def mel(frequency: float) -> float:
    return 1127 * math.log(1 + frequency / 700)


def mel_energies(frame: Sequence[float], rate: float, bins: int, low: float, high: float) -> list:
    """Energies of a filter bank, of a whole frame that is not windowed."""
    size = len(frame)
    edges = [mel(low) + b * (mel(high) - mel(low)) / (bins + 1) for b in range(bins + 2)]
    energies = [0.0] * bins
    for k in range(size // 2):
        value = sum(x * cmath.exp(-2j * math.pi * k * i / size) for i, x in enumerate(frame))
        place = mel(k * rate / size)
        for b in range(bins):
            left, center, right = edges[b : b + 3]
            if left < place < right:
                rising = place <= center
                weight = (
                    (place - left) / (center - left)
                    if rising
                    else (right - place) / (right - center)
                )
                energies[b] += weight * abs(value) ** 2
    return energies


def voiced(
    energy: Sequence[float], threshold: float, scale: float, proportion: float, context: int
) -> list[bool]:
    threshold += scale * math.fsum(energy) / len(energy)
    result = []
    for t in range(len(energy)):
        around = energy[max(0, t - context) : t + context + 1]
        loud = sum(e > threshold for e in around)
        result.append(loud >= proportion * len(around))
    return result


def normalized(
    rows: Sequence[Sequence[float]], window: int, center: bool, least: int, variance: bool
) -> list[list[float]]:
    """Sliding normalization, by Kaldi's rules for the window."""
    result = []
    for t, row in enumerate(rows):
        start, end = (t - window // 2, t - window // 2 + window) if center else (t - window, t + 1)
        if start < 0:
            start, end = 0, end - start
            if not center:
                end = max(t + 1, least)
        if end > len(rows):
            start, end = (max(0, start - (end - len(rows))) if center else start), len(rows)
        part = rows[start:end]
        new = []
        for d, x in enumerate(row):
            column = [r[d] for r in part]
            mean = math.fsum(column) / len(column)
            value = x - mean
            if variance:
                spread = math.fsum(c * c for c in column) / len(column) - mean * mean
                value = value / math.sqrt(max(spread, 1e-10)) if len(column) > 1 else 0.0
            new.append(value)
        result.append(new)
    return result


def burg(frame: Sequence[float], order: int) -> list[float]:
    """Linear prediction from the definition: each reflection coefficient minimizes the energies
    of the forward and backward errors, which are filtered anew."""
    prediction = [1.0]
    for _ in range(order):
        n, m = len(frame), len(prediction)
        forward = [math.fsum(prediction[j] * frame[i - j] for j in range(m)) for i in range(m, n)]
        backward = [
            math.fsum(prediction[j] * frame[i - m + j] for j in range(m)) for i in range(m, n)
        ]
        energy = math.fsum(f * f + b * b for f, b in zip(forward, backward, strict=True))
        product = math.fsum(f * b for f, b in zip(forward, backward, strict=True))
        reflection = -2 * product / energy
        longer = [*prediction, 0.0]
        prediction = [a + reflection * b for a, b in zip(longer, longer[::-1], strict=True)]
    return prediction
