"""Simulate the ratings of a listening test.

Evaluators share a mean rating of every system, but differ in offset, range and step of their
ratings, which are whole numbers with many ties. Three are unreliable: one gives a single value,
one stops early, one inverts the scale.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..io.ratings import COLUMNS, ORIGINAL_SYSTEM

EVALUATORS = 36
#: Unreliable evaluators: gives one value, stops early, inverts the scale.
ONE_VALUE, STOPS_EARLY, INVERTS = "listener05", "listener11", "listener17"
_EARLY = 6
_LOW, _HIGH = 1, 10

# Where on the scale from 0 to 1 speech is placed, original first; anonymized systems then
# differ by a step from one to the next.
_ORIGINAL = {"naturalness": 0.88, "intelligibility": 0.92, True: 0.8, False: 0.24}
_FIRST = {"naturalness": 0.45, "intelligibility": 0.6, True: 0.36, False: 0.2}
_STEP = {"naturalness": 0.11, "intelligibility": 0.07, True: 0.1, False: 0.02}
_STEPS = 3


def simulate_ratings(
    systems: Sequence[str], keys: Mapping[tuple[str, str], str], *, seed: int = 0
) -> str:
    """Simulate a test of original speech and some systems, as CSV text.

    Every evaluator rates, of every trial set and system, one trial with an enrollment of
    the same speaker and one with another.

    Parameters
    ----------
    systems : sequence of str
        Without `Original`.
    keys : mapping
        Trial keys, `<enrolled speaker> <utterance> target|nontarget` in every line, by
        data set and gender; each has both kinds.

    Examples
    --------
    >>> key = "s1 u1 target\\ns2 u1 nontarget\\n"
    >>> lines = simulate_ratings(["B1"], {("libri", "f"): key}).splitlines()
    >>> lines[1].startswith("listener01,Original,libri,f,u1,s1,yes,"), len(lines) - 1
    (True, 144)
    """
    trials = {
        place: {
            same: [f[:2] for f in fields if (f[2] == "target") is same] for same in (True, False)
        }
        for place, text in keys.items()
        for fields in [[line.split() for line in text.splitlines()]]
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number in range(1, EVALUATORS + 1):
        name = f"listener{number:02d}"
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        offset = generator.normal(0, 0.07)
        width = generator.uniform(0.6, 1.1)
        step = generator.choice([1, 1, 2, 3])
        rows = []
        for index, system in enumerate([ORIGINAL_SYSTEM, *systems]):
            for (data_set, gender), of_kind in trials.items():
                for same, pairs in of_kind.items():
                    enrollment, trial = pairs[generator.integers(len(pairs))]
                    scores = []
                    for metric in ("naturalness", "intelligibility", same):
                        rating = _mean_rating(index, metric) + generator.normal(0, 0.17)
                        if name == INVERTS:
                            rating = 1 - rating
                        at = 0.5 + width * (rating - 0.5) + offset
                        scores.append(_rating(at, int(step)))
                    if name == ONE_VALUE:
                        scores = [5, 5, 5]
                    same_speaker = "yes" if same else "no"
                    rows.append(
                        [name, system, data_set, gender, trial, enrollment, same_speaker, *scores]
                    )
        if name == STOPS_EARLY:
            rows = rows[:: max(1, len(rows) // _EARLY)][:_EARLY]
        writer.writerows(rows)
    return text.getvalue()


def _mean_rating(index: int, metric: str | bool) -> float:
    """Return the mean rating, within 0 to 1, of a system (0: original speech)."""
    if index == 0:
        return _ORIGINAL[metric]
    return _FIRST[metric] + _STEP[metric] * ((index - 1) % _STEPS)


def _rating(at: float, step: int) -> int:
    """Round a value within 0 to 1 to the evaluator's steps of the scale."""
    value = _LOW + (_HIGH - _LOW) * min(max(at, 0.0), 1.0)
    return min(_HIGH, _LOW + step * round((value - _LOW) / step))
