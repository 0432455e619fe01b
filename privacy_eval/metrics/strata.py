"""Strata of trials, of groups of speakers, of sessions or of another column: which trials they are,
and their metrics with intervals over speakers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..choices import missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate
from .confidence import expanded_interval, pairs_of_speakers, seeded_by
from .eer import kaldi_eer
from .linkability import linkability
from .llr import min_cllr
from .pav import FloatArray, IntArray
from .trial_scores import BoolArray, Replicates, TrialScores
from .trials import IDS, Ids, Trials

#: Speakers below which a group has neither test nor intervals (those of two would hold the truth in
#: half of all cases), and below which it is too few for conclusions.
MIN_TESTED, FEW_SPEAKERS = 4, 10

#: Metrics of a stratum, variant exact, of its scores and of their replicates.
_METRICS: dict[str, Callable[..., Any]] = {
    "eer": kaldi_eer,
    "cllr_min": min_cllr,
    "linkability": linkability,
}

#: A column that differs between trials of at most one speaker in so many is one of speakers.
_FEW = 4

#: Weighted trials of replicates at a time.
AT_ONCE = 1 << 22


def grouped(trials: Trials, by: str | Mapping[str, str]) -> Trials:
    """Look up the groups of both speakers of each trial.

    Parameters
    ----------
    trials : Trials
        With the speakers of both sides.
    by : str or mapping of str to str
        A column of the trial side, such as the sex of the trial speaker, or the groups of speakers
        by name. Speakers that it does not tell, and those whose group is missing, have none.

    Returns
    -------
    Trials
        With the columns `enrolled_group` and `trial_group`, of sorted names.

    Raises
    ------
    PrivacyEvalError
        Speakers that are not known; a column that differs between trials of a speaker.

    Examples
    --------
    >>> speakers = {"enrolled_speaker": ["a", "a"], "trial_speaker": ["a", "b"]}
    >>> trials = Trials(speakers, score=[3, 1], label=[1, 0])
    >>> grouped(trials, {"a": "f", "b": "m"})["trial_group"].tolist()
    ['f', 'm']
    """
    trials = Trials.of(trials).counted
    sides = trials.speakers
    if isinstance(by, str):
        if several := _several(trials, by):
            raise PrivacyEvalError(
                f"{trials.name}: {by} differs between the trials of {len(several)} speakers "
                f"({abbreviate([*several.values()])}): correct the column, as groups are of "
                f"speakers, or take trials.select({by}=...)"
            )
        by = dict(zip(sides[1].tolist(), _values(trials, by).tolist(), strict=True))
    named = {without_fraction(str(s)): str(group) for s, group in by.items()}
    missing = missing_among({*named.values(), ""})
    groups = [named.get(name, "") for name in sides[0].names]
    groups = ["" if group in missing else group for group in groups]
    names = sorted({*groups} - {""})
    place = {name: number for number, name in enumerate(names)}
    of_speaker = np.array([place.get(group, -1) for group in groups], dtype=np.int32)
    of_sides = (Ids(of_speaker[side.codes], names) for side in sides)
    columns = dict(zip(("enrolled_group", "trial_group"), of_sides, strict=True))
    return trials.with_columns(enrolled_speaker=sides[0], trial_speaker=sides[1], **columns)


def _values(trials: Trials, column: str) -> Ids:
    return Ids.of(trials[column], column, may_miss=True)


def _several(trials: Trials, column: str) -> dict[str, str]:
    """Return the trial speakers with several values of a column, and a text of them."""
    speakers, values = trials.trial_speaker, _values(trials, column)
    width = len(values.names) + 1
    found: dict[str, list[str]] = {}
    for pair in np.unique(speakers.codes.astype(np.int64) * width + values.codes + 1).tolist():
        value = ("missing", *values.names)[pair % width]
        found.setdefault(speakers.names[pair // width], []).append(value)
    return {name: f"{name}: {abbreviate(of)}" for name, of in found.items() if len(of) > 1}


def trials_by(trials: Trials, column: str) -> tuple[dict[str, Trials], list[str]]:
    """Select the trials of each value of a column: those of which both speakers have it, or those
    whose trial utterance has it, where it differs between trials of many speakers.

    Parameters
    ----------
    trials : Trials
    column : str

    Returns
    -------
    dict of str to Trials
        By value, sorted; of ids, such as the trial speaker, those that have it.
    list of str
        How they were selected, and what was left out.

    Raises
    ------
    PrivacyEvalError
        A column that differs between trials of few speakers.

    Examples
    --------
    >>> trials = Trials(score=[1, 2], utterance=["u", "v"], session=["1", "2"])
    >>> parts, notes = trials_by(trials, "session")
    >>> [len(of_session) for of_session in parts.values()], notes
    ([1, 1], ['by the session of the trial, not of both speakers'])
    """
    values, notes = _values(trials, column), [f"by the {column} of the trial, not of both speakers"]
    parts = {n: values.codes == values.names.index(n) for n in sorted(values.used)}
    if n := np.count_nonzero(values.codes < 0):
        notes.append(f"{n} trials without {column} are left out")
    n_speakers = 0 if column in IDS or not trials.knows_speakers else len(trials.trial_speaker.used)
    if n_speakers and len(_several(trials, column)) * _FEW <= n_speakers:
        trials = grouped(trials, column)
        enrolled, trial = sides_of(trials)
        parts = {n: (enrolled == g) & (trial == g) for g, n in enumerate(names_of(trials))}
        notes = [f"by the {column} of both speakers", *ungrouped(trials)]
    return {name: trials.take(rows) for name, rows in parts.items()}, notes


def ungrouped(trials: Trials) -> list[str]:
    """Say which speakers of grouped trials have no group, and how many trials that leaves out.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    list of str
        Empty if all have one.
    """
    lacking = [trials.speakers[0].names[at] for at in np.flatnonzero(group_of(trials) < 0)]
    n = np.count_nonzero(np.minimum(*sides_of(trials)) < 0)
    return [f"left out {n} trials of speakers without group: {abbreviate(lacking)}"][: len(lacking)]


def names_of(trials: Trials) -> tuple[str, ...]:
    """Return the names of the groups, sorted.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    tuple of str
    """
    return tuple(trials["trial_group"].names)


def sides_of(trials: Trials) -> tuple[IntArray, IntArray]:
    """Return the numbers of the groups of both speakers of trials; -1 for none.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    int arrays, shapes (P,)
        Of the enrolled speakers, of the trial speakers.
    """
    enrolled, trial = (trials[f"{side}_group"].codes for side in ("enrolled", "trial"))
    return enrolled.astype(np.int64), trial.astype(np.int64)


def speakers_of(trials: Trials) -> tuple[IntArray, IntArray]:
    """Return the numbers of both speakers of trials.

    Parameters
    ----------
    trials : Trials

    Returns
    -------
    int arrays, shapes (P,)
        Of the enrolled speakers, of the trial speakers.
    """
    enrolled, trial = (side.codes.astype(np.int64) for side in trials.speakers)
    return enrolled, trial


def group_of(trials: Trials) -> IntArray:
    """Return the number of the group of each speaker; -1 for none.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    int array, shape (S,)
    """
    group = np.full(len(trials.speakers[0].names), -1, dtype=np.int64)
    for speakers, groups in zip(speakers_of(trials), sides_of(trials), strict=True):
        group[speakers] = groups
    return group


@dataclass(frozen=True)
class Stratum:
    """Metrics, variant exact, of some trials; None where they are undefined.

    Attributes
    ----------
    n_target, n_nontarget, n_speakers : int
        Speakers with target trials.
    eer : float or None
        Kaldi's.
    cllr_min, linkability : float or None
    rank1 : float or None
        Of trials within a group: share of tests whose speaker scores highest; a tie loses.
    intervals : mapping of str to (float, float)
        95 % bounds of the metrics; empty without a bootstrap.
    """

    n_target: int
    n_nontarget: int
    n_speakers: int
    eer: float | None = None
    cllr_min: float | None = None
    linkability: float | None = None
    rank1: float | None = None
    intervals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def few_speakers(speakers: Mapping[str, int]) -> list[str]:
    """Say what the numbers of groups cannot tell.

    Parameters
    ----------
    speakers : mapping of str to int
        Number of speakers of each group.

    Returns
    -------
    list of str
    """
    few = [f"{name} ({n})" for name, n in speakers.items() if n < FEW_SPEAKERS]
    too_few = f"too few speakers (below {FEW_SPEAKERS}) for conclusions: {abbreviate(few)}"
    alone = ["one group only: nothing to compare it with"] if len(speakers) == 1 else []
    return [*[too_few][: len(few)], *alone]


def values_of(trials: Trials, rows: BoolArray) -> Stratum:
    """Compute the metrics of some trials.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    rows : bool array, shape (P,)

    Returns
    -------
    Stratum

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 0],
    ...     label=[1, 0, 0, 1],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> values_of(trials, trials.score > 0).eer
    0.0
    """
    target, nontarget = rows & trials.is_target, rows & ~trials.is_target
    n_target, n_nontarget = int(target.sum()), int(nontarget.sum())
    counts = (n_target, n_nontarget, int(np.unique(speakers_of(trials)[0][target]).size))
    if not (n_target and n_nontarget):
        return Stratum(*counts)
    scores = TrialScores(trials.score[target], trials.score[nontarget])
    return Stratum(*counts, **_metrics_of(scores))


def _metrics_of(scores: TrialScores | Replicates) -> dict[str, Any]:
    return {key: metric(scores).value for key, metric in _METRICS.items()}


def summarize_targets(
    trials: Trials, chosen: BoolArray, *, replicates: int = 0, seed: int = 0
) -> Stratum:
    """Compute the metrics of some of the target trials, with all nontarget trials.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    chosen : bool array, shape (P,)
        The targets; chosen nontargets make no difference.
    replicates : int
        Of the intervals; 0 for none.
    seed : int

    Returns
    -------
    Stratum

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 0],
    ...     label=[1, 0, 0, 1],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> summarize_targets(grouped(trials, {}), trials.score > 2).eer
    0.0
    """
    rows = np.asarray((chosen & trials.is_target) | ~trials.is_target)
    bounds = intervals_of(trials, rows, replicates, seed) if replicates else {}
    return replace(values_of(trials, rows), intervals=bounds)


def intervals_of(
    trials: Trials,
    rows: BoolArray,
    replicates: int,
    seed: int,
    tests: tuple[IntArray, FloatArray] | None = None,
) -> dict[str, tuple[float, float]]:
    """Compute 95 % bootstrap intervals over speakers of the metrics of some trials.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    rows : bool array, shape (P,)
    replicates, seed : int
    tests : (int array, float array), optional
        The speakers of tests, and whether these are found: for the interval of `rank1`.

    Returns
    -------
    dict of str to (float, float)
        Bounds by metric; empty with fewer than two speakers, or without trials of a class.
    """
    own = np.unique(speakers_of(trials)[0][rows & trials.is_target])
    if own.size < 2 or not (rows & ~trials.is_target).any():
        return {}
    draws = _speaker_draws(trials, replicates, seed)
    drawn = _replicated(trials, rows, draws)
    if tests is not None:
        of_tests, hits = (np.bincount(tests[0], w, draws.shape[1]) for w in (None, tests[1]))
        counted = draws @ of_tests > 0
        drawn["rank1"] = (draws @ hits)[counted] / (draws @ of_tests)[counted]
    bounds = {k: expanded_interval(v, own.size) for k, v in drawn.items() if v.size > 1}
    return {key: (of.low, of.high) for key, of in bounds.items()}


def _replicated(trials: Trials, rows: BoolArray, draws: IntArray) -> dict[str, FloatArray]:
    """Compute the metrics with intervals of some trials in all replicates with both classes."""
    at = np.flatnonzero(rows)
    scores = TrialScores.from_labels(trials.score[at], trials.is_target[at])
    _, labels, order = scores.in_score_order
    sides = (side[at[order]] for side in speakers_of(trials))
    pair, times_of = pairs_of_speakers(sides, labels, draws.shape[1] - 1)
    times = times_of(draws)
    step = max(1, AT_ONCE // 4 // at.size)
    parts = [
        _metrics_of(Replicates(scores, pair, times[start : start + step]))
        for start in range(0, len(times), step)
    ]
    return {key: np.concatenate([part[key] for part in parts] or [np.zeros(0)]) for key in _METRICS}


@functools.lru_cache(maxsize=1)
def _speaker_draws(trials: Trials, replicates: int, seed: int) -> IntArray:
    """Draw the speakers inside each group, and those of none, for all kinds of trials alike.

    Returns
    -------
    int array, shape (replicates, S + 1)
        How often each speaker was drawn; the last column is 1.
    """
    group, speakers = group_of(trials), trials.speakers[0].names
    strata = [np.flatnonzero(group == g) for g in range(-1, int(group.max()) + 1)]
    generator = seeded_by(seed, [[speakers[s] for s in of] for of in strata])
    draws = np.ones((replicates, group.size + 1), dtype=np.int64)
    sizes = [of.size for of in strata if of.size]
    draws[:, np.concatenate(strata)] = draws_of(sizes, replicates, generator)
    return draws


def draws_of(sizes: Sequence[int], replicates: int, generator: np.random.Generator) -> FloatArray:
    """Draw the members of groups with replacement.

    Parameters
    ----------
    sizes : sequence of int
        Of the groups.
    replicates : int
    generator : numpy.random.Generator

    Returns
    -------
    float array, shape (replicates, members)
        How often each was drawn.
    """
    counts = []
    for size in sizes:
        drawn = generator.integers(0, size, (replicates, size))
        flat = drawn + size * np.arange(replicates)[:, None]
        counts.append(np.bincount(flat.ravel(), minlength=size * replicates).reshape(-1, size))
    return np.hstack(counts).astype(np.float64)
