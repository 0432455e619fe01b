"""Simulate what people say: every speaker has a subject, whose words occur among common ones."""

from __future__ import annotations

import functools
import zlib

import numpy as np
from numpy.typing import NDArray

#: Syllables, two of which make a word.
_SYLLABLES = tuple(f"{c}{v}" for c in "BDFGKLMNPRSTVZ" for v in "AEIOU")
#: Words of a speaker's subject, and how often a word is one of them.
_SUBJECT, _SHARE = 40, 0.17
#: Words of the language; of the common ones, the first are the most frequent.
_LANGUAGE = len(_SYLLABLES) ** 2
_SKEW = 4

#: Most words of an utterance; the least are a third.
_MOST_WORDS = 24


@functools.lru_cache(maxsize=1 << 16)
def simulate_words(speaker: str, utterance: str, seed: int) -> str:
    """Simulate the words of an utterance, which its id and its speaker determine."""
    generator = np.random.default_rng([seed, zlib.crc32(f"words {utterance}".encode())])
    number = int(generator.integers(_MOST_WORDS // 3, _MOST_WORDS + 1))
    subject = _subject(speaker, seed)
    common = (_LANGUAGE * generator.random(number) ** _SKEW).astype(int)
    own = subject[generator.integers(0, _SUBJECT, number)]
    chosen = np.where(generator.random(number) < _SHARE, own, common)
    return " ".join(
        _SYLLABLES[word // len(_SYLLABLES)] + _SYLLABLES[word % len(_SYLLABLES)]
        for word in chosen.tolist()
    )


@functools.lru_cache(maxsize=1024)
def _subject(speaker: str, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng([seed, zlib.crc32(f"subject {speaker}".encode())])
    subject: NDArray[np.int64] = generator.integers(0, _LANGUAGE, _SUBJECT)
    return subject
