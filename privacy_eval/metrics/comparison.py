"""Paired comparison of systems on the same trials.

Systems are compared by a bootstrap over speakers: replicates of one seed and one design draw the
same speakers for every system, so that what the systems share cancels out in the differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..choices import LEVEL
from ..errors import PrivacyEvalError, located
from .caveats import (
    CAVEATS,
    NOT_AVAILABLE,
    WEAKER_THAN_VARIANT,
    marked_text,
    withholding_key,
)
from .confidence import (
    Interval,
    difference_p_value,
    expanded_interval,
    least_replicates,
    needed_for_tests,
    speaker_bootstrap,
)
from .evaluation import Evaluation, evaluate_variants, warn_of_utterances
from .pairing import rows_of_same
from .pav import FloatArray
from .printed import Printed
from .registry import METRICS
from .trial_scores import Variant
from .trials import Table, Trials

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
        """Caveats, and a note if no corrected p-value can be significant."""
        caveats = (d.caveat for of_other in self.differences.values() for d in of_other.values())
        reasons = dict.fromkeys(CAVEATS[key].reason for key in caveats if key is not None)
        tests = len(self.differences)
        is_lacking = tests > 1 and tests * self.least_p_value >= 1 - LEVEL
        reasons |= {BY_ORDER: None} if self.by_order else {}
        return [*reasons, *[needed_for_tests(self.n_speakers, tests)] * is_lacking]

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
        """List the metrics as numbers: both values, their difference and its test."""
        return [
            {
                **{"against": name, "metric": key, "variant": self.variant},
                **{"value": self.values[key], "other": d.value, "difference": d.difference},
                **{"low": d.interval.low, "high": d.interval.high, "p": d.p_value},
                **{"p_holm": d.p_value_holm, "caveat": d.caveat},
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


def subtract(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Subtract values of a metric; two equal infinities do not differ.

    Parameters
    ----------
    first, second : array_like, equal shapes

    Returns
    -------
    float array

    Examples
    --------
    >>> subtract([np.inf, 2.0], [np.inf, 0.5])
    array([0. , 1.5])
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, a - b)


def paired_bounds(
    first: ArrayLike, second: ArrayLike, n_speakers: int
) -> tuple[float, float] | None:
    """Compute the 95 % bounds of the difference of two values, from replicates of the same draws.

    Parameters
    ----------
    first, second : array_like, shape (replicates,)
        Bootstrap replicates of the values.
    n_speakers : int
        Number of speakers drawn.

    Returns
    -------
    tuple of float, or None
        Bounds of the first minus the second; None if the replicates are too few for 95 %.

    Examples
    --------
    >>> paired_bounds([0.5, 0.75] * 50, [0.25, 0.25] * 50, n_speakers=1000)
    (0.25, 0.5)
    >>> paired_bounds([0.5, 0.75], [0.25, 0.25], n_speakers=1000) is None
    True
    """
    differences = subtract(first, second)
    if n_speakers < 2 or differences.size < least_replicates(n_speakers):
        return None
    bounds = expanded_interval(differences, n_speakers)
    return bounds.low, bounds.high


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


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests by Holm's step-down method.

    Parameters
    ----------
    p_values : sequence of float

    Returns
    -------
    list of float
        In the same order, at most 1.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1)
    return [float(p) for p in adjusted]
