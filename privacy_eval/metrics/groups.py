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
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..choices import missing_among, without_fraction
from ..errors import PrivacyEvalError, abbreviate
from .caveats import NOT_AVAILABLE, Caveat, find_caveats, marked_text, note_of, withholding_caveat
from .confidence import expanded_interval, pairs_of_speakers, seeded_by
from .eer import kaldi_eer
from .linkability import linkability
from .llr import min_cllr
from .pav import FloatArray, IntArray
from .printed import Printed
from .registry import METRICS
from .trial_scores import BoolArray, Replicates, TrialScores
from .trials import IDS, Ids, Table, Trials

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

#: Metrics of a group, variant exact, of its scores and of their replicates.
_METRICS: dict[str, Callable[..., Any]] = {
    "eer": kaldi_eer,
    "cllr_min": min_cllr,
    "linkability": linkability,
}

#: A column that differs between trials of at most one speaker in so many is one of speakers.
_FEW = 4

#: Columns of the printed table.
_HEADS = (
    *("group", "speakers", "targets", "nontargets", "EER within, %", "min Cllr", "linkability"),
    *("rank-1, %", "enrolled against all", "tested against all", "difference", "p"),
)

#: Weighted trials of replicates at a time.
_AT_ONCE = 1 << 22


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
        parts = {n: group_rows(trials, "within", g) for g, n in enumerate(_names(trials))}
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
    lacking = [trials.speakers[0].names[at] for at in np.flatnonzero(_group_of(trials) < 0)]
    n = np.count_nonzero(np.minimum(*_sides(trials)) < 0)
    return [f"left out {n} trials of speakers without group: {abbreviate(lacking)}"][: len(lacking)]


def _names(trials: Trials) -> tuple[str, ...]:
    """Return the names of the groups of grouped trials, sorted."""
    return tuple(trials["trial_group"].names)


def _sides(trials: Trials) -> tuple[IntArray, IntArray]:
    """Return the groups of the enrolled and of the trial speaker, shapes (P,)."""
    enrolled, trial = (trials[f"{side}_group"].codes for side in ("enrolled", "trial"))
    return enrolled.astype(np.int64), trial.astype(np.int64)


def _speakers(trials: Trials) -> tuple[IntArray, IntArray]:
    """Return the numbers of the enrolled and of the trial speaker, shapes (P,)."""
    enrolled, trial = (side.codes.astype(np.int64) for side in trials.speakers)
    return enrolled, trial


def _group_of(trials: Trials) -> IntArray:
    """Return the group of each speaker, shape (S,); -1 for none."""
    group = np.full(len(trials.speakers[0].names), -1, dtype=np.int64)
    for speakers, groups in zip(_speakers(trials), _sides(trials), strict=True):
        group[speakers] = groups
    return group


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
    enrolled, trial = (side == group for side in _sides(trials))
    chosen = {
        "within": enrolled & trial,
        "enrolled_against_all": enrolled,
        "tested_against_all": trial,
    }
    return np.asarray(chosen[kind])


def _within_all(trials: Trials) -> BoolArray:
    """Select the trials of speakers of one group, shape (P,)."""
    enrolled, trial = _sides(trials)
    return np.asarray((enrolled == trial) & (enrolled >= 0))


def _between_all(trials: Trials) -> BoolArray:
    """Select nontargets of speakers of two groups, and all targets with a group."""
    enrolled, trial = _sides(trials)
    has_both = (enrolled >= 0) & (trial >= 0)
    return np.asarray(((enrolled != trial) & has_both) | (trials.is_target & (enrolled >= 0)))


def _n_speakers(trials: Trials) -> IntArray:
    """Count the speakers of each group with target trials, shape (G,)."""
    groups = _group_of(trials)[np.unique(_speakers(trials)[0][trials.is_target])]
    return np.bincount(groups[groups >= 0], minlength=len(_names(trials))).astype(np.int64)


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


@dataclass(frozen=True, repr=False)
class GroupReport(Printed):
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
    intervals : mapping of str to mapping
        By group, by kind of trials, then by metric: 95 % bounds; empty without a bootstrap.
    left_out : sequence of str
        Which speakers have no group.
    """

    groups: Mapping[str, Mapping[Kind, GroupValues]]
    within_all: GroupValues
    between_all: GroupValues
    false_match: Mapping[str, FalseMatches]
    disparities: Mapping[str, Disparities | None]
    test: Mapping[str, GroupTest | None]
    intervals: Mapping[str, Mapping[Kind, Mapping[str, tuple[float, float]]]]
    left_out: Sequence[str] = ()

    def __getitem__(self, metric: str) -> dict[str, float | None]:
        return {name: getattr(of["within"], metric) for name, of in self.groups.items()}

    @property
    def findings(self) -> list[str]:
        """How much groups differ at common thresholds, and the largest difference."""
        found = [
            f"at {100 * float(rate):g} % false matches of all, within groups: false-match rates "
            f"differ by up to {100 * gaps.fmr_gap:.1f} points, false-nonmatch rates by up to "
            f"{100 * gaps.fnmr_gap:.1f}"
            for rate, gaps in self.disparities.items()
            if gaps is not None
        ]
        tested = [(abs(t.difference) / t.se, name, t) for name, t in self.test.items() if t]
        for _, name, test in sorted(tested, key=lambda of: -of[0])[:1]:
            found.append(
                f"largest difference in standard errors: {name}, {100 * test.difference:+.1f} "
                f"points of EER from the others within groups (p = {test.p_value:.3f}, corrected "
                "over the groups)"
            )
        return found

    @property
    def caveats(self) -> list[str]:
        """What the numbers of groups cannot tell, and which are not tested."""
        speakers = {name: of["within"].n_speakers for name, of in self.groups.items()}
        untested = [name for name, n in speakers.items() if n < MIN_TESTED]
        values = [of for kinds in self.groups.values() for of in kinds.values()]
        values += [self.within_all, self.between_all]
        caveats = dict.fromkeys(of.caveat(key) for of in values for key in ("eer", "linkability"))
        return [
            *[f"not tested (below {MIN_TESTED} speakers): {abbreviate(untested)}"][: len(untested)],
            *few_speakers(speakers),
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
                bounds = self.intervals.get(name, {}).get(kind, {})
                intervals = {f"{metric}_interval": ends for metric, ends in bounds.items()}
                caveat = {"caveat": ", ".join(of.caveats) or None}
                rows.append({"group": name, "trials": kind, **vars(of), **intervals, **caveat})
        return rows

    def cells(self) -> list[dict[str, str]]:
        """Format a row per group, and of all trials within and between groups."""
        return [
            *(self._cells(name, of["within"], of) for name, of in self.groups.items()),
            self._cells("all within", self.within_all),
            self._cells("all between", self.between_all),
        ]

    def _cells(
        self, name: str, of: GroupValues, kinds: Mapping[Kind, GroupValues] = MappingProxyType({})
    ) -> dict[str, str]:
        bounds, test = self.intervals.get(name, {}).get("within", {}), self.test.get(name)
        texts = {key: of.text(key) for key in ("eer", "cllr_min", "linkability", "rank1")}
        for key in bounds.keys() & {"eer", "rank1"}:
            texts[key] += f" {METRICS['eer'].interval(bounds[key])}"
        counts = map(str, (of.n_speakers, of.n_target, of.n_nontarget))
        against = [kinds[kind].text("eer") if kinds else "" for kind in KINDS[1:]]
        tested = [NOT_AVAILABLE if kinds else ""] * 2
        if test:
            tested = [f"{100 * test.difference:+.1f} ± {100 * test.se:.1f}", f"{test.p_value:.3f}"]
        return dict(zip(_HEADS, (name, *counts, *texts.values(), *against, *tested), strict=True))


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
    if not _names(trials):
        raise PrivacyEvalError("no speaker of the trials has a group")
    intervals = {}
    for g, name in enumerate(_names(trials) if bootstrap else ()):
        intervals[name] = {
            kind: group_intervals(trials, kind, g, replicates=bootstrap, seed=seed)
            for kind in KINDS
        }
    errors = group_errors(trials)
    return GroupReport(
        groups={name: _of_kinds(trials, g) for g, name in enumerate(_names(trials))},
        within_all=group_values(trials, _within_all(trials)),
        between_all=group_values(trials, _between_all(trials)),
        false_match=errors.false_match,
        disparities=errors.disparities,
        test=max_t_test(trials, replicates=bootstrap or REPLICATES, seed=seed),
        intervals=intervals,
        left_out=ungrouped(trials),
    )


@dataclass(frozen=True)
class GroupSummary:
    """What a record keeps of a group.

    Attributes
    ----------
    within : GroupValues
        Of the trials within the group.
    intervals : mapping of str to (float, float)
        95 % bounds of its metrics; empty without a bootstrap.
    test : GroupTest or None
        None without a bootstrap, too.
    """

    within: GroupValues
    intervals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    test: GroupTest | None = None


def summarize_groups(
    trials: Trials, *, replicates: int = 0, seed: int = 0
) -> dict[str, GroupSummary]:
    """Compute what a record keeps of every group.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    replicates : int
        Of the intervals and the test; 0 for neither.
    seed : int

    Returns
    -------
    dict of str to GroupSummary
    """
    tests = max_t_test(trials, replicates=replicates, seed=seed) if replicates else {}
    groups = {}
    for g, name in enumerate(_names(trials)):
        within = group_values(trials, group_rows(trials, "within", g), ranked=True)
        bounds: Mapping[str, tuple[float, float]] = {}
        if replicates:
            bounds = group_intervals(trials, "within", g, replicates=replicates, seed=seed)
        groups[name] = GroupSummary(within, bounds, tests.get(name))
    return groups


def _of_kinds(trials: Trials, group: int) -> dict[Kind, GroupValues]:
    """Compute the metrics of a group by the kind of trials."""
    return {
        kind: group_values(trials, group_rows(trials, kind, group), ranked=kind == "within")
        for kind in KINDS
    }


def group_values(trials: Trials, rows: BoolArray, *, ranked: bool = False) -> GroupValues:
    """Compute the metrics of some trials.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.
    rows : bool array, shape (P,)
    ranked : bool
        Also the rank-1 rate.

    Returns
    -------
    GroupValues

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 4],
    ...     label=[1, 0, 0, 1],
    ...     enrolled=["a", "a", "b", "b"],
    ...     utterance=["a1", "b1", "a1", "b1"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> group_values(trials, trials.score > 0, ranked=True).rank1
    1.0
    """
    target, nontarget = rows & trials.is_target, rows & ~trials.is_target
    n_target, n_nontarget = int(target.sum()), int(nontarget.sum())
    counts = (n_target, n_nontarget, int(np.unique(_speakers(trials)[0][target]).size))
    if not (n_target and n_nontarget):
        return GroupValues(*counts)
    scores = TrialScores(trials.score[target], trials.score[nontarget])
    rank1 = float(_is_first(trials, rows)[1].mean()) if ranked else None
    return GroupValues(*counts, **_metrics_of(scores), rank1=rank1)


def _metrics_of(scores: TrialScores | Replicates) -> dict[str, Any]:
    return {key: metric(scores).value for key, metric in _METRICS.items()}


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
    return _speakers(trials)[1][target], np.asarray(first)


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
    trials: Trials, chosen: BoolArray, *, replicates: int = 0, seed: int = 0
) -> TargetStratum:
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
    TargetStratum

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 0],
    ...     label=[1, 0, 0, 1],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> summarize_targets(grouped(trials, {}), trials.score > 2).values.eer
    0.0
    """
    rows = np.asarray((chosen & trials.is_target) | ~trials.is_target)
    bounds = _intervals(trials, rows, replicates, seed, ranked=False) if replicates else {}
    return TargetStratum(group_values(trials, rows), bounds)


def _intervals(
    trials: Trials, rows: BoolArray, replicates: int, seed: int, *, ranked: bool
) -> dict[str, tuple[float, float]]:
    """Compute the intervals of the metrics of some trials; none with fewer than two speakers."""
    own = np.unique(_speakers(trials)[0][rows & trials.is_target])
    if own.size < 2 or not (rows & ~trials.is_target).any():
        return {}
    draws = _speaker_draws(trials, replicates, seed)
    drawn = _replicated(trials, rows, draws)
    if ranked:
        speaker, is_first = _is_first(trials, rows)
        tests, hits = (np.bincount(speaker, w, draws.shape[1]) for w in (None, is_first))
        counted = draws @ tests > 0
        drawn["rank1"] = (draws @ hits)[counted] / (draws @ tests)[counted]
    bounds = {k: expanded_interval(v, own.size) for k, v in drawn.items() if v.size > 1}
    return {key: (of.low, of.high) for key, of in bounds.items()}


def _replicated(trials: Trials, rows: BoolArray, draws: IntArray) -> dict[str, FloatArray]:
    """Compute the metrics with intervals of some trials in all replicates with both classes."""
    at = np.flatnonzero(rows)
    scores = TrialScores.from_labels(trials.score[at], trials.is_target[at])
    _, labels, order = scores.in_score_order
    sides = (side[at[order]] for side in _speakers(trials))
    pair, times_of = pairs_of_speakers(sides, labels, draws.shape[1] - 1)
    times = times_of(draws)
    step = max(1, _AT_ONCE // 4 // at.size)
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
    group, speakers = _group_of(trials), trials.speakers[0].names
    strata = [np.flatnonzero(group == g) for g in range(-1, int(group.max()) + 1)]
    generator = seeded_by(seed, [[speakers[s] for s in of] for of in strata])
    draws = np.ones((replicates, group.size + 1), dtype=np.int64)
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
    enrolled, names = _sides(trials)[0], _names(trials)
    pooled = np.sort(trials.score[~trials.is_target])
    threshold = float(pooled[pooled.size - 1 - math.floor(rate * pooled.size)])
    accepted = trials.score > threshold
    size = len(names)
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


def _count_cells(trials: Trials, weights: ArrayLike | None = None) -> tuple[FloatArray, IntArray]:
    """Sum the weights of nontargets, and count these, by enrolled and tested group."""
    (enrolled, trial), size = _sides(trials), len(_names(trials))
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


def group_errors(trials: Trials) -> GroupErrors:
    """Compute the error rates of all groups at common thresholds.

    Parameters
    ----------
    trials : Trials
        As from `grouped`.

    Returns
    -------
    GroupErrors

    Examples
    --------
    >>> trials = Trials(
    ...     score=[3, 1, 2, 4],
    ...     label=[1, 0, 0, 1],
    ...     enrolled_speaker=["a", "a", "b", "b"],
    ...     trial_speaker=["a", "b", "a", "b"],
    ... )
    >>> trials = grouped(trials, {"a": "f", "b": "m"})
    >>> errors = group_errors(trials)
    >>> errors.n_nontarget, errors.false_match["0.1"].fmr_matrix["m"]["f"]
    ({'f': {'f': 0, 'm': 1}, 'm': {'f': 1, 'm': 0}}, 0.0)
    """
    false_match = {f"{rate:g}": false_matches(trials, rate) for rate in FALSE_MATCH_RATES}
    _, counts = _count_cells(trials)
    return GroupErrors(
        _by_pair(_names(trials), counts.tolist()),
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
    trials: Trials, *, replicates: int = REPLICATES, seed: int = 0
) -> dict[str, GroupTest | None]:
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
    dict of str to (GroupTest or None)
        By group; None below `MIN_TESTED` speakers, and where all replicates are equal or no other
        group is left.
    """
    tests: dict[str, GroupTest | None] = dict.fromkeys(_names(trials))
    n_speakers, group, speakers = _n_speakers(trials), _group_of(trials), trials.speakers[0].names
    family = [g for g, n in enumerate(n_speakers.tolist()) if n > 1]
    if len(family) < 2:
        return tests
    differences = _differences_of(trials, family)
    members = [np.flatnonzero(group == g) for g in family]
    generator = seeded_by(seed, [[speakers[s] for s in of] for of in members])
    observed = differences(np.ones((1, group.size)))[0]
    rows = int(np.count_nonzero(_within_all(trials)))
    step: int = max(1, _AT_ONCE // rows)
    drawn = []
    for start in range(0, replicates, step):
        draws = _draws([of.size for of in members], min(step, replicates - start), generator)
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
            test = GroupTest(float(observed[place]), float(se[place]), p_value)
            tests[_names(trials)[g]] = test
    return tests


def _draws(sizes: Sequence[int], replicates: int, generator: np.random.Generator) -> FloatArray:
    """Draw the members of groups with replacement; count each, shape (replicates, members)."""
    counts = []
    for size in sizes:
        drawn = generator.integers(0, size, (replicates, size))
        flat = drawn + size * np.arange(replicates)[:, None]
        counts.append(np.bincount(flat.ravel(), minlength=size * replicates).reshape(-1, size))
    return np.hstack(counts).astype(np.float64)


def _differences_of(trials: Trials, family: Sequence[int]) -> Callable[[FloatArray], FloatArray]:
    """Return the function from weights of speakers, shape (R, S), to the differences of the EER
    within each group of the family and that within the others, shape (R, F)."""
    of_group, (enrolled, trial) = _sides(trials)[0], _speakers(trials)
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
