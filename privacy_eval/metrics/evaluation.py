"""All metrics of two arrays of scores: the shortest way from scores to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from .registry import score_metrics, zebra_tag
from .trial_scores import TrialScores, Variant


@dataclass(frozen=True)
class Evaluation:
    """Value of every metric of one set of scores.

    Attributes
    ----------
    values : mapping of str to float
        By key of `METRICS`, in its unit: rates are fractions.
    zebra_tag : str
        Category of `zebra_individual`.
    n_target, n_nontarget : int
    variant : str
    """

    values: Mapping[str, float]
    zebra_tag: str
    n_target: int
    n_nontarget: int
    variant: Variant


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
    """
    scores = TrialScores(target, nontarget)
    values = score_metrics(scores, variant=variant)
    return Evaluation(
        values, zebra_tag(values, variant), scores.n_target, scores.n_nontarget, variant
    )
