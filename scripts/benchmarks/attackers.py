"""Attackers: words, maps, discriminants, spectra and normalization, and their peak memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from privacy_eval.attackers.alignment import PENALTIES, Alignment, Cohorts, aligned_scores, ridge
from privacy_eval.attackers.discriminant import lda
from privacy_eval.attackers.words import words_scores
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.encoders import Spectrum

from .measuring import Measure, Row, constant, processor
from .speech import utterances

#: Of this process, in GiB.
MEMORY_GOAL = 1.0


def rows(scale: int) -> Iterator[Row]:
    """The words attack in seconds; a ridge map and normalized scores against their products."""
    texts, pairs, speakers = 2620 // scale, 10_000 // scale, 1000 // scale
    work = f"words, 29 x {texts} utterances"
    yield Row(work, "a second", (2.0,), partial(words, texts), checked=False)
    work = f"ridge map, {pairs} pairs of 512 dimensions"
    yield Row(work, "products", (2.0,), partial(ridge_map, pairs), checked=scale > 1)
    work = f"AS-norm, {speakers**2:.0e} trials, cohort of 1000"
    yield Row(work, "products, sort", (2.0,), partial(normalization, speakers))
    crops = 20_000 // scale
    work = f"discriminant, {crops} crops of 512 dimensions"
    yield Row(work, "products, eigenvalues", (2.0,), partial(discriminant, crops))
    number = 360 // scale
    work = f"spectrum, {number // 6} minutes of speech"
    goal = (8 / 3600,)
    yield Row(work, "real time", goal, partial(utterances, spectrum, number), checked=False)


def words(texts: int, _: Path) -> tuple[Measure, Measure]:
    """Score texts by their words."""
    generator = np.random.default_rng(8)
    spoken, enrolled = random_texts(generator, texts, 20), random_texts(generator, 29, 300)
    return processor(lambda: words_scores(enrolled, spoken)), constant(1.0)


def ridge_map(pairs: int, _: Path) -> tuple[Measure, Measure]:
    """Choose among the ridge maps of all penalties."""
    x, y = np.random.default_rng(8).standard_normal((2, pairs, 512))

    def products() -> None:
        weights = (x.T @ x) @ (x.T @ y)
        for _ in PENALTIES:
            x @ weights

    return processor(lambda: ridge(x, y)), processor(products)


def discriminant(crops: int, _: Path) -> tuple[Measure, Measure]:
    """Learn a discriminant of 1000 speakers, against its products and its eigenvalues."""
    generator = np.random.default_rng(8)
    vectors, speakers = generator.standard_normal((crops, 512)), np.arange(crops) % 1000
    names = [f"s{n}" for n in speakers.tolist()]
    means = vectors[:1000]

    def work() -> None:
        within = vectors.T @ vectors
        scipy.linalg.eigh(means.T @ means, within, subset_by_index=(362, 511))

    return processor(lambda: lda(vectors, names)), processor(work)


def spectrum(samples: NDArray[np.int16]) -> object:
    """Compute the statistics of a spectrum."""
    return Spectrum().encode(Audio(samples, 16_000))


def normalization(number: int, _: Path) -> tuple[Measure, Measure]:
    """Normalize the scores of so many speakers and tests by a cohort."""
    generator, cohort = np.random.default_rng(8), 1000
    speakers, tests = generator.standard_normal((2, number, 512))
    original, anonymized = generator.standard_normal((2, cohort, 512))
    training = Cohorts(original, anonymized, top=100)

    def products_and_sort() -> None:
        speakers @ tests.T
        for vectors, others in ((speakers, anonymized), (tests, original)):
            np.partition(vectors @ others.T, cohort - 100, axis=1)

    return (
        processor(lambda: aligned_scores(speakers, tests, Alignment(), training)),
        processor(products_and_sort),
    )


def random_texts(generator: np.random.Generator, texts: int, length: int) -> list[str]:
    """Texts of words whose frequencies are those of speech: the n-th of 8000 has 1/n."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(generator.choice(letters, size)) for size in generator.integers(1, 11, 8000)]
    share = 1 / np.arange(1, len(words) + 1)
    drawn = generator.choice(len(words), (texts, length), p=share / share.sum())
    return [" ".join(words[number] for number in text) for text in drawn]
