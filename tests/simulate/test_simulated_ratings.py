"""Simulated ratings are a listening test as one is: whole numbers, ties, odd evaluators."""

import pytest
from support import csv_rows

from privacy_eval.choices import RATING_COLUMNS
from privacy_eval.simulate.demo_tree import EVALUATORS, ONE_VALUE, STOPS_EARLY, simulate_ratings

KEY = "a a-1 target\na a-2 target\na b-1 nontarget\nb b-1 target\nb a-1 nontarget\n"


def rows() -> list[dict[str, str]]:
    return csv_rows(simulate_ratings(["B1", "B2"], {("libri", "f"): KEY}))


def test_every_evaluator_rates_every_system() -> None:
    actual = rows()
    assert tuple(actual[0]) == RATING_COLUMNS
    of_one = [r for r in actual if r["evaluator"] == "listener01"]
    assert {(r["system"], r["same_speaker"]) for r in of_one} == {
        (system, same) for system in ("Original", "B1", "B2") for same in ("yes", "no")
    }
    assert len({r["evaluator"] for r in actual}) == EVALUATORS
    for r in actual:
        assert (r["enrollment"] == r["trial"][0]) is (r["same_speaker"] == "yes")
        for metric in ("naturalness", "intelligibility", "similarity"):
            assert r[metric] in map(str, range(1, 11))


def test_evaluators_use_the_scale_differently() -> None:
    used = {
        name: {r["naturalness"] for r in rows() if r["evaluator"] == name}
        for name in ("listener01", "listener02", "listener03", ONE_VALUE)
    }
    assert used.pop(ONE_VALUE) == {"5"}
    assert len({frozenset(values) for values in used.values()}) == 3
    assert 0 < sum(r["evaluator"] == STOPS_EARLY for r in rows()) <= 6


@pytest.mark.parametrize("seed", [0, 1])
def test_same_seed_gives_same_text(seed: int) -> None:
    keys = {("libri", "f"): KEY}
    assert simulate_ratings(["B1"], keys, seed=seed) == simulate_ratings(["B1"], keys, seed=seed)
    assert simulate_ratings(["B1"], keys, seed=seed) != simulate_ratings(["B1"], keys, seed=2)


def test_better_systems_get_better_ratings() -> None:
    mean = {}
    for system in ("Original", "B1", "B2"):
        scores = [int(r["naturalness"]) for r in rows() if r["system"] == system]
        mean[system] = sum(scores) / len(scores)
    assert mean["Original"] > mean["B2"] > mean["B1"]
