"""Pitch correlation of VoicePrivacy 2022: whether anonymized speech keeps the intonation.

It is computed over all frames, with unvoiced ones as 0 Hz, so that it mainly measures whether the
same frames are voiced: unrelated contours with the same voicing give 0.99. As it is the largest
over shifts, unrelated utterances do not give 0 but about 0.25 (`mismatched_pairs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError
from .arguments import as_array
from .pav import FloatArray

#: Range of the fundamental frequency in Hz; values outside count as unvoiced.
LOWEST, HIGHEST = 75.0, 500.0
#: Longest tracks (200 s) that are correlated as the scripts do, in quadratic time; rounding of the
#: Fourier transform of longer ones may choose another of equal lags.
_MOST_DIRECT = 20_000
_LEAST_PAIRS = 500


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


def mismatched_pairs(speaker_of: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pair utterances with others of the set, for the pitch correlation that chance gives.

    The pairs are those of cyclic shifts by about half of the set, in the order of speakers. There
    are 500 or more, unless the set is too small.

    Parameters
    ----------
    speaker_of : mapping of str to str
        Speakers by utterance; "" where unknown.

    Returns
    -------
    list of (str, str)
        The original and the anonymized utterance of each pair; of the same speaker only if there
        is no other. Empty for a single utterance.

    Examples
    --------
    >>> mismatched_pairs({"a1": "a", "a2": "a", "b1": "b"})
    [('a2', 'b1'), ('b1', 'a1'), ('a1', 'b1'), ('b1', 'a2')]
    """
    names = sorted(speaker_of, key=lambda name: (speaker_of[name], name))
    n = len(names)
    shifts = sorted(range(1, n), key=lambda k: abs(2 * k - n))[: -(-_LEAST_PAIRS // max(n, 1))]
    pairs = [(name, names[(i + k) % n]) for k in shifts for i, name in enumerate(names)]
    return [(a, b) for a, b in pairs if speaker_of[a] != speaker_of[b]] or pairs


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
