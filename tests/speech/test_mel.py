"""Mel spectrograms against a slow second implementation and librosa's filters."""

import cmath
import math

import numpy as np
import pytest
from model_support import expected

from privacy_eval.speech.features import MelOptions, _slaney_weights, mel_spectrogram


def test_filters_equal_those_of_librosa() -> None:
    assert np.abs(_slaney_weights(MelOptions()) - expected()["ge2e_melbank"].T).max() < 1e-8


@pytest.mark.parametrize(
    "options",
    [
        MelOptions(frame=40, shift=16, fft_size=40, num_mel_bins=5),
        MelOptions(frame=40, shift=16, fft_size=64, num_mel_bins=5, center=False),
        MelOptions(frame=33, shift=16, fft_size=33, num_mel_bins=5, window_type="hamming"),
        MelOptions(rate=8000, frame=40, shift=16, fft_size=51, num_mel_bins=5, high_freq=3000.0),
    ],
)
def test_power_in_bands(options: MelOptions) -> None:
    """By the definition of the Fourier transform, sample by sample."""
    samples = np.random.default_rng(0).normal(size=200).astype(np.float32)
    size, mean = options.fft_size, 0.5 if options.window_type == "hann" else 0.54
    margin = size // 2 if options.center else 0
    padded = [0.0] * margin + samples.tolist() + [0.0] * margin
    before = (size - options.frame) // 2
    rows = []
    for begin in range(0, len(padded) - size + 1, options.shift):
        power = []
        for k in range(size // 2 + 1):
            total = 0j
            for i in range(options.frame):
                window = mean - (1 - mean) * math.cos(2 * math.pi * i / options.frame)
                angle = -2j * math.pi * k * (i + before) / size
                total += padded[begin + before + i] * window * cmath.exp(angle)
            power.append(abs(total) ** 2)
        rows.append(np.array(power) @ _slaney_weights(options))
    assert np.allclose(mel_spectrogram(samples, options), rows, rtol=1e-5, atol=1e-9)


def test_too_few_samples_give_no_frames() -> None:
    assert mel_spectrogram(np.zeros(399), MelOptions(center=False)).shape == (0, 40)
    assert mel_spectrogram(np.zeros(400), MelOptions(center=False)).shape == (1, 40)


@pytest.mark.parametrize(
    "wrong",
    [{"frame": 1}, {"fft_size": 399}, {"shift": 0}, {"window_type": "povey"}, {"low_freq": 8000.0}],
)
def test_options_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must|expected"):
        MelOptions(**wrong)  # type: ignore[arg-type]
