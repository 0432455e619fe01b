"""Subjective evaluation: what a listening test says of anonymization systems.

Ratings are made comparable by normalised ranks per evaluator; then come their
distributions, tests between systems, detection error trade-offs, the metrics of speaker
verification by human ears, and checks of the evaluators (sections 4 and 5 of the
VoicePrivacy 2020 supplement).

Of similarity, same-speaker and different-speaker pairs are kept apart; both were ranked
together, as an evaluator did not know which is which. Scores of a listening test are full
of ties: `exact` is the variant that counts, `challenge` is kept beside it.

References: Rosenberg & Ramabhadran (2017) for the normalised ranks and the Mann-Whitney U
test; Holm (1979); Martin et al. (1997) for DET curves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.ratings import METRICS, ORIGINAL_SYSTEM, Ratings, joint_codes
from ..metrics import VARIANTS, TrialScores, Variant, score_metrics
from ..metrics.curves import Det, det_curve
from ..protocol.protocol import Protocol

#: What is compared: ratings of similarity by the kind of pair.
QUANTITIES = (
    "naturalness",
    "intelligibility",
    "similarity_same_speaker",
    "similarity_different_speaker",
)

#: Detection of the same speaker by the ratings of one system alone: what Table 18 is of.
SIMILARITY = "similarity"

#: Metrics of detection: those of Table 18.
DETECTION_METRICS = ("eer", "rocch_eer", "cllr_min", "cllr")

#: An evaluator with fewer ratings of a metric is named.
MIN_RATINGS = 10

#: An evaluator who agrees less with the others is named.
MIN_AGREEMENT = 0.1

ONE_VALUE, FEW_RATINGS, DISAGREES = "one value", "few ratings", "disagrees"

_DENSITY_POINTS = 101

_NARROWEST = 0.02  # deviation of a kernel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Normalised ratings of a quantity and system.

    Attributes
    ----------
    quantity : str
        One of `QUANTITIES`.
    system : str
        `Original` for original speech.
    n : int
        Number of ratings.
    mean, lower_quartile, median, upper_quartile : float
        Of the normalised ratings, 0 to 1.
    mean_rating : float
        As given, on the scale of the test.
    """

    quantity: str
    system: str
    n: int
    mean: float
    lower_quartile: float
    median: float
    upper_quartile: float
    mean_rating: float


@dataclass(frozen=True)
class SystemTest:
    """Two-sided Mann-Whitney U test between two systems.

    Attributes
    ----------
    quantity, system, other_system : str
    statistic : float
        U of `system`: in how many pairs of ratings its one is larger, ties by half.
    p_value : float
        Asymptotic, with corrections for ties and continuity.
    p_holm : float
        Corrected for all pairs of systems of the quantity (Holm 1979).
    """

    quantity: str
    system: str
    other_system: str
    statistic: float
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class Detection:
    """A detection task that ratings decide.

    Attributes
    ----------
    quantity : str
        Naturalness and intelligibility: original speech (target) against the system's.
        `similarity_same_speaker`: the system's same-speaker pairs (target) against
        different-speaker pairs of original speech; `similarity_different_speaker`:
        same-speaker pairs of original speech (target) against the system's
        different-speaker pairs. `similarity`: both kinds of pairs of the system, as a
        speaker verification system is evaluated.
    system : str
    data_set, gender : str or None
        None where all are pooled.
    n_target, n_nontarget : int
    metrics : mapping
        By variant, then by metric: `DETECTION_METRICS` of `similarity`, the EERs of the
        others. Normalised ratings are taken for LLRs, as in Table 18.
    curve_eer : float
        Where the DET curve, on which ties are broken at random, has equal rates.
    """

    quantity: str
    system: str
    data_set: str | None
    gender: str | None
    n_target: int
    n_nontarget: int
    metrics: Mapping[str, Mapping[str, float]]
    curve_eer: float

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Metrics of a variant."""
        return self.metrics[variant]


@dataclass(frozen=True)
class Evaluator:
    """What is known of one evaluator's ratings of one metric.

    Attributes
    ----------
    evaluator, metric : str
    n : int
    lowest, highest, mean : float
        As given, on the scale of the test.
    values : int
        How many distinct ones.
    agreement : float or None
        Spearman's correlation with what the other evaluators rated, on average of their
        normalised ratings, speech of the same system (for similarity: and kind of pair);
        None where either is the same throughout.
    flags : tuple of str
        "one value", "few ratings", "disagrees".
    """

    evaluator: str
    metric: str
    n: int
    lowest: float
    highest: float
    mean: float
    values: int
    agreement: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Subjective:
    """Everything of a listening test that tables and figures show.

    Attributes
    ----------
    protocol : Config
        Plan of the data sets.
    systems : tuple of str
        In order, `Original` first where it was rated.
    split : str
        Of the plan: where the rated speech is from.
    n_evaluators : int
    n_ratings : mapping
        By metric.
    distributions, tests, detections, evaluators
    evaluators_left_out : tuple of str
        On explicit request.
    min_ratings, min_agreement
        Below which evaluators are flagged.
    holm : bool
        Tables show p-values that are corrected for the number of pairs.
    reference : str or None
        System whose median figures draw across; None where only original speech was rated.
    provenance : mapping
        Version, scale, SHA-256 of the files of ratings.
    curves_sha256 : str or None
        Of the file of the curves, once written.
    """

    protocol: Protocol
    systems: tuple[str, ...]
    split: str
    n_evaluators: int
    n_ratings: Mapping[str, int]
    distributions: tuple[Distribution, ...]
    tests: tuple[SystemTest, ...]
    detections: tuple[Detection, ...]
    evaluators: tuple[Evaluator, ...]
    evaluators_left_out: tuple[str, ...] = ()
    min_ratings: int = MIN_RATINGS
    min_agreement: float = MIN_AGREEMENT
    holm: bool = False
    reference: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    curves_sha256: str | None = None

    @property
    def flagged(self) -> tuple[Evaluator, ...]:
        """The evaluators that an organizer should look at."""
        return tuple(e for e in self.evaluators if e.flags)


@dataclass(frozen=True)
class SubjectiveCurves:
    """What figures are drawn from.

    Attributes
    ----------
    at : float array, shape (P,)
        Normalised ratings from 0 to 1 that densities are given at.
    densities : tuple of float arrays, shape (P,)
        One for each distribution, 0 outside the range of its ratings.
    miss, false_alarm : tuples of float arrays
        DET curve of each detection, see `metrics.curves.Det`.
    """

    at: FloatArray
    densities: tuple[FloatArray, ...]
    miss: tuple[FloatArray, ...]
    false_alarm: tuple[FloatArray, ...]


def normalised_ranks(scores: ArrayLike, groups: ArrayLike) -> FloatArray:
    """Normalised rank of every score in its group, (r - 1) / (n - 1), shape (R,).

    Tied scores share their average rank. From 0 to 1, 0.5 on average; 0.5 for all of a
    group of equal scores, and for a group of one, whose rank says nothing.

    Parameters
    ----------
    scores : array_like, shape (R,)
    groups : array_like, shape (R,)
        What evaluator (and metric) each score is of.

    Examples
    --------
    >>> normalised_ranks([7, 9, 7, 3], ["ann", "ann", "ann", "bob"])
    array([0.25, 1.  , 0.25, 0.5 ])
    """
    values = np.asarray(scores, dtype=np.float64)
    names = np.asarray(groups)
    if names.shape != values.shape:
        raise ValueError(f"{values.size} scores but {names.size} groups")
    _, group = np.unique(names, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    ranks = np.empty(values.size)
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if rows.size:
            alone = rows.size == 1
            ranks[rows] = (
                0.5 if alone else (scipy.stats.rankdata(values[rows]) - 1) / (rows.size - 1)
            )
    return ranks


def mann_whitney(one: ArrayLike, other: ArrayLike) -> tuple[float, float]:
    """U of the first sample and the two-sided p-value of a Mann-Whitney U test.

    Asymptotic for samples of any size, with corrections for ties and continuity: ratings
    are full of ties, which the exact distribution does not know. Where all values are the
    same the p-value is 1.

    Examples
    --------
    >>> statistic, p_value = mann_whitney([1, 2, 3], [3, 4, 5])
    >>> statistic, round(p_value, 4)
    (0.5, 0.1212)
    """
    x, y = (np.asarray(sample, dtype=np.float64) for sample in (one, other))
    if np.ptp(np.concatenate([x, y])) == 0:
        return x.size * y.size / 2, 1.0
    found = scipy.stats.mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
    return float(found.statistic), float(found.pvalue)


def holm_corrected(p_values: Sequence[float]) -> tuple[float, ...]:
    """P-values corrected for their number, Holm's step-down way: the k-th smallest of m is
    multiplied by m - k + 1, at least the one before it and at most 1.

    Examples
    --------
    >>> holm_corrected([0.01, 0.04, 0.02])
    (0.03, 0.04, 0.04)
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(raised, 1.0)
    return tuple(corrected.tolist())


def evaluate_ratings(
    ratings: Ratings,
    protocol: Protocol,
    *,
    systems: Sequence[str] = (),
    split: str | None = None,
    min_ratings: int = MIN_RATINGS,
    min_agreement: float = MIN_AGREEMENT,
    leave_out: Iterable[str] = (),
    holm: bool = False,
    reference: str | None = None,
) -> tuple[Subjective, SubjectiveCurves]:
    """All that a listening test says.

    Parameters
    ----------
    systems : sequence of str
        Order of the systems; others come after these as they first appear.
    split : str, optional
        Of the rated speech; the plan's last one, unless given.
    leave_out : iterable of str
        Evaluators not to count: their ratings are left out before anything is computed.
    holm : bool
        Whether tables show corrected p-values; both are kept.
    reference : str, optional
        The first system after original speech, unless given.

    Raises
    ------
    PrivacyEvalError
        An unknown split; an evaluator to be left out who is none; no rating left; a
        reference system without ratings.
    """
    split = protocol.splits[-1] if split is None else split
    if split not in protocol.splits:
        raise PrivacyEvalError(
            f"no split {split!r} in the plan {protocol.name}; known: {', '.join(protocol.splits)}"
        )
    left_out = tuple(dict.fromkeys(leave_out))
    for name in left_out:
        if name not in ratings.evaluator:
            raise PrivacyEvalError(f"no evaluator {name!r} to be left out")
    ratings = ratings.take(~np.isin(ratings.evaluator, left_out))
    if not len(ratings):
        raise PrivacyEvalError("no ratings are left")
    normalised = normalised_ranks(ratings.score, joint_codes([ratings.metric, ratings.evaluator]))
    present = dict.fromkeys(ratings.system.tolist())
    order = dict.fromkeys((ORIGINAL_SYSTEM, *systems, *present))
    test = _Test(ratings, normalised, tuple(s for s in order if s in present), protocol)
    if reference is None:
        reference = next((s for s in test.systems if s != ORIGINAL_SYSTEM), None)
    elif reference not in test.systems:
        raise PrivacyEvalError(
            f"no ratings of the reference system {reference!r}; rated: {', '.join(test.systems)}"
        )
    distributions, densities = _distributions(test)
    detections, det = _detections(test)
    result = Subjective(
        protocol=protocol,
        systems=test.systems,
        split=split,
        n_evaluators=len(set(ratings.evaluator.tolist())),
        n_ratings={m: int(np.count_nonzero(ratings.metric == m)) for m in METRICS},
        distributions=distributions,
        tests=tuple(t for quantity in QUANTITIES for t in _tests(test, quantity)),
        detections=detections,
        evaluators=_evaluators(test, min_ratings, min_agreement),
        evaluators_left_out=left_out,
        min_ratings=min_ratings,
        min_agreement=min_agreement,
        holm=holm,
        reference=reference,
        provenance={
            "version": __version__,
            "scale": list(ratings.scale),
            "inputs": _by_name(ratings.sources),
        },
    )
    return result, SubjectiveCurves(
        np.linspace(0, 1, _DENSITY_POINTS),
        densities,
        tuple(d.miss for d in det),
        tuple(d.false_alarm for d in det),
    )


def _by_name(sources: Mapping[str, str]) -> dict[str, str]:
    """Digests by the names of files, wherever these lie; by their paths where two files
    have one name."""
    names = {path: Path(path).name for path in sources}
    unique = len(set(names.values())) == len(names)
    return {names[path] if unique else path: sha256 for path, sha256 in sources.items()}


@dataclass(frozen=True)
class _Test:
    """A listening test with normalised ratings."""

    ratings: Ratings
    normalised: FloatArray
    systems: tuple[str, ...]
    protocol: Protocol

    def of(
        self,
        quantity: str,
        system: str,
        data_set: str | None = None,
        gender: str | None = None,
    ) -> NDArray[np.bool_]:
        """Which ratings are of a quantity and system (and data set and gender)."""
        r = self.ratings
        metric = SIMILARITY if quantity.startswith(SIMILARITY) else quantity
        kept: NDArray[np.bool_] = (r.metric == metric) & (r.system == system)
        if quantity == "similarity_same_speaker":
            kept &= r.same_speaker == 1
        elif quantity == "similarity_different_speaker":
            kept &= r.same_speaker == 0
        if data_set is not None:
            kept &= r.data_set == data_set
        if gender is not None:
            kept &= r.gender == gender
        return kept


def _distributions(test: _Test) -> tuple[tuple[Distribution, ...], tuple[FloatArray, ...]]:
    found, densities = [], []
    at = np.linspace(0, 1, _DENSITY_POINTS)
    for quantity, system in itertools.product(QUANTITIES, test.systems):
        kept = test.of(quantity, system)
        if not kept.any():
            continue
        scores = test.normalised[kept]
        lower, median, upper = np.quantile(scores, [0.25, 0.5, 0.75])
        found.append(
            Distribution(
                quantity,
                system,
                scores.size,
                float(scores.mean()),
                float(lower),
                float(median),
                float(upper),
                float(test.ratings.score[kept].mean()),
            )
        )
        densities.append(_density(scores, at))
    return tuple(found), tuple(densities)


def _density(scores: FloatArray, at: FloatArray) -> FloatArray:
    """Gaussian kernel density by Scott's rule, kernels no narrower than 0.02; 0 outside the
    range of the scores, but at the point next to either end."""
    deviation = float(np.std(scores, ddof=1)) if scores.size > 1 else 0.0
    width = max(deviation * scores.size**-0.2, _NARROWEST)
    if deviation > 0:
        density = scipy.stats.gaussian_kde(scores, bw_method=width / deviation)(at)
    else:
        density = np.exp(-0.5 * ((at - scores[0]) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    half = 0.51 / (at.size - 1)  # so that there is such a point
    outside = (at < scores.min() - half) | (at > scores.max() + half)
    return np.where(outside, 0.0, np.asarray(density, dtype=np.float64))


def _tests(test: _Test, quantity: str) -> Iterator[SystemTest]:
    """The tests between every two systems that have ratings of a quantity."""
    samples = {s: test.normalised[test.of(quantity, s)] for s in test.systems}
    pairs = list(itertools.combinations((s for s in samples if samples[s].size), 2))
    found = [mann_whitney(samples[one], samples[other]) for one, other in pairs]
    corrected = holm_corrected([p for _, p in found])
    for (one, other), (statistic, p), p_holm in zip(pairs, found, corrected, strict=True):
        yield SystemTest(quantity, one, other, statistic, p, p_holm)


def _detections(test: _Test) -> tuple[tuple[Detection, ...], tuple[Det, ...]]:
    protocol = test.protocol
    data_sets = [d.id for d in protocol.data_sets]
    genders = [None, *protocol.genders]
    places = [(None, None), *((d, None) for d in data_sets)]
    in_detail = [*places, *((d, g) for d in data_sets for g in genders if g is not None)]
    found, curves = [], []
    for quantity in (*QUANTITIES, SIMILARITY):
        for system in test.systems:
            if system == ORIGINAL_SYSTEM and quantity in METRICS[:2]:
                continue
            for data_set, gender in in_detail if quantity == SIMILARITY else places:
                target, nontarget = (
                    test.normalised[test.of(kind, whose, data_set, gender)]
                    for kind, whose in _task(quantity, system)
                )
                if not (target.size and nontarget.size):
                    continue
                scores = TrialScores(target, nontarget)
                keys = DETECTION_METRICS[: None if quantity == SIMILARITY else 2]
                metrics: dict[str, Mapping[str, float]] = {}
                for variant in VARIANTS:
                    values = score_metrics(scores, variant=variant)
                    metrics[variant] = {key: values[key] for key in keys}
                curve = det_curve(scores)
                found.append(
                    Detection(
                        quantity,
                        system,
                        data_set,
                        gender,
                        scores.n_target,
                        scores.n_nontarget,
                        metrics,
                        _equal_rates(curve),
                    )
                )
                curves.append(curve)
    return tuple(found), tuple(curves)


def _equal_rates(curve: Det) -> float:
    """The rate at which a curve's miss and false-alarm rates are equal, between two of its
    points on the straight line that joins them."""
    after = int(np.argmax(curve.miss >= curve.false_alarm))
    before = curve.false_alarm[after - 1] - curve.miss[after - 1]
    share = before / (before + curve.miss[after] - curve.false_alarm[after])
    return float(curve.miss[after - 1] + share * (curve.miss[after] - curve.miss[after - 1]))


def _task(quantity: str, system: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Quantity and system of the targets, and of the nontargets.

    Of similarity the supplement (section 4.3) does not say what is set against the pairs of
    one kind: here the other kind of original speech.
    """
    same, different = QUANTITIES[2:]
    if quantity == SIMILARITY:
        return (same, system), (different, system)
    if quantity == same:
        return (same, system), (different, ORIGINAL_SYSTEM)
    if quantity == different:
        return (same, ORIGINAL_SYSTEM), (different, system)
    return (quantity, ORIGINAL_SYSTEM), (quantity, system)


def _evaluators(test: _Test, min_ratings: int, min_agreement: float) -> tuple[Evaluator, ...]:
    r = test.ratings
    # What should be rated alike: similarity by the kind of pair, too.
    of_pair = np.where(r.metric == SIMILARITY, r.same_speaker, -1)
    item = joint_codes([r.metric, r.system, of_pair])
    count = np.bincount(item)
    total = np.bincount(item, weights=test.normalised)
    found = []
    for name in sorted(set(r.evaluator.tolist())):
        of_name = r.evaluator == name
        own_count = np.bincount(item[of_name], minlength=count.size)
        own_total = np.bincount(item[of_name], test.normalised[of_name], minlength=count.size)
        others = count - own_count
        mean = np.divide(total - own_total, others, where=others > 0, out=np.zeros(count.size))
        for metric in METRICS:
            rows = np.flatnonzero(of_name & (r.metric == metric))
            if not rows.size:
                continue
            scores = r.score[rows]
            known = rows[others[item[rows]] > 0]
            # Rounded, as equal sums of floats in another order need not be equal.
            agreement = _correlation(r.score[known], mean[item[known]].round(9))
            values = len(set(scores.tolist()))
            flags = []
            if values == 1 and rows.size > 1:
                flags.append(ONE_VALUE)
            if rows.size < min_ratings:
                flags.append(FEW_RATINGS)
            elif agreement is not None and agreement < min_agreement:
                flags.append(DISAGREES)
            found.append(
                Evaluator(
                    name,
                    metric,
                    rows.size,
                    float(scores.min()),
                    float(scores.max()),
                    float(scores.mean()),
                    values,
                    agreement,
                    tuple(flags),
                )
            )
    return tuple(found)


def _correlation(one: FloatArray, other: FloatArray) -> float | None:
    """Spearman's, where there is one."""
    if one.size < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(scipy.stats.spearmanr(one, other).statistic)
