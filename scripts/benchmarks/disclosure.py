"""What else is disclosed: identification, amounts of speech, groups of speakers, audit of audio."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacy_eval.disclosure.amount import AMOUNTS, amount_curve
from privacy_eval.disclosure.groups import groups, summarize_groups
from privacy_eval.disclosure.linkage import closed_set_linkage
from privacy_eval.metrics import speaker_bootstrap
from privacy_eval.metrics.strata import grouped
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.audit import audit_utterance

from .measuring import Measure, Row, constant, peak_memory, processor, show, wall
from .score import simulated


def rows(scale: int) -> Iterator[Row]:
    """Amounts, groups and audit; `identification` has its own rows."""
    tests, enrolled = 22_000 // scale, 5_000 // scale
    yield Row(
        f"{len(AMOUNTS)} amounts of speech, {tests} x {enrolled} scores",
        "identification",
        (3.0,),
        partial(amounts, tests, enrolled),
        checked=False,
    )
    replicates = 500 // scale
    for what, goal in (("within", 1.5), ("all kinds", 3.5)):
        yield Row(
            f"5 groups, 15300 trials, {replicates} replicates, test, {what}",
            "ungrouped",
            (goal,),
            partial(of_groups, what == "within", replicates),
        )
    yield Row("audit of 100 s of audio", "real time", (0.01,), audit, checked=False)


def identification(scale: int, repeats: int) -> bool:
    """Scores and linkage in galleries of every size against the product of the vectors, and the
    peak memory of this process."""
    tests, enrolled = 22_000 // scale, 5_000 // scale
    work = f"identification, {tests} x {enrolled} scores, all gallery sizes"
    met = show([Row(work, "product", (2.0,), partial(linkage, tests, enrolled))], repeats)
    return peak_memory(2.0) and met


def vectors(tests: int, enrolled: int, own: NDArray[np.int64]) -> tuple[NDArray[np.float32], ...]:
    """Draw vectors of enrolled speakers, and of tests of these."""
    generator = np.random.default_rng(7)
    voices = generator.standard_normal((enrolled, 512), dtype=np.float32)
    noise = generator.standard_normal((tests, 512), dtype=np.float32)
    return voices, voices[own] + 6 * noise


def linkage(tests: int, enrolled: int, _: Path) -> tuple[Measure, Measure]:
    """Score tests and link them in galleries of every size."""
    own, sizes = np.arange(tests) % enrolled, np.arange(1, enrolled + 1)
    voices, spoken = vectors(tests, enrolled, own)
    return (
        wall(lambda: closed_set_linkage(spoken @ voices.T, own, sizes)),
        wall(lambda: spoken @ voices.T),
    )


def amounts(tests: int, enrolled: int, _: Path) -> tuple[Measure, Measure]:
    """Compute error rates of tests of six lengths against the identification of single
    utterances."""
    own = np.arange(tests) // 100  # a hundred utterances of each test speaker
    voices, spoken = vectors(tests, enrolled, own)

    def curve() -> None:
        runs = {}
        for length in AMOUNTS:
            of_speakers = (np.flatnonzero(own == speaker) for speaker in np.unique(own))
            whole = [rows[: rows.size - rows.size % length] for rows in of_speakers]
            runs[length] = np.concatenate(whole).reshape(-1, length)
        amount_curve(
            {n: (spoken[r].mean(axis=1) @ voices.T, own[r[:, 0]]) for n, r in runs.items()},
            [str(speaker) for speaker in range(enrolled)],
        )

    sizes = np.arange(1, enrolled + 1)
    return wall(curve), wall(lambda: closed_set_linkage(spoken @ voices.T, own, sizes))


def of_groups(is_within: bool, replicates: int, _: Path) -> tuple[Measure, Measure]:
    """Compute values of five groups with intervals, and the test, against the ungrouped
    bootstrap."""
    drawn = simulated(30, 17, np.random.default_rng(6))
    group_of = {name: f"g{n % 5}" for n, name in enumerate(sorted(drawn.trial_speaker.names))}

    def work() -> None:
        if is_within:
            summarize_groups(grouped(drawn, group_of), replicates=replicates)
        else:
            groups(drawn, group_of, bootstrap=replicates)

    return (
        processor(work),
        processor(lambda: speaker_bootstrap(drawn.with_columns(), replicates=replicates, seed=0)),
    )


def audit(_: Path) -> tuple[Measure, Measure]:
    """Compare ten utterances of 10 s with their originals."""
    pairs = np.random.default_rng(10).normal(0, 1000, (10, 2, 160_000)).astype(np.int16)

    def work() -> None:
        for original, anonymized in pairs:
            audit_utterance(Audio(anonymized, 16_000), Audio(original, 16_000))

    return processor(work), constant(100)
