"""Equal error rate, Kaldi's, SpeechBrain's and that of the ROC convex hull, with its interval.

Rates are fractions. The higher the EER, the better the privacy, up to 0.5 (ROCCH)
or 1 (Kaldi: an attacker who is wrong more often than right).
"""

from __future__ import annotations

import bisect
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import as_names, as_numbers, as_truth
from .pav import FloatArray, IntArray, PavBlocks
from .trial_scores import Replicates, TrialScores, Variant, check_scores

#: Above chance (50 %) by more than the variance of few trials: scores have the wrong sign, or are
#: all equal. The highest in the 2020 supplement is 60.4 % (table 3).
IMPLAUSIBLE_EER = 0.65

# Thresholds per step of SpeechBrain's EER search.
_THRESHOLDS_PER_STEP = 64
# Up to this number of trials per class, float32 rates resolve a single trial.
_DISTINCT_RATES = 1 << 21


@dataclass(frozen=True)
class Eer:
    """An equal error rate.

    Attributes
    ----------
    value : float
        Fraction, not percent; of `Replicates` an array.
    threshold : float or None
        The score at which it is reached; None for a point between thresholds (ROCCH), and of
        `Replicates`.
    n_target, n_nontarget : int
    method : str
        `kaldi`, `speechbrain`, `rocch challenge` or `rocch exact`.
    """

    value: float
    threshold: float | None
    n_target: int
    n_nontarget: int
    method: str

    @property
    def interval_if_independent(self) -> tuple[float, float]:
        """95 % interval for independent trials; too narrow, see `bengio_mariethoz_interval`."""
        return bengio_mariethoz_interval(self.value, self.n_target, self.n_nontarget)


def kaldi_eer(scores: TrialScores | Replicates) -> Eer:
    """Compute the EER as Kaldi's `compute-eer` does: on float32 scores, not interpolated.

    This is the EER in the tables of VoicePrivacy 2020 and 2022. It treats the classes
    differently; a single target always gives 0.

    Parameters
    ----------
    scores : TrialScores or Replicates

    Returns
    -------
    Eer

    Examples
    --------
    >>> kaldi_eer(TrialScores([1, 3], [0, 2])).value
    0.5
    """
    check_scores(scores)
    counts = scores.n_target, scores.n_nontarget
    if isinstance(scores, Replicates):
        return Eer(scores.each(_kaldi_of_replicates(scores)), None, *counts, "kaldi")
    index = _kaldi_index(scores, operator.lt)  # of one set, a few of its targets tell
    return Eer(index / scores.n_target, float(scores.single.target[index]), *counts, "kaldi")


def lowest_eer(scores: TrialScores) -> float:
    """Compute the lowest value of `kaldi_eer` over all orders of tied trials.

    Its own value is the highest: at a tie it takes nontargets for the higher scores.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    float
        Fraction.

    Examples
    --------
    >>> tied = TrialScores([1, 1, 2], [0, 1, 1])
    >>> lowest_eer(tied), round(kaldi_eer(tied).value, 3)
    (0.0, 0.667)
    """
    check_scores(scores)
    return _kaldi_index(scores, operator.le) / scores.n_target


def _kaldi_index(scores: TrialScores, is_below: Callable[[Any, Any], Any]) -> int:
    """Return the row of the target at Kaldi's threshold; `is_below` decides about ties."""
    t, n = scores.single.target, scores.n_nontarget

    def stops(i: int) -> bool:
        return bool(is_below(scores.single.nontarget[max(0, n - 1 - int(n * i / t.size))], t[i]))

    # t ascends and the nontargets descend: once the condition holds, it holds for all later i.
    return bisect.bisect_left(range(t.size - 1), True, key=stops)


def _kaldi_of_replicates(replicates: Replicates) -> FloatArray:
    """Compute `kaldi_eer` of all replicates at once, shape (R,)."""
    sets, number = replicates.target_sets, replicates.target_number
    n_target, n_nontarget = replicates.target_counts, replicates.nontarget_counts
    descending = sets.spread(n_nontarget) * number / sets.spread(n_target)
    rank = np.maximum(sets.spread(n_nontarget) - 1 - descending.astype(np.int64), 0)
    goes_on = replicates.nontargets_below_in_single <= rank
    index = np.minimum(sets.sums(goes_on.astype(np.int64)), n_target - 1)
    return np.asarray(index / n_target)


def speechbrain_eer(scores: TrialScores | Replicates) -> Eer:
    """Compute the EER as SpeechBrain's `EER` does, to the last bit.

    This is the EER in the tables of VoicePrivacy 2024 and 2026. All distinct float32 scores and
    the midpoints of neighbours are thresholds; the first one with the smallest difference of the
    error rates wins, and the EER is their mean there. A trial at the threshold is rejected.

    Parameters
    ----------
    scores : TrialScores or Replicates

    Returns
    -------
    Eer

    References
    ----------
    SpeechBrain 0.5.16 and 1.0.3, `speechbrain.utils.metric_stats.EER`.

    Examples
    --------
    >>> speechbrain_eer(TrialScores([1, 3], [0, 2])).value
    0.5
    >>> speechbrain_eer(TrialScores([1, 1], [1, 1])).value
    0.5
    """
    check_scores(scores)
    counts = scores.n_target, scores.n_nontarget
    if isinstance(scores, Replicates):
        return Eer(scores.each(_speechbrain_of_replicates(scores)), None, *counts, "speechbrain")
    single = scores.single
    distinct = np.unique(np.concatenate([single.target, single.nontarget]))
    n_thresholds = 2 * distinct.size - 1

    def threshold(i: IntArray) -> NDArray[np.float32]:
        low, high = distinct[i // 2], distinct[(i + 1) // 2]
        with np.errstate(over="ignore", invalid="ignore"):
            middle = (low + high) / np.float32(2)
        return np.asarray(np.fmax(low, np.fmin(high, middle)))

    def rates(i: IntArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        at = threshold(i)
        missed = np.searchsorted(single.target, at, side="right")
        accepted = scores.n_nontarget - np.searchsorted(single.nontarget, at, side="right")
        miss = missed.astype(np.float32) / np.float32(scores.n_target)
        return miss, accepted.astype(np.float32) / np.float32(scores.n_nontarget)

    # SpeechBrain goes through the thresholds in ascending order and takes one if its gap,
    # rounded to float32, is below the exact gap of the best so far. The gap falls up to the
    # crossing of the rates and then rises, so only thresholds next to it matter.
    crossing, end = 0, n_thresholds
    while crossing < end:
        candidates = np.arange(crossing, end, -(-(end - crossing) // _THRESHOLDS_PER_STEP))
        first = int(np.argmax(np.append(np.less_equal(*rates(candidates)[::-1]), True)))
        end = int(candidates[first]) if first < candidates.size else end
        crossing = int(candidates[first - 1]) + 1 if first else end

    @functools.cache
    def gaps(i: int) -> tuple[float, float]:
        miss, false_alarm = (rate[0] for rate in rates(np.array([i])))
        return float(abs(false_alarm - miss)), abs(float(false_alarm) - float(miss))

    best = max(crossing - 1, 0)
    while best > 0 and gaps(best)[0] >= gaps(best - 1)[1]:
        best -= 1
    for i in range(best + 1, n_thresholds):
        if gaps(i)[0] < gaps(best)[1]:
            best = i
        elif i >= crossing:
            break
    value = sum(float(rate[0]) for rate in rates(np.array([best]))) / 2
    at = float(threshold(np.array([best]))[0])
    return Eer(value, at, *counts, "speechbrain")


def _speechbrain_of_replicates(replicates: Replicates) -> FloatArray:
    """Compute `speechbrain_eer` of all replicates at once, shape (R,)."""
    counts = replicates.target_counts, replicates.nontarget_counts
    if np.max(counts) > _DISTINCT_RATES:
        return np.array([speechbrain_eer(scores).value for scores in replicates])
    targets, nontargets = replicates.of.single.counts_up_to_scores
    sets = np.arange(counts[0].size)

    def errors(score: IntArray) -> tuple[IntArray, IntArray]:
        missed = replicates.cumulative_targets[sets, targets[score]]
        return missed, replicates.cumulative_nontargets[sets, nontargets[score]]

    def rates(score: IntArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        missed, rejected = errors(score)
        n_target, n_nontarget = (n.astype(np.float32) for n in counts)
        miss = missed.astype(np.float32) / n_target
        return miss, (counts[1] - rejected).astype(np.float32) / n_nontarget

    # Bisect for the first score at which the miss rate is not below the false-alarm rate; midpoints
    # have the rates of a score beside them. The best gap is there or at the score before.
    low, crossing = np.zeros_like(sets), np.full_like(sets, targets.size - 1)
    while np.any(low < crossing):
        middle = (low + crossing) // 2
        reached = np.greater_equal(*rates(middle))
        low, crossing = np.where(reached, low, middle + 1), np.where(reached, middle, crossing)
    before = np.maximum(crossing - 1, 0)
    first = sum(errors(before)) == 0  # rejects no trial: SpeechBrain has no such threshold
    best_gap = np.abs(np.subtract(*(r.astype(np.float64) for r in rates(before))))
    gap = np.abs(np.subtract(*rates(crossing)))
    pairs = zip(rates(before), rates(crossing), strict=True)
    miss, false_alarm = (np.where(first | (gap < best_gap), b, a) for a, b in pairs)
    return (miss.astype(np.float64) + false_alarm) / 2


def rocch_eer(scores: TrialScores | Replicates, *, variant: Variant = "exact") -> Eer:
    """Compute the EER of the ROC convex hull, where it meets miss = false alarm; at most 0.5.

    Parameters
    ----------
    scores : TrialScores or Replicates
    variant : {"exact", "challenge"}
        They differ in the treatment of ties, see `TrialScores.pav`.

    Returns
    -------
    Eer

    Examples
    --------
    >>> rocch_eer(TrialScores([1, 3], [0, 2])).value
    0.25
    """
    check_scores(scores, variant)
    blocks = scores.pav(variant)
    sets = blocks.sets
    n_target, n_nontarget = scores.target_counts, scores.nontarget_counts
    missed, rejected = sets.before(blocks.targets), sets.before(blocks.nontargets)
    ends = missed + blocks.targets, rejected + blocks.nontargets
    before = ends[0] / sets.spread(n_target) < 1 - ends[1] / sets.spread(n_nontarget)
    at = sets.first + sets.sums(before.astype(np.int64))  # the block in which the curves cross
    miss, next_miss = missed[at] / n_target, ends[0][at] / n_target
    false_alarm, next_false_alarm = 1 - rejected[at] / n_nontarget, 1 - ends[1][at] / n_nontarget
    gap_before, gap_after = false_alarm - miss, next_miss - next_false_alarm
    value = scores.each(miss + gap_before / (gap_before + gap_after) * (next_miss - miss))
    return Eer(value, None, scores.n_target, scores.n_nontarget, f"rocch {variant}")


def equal_rate(miss: FloatArray, false_alarm: FloatArray) -> float:
    """Find the rate where a curve meets miss = false alarm, by linear interpolation.

    Parameters
    ----------
    miss, false_alarm : float arrays, shape (P,)
        Along the curve: from (0, 1), ascending and descending, to (1, 0).

    Returns
    -------
    float

    Examples
    --------
    >>> equal_rate(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.5, 0.0]))
    0.5
    """
    after = int(np.argmax(miss >= false_alarm))
    gap_before = false_alarm[after - 1] - miss[after - 1]
    gap_after = miss[after] - false_alarm[after]
    fraction = gap_before / (gap_before + gap_after)
    return float(miss[after - 1] + fraction * (miss[after] - miss[after - 1]))


def hull(blocks: PavBlocks) -> tuple[FloatArray, FloatArray]:
    """Find the corners of the ROC convex hull, from accepting all to rejecting all.

    Parameters
    ----------
    blocks : PavBlocks
        B of them.

    Returns
    -------
    miss, false_alarm : float arrays, shape (B+1,)
        Rates.

    Examples
    --------
    >>> hull(TrialScores([1, 3], [0, 2]).pav())
    (array([0. , 0. , 0.5, 1. ]), array([1. , 0.5, 0. , 0. ]))
    """
    miss = np.concatenate([[0], np.cumsum(blocks.targets)]) / blocks.targets.sum()
    false_alarm = 1 - np.concatenate([[0], np.cumsum(blocks.nontargets)]) / blocks.nontargets.sum()
    return miss, false_alarm


def bengio_mariethoz_interval(
    eer: float, n_target: int, n_nontarget: int, *, z: float = 1.96
) -> tuple[float, float]:
    """Compute the interval of an EER when trials are independent, clipped to [0, 1].

    EER +- z sqrt( EER(1-EER)/(4N) + EER(1-EER)/(4T) ): Bengio & Mariethoz (2004), as drawn in
    Figure 1 of the VoicePrivacy 2020 supplement. Trials that share speakers are not
    independent: it is too narrow, and the only one that scores without speakers can have. In
    simulations of 20 to 40 speakers, intervals of independent trials at 95 % covered the true EER
    in 55 to 79 %; `speaker_bootstrap`, which draws speakers, in 93 to 97 %.

    Parameters
    ----------
    eer : float
        Fraction.
    n_target, n_nontarget : int
        T and N.
    z : float
        Normal quantile; 1.96 for 95 %.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> low, high = bengio_mariethoz_interval(0.5, 100, 100)
    >>> round(low, 4), round(high, 4)
    (0.4307, 0.5693)
    """
    variance = eer * (1 - eer) * (1 / (4 * n_target) + 1 / (4 * n_nontarget))
    half = z * math.sqrt(max(variance, 0.0))
    return max(0.0, eer - half), min(1.0, eer + half)


def eer_percent(eer: float) -> str:
    """Format an EER as Kaldi's compute-eer does: a float32, four digits.

    Parameters
    ----------
    eer : float
        Fraction.

    Returns
    -------
    str
        Percent, without the sign.

    Examples
    --------
    >>> eer_percent(1 / 3)
    '33.33'
    """
    return f"{100.0 * float(np.float32(eer)):.4g}"


def speaker_eers(
    scores: ArrayLike, is_target: ArrayLike, enrolled: ArrayLike, *, min_targets: int = 10
) -> tuple[dict[str, Any], ...]:
    """Compute the EER of each enrolled speaker, which the pooled EER hides.

    Parameters
    ----------
    scores : array_like, shape (P,)
    is_target : array_like of bool, shape (P,)
    enrolled : array_like of str, shape (P,)
        Enrolled speaker of each trial.
    min_targets : int
        Speakers with fewer target trials, or without nontarget trials, are left out.

    Returns
    -------
    tuple of dict
        `speaker`, `eer`, `n_target` and `n_nontarget`. The EER is Kaldi's, at most 0.5: errors
        beyond chance do not make up for others' lack of privacy. By ascending EER, the least
        protected first. The smallest of several EERs is biased.

    Raises
    ------
    PrivacyEvalError
        As `TrialScores`.

    Examples
    --------
    >>> labels = [True, True, False, False, True, False]
    >>> eers = speaker_eers([3, 1, 2, 0, 0, 9], labels, list("aaaabb"), min_targets=2)
    >>> [(of["speaker"], of["eer"]) for of in eers]
    [('a', 0.5)]
    """
    values, labels = as_numbers(scores, "scores"), as_truth(is_target, "is_target")
    names, speaker = np.unique(as_names(enrolled, "speakers"), return_inverse=True)
    order = np.argsort(speaker, kind="stable")
    eers = []
    for name, rows in zip(
        names.tolist(), np.split(order, np.cumsum(np.bincount(speaker))[:-1]), strict=True
    ):
        n_target = int(np.count_nonzero(labels[rows]))
        if n_target < max(min_targets, 1) or n_target == rows.size:
            continue
        eer = kaldi_eer(TrialScores.from_labels(values[rows], labels[rows])).value
        counts = {"n_target": n_target, "n_nontarget": rows.size - n_target}
        eers.append({"speaker": name, "eer": min(eer, 0.5), **counts})
    return tuple(sorted(eers, key=lambda of: (of["eer"], of["speaker"])))
