"""The equal error rate and the minimum cost of one set of scores as other programs define them.

All EERs look for the point where miss and false-alarm rates are equal. They differ in the points
that they consider, in the order of tied scores, in what they do between two points, and in
precision. Rates are fractions; the higher, the better the privacy. Minimum costs differ in what
they are divided by.

References
----------
The definitions were read in the sources of Kaldi 5.5, SpeechBrain 1.1.2, PYLLR, `eer`,
`voice-anonymization-legal-eval` 2.1.0, the scripts released with VoicePrivacy 2020 and 2022,
scikit-learn 1.9.1, torchmetrics 1.9.0, Bob (`bob.measure` 6.1.1), pyannote.metrics 4.2.0,
case-benchmark 1.0.0, feerci 0.2.0, WeSpeaker, the scoring software of NIST's SRE and that of
ASVspoof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .detection import min_dcf
from .eer import equal_rate, kaldi_eer, rocch_eer, speechbrain_eer
from .pav import FloatArray, IntArray
from .trial_scores import TrialScores, check_scores

#: Fewest edges of the histograms of NIST's scoring software.
_NIST_EDGES = 1_000_000


@dataclass(frozen=True)
class Dialect:
    """A definition of the equal error rate or of the minimum cost.

    Attributes
    ----------
    programs : str
        Programs that use it, with the version that was read or run.
    reason : str
        What it does differently from others.
    """

    programs: str
    reason: str


_HULL = "where the convex hull of the ROC meets the diagonal: the lowest, at most 50 %"
_NEAREST = "mean of the rates where they differ least"

#: The dialects by name.
DIALECTS = {
    "kaldi": Dialect("Kaldi; VoicePrivacy 2020, 2022", "0, 1/T, 2/T, ... of T targets; float32"),
    "rocch_exact": Dialect("Bosaris", _HULL),
    "pyllr_rocch": Dialect("PYLLR, llreval", _HULL),
    "eer_package": Dialect("eer (PyPI)", f"{_HULL}; by a numerical search, to about 1e-6"),
    "legal_eval_rocch": Dialect("voice-anonymization-legal-eval 2.1.0", _HULL),
    "vpc_released_rocch": Dialect(
        "scripts of VoicePrivacy 2020, 2022", "hull of a point per trial: too low at ties"
    ),
    "sklearn_nearest": Dialect(
        "scikit-learn 1.9.1, nearest point", f"{_NEAREST}, but collinear points are dropped"
    ),
    "sklearn_brentq": Dialect(
        "scikit-learn 1.9.1, brentq of interp1d", "interpolated; ties are a sloped line"
    ),
    "torchmetrics": Dialect(
        "torchmetrics 1.9.0, one float32 batch", f"{_NEAREST}; sigmoid if any is outside [0, 1]"
    ),
    "speechbrain": Dialect(
        "SpeechBrain 1.1.2; VoicePrivacy 2024, 2026", f"{_NEAREST}, the first such point; float32"
    ),
    "nist_sorted": Dialect(
        "NIST SRE, sorted scores", "interpolated between trials, targets first at ties"
    ),
    "nist_histogram": Dialect("NIST SRE 2016", "interpolated between bins of 1e-6 of the range"),
    "asvspoof": Dialect("ASVspoof", f"{_NEAREST}, a point per trial, targets first at ties"),
    "bob": Dialect("Bob (bob.measure 6.1.1)", f"{_NEAREST}, the last such point"),
    "pyannote": Dialect(
        "pyannote.metrics 4.2.0", "mean of the four rates around the crossing: 25 % if separated"
    ),
    "case_benchmark": Dialect(
        "case-benchmark 1.0.0", f"interpolated, or {_NEAREST}; 0 if all scores are equal"
    ),
    "feerci": Dialect(
        "feerci 0.2.0", "divides by one trial less; may be 0 or below where scores overlap"
    ),
}

#: The dialects of the minimum cost by name.
MIN_DCF_DIALECTS = {
    "normalized": Dialect(
        "NIST SRE, Kaldi, WeSpeaker, case-benchmark 1.0.0", "1 is no better than without scores"
    ),
    "speechbrain": Dialect("SpeechBrain 1.1.2", "not normalized: at most 0.01; float32"),
}


def eer_dialects(scores: TrialScores) -> dict[str, float | None]:
    """Compute the EER of one set of scores as other programs define it.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    dict of str to float or None
        Fractions by the names of `DIALECTS`, in their order; None where the program gives no
        value: NIST's if the rates cross before the first point, as where the lowest score is the
        only one of its class, or, of histograms, if all scores are equal; feerci's if a class has
        a single trial among those of the other.

    Raises
    ------
    PrivacyEvalError
        As `TrialScores`.

    Examples
    --------
    >>> values = eer_dialects(TrialScores([1, 3], [0, 2, 2.5]))
    >>> {name: round(value, 3) for name, value in values.items() if name in ("kaldi", "bob")}
    {'kaldi': 0.5, 'bob': 0.417}
    """
    check_scores(scores)
    hull = rocch_eer(scores).value
    missed, accepted = _points(scores)
    each_missed, each_accepted = _points_per_trial(scores)
    ascending = each_missed / scores.n_target, each_accepted / scores.n_nontarget
    miss, false_alarm = missed / scores.n_target, accepted / scores.n_nontarget
    corners = _corners(scores, missed, accepted)
    difference = np.abs(missed * scores.n_nontarget - accepted * scores.n_target)
    last = difference.size - 1 - int(np.argmin(difference[::-1]))
    return {
        "kaldi": float(np.float32(kaldi_eer(scores).value)),
        **dict.fromkeys(("rocch_exact", "pyllr_rocch", "eer_package", "legal_eval_rocch"), hull),
        "vpc_released_rocch": rocch_eer(scores, variant="challenge").value,
        "sklearn_nearest": _nearest(*corners),
        "sklearn_brentq": equal_rate(miss, false_alarm),
        "torchmetrics": _torchmetrics_eer(scores),
        "speechbrain": speechbrain_eer(scores).value,
        "nist_sorted": _crossing(ascending[0][1:], ascending[1][1:]),
        "nist_histogram": _histogram_eer(scores),
        "asvspoof": _nearest(*ascending),
        "bob": float(miss[last] + false_alarm[last]) / 2,
        "pyannote": _pyannote_eer(*corners),
        "case_benchmark": _case_benchmark_eer(*corners),
        "feerci": _feerci_eer(scores),
    }


def min_dcf_dialects(scores: TrialScores) -> dict[str, float]:
    """Compute the minimum cost of one set of scores as other programs define it.

    The prior of target trials is 0.01 and both errors cost 1, the defaults of these programs.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    dict of str to float
        Costs by the names of `MIN_DCF_DIALECTS`.

    Raises
    ------
    PrivacyEvalError
        As `TrialScores`.

    Examples
    --------
    >>> min_dcf_dialects(TrialScores([1.0, 3.0], [0.0, 2.0]))
    {'normalized': 0.5, 'speechbrain': 0.005}
    """
    check_scores(scores)
    normalized, of_single = (min_dcf(of, 0.01).value for of in (scores, scores.single))
    return {"normalized": normalized, "speechbrain": 0.01 * of_single}


def _points(scores: TrialScores) -> tuple[IntArray, IntArray]:
    """Count missed targets and accepted nontargets, from accepting all to rejecting all, tied
    scores at once; shape (D+1,) for D distinct scores."""
    at = np.unique(np.concatenate([scores.target, scores.nontarget]))
    missed = np.searchsorted(scores.target, at, side="right")
    rejected = np.searchsorted(scores.nontarget, at, side="right")
    return np.append(0, missed), scores.n_nontarget - np.append(0, rejected)


def _points_per_trial(scores: TrialScores) -> tuple[IntArray, IntArray]:
    """Count as `_points`, rejecting one trial after the other, targets first at ties; shape
    (T+N+1,)."""
    is_target = np.zeros(scores.n_target + scores.n_nontarget + 1, dtype=np.int64)
    is_target[1 + np.arange(scores.n_target) + scores.nontargets_below] = 1
    missed = np.cumsum(is_target)
    return missed, scores.n_nontarget - (np.arange(missed.size) - missed)


def _nearest(miss: NDArray[np.floating], false_alarm: NDArray[np.floating]) -> float:
    """Return the mean of the rates at the first point where they differ least."""
    at = int(np.argmin(np.abs(false_alarm - miss)))
    return float((false_alarm[at] + miss[at]) / 2)


def _corners(
    scores: TrialScores, missed: IntArray, accepted: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the miss and false-alarm rates of the points that scikit-learn keeps, from rejecting
    to accepting all: the start of the ROC, the next one, the last, and corners between them."""
    hits, false_alarms = scores.n_target - missed[::-1], accepted[::-1]
    kept = np.ones(hits.size, dtype=bool)
    kept[2:-1] = (np.diff(hits[1:], 2) != 0) | (np.diff(false_alarms[1:], 2) != 0)
    return 1 - hits[kept] / scores.n_target, false_alarms[kept] / scores.n_nontarget


def _pyannote_eer(miss: FloatArray, false_alarm: FloatArray) -> float:
    after = int(np.argmax(false_alarm > miss))
    around = slice(after - 1, after + 1)
    return float(miss[around].sum() + false_alarm[around].sum()) / 4


def _case_benchmark_eer(miss: FloatArray, false_alarm: FloatArray) -> float:
    """Interpolate between the neighbours of the nearest point, unless the rates, taken after
    vertical steps, do not cross there."""
    at = int(np.argmin(np.abs(false_alarm - miss)))
    if at in (0, miss.size - 1):
        return float(false_alarm[at])
    ends = false_alarm[[at - 1, at + 1]]
    if np.prod(np.interp(ends, false_alarm, miss) - ends) > 0:
        return float(false_alarm[at] + miss[at]) / 2
    return equal_rate(miss[::-1], false_alarm[::-1])


def _feerci_eer(scores: TrialScores) -> float | None:
    """Search the crossing by halves, then count the trials beyond the float32 scores there."""
    target, nontarget, single = scores.target, scores.nontarget, scores.single
    last_target, last_nontarget = scores.n_target - 1, scores.n_nontarget - 1
    if target[0] > nontarget[-1] or target[-1] < nontarget[0]:
        return float(target[0] < nontarget[0])
    if not last_target or not last_nontarget:
        return None
    place, step, high, first = 0.5, 0.5, 0, 0
    for _ in range(2 * int(math.log2(max(scores.n_target, scores.n_nontarget)))):
        at, beside = (1 - place) * last_target, float(np.float32(place * last_nontarget))
        low, last = int(at), math.ceil(beside)
        sign = 1
        if target[low] <= nontarget[last]:
            sign, high, first = -1, math.ceil(at), int(beside)
            if nontarget[first] <= target[high]:
                break
        place, step = float(np.float32(place + sign * step)), step / 2
    if single.target[low] >= single.nontarget[first]:
        low = int(np.searchsorted(target, float(single.nontarget[first]), "right"))
        high = int(np.searchsorted(target, float(single.nontarget[last]))) - 1
    else:
        first = int(np.searchsorted(nontarget, float(single.target[low]), "right"))
    miss, next_miss = (np.float32(n) / np.float32(last_target) for n in (low, high))
    rate = np.float32(1) - np.float32(first) / np.float32(last_nontarget)  # of false alarms
    return float(rate if (rate - miss) * (rate - next_miss) <= 0 else next_miss)


def _torchmetrics_eer(scores: TrialScores) -> float:
    """Compute the EER of float32 probabilities, which other scores are turned into."""
    single = scores.single
    lowest = min(single.target[0], single.nontarget[0])
    if lowest < 0 or max(single.target[-1], single.nontarget[-1]) > 1:
        single = TrialScores.from_sorted(*map(_sigmoid, (single.target, single.nontarget)))
    missed, accepted = _points(single)
    hit = (scores.n_target - missed[::-1]).astype(np.float32) / np.float32(scores.n_target)
    false_alarm = accepted[::-1].astype(np.float32) / np.float32(scores.n_nontarget)
    return _nearest(1 - hit, false_alarm)


def _sigmoid(values: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        probabilities = 1 / (1 + np.exp(-values.astype(np.float32)))
    return np.sort(probabilities.astype(np.float32))


def _crossing(miss: NDArray[np.floating], false_alarm: NDArray[np.floating]) -> float | None:
    """Interpolate where the rates cross between two points; None if they do not."""
    above = miss >= false_alarm
    if above[0] or not above[-1]:
        return None
    return equal_rate(miss.astype(np.float64), false_alarm.astype(np.float64))


def _histogram_eer(scores: TrialScores) -> float | None:
    """Compute the EER of NIST's histograms, with float32 rates."""
    edges = np.linspace(
        min(scores.target[0], scores.nontarget[0]),
        max(scores.target[-1], scores.nontarget[-1]),
        max(scores.n_target, scores.n_nontarget, _NIST_EDGES),
    )
    if not edges[0] < edges[-1] or not np.all(np.isfinite(edges)):
        return None

    def cumulative(values: FloatArray) -> NDArray[np.float32]:
        counts = np.searchsorted(values, edges[1:], side="left")
        counts[-1] = values.size  # the last bin holds the highest score
        return counts.astype(np.float32) / np.float32(values.size)

    return _crossing(cumulative(scores.target), 1 - cumulative(scores.nontarget))
