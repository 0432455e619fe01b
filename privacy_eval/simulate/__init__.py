"""Simulated scores with a known error rate, simulated x-vectors, and whole demo trees."""

from .demo_tree import DEMO_SIZES, write_demo_tree
from .scores import ScoreModel, simulate_trials
from .vectors import Anonymization, VectorModel

__all__ = [
    "DEMO_SIZES",
    "Anonymization",
    "ScoreModel",
    "VectorModel",
    "simulate_trials",
    "write_demo_tree",
]
