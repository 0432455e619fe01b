"""Groups of speakers: who is protected how well, and whether differences are more than chance.

Three kinds of trials of a group are kept apart: *within* (both speakers in the group), enrolled
against all, and tested against all. Groups are compared by *within*: against all others, large
groups look worse, as they have more near impostors.

References: de Freitas Pereira and Marcel (2022), fairness discrepancy rate; Grother (NIST),
inequity; Howard et al. (2022), arXiv 2203.05051, GARBE.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..choices import missing_among, without_fraction
from ..errors import PrivacyEvalError
from .arguments import as_names, as_numbers, as_truth
from .caveats import NOT_AVAILABLE, Caveat, find_caveats, marked_text, withholding_caveat
from .cllr import min_cllr
from .confidence import Interval, expanded_interval, seeded_by
from .eer import kaldi_eer
from .linkability import linkability
from .pav import FloatArray, IntArray
from .registry import METRICS, batch_metrics
from .replicates import PresortedTrials, Replicates
from .trial_scores import BoolArray, TrialScores

#: Kinds of trials of a group.
Kind = Literal["within", "enrolled_against_all", "tested_against_all"]
KINDS: tuple[Kind, ...] = ("within", "enrolled_against_all", "tested_against_all")

#: False-match rates of all trials at whose thresholds groups are compared.
FALSE_MATCH_RATES = (0.01, 0.1)

#: Speakers below which a group has neither test nor intervals (those of two would hold the truth in
#: half of all cases), and below which it is too few for conclusions.
MIN_TESTED, FEW_SPEAKERS = 4, 10

#: Bootstrap replicates of the test.
REPLICATES = 999

#: Metrics of a group with bootstrap intervals, by their names in `BootstrapReplicates`.
_DRAWN = {key: f"exact {key}" for key in ("eer", "cllr_min", "linkability")}

#: Weighted trials of replicates at a time.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class GroupedTrials:
    """Trials with the groups of their speakers.

    Attributes
    ----------
    score : float array, shape (P,)
    is_target : bool array, shape (P,)
    enrolled, trial : int arrays, shape (P,)
        Speakers of both sides, as indices.
    test : int array, shape (P,)
        Index of the test utterance.
    speakers : tuple of str
    group : int array, shape (S,)
        Index of the group of each speaker; -1 for none.
    names : tuple of str
        Groups, sorted.
    """

    score: FloatArray
    is_target: BoolArray
    enrolled: IntArray
    trial: IntArray
    test: IntArray
    speakers: tuple[str, ...]
    group: IntArray
    names: tuple[str, ...]

    @classmethod
    def by_speaker(
        cls,
        labelled: tuple[ArrayLike, ArrayLike],
        sides: tuple[ArrayLike, ArrayLike],
        tests: ArrayLike,
        group_of: Mapping[str, str],
    ) -> GroupedTrials:
        """Look up the groups of both speakers of each trial.

        Parameters
        ----------
        labelled : (array_like, array_like of bool), shape (P,)
            Scores, and whether they belong to target trials.
        sides : (array_like of str, array_like of str), shape (P,)
            Enrolled and trial speaker.
        tests : array_like, shape (P,)
            Names of the trial utterances.
        group_of : mapping of str to str
            Groups of speakers; others, and those whose group is missing, have none.
        """
        score, is_target = as_numbers(labelled[0], "scores"), as_truth(labelled[1], "labels")
        pooled = np.concatenate([as_names(side, "speakers") for side in sides])
        named = {without_fraction(str(s)): str(group) for s, group in group_of.items()}
        missing = missing_among(set(named.values()))
        group_of = {s: group for s, group in named.items() if group not in missing}
        names, codes = np.unique(pooled, return_inverse=True)
        speakers = tuple(names.tolist())
        groups = sorted({group_of[s] for s in speakers if s in group_of})
        place = {name: number for number, name in enumerate(groups)}
        group = np.array([place.get(group_of.get(s, ""), -1) for s in speakers], dtype=np.int64)
        test = np.unique(as_names(tests, "tests"), return_inverse=True)[1].reshape(-1)
        enrolled, trial = codes.reshape(2, -1)
        return cls(score, is_target, enrolled, trial, test, speakers, group, tuple(groups))

    @cached_property
    def sides(self) -> tuple[IntArray, IntArray]:
        """Groups of the enrolled and of the trial speaker, shapes (P,)."""
        return self.group[self.enrolled], self.group[self.trial]

    def rows(self, kind: Kind, group: int) -> BoolArray:
        """Select the trials of one kind of a group, shape (P,)."""
        enrolled, trial = (side == group for side in self.sides)
        chosen = {
            "within": enrolled & trial,
            "enrolled_against_all": enrolled,
            "tested_against_all": trial,
        }
        return np.asarray(chosen[kind])

    def within_all(self) -> BoolArray:
        """Select the trials of speakers of one group, shape (P,)."""
        enrolled, trial = self.sides
        return np.asarray((enrolled == trial) & (enrolled >= 0))

    def between_all(self) -> BoolArray:
        """Select nontargets of speakers of two groups, and all targets with a group."""
        enrolled, trial = self.sides
        has_both = (enrolled >= 0) & (trial >= 0)
        return np.asarray(((enrolled != trial) & has_both) | (self.is_target & (enrolled >= 0)))

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each group with target trials, shape (G,)."""
        own = np.unique(self.enrolled[self.is_target])
        groups = self.group[own]
        return np.bincount(groups[groups >= 0], minlength=len(self.names)).astype(np.int64)


@dataclass(frozen=True)
class GroupValues:
    """Metrics, variant exact, of some trials; None where they are undefined.

    Attributes
    ----------
    n_target, n_nontarget, n_speakers : int
        Speakers with target trials.
    eer : float or None
        Kaldi's.
    cllr_min, linkability : float or None
    rank1 : float or None
        Share of tests whose speaker scores highest of the group; a tie loses. Of `within` only.
    """

    n_target: int
    n_nontarget: int
    n_speakers: int
    eer: float | None = None
    cllr_min: float | None = None
    linkability: float | None = None
    rank1: float | None = None

    @property
    def caveats(self) -> dict[str, str]:
        """Reasons why values are uninformative, as from `find_caveats`."""
        return find_caveats(self.eer, self.n_target, self.n_nontarget, variant="exact")

    def caveat(self, metric: str) -> Caveat | None:
        """Return the caveat for which a value must not be ranked."""
        return withholding_caveat(self.caveats, metric)

    def text(self, key: str) -> str:
        """Format a value, marked or replaced as its caveat demands; "n/a" if it is undefined."""
        value, metric = getattr(self, key), METRICS["eer" if key == "rank1" else key]
        text = "" if value is None else metric.format(value)
        return marked_text(text, self.caveat(key)) or NOT_AVAILABLE


@dataclass(frozen=True)
class GroupReport:
    """Everything about the groups of one attribute.

    Attributes
    ----------
    groups : mapping of str to mapping
        By group, then by kind of trials: `GroupValues`.
    within_all, between_all : GroupValues
        Of all trials within a group, and of all targets with the nontargets between two groups.
    false_match : mapping of str to FalseMatches
        By the false-match rate of all trials, 0.01 and 0.1.
    disparities : mapping of str to (Disparities or None)
        At the same rates, of trials within groups.
    test : mapping of str to (GroupTest or None)
    """

    groups: Mapping[str, Mapping[Kind, GroupValues]]
    within_all: GroupValues
    between_all: GroupValues
    false_match: Mapping[str, FalseMatches]
    disparities: Mapping[str, Disparities | None]
    test: Mapping[str, GroupTest | None]


def evaluate_groups(
    trials: GroupedTrials, *, replicates: int = REPLICATES, seed: int = 0
) -> GroupReport:
    """Compute the metrics of every group, their disparities, and the test of differences.

    Parameters
    ----------
    trials : GroupedTrials
    replicates : int
        Of the test.
    seed : int

    Returns
    -------
    GroupReport

    Raises
    ------
    PrivacyEvalError
        No speaker has a group.

    Examples
    --------
    >>> speakers = ["a", "b", "c", "d"]
    >>> sides = [(e, t) for e in speakers for t in speakers]
    >>> trials = GroupedTrials.by_speaker(
    ...     ([float(e == t) for e, t in sides], [e == t for e, t in sides]),
    ...     tuple(zip(*sides)),
    ...     [t for _, t in sides],
    ...     {"a": "f", "b": "f", "c": "m", "d": "m"},
    ... )
    >>> report = evaluate_groups(trials)
    >>> report.groups["f"]["within"].rank1, report.test
    (1.0, {'f': None, 'm': None})
    """
    if not trials.names:
        raise PrivacyEvalError("no speaker of the trials has a group")
    errors = group_errors(trials)
    return GroupReport(
        groups={
            name: {
                kind: group_values(trials, trials.rows(kind, g), ranked=kind == "within")
                for kind in KINDS
            }
            for g, name in enumerate(trials.names)
        },
        within_all=group_values(trials, trials.within_all()),
        between_all=group_values(trials, trials.between_all()),
        false_match=errors.false_match,
        disparities=errors.disparities,
        test=max_t_test(trials, replicates=replicates, seed=seed),
    )


@dataclass(frozen=True)
class GroupSummary:
    """What a record keeps of a group.

    Attributes
    ----------
    within, enrolled_against_all, tested_against_all : GroupValues
        By the kind of trials.
    intervals : mapping of str to (float, float)
        95 % bounds of the metrics of `within`; empty without a bootstrap.
    test : GroupTest or None
        None without a bootstrap, too.
    """

    within: GroupValues
    enrolled_against_all: GroupValues
    tested_against_all: GroupValues
    intervals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    test: GroupTest | None = None


def summarize_groups(
    trials: GroupedTrials, *, replicates: int = 0, seed: int = 0
) -> dict[str, GroupSummary]:
    """Compute what a record keeps of every group.

    Parameters
    ----------
    trials : GroupedTrials
    replicates : int
        Of the intervals and the test; 0 for neither.
    seed : int

    Returns
    -------
    dict of str to GroupSummary
    """
    tests = max_t_test(trials, replicates=replicates, seed=seed) if replicates else {}
    groups = {}
    for g, name in enumerate(trials.names):
        within, enrolled, tested = (
            group_values(trials, trials.rows(k, g), ranked=k == "within") for k in KINDS
        )
        drawn = (
            group_intervals(trials, "within", g, replicates=replicates, seed=seed)
            if replicates
            else {}
        )
        bounds = {key: (i.low, i.high) for key, i in drawn.items()}
        groups[name] = GroupSummary(within, enrolled, tested, bounds, tests.get(name))
    return groups


def group_values(trials: GroupedTrials, rows: BoolArray, *, ranked: bool = False) -> GroupValues:
    """Compute the metrics of some trials.

    Parameters
    ----------
    trials : GroupedTrials
    rows : bool array, shape (P,)
    ranked : bool
        Also the rank-1 rate.

    Returns
    -------
    GroupValues

    Examples
    --------
    >>> trials = GroupedTrials.by_speaker(
    ...     ([3.0, 1.0, 2.0, 4.0], [True, False, False, True]),
    ...     (["a", "a", "b", "b"], ["a", "b", "a", "b"]),
    ...     ["a1", "b1", "a1", "b1"],
    ...     {"a": "f", "b": "f"},
    ... )
    >>> group_values(trials, trials.rows("within", 0), ranked=True).rank1
    1.0
    """
    target, nontarget = rows & trials.is_target, rows & ~trials.is_target
    n_target, n_nontarget = int(target.sum()), int(nontarget.sum())
    counts = (n_target, n_nontarget, int(np.unique(trials.enrolled[target]).size))
    if not (n_target and n_nontarget):
        return GroupValues(*counts)
    scores = TrialScores(trials.score[target], trials.score[nontarget])
    return GroupValues(
        *counts,
        eer=kaldi_eer(scores).value,
        cllr_min=min_cllr(scores, variant="exact").value,
        linkability=linkability(scores, variant="exact").value,
        rank1=float(_is_first(trials, rows)[1].mean()) if ranked else None,
    )


def _is_first(trials: GroupedTrials, rows: BoolArray) -> tuple[IntArray, FloatArray]:
    """Return the speakers of the tests, and whether they score higher than all others; of tied
    ones, the probability of drawing the right one."""
    target, nontarget = np.flatnonzero(rows & trials.is_target), rows & ~trials.is_target
    best = np.full(int(trials.test.max()) + 1, -np.inf)
    np.maximum.at(best, trials.test[nontarget], trials.score[nontarget])
    tied = np.bincount(
        trials.test[nontarget & (trials.score == best[trials.test])], minlength=best.size
    )
    of_test, score = trials.test[target], trials.score[target]
    first = (score >= best[of_test]) / (1 + tied[of_test] * (score == best[of_test]))
    return trials.trial[target], np.asarray(first)


def group_intervals(
    trials: GroupedTrials, kind: Kind, group: int, *, replicates: int, seed: int = 0
) -> dict[str, Interval]:
    """Compute 95 % bootstrap intervals over speakers of the metrics of a group.

    Parameters
    ----------
    trials : GroupedTrials
    kind : {"within", "enrolled_against_all", "tested_against_all"}
    group : int
    replicates : int
    seed : int

    Returns
    -------
    dict of str to Interval
        By metric; empty with fewer than `MIN_TESTED` speakers, or without trials of a class.
    """
    rows = trials.rows(kind, group)
    if trials.n_speakers[group] < MIN_TESTED:
        return {}
    return _intervals(trials, rows, replicates, seed, ranked=kind == "within")


@dataclass(frozen=True)
class TargetStratum:
    """Metrics of some of the target trials, with all nontarget trials.

    Attributes
    ----------
    values : GroupValues
    intervals : mapping of str to (float, float)
        95 % bounds of the metrics; empty without a bootstrap.
    """

    values: GroupValues
    intervals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def summarize_targets(
    trials: GroupedTrials, chosen: BoolArray, *, replicates: int = 0, seed: int = 0
) -> TargetStratum:
    """Compute the metrics of some of the target trials, with all nontarget trials.

    Parameters
    ----------
    trials : GroupedTrials
    chosen : bool array, shape (P,)
        The targets; chosen nontargets make no difference.
    replicates : int
        Of the intervals; 0 for none.
    seed : int

    Returns
    -------
    TargetStratum

    Examples
    --------
    >>> trials = GroupedTrials.by_speaker(
    ...     ([3.0, 1.0, 2.0, 0.0], [True, False, False, True]),
    ...     (["a", "a", "b", "b"], ["a", "b", "a", "b"]),
    ...     ["a1", "b1", "a1", "b1"],
    ...     {},
    ... )
    >>> summarize_targets(trials, trials.score > 2).values.eer
    0.0
    """
    rows = np.asarray((chosen & trials.is_target) | ~trials.is_target)
    drawn = _intervals(trials, rows, replicates, seed, ranked=False) if replicates else {}
    bounds = {key: (i.low, i.high) for key, i in drawn.items()}
    return TargetStratum(group_values(trials, rows), bounds)


def _intervals(
    trials: GroupedTrials, rows: BoolArray, replicates: int, seed: int, *, ranked: bool
) -> dict[str, Interval]:
    """Compute the intervals of the metrics of some trials; none with fewer than two speakers."""
    own = np.unique(trials.enrolled[rows & trials.is_target])
    if own.size < 2 or not (rows & ~trials.is_target).any():
        return {}
    draws = _speaker_draws(trials, replicates, seed)
    drawn = _replicated(trials, rows, draws)
    if ranked:
        speaker, is_first = _is_first(trials, rows)
        tests, hits = (np.bincount(speaker, w, draws.shape[1]) for w in (None, is_first))
        counted = draws @ tests > 0
        drawn["rank1"] = (draws @ hits)[counted] / (draws @ tests)[counted]
    return {k: expanded_interval(v, own.size) for k, v in drawn.items() if v.size > 1}


def _replicated(trials: GroupedTrials, rows: BoolArray, draws: IntArray) -> dict[str, FloatArray]:
    """Compute the metrics with intervals of some trials in all replicates with both classes."""
    at = np.flatnonzero(rows)
    at = at[np.argsort(trials.score[at], kind="stable")]
    labels, dummy = trials.is_target[at], draws.shape[1] - 1
    # A target trial counts as often as its speaker was drawn: the last index counts once.
    sides = trials.enrolled[at], np.where(labels, dummy, trials.trial[at])
    pairs, pair = np.unique(sides[0] * draws.shape[1] + sides[1], return_inverse=True)
    first, second = np.divmod(pairs, draws.shape[1])
    times = draws[:, first] * draws[:, second]
    own = second == dummy
    times = times[times[:, own].any(axis=1) & times[:, ~own].any(axis=1)]
    presorted = PresortedTrials(trials.score[at], labels, pair)
    step = max(1, _AT_ONCE // 4 // at.size)
    parts = [
        batch_metrics(Replicates(presorted, times[start : start + step]), _DRAWN.values())
        for start in range(0, len(times), step)
    ]
    return {
        key: np.concatenate([part[name] for part in parts] or [np.zeros(0)])
        for key, name in _DRAWN.items()
    }


@functools.lru_cache(maxsize=1)
def _speaker_draws(trials: GroupedTrials, replicates: int, seed: int) -> IntArray:
    """Draw the speakers inside each group, and those of none, for all kinds of trials alike.

    Returns
    -------
    int array, shape (replicates, S + 1)
        How often each speaker was drawn; the last column is 1.
    """
    strata = [np.flatnonzero(trials.group == g) for g in range(-1, len(trials.names))]
    generator = seeded_by(seed, [[trials.speakers[s] for s in of] for of in strata])
    draws = np.ones((replicates, len(trials.speakers) + 1), dtype=np.int64)
    sizes = [of.size for of in strata if of.size]
    draws[:, np.concatenate(strata)] = _draws(sizes, replicates, generator)
    return draws


@dataclass(frozen=True)
class FalseMatches:
    """Error rates of groups at one threshold of all.

    Attributes
    ----------
    threshold : float
        Scores above it are accepted.
    groups : tuple of str
    fmr_matrix : mapping of str to mapping of str to (float or None)
        By enrolled, then by tested group: accepted nontargets.
    fnmr : tuple of (float or None)
        Rejected targets, by group.
    """

    threshold: float
    groups: tuple[str, ...]
    fmr_matrix: Mapping[str, Mapping[str, float | None]]
    fnmr: tuple[float | None, ...]

    @property
    def disparities(self) -> Disparities | None:
        """Disparities between the groups of which both rates are defined, by trials within."""
        pairs = zip(self.groups, self.fnmr, strict=True)
        rates = [(self.fmr_matrix[group][group], missed) for group, missed in pairs]
        both = [(a, b) for a, b in rates if a is not None and b is not None]
        return disparities(*zip(*both, strict=True)) if len(both) > 1 else None


def false_matches(trials: GroupedTrials, rate: float) -> FalseMatches:
    """Compute the error rates of groups at the threshold of a false-match rate of all trials.

    Parameters
    ----------
    trials : GroupedTrials
    rate : float
        The floor(rate N) highest of N nontargets lie above the threshold, but for ties.

    Returns
    -------
    FalseMatches
    """
    enrolled, _ = trials.sides
    pooled = np.sort(trials.score[~trials.is_target])
    threshold = float(pooled[pooled.size - 1 - math.floor(rate * pooled.size)])
    accepted = trials.score > threshold
    size = len(trials.names)
    matched, of_cells = _count_cells(trials, accepted)
    own = trials.is_target & (enrolled >= 0)
    targets = np.bincount(enrolled[own], minlength=size)
    missed = np.bincount(enrolled[own], ~accepted[own], size)
    rates = [
        [float(m / n) if n else None for m, n in zip(*row, strict=True)]
        for row in zip(matched, of_cells, strict=True)
    ]
    return FalseMatches(
        threshold,
        trials.names,
        _by_pair(trials.names, rates),
        tuple(float(m / n) if n else None for m, n in zip(missed, targets, strict=True)),
    )


def _count_cells(
    trials: GroupedTrials, weights: ArrayLike | None = None
) -> tuple[FloatArray, IntArray]:
    """Sum the weights of nontargets, and count these, by enrolled and tested group."""
    (enrolled, trial), size = trials.sides, len(trials.names)
    known = (enrolled >= 0) & (trial >= 0) & ~trials.is_target
    cell = enrolled[known] * size + trial[known]
    own = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=np.float64)
    summed, counts = (
        np.bincount(cell, w, size * size).reshape(size, size) for w in (own[known], None)
    )
    return summed.astype(np.float64), counts.astype(np.int64)


_Cell = TypeVar("_Cell")


def _by_pair(names: Sequence[str], rows: Iterable[Iterable[_Cell]]) -> dict[str, dict[str, _Cell]]:
    """Name the rows and columns of a matrix by groups."""
    return {g: dict(zip(names, row, strict=True)) for g, row in zip(names, rows, strict=True)}


@dataclass(frozen=True)
class GroupErrors:
    """Error rates of the groups of one attribute at common thresholds, as a record keeps them.

    Attributes
    ----------
    n_nontarget : mapping of str to mapping of str to int
        Nontargets by enrolled, then by tested group.
    false_match : mapping of str to FalseMatches
        By the false-match rate of all trials, see `FALSE_MATCH_RATES`.
    disparities : mapping of str to (Disparities or None)
        At the same rates, of trials within groups.
    """

    n_nontarget: Mapping[str, Mapping[str, int]]
    false_match: Mapping[str, FalseMatches]
    disparities: Mapping[str, Disparities | None]


def group_errors(trials: GroupedTrials) -> GroupErrors:
    """Compute the error rates of all groups at common thresholds.

    Parameters
    ----------
    trials : GroupedTrials

    Returns
    -------
    GroupErrors

    Examples
    --------
    >>> trials = GroupedTrials.by_speaker(
    ...     ([3.0, 1.0, 2.0, 4.0], [True, False, False, True]),
    ...     (["a", "a", "b", "b"], ["a", "b", "a", "b"]),
    ...     ["a1", "b1", "a1", "b1"],
    ...     {"a": "f", "b": "m"},
    ... )
    >>> errors = group_errors(trials)
    >>> errors.n_nontarget, errors.false_match["0.1"].fmr_matrix["m"]["f"]
    ({'f': {'f': 0, 'm': 1}, 'm': {'f': 1, 'm': 0}}, 0.0)
    """
    false_match = {f"{rate:g}": false_matches(trials, rate) for rate in FALSE_MATCH_RATES}
    _, counts = _count_cells(trials)
    return GroupErrors(
        _by_pair(trials.names, counts.tolist()),
        false_match,
        {rate: of.disparities for rate, of in false_match.items()},
    )


@dataclass(frozen=True)
class Disparities:
    """How much the false-match rates (FMR) and false-nonmatch rates (FNMR) of groups differ.

    Both rates weigh one half. None where a rate of 0 leaves no ratio.

    Attributes
    ----------
    fmr_gap, fnmr_gap : float
        Largest less smallest.
    fmr_ratio, fnmr_ratio : float or None
        Largest over smallest.
    fdr : float
        Fairness discrepancy rate: 1 less the mean gap.
    inequity_max_min, inequity_max_geomean : float or None
        Geometric mean of both ratios, largest over smallest or over the geometric mean.
    gini_fmr, gini_fnmr : float or None
        Gini coefficients, corrected for few groups; None where all rates are 0.
    garbe : float or None
        Their mean.
    """

    fmr_gap: float
    fnmr_gap: float
    fmr_ratio: float | None
    fnmr_ratio: float | None
    fdr: float
    inequity_max_min: float | None
    inequity_max_geomean: float | None
    gini_fmr: float | None
    gini_fnmr: float | None
    garbe: float | None


def disparities(fmr: ArrayLike, fnmr: ArrayLike) -> Disparities:
    """Compute measures of disparity between groups.

    Parameters
    ----------
    fmr, fnmr : array_like, shape (G,)
        Of at least two groups.

    Returns
    -------
    Disparities

    Examples
    --------
    >>> values = disparities([0.1, 0.2], [0.2, 0.2])
    >>> round(values.fmr_ratio, 6), round(values.fdr, 6), round(values.garbe, 6)
    (2.0, 0.95, 0.166667)
    """
    rates = [np.asarray(of, dtype=np.float64) for of in (fmr, fnmr)]
    low, high = ([float(end(r)) for r in rates] for end in (np.min, np.max))
    gaps = [b - a for a, b in zip(low, high, strict=True)]
    ratios = [b / a if a > 0 else None for a, b in zip(low, high, strict=True)]
    max_min = max_geomean = None
    if min(low) > 0:
        geomean = [math.exp(float(np.log(r).mean())) for r in rates]
        max_min = math.sqrt(math.prod(high) / math.prod(low))
        max_geomean = math.sqrt(math.prod(high) / math.prod(geomean))
    ginis = [_gini(r) for r in rates]
    both = [g for g in ginis if g is not None]
    return Disparities(
        fmr_gap=gaps[0],
        fnmr_gap=gaps[1],
        fmr_ratio=ratios[0],
        fnmr_ratio=ratios[1],
        fdr=1 - sum(gaps) / 2,
        inequity_max_min=max_min,
        inequity_max_geomean=max_geomean,
        gini_fmr=ginis[0],
        gini_fnmr=ginis[1],
        garbe=sum(both) / 2 if len(both) == 2 else None,
    )


def _gini(rates: FloatArray) -> float | None:
    mean, n = float(rates.mean()), rates.size
    if not mean:
        return None
    differences = float(np.abs(rates[:, None] - rates).sum())
    return n / (n - 1) * differences / (2 * n * n * mean)


@dataclass(frozen=True)
class GroupTest:
    """Test of one group against the others.

    Attributes
    ----------
    difference : float
        EER within the group minus that of all trials within other groups; here the EER is the mean
        of both error rates where they are nearest.
    se : float
        Standard error, by the bootstrap.
    p_value : float
        Corrected for the number of groups.
    """

    difference: float
    se: float
    p_value: float


def max_t_test(
    trials: GroupedTrials, *, replicates: int = REPLICATES, seed: int = 0
) -> dict[str, GroupTest | None]:
    """Test the EER within each group against that within the others: bootstrap max-T.

    Speakers are drawn inside each group; all groups of two or more speakers are one family.
    Where same-group impostors are nearer than others a permutation test would not hold its level.

    Parameters
    ----------
    trials : GroupedTrials
    replicates : int
    seed : int

    Returns
    -------
    dict of str to (GroupTest or None)
        By group; None below `MIN_TESTED` speakers, and where all replicates are equal or no other
        group is left.
    """
    tests: dict[str, GroupTest | None] = dict.fromkeys(trials.names)
    family = [g for g, n in enumerate(trials.n_speakers.tolist()) if n > 1]
    if len(family) < 2:
        return tests
    differences = _differences_of(trials, family)
    members = [np.flatnonzero(trials.group == g) for g in family]
    generator = seeded_by(seed, [[trials.speakers[s] for s in of] for of in members])
    observed = differences(np.ones((1, len(trials.speakers))))[0]
    rows = int(np.count_nonzero(trials.within_all()))
    step: int = max(1, _AT_ONCE // rows)
    drawn = []
    for start in range(0, replicates, step):
        draws = _draws([of.size for of in members], min(step, replicates - start), generator)
        weights = np.zeros((len(draws), len(trials.speakers)))
        weights[:, np.concatenate(members)] = draws
        drawn.append(differences(weights))
    replicated = np.concatenate(drawn)
    is_defined = np.isfinite(replicated)
    se = np.array(
        [x[ok].std() if ok.any() else 0 for x, ok in zip(replicated.T, is_defined.T, strict=True)]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        se[se == 0] = np.nan
        largest = np.nan_to_num(np.abs(replicated - observed) / se, nan=-1.0).max(axis=1)
        statistic = np.abs(observed) / se
    for place, g in enumerate(family):
        if trials.n_speakers[g] >= MIN_TESTED and np.isfinite(statistic[place]):
            p_value = (1 + int(np.sum(largest >= statistic[place]))) / (replicates + 1)
            test = GroupTest(float(observed[place]), float(se[place]), p_value)
            tests[trials.names[g]] = test
    return tests


def _draws(sizes: Sequence[int], replicates: int, generator: np.random.Generator) -> FloatArray:
    """Draw the members of groups with replacement; count each, shape (replicates, members)."""
    counts = []
    for size in sizes:
        drawn = generator.integers(0, size, (replicates, size))
        flat = drawn + size * np.arange(replicates)[:, None]
        counts.append(np.bincount(flat.ravel(), minlength=size * replicates).reshape(-1, size))
    return np.hstack(counts).astype(np.float64)


def _differences_of(
    trials: GroupedTrials, family: Sequence[int]
) -> Callable[[FloatArray], FloatArray]:
    """Return the function from weights of speakers, shape (R, S), to the differences of the EER
    within each group of the family and that within the others, shape (R, F)."""
    rows = np.flatnonzero(trials.within_all() & np.isin(trials.sides[0], family))
    rows = rows[np.argsort(trials.score[rows], kind="stable")]
    score, group = trials.score[rows], trials.sides[0][rows]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    is_target = trials.is_target[rows]
    classes = [np.flatnonzero(is_target), np.flatnonzero(~is_target)]

    def differences(weights: FloatArray) -> FloatArray:
        of_targets = weights[:, trials.enrolled[rows[classes[0]]]]
        of_nontargets = weights[:, trials.enrolled[rows[classes[1]]]]
        of_nontargets *= weights[:, trials.trial[rows[classes[1]]]]
        weighted = (of_targets, of_nontargets)
        whole = [_Cumulated(w, c, ends) for w, c in zip(weighted, classes, strict=True)]
        columns = []
        for g in family:
            chosen = [group[c] == g for c in classes]
            own = [
                _Cumulated(w[:, of], c[of], ends)
                for w, c, of in zip(weighted, classes, chosen, strict=True)
            ]
            columns.append(_nearest_eer(own, None) - _nearest_eer(whole, own))
        return np.column_stack(columns)

    return differences


class _Cumulated:
    """Weights of some trials of one class, cumulated over points between distinct scores."""

    def __init__(self, weights: FloatArray, rows: IntArray, ends: IntArray) -> None:
        self.sums = np.zeros((len(weights), weights.shape[1] + 1))
        np.cumsum(weights, axis=1, out=self.sums[:, 1:])
        self.position = np.append(0, np.searchsorted(rows, ends, side="right"))

    def at(self, point: IntArray) -> FloatArray:
        """Return the sum up to a point of each set of weights, shape (R,)."""
        return np.asarray(self.sums[np.arange(len(self.sums)), self.position[point]])


def _nearest_eer(of: Sequence[_Cumulated], less: Sequence[_Cumulated] | None) -> FloatArray:
    """Compute the mean of both error rates at the point where they are nearest, the first of
    several; of targets and nontargets, `less` some of them. Shape (R,); NaN without one class."""
    last = np.full(len(of[0].sums), of[0].position.size - 1)

    def rates(point: IntArray) -> tuple[FloatArray, FloatArray]:
        shares = []
        for number, cumulated in enumerate(of):
            sums, total = cumulated.at(point), cumulated.at(last)
            if less is not None:
                sums, total = sums - less[number].at(point), total - less[number].at(last)
            shares.append(sums / total)
        return shares[0], 1 - shares[1]

    with np.errstate(invalid="ignore"):
        low, high = np.zeros_like(last), last.copy()
        while (low < high).any():  # the miss rate rises, the false-alarm rate falls
            middle = (low + high) // 2
            miss, false_alarm = rates(middle)
            crossed = miss >= false_alarm
            low, high = np.where(crossed, low, middle + 1), np.where(crossed, middle, high)
        before = np.maximum(high - 1, 0)
        ends = [rates(point) for point in (before, high)]
        apart = [np.abs(miss - false_alarm) for miss, false_alarm in ends]
        means = [(miss + false_alarm) / 2 for miss, false_alarm in ends]
        return np.where(apart[0] <= apart[1], *means)
