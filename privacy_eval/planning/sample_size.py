"""Expected widths of 95 % intervals, and the power to tell two systems, by the number of speakers.

Estimates of S speakers have a standard error e = sigma / sqrt(S). Their interval is 2 t e wide, t
of Student's distribution with S - 1 degrees of freedom. That is the expanded percentile interval
(Hesterberg 2015) of estimates that are normal. The paired test of two systems at 5 % finds a
difference d with the power of a noncentral t distribution, shifted by d / e of the difference.

A pilot gives sigma of one system and of the difference of two: by the bootstrap over its speakers,
or for DeID by the jackknife over them (Efron and Tibshirani 1993, chapters 6 and 11). Its number
of utterances and trials per speaker is kept. Without a pilot, scores are simulated and
bootstrapped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, nctdtr, stdtrit

from ..metrics.confidence import BootstrapReplicates, speaker_bootstrap
from ..metrics.pav import FloatArray
from ..metrics.trials import Trials
from ..numbers.report_data import main_split
from ..protocol.protocol import ORIGINAL, Recognition
from ..results.arrays import StoredArrays
from ..results.records import Record, Results
from ..simulate.models import ScoreModel, simulate_trials

#: Standard deviations of effects of speakers and of pairs, relative to that within pairs: medians
#: of six score sets of 43 to 45 LibriSpeech speakers, a d-vector network and PLDA, are 0.8 to 1.1.
_EFFECTS = {"target_speaker": 1.0, "enrolled_speaker": 1.0, "trial_speaker": 1.0, "pair": 1.0}
#: Assumptions: EER of original speech, words per utterance, deviation of speakers' logit WERs.
ORIGINAL_EER, WORDS, WER_SPREAD = 0.05, 20, 0.5
#: Assumed variances of ratings from 1 to 10: over listeners, over speakers, within pairs.
RATING_VARIANCES = (1.0, 0.25, 2.25)
#: Replicates of a simulated draw; scores of speakers in all draws; the fewest and most draws.
_REPLICATES, _SPEAKERS, _DRAWS = 100, 3000, (15, 60)
#: The power that is usually asked for.
ENOUGH = 0.8


@dataclass(frozen=True)
class Spread:
    """The standard error of a metric, of one system and of the difference of two.

    Attributes
    ----------
    metric : str
    error, difference : float
        Fractions, or ratings.
    relative : float
        Standard error of both, relative to them.
    pairs : int
        Pairs of systems that the difference comes from; 0: of an assumed correlation.
    """

    metric: str
    error: float
    difference: float
    relative: float
    pairs: int = 0

    def times(self, factor: float) -> Spread:
        """Scale the errors."""
        return replace(self, error=self.error * factor, difference=self.difference * factor)


def expected(spread: Spread, freedom: int, difference: float) -> dict[str, Any]:
    """Compute the width of the interval and the power, both with 95 % bounds for the uncertainty
    of the standard error.

    Parameters
    ----------
    spread : Spread
    freedom : int
        Degrees of freedom.
    difference : float
        True difference of two systems, in the unit of the metric.

    Returns
    -------
    dict
        A row.

    Examples
    --------
    >>> row = expected(Spread("eer", 0.01, 0.01, 0.0), 39, 0.02)
    >>> round(row["width"], 4), round(row["power"], 2)
    (0.0405, 0.5)
    """
    bounds = np.maximum(1 + 1.96 * spread.relative * np.array([-1, 0, 1]), 0)
    low, width, high = (2 * stdtrit(freedom, 0.975) * spread.error * bounds).tolist()
    most, power, least = student_power(difference, spread.difference * bounds, freedom).tolist()
    of_width = {"width": width, "width_low": low, "width_high": high}
    of_power = {"power": power, "power_low": least, "power_high": most}
    return {"metric": spread.metric, **of_width, **of_power}


def student_power(difference: float, error: ArrayLike, freedom: ArrayLike) -> FloatArray:
    """Compute the power of a two-sided t-test at 5 %.

    Parameters
    ----------
    difference : float
        At least 0.
    error : array_like
        Standard error of the difference; without error the power is 1.
    freedom : array_like

    Examples
    --------
    >>> student_power(1.0, [0.0, 0.3, np.inf], 39).round(2)
    array([1.  , 0.9 , 0.05])
    """
    with np.errstate(divide="ignore"):
        shift = difference / np.asarray(error, dtype=np.float64)
    critical = stdtrit(freedom, 0.975)
    missed, wrong = (nctdtr(freedom, np.minimum(shift, 30), t) for t in (critical, -critical))
    # The lower tail is not computed where it is tiny.
    return np.asarray(np.clip(1 - np.nan_to_num(missed) + np.nan_to_num(wrong), 0, 1))


def speakers_needed(spread: Spread, difference: float) -> float:
    """Compute about how many speakers give a power of 80 %.

    Parameters
    ----------
    spread : Spread
        Of one speaker: errors fall with the square root of the number.
    difference : float

    Returns
    -------
    float
        With two significant digits; inf above 100,000.

    Examples
    --------
    >>> speakers_needed(Spread("eer", 0.1, 0.1, 0.0), 0.02)
    200.0
    """
    sizes = np.unique(np.geomspace(2, 1e5, 4000).astype(np.int64))
    powers = student_power(difference, spread.difference / np.sqrt(sizes), sizes - 1)
    enough = sizes[powers >= ENOUGH]
    return float(f"{enough[0]:.2g}") if enough.size else np.inf


# Pilots


class Estimate(NamedTuple):
    """A metric of a trial set of a pilot: whose scores (trial sets of one enrollment have the same
    people), its system, its number of speakers and standard error, and the replicates of what
    trial set, if they are there."""

    metric: str
    people: str
    system: str
    speakers: int
    error: float
    trial_set: str
    replicates: BootstrapReplicates | None


def standard_error(replicates: FloatArray, speakers: int) -> float:
    """Compute the standard error that bootstrap replicates give: resampling S speakers understates
    it by sqrt((S - 1) / S).

    Examples
    --------
    >>> round(standard_error(np.array([0.2, 0.4, 0.2, 0.4]), 5), 4)
    0.1118
    """
    return float(np.std(replicates) * np.sqrt(speakers / (speakers - 1)))


def deid_jackknife(oo: FloatArray, oa: FloatArray) -> FloatArray:
    """Compute DeID without each speaker in turn, scaled so that its standard deviation is that of
    bootstrap replicates.

    Parameters
    ----------
    oo, oa : float array, shape (S, S)
        Voice similarity matrices of at least three speakers.

    Returns
    -------
    float array, shape (S,)

    Examples
    --------
    >>> deid_jackknife(np.eye(3), np.eye(3) / 4)
    array([0.75, 0.75, 0.75])
    """

    def d_diag(matrix: FloatArray) -> FloatArray:
        size, diagonal = len(matrix) - 1, np.diagonal(matrix)
        within = np.trace(matrix) - diagonal
        every = matrix.sum() - matrix.sum(axis=0) - matrix.sum(axis=1) + diagonal
        return np.asarray(np.abs(within / size - (every - within) / (size * (size - 1))))

    without, speakers = 1 - d_diag(oa) / d_diag(oo), len(oo)
    centre = without.mean()
    return np.asarray(centre + (without - centre) * (speakers - 1) / np.sqrt(speakers))


#: Metrics by the kind of records.
_METRICS = {
    "verification": ("eer", "linkability"),
    "similarity": ("deid",),
    "recognition": ("wer",),
}


def estimates_of(results: Results, arrays: StoredArrays) -> Iterator[Estimate]:
    """Yield what a pilot has of anonymized speech of its test set.

    Scores are those of the challenge's own attacker under the attack model of its averages. Where
    the replicates are missing, the standard error is half the width of the interval by t.

    Parameters
    ----------
    results : Results
    arrays : StoredArrays
        Replicates and matrices of these results.

    Yields
    ------
    Estimate
        None of fewer than two speakers, for DeID three.
    """
    protocol, variant = results.protocol, results.protocol.variant
    enrolled = {data_set.id: data_set.enrollment for data_set in protocol.data_sets}
    split = main_split(protocol, results.records())
    for record in results.records():
        c = record.condition
        if c.split != split or not protocol.gender_weights.get(c.gender, 1):
            continue  # genders without weight are parts of another set
        is_meant = record.kind == "similarity" or c.trial != ORIGINAL
        if record.kind == "verification":
            is_meant = c.is_by_challenge and c.attack_model == protocol.average_attack_model
        for metric in _METRICS.get(record.kind, ()) if is_meant else ():
            drawn = _replicates(record, metric, arrays, protocol.recognition, variant)
            bounds = record.intervals(variant).get(metric)
            speakers = record.facts.get("n_speakers", 0) if drawn is None else drawn.n_speakers
            if speakers < 2 or (drawn is None and bounds is None):
                continue
            error = bounds and (bounds[1] - bounds[0]) / 2 / float(stdtrit(speakers - 1, 0.975))
            if drawn is not None:
                error = standard_error(drawn.values[metric], speakers)
            people = f"{enrolled.get(c.data_set, c.data_set)} {c.gender}"
            trial_set = f"{c.data_set} {c.gender} {c.asv_model}"
            yield Estimate(metric, people, c.system, speakers, error or 0.0, trial_set, drawn)


def _replicates(
    record: Record, metric: str, arrays: StoredArrays, recognition: Recognition, variant: str
) -> BootstrapReplicates | None:
    """Return the replicates of a metric of a record; of words, of the averages' recognizer."""
    if record.kind == "verification":
        return arrays.replicates(record, variant, metric)
    if record.kind == "similarity":
        of = arrays.of(record) or {}
        oo, oa = (of.get(f"{variant}_{name}", np.zeros((0, 0))) for name in ("oo", "oa"))
        if len(oo) < 3:
            return None
        names = str(of["speakers"].tolist())
        return BootstrapReplicates({metric: deid_jackknife(oo, oa)}, len(oo), names, 0)
    sums, used = record.speaker_sums(metric), recognition.average_model or record.facts["asr_model"]
    wanted = {"language_model": recognition.average, "asr_model": used}
    if (
        sums is None
        or np.count_nonzero(sums.counts) < 2
        or not wanted.items() <= record.facts.items()
    ):
        return None
    drawn = replace(sums, replicates=max(sums.replicates, 1000)).bootstrap()
    return replace(drawn, values={metric: drawn.values["rate"]}, design=f"{drawn.design} {used}")


def pooled(estimates: Sequence[Estimate], correlation: float) -> Spread:
    """Pool estimates of a metric to the standard errors of one speaker, sqrt(S) those of S.

    Variances are averaged over trial sets and systems, those of differences over all two systems of
    the same draws. The relative error is sqrt(1 / (2 f) + 1 / (2 R)) of R replicates, where f is
    the sum of S - 1 over the people.

    Parameters
    ----------
    estimates : sequence of Estimate
    correlation : float
        Assumed where no two systems are paired.

    Examples
    --------
    >>> spread = pooled([Estimate("eer", "", "B1", 25, 0.02, "", None)], 0.5)
    >>> spread.error, round(spread.difference, 9), spread.pairs
    (0.1, 0.1, 0)
    """
    metric = estimates[0].metric
    error = np.sqrt(np.mean([one.error**2 * one.speakers for one in estimates]))
    drawn = [(one, one.replicates) for one in estimates if one.replicates is not None]
    pairs = [
        standard_error(of.values[metric] - other_of.values[metric], one.speakers) ** 2
        * one.speakers
        for number, (one, of) in enumerate(drawn)
        for other, other_of in drawn[:number]
        if one.system != other.system
        and one.trial_set == other.trial_set
        and (of.design, of.seed, of.values[metric].size)
        == (other_of.design, other_of.seed, other_of.values[metric].size)
    ]
    apart = np.sqrt(np.mean(pairs)) if pairs else error * np.sqrt(2 * (1 - correlation))
    freedom = sum({one.people: one.speakers - 1 for one in estimates}.values())
    sizes = [of.values[metric].size for _, of in drawn if metric != "deid"]
    relative = np.sqrt(0.5 / freedom + 0.5 / min(sizes, default=np.inf))
    return Spread(metric, float(error), float(apart), float(relative), len(pairs))


# The simulator


@dataclass(frozen=True)
class Design:
    """What is simulated: counts per speaker and utterance, rates in %, and the correlation of two
    systems' estimates."""

    utterances: int
    trials: int
    eer: float
    wer: float
    correlation: float
    seed: int


def simulated(design: Design, speakers: int, metrics: Collection[str]) -> list[Spread]:
    """Simulate draws of speakers, and their standard errors by bootstrap or jackknife.

    Scores have effects of speakers and of pairs of speakers. The similarities of DeID are of their
    means over utterances, as log-likelihood ratios of normal distributions of one variance.
    Speakers' word error rates differ normally, as logits.

    Parameters
    ----------
    design : Design
    speakers : int
        At least 3.
    metrics : collection of str
        Of "eer", "linkability", "deid", "wer".

    Returns
    -------
    list of Spread
        Means over draws, whose variation gives the relative error.
    """
    draws = int(np.clip(_SPEAKERS // speakers, *_DRAWS))
    generator = np.random.default_rng([design.seed, speakers])
    drawn = [_errors(design, speakers, generator, metrics) for _ in range(draws)]
    spreads = []
    for metric in drawn[0]:
        errors = np.array([of_draw[metric] for of_draw in drawn])
        mean, relative = errors.mean(), errors.std(ddof=1) / np.sqrt(draws)
        apart = mean * np.sqrt(2 * (1 - design.correlation))
        spreads.append(Spread(metric, float(mean), float(apart), float(relative / (mean or 1))))
    return spreads


def _errors(
    design: Design, speakers: int, generator: np.random.Generator, metrics: Collection[str]
) -> Mapping[str, float]:
    """Compute the standard errors of one draw."""
    found: dict[str, float] = {}
    if {"eer", "linkability", "deid"} & {*metrics}:
        trials, oa = _drawn(design, design.eer / 100, speakers, generator)
    if of_scores := [name for name in ("eer", "linkability") if name in metrics]:
        far = (trials.enrolled_speaker.codes - trials.trial_speaker.codes) % speakers
        drawn = speaker_bootstrap(
            trials.take(far <= design.trials),
            replicates=_REPLICATES,
            seed=int(generator.integers(1 << 31)),
            metrics=[f"exact {name}" for name in of_scores],
        )
        found = {n: standard_error(drawn.values[f"exact {n}"], speakers) for n in of_scores}
    if "deid" in metrics:
        _, oo = _drawn(design, ORIGINAL_EER, speakers, generator)
        found["deid"] = standard_error(deid_jackknife(oo, oa), speakers)
    if "wer" in metrics:
        rates = expit(logit(design.wer / 100) + WER_SPREAD * generator.standard_normal(speakers))
        words = WORDS * design.utterances
        errors = generator.binomial(words, rates) / words
        found["wer"] = float(errors.std(ddof=1) / np.sqrt(speakers))
    return found


def _drawn(
    design: Design, eer: float, speakers: int, generator: np.random.Generator
) -> tuple[Trials, FloatArray]:
    """Draw scores of all enrolled speakers against all utterances, and their similarity matrix."""
    model = ScoreModel.with_eer(eer, **_EFFECTS)
    spreads = np.array([model.target_deviation, model.nontarget_deviation])
    counts = {"enrolled": speakers, "speakers": speakers, "utterances": design.utterances}
    trials = simulate_trials(model, **counts, generator=generator)
    means = trials.score.reshape(speakers, speakers, -1).mean(axis=2)
    llr = model.separation * (means - model.separation / 2) / np.mean(spreads**2)
    return trials, np.asarray(expit(llr))


def spread_of_ratings(
    variances: ArrayLike, difference: ArrayLike, counts: ArrayLike, pilot: float = np.inf
) -> Spread:
    """Compute the standard error of a mean opinion score, and of the difference of two.

    Parameters
    ----------
    variances, difference : array_like, shape (3,)
        Variances of the ratings of one system, and of the difference of two, over listeners, over
        speakers, and within pairs of these.
    counts : array_like, shape (3,)
        Listeners, rated speakers, and ratings per system.
    pilot : float
        The fewer of a pilot's listeners and speakers, N: the relative error is 1 / sqrt(2 (N - 1)).

    Examples
    --------
    >>> spread_of_ratings([1.0, 0.25, 2.0], [0.5, 0.25, 4.0], [100, 25, 400]).error ** 2
    0.025
    """
    errors = np.sqrt(np.sum(np.array([variances, difference]) / np.asarray(counts), axis=1))
    of_one, of_two = errors.tolist()
    return Spread("opinion", of_one, of_two, float(np.sqrt(0.5 / (pilot - 1))))
