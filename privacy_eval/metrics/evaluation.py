"""All metrics of two arrays of scores, or of trials: the shortest way from scores to numbers; and
systems compared on the same trials.

Systems are compared by a bootstrap over speakers: replicates of one seed and one design draw the
same speakers for every system, so that what the systems share cancels out in the differences.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..choices import LEVEL
from ..errors import PrivacyEvalError, UsageError, known_names, located
from .arguments import is_table
from .caveats import (
    CAVEATS,
    NOT_AVAILABLE,
    WEAKER_THAN_VARIANT,
    find_caveats,
    find_ties,
    marked_text,
    withholding_caveat,
    withholding_key,
)
from .confidence import (
    BootstrapReplicates,
    Interval,
    difference_p_value,
    expanded_interval,
    holm,
    needed_for_tests,
    speaker_bootstrap,
    subtract,
)
from .pairing import rows_of_same
from .printed import CHANCE_OF_ZEBRA, Printed, bias_notes, latex_table
from .registry import METRICS, score_metrics, zebra_tag
from .strata import trials_by
from .trial_scores import VARIANTS, TrialScores, Variant
from .trials import Table, Trials, Values


@dataclass(frozen=True, repr=False)
class Evaluation(Printed):
    """Values of every metric on one set of scores, printed as a table.

    Attributes
    ----------
    values : mapping of str to float
        By key of `METRICS`, in its unit: rates are fractions.
    variant : str
    caveats : mapping of str to str
        Reasons why values are uninformative about privacy, by their key in `CAVEATS`.
    scores : TrialScores
    replicates : BootstrapReplicates or None
        Of the bootstrap over speakers, where speakers were given.
    """

    values: Mapping[str, float]
    variant: Variant
    caveats: Mapping[str, str]
    scores: TrialScores = field(compare=False)
    replicates: BootstrapReplicates | None = field(default=None, compare=False)

    @property
    def n_target(self) -> int:
        """Number of target trials."""
        return self.scores.n_target

    @property
    def n_nontarget(self) -> int:
        """Number of nontarget trials."""
        return self.scores.n_nontarget

    @cached_property
    def zebra_tag(self) -> str | None:
        """Category of `zebra_individual`; None of implausible scores."""
        graded = withholding_caveat(self.caveats, "zebra_individual") is None
        return zebra_tag(self.values, self.variant) if graded else None

    @cached_property
    def intervals(self) -> Mapping[str, Interval]:
        """95 % intervals of the bootstrap, by key."""
        if (drawn := self.replicates) is None:
            return {}
        return {key: drawn.interval(f"{self.variant} {key}") for key in self.values}

    def only(self, metrics: Sequence[str]) -> Evaluation:
        """Restrict the values to some metrics, in this order, and the caveats to theirs."""
        for key in {*metrics} - self.values.keys():
            raise PrivacyEvalError(f"no metric {key}: {known_names(key, self.values)}")
        values = {key: self.values[key] for key in metrics}
        concerned = [key for key in self.caveats if any(map(CAVEATS[key].concerns, values))]
        return replace(self, values=values, caveats={key: self.caveats[key] for key in concerned})

    def to_latex(self, metrics: Sequence[str] = ("eer", "cllr_min")) -> str:
        """Write a tabular of LaTeX, see `Evaluations.to_latex`; the row is named trials."""
        return Evaluations("system", {"trials": self}).to_latex(metrics)

    def __getitem__(self, metric: str) -> float:
        return float(super().__getitem__(metric)[self.variant])

    def to_rows(self) -> list[dict[str, Any]]:
        """List the metrics as numbers: value, bounds of the interval, key of the caveat."""
        rows = []
        for key, value in self.values.items():
            bounds = self.intervals.get(key)
            row = {"metric": key, "variant": self.variant, "value": value}
            row |= {"low": bounds and bounds.low, "high": bounds and bounds.high}
            rows.append(row | {"caveat": withholding_key(self.caveats, key)})
        return rows

    def cells(self) -> list[dict[str, str]]:
        """Format the metrics as rows: metric, value with unit, interval."""
        rows = []
        for key in self.values:
            metric = METRICS[key]
            caveat = withholding_caveat(self.caveats, key)
            text = self.text(key, detailed=True)
            if text != NOT_AVAILABLE:
                text = f"{text} {metric.printed_unit}".rstrip()
            if key == "cllr":
                text += " (of natural-log LLRs)"
            if key == "zebra_individual":
                text += f" ({NOT_AVAILABLE if caveat else self.zebra_tag})"
            row = {"metric": metric.sentence, "value": text}
            if bounds := self.intervals.get(key):
                ends = (bounds.low, bounds.high) if caveat is None or caveat.printed else None
                row["95 % interval"] = metric.interval(ends, detailed=True)
            rows.append(row)
        return rows

    def text(self, metric: str, *, detailed: bool = False) -> str:
        """Format a value, marked or replaced as its caveat demands."""
        text = METRICS[metric].format(self.values[metric], detailed=detailed)
        return marked_text(text, withholding_caveat(self.caveats, metric))

    @property
    def heading(self) -> str:
        """Numbers of trials, and the variant."""
        trials = f"{self.n_target} target and {self.n_nontarget} nontarget trials"
        return f"{trials}, variant {self.variant}"

    @property
    def reasons(self) -> list[str]:
        """Why values are withheld or depend on ties."""
        withheld = (withholding_caveat(self.caveats, key) for key in self.values)
        ranked = (why for key, why in self.caveats.items() if CAVEATS[key].ranked)
        return [*dict.fromkeys([*(c.reason for c in withheld if c is not None), *ranked])]

    @property
    def notes(self) -> list[str]:
        """Caveats of the values and of their intervals."""
        chance = [CHANCE_OF_ZEBRA] if "zebra_individual" in self.values else []
        return [*self.reasons, *chance, *bias_notes([*self.intervals])]


class Evaluations(Printed, dict[str, Evaluation]):
    """Evaluations by system or by the value of a column, printed as one table; a metric, such as
    `result["eer"]`, is its values by their names."""

    __getitem__ = dict.__getitem__
    __missing__ = Printed.__getitem__

    def __init__(self, column: str, of: Mapping[str, Evaluation], how: Sequence[str] = ()) -> None:
        super().__init__(of)
        self.column, self.how = column, how

    def to_rows(self) -> list[dict[str, Any]]:
        """List the metrics of every value as numbers."""
        return [{self.column: name, **row} for name, of in self.items() for row in of.to_rows()]

    def cells(self) -> list[dict[str, str]]:
        """Format the metrics of every value."""
        return [{self.column: name, **row} for name, of in self.items() for row in of.cells()]

    def to_latex(self, metrics: Sequence[str] = ("eer", "cllr_min")) -> str:
        r"""Write a tabular of LaTeX: a row per name, a column per metric; comments below it say why
        values are marked.

        Parameters
        ----------
        metrics : sequence of str
            In `METRICS`.

        Examples
        --------
        >>> trials = Trials(score=[3, 5, 7, 8, 1, 2, 4, 6], label=[1, 1, 1, 1, 0, 0, 0, 0])
        >>> print(evaluate({"B_1": trials}).to_latex(["eer"]).splitlines()[4])
        B\_1 & 25.00? \\
        """
        metrics = [metrics] if isinstance(metrics, str) else metrics
        rows, part = [], Evaluations(self.column, {}, self.how)
        for name, of in self.items():
            part[name] = replace(of.only(metrics), replicates=None)
            texts = {METRICS[key].column.title: of.text(key) for key in metrics}
            rows.append({self.column: name, **texts})
        notes = (f"% {' '.join(note.split())}" for note in part.notes)
        return "\n".join([latex_table(rows, "tabular"), *notes])

    @property
    def notes(self) -> list[str]:
        """How trials were selected; caveats, with the values that they are of."""
        names: dict[str, list[str]] = {}
        for name, of in self.items():
            for note in of.notes:
                names.setdefault(note, []).append(name)
        return [*self.how, *(f"{', '.join(of)}: {note}" for note, of in names.items())]


def evaluate(
    target: Table = None,
    nontarget: ArrayLike | None = None,
    *,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    by: str | None = None,
    variant: Variant = "exact",
    bootstrap: int = 1000,
    seed: int = 0,
    **columns: Values,
) -> Evaluation | Evaluations:
    """Compute all metrics of trials, or of target and nontarget scores.

    Parameters
    ----------
    target : Trials, data frame, mapping or array_like, shape (T,)
        Trials with scores and labels, or what `Trials` makes them of; those of several systems by
        name; or, if `nontarget` is given, the scores of target trials. A higher score supports the
        same speaker. Cllr takes scores for natural-log likelihood ratios: multiply decimal ones
        (log10) by ln 10.
    nontarget : array_like, shape (N,), optional
        Scores of trials between two speakers.
    scores, labels : array_like, shape (P,), optional
        Scores of all trials, and which are of one speaker, in place of `target`.
    by : str, optional
        A column: evaluate the trials of each of its values. Of a column of speakers, such as their
        sex, these are the trials of which both speakers have the value, as *within* a group (see
        `groups`); if the value differs between trials of more than a quarter of the speakers, such
        as a session, those whose trial utterance has it. `notes` say which, and what is left out.
    variant : {"exact", "challenge"}
        `challenge` reproduces the scripts released with VoicePrivacy 2020.
    bootstrap : int
        Replicates of the bootstrap over speakers, which gives every value a 95 % interval where
        both speakers of trials are known; 0: none. Without speakers there are none: an interval
        of independent trials would be far too narrow.
    seed : int
        Of the bootstrap.
    **columns : str or array_like
        Other names of columns, as `Trials` takes them: `score="llr"`.

    Returns
    -------
    Evaluation, or Evaluations
        The latter of several systems, by name, and with `by`, by value.

    Raises
    ------
    PrivacyEvalError
        A class without trials; a score that is NaN or infinite; speakers that contradict the
        labels; target trials of fewer than two speakers.
    UsageError
        `by` with several systems.

    See Also
    --------
    speaker_bootstrap : the intervals, and what they assume.

    Examples
    --------
    >>> result = evaluate([3, 5, 7, 8], nontarget=[1, 2, 4, 6])
    >>> result["eer"], result["rocch_eer"]
    (0.25, 0.25)
    >>> result.zebra_tag, "few_trials" in result.caveats
    (None, True)
    >>> trials = Trials(
    ...     score=[3, 5, 7, 8, 1, 2, 4, 6],
    ...     label=[1, 1, 1, 1, 0, 0, 0, 0],
    ...     enrolled_speaker=list("aabbaabb"),
    ...     trial_speaker=list("aabbbbaa"),
    ... )
    >>> evaluate(trials, bootstrap=20).intervals["eer"].high
    0.25
    """
    if nontarget is not None:
        return _evaluation(TrialScores(target, nontarget, **columns), variant)
    columns = {"score": scores, "label": labels, **columns}
    if isinstance(target, Mapping) and any(map(is_table, target.values())):
        if by is not None:
            raise UsageError(f"by={by!r} takes the trials of one system")
        parts = {n: _made(t, columns) for n, t in target.items()}
        by, where, how = "system", "", list[str]()
    else:
        trials = _made(target, columns)
        if by is None:
            return _evaluation(trials, variant, bootstrap, seed)
        where, (parts, how) = f"{trials.name}, ", trials_by(trials.checked, by)
    evaluations = {}
    for value, part in parts.items():
        with located(f"{where}{by} {value}"):
            several = part.knows_speakers and len(part.take(part.is_target).trial_speaker.used) > 1
            evaluations[value] = _evaluation(part, variant, bootstrap if several else 0, seed)
    return Evaluations(by, evaluations, how)


def _made(table: Table, columns: Mapping[str, Any]) -> Trials:
    given = {name: of for name, of in columns.items() if of is not None}
    return Trials(table, **given) if given else Trials.of(table)


def _evaluation(
    trials: Trials | TrialScores, variant: Variant, bootstrap: int = 0, seed: int = 0
) -> Evaluation:
    replicates = None
    if isinstance(trials, Trials) and trials.checked.knows_speakers and bootstrap:
        warn_of_utterances(trials)
        replicates = speaker_bootstrap(trials, replicates=bootstrap, seed=seed)
    return evaluate_variants(trials, replicates, variants=[variant])[variant]


def evaluate_variants(
    trials: Trials | TrialScores,
    replicates: BootstrapReplicates | None = None,
    *,
    variants: Sequence[Variant] = VARIANTS,
    ties: Mapping[str, float] | None = None,
) -> dict[Variant, Evaluation]:
    """Compute all metrics in several variants.

    Parameters
    ----------
    trials : Trials or TrialScores
    replicates : BootstrapReplicates, optional
        Of the same trials.
    variants : sequence of {"exact", "challenge"}
    ties : mapping, optional
        As from `find_ties`, if they are known.

    Returns
    -------
    dict of str to Evaluation

    Examples
    --------
    >>> evaluate_variants(TrialScores([1.0], [0.0]))["challenge"]["eer"]
    0.0
    """
    scores = trials if isinstance(trials, TrialScores) else trials.scores
    ties = find_ties(trials) if ties is None else ties
    evaluations = {}
    for variant in variants:
        values = score_metrics(scores, variant=variant)
        counts = scores.n_target, scores.n_nontarget
        caveats = find_caveats(values["eer"], *counts, ties=ties, variant=variant)
        evaluations[variant] = Evaluation(values, variant, caveats, scores, replicates)
    return evaluations


def warn_of_utterances(trials: Trials) -> None:
    """Warn of speakers that seem to be utterances: paths, of which some share their first folder,
    or no trial speaker of a nontarget trial has target trials.

    Parameters
    ----------
    trials : Trials
    """
    first, second = trials.speakers
    names = {*first.take(trials.is_target).used}
    of_paths = {name.partition("/")[0] for name in names if "/" in name.strip("/")}
    others = second.take(~trials.is_target).used
    if 0 < len(of_paths) < len(names) or names.isdisjoint(others):
        warnings.warn(
            "speakers seem to be utterances, with which intervals are far too narrow: take the "
            "speakers of both sides, as utt2spk tells them",
            stacklevel=4,
        )


#: A note on trials of which not both ids are known.
BY_ORDER = "Trials were matched by their order: to match them by ids, name enrolled= and utterance="


@dataclass(frozen=True)
class Difference:
    """A metric of another system, and how much the first system's differs from it.

    Attributes
    ----------
    value : float
        The other system's.
    difference : float
        The first system's value minus the other's; 0 where both are the same infinity.
    interval : Interval
        95 % interval of the difference.
    p_value : float
        Two-sided, for the hypothesis of no difference.
    p_value_holm : float
        Adjusted by Holm's method for the comparisons of the first system with each other one.
    caveat : str or None
        Key in `CAVEATS` of the reason why one of the values must be neither ranked nor graded.
    """

    value: float
    difference: float
    interval: Interval
    p_value: float
    p_value_holm: float
    caveat: str | None = None


@dataclass(frozen=True, repr=False)
class Comparison(Printed):
    """A system compared with others on the same trials; a table when printed.

    Attributes
    ----------
    values : mapping of str to float
        The first system's, by key of `METRICS`.
    differences : mapping of str to mapping of str to Difference
        By the name of the other system, then by key.
    variant : str
    n_speakers : int
        Speakers with target trials.
    least_p_value : float
        The smallest p-value that this number of speakers and replicates can reach.
    by_order : bool
        Whether trials had no ids, so that their order matched them.
    """

    values: Mapping[str, float]
    differences: Mapping[str, Mapping[str, Difference]]
    variant: Variant
    n_speakers: int
    least_p_value: float
    by_order: bool = field(default=False, compare=False)

    def __getitem__(self, metric: str) -> dict[str, Difference]:
        return {name: of[metric] for name, of in self.differences.items()}

    @property
    def heading(self) -> str:
        """Number of speakers, and the variant."""
        return f"{self.n_speakers} speakers, variant {self.variant}"

    @property
    def notes(self) -> list[str]:
        """Caveats, how differences are tested, and whether any can be significant."""
        caveats = (d.caveat for of_other in self.differences.values() for d in of_other.values())
        reasons = dict.fromkeys(CAVEATS[key].reason for key in caveats if key is not None)
        tests, names = len(self.differences), ", ".join(self.differences)
        how = [
            f"p: two-sided, paired by the bootstrap over {self.n_speakers} speakers; the "
            f"replicates resolve p down to {self.least_p_value:.3g}"
        ]
        how += [
            f"p (Holm): corrected, for each metric alone, over the {tests} comparisons with "
            f"{names}, which are not compared with each other"
        ] * (tests > 1)
        is_lacking = tests > 1 and tests * self.least_p_value >= 1 - LEVEL
        reasons |= {BY_ORDER: None} if self.by_order else {}
        return [*reasons, *how, *[needed_for_tests(self.n_speakers, tests)] * is_lacking]

    def is_bound(self, difference: Difference) -> bool:
        """Tell whether the p-values of a difference are bounds, as no smaller ones can be reached.

        Parameters
        ----------
        difference : Difference

        Returns
        -------
        bool
        """
        return difference.p_value <= self.least_p_value

    def to_rows(self) -> list[dict[str, Any]]:
        """List the differences as measurements, with both values and the test."""
        return [
            {
                **{"against": name, "metric": key, "variant": self.variant},
                **{"value": d.difference, "low": d.interval.low, "high": d.interval.high},
                **{"p": d.p_value, "p_holm": d.p_value_holm, "p_is_bound": self.is_bound(d)},
                **{"first": self.values[key], "other": d.value, "caveat": d.caveat},
            }
            for name, of_other in self.differences.items()
            for key, d in of_other.items()
        ]

    def cells(self, other: str | None = None) -> list[dict[str, str]]:
        """Format the comparison with one other system, or all: a row per metric."""
        if other is None:
            names = self.differences
            return [{"against": name, **row} for name in names for row in self.cells(name)]
        rows = []
        for key in self.values:
            metric, difference = METRICS[key], self.differences[other][key]
            caveat = None if difference.caveat is None else CAVEATS[difference.caveat]
            value, of_other = (
                marked_text(metric.format(v, detailed=True), caveat)
                for v in (self.values[key], difference.value)
            )
            row = {
                "metric": f"{metric.sentence}, {metric.printed_unit}".rstrip(", "),
                "value": value,
                "other": of_other,
            }
            if value != NOT_AVAILABLE:
                row |= self._tested(key, difference)
            rows.append(row)
        return rows

    def _tested(self, key: str, difference: Difference) -> dict[str, str]:
        """Format a difference with its interval and p-values."""
        metric, bounds = METRICS[key], difference.interval
        # Rounded up: a bound must stay one, also times Holm's factor.
        bound = "<= " if self.is_bound(difference) else ""
        p_values = {"p": difference.p_value}
        if len(self.differences) > 1:
            p_values["p (Holm)"] = difference.p_value_holm
        return {
            "difference": metric.format(difference.difference, detailed=True),
            "95 % interval": metric.interval((bounds.low, bounds.high), detailed=True),
            **{name: f"{bound}{np.ceil(1000 * p) / 1000:.3f}" for name, p in p_values.items()},
        }


def compare(
    systems: Mapping[str, Table],
    *,
    variant: Variant = "exact",
    bootstrap: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare a system with others that scored the same trials.

    Parameters
    ----------
    systems : mapping of str to Trials, or to what they are made of
        By name, the first one to compare the others with. Its trials have the speakers of both
        sides; those of the others are matched by enrolled id and utterance, in any order, or, of
        trials without ids, by their order.
    variant : {"exact", "challenge"}
    bootstrap : int
        Replicates of the bootstrap over speakers.
    seed : int

    Returns
    -------
    Comparison
        Differences are the first system's value minus the other's.

    Raises
    ------
    PrivacyEvalError
        As `evaluate`; no other system; trials that are not the same.
    ValueError
        Fewer than 2 replicates.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure". Intervals and
    p-values: see `expanded_interval` and `difference_p_value`.

    Examples
    --------
    >>> first = Trials(
    ...     score=[3, 5, 7, 8, 1, 2, 4, 6],
    ...     label=[1, 1, 1, 1, 0, 0, 0, 0],
    ...     enrolled_speaker=list("aabbaabb"),
    ...     trial_speaker=list("aabbbbaa"),
    ... )
    >>> second = first.with_columns(score=[3, 5, 7, 8, 1, 2, 4, 2])
    >>> difference = compare({"B1": first, "B2": second}, bootstrap=20)["rocch_eer"]["B2"]
    >>> difference.value, difference.difference
    (0.125, 0.125)
    """
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise PrivacyEvalError('nothing to compare with: name another system, {"B1": trials, ...}')
    (name, first), *others = ((name, Trials.of(of).with_ids) for name, of in systems.items())
    warn_of_utterances(first)
    enrolled, trial = first.speakers
    evaluated = {}
    for other, of_other in [(name, first), *others]:
        with located(f"{name} and {other}"):
            rows = rows_of_same(of_other, first)
        trials = of_other.with_columns(
            enrolled_speaker=enrolled.take(rows), trial_speaker=trial.take(rows)
        )
        replicates = speaker_bootstrap(trials, replicates=bootstrap, seed=seed)
        of_variant = evaluate_variants(trials, replicates, variants=[variant])
        evaluated[other] = of_variant[variant]
    return replace(compare_evaluations(evaluated), by_order=len(first.sides) < 2)


def compare_evaluations(systems: Mapping[str, Evaluation]) -> Comparison:
    """Compare the first system with the others, given their values and paired replicates.

    Parameters
    ----------
    systems : mapping of str to Evaluation
        By name, of one variant, with replicates of one design, seed and number.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        Replicates that are not paired.
    """
    first, *others = systems.values()
    drawn, *of_others = (of.replicates for of in systems.values() if of.replicates is not None)
    if any((r.design, r.seed) != (drawn.design, drawn.seed) for r in of_others):
        raise ValueError("replicates are not paired: they are of different trials or seeds")
    n_speakers, by_system = drawn.n_speakers, [dict[str, Difference]() for _ in others]
    for key, value in first.values.items():
        name = f"{first.variant} {key}"
        differences = [subtract(drawn.values[name], of.values[name]) for of in of_others]
        p_values = [difference_p_value(of, n_speakers) for of in differences]
        adjusted = holm(p_values)
        for place, other in enumerate(others):
            by_system[place][key] = Difference(
                other.values[key],
                float(subtract(value, other.values[key])),
                expanded_interval(differences[place], n_speakers),
                p_values[place],
                adjusted[place],
                withholding_key({**first.caveats, **other.caveats}, key),
            )
    size = next(iter(drawn.values.values())).size
    least = difference_p_value(np.ones(size), n_speakers)
    named = dict(zip([*systems][1:], by_system, strict=True))
    return Comparison(first.values, named, first.variant, n_speakers, least)


def is_weaker(value: float, other: float, bounds: Sequence[float] | None) -> bool:
    """Tell whether an attacker is weaker than another: by the paired difference of their EERs where
    enough replicates tell it, else by the EERs.

    Parameters
    ----------
    value, other : float
        EERs of the attacker and of the other one.
    bounds : tuple of float, or None
        As of `paired_bounds`.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_weaker(0.31, 0.30, None), is_weaker(0.31, 0.30, (-0.02, 0.04))
    (True, False)
    """
    return value > other if bounds is None else bounds[0] > 0


def overestimate_reason(
    key: str, metric: str, value: float, bounds: Sequence[float] | None, attacker: str
) -> str:
    """Say by whom privacy is overestimated, and whether that was tested.

    Parameters
    ----------
    key : str
        In `CAVEATS`: `WEAKER_THAN_WORDS`, `WEAKER_THAN_SPECTRUM` or `WEAKER_THAN_VARIANT`.
    metric : str
        In `METRICS`.
    value : float
        Of the stronger attacker.
    bounds : sequence of float, or None
        As of `paired_bounds`.
    attacker : str
        Name of a stronger variant.

    Returns
    -------
    str

    Examples
    --------
    >>> overestimate_reason("weaker_than_variant", "eer", 0.11, None, "procrustes")[-57:]
    'EER: 11.00 % (procrustes), by point estimates, not tested'
    >>> overestimate_reason("weaker_than_words", "eer", 0.11, (0.02, 0.08), "words")[:24]
    'Privacy is overestimated'
    """
    reason, tested = CAVEATS[key].reason, "by point estimates, not tested"
    if bounds is not None:
        reason = reason.replace("may be", "is")
        tested = f"difference {METRICS[metric].interval(bounds)} points"
    named = f" ({attacker})" * (key == WEAKER_THAN_VARIANT)
    text = METRICS[metric].format(value)
    return f"{reason}: {text} %{named}, {tested}"
