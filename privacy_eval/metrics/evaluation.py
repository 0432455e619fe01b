"""All metrics of two arrays of scores: the shortest way from scores to numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arguments import as_names
from .caveats import NOT_AVAILABLE, find_caveats, find_ties, marked_text, withholding_caveat
from .confidence import Interval, speaker_bootstrap
from .registry import METRICS, score_metrics, zebra_tag
from .trial_scores import TrialScores, Variant

#: Speaker of each target trial, shape (T,); enrolled and trial speaker of each nontarget trial,
#: shape (N, 2).
Speakers = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Evaluation:
    """Values of every metric on one set of scores, printed as a table.

    Attributes
    ----------
    values : mapping of str to float
        By key of `METRICS`, in its unit: rates are fractions.
    zebra_tag : str or None
        Category of `zebra_individual`; None of implausible scores.
    n_target, n_nontarget : int
    variant : str
    caveats : mapping of str to str
        Reasons why values are uninformative about privacy, by their key in `CAVEATS`.
    intervals : mapping of str to Interval
        95 % intervals of the bootstrap over speakers, where speakers were given.
    scores : TrialScores
    """

    values: Mapping[str, float]
    zebra_tag: str | None
    n_target: int
    n_nontarget: int
    variant: Variant
    caveats: Mapping[str, str]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    scores: TrialScores | None = field(default=None, compare=False)

    def to_rows(self) -> list[dict[str, str]]:
        """Format the metrics as rows: metric, value with unit, interval."""
        rows = []
        for key, value in self.values.items():
            metric = METRICS[key]
            caveat = withholding_caveat(self.caveats, key)
            text = marked_text(metric.format(value, detailed=True), caveat)
            if text != NOT_AVAILABLE:
                text = f"{text} {metric.printed_unit}".rstrip()
            if key == "cllr":
                text += " (of natural-log LLRs)"
            if key == "zebra_individual":
                text += f" ({NOT_AVAILABLE if caveat else self.zebra_tag})"
            row = {"metric": metric.sentence, "value": text}
            if self.intervals:
                bounds = self.intervals.get(key)
                row["95 % interval"] = ""
                if bounds is not None and (caveat is None or caveat.printed):
                    ends = (bounds.low, bounds.high)
                    row["95 % interval"] = metric.interval(ends, detailed=True)
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        return "\n".join((self._heading(), self._table("plain"), *self.caveats.values()))

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{reason}</li>" for reason in self.caveats.values())
        return f"<p>{self._heading()}</p>{self._table('html')}<ul>{notes}</ul>"

    def _repr_latex_(self) -> str:
        return self._table("latex_longtable")

    def _heading(self) -> str:
        trials = f"{self.n_target} target and {self.n_nontarget} nontarget trials"
        return f"{trials}, variant {self.variant}"

    def _table(self, form: str) -> str:
        from tabulate import tabulate

        return tabulate(self.to_rows(), headers="keys", tablefmt=form, disable_numparse=True)


def evaluate(
    target: ArrayLike,
    nontarget: ArrayLike,
    *,
    variant: Variant = "exact",
    speakers: Speakers | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Compute all metrics of target and nontarget scores.

    Parameters
    ----------
    target : array_like, shape (T,)
        Scores of trials within a speaker; higher for the same speaker. Cllr takes them for
        natural-log likelihood ratios: multiply decimal ones (log10) by ln 10.
    nontarget : array_like, shape (N,)
        Scores of trials between two speakers.
    variant : {"exact", "challenge"}
        `challenge` reproduces the scripts released with VoicePrivacy 2020.
    speakers : pair of array_like, optional
        Speaker of each target trial, shape (T,), and enrolled and trial speaker of each
        nontarget trial, shape (N, 2), such as `pair(...).speakers(utt2spk)` looks up. With
        them every value gets a 95 % interval; without, none: an interval of independent trials
        would be far too narrow.
    bootstrap : int
        Replicates of the bootstrap over speakers.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Evaluation

    Raises
    ------
    PrivacyEvalError
        A class without trials; a score that is NaN or infinite; speakers that contradict the
        labels; target trials of fewer than two speakers.
    ValueError
        Not one speaker per target trial and two per nontarget trial.

    See Also
    --------
    speaker_bootstrap : the intervals, and what they assume.

    Examples
    --------
    >>> result = evaluate(target=[3, 5, 7, 8], nontarget=[1, 2, 4, 6])
    >>> result.values["eer"], result.values["rocch_eer"]
    (0.25, 0.25)
    >>> result.zebra_tag, "few_trials" in result.caveats
    (None, True)
    >>> own, others = ["a", "a", "b", "b"], [["a", "b"], ["a", "b"], ["b", "a"], ["b", "a"]]
    >>> result = evaluate([3, 5, 7, 8], [1, 2, 4, 6], speakers=(own, others), bootstrap=20)
    >>> result.intervals["eer"].high
    0.25
    """
    scores = TrialScores(target, nontarget)
    values = score_metrics(scores, variant=variant)
    counts = scores.n_target, scores.n_nontarget
    intervals: Mapping[str, Interval] = {}
    ties = find_ties(scores)
    if speakers is not None:
        trials = np.append(target, nontarget), np.repeat([True, False], counts)
        sides = trial_sides(speakers, *counts)
        replicates = speaker_bootstrap(*trials, *sides, replicates=bootstrap, seed=seed)
        intervals = {key: replicates.interval(f"{variant} {key}") for key in values}
        ties = find_ties(TrialScores.from_labels(*trials), sides[0])
    caveats = find_caveats(values["eer"], *counts, ties=ties, variant=variant)
    graded = withholding_caveat(caveats, "zebra_individual") is None
    tag = zebra_tag(values, variant) if graded else None
    return Evaluation(values, tag, *counts, variant, caveats, intervals, scores)


def trial_sides(speakers: Speakers, n_target: int, n_nontarget: int) -> tuple[Any, Any]:
    """Return the enrolled and the trial speaker of each trial, targets first.

    Parameters
    ----------
    speakers : pair of array_like
        As of `evaluate`.
    n_target, n_nontarget : int

    Returns
    -------
    enrolled, trial : str arrays, shape (T + N,)

    Raises
    ------
    ValueError
        Other numbers of speakers.

    Warns
    -----
    UserWarning
        They seem to be utterances: paths, of which some share their first folder, or no trial
        speaker of a nontarget trial has target trials.
    """
    own, pairs = (as_names(side, "speakers") for side in speakers)
    if own.shape != (n_target,) or pairs.shape != (n_nontarget, 2):
        raise ValueError(
            f"speakers must be of shapes ({n_target},) and ({n_nontarget}, 2), not "
            f"{own.shape} and {pairs.shape}"
        )
    names = set(own.tolist())
    of_paths = {name.partition("/")[0] for name in names if "/" in name.strip("/")}
    if 0 < len(of_paths) < len(names) or names.isdisjoint(pairs[:, 1].tolist()):
        warnings.warn(
            "`speakers` seem to be utterances, with which intervals are far too narrow: "
            "pair(...).speakers(utt2spk) looks up the speakers of both sides",
            stacklevel=3,
        )
    return np.append(own, pairs[:, 0]), np.append(own, pairs[:, 1])
