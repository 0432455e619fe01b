"""Simulated speech, and the network that needs no training."""

from pathlib import Path

import numpy as np

from privacy_eval.io.files import write_text
from privacy_eval.speech.features import mfcc, voice_activity
from privacy_eval.speech.trees.demo_speech import RATE, draw_voice, mfcc_statistics_network, speak
from privacy_eval.speech.xvector import load_extractor


def spoken(speaker: int, utterance: int) -> np.ndarray:
    voice = draw_voice("f", np.random.default_rng(speaker))
    return speak(voice, 2.0, np.random.default_rng([speaker, utterance]))


def test_the_same_seed_gives_the_same_samples() -> None:
    first = spoken(1, 1)
    assert first.shape == (2 * RATE,) and first.dtype == np.int16
    assert np.array_equal(first, spoken(1, 1))
    assert not np.array_equal(first, spoken(1, 2)) and not np.array_equal(first, spoken(2, 1))


def test_speech_has_voiced_frames_pauses_and_no_clipping() -> None:
    samples = spoken(3, 1)
    voiced = voice_activity(mfcc(samples)).mean()
    assert 0.5 < voiced < 1
    assert 1000 < np.abs(samples.astype(int)).max() < 32767


def test_women_have_higher_voices_and_formants() -> None:
    women, men = (
        [draw_voice(gender, np.random.default_rng(n)) for n in range(50)] for gender in "fm"
    )
    assert np.mean([v.pitch for v in women]) > 1.5 * np.mean([v.pitch for v in men])
    higher = np.mean([v.formants for v in women], 0) / np.mean([v.formants for v in men], 0)
    assert (1.1 < higher).all() and (higher < 1.25).all()


def test_the_network_takes_means_and_standard_deviations(tmp_path: Path) -> None:
    write_text(tmp_path / "final.raw", mfcc_statistics_network())
    assert (tmp_path / "final.raw").stat().st_size < 4096
    features = np.random.default_rng(0).normal(3, 2, size=(200, 30)).astype(np.float32)
    vector = load_extractor(tmp_path).extract(features)
    assert vector is not None
    expected = np.concatenate([features.mean(axis=0), features.std(axis=0)])
    np.testing.assert_allclose(vector, expected, rtol=1e-4)
