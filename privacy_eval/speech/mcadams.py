"""McAdams coefficient anonymization: baseline B2 of the challenges of 2020 and 2022.

The angles of the poles of each frame's linear prediction are raised to a power, which moves the
formants; the residual stays as it is. All frames of a block are converted at once.

Consequences of the definition: the level of the input is lost (the peak becomes full scale, even of
digital silence), the first 10 ms and the samples after the last whole frame become silence, and
speech shorter than 30 ms becomes silence altogether. A frame whose samples are all the same but not
zero, or whose prediction is undefined, has no formants: it is left unchanged.

References
----------
J. Patino, N. Tomashenko, M. Todisco, A. Nautsch, N. Evans, "Speaker anonymisation using the McAdams
coefficient", Interspeech 2021.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .audio import Samples

#: Coefficient of the 2020 baseline.
COEFFICIENT = 0.8
#: Range of the coefficients of the 2022 baseline.
LOWEST, HIGHEST = 0.5, 0.9
VARIANTS = ("2020", "2022")

_ORDER = 20
_EPSILON = 2.0**-23
_BLOCK_FRAMES = 512
#: Samples (over an hour at 16 kHz) beyond which memory is saved.
_LONG = 1 << 26


def derive_coefficient(name: str, *, seed: int = 0, data_set: str = "") -> float:
    """Derive the coefficient of a speaker or an utterance, uniform in 0.5 to 0.9.

    The released scripts of 2022 draw it with a generator that is seeded anew in every run.

    Parameters
    ----------
    name : str
        Of the speaker or the utterance.
    seed : int
    data_set : str
        Name of the data set, so that each data set gets a different coefficient.

    Returns
    -------
    float
        0.5 + 0.4 u, where u is the first eight bytes, read as a binary fraction, of the SHA-256 of
        "mcadams SEED DATA_SET NAME".

    Examples
    --------
    >>> round(derive_coefficient("367"), 6), round(derive_coefficient("367", seed=1), 6)
    (0.641594, 0.624531)
    """
    text = f"mcadams {seed} {data_set} {name}".encode("utf-8", "surrogateescape")
    fraction = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2.0**64
    return LOWEST + (HIGHEST - LOWEST) * fraction


def convert(
    samples: Samples, rate: int, *, coefficient: float = COEFFICIENT, variant: str = "2022"
) -> NDArray[np.float64]:
    """Anonymize an utterance.

    Parameters
    ----------
    samples : int16 or float array, shape (N,)
        On the scale of 16-bit integers.
    rate : int
        Hz.
    coefficient : float
        Power of the angles, in radians: below 1, formants below rate / 2 pi Hz move up and those
        above it down.
    variant : {"2020", "2022"}
        In 2020, samples are rounded to float32 before the conversion.

    Returns
    -------
    float64 array, shape (N,)
        With a peak of 1, or zeros.

    Raises
    ------
    ValueError
        A rate below 2000 Hz, a coefficient that is not positive, another variant.

    Examples
    --------
    >>> float(abs(convert(np.arange(800) % 50 - 25.0, 16000)).max())
    1.0
    """
    result = np.empty(samples.size)
    end = 0
    for piece in _pieces(samples, rate, coefficient, variant):
        result[end : end + piece.size] = piece
        end += piece.size
    peak = max(result.max(initial=0), -result.min(initial=0))
    if peak > 0:
        result /= peak
    return result


def convert_to_int16(
    samples: Samples, rate: int, *, coefficient: float = COEFFICIENT, variant: str = "2022"
) -> NDArray[np.int16]:
    """Anonymize an utterance and quantize it, as `to_int16(convert(...))` does.

    A long recording is converted twice, first for its peak, so that no more memory is needed than
    for what comes in and goes out.

    Parameters
    ----------
    samples, rate, coefficient, variant
        As of `convert`.

    Returns
    -------
    int16 array, shape (N,)

    Raises
    ------
    ValueError
        As of `convert`.

    Examples
    --------
    >>> int(abs(convert_to_int16(np.arange(800) % 50 - 25.0, 16000)).max())
    32766
    """
    if samples.size <= _LONG:
        whole = convert(samples, rate, coefficient=coefficient, variant=variant)
        return to_int16(whole, variant)
    options = samples, rate, coefficient, variant
    peak = max(float(np.abs(piece).max(initial=0)) for piece in _pieces(*options))
    result = np.empty(samples.size, np.int16)
    end = 0
    for piece in _pieces(*options):
        result[end : end + piece.size] = to_int16(piece / (peak or 1.0), variant)
        end += piece.size
    return result


def _pieces(
    samples: Samples, rate: int, coefficient: float, variant: str
) -> Iterator[NDArray[np.float64]]:
    """Yield the converted utterance, of any level, piece by piece."""
    if rate < 2000 or not 0 < coefficient < np.inf or variant not in VARIANTS:
        raise ValueError(f"rate {rate}, coefficient {coefficient}, variant {variant}")
    window, shift = rate * 20 // 1000, rate // 100
    count = (samples.size - window) // shift
    if count < 1:
        yield np.zeros(samples.size)
        return
    yield np.zeros(shift)
    # Frame 0 is not converted.
    frames: Any = np.lib.stride_tricks.sliding_window_view(samples, window)[shift::shift][:count]
    shape = np.hanning(window)
    shape = np.sqrt(shape / (shape.sum() / shift))
    overlap = np.zeros(window)
    for first in range(0, count, _BLOCK_FRAMES):
        block = frames[first : first + _BLOCK_FRAMES]
        if variant == "2020":
            signal = (block.astype(np.float32) / np.float32(32768)) + np.float32(_EPSILON)
        else:
            signal = block / 32768.0 + _EPSILON
        is_constant = (block[:, 0] != 0) & (block == block[:, :1]).all(axis=1)
        converted = _convert_frames(signal * shape, coefficient, is_constant)
        piece = np.concatenate([overlap, np.zeros(len(block) * shift)])
        _overlap_add(piece, converted * shape, shift)
        yield piece[: len(block) * shift]
        overlap = piece[len(block) * shift :]
    rest = samples.size - (count + 1) * shift
    yield np.pad(overlap, (0, max(0, rest - window)))[:rest]


def to_int16(samples: NDArray[np.float64], variant: str = "2022") -> NDArray[np.int16]:
    """Quantize converted speech.

    Parameters
    ----------
    samples : float64 array, shape (N,)
        -1 to 1. Overwritten.
    variant : {"2020", "2022"}
        Round fractions of 32768, where the recipe of 2020 dithers; or truncate towards zero
        those of 32766.

    Returns
    -------
    int16 array, shape (N,)

    Examples
    --------
    >>> to_int16(np.array([-1.0, 0.99999, 1.0])).tolist()
    [-32766, 32765, 32766]
    """
    if variant == "2022":
        samples *= 32766
        return samples.astype(np.int16)
    samples *= 32768
    np.rint(samples, out=samples)
    return np.minimum(samples, 32767, out=samples).astype(np.int16)


def _convert_frames(
    frames: NDArray[np.float64], coefficient: float, keep: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Convert windowed frames, shape (frames, window), except those to keep."""
    prediction = linear_prediction(frames + _EPSILON)
    keep = keep | ~np.isfinite(prediction).all(axis=1)
    prediction[keep] = np.eye(1, _ORDER + 1)
    moved = _move_poles(prediction, coefficient)
    moved[keep] = prediction[keep]
    return _synthesize(_residual(frames, prediction), moved)


def linear_prediction(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute linear prediction coefficients of order 20 by Burg's method.

    Parameters
    ----------
    frames : float64 array, shape (T, W)

    Returns
    -------
    float64 array, shape (T, 21)
        The first is 1. NaN where a frame is predicted perfectly by fewer.

    References
    ----------
    J. P. Burg, "A new analysis technique for time series data", NATO Advanced Study Institute on
    Signal Processing, 1968; the recursion of the denominator is N. Andersen's, "On the calculation
    of filter coefficients for maximum entropy spectral analysis", Geophysics 39, 1974.

    Examples
    --------
    An impulse cannot be predicted.

    >>> linear_prediction(np.eye(1, 64))[0, :3].tolist()
    [1.0, 0.0, 0.0]
    """
    forward, backward = frames[:, 1:], frames[:, :-1]
    energy = np.einsum("ti,ti->t", forward, forward) + np.einsum("ti,ti->t", backward, backward)
    prediction = np.zeros((len(frames), _ORDER + 1))
    prediction[:, 0] = 1.0
    for order in range(1, _ORDER + 1):
        product = np.einsum("ti,ti->t", forward, backward)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reflection = np.where(energy > 0, -2 * product / energy, np.nan)[:, None]
        previous = prediction[:, : order + 1].copy()
        prediction[:, : order + 1] += reflection * previous[:, ::-1]
        forward, backward = forward + reflection * backward, backward + reflection * forward
        energy = (1 - reflection[:, 0] ** 2) * energy - backward[:, -1] ** 2 - forward[:, 0] ** 2
        forward, backward = forward[:, 1:], backward[:, :-1]
    return prediction


def _move_poles(prediction: NDArray[np.float64], coefficient: float) -> NDArray[np.float64]:
    """Raise the pole angles to a power; return the new LPC polynomials."""
    companion = np.zeros((len(prediction), _ORDER, _ORDER))
    companion[:, np.arange(1, _ORDER), np.arange(_ORDER - 1)] = 1.0
    companion[:, 0] = -prediction[:, 1:]
    poles = np.linalg.eigvals(companion).astype(np.complex128)
    angle = np.angle(poles)
    power = np.minimum(np.abs(angle) ** coefficient, np.pi)
    moved = np.abs(poles) * np.exp(1j * np.copysign(power, angle))
    poles = np.where(poles.imag != 0, moved, poles)
    polynomial = np.zeros((len(poles), _ORDER + 1), np.complex128)
    polynomial[:, 0] = 1.0
    for place in range(_ORDER):
        previous = polynomial[:, : place + 1].copy()
        polynomial[:, 1 : place + 2] -= poles[:, place, None] * previous
    return polynomial.real.copy()


def _residual(frames: NDArray[np.float64], prediction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the LPC residual: filter each frame by A(z), from zero state."""
    residual = frames.copy()
    for lag in range(1, _ORDER + 1):
        residual[:, lag:] += prediction[:, lag, None] * frames[:, :-lag]
    return residual


def _synthesize(
    residual: NDArray[np.float64], prediction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Filter each residual by the synthesis filter 1/A(z), from zero state."""
    window = residual.shape[1]
    # Samples are rows, so that a step is contiguous; the oldest of the last 20 comes first.
    speech = np.zeros((window + _ORDER, len(residual)))
    speech[_ORDER:] = residual.T
    backwards = prediction[:, :0:-1].T.copy()
    for sample in range(window):
        past = speech[sample : sample + _ORDER]
        speech[sample + _ORDER] -= np.einsum("kt,kt->t", backwards, past)
    return speech[_ORDER:].T


def _overlap_add(target: NDArray[np.float64], frames: NDArray[np.float64], shift: int) -> None:
    """Add frames, `shift` samples apart, to the signal that they cover."""
    for begin in range(0, frames.shape[1], shift):
        part = frames[:, begin : begin + shift]
        pieces = np.lib.stride_tricks.sliding_window_view(
            target[begin:], part.shape[1], writeable=True
        )[::shift]
        pieces[: len(part)] += part
