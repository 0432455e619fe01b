"""Fixtures of the metric tests."""

import golden
import pytest


@pytest.fixture(scope="module", params=golden.NAMES)
def golden_scores(request: pytest.FixtureRequest) -> golden.GoldenScores:
    """Every golden case in turn."""
    return golden.load(request.param)
