"""Simulated scores with a known error rate, simulated x-vectors, and whole demo trees."""

from .demo_tree import DEMO_SIZES, write_demo_tree
from .models import Anonymization, ScoreModel, VectorModel, simulate_trials

__all__ = [
    "DEMO_SIZES",
    "Anonymization",
    "ScoreModel",
    "VectorModel",
    "simulate_trials",
    "write_demo_tree",
]
