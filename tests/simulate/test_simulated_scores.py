"""Simulated scores with a known EER."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval.metrics import kaldi_eer
from privacy_eval.simulate import ScoreModel, simulate_trials


@given(st.floats(0.001, 0.999), st.floats(-100, 100), st.floats(0.1, 50))
def test_model_has_the_requested_eer(eer: float, offset: float, scale: float) -> None:
    assert ScoreModel.with_eer(eer, offset=offset, scale=scale).eer == pytest.approx(eer, abs=1e-12)


def test_deviations_are_those_of_sums_of_independent_effects() -> None:
    model = ScoreModel(1.0, target_speaker=2.0, enrolled_speaker=3.0, trial_speaker=4.0, pair=5.0)
    assert model.target_deviation == pytest.approx(math.sqrt(1 + 4), abs=1e-12)
    assert model.nontarget_deviation == pytest.approx(math.sqrt(1 + 9 + 16 + 25), abs=1e-12)


@pytest.mark.parametrize("eer", [0.04, 0.16, 0.33, 0.48])
def test_sample_eer_agrees_with_model(eer: float) -> None:
    """Decisions on two trials correlate at most as their scores do. So with S speakers and
    two utterances of each the variance of the miss rate is at most eer (1 - eer) / S times
    r + (1 - r) / 2, r being the share of the speaker's effect; that of the false-alarm rate
    at most times the shares of the enrolled and the trial speaker, and a little for pairs.
    The EER errs less than both together: four deviations are the margin."""
    speakers = 800
    model = ScoreModel.with_eer(eer, offset=-30.0, scale=7.0)
    trials = simulate_trials(
        model,
        enrolled=speakers,
        speakers=speakers,
        utterances=2,
        generator=np.random.default_rng(7),
    )
    actual = kaldi_eer(trials.scores).value
    share = model.target_speaker**2 / model.target_deviation**2
    misses = share + (1 - share) / 2
    alarms = (model.enrolled_speaker**2 + model.trial_speaker**2) / model.nontarget_deviation**2
    margin = 4 * math.sqrt(eer * (1 - eer) * (misses + alarms + 2 / speakers) / speakers)
    assert abs(actual - eer) < margin
    assert margin < 0.07


def test_sample_has_every_trial_once() -> None:
    trials = simulate_trials(
        ScoreModel(1.0), enrolled=5, speakers=3, utterances=2, generator=np.random.default_rng(1)
    )
    pairs = {*zip(trials.enrolled, trials.utterance, strict=True)}
    assert len(pairs) == len(trials) == 30
    assert len(trials.utterance.used) == 6 and trials.is_target.sum() == 6
    same = [e == s for e, s in zip(trials.enrolled_speaker, trials.trial_speaker, strict=True)]
    assert trials.is_target.tolist() == same


def test_effects_are_shared_by_the_trials_of_a_speaker() -> None:
    """Two trials of one speaker have the correlation of the model."""
    model = ScoreModel(0.0, target_speaker=3.0)
    trials = simulate_trials(
        model, enrolled=600, speakers=600, utterances=2, generator=np.random.default_rng(3)
    )
    targets = trials.score[trials.is_target].reshape(-1, 2)
    expected = 9 / 10
    # The deviation of a correlation of n pairs is (1 - r^2) / sqrt(n).
    margin = 4 * (1 - expected**2) / math.sqrt(len(targets))
    assert np.corrcoef(targets.T)[0, 1] == pytest.approx(expected, abs=margin)


@pytest.mark.parametrize(
    "numbers", [(1, 1, 1), (3, 4, 1), (3, 0, 1), (3, 3, 0)], ids=lambda n: "-".join(map(str, n))
)
def test_impossible_sizes(numbers: tuple[int, int, int]) -> None:
    enrolled, speakers, utterances = numbers
    with pytest.raises(ValueError, match="need two enrolled speakers"):
        simulate_trials(
            ScoreModel(1.0),
            enrolled=enrolled,
            speakers=speakers,
            utterances=utterances,
            generator=np.random.default_rng(1),
        )
