"""Simulated trials as text: score files and their keys, of any size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacy_eval.simulate import ScoreModel, simulate_trials


@dataclass(frozen=True)
class TrialBlock:
    """Characters of the speakers and the utterances of some trials, scores of six decimals, and
    labels."""

    enrolled: NDArray[np.uint8]
    test: NDArray[np.uint8]
    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]

    def key(self) -> bytes:
        labels = np.array([b"nontarget", b"target"])
        characters = labels.view(np.uint8).reshape(2, -1)[self.is_target.astype(int)]
        return text_lines(self.enrolled, self.test, characters)

    def scores(self) -> bytes:
        millionths = np.abs(self.score * 1e6).round().astype(np.int64)
        whole = digits(millionths // 10**6, 4)
        whole[:, :-1][np.cumsum(whole[:, :-1] > ord("0"), axis=1) == 0] = 0
        sign = np.where(self.score < 0, ord("-"), 0).astype(np.uint8)
        point = np.full_like(sign, ord("."))
        parts = sign[:, None], whole, point[:, None], digits(millionths, 6)
        return text_lines(self.enrolled, self.test, np.hstack(parts))


def digits(numbers: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The last digits of each number as characters."""
    return (numbers[:, None] // 10 ** np.arange(width)[::-1] % 10 + ord("0")).astype(np.uint8)


def text_lines(*columns: NDArray[np.uint8]) -> bytes:
    """Columns of characters, without zero bytes, separated by blanks."""
    blank, end = (np.full((len(columns[0]), 1), ord(c), np.uint8) for c in " \n")
    every = np.hstack([columns[0], *(part for c in columns[1:] for part in (blank, c)), end])
    return every[every > 0].tobytes()


def trial_blocks(trials: int) -> Iterator[TrialBlock]:
    """The trials of ten speakers, drawn a million at a time."""
    for first in range(0, trials, 10**6):
        drawn = simulate_trials(
            ScoreModel(separation=1.0, scale=30.0),
            enrolled=10,
            speakers=10,
            utterances=min(10**6, trials - first) // 100,
            generator=np.random.default_rng(2 + first),
        )
        spoken = drawn.trial_speaker.codes.astype(np.int64)
        utterance = np.arange(len(drawn)) % (len(drawn) // 100) + first // 100
        dash = np.full((len(drawn), 1), ord("-"))
        names = (spoken, 4), (utterance, 7), (utterance % 9973, 4)
        speaker, number, more = (digits(numbers, width) for numbers, width in names)
        test = np.hstack([speaker, dash, number, dash, more]).astype(np.uint8)
        enrolled = digits(drawn.enrolled.codes, 4)
        yield TrialBlock(enrolled, test, drawn.score.round(6), drawn.is_target)


def crossed(trials: int) -> TrialBlock:
    """Trials of as many enrolled speakers as utterances, each with each."""
    side = math.isqrt(trials)
    number = np.arange(side * side)
    generator = np.random.default_rng(5)
    is_target = generator.random(number.size) < 0.05
    score = generator.normal(2.0 * is_target).round(6)
    speaker, dash = number % side, np.full((number.size, 1), ord("-"), np.uint8)
    parts = digits(speaker, 4), dash, digits(37 * speaker, 6), dash, digits(speaker % 60, 4)
    return TrialBlock(digits(number // side, 4), np.hstack(parts), score, is_target)


def write_files(folder: Path, blocks: Iterable[TrialBlock]) -> tuple[Path, Path]:
    """Write the score file and the key of trials."""
    scores, key = folder / "scores", folder / "trials"
    with open(scores, "wb") as of_scores, open(key, "wb") as of_key:
        for block in blocks:
            of_scores.write(block.scores())
            of_key.write(block.key())
    return scores, key


def shuffled(path: Path) -> Path:
    """Write the lines of a file in random order into another one."""
    lines = np.array(path.read_bytes().splitlines(keepends=True), dtype=object)
    other = path.with_name(f"shuffled_{path.name}")
    other.write_bytes(b"".join(np.random.default_rng(5).permutation(lines)))
    return other
