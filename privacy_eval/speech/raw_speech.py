"""Original speech in anonymized speech: copies, also delayed, scaled, or of some of the seconds.

Candidates for the delay come from the cross-correlation of whole utterances and from stretches of
equal shape. At each of them short windows of both are correlated.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Windows in seconds. They are raw if what a scale leaves of the original is at most so large, on
#: the scale of 16-bit integers (rounding) or as a share of the window's own level.
WINDOW, STEP, RESIDUAL, RELATIVE_RESIDUAL = 0.016, 0.004, 0.8, 0.01
#: Median correlation of windows of speech from which the whole is a copy, if not sample for sample.
COPY = 0.97
#: Share of the seconds, and seconds, from which an utterance holds raw speech.
LEAST_SHARE, LEAST_SECONDS = 0.003, 0.016

#: Samples of a stretch of equal shape, fewest extremes in it, and most delays that are tried.
_SHAPE, _EXTREMES, _DELAYS = 96, 12, 5
#: Least root mean square of a window of speech, as a share of the loudest, and of a raw window.
_LEAST_LEVEL, _RELATIVE_LEVEL, _RAW_LEVEL = 8.0, 0.02, 12.0
_TINY = 1e-12
#: Odd number, whose powers modulo 2^64 look random.
_BASE = 0x9E3779B97F4A7C15
#: First bits of codes by which most pairs that differ are told apart.
_FIRST_BITS = 18


@dataclass(frozen=True)
class RawSpeech:
    """Original speech that was found in an anonymized utterance.

    Attributes
    ----------
    seconds : float
        Of windows that correlate with the original.
    share : float
        Of the anonymized utterance's seconds.
    delay : float
        Seconds by which most of it is later than in the original.
    correlation : float
        Median over windows of speech at this delay, absolute.
    """

    seconds: float
    share: float
    delay: float
    correlation: float

    @property
    def is_raw(self) -> bool:
        """Whether there is more than chance makes of anonymized speech."""
        some = self.share >= LEAST_SHARE and self.seconds >= LEAST_SECONDS
        return some or self.correlation >= COPY


def find_raw_speech(original: ArrayLike, anonymized: ArrayLike, rate: int) -> RawSpeech:
    """Find original speech in anonymized speech of the same utterance.

    Parameters
    ----------
    original, anonymized : array_like, shapes (N,) and (M,)
        On the scale of 16-bit integers, of one sampling rate.
    rate : int
        Hz.

    Returns
    -------
    RawSpeech

    References
    ----------
    Docs, page "participants".

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> speech, other = generator.normal(0, 1000, (2, 16000)).round()
    >>> other[8000:8800] = -0.5 * speech[4000:4800]
    >>> raw = find_raw_speech(speech, other, 16000)
    >>> raw.is_raw, round(raw.delay, 3)
    (True, 0.25)
    >>> find_raw_speech(speech, generator.normal(0, 1000, 16000), 16000).is_raw
    False
    """
    x, y = (np.asarray(samples, dtype=np.float64) for samples in (original, anonymized))
    width, step = max(8, round(WINDOW * rate)), max(1, round(STEP * rate))
    if min(x.size, y.size) < width:
        return RawSpeech(0.0, 0.0, 0.0, 0.0)
    x, y = x - x.mean(), y - y.mean()  # of windows again: sums of small numbers are exact
    raw = np.zeros(y.size + 1, dtype=np.int64)
    best = (0, 0, 0.0)
    for delay in dict.fromkeys([0, _delay_of_whole(x, y), *_delays_of_shapes(x, y)]):
        first, correlations, is_raw = _correlations(x, y, delay, width, step)
        starts = first + step * np.flatnonzero(is_raw)
        np.add.at(raw, starts, 1)
        np.add.at(raw, starts + width, -1)
        of_speech = correlations[correlations >= 0]
        median = float(np.median(of_speech)) if of_speech.size else 0.0
        best = max(best, (starts.size, delay, median), key=lambda one: (one[0], one[2]))
    seconds = float(np.count_nonzero(np.cumsum(raw) > 0)) / rate
    return RawSpeech(seconds, seconds * rate / y.size, best[1] / rate, best[2])


def _delay_of_whole(x: FloatArray, y: FloatArray) -> int:
    """Find by how many samples y is later: the largest whitened cross-correlation, of any sign."""
    size = scipy.fft.next_fast_len(x.size + y.size, real=True)
    cross = np.conj(scipy.fft.rfft(x.astype(np.float32), size))
    cross *= scipy.fft.rfft(y.astype(np.float32), size)
    cross /= np.abs(cross) + _TINY * float(np.abs(cross).max() + 1)
    peak = int(np.argmax(np.abs(scipy.fft.irfft(cross, size))))
    return peak if peak < y.size else peak - size


def _delays_of_shapes(x: FloatArray, y: FloatArray) -> list[int]:
    """Find delays by stretches whose extremes are at the same samples, the most frequent first."""
    of_x, of_y = _shapes(x, 1), _shapes(y, 4)
    if not (of_x[0].size and of_y[0].size):
        return []
    # Codes whose first bits the other side has, too: few are left to sort.
    (x_codes, x_starts), (y_codes, y_starts) = _common(of_x, of_y), _common(of_y, of_x)
    if not x_codes.size:
        return []
    order = np.argsort(x_codes, kind="stable")
    shapes = x_codes[order]
    at = np.minimum(np.searchsorted(shapes, y_codes), shapes.size - 1)
    equal = shapes[at] == y_codes
    delays, counts = np.unique(y_starts[equal] - x_starts[order][at[equal]], return_counts=True)
    return [int(delay) for delay in delays[np.argsort(-counts, kind="stable")[:_DELAYS]]]


def _common(
    some: tuple[NDArray[np.uint64], IntArray], others: tuple[NDArray[np.uint64], IntArray]
) -> tuple[NDArray[np.uint64], IntArray]:
    """Select codes, and their starts, whose first bits occur in others."""
    occurs = np.zeros(1 << _FIRST_BITS, dtype=np.bool_)
    occurs[others[0] >> np.uint64(64 - _FIRST_BITS)] = True
    kept = occurs[some[0] >> np.uint64(64 - _FIRST_BITS)]
    return some[0][kept], some[1][kept]


@functools.lru_cache(maxsize=4)
def _powers(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the powers of the base and of its inverse, modulo 2^64, from 0 to a size."""
    powers, inverses = (
        np.cumprod(np.append(np.uint64(1), np.full(size, base, dtype=np.uint64)), dtype=np.uint64)
        for base in (_BASE, pow(_BASE, -1, 1 << 64))
    )
    return powers, inverses


def _shapes(samples: FloatArray, step: int) -> tuple[NDArray[np.uint64], IntArray]:
    """Encode where stretches have extremes, whatever their scale; return codes and starts."""
    rising = np.diff(samples) > 0
    extreme = (rising[1:] != rising[:-1]).astype(np.uint64)
    if extreme.size < _SHAPE:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    starts = np.arange(0, extreme.size - _SHAPE + 1, step)
    # Codes of all stretches from sums over the beginnings, modulo 2^64.
    powers, inverses = _powers(1 << (extreme.size - 1).bit_length())
    sums = np.append(np.uint64(0), np.cumsum(extreme * powers[: extreme.size]))
    codes = (sums[starts + _SHAPE] - sums[starts]) * inverses[starts]
    total = np.append(0, np.cumsum(extreme.astype(np.int64)))
    some = total[starts + _SHAPE] - total[starts] >= _EXTREMES
    return codes[some], starts[some]


def _correlations(
    x: FloatArray, y: FloatArray, delay: int, width: int, step: int
) -> tuple[int, FloatArray, NDArray[np.bool_]]:
    """Correlate windows of y with those of x that begin `delay` earlier.

    Returns the first sample of y, absolute correlations, -1 where either is too quiet, and
    whether windows are raw.
    """
    first, last = max(0, delay), min(y.size, x.size + delay)
    if last - first < width:
        return first, np.zeros(0), np.zeros(0, dtype=np.bool_)
    a, b = x[first - delay : last - delay], y[first:last]
    starts = np.arange(0, last - first - width + 1, step)

    def sums(values: FloatArray) -> FloatArray:
        total = np.append(0.0, np.cumsum(values))
        return np.asarray(total[starts + width] - total[starts])

    means = sums(a), sums(b)
    products = sums(a * b) - means[0] * means[1] / width
    of_a, of_b = (sums(v * v) - m * m / width for v, m in zip((a, b), means, strict=True))
    levels = [np.sqrt(np.maximum(energy, 0) / width) for energy in (of_a, of_b)]
    quiet = np.zeros(starts.size, dtype=np.bool_)
    for level in levels:
        quiet |= level < max(_LEAST_LEVEL, _RELATIVE_LEVEL * float(level.max()))
    correlations = np.abs(products) / np.sqrt(np.maximum(of_a * of_b, _TINY))
    residual = levels[1] * np.sqrt(np.maximum(1 - correlations**2, 0))
    is_raw = residual <= np.maximum(RESIDUAL, RELATIVE_RESIDUAL * levels[1])
    is_raw &= np.minimum(*levels) >= _RAW_LEVEL
    return first, np.where(quiet, -1.0, correlations), is_raw
