"""Whose voice: a slow second implementation, designs that must be told apart, singular cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_eval.metrics.similarity import VERDICTS, drawn_by, looks_like, pseudo_voices


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)))


def slow(
    original: np.ndarray, anonymized: np.ndarray, speaker: list[int], trial: list[bool]
) -> dict[str, float]:
    """The values, pair by pair."""
    sides = [{s: [i for i, of in enumerate(speaker) if of == s and trial[i] == t]
              for s in sorted(set(speaker))} for t in (False, True)]  # fmt: skip
    kept = [s for s in sides[0] if sides[0][s] and sides[1][s]]
    kept = [s for s in kept if max(len(side[s]) for side in sides) > 1]
    found: dict[str, float] = {}
    bar = None
    for prefix, vectors in (("original_", original), ("", anonymized)):
        within, between = [], []
        for s in kept:
            pairs = [p for side in sides for p in itertools.combinations(side[s], 2)]
            within.append(np.mean([cosine(vectors[a], vectors[b]) for a, b in pairs]))
            crossed = itertools.product(sides[0][s], sides[1][s])
            between.append(np.mean([cosine(vectors[a], vectors[b]) for a, b in crossed]))
        others = []
        for s, t in itertools.combinations(kept, 2):
            ones, twos = (sides[0][x] + sides[1][x] for x in (s, t))
            crossed = itertools.product(ones, twos)
            others.append(np.mean([cosine(vectors[a], vectors[b]) for a, b in crossed]))
        d = np.mean(others)
        bar = 0.9 * np.mean(within) + 0.1 * d if bar is None else bar
        found[f"{prefix}within"] = (np.mean(within) - d) / (1 - d)
        found[f"{prefix}between"] = (np.mean(between) - d) / (1 - d)
        found[f"{prefix}collisions"] = np.mean([o >= bar for o in others])
    same, other = [], []
    for s, t in itertools.product(kept, kept):
        ones, twos = (sides[0][x] + sides[1][x] for x in (s, t))
        values = [
            cosine(original[a], anonymized[b]) for a in ones for b in twos if s != t or a != b
        ]
        (same if s == t else other).append(np.mean(values))
    d = np.mean(other)
    found["to_original"] = (np.mean(same) - d) / (1 - d)
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 4))
def test_values_of_a_second_implementation(seed: int, speakers: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(1, 4, size=(speakers, 2))
    counts[:2] += 1  # two speakers who are kept
    labels = [(s, bool(t)) for s in range(speakers) for t in (0, 1) for _ in range(counts[s, t])]
    order = generator.permutation(len(labels))
    speaker, trial = [labels[n][0] for n in order], [labels[n][1] for n in order]
    voices = generator.normal(size=(speakers, size + 2))
    original, anonymized = (
        voices[speaker] + generator.normal(size=(len(labels), size + 2)) for _ in range(2)
    )
    found = pseudo_voices(original, 5 * anonymized, speaker, trial)
    for key, value in slow(original, anonymized, speaker, trial).items():
        assert found[key][0] == pytest.approx(value, abs=1e-9), key
        low, high = found[key][1:]
        assert low <= high


def speech(kind: str, seed: int = 0, speakers: int = 20) -> tuple[np.ndarray, ...]:
    """Vectors of speakers with 5 utterances on each side, whose pseudo-voices are drawn."""
    generator = np.random.default_rng(seed)
    speaker, trial = np.repeat(np.arange(speakers), 10), np.tile(np.arange(10) >= 5, speakers)
    voices = generator.normal(size=(speakers, 32))
    drawn = {
        "original": voices[speaker],
        "speaker": generator.normal(size=(speakers, 32))[speaker],
        "set": generator.normal(size=(speakers, 2, 32))[speaker, trial.astype(int)],
        "utterance": generator.normal(size=(len(speaker), 32)),
        "one": np.repeat(generator.normal(size=(1, 32)), len(speaker), axis=0),
        "noise": np.zeros((len(speaker), 32)),
    }[kind]
    noise = 0.5 * generator.normal(size=(2, len(speaker), 32))
    return voices[speaker] + noise[0], drawn + noise[1], speaker, trial


@pytest.mark.parametrize("kind", ["speaker", "set", "utterance", "original"])
@pytest.mark.parametrize("seed", range(3))
def test_designs_are_told_apart(kind: str, seed: int) -> None:
    assert looks_like(pseudo_voices(*speech(kind, seed)), 20) == kind


def test_one_voice_of_all_tells_nothing() -> None:
    found = pseudo_voices(*speech("one"))
    assert found["collisions"][0] > 0.9 and looks_like(found, 20) == ""


def test_what_cannot_be_told() -> None:
    few = pseudo_voices(*speech("speaker", speakers=4))
    assert looks_like(few, 4) == "" and looks_like({}, 20) == ""
    anonymized, original, *rest = speech("noise")  # original speech that the vectors do not tell
    assert looks_like(pseudo_voices(original, anonymized, *rest), 20) == ""
    assert "cannot be told" in VERDICTS[""]


def test_equal_vectors_give_finite_values_or_none() -> None:
    """Of two speakers whose vectors are all the same there is no consistency."""
    vectors = np.ones((8, 3))
    found = pseudo_voices(vectors, vectors, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1] * 2)
    assert all(math.isfinite(x) for value in found.values() for x in value)
    assert looks_like(found, 2) == ""


@pytest.mark.parametrize(
    ("speaker", "trial"), [([0, 0, 0, 0], [0, 0, 1, 1]), ([0, 1, 0, 1], [0, 1, 0, 1]), ([], [])]
)
def test_too_few_speakers(speaker: list[int], trial: list[int]) -> None:
    vectors = np.eye(4)[: len(speaker)]
    assert pseudo_voices(vectors, vectors, speaker, trial) == {}


@pytest.mark.parametrize(
    ("coefficients", "expected"),
    [
        ([0.8, 0.8, 0.8, 0.8], "speaker"),
        ([0.7, 0.7, 0.7, 0.7, 0.9, 0.9, 0.9, 0.9], "speaker"),
        ([0.7, 0.7, 0.6, 0.6, 0.9, 0.9, 0.5, 0.5], "set"),
        ([0.7, 0.8, 0.6, 0.5, 0.9, 0.91, 0.5, 0.51], "utterance"),
    ],
)
def test_whose_coefficients(coefficients: list[float], expected: str) -> None:
    """Two utterances of enrollment, then two of trials, of one speaker after another."""
    where = {f"u{n}": f"{n // 2 % 2} s{n // 4}" for n in range(len(coefficients))}
    assert drawn_by(dict(zip(where, coefficients, strict=True)), where) == expected
