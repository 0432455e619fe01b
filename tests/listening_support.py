"""A simulated listening test."""

from __future__ import annotations

from pathlib import Path

from privacy_eval.listening.evaluation import ListeningTest, ListeningTestCurves
from privacy_eval.listening.ratings import Ratings, read_ratings
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.simulate.demo_tree import simulate_ratings

PROTOCOL = load_protocol("vpc2020")

Evaluated = tuple[ListeningTest, ListeningTestCurves]


def simulated(*systems: str, places: list[tuple[str, str]], speakers: int = 3) -> str:
    """Ratings of trials of every pair of some speakers, five utterances each."""
    ids = range(speakers)
    keys = {
        place: "".join(
            f"{''.join(place)}{e} {''.join(place)}{s}-{u} {'' if e == s else 'non'}target\n"
            for e in ids
            for s in ids
            for u in range(5)
        )
        for place in places
    }
    return simulate_ratings(systems, keys, seed=3)


def ratings_of(text: str, folder: Path) -> Ratings:
    path = folder / "ratings.csv"
    path.write_text(text)
    return read_ratings([path])
