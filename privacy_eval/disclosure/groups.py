"""Groups of speakers: who is protected how well, and whether differences are more than chance.

Three kinds of trials of a group are kept apart: *within* (both speakers in the group), enrolled
against all, and tested against all. Groups are compared by *within*: against all others, large
groups look worse, as they have more near impostors.

References: de Freitas Pereira and Marcel (2022), fairness discrepancy rate; Grother (NIST),
inequity; Howard et al. (2022), arXiv 2203.05051, GARBE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError, abbreviate
from ..metrics import METRICS, NOT_AVAILABLE, find_caveats, strata, withholding_caveat
from ..metrics.caveats import marked_text, note_of
from ..metrics.confidence import seeded_by
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.strata import MIN_TESTED, Stratum, grouped
from ..metrics.trial_scores import BoolArray
from ..metrics.trials import Table, Trials

#: Kinds of trials of a group.
Kind = Literal["within", "enrolled_against_all", "tested_against_all"]
KINDS: tuple[Kind, ...] = ("within", "enrolled_against_all", "tested_against_all")

#: False-match rates of all trials at whose thresholds groups are compared.
FALSE_MATCH_RATES = (0.01, 0.1)

#: Bootstrap replicates of the test.
REPLICATES = 999

#: Columns of the printed table.
_HEADS = (
    *("group", "speakers", "targets", "nontargets", "EER within, %", "min Cllr", "linkability"),
    *("rank-1, %", "enrolled against all", "tested against all", "difference", "p"),
)


def group_rows(trials: Trials, kind: Kind, group: int) -> BoolArray:
    """Select the trials of one kind of a group.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    kind : {"within", "enrolled_against_all", "tested_against_all"}
    group : int
        Its place among the sorted names.

    Returns
    -------
    bool array, shape (P,)
    """
    enrolled, trial = (side == group for side in strata.sides_of(trials))
    return np.asarray((enrolled & trial, enrolled, trial)[KINDS.index(kind)])


def _within_all(trials: Trials) -> BoolArray:
    """Select the trials of speakers of one group, shape (P,)."""
    enrolled, trial = strata.sides_of(trials)
    return np.asarray((enrolled == trial) & (enrolled >= 0))


def _between_all(trials: Trials) -> BoolArray:
    """Select nontargets of speakers of two groups, and all targets with a group."""
    enrolled, trial = strata.sides_of(trials)
    has_both = (enrolled >= 0) & (trial >= 0)
    return np.asarray(((enrolled != trial) & has_both) | (trials.is_target & (enrolled >= 0)))


def _n_speakers(trials: Trials) -> IntArray:
    """Count the speakers of each group with target trials, shape (G,)."""
    speakers = np.unique(strata.speakers_of(trials)[0][trials.is_target])
    groups, size = strata.group_of(trials)[speakers], len(strata.names_of(trials))
    return np.bincount(groups[groups >= 0], minlength=size).astype(np.int64)


def _caveats(of: Stratum) -> dict[str, str]:
    return find_caveats(of.eer, of.n_target, of.n_nontarget, variant="exact")


def group_text(of: Stratum, key: str) -> str:
    """Format a value of a group, marked or replaced as its caveat demands.

    Parameters
    ----------
    of : Stratum
    key : str
        The metric.

    Returns
    -------
    str
        "n/a" if it is undefined.
    """
    value, metric = getattr(of, key), METRICS["eer" if key == "rank1" else key]
    text = "" if value is None else metric.format(value)
    return marked_text(text, withholding_caveat(_caveats(of), key)) or NOT_AVAILABLE


@dataclass(frozen=True, repr=False)
class GroupReport(Printed):
    """Everything about the groups of one attribute.

    Attributes
    ----------
    groups : mapping of str to mapping
        By group, then by kind of trials: `Stratum`.
    within_all, between_all : Stratum
        Of all trials within a group, and of all targets with the nontargets between two groups.
    false_match : mapping of str to FalseMatches
        By the false-match rate of all trials, 0.01 and 0.1.
    disparities : mapping of str to (dict or None)
        At the same rates, of trials within groups: see `disparities`.
    test : mapping of str to (dict or None)
        See `max_t_test`.
    left_out : sequence of str
        Which speakers have no group.
    """

    groups: Mapping[str, Mapping[Kind, Stratum]]
    within_all: Stratum
    between_all: Stratum
    false_match: Mapping[str, FalseMatches]
    disparities: Mapping[str, dict[str, Any] | None]
    test: Mapping[str, dict[str, float] | None]
    left_out: Sequence[str] = ()

    def __getitem__(self, metric: str) -> dict[str, float | None]:
        return {name: getattr(of["within"], metric) for name, of in self.groups.items()}

    @property
    def findings(self) -> list[str]:
        """How much groups differ at common thresholds, and the largest difference."""
        found = [
            f"at {100 * float(rate):g} % false matches of all, within groups: false-match rates "
            f"differ by up to {100 * gaps['fmr_gap']:.1f} points, false-nonmatch rates by up to "
            f"{100 * gaps['fnmr_gap']:.1f}"
            for rate, gaps in self.disparities.items()
            if gaps is not None
        ]
        tested = [(abs(t["difference"]) / t["se"], name, t) for name, t in self.test.items() if t]
        for _, name, test in sorted(tested, key=lambda of: -of[0])[:1]:
            found.append(
                f"largest difference in standard errors: {name}, {100 * test['difference']:+.1f} "
                f"points of EER from the others within groups (p = {test['p_value']:.3f}, "
                "corrected over the groups)"
            )
        return found

    @property
    def caveats(self) -> list[str]:
        """What the numbers of groups cannot tell, and which are not tested."""
        speakers = {name: of["within"].n_speakers for name, of in self.groups.items()}
        untested = [name for name, n in speakers.items() if n < MIN_TESTED]
        values = [of for kinds in self.groups.values() for of in kinds.values()]
        values += [self.within_all, self.between_all]
        of_values = [(_caveats(of), key) for of in values for key in ("eer", "linkability")]
        caveats = dict.fromkeys(withholding_caveat(*of) for of in of_values)
        return [
            *[f"not tested (below {MIN_TESTED} speakers): {abbreviate(untested)}"][: len(untested)],
            *strata.few_speakers(speakers),
            *(note_of(caveat) for caveat in caveats if caveat is not None),
        ]

    @property
    def notes(self) -> list[str]:
        """Findings and caveats."""
        how = "compare groups by trials within; against all, large groups look worse"
        return [*self.findings, *self.caveats, *self.left_out, how]

    def to_rows(self) -> list[dict[str, Any]]:
        """List the values of every group and kind of trials as numbers."""
        rows = []
        for name, kinds in self.groups.items():
            for kind, of in kinds.items():
                values = {key: value for key, value in vars(of).items() if key != "intervals"}
                bounds = {f"{metric}_interval": ends for metric, ends in of.intervals.items()}
                caveat = {"caveat": ", ".join(_caveats(of)) or None}
                rows.append({"group": name, "trials": kind, **values, **bounds, **caveat})
        return rows

    def cells(self) -> list[dict[str, str]]:
        """Format a row per group, and of all trials within and between groups."""
        return [
            *(self._cells(name, of["within"], of) for name, of in self.groups.items()),
            self._cells("all within", self.within_all),
            self._cells("all between", self.between_all),
        ]

    def _cells(
        self, name: str, of: Stratum, kinds: Mapping[Kind, Stratum] = MappingProxyType({})
    ) -> dict[str, str]:
        test = self.test.get(name)
        texts = {key: group_text(of, key) for key in ("eer", "cllr_min", "linkability", "rank1")}
        for key in of.intervals.keys() & {"eer", "rank1"}:
            texts[key] += f" {METRICS['eer'].interval(of.intervals[key])}"
        counts = map(str, (of.n_speakers, of.n_target, of.n_nontarget))
        against = [group_text(kinds[kind], "eer") if kinds else "" for kind in KINDS[1:]]
        tested = [NOT_AVAILABLE if kinds else ""] * 2
        if test:
            difference, se = (100 * test[key] for key in ("difference", "se"))
            tested = [f"{difference:+.1f} ± {se:.1f}", f"{test['p_value']:.3f}"]
        return dict(zip(_HEADS, (name, *counts, *texts.values(), *against, *tested), strict=True))


def groups(
    trials: Table, by: str | Mapping[str, str], *, bootstrap: int = 0, seed: int = 0
) -> GroupReport:
    """Compute the metrics of every group of speakers, their disparities, and the test of
    differences.

    Parameters
    ----------
    trials : Trials, or what they are made of
        With scores, labels, utterances and the speakers of both sides.
    by : str or mapping of str to str
        A column of speakers, or their groups, see `grouped`.
    bootstrap : int
        Replicates of the test and of the intervals; 0: no intervals, and `REPLICATES` of the test.
    seed : int

    Returns
    -------
    GroupReport

    Raises
    ------
    PrivacyEvalError
        As `grouped`; no speaker has a group.

    Examples
    --------
    >>> sides = [(e, t) for e in "abcd" for t in "abcd"]
    >>> trials = Trials(
    ...     score=[float(e == t) for e, t in sides],
    ...     label=[e == t for e, t in sides],
    ...     enrolled=[e for e, _ in sides],
    ...     utterance=[f"{t}-1" for _, t in sides],
    ...     trial_speaker=[t for _, t in sides],
    ... )
    >>> report = groups(trials, by={"a": "f", "b": "f", "c": "m", "d": "m"})
    >>> report.groups["f"]["within"].rank1, report.test
    (1.0, {'f': None, 'm': None})
    """
    trials = grouped(trials, by)
    if not strata.names_of(trials):
        raise PrivacyEvalError("no speaker of the trials has a group")
    drawn, errors = {"replicates": bootstrap, "seed": seed}, group_errors(trials)
    of_kinds = {kind: summarize_groups(trials, kind, **drawn) for kind in KINDS}
    return GroupReport(
        groups={n: {k: of_kinds[k][n] for k in KINDS} for n in strata.names_of(trials)},
        within_all=strata.values_of(trials, _within_all(trials)),
        between_all=strata.values_of(trials, _between_all(trials)),
        false_match=errors,
        disparities={rate: of.disparities for rate, of in errors.items()},
        test=max_t_test(trials, replicates=bootstrap or REPLICATES, seed=seed),
        left_out=strata.ungrouped(trials),
    )


def summarize_groups(
    trials: Trials, kind: Kind = "within", /, *, replicates: int = 0, seed: int = 0
) -> dict[str, Stratum]:
    """Compute the metrics of one kind of trials of every group.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    kind : {"within", "enrolled_against_all", "tested_against_all"}
        `within` has rank-1 rates, too.
    replicates : int
        Of the intervals; 0 for none.
    seed : int

    Returns
    -------
    dict of str to Stratum

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 4],
    ...     label=[1, 0, 0, 1],
    ...     enrolled=["a", "a", "b", "b"],
    ...     utterance=["a1", "b1", "a1", "b1"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> summarize_groups(grouped(trials, {"a": "f", "b": "f"}))["f"].rank1
    1.0
    """
    groups = {}
    for g, name in enumerate(strata.names_of(trials)):
        of = strata.values_of(trials, rows := group_rows(trials, kind, g))
        if kind == "within" and of.eer is not None:
            of = replace(of, rank1=float(_is_first(trials, rows)[1].mean()))
        drawn = {"replicates": replicates, "seed": seed}
        bounds = group_intervals(trials, kind, g, **drawn) if replicates else {}
        groups[name] = replace(of, intervals=bounds)
    return groups


def _is_first(trials: Trials, rows: BoolArray) -> tuple[IntArray, FloatArray]:
    """Return the speakers of the tests, and whether they score higher than all others; of tied
    ones, the probability of drawing the right one."""
    target, nontarget = np.flatnonzero(rows & trials.is_target), rows & ~trials.is_target
    test = trials.utterance.codes
    best = np.full(int(test.max()) + 1, -np.inf)
    np.maximum.at(best, test[nontarget], trials.score[nontarget])
    tied = np.bincount(test[nontarget & (trials.score == best[test])], minlength=best.size)
    of_test, score = test[target], trials.score[target]
    first = (score >= best[of_test]) / (1 + tied[of_test] * (score == best[of_test]))
    return strata.speakers_of(trials)[1][target], np.asarray(first)


def group_intervals(
    trials: Trials, kind: Kind, group: int, *, replicates: int, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Compute 95 % bootstrap intervals over speakers of the metrics of a group.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    kind : {"within", "enrolled_against_all", "tested_against_all"}
    group : int
    replicates : int
    seed : int

    Returns
    -------
    dict of str to (float, float)
        Bounds by metric; empty with fewer than `MIN_TESTED` speakers, or without trials of a class.
    """
    rows = group_rows(trials, kind, group)
    if _n_speakers(trials)[group] < MIN_TESTED:
        return {}
    tests = _is_first(trials, rows) if kind == "within" else None
    return strata.intervals_of(trials, rows, replicates, seed, tests)


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
    def disparities(self) -> dict[str, Any] | None:
        """Disparities between the groups of which both rates are defined, by trials within."""
        pairs = zip(self.groups, self.fnmr, strict=True)
        rates = [(self.fmr_matrix[group][group], missed) for group, missed in pairs]
        both = [(a, b) for a, b in rates if a is not None and b is not None]
        return disparities(*zip(*both, strict=True)) if len(both) > 1 else None


def false_matches(trials: Trials, rate: float) -> FalseMatches:
    """Compute the error rates of groups at the threshold of a false-match rate of all trials.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    rate : float
        The floor(rate N) highest of N nontargets lie above the threshold, but for ties.

    Returns
    -------
    FalseMatches
    """
    enrolled, names = strata.sides_of(trials)[0], strata.names_of(trials)
    pooled = np.sort(trials.score[~trials.is_target])
    threshold = float(pooled[pooled.size - 1 - math.floor(rate * pooled.size)])
    accepted, size = trials.score > threshold, len(names)
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
        names,
        _by_pair(names, rates),
        tuple(float(m / n) if n else None for m, n in zip(missed, targets, strict=True)),
    )


def _count_cells(trials: Trials, accepted: BoolArray) -> tuple[FloatArray, IntArray]:
    """Count the accepted nontargets, and all, by enrolled and tested group."""
    (enrolled, trial), size = strata.sides_of(trials), len(strata.names_of(trials))
    known = (enrolled >= 0) & (trial >= 0) & ~trials.is_target
    cell = enrolled[known] * size + trial[known]
    shape, ways = (size, size), (accepted[known], None)
    matched, counts = (np.bincount(cell, w, size * size).reshape(shape) for w in ways)
    return matched.astype(np.float64), counts.astype(np.int64)


_Cell = TypeVar("_Cell")


def _by_pair(names: Sequence[str], rows: Iterable[Iterable[_Cell]]) -> dict[str, dict[str, _Cell]]:
    """Name the rows and columns of a matrix by groups."""
    return {g: dict(zip(names, row, strict=True)) for g, row in zip(names, rows, strict=True)}


def group_errors(trials: Trials) -> dict[str, FalseMatches]:
    """Compute the error rates of all groups at common thresholds.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    dict of str to FalseMatches
        By the false-match rate of all trials, see `FALSE_MATCH_RATES`.

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 4],
    ...     label=[1, 0, 0, 1],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> trials = grouped(trials, {"a": "f", "b": "m"})
    >>> nontargets_of_groups(trials), group_errors(trials)["0.1"].fmr_matrix["m"]["f"]
    ({'f': {'f': 0, 'm': 1}, 'm': {'f': 1, 'm': 0}}, 0.0)
    """
    return {f"{rate:g}": false_matches(trials, rate) for rate in FALSE_MATCH_RATES}


def nontargets_of_groups(trials: Trials) -> dict[str, dict[str, int]]:
    """Count the nontargets of all pairs of groups.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    dict of str to dict of str to int
        By enrolled, then by tested group.
    """
    return _by_pair(strata.names_of(trials), _count_cells(trials, trials.is_target)[1].tolist())


def disparities(fmr: ArrayLike, fnmr: ArrayLike) -> dict[str, Any]:
    """Compute how much false-match rates (FMR) and false-nonmatch rates (FNMR) of groups differ.

    Both rates weigh one half.

    Parameters
    ----------
    fmr, fnmr : array_like, shape (G,)
        Of at least two groups.

    Returns
    -------
    dict of str to (float or None)
        None where a rate of 0 leaves no ratio. `fmr_gap`, `fnmr_gap`: largest less smallest.
        `fmr_ratio`, `fnmr_ratio`: largest over smallest. `fdr`, the fairness discrepancy rate: 1
        less the mean gap. `inequity_max_min`, `inequity_max_geomean`: geometric mean of both
        ratios, largest over smallest or over the geometric mean. `gini_fmr`, `gini_fnmr`: Gini
        coefficients, corrected for few groups; None where all rates are 0. `garbe`: their mean.

    Examples
    --------
    >>> values = disparities([0.1, 0.2], [0.2, 0.2])
    >>> [round(values[name], 6) for name in ("fmr_ratio", "fdr", "garbe")]
    [2.0, 0.95, 0.166667]
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
    garbe = sum(both) / 2 if len(both) == 2 else None
    return {
        **dict(zip(("fmr_gap", "fnmr_gap"), gaps, strict=True)),
        **dict(zip(("fmr_ratio", "fnmr_ratio"), ratios, strict=True)),
        "fdr": 1 - sum(gaps) / 2,
        "inequity_max_min": max_min,
        "inequity_max_geomean": max_geomean,
        **dict(zip(("gini_fmr", "gini_fnmr"), ginis, strict=True)),
        "garbe": garbe,
    }


def _gini(rates: FloatArray) -> float | None:
    mean, n = float(rates.mean()), rates.size
    if not mean:
        return None
    differences = float(np.abs(rates[:, None] - rates).sum())
    return n / (n - 1) * differences / (2 * n * n * mean)


def max_t_test(
    trials: Trials, *, replicates: int = REPLICATES, seed: int = 0
) -> dict[str, dict[str, float] | None]:
    """Test the EER within each group against that within the others: bootstrap max-T.

    Speakers are drawn inside each group; all groups of two or more speakers are one family.
    Where same-group impostors are nearer than others a permutation test would not hold its level.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    replicates : int
    seed : int

    Returns
    -------
    dict of str to (dict of str to float, or None)
        By group: `difference`, the EER within the group minus that of all trials within other
        groups, where the EER is the mean of both error rates where they are nearest; `se`, its
        standard error; `p_value`, corrected for the number of groups. None below `MIN_TESTED`
        speakers, and where all replicates are equal or no other group is left.
    """
    tests: dict[str, dict[str, float] | None] = dict.fromkeys(strata.names_of(trials))
    n_speakers, group = _n_speakers(trials), strata.group_of(trials)
    speakers = trials.speakers[0].names
    family = [g for g, n in enumerate(n_speakers.tolist()) if n > 1]
    if len(family) < 2:
        return tests
    differences = _differences_of(trials, family)
    members = [np.flatnonzero(group == g) for g in family]
    generator = seeded_by(seed, [[speakers[s] for s in of] for of in members])
    observed = differences(np.ones((1, group.size)))[0]
    rows = int(np.count_nonzero(_within_all(trials)))
    step: int = max(1, strata.AT_ONCE // rows)
    drawn = []
    for start in range(0, replicates, step):
        sizes, n = [of.size for of in members], min(step, replicates - start)
        draws = strata.draws_of(sizes, n, generator)
        weights = np.zeros((len(draws), group.size))
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
        if n_speakers[g] >= MIN_TESTED and np.isfinite(statistic[place]):
            p_value = (1 + int(np.sum(largest >= statistic[place]))) / (replicates + 1)
            found = {"difference": float(observed[place]), "se": float(se[place])}
            tests[strata.names_of(trials)[g]] = {**found, "p_value": p_value}
    return tests


def _differences_of(trials: Trials, family: Sequence[int]) -> Callable[[FloatArray], FloatArray]:
    """Return the function from weights of speakers, shape (R, S), to the differences of the EER
    within each group of the family and that within the others, shape (R, F)."""
    of_group, (enrolled, trial) = strata.sides_of(trials)[0], strata.speakers_of(trials)
    rows = np.flatnonzero(_within_all(trials) & np.isin(of_group, family))
    rows = rows[np.argsort(trials.score[rows], kind="stable")]
    score, group = trials.score[rows], of_group[rows]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    is_target = trials.is_target[rows]
    classes = [np.flatnonzero(is_target), np.flatnonzero(~is_target)]

    def differences(weights: FloatArray) -> FloatArray:
        of_targets = weights[:, enrolled[rows[classes[0]]]]
        of_nontargets = weights[:, enrolled[rows[classes[1]]]]
        of_nontargets *= weights[:, trial[rows[classes[1]]]]
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
