"""Expected widths and power: against fresh draws of own generators, by hand, and slowly."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support import B1, imported, recognized, similarity_record, verification_record

from privacy_eval.io.wer import WerLine
from privacy_eval.listening.opinions import mean_opinion, opinion_difference, rating_variances
from privacy_eval.metrics.confidence import (
    BootstrapReplicates,
    difference_p_value,
    speaker_bootstrap,
)
from privacy_eval.metrics.similarity import SimilarityMatrix
from privacy_eval.metrics.trials import Ids, Trials
from privacy_eval.metrics.utility import SpeakerErrors, ratio_bootstrap
from privacy_eval.planning.sample_size import (
    Design,
    Estimate,
    Spread,
    deid_jackknife,
    estimates_of,
    expected,
    pooled,
    simulated,
    speakers_needed,
    spread_of_ratings,
    standard_error,
    student_power,
)
from privacy_eval.tree.conditions import Condition

DRAWS = 300


def assert_as_stated(row: dict[str, Any], widths: list[float], p_values: list[float]) -> None:
    """Compare a stated width and power with those of 300 draws.

    The tolerance of the width is 4 standard errors of both means, plus 5 % for order statistics of
    few replicates, which stand for more. That of the power is 3 binomial standard errors, at
    most 0.087, beside the stated range.
    """
    mean, error = np.mean(widths), np.std(widths) / math.sqrt(len(widths))
    stated = (row["width_high"] - row["width_low"]) / 2 / 1.96
    assert abs(row["width"] - mean) < 4 * math.hypot(error, stated) + 0.05 * mean
    found = np.mean(np.array(p_values) < 0.05)
    slack = 3 * math.sqrt(0.25 / len(p_values))
    assert row["power_low"] - slack < found < row["power_high"] + slack


# Scores


SPEAKERS = 24
#: Enrolled and trial speakers: 4 utterances against their own speaker and the next 8.
PLACES = np.array(
    [(e % SPEAKERS, s) for s in range(SPEAKERS) for e in range(s, s + 9) for _ in range(4)]
).T


def drawn_scores(generator: np.random.Generator, means: tuple[float, float]) -> list[Trials]:
    """Two systems: effects of speakers and pairs, and noise, all of variance 1, are correlated by
    0.5."""

    def normal(*shape: int) -> np.ndarray:
        common, own = generator.standard_normal(shape), generator.standard_normal((2, *shape))
        return math.sqrt(0.5) * (common + own)

    own, enrolled, tried = (normal(SPEAKERS) for _ in range(3))
    e, s = PLACES
    effect = enrolled[:, e] + tried[:, s] + normal(SPEAKERS, SPEAKERS)[:, e, s]
    scores = np.where(e == s, own[:, s] + np.array(means)[:, None], effect) + normal(e.size)
    names = [str(speaker) for speaker in range(SPEAKERS)]
    of = {"enrolled_speaker": Ids(e, names), "trial_speaker": Ids(s, names)}
    return [Trials(score=score, label=e == s, **of) for score in scores]


def test_width_and_power_of_simulated_scores_are_those_of_fresh_draws() -> None:
    generator = np.random.default_rng(11)
    spread = math.sqrt(2) + 2  # of targets and of nontargets
    one, other = (-stats.norm.ppf(eer) * spread for eer in (0.24, 0.36))
    widths, correlations, p_values = [], [], []
    for draw in range(DRAWS):
        both = [
            speaker_bootstrap(t, replicates=399, seed=draw, metrics=["exact eer"])
            for t in drawn_scores(generator, (one, other))
        ]
        intervals = [of.interval("exact eer") for of in both]
        widths.append(np.mean([interval.high - interval.low for interval in intervals]))
        values = [of.values["exact eer"] for of in both]
        correlations.append(np.corrcoef(values)[0, 1])
        difference = values[1] - values[0]
        p_values.append(difference_p_value(difference, SPEAKERS))
    design = Design(4, 8, 30.0, 5.0, float(np.mean(correlations)), 0)
    (of_eer,) = simulated(design, SPEAKERS, ["eer"])
    row = expected(of_eer, SPEAKERS - 1, 0.12)
    assert_as_stated(row, widths, p_values)


def test_deid_varies_over_simulated_draws_as_the_jackknife_says() -> None:
    """300 fresh draws of similarity matrices, the same model in other words."""
    generator, speakers = np.random.default_rng(5), 20
    variance = 3.0  # mean of 2, of targets, and 4, of nontargets

    def matrices(eer: float) -> np.ndarray:
        separation = -stats.norm.ppf(eer) * (math.sqrt(2) + 2)
        shape = DRAWS, speakers, speakers
        rows, columns = (generator.normal(size=(DRAWS, speakers)) for _ in range(2))
        effect = rows[:, :, None] + columns[:, None, :] + generator.normal(size=shape)
        own = separation + generator.normal(size=(DRAWS, speakers))
        effect[:, np.arange(speakers), np.arange(speakers)] = own
        effect += generator.normal(size=shape) / math.sqrt(5)  # the mean of 5 utterances
        return 1 / (1 + np.exp(-separation * (effect - separation / 2) / variance))

    values = [
        1 - slow_d_diag(oa) / slow_d_diag(oo)
        for oo, oa in zip(matrices(0.05), matrices(0.3), strict=True)
    ]
    (of_deid,) = simulated(Design(5, 20, 30.0, 5.0, 0.5, 0), speakers, ["deid"])
    # The error of a standard deviation of 300 draws is 1 / sqrt(600); the jackknife is a little
    # too large, as it takes pairs for more variable.
    ratio = of_deid.error / np.std(values)
    assert 1 - 4 / math.sqrt(600) < ratio < 1.15 + 4 / math.sqrt(600)


def slow_d_diag(matrix: np.ndarray) -> float:
    size = len(matrix)
    within = sum(matrix[i, i] for i in range(size)) / size
    between = [matrix[i, j] for i in range(size) for j in range(size) if i != j]
    return float(abs(within - sum(between) / len(between)))


@given(st.integers(3, 7), st.integers(0, 99))
def test_the_jackknife_leaves_each_speaker_out(size: int, seed: int) -> None:
    oo, oa = np.random.default_rng(seed).random((2, size, size))
    slow = []
    for speaker in range(size):
        of = [np.delete(np.delete(m, speaker, 0), speaker, 1) for m in (oo, oa)]
        d_oo, d_oa = (SimilarityMatrix(m, np.zeros(size - 1), 1, 1, "exact").d_diag for m in of)
        slow.append(1 - d_oa / d_oo)
    # Efron and Tibshirani 1993, eq. (11.5)
    by_definition = math.sqrt((size - 1) / size * np.sum((slow - np.mean(slow)) ** 2))
    assert standard_error(deid_jackknife(oo, oa), size) == pytest.approx(by_definition)


# Pilots


def word_errors(generator: np.random.Generator, speakers: int) -> np.ndarray:
    """Errors of two systems in 200 words of each speaker: rates of 20 and 23 % vary normally, and
    in part alike."""
    common, own = generator.normal(0, 0.04, speakers), generator.normal(0, 0.04, (2, speakers))
    return generator.binomial(200, np.clip([[0.20], [0.23]] + common + own, 0, 1))


def word_replicates(errors: np.ndarray, replicates: int = 299) -> list[BootstrapReplicates]:
    speakers = [str(n) for n in range(errors.shape[1])]
    of = {"speakers": speakers, "replicates": replicates, "seed": 0, "name": "wer"}
    both = ratio_bootstrap(np.full(errors.shape, 200), errors, **of)
    return [
        BootstrapReplicates({"wer": both.values[f"wer {n}"]}, len(speakers), both.design, 0)
        for n in (0, 1)
    ]


def estimate(drawn: BootstrapReplicates, system: str) -> Estimate:
    error = standard_error(drawn.values["wer"], drawn.n_speakers)
    return Estimate("wer", "all", system, drawn.n_speakers, error, "set", drawn)


def test_a_pilot_foretells_width_and_power_of_more_speakers() -> None:
    """Pilots of 30 speakers state what 300 fresh draws of 60 give."""
    generator, widths, p_values, rows = np.random.default_rng(7), [], [], []
    for _ in range(DRAWS):
        one, other = word_replicates(word_errors(generator, 60))
        intervals = [of.interval("wer") for of in (one, other)]
        widths.append(np.mean([interval.high - interval.low for interval in intervals]))
        p_values.append(difference_p_value(other.values["wer"] - one.values["wer"], 60))
    for _ in range(100):
        both = zip(word_replicates(word_errors(generator, 30)), ("B1", "B2"), strict=True)
        pilot = pooled([estimate(*of) for of in both], 0.0)
        assert pilot.pairs == 1
        rows.append(expected(pilot.times(60**-0.5), 59, 0.03))
    width, power = np.mean(widths), np.mean(np.array(p_values) < 0.05)
    of_width = [row["width_low"] < width < row["width_high"] for row in rows]
    of_power = [row["power_low"] < power < row["power_high"] for row in rows]
    # A mean of 100 pilots has a tenth of one's relative error, 0.13; 3 of these.
    assert np.mean([row["width"] for row in rows]) == pytest.approx(width, rel=0.04)
    # Ranges of 95 % hold in 86 % or more of 100 pilots, but for 3 binomial standard errors.
    assert min(np.mean(of_width), np.mean(of_power)) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)


def test_pooled_estimates_by_hand() -> None:
    drawn = [
        BootstrapReplicates({"eer": np.array(values)}, 5, design, 0)
        for values, design in (([0.2, 0.4], "a"), ([0.3, 0.3], "a"), ([0.2, 0.4], "b"))
    ]
    of = [
        Estimate("eer", people, system, 5, standard_error(one.values["eer"], 5), "f", one)
        for one, system, people in zip(drawn, ("B1", "B2", "B1"), "xxy", strict=True)
    ]
    spread = pooled(of, 0.9)
    # Replicates vary by 0.1 ** 2 * 5 / 4: that of one speaker is 5 times as much.
    assert spread.error**2 == pytest.approx(0.0625 * 2 / 3)
    assert (spread.difference**2, spread.pairs) == (pytest.approx(0.0625), 1)
    assert spread.relative**2 == pytest.approx(0.5 / 8 + 0.5 / 2)
    alone = pooled(of[:1], 0.5)
    assert (alone.pairs, alone.difference) == (0, pytest.approx(alone.error))


class Stored:
    """Replicates and matrices beside results."""

    def __init__(self, kept: Callable[[Any], BootstrapReplicates | None]) -> None:
        self.kept = kept

    def replicates(self, record: Any, *_: str) -> BootstrapReplicates | None:
        return self.kept(record)

    def of(self, _: object) -> dict[str, np.ndarray]:
        oo, oa = np.random.default_rng(0).random((2, 4, 4))
        return {"speakers": np.array(list("abcd")), "challenge_oo": oo, "challenge_oa": oa}


def condition(system: str, **of: str) -> Condition:
    known = {"data_set": "libri", "split": "test", "gender": "f", "asv_model": "original"}
    known |= {"enrollment": "anonymized", "trial": "anonymized", "attack_model": "lazy-informed"}
    return Condition(system, "", "ASV-e-t", **{**known, **of})


def of_scores(system: str, **facts: Any) -> Any:
    of = {variant: {"eer": 0.3} for variant in ("challenge", "exact")}
    bounds = {variant: {"eer": (0.2, 0.4)} for variant in of}
    counts = {"n_target": 100, "n_nontarget": 900, "n_speakers": 11}
    record = verification_record(condition(system), of, speaker_intervals=bounds)
    return record.with_facts(**{**counts, **facts})


def test_stored_intervals_stand_for_replicates_that_are_missing() -> None:
    results = replace(imported(B1), verification=(of_scores("B1"),), recognition=())
    (found,) = estimates_of(results, Stored(lambda _: None))
    assert found.error == pytest.approx(0.1 / stats.t.ppf(0.975, 10))
    row = expected(pooled([found], 0.5).times(11**-0.5), 10, 0.02)
    assert row["width"] == pytest.approx(0.2)
    parts = replace(results.protocol, gender_weights={"f": 0.0})
    assert not [*estimates_of(replace(results, protocol=parts), Stored(lambda _: None))]
    single = replace(results, verification=(of_scores("B1", n_speakers=1),))
    assert not [*estimates_of(single, Stored(lambda _: None))]
    other = replace(of_scores("B1"), condition=condition("B1", attack_model="ignorant"))
    assert not [*estimates_of(replace(results, verification=(other,)), Stored(lambda _: None))]


def test_estimates_of_similarity_and_words() -> None:
    similarity = similarity_record(condition("B1", attack_model=""), {"exact": {"deid": 0.5}})
    words = SpeakerErrors(("a", "b", "c"), (100, 100, 100), (5, 10, 15), replicates=0, seed=0)
    heard = condition("B1", gender="", enrollment="", attack_model="")
    line = WerLine(0.1, 30, 300, 0, 0, 30, "", 10, 0.0)
    of_words = recognized(heard, line, speakers=words, language_model="large", asr_model="original")
    results = imported(B1)
    results = replace(results, verification=(), similarity=(similarity,), recognition=(of_words,))
    wer, deid = estimates_of(results, Stored(lambda _: None))
    assert (deid.metric, deid.speakers, wer.metric, wer.speakers) == ("deid", 4, "wer", 3)
    # Exact standard deviation of the bootstrap of three rates, times sqrt(3 / 2); 1000 replicates.
    assert wer.error == pytest.approx(np.std([0.05, 0.1, 0.15], ddof=1) / math.sqrt(3), rel=0.1)
    original = replace(of_words, condition=replace(heard, trial="original"))
    none = replace(results, similarity=(), recognition=(original,))
    assert not [*estimates_of(none, Stored(lambda _: None))]


# Power


def test_power_is_that_of_many_t_tests() -> None:
    generator = np.random.default_rng(3)
    samples = generator.normal(0.8, 1, (40000, 12))
    p_values = stats.ttest_1samp(samples, 0, axis=1).pvalue
    power = student_power(0.8, 1 / math.sqrt(12), 11)
    assert np.mean(p_values < 0.05) == pytest.approx(power, abs=3 * math.sqrt(0.25 / 40000))


@given(st.floats(1e-6, 0.5), st.floats(1e-9, 0.5), st.integers(1, 5000))
def test_power_of_any_numbers(difference: float, error: float, freedom: int) -> None:
    small, large = student_power(difference, [error, error / 2], freedom)
    assert 0.05 - 1e-6 <= small <= large + 1e-9 and large <= 1
    row = expected(Spread("eer", error, error, 0.1), freedom, difference)
    assert row["width_low"] < row["width"] < row["width_high"]
    assert row["power_low"] <= row["power"] <= row["power_high"]


def test_singular_powers() -> None:
    assert student_power(0.1, 0.0, 5) == 1
    assert student_power(0.1, 1e9, 5) == pytest.approx(0.05)
    assert student_power(0.02, 0.0022, 199) == pytest.approx(1)
    without = Spread("eer", 0.0, 0.0, 0.0)
    assert expected(without, 9, 0.1)["width"] == 0
    assert speakers_needed(without, 0.1) == 2
    assert speakers_needed(Spread("eer", 9.0, 9.0, 0.0), 1e-3) == math.inf


def test_numbers_of_speakers_have_the_power_that_is_asked_for() -> None:
    spread = Spread("eer", 0.2, 0.15, 0.0)
    number = speakers_needed(spread, 0.05)
    # 0.15 ** 2 (1.96 + 0.84) ** 2 / 0.05 ** 2 is 71 for normal distributions.
    assert number == pytest.approx(71, rel=0.05)
    assert student_power(0.05, 0.15 / math.sqrt(number), number - 1) == pytest.approx(0.8, abs=0.02)


# Word errors and ratings


def test_simulated_word_errors_vary_as_rates_and_binomials() -> None:
    (of_words,) = simulated(Design(10, 20, 30.0, 5.0, 0.5, 0), 200, ["wer"])
    generator = np.random.default_rng(1)
    rates = 1 / (1 + np.exp(-(math.log(0.05 / 0.95) + 0.5 * generator.normal(size=10**6))))
    variance = rates.var() + np.mean(rates * (1 - rates)) / 200
    assert of_words.error == pytest.approx(math.sqrt(variance / 200), rel=0.05)
    assert of_words.difference == pytest.approx(of_words.error)


def rated(generator: np.random.Generator, listeners: int, speakers: int, each: int) -> Any:
    """Two systems, half a point apart, that each listener rates with some speakers in turn."""
    of_listeners = np.repeat(np.arange(listeners), each)
    of_speakers = (np.arange(each)[None, :] + 3 * np.arange(listeners)[:, None]).ravel() % speakers
    effects = []
    for deviation, number in ((1.0, listeners), (0.5, speakers)):
        common, own = generator.normal(size=number), generator.normal(size=(2, number))
        effects.append(deviation * math.sqrt(0.5) * (common + own))
    common, own = (
        generator.normal(size=of_speakers.size),
        generator.normal(size=(2, of_speakers.size)),
    )
    noise = 1.5 * math.sqrt(0.5) * (common + own)
    names = np.char.add("l", of_listeners.astype(str)), np.char.add("s", of_speakers.astype(str))
    scores = effects[0][:, of_listeners] + effects[1][:, of_speakers] + noise
    return [(scores[n] + 5 + n / 2, *names) for n in (0, 1)]


def test_width_and_power_of_ratings_are_those_of_fresh_draws() -> None:
    generator, widths, p_values = np.random.default_rng(2), [], []
    variances, found = np.array([1.0, 0.25, 2.25]), []
    for _ in range(DRAWS):
        one, other = rated(generator, 30, 20, 10)
        interval, difference = mean_opinion(*one), opinion_difference(other, one)
        widths.append(interval.high - interval.low)
        p_values.append(difference.p_value)
        found.append([rating_variances(one), rating_variances(other, one)])
    spread = spread_of_ratings(variances, variances, [30, 20, 300])
    assert_as_stated(expected(spread, 19, 0.5), widths, p_values)
    # A pilot's variances, on average: both systems vary, and their difference, by the same.
    for of in np.mean(found, axis=0):
        assert of == pytest.approx(variances, rel=0.15, abs=0.06)
