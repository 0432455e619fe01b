"""The equal error rate of one set of scores as other programs define it.

All of them look for the point where miss and false-alarm rates are equal. They differ in the points
that they consider, in the order of tied scores, in what they do between two points, and in
precision. Rates are fractions; the higher, the better the privacy.

References
----------
The definitions were read in the sources of Kaldi 5.5, SpeechBrain 1.1.2, PYLLR, `eer`,
`voice-anonymization-legal-eval` 2.1.0, the scripts released with VoicePrivacy 2020 and 2022,
scikit-learn, torchmetrics 1.9.0, Bob (`bob.measure` 6.1.1), the scoring software of NIST's SRE and
that of ASVspoof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .eer import equal_rate, kaldi_eer, rocch_eer, speechbrain_eer
from .pav import FloatArray, IntArray
from .trial_scores import TrialScores, check_scores

#: Fewest edges of the histograms of NIST's scoring software.
_NIST_EDGES = 1_000_000


@dataclass(frozen=True)
class Dialect:
    """A definition of the equal error rate.

    Attributes
    ----------
    programs : str
        Programs that use it.
    reason : str
        What it does differently from others.
    """

    programs: str
    reason: str


_HULL = "where the convex hull of the ROC meets the diagonal: the lowest, at most 50 %"

#: The dialects by name.
DIALECTS = {
    "kaldi": Dialect(
        "Kaldi; VoicePrivacy 2020, 2022",
        "a multiple of one over the number of targets, not interpolated; float32",
    ),
    "rocch_exact": Dialect("Bosaris", _HULL),
    "pyllr_rocch": Dialect("PYLLR, llreval", _HULL),
    "eer_package": Dialect("eer (PyPI)", f"{_HULL}; by a numerical search, to about 1e-6"),
    "legal_eval_rocch": Dialect("voice-anonymization-legal-eval", _HULL),
    "vpc_released_rocch": Dialect(
        "scripts of VoicePrivacy 2020, 2022",
        "hull of a point per trial, nontargets first at ties: too low where scores are tied",
    ),
    "sklearn_nearest": Dialect(
        "roc_curve of scikit-learn, nearest point",
        "mean of the rates where they differ least, but collinear points are dropped by default",
    ),
    "sklearn_brentq": Dialect(
        "roc_curve of scikit-learn, brentq of interp1d",
        "where the interpolated ROC meets the diagonal; ties are a sloped line",
    ),
    "torchmetrics": Dialect(
        "torchmetrics",
        "mean of the rates where they differ least; a sigmoid in float32 if any score is outside "
        "[0, 1], which ties large scores",
    ),
    "speechbrain": Dialect(
        "SpeechBrain; VoicePrivacy 2024, 2026",
        "mean of the rates where they differ least, the first such point; float32",
    ),
    "nist_sorted": Dialect(
        "NIST SRE, sorted scores", "interpolated between trials, targets first at ties"
    ),
    "nist_histogram": Dialect(
        "NIST SRE 2016", "interpolated between bins of about 1e-6 of the range of the scores"
    ),
    "asvspoof": Dialect(
        "ASVspoof",
        "mean of the rates where they differ least, a point per trial, targets first at ties",
    ),
    "bob": Dialect(
        "Bob (bob.measure)", "mean of the rates where they differ least, the last such point"
    ),
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
        only one of its class, or, of histograms, if all scores are equal.

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
    difference = np.abs(missed * scores.n_nontarget - accepted * scores.n_target)
    last = difference.size - 1 - int(np.argmin(difference[::-1]))
    return {
        "kaldi": float(np.float32(kaldi_eer(scores).value)),
        "rocch_exact": hull,
        "pyllr_rocch": hull,
        "eer_package": hull,
        "legal_eval_rocch": hull,
        "vpc_released_rocch": rocch_eer(scores, variant="challenge").value,
        "sklearn_nearest": _without_collinear_points(scores, missed, accepted),
        "sklearn_brentq": equal_rate(miss, false_alarm),
        "torchmetrics": _torchmetrics_eer(scores),
        "speechbrain": speechbrain_eer(scores).value,
        "nist_sorted": _crossing(ascending[0][1:], ascending[1][1:]),
        "nist_histogram": _histogram_eer(scores),
        "asvspoof": _nearest(*ascending),
        "bob": float(miss[last] + false_alarm[last]) / 2,
    }


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


def _without_collinear_points(scores: TrialScores, missed: IntArray, accepted: IntArray) -> float:
    """Return the nearest point among those that scikit-learn keeps: the start of the ROC, the next
    one, the last, and corners between them."""
    hits, false_alarms = scores.n_target - missed[::-1], accepted[::-1]
    kept = np.ones(hits.size, dtype=bool)
    kept[2:-1] = (np.diff(hits[1:], 2) != 0) | (np.diff(false_alarms[1:], 2) != 0)
    hit = hits[kept] / scores.n_target
    return _nearest(1 - hit, false_alarms[kept] / scores.n_nontarget)


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
