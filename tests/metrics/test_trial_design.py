"""The interval that a trial design will give."""

from __future__ import annotations

import math

import pytest

from privacy_eval.metrics.confidence import CORRELATION, anticipated_interval


def test_ten_and_forty_speakers() -> None:
    """By hand: 20/3.4 effective decisions of each of 9 speakers; t(9) = 2.2622, t(39) = 2.0227."""
    assert CORRELATION == 0.6
    for speakers, t in ((10, 2.2622), (40, 2.0227)):
        half = t * math.sqrt(0.16 / (20 / 3.4 * (speakers - 1)))
        expected = pytest.approx((0.2 - half, 0.2 + half), abs=1e-4)
        assert anticipated_interval(0.2, speakers, 5) == expected


def test_limits() -> None:
    assert anticipated_interval(0, 10, 5) == (0, 0) and anticipated_interval(1, 10, 5) == (1, 1)
    assert anticipated_interval(0.5, 2, 1) == (0, 1)
    widths = [high - low for low, high in (anticipated_interval(0.3, 20, n) for n in (1, 2, 9, 99))]
    assert widths == sorted(widths, reverse=True) and widths[-1] > 0.7 * widths[1]
    low, high = anticipated_interval(0.3, 20, 5, level=0.5)
    assert high - low < widths[2]


@pytest.mark.parametrize("design", [(-0.1, 10, 5), (1.1, 10, 5), (0.2, 1, 5), (0.2, 10, 0)])
def test_no_such_design(design: tuple[float, int, float]) -> None:
    with pytest.raises(ValueError, match="speakers"):
        anticipated_interval(*design)
