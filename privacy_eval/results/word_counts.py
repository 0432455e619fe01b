"""Numbers of words that word error rates are of: of the same set, all systems have the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import abbreviate
from ..io.wer import WerLine
from ..metrics.caveats import CAVEATS, OTHER_WORDS, PARTIAL, Caveat
from ..tree.conditions import RecognitionCondition
from .records import Results


def unusual_word_counts(
    lines: Iterable[tuple[RecognitionCondition, WerLine]],
) -> Iterator[tuple[RecognitionCondition, str]]:
    """Yield the conditions whose number of words is not that of most of the same set, described."""
    of_sets: dict[tuple[str, str], dict[RecognitionCondition, int]] = {}
    for condition, line in lines:
        if line.words is not None:
            place = condition.data_set, condition.split
            of_sets.setdefault(place, {})[condition] = line.words
    for words in of_sets.values():
        frequencies = Counter(words.values())
        usual = max(frequencies, key=lambda n: (frequencies[n], n))
        for condition, n in words.items():
            if n != usual:
                yield condition, f"{condition.name}: {n} words, most have {usual}"


def other_words(results: Results) -> dict[RecognitionCondition, str]:
    """Map the conditions that `unusual_word_counts` yields to their descriptions."""
    return dict(unusual_word_counts((r.condition, r.line) for r in results.recognition))


def partial_words(results: Results) -> list[str]:
    """Say which sets some utterances of were not recognized, if any."""
    rated = (r.condition for r in results.recognition if r.line.partial)
    names = list(dict.fromkeys(f"{c.system} {c.name}" for c in rated))
    text = f"Word error rates are {CAVEATS[PARTIAL].reason}"
    return [f"{text}: {abbreviate(names)}"] if names else []


def withheld_rates(results: Results) -> Mapping[Any, Caveat]:
    """Return why word error rates are neither averaged nor ranked, by condition."""
    partial = {r.condition: CAVEATS[PARTIAL] for r in results.recognition if r.line.partial}
    return dict.fromkeys(other_words(results), CAVEATS[OTHER_WORDS]) | partial
