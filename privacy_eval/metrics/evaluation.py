"""All metrics of two arrays of scores: the shortest way from scores to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from .caveats import find_caveats, withholding_caveat
from .registry import score_metrics, zebra_tag
from .trial_scores import TrialScores, Variant


@dataclass(frozen=True)
class Evaluation:
    """Value of every metric of one set of scores.

    Attributes
    ----------
    values : mapping of str to float
        By key of `METRICS`, in its unit: rates are fractions.
    zebra_tag : str or None
        Category of `zebra_individual`; None of implausible scores.
    n_target, n_nontarget : int
    variant : str
    caveats : mapping of str to str
        Reasons why values say little about privacy, by their key in `CAVEATS`.
    """

    values: Mapping[str, float]
    zebra_tag: str | None
    n_target: int
    n_nontarget: int
    variant: Variant
    caveats: Mapping[str, str]


def evaluate(target: ArrayLike, nontarget: ArrayLike, *, variant: Variant = "exact") -> Evaluation:
    """Compute all metrics of target and nontarget scores.

    Parameters
    ----------
    target : array_like, shape (T,)
        Scores of trials within a speaker; higher for the same speaker. Cllr takes them for
        natural-log likelihood ratios.
    nontarget : array_like, shape (N,)
        Scores of trials between two speakers.
    variant : {"exact", "challenge"}
        `challenge` reproduces the scripts released with VoicePrivacy 2020.

    Returns
    -------
    Evaluation

    Raises
    ------
    PrivacyEvalError
        A class without trials; a score that is NaN or infinite.

    Examples
    --------
    >>> result = evaluate(target=[3, 5, 7, 8], nontarget=[1, 2, 4, 6])
    >>> result.values["eer"], result.values["rocch_eer"], result.zebra_tag
    (0.25, 0.25, 'A')
    >>> "few_targets" in result.caveats
    True
    """
    scores = TrialScores(target, nontarget)
    values = score_metrics(scores, variant=variant)
    counts = scores.n_target, scores.n_nontarget
    caveats = find_caveats(values["eer"], *counts)
    graded = withholding_caveat(caveats, "zebra_individual") is None
    tag = zebra_tag(values, variant) if graded else None
    return Evaluation(values, tag, *counts, variant, caveats)
