"""Sums of speakers, and rates under resampling."""

import numpy as np
import pytest

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics.utility import SpeakerErrors, SpeakerSums, ratio_bootstrap


def test_bootstrap_is_of_pooled_rates_and_paired() -> None:
    """Against a loop over the same draws; a recognizer with twice the errors has twice the rate."""
    words, errors = [10, 20, 70], [5, 1, 7]
    options = dict(name="wer", speakers=["a", "b", "c"], replicates=200, seed=3)
    both = np.array([errors, [2 * e for e in errors]])
    actual = ratio_bootstrap(np.array(words), both, **options)  # type: ignore[arg-type]
    rates = actual.values["wer 0"]
    assert np.array_equal(actual.values["wer 1"], 2 * rates)
    possible = {
        sum(errors[i] for i in draw) / sum(words[i] for i in draw) for draw in np.ndindex(3, 3, 3)
    }
    assert set(rates) <= possible and len(set(rates)) == len(possible)
    alone = ratio_bootstrap(np.array(words), both[0], **options)  # type: ignore[arg-type]
    assert np.array_equal(alone.values["wer"], rates) and alone.n_speakers == 3


def test_bootstrap_needs_two_speakers_with_words() -> None:
    with pytest.raises(PrivacyEvalError, match="two speakers"):
        SpeakerErrors(("a", "b"), (10, 0), (1, 0), replicates=10, seed=0).sums.bootstrap()
    with pytest.raises(ValueError, match="replicates"):
        SpeakerErrors(("a", "b"), (10, 5), (1, 0), replicates=1, seed=0).sums.bootstrap()
    assert SpeakerErrors(("a", "b"), (10, 5), (1, 0), replicates=2, seed=0).sums.bootstrap()


def test_values_of_utterances_are_summed_by_speaker() -> None:
    values, speaker_of = {"b1": 1.0, "a1": 2.0, "a2": 4.0}, {"a1": "a", "a2": "a", "b1": "b"}
    sums = SpeakerSums.of(values, speaker_of, replicates=2, seed=0)
    assert (sums.speakers, sums.counts, sums.sums) == (("a", "b"), (2, 1), (6.0, 1.0))
    words = {"a1": 10, "a2": 20, "b1": 5}
    assert SpeakerSums.of(values, speaker_of, counts=words, replicates=2, seed=0).counts == (30, 5)
