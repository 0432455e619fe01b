"""Evaluation of the ratings of a listening test.

Ratings are converted to normalized ranks per evaluator, which are comparable. Results are their
distributions, significance tests between systems, detection error trade-offs, metrics of
speaker verification by human listeners, and checks of the evaluators (sections 4 and 5 of the
VoicePrivacy 2020 supplement). Mean opinion scores are of the ratings as given.

Similarity ratings of same-speaker and different-speaker pairs are evaluated separately but ranked
together, as evaluators were not told the kind of pair. Ratings have many ties: `exact` is the
variant to report; `challenge` is also computed.

References: Rosenberg & Ramabhadran (2017) for normalized ranks and the Mann-Whitney U test;
Holm (1979); Martin et al. (1997) for DET curves.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..choices import ORIGINAL_SYSTEM, RATING_METRICS
from ..errors import PrivacyEvalError
from ..metrics import VARIANTS, TrialScores, score_metrics
from ..metrics.confidence import holm
from ..metrics.detection import det_curve
from ..metrics.eer import equal_rate
from ..metrics.pav import FloatArray
from ..protocol.protocol import Protocol
from ..results.measurements import PRESENT, RANKS, Measurements, Row, measured
from ..version import __version__
from . import MIN_AGREEMENT, MIN_RATINGS
from .opinions import mean_opinion, opinion_difference, rating_variances
from .ratings import Ratings, joint_codes, read_ratings

#: Rated quantities: similarity by the kind of pair.
QUANTITIES = (
    "naturalness",
    "intelligibility",
    "similarity_same_speaker",
    "similarity_different_speaker",
)

#: Speaker verification by similarity ratings of both kinds of pairs of one system.
SIMILARITY = "similarity"

#: Task, system, data set and gender of a detection; the last two are None if pooled.
PLACE = ("quantity", "system", "data_set", "gender")

#: Metrics of speaker verification by similarity ratings; other tasks have the EERs only.
DETECTION_METRICS = ("eer", "rocch_eer", "cllr_min", "cllr")

#: Numbers of an evaluator's ratings of a metric.
EVALUATOR_METRICS = (
    "rating_lowest",
    "rating_highest",
    "rating_mean",
    "rating_values",
    "agreement",
)

ONE_VALUE, FEW_RATINGS, DISAGREES = "one value", "few ratings", "disagrees"

_SAME_SPEAKER = {"similarity_same_speaker": 1, "similarity_different_speaker": 0}

_DENSITY_POINTS = 101

_MIN_BANDWIDTH = 0.02  # standard deviation of a kernel


def rated_speakers(ratings: Ratings) -> tuple[NDArray[np.str_], str]:
    """Return the speaker of each rating, and what it is called.

    Without the column `speaker` it is the beginning of the trial's id, as in LibriSpeech and VCTK:
    up to the first `/`, else `-`, else `_`. If that does not tell speakers, utterances
    count as such.
    """
    if (ratings.speaker != "").all():
        return ratings.speaker, "speakers"
    beginnings = list(map(_beginning, ratings.trial.tolist()))
    if all(beginnings) and len(set(beginnings)) > 1:
        return np.array(beginnings), "speakers"
    return ratings.trial, "utterances"


def _beginning(name: str) -> str:
    """Return an id up to its first separator; "" without one."""
    separator = next((s for s in "/-_" if s in name), "")
    return name.partition(separator)[0] if separator else ""


@dataclass(frozen=True)
class ListeningTest:
    """All results of a listening test.

    Attributes
    ----------
    protocol : Protocol
    systems : tuple of str
        In order, `Original` first if it was rated.
    split : str
        Of the protocol: the split of the rated speech.
    measurements : Measurements
        Rows by quantity and system: of normalized ratings mean and quartiles (`rank_mean` ...), U
        of `mann_whitney` against every other system, and metrics of detection tasks; of ratings as
        given the `opinion`, its difference against every other system, and the ratings of each
        evaluator, with the reasons to look at them as caveats.
    opinion_units : str
        "speakers", or "utterances" where the speakers are unknown.
    evaluators_left_out : tuple of str
        Excluded on request.
    min_ratings, min_agreement
        Thresholds below which evaluators are flagged.
    holm : bool
        Tables show p-values corrected for the number of pairs.
    reference : str or None
        System whose median is drawn across figures; None if only original speech was rated.
    provenance : mapping
        Version, scale, SHA-256 of the files of ratings.
    ignored_columns : tuple of str
        Columns of the files of ratings that mean nothing here.
    curves_sha256 : str or None
        Digest of the file of the curves, once written.
    """

    protocol: Protocol
    systems: tuple[str, ...]
    split: str
    measurements: Measurements
    opinion_units: str
    evaluators_left_out: tuple[str, ...]
    min_ratings: int
    min_agreement: float
    holm: bool
    reference: str | None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    ignored_columns: tuple[str, ...] = ()
    curves_sha256: str | None = None

    @functools.cached_property
    def distributions(self) -> Mapping[tuple[str, str], Mapping[str, float]]:
        """Mean and quartiles of the normalized ratings, by quantity and system."""
        groups = self.measurements.select(metric=RANKS).groups("quantity", "system")
        return {(q, s): {r["metric"]: r["value"] for r in of} for (q, s), of in groups.items()}

    @functools.cached_property
    def detections(self) -> Mapping[tuple[str | None, ...], list[dict[str, Any]]]:
        """The metrics of detection tasks, by `PLACE`."""
        return self.measurements.select(n_target=PRESENT).groups(*PLACE)

    @functools.cached_property
    def evaluators(self) -> Sequence[Row]:
        """All numbers of an evaluator's ratings of a quantity, by metric, and its flags, in one
        row."""
        groups = self.measurements.select(evaluator=PRESENT).groups("evaluator", "quantity")
        return [
            {**of[0], **{r["metric"]: r.get("value") for r in of}}
            | {"flags": tuple(of[0].get("caveats", {}).values())}
            for of in groups.values()
        ]

    @property
    def n_evaluators(self) -> int:
        """Number of evaluators with ratings."""
        return len(self.measurements.values("evaluator"))

    @property
    def n_ratings(self) -> Mapping[str, int]:
        """Numbers of ratings, by metric."""
        numbers: Counter[str] = Counter()
        for row in self.evaluators:
            numbers[row["quantity"]] += row["n_ratings"]
        return numbers

    @property
    def flagged(self) -> Sequence[Row]:
        """Evaluators with flags."""
        return [e for e in self.evaluators if e["flags"]]


@dataclass(frozen=True)
class ListeningTestCurves:
    """Arrays of the figures.

    Attributes
    ----------
    at : float array, shape (P,)
        Normalized ratings from 0 to 1 at which densities are given.
    densities : mapping to float arrays, shape (P,)
        Density of the ratings by quantity and system, 0 outside their range.
    det : mapping to (float array, float array)
        Curve of each detection task by `PLACE`.
    """

    at: FloatArray
    densities: Mapping[tuple[str, str], FloatArray]
    det: Mapping[tuple[str | None, ...], tuple[FloatArray, FloatArray]]


def normalized_ranks(scores: ArrayLike, groups: ArrayLike) -> FloatArray:
    """Compute the normalized rank of every score in its group, (r - 1) / (n - 1), shape (R,).

    Tied scores share their average rank. Ranks are from 0 to 1, 0.5 on average; 0.5 in
    groups of equal scores and of a single score.

    Parameters
    ----------
    scores : array_like, shape (R,)
    groups : array_like, shape (R,)
        Evaluator (and metric) of each score.

    Examples
    --------
    >>> normalized_ranks([7, 9, 7, 3], ["ann", "ann", "ann", "bob"])
    array([0.25, 1.  , 0.25, 0.5 ])
    """
    values, names = np.asarray(scores, dtype=np.float64), np.asarray(groups)
    if names.shape != values.shape:
        raise ValueError(f"{values.size} scores but {names.size} groups")
    group = np.unique(names, return_inverse=True)[1].reshape(-1)
    ranks = np.full(values.size, 0.5)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if rows.size > 1:
            ranks[rows] = (scipy.stats.rankdata(values[rows]) - 1) / (rows.size - 1)
    return ranks


def mann_whitney(one: ArrayLike, other: ArrayLike) -> tuple[float, float]:
    """Compute U of the first sample and the two-sided p-value of a Mann-Whitney U test.

    Asymptotic for samples of any size, corrected for ties and continuity: ratings have many
    ties, which the exact distribution ignores. The p-value is 1 if all values are equal.

    Examples
    --------
    >>> statistic, p_value = mann_whitney([1, 2, 3], [3, 4, 5])
    >>> statistic, round(p_value, 4)
    (0.5, 0.1212)
    """
    x, y = (np.asarray(sample, dtype=np.float64) for sample in (one, other))
    if np.ptp(np.concatenate([x, y])) == 0:
        return x.size * y.size / 2, 1.0
    test = scipy.stats.mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
    return float(test.statistic), float(test.pvalue)


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
) -> tuple[ListeningTest, ListeningTestCurves]:
    """Evaluate a listening test.

    Parameters
    ----------
    ratings : Ratings
    protocol : Protocol
    systems : sequence of str
        Order of the systems; others follow in order of appearance.
    split : str, optional
        Of the rated speech; default: the protocol's last one.
    min_ratings, min_agreement
        Flag evaluators below these.
    leave_out : iterable of str
        Evaluators to exclude from all results.
    holm : bool
        Show corrected p-values in tables; results have both.
    reference : str, optional
        Default: the first system after original speech.

    Raises
    ------
    PrivacyEvalError
        Unknown split, unknown evaluator in `leave_out`, no remaining ratings, or a reference
        system without ratings.
    """
    split = protocol.splits[-1] if split is None else split
    if split not in protocol.splits:
        raise PrivacyEvalError(
            f"no split {split!r} in protocol {protocol.name}; known: {', '.join(protocol.splits)}"
        )
    excluded = tuple(dict.fromkeys(leave_out))
    ratings = _without(ratings, excluded)
    rated = dict.fromkeys(ratings.system.tolist())
    order = tuple(s for s in dict.fromkeys((ORIGINAL_SYSTEM, *systems, *rated)) if s in rated)
    if reference is None:
        reference = next((s for s in order if s != ORIGINAL_SYSTEM), None)
    elif reference not in order:
        raise PrivacyEvalError(
            f"no ratings of the reference system {reference!r}; rated: {', '.join(order)}"
        )
    groups = joint_codes([ratings.metric, ratings.evaluator])
    pool = _Pool(ratings, normalized_ranks(ratings.score, groups), order)
    points = np.linspace(0, 1, _DENSITY_POINTS)
    speakers, units = rated_speakers(ratings)
    tasks = dict(_detection_tasks(pool, protocol))
    curves = {place: det_curve(scores) for place, scores in tasks.items()}
    rows = itertools.chain(
        *(_distributions(pool, quantity) for quantity in QUANTITIES),
        *(_significance(pool, quantity) for quantity in QUANTITIES),
        *(_detections(place, scores, curves[place]) for place, scores in tasks.items()),
        *(_opinions(pool, quantity, speakers) for quantity in QUANTITIES),
        _evaluators(pool, min_ratings, min_agreement),
    )
    test = ListeningTest(
        protocol=protocol,
        systems=order,
        split=split,
        measurements=Measurements.of(rows),
        opinion_units=units,
        evaluators_left_out=excluded,
        ignored_columns=ratings.ignored_columns,
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
    densities = {
        (quantity, system): _density(pool.normalized[selected], points)
        for quantity in QUANTITIES
        for system, selected in pool.rated(quantity).items()
    }
    return test, ListeningTestCurves(points, densities, curves)


def pilot_variances(paths: Sequence[Path]) -> tuple[FloatArray, FloatArray | None, int]:
    """Read ratings, and average the variances of `rating_variances` over quantities and systems
    without original speech, and over pairs of these; with the fewer of listeners and speakers.

    Raises
    ------
    PrivacyEvalError
        One listener or speaker only, or ratings that are all equal.
    """
    ratings = read_ratings(paths)
    speakers, _ = rated_speakers(ratings)
    systems = tuple(dict.fromkeys(ratings.system[ratings.system != ORIGINAL_SYSTEM].tolist()))
    pool, ones, others = _Pool(ratings, ratings.score, systems), [], []
    for quantity in QUANTITIES:
        samples = [
            (ratings.score[of], ratings.evaluator[of], speakers[of])
            for of in pool.rated(quantity).values()
        ]
        ones += [rating_variances(sample) for sample in samples]
        others += [rating_variances(*two) for two in itertools.combinations(samples, 2)]
    known = [one for one in ones if sum(one) > 0]
    fewest = min(np.unique(names).size for names in (ratings.evaluator, speakers))
    if not known:
        raise PrivacyEvalError(
            f"{paths[0]}: ratings that are all equal, or of one listener or speaker, do not tell "
            "how ratings vary: collect more, or leave --ratings out"
        )
    return np.mean(known, axis=0), np.mean(others, axis=0) if others else None, fewest


def _without(ratings: Ratings, excluded: Sequence[str]) -> Ratings:
    """Exclude the ratings of some evaluators."""
    for name in excluded:
        if name not in ratings.evaluator:
            raise PrivacyEvalError(f"cannot leave out {name!r}: no such evaluator")
    ratings = ratings.take(~np.isin(ratings.evaluator, excluded))
    if not len(ratings):
        raise PrivacyEvalError("no remaining ratings")
    return ratings


def _by_name(sources: Mapping[str, str]) -> dict[str, str]:
    """Return digests by file name, independent of the folder, or by path if two files share a
    name."""
    names = {path: Path(path).name for path in sources}
    unique = len(set(names.values())) == len(names)
    return {names[path] if unique else path: sha256 for path, sha256 in sources.items()}


@dataclass(frozen=True)
class _Pool:
    """Ratings with their normalized ranks, and the systems in order."""

    ratings: Ratings
    normalized: FloatArray
    systems: tuple[str, ...]

    def select(
        self, quantity: str, system: str, data_set: str | None = None, gender: str | None = None
    ) -> NDArray[np.bool_]:
        """Select ratings of a quantity and system (and data set and gender)."""
        r = self.ratings
        metric = SIMILARITY if quantity in _SAME_SPEAKER else quantity
        selected: NDArray[np.bool_] = (r.metric == metric) & (r.system == system)
        required = (
            (r.same_speaker, _SAME_SPEAKER.get(quantity)),
            (r.data_set, data_set),
            (r.gender, gender),
        )
        for column, value in required:
            if value is not None:
                selected &= column == value
        return selected

    def rated(self, quantity: str) -> dict[str, NDArray[np.bool_]]:
        """Select the ratings of a quantity, by system with any."""
        selections = {system: self.select(quantity, system) for system in self.systems}
        return {system: chosen for system, chosen in selections.items() if chosen.any()}


def _distributions(pool: _Pool, quantity: str) -> Iterator[Row]:
    """Yield mean and quartiles of the normalized ratings of a quantity, by system."""
    for system, selected in pool.rated(quantity).items():
        scores = pool.normalized[selected]
        values = (scores.mean(), *np.quantile(scores, [0.25, 0.5, 0.75]))
        of: dict[str, Any] = {"quantity": quantity, "system": system, "n_ratings": scores.size}
        for metric, value in zip(RANKS, values, strict=True):
            yield measured(metric, float(value), **of)
        yield measured("rating_mean", float(pool.ratings.score[selected].mean()), **of)


def _density(scores: FloatArray, points: FloatArray) -> FloatArray:
    """Estimate a Gaussian kernel density by Scott's rule, with a bandwidth of at least 0.02; 0
    outside the range of the scores, except at the points next to its ends."""
    deviation = float(np.std(scores, ddof=1)) if scores.size > 1 else 0.0
    width = max(deviation * scores.size**-0.2, _MIN_BANDWIDTH)
    if deviation > 0:
        density = scipy.stats.gaussian_kde(scores, bw_method=width / deviation)(points)
    else:
        density = np.exp(-0.5 * ((points - scores[0]) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    half = 0.51 / (points.size - 1)  # more than half a step, so that no density is 0 everywhere
    outside = (points < scores.min() - half) | (points > scores.max() + half)
    return np.where(outside, 0.0, np.asarray(density, dtype=np.float64))


def _significance(pool: _Pool, quantity: str) -> Iterator[Row]:
    """Test every two systems with ratings of a quantity."""
    samples = {s: pool.normalized[selected] for s, selected in pool.rated(quantity).items()}
    pairs = list(itertools.combinations(samples, 2))
    tests = [mann_whitney(samples[one], samples[other]) for one, other in pairs]
    corrected = holm([p for _, p in tests])
    for (system, other), (u, p), p_holm in zip(pairs, tests, corrected, strict=True):
        of: dict[str, Any] = {"quantity": quantity, "system": system, "against": other}
        yield measured("mann_whitney", u, **of, p=p, p_corrected=p_holm)


def _opinions(pool: _Pool, quantity: str, speakers: NDArray[np.str_]) -> Iterator[Row]:
    """Yield the mean opinion score of each system, with its interval within the scale, and the
    comparison of every two systems."""
    r, samples = pool.ratings, {}
    for system, of in pool.rated(quantity).items():
        samples[system] = (r.score[of], r.evaluator[of], speakers[of])
        mean = mean_opinion(*samples[system])
        ends = (mean.low, mean.high)
        yield measured(
            "opinion",
            mean.value,
            [None if end is None else float(np.clip(end, *r.scale)) for end in ends],
            quantity=quantity,
            system=system,
            n_ratings=int(np.count_nonzero(of)),
            n_listeners=np.unique(r.evaluator[of]).size,
            n_speakers=np.unique(speakers[of]).size,
        )
    pairs = list(itertools.combinations(samples, 2))
    tests = [opinion_difference(samples[one], samples[other]) for one, other in pairs]
    corrected = iter(holm([t.p_value for t in tests if t.p_value is not None]))
    for (system, other), t in zip(pairs, tests, strict=True):
        of_pair = {"quantity": quantity, "system": system, "against": other, "p": t.p_value}
        p_holm = None if t.p_value is None else next(corrected)
        yield measured("opinion", t.value, (t.low, t.high), **of_pair, p_corrected=p_holm)


def _detection_tasks(
    pool: _Pool, protocol: Protocol
) -> Iterator[tuple[tuple[str | None, ...], TrialScores]]:
    """Yield the places of detection tasks with trials of both classes, and their scores."""
    data_sets: list[str | None] = [d.id for d in protocol.data_sets]
    pooled: list[tuple[str | None, str | None]] = [(d, None) for d in (None, *data_sets)]
    detailed = [*pooled, *itertools.product(data_sets, protocol.genders)]
    for quantity, system in itertools.product((*QUANTITIES, SIMILARITY), pool.systems):
        for trial_set in detailed if quantity == SIMILARITY else pooled:
            scores = _scores(pool, quantity, system, trial_set)
            if scores is not None:
                yield (quantity, system, *trial_set), scores


def _detections(
    place: tuple[str | None, ...], scores: TrialScores, curve: tuple[FloatArray, FloatArray]
) -> Iterator[Row]:
    """Yield the metrics of a detection task by variant, and the equal error rate of its DET curve,
    on which ties are broken at random.

    Naturalness and intelligibility: original speech (target) against the system's.
    `similarity_same_speaker`: the system's same-speaker pairs (target) against different-speaker
    pairs of original speech; `similarity_different_speaker`: same-speaker pairs of original speech
    (target) against the system's different-speaker pairs. `similarity`: both kinds of pairs of the
    system, as in speaker verification. Normalized ratings are used as LLRs, as in the supplement's
    Table 18.
    """
    of: dict[str, Any] = dict(zip(PLACE, place, strict=True))
    of |= {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}
    for variant in VARIANTS:
        values = score_metrics(scores, variant=variant)
        for key in detection_metrics(of["quantity"]):
            yield measured(key, values[key], **of, variant=variant)
    yield measured("curve_eer", equal_rate(*curve), **of)


def detection_metrics(quantity: str | None) -> tuple[str, ...]:
    """List the metrics of a detection task."""
    return DETECTION_METRICS if quantity == SIMILARITY else DETECTION_METRICS[:2]


def _scores(
    pool: _Pool, quantity: str, system: str, trial_set: tuple[str | None, str | None]
) -> TrialScores | None:
    """Normalized ratings of targets and nontargets of a task; None if either has none.

    The supplement (section 4.3) does not define the other class of tasks on one kind of pairs:
    here it is the other kind of pairs of original speech.
    """
    same, different = QUANTITIES[2:]
    if quantity == SIMILARITY:
        target, nontarget = (same, system), (different, system)
    elif quantity == same:
        target, nontarget = (same, system), (different, ORIGINAL_SYSTEM)
    elif quantity == different:
        target, nontarget = (same, ORIGINAL_SYSTEM), (different, system)
    else:
        target, nontarget = (quantity, ORIGINAL_SYSTEM), (quantity, system)
    classes = [pool.normalized[pool.select(*c, *trial_set)] for c in (target, nontarget)]
    if target == nontarget or not all(c.size for c in classes):
        return None
    return TrialScores(*classes)


def _evaluators(pool: _Pool, min_ratings: int, min_agreement: float) -> Iterator[Row]:
    """Yield the numbers of each evaluator's ratings of a quantity, on the scale of the test, and
    the agreement: Spearman's correlation with the other evaluators' mean normalized rating of the
    same system (for similarity: and kind of pair); None if either is constant."""
    r = pool.ratings
    # An item is a metric and system, for similarity also the kind of pair.
    kind_of_pair = np.where(r.metric == SIMILARITY, r.same_speaker, -1)
    item = joint_codes([r.metric, r.system, kind_of_pair])
    items = int(item.max()) + 1

    def sums(rows: NDArray[np.bool_]) -> FloatArray:
        weights = (np.ones(len(r)), pool.normalized)
        return np.array([np.bincount(item[rows], w[rows], items) for w in weights])

    total = sums(np.ones(len(r), dtype=np.bool_))
    for name in sorted(set(r.evaluator.tolist())):
        by_evaluator = r.evaluator == name
        others, sum_of_others = total - sums(by_evaluator)
        mean = np.divide(sum_of_others, others, where=others > 0, out=np.zeros(items))
        for metric in RATING_METRICS:
            rows = np.flatnonzero(by_evaluator & (r.metric == metric))
            if not rows.size:
                continue
            scores = r.score[rows]
            compared = rows[others[item[rows]] > 0]
            # Rounded, as sums of the same numbers in another order may differ.
            agreement = _correlation(r.score[compared], mean[item[compared]].round(9))
            values = np.unique(scores).size
            flags = [ONE_VALUE] if values == 1 < rows.size else []
            if rows.size < min_ratings:
                flags.append(FEW_RATINGS)
            elif agreement is not None and agreement < min_agreement:
                flags.append(DISAGREES)
            of: dict[str, Any] = {"evaluator": name, "quantity": metric, "n_ratings": rows.size}
            of["caveats"] = {flag.replace(" ", "_"): flag for flag in flags} or None
            numbers = map(float, (scores.min(), scores.max(), scores.mean(), values))
            for key, number in zip(EVALUATOR_METRICS, (*numbers, agreement), strict=True):
                yield measured(key, number, **of)


def _correlation(one: FloatArray, other: FloatArray) -> float | None:
    """Compute Spearman's correlation; None if either is constant."""
    if one.size < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(scipy.stats.spearmanr(one, other).statistic)
