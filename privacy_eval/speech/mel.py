"""Slaney's mel spectrogram, the front end of many neural networks that are not Kaldi's.

References
----------
M. Slaney, "Auditory toolbox", Technical Report 1998-010, Interval Research, 1998; as in librosa.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..errors import check_values
from .features import by_blocks

_COSINES = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}


@dataclass(frozen=True)
class MelOptions:
    """Frames, window and filters of a mel spectrogram.

    Attributes
    ----------
    rate : int
        Hz.
    frame, shift : int
        Samples of a frame, and from one frame to the next.
    fft_size : int
        Points of the Fourier transform; the frame is in the middle of as many samples.
    num_mel_bins : int
    window_type : {"hann", "hamming"}
        Periodic.
    center : bool
        Put the first frame's middle at the first sample, with zeros beyond the ends.
    low_freq, high_freq : float
        Hz; a `high_freq` of 0 is the Nyquist frequency.

    Raises
    ------
    ValueError
        A value out of range.
    """

    rate: int = 16000
    frame: int = 400
    shift: int = 160
    fft_size: int = 400
    num_mel_bins: int = 40
    window_type: str = "hann"
    center: bool = True
    low_freq: float = 0.0
    high_freq: float = 0.0

    def __post_init__(self) -> None:
        checks = {
            "rate must be 1000 to 192000": 1000 <= self.rate <= 192000,
            "expected 2 <= frame <= fft_size <= 65536": 2 <= self.frame <= self.fft_size <= 65536,
            "shift must be 1 sample to 1 s": 1 <= self.shift <= self.rate,
            "num_mel_bins must be 3 to 1000": 3 <= self.num_mel_bins <= 1000,
            f"window_type must be one of {', '.join(_COSINES)}": self.window_type in _COSINES,
            "expected 0 <= low_freq < high_freq <= Nyquist": 0
            <= self.low_freq
            < (self.high_freq or self.rate / 2)
            <= self.rate / 2,
        }
        check_values(checks)


def mel_spectrogram(
    samples: NDArray[Any], options: MelOptions = MelOptions()
) -> NDArray[np.float32]:
    """Compute the power in mel bands, without a logarithm.

    Parameters
    ----------
    samples : float array, shape (N,)
        At the rate of the options.
    options : MelOptions

    Returns
    -------
    float32 array, shape (T, num_mel_bins)
        No frames where the samples are too few.

    Examples
    --------
    >>> mel_spectrogram(np.zeros(16000)).shape
    (101, 40)
    """
    size = options.fft_size
    padded = np.pad(np.asarray(samples, np.float32), size // 2 if options.center else 0)
    if padded.size < size:
        return np.empty((0, options.num_mel_bins), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: options.shift]

    def compute(block: NDArray[np.float64]) -> NDArray[np.float64]:
        # In float64, as a logarithm would show rounding errors of the bands without power.
        spectrum = scipy.fft.rfft(block * _window(options))
        power: NDArray[np.float64] = spectrum.real**2 + spectrum.imag**2
        return power @ _weights(options)

    return by_blocks(frames, options.num_mel_bins, compute)


@lru_cache(maxsize=8)
def _window(options: MelOptions) -> NDArray[np.float64]:
    mean, swing = _COSINES[options.window_type]
    window = mean - swing * np.cos(2 * np.pi * np.arange(options.frame) / options.frame)
    before = (options.fft_size - options.frame) // 2
    after = options.fft_size - options.frame - before
    return np.pad(window, (before, after))


@lru_cache(maxsize=8)
def _weights(options: MelOptions) -> NDArray[np.float64]:
    """Return triangular filters of equal area, shape (fft_size // 2 + 1, num_mel_bins)."""
    ends = _mel(np.array([options.low_freq, options.high_freq or options.rate / 2]))
    edges = _hertz(np.linspace(ends[0], ends[1], options.num_mel_bins + 2))
    bins = np.arange(options.fft_size // 2 + 1)[:, None] * (options.rate / options.fft_size)
    rise = (bins - edges[:-2]) / np.diff(edges)[:-1]
    fall = (edges[2:] - bins) / np.diff(edges)[1:]
    weights: NDArray[np.float64] = np.maximum(0, np.minimum(rise, fall))
    return weights * 2 / (edges[2:] - edges[:-2])


def _mel(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear below 1000 Hz, logarithmic above."""
    log = 15 + 27 * np.log(np.maximum(frequency, 1000) / 1000) / np.log(6.4)
    return np.where(frequency < 1000, 3 * frequency / 200, log)


def _hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
