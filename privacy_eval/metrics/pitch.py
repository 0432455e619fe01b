"""Pitch correlation of VoicePrivacy 2022: whether anonymized speech keeps the intonation.

It is computed over all frames, with unvoiced ones as 0 Hz, so that it mainly measures whether the
same frames are voiced: unrelated contours with the same voicing give 0.99.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.signal
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from .arguments import as_array
from .pav import FloatArray

#: Range of the fundamental frequency in Hz; values outside count as unvoiced.
LOWEST, HIGHEST = 75.0, 500.0
#: Longest tracks (200 s) that are correlated as the scripts do, in quadratic time; rounding of the
#: Fourier transform of longer ones may choose another of equal lags.
_MOST_DIRECT = 20_000


@dataclass(frozen=True)
class PitchCorrelation:
    """Pitch correlation of the utterances of a set.

    Attributes
    ----------
    mean, std : float
        Over utterances; the standard deviation is that of the population.
    n_utterances : int
    """

    mean: float
    std: float
    n_utterances: int


def pitch_correlation(original: ArrayLike, anonymized: ArrayLike) -> float:
    """Compute the pitch correlation of an utterance as the scripts of 2022 do.

    The shorter track is stretched to the length of the longer one, and the anonymized track
    rotated by the lag of the greatest cross-correlation, which is not of centred tracks.

    Parameters
    ----------
    original, anonymized : array_like, shape (F,) and (G,)
        Fundamental frequency in Hz, a value every 10 ms, 0 where unvoiced.

    Returns
    -------
    float
        Pearson's correlation; 0 where a track is constant. Higher: more of the intonation is
        kept.

    Raises
    ------
    PrivacyEvalError
        An empty track; a value that is negative or not finite.

    Examples
    --------
    >>> round(pitch_correlation([0, 100, 120, 0], [0, 200, 240, 0]), 6)
    1.0
    >>> pitch_correlation([0, 100, 120, 0], [0, 0, 0, 0])
    0.0
    """
    first, second = _track(original, "original"), _track(anonymized, "anonymized")
    frames = max(first.size, second.size)
    first, second = (_limited(_stretched(track, frames)) for track in (first, second))
    if not first.any() or not second.any():
        return 0.0
    method = "direct" if frames <= _MOST_DIRECT else "fft"
    lag = int(np.argmax(scipy.signal.correlate(first, second, method=method))) - (frames - 1)
    second = np.roll(second, lag)
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / scale, -1, 1)) if scale else 0.0


def summarize(correlations: ArrayLike) -> PitchCorrelation:
    """Compute mean and standard deviation over the utterances of a set.

    Parameters
    ----------
    correlations : array_like, shape (U,)

    Returns
    -------
    PitchCorrelation

    Raises
    ------
    PrivacyEvalError
        No utterance.

    Examples
    --------
    >>> summarize([0.5, 1.0])
    PitchCorrelation(mean=0.75, std=0.25, n_utterances=2)
    """
    values: NDArray[np.float64] = as_array(correlations, "correlations", np.float64)
    if not values.size:
        raise PrivacyEvalError("no utterances: pitch correlation is undefined")
    return PitchCorrelation(float(values.mean()), float(values.std()), int(values.size))


def _track(values: ArrayLike, name: str) -> FloatArray:
    track: FloatArray = as_array(values, f"values of the {name} pitch track", np.float64)
    if track.ndim != 1 or not track.size:
        raise PrivacyEvalError(f"{name} pitch track: expected a value per frame")
    if not np.isfinite(track).all() or track.min() < 0:
        raise PrivacyEvalError(f"{name} pitch track: a value that is negative or not finite")
    return track


def _stretched(track: FloatArray, frames: int) -> FloatArray:
    if track.size == frames:
        return track
    at = np.linspace(0, track.size - 1, frames)
    return np.interp(at, np.arange(track.size), track)


def _limited(track: FloatArray) -> FloatArray:
    return np.where((track < LOWEST) | (track > HIGHEST), 0.0, track)
