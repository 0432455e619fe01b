"""The GE2E speaker encoder of Resemblyzer: an LSTM over mel spectrograms, computed in NumPy.

References
----------
L. Wan et al., "Generalized end-to-end loss for speaker verification", ICASSP 2018.
C. Jemine, Resemblyzer 0.1.4, https://github.com/resemble-ai/Resemblyzer (Apache-2.0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, library
from ..io.arrays import TensorView, read_torch
from ..io.files import digest
from .audio import Audio
from .features import MelOptions, fractions_at, mel_spectrogram, soxr_at

Vector = NDArray[np.float32]

RATE = 16000
_MEL = MelOptions(rate=RATE)
_LAYERS = 3
#: Frames of a window, and from one window to the next (1.3 windows per second).
_WINDOW, _STEP = 160, 77
#: Fraction of the last of several windows that must be speech.
_MIN_COVERAGE = 0.75
#: Windows that are computed at once, which bounds the memory of long recordings.
_BATCH = 64
_TARGET_LEVEL = -30.0  # dB of full scale
_INT16 = 32767
#: Samples of a window of voice activity detection, the windows of its moving average, and the
#: windows by which voiced ones are widened together.
_VAD_SAMPLES, _VAD_AVERAGE, _VAD_DILATION = 480, 8, 7
_MAX_SIZE = 1 << 14


@dataclass(frozen=True)
class Ge2e:
    """The encoder.

    Attributes
    ----------
    path : str
        File of the weights, for errors.
    sha256 : str
        Its digest.
    layers : tuple of (float32 array, float32 array, float32 array)
        For each LSTM layer the weights of its input, shape (D, 4 H), and of its state, shape
        (H, 4 H), and the bias. Gates are in the order input, forget, output, cell, and those of
        the first three are halved, as their sigmoid is computed by the hyperbolic tangent.
    linear : (float32 array, float32 array)
        Weights, shape (H, E), and bias of the projection.
    vad : bool
        Raise the level of quiet speech and remove silence, as Resemblyzer's preprocessing does.
    """

    path: str
    sha256: str
    layers: tuple[tuple[NDArray[np.float32], ...], ...]
    linear: tuple[NDArray[np.float32], NDArray[np.float32]]
    vad: bool = True

    @property
    def rate(self) -> int:
        """Sampling rate of the speech that it takes, in Hz."""
        return RATE

    def encode(self, audio: Audio) -> Vector:
        """Compute the unit vector of an utterance.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (E,)

        Raises
        ------
        PrivacyEvalError
            An utterance without speech; a missing library; weights that give no finite vector.
        """
        samples = prepare(audio) if self.vad else fractions_at(audio, RATE)
        if not samples.any():
            raise PrivacyEvalError("no speech")
        starts, end = window_starts(samples.size)
        mel = mel_spectrogram(np.pad(samples, (0, max(0, end - samples.size))), _MEL)
        windows = np.lib.stride_tricks.sliding_window_view(mel, _WINDOW, axis=0)[starts]
        vectors = self.encode_windows(windows.transpose(0, 2, 1))
        return self._unit(vectors.mean(axis=0))

    def encode_windows(self, mel: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compute the unit vectors of windows.

        Parameters
        ----------
        mel : float32 array, shape (N, T, 40)

        Returns
        -------
        float32 array, shape (N, E)
        """
        weights, bias = self.linear
        parts = []
        for first in range(0, len(mel), _BATCH):
            values = np.ascontiguousarray(mel[first : first + _BATCH].transpose(1, 0, 2))
            for layer in self.layers:
                values = _lstm(values, *layer)
            parts.append(self._unit(np.maximum(values[-1] @ weights + bias, 0)))
        return np.concatenate(parts)

    def _unit(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):
            unit: Vector = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        if not np.isfinite(unit).all():
            raise PrivacyEvalError(f"{self.path}: computes vectors that are zero or not finite")
        return unit


def _lstm(
    values: NDArray[np.float32],
    of_input: NDArray[np.float32],
    of_state: NDArray[np.float32],
    bias: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Compute a layer's states at all times, shape (T, N, H), from shape (T, N, D)."""
    (count, number, _), size = values.shape, len(of_state)
    gates = values @ of_input
    gates += bias
    states = np.empty((count, number, size), np.float32)
    state = np.zeros((number, size), np.float32)
    cell, product = np.zeros_like(state), np.empty((number, 4 * size), np.float32)
    for now, following in zip(gates, states, strict=True):
        np.matmul(state, of_state, out=product)
        now += product
        np.tanh(now, out=now)
        sigmoids = now[:, : 3 * size]
        sigmoids *= 0.5
        sigmoids += 0.5
        cell *= now[:, size : 2 * size]
        now[:, :size] *= now[:, 3 * size :]
        cell += now[:, :size]
        np.tanh(cell, out=following)
        following *= now[:, 2 * size : 3 * size]
        state = following
    return states


def window_starts(samples: int) -> tuple[list[int], int]:
    """Return the first frames of an utterance's windows, and the sample where the last one ends.

    Parameters
    ----------
    samples : int
        Length of the utterance at 16 kHz.

    Returns
    -------
    starts : list of int
    end : int

    Examples
    --------
    >>> window_starts(50000)
    ([0, 77, 154], 50240)
    """
    frames = math.ceil((samples + 1) / _MEL.shift)
    starts = list(range(0, max(1, frames - _WINDOW + _STEP + 1), _STEP))
    size = _WINDOW * _MEL.shift
    coverage = (samples - starts[-1] * _MEL.shift) / size
    if coverage < _MIN_COVERAGE and len(starts) > 1:
        starts.pop()
    return starts, starts[-1] * _MEL.shift + size


def prepare(audio: Audio) -> NDArray[np.float32]:
    """Resample, raise the level of quiet speech to -30 dB and remove what is not speech.

    Parameters
    ----------
    audio : Audio

    Returns
    -------
    float32 array, shape (N,)
        Fractions of full scale at 16 kHz; no samples without speech.

    Raises
    ------
    PrivacyEvalError
        webrtcvad or soxr is not installed.
    """
    samples = soxr_at(audio, RATE)
    if not samples.any():
        return samples[:0]
    samples = raise_level(samples)
    samples = samples[: samples.size // _VAD_SAMPLES * _VAD_SAMPLES]
    windows = samples.reshape(-1, _VAD_SAMPLES)
    kept: NDArray[np.float32] = windows[smooth(speech_flags(windows))].ravel()
    return kept


def raise_level(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return samples with a level of at least -30 dB of full scale.

    Parameters
    ----------
    samples : float32 array, shape (N,)
        Not all zero.

    Returns
    -------
    float32 array, shape (N,)
    """
    rms = np.sqrt(np.mean((samples * _INT16) ** 2))
    change = _TARGET_LEVEL - 20 * np.log10(rms / _INT16)
    return samples * np.float32(10 ** (change / 20)) if change > 0 else samples


def speech_flags(windows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Detect speech by WebRTC's detector in mode 3.

    Parameters
    ----------
    windows : float32 array, shape (N, 480)
        30 ms each, at 16 kHz.

    Returns
    -------
    bool array, shape (N,)

    Raises
    ------
    PrivacyEvalError
        webrtcvad is not installed.
    """
    webrtcvad = library("webrtcvad", "vectors of ge2e", "webrtcvad-wheels")
    # Louder than full scale, integers overflow, as in Resemblyzer.
    integers = np.round(windows * _INT16).astype(np.int32).astype("<i2")
    detector = webrtcvad.Vad(mode=3)
    flags = [detector.is_speech(window.tobytes(), sample_rate=RATE) for window in integers]
    return np.array(flags, np.bool_)


def smooth(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the windows that a moving average and a dilation leave.

    Parameters
    ----------
    flags : bool array, shape (N,)

    Returns
    -------
    bool array, shape (N,)

    Examples
    --------
    >>> smooth(np.repeat([False, True, False], [6, 5, 6])).astype(int).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    """
    if not flags.size:
        return flags
    view = np.lib.stride_tricks.sliding_window_view
    before = (_VAD_AVERAGE - 1) // 2
    padded = np.pad(flags, (before, _VAD_AVERAGE - 1 - before))
    # More than half: the average is rounded, and one half to even.
    voiced = view(padded, _VAD_AVERAGE).sum(axis=1) > _VAD_AVERAGE // 2
    dilated = view(np.pad(voiced, _VAD_DILATION // 2), _VAD_DILATION).any(axis=1)
    return np.asarray(dilated)


def read_ge2e(content: bytes, where: str, *, vad: bool = True) -> Ge2e:
    """Read the encoder's weights from Resemblyzer's `pretrained.pt`.

    Parameters
    ----------
    content : bytes
        File of torch.save with the entry `model_state`; nothing in it is run.
    where : str
        Beginning of errors.
    vad : bool
        See `Ge2e`.

    Returns
    -------
    Ge2e

    Raises
    ------
    PrivacyEvalError
        Not a file of torch.save; weights that are missing, of another shape or type, or not
        finite.
    """
    read = read_torch(content, where)
    state = read.get("model_state") if isinstance(read, dict) else None
    if not isinstance(state, dict):
        raise PrivacyEvalError(f"{where}: no model_state, expected an encoder of Resemblyzer")

    def weights(name: str, *shape: int) -> NDArray[Any]:
        view = state.get(name)
        if not isinstance(view, TensorView):
            raise PrivacyEvalError(f"{where}: no tensor {name}")
        array = view.array(where, name)
        if array.shape != shape or array.dtype != np.float32:
            raise PrivacyEvalError(
                f"{where}: {name} is {array.dtype} of shape {array.shape}, expected float32 "
                f"of {shape}"
            )
        if not np.isfinite(array).all():
            raise PrivacyEvalError(f"{where}: {name} has values that are not finite")
        return array

    sizes = [
        v.shape
        for n in ("lstm.weight_hh_l0", "linear.weight")
        if isinstance(v := state.get(n), TensorView) and len(v.shape) == 2
    ]
    if len(sizes) != 2 or max(max(sizes)) > _MAX_SIZE:
        raise PrivacyEvalError(f"{where}: no matrices lstm.weight_hh_l0 and linear.weight")
    hidden, output = sizes[0][1], sizes[1][0]
    layers = []
    for number in range(_LAYERS):
        inputs = hidden if number else _MEL.num_mel_bins
        named = [
            weights(f"lstm.weight_ih_l{number}", 4 * hidden, inputs),
            weights(f"lstm.weight_hh_l{number}", 4 * hidden, hidden),
            weights(f"lstm.bias_ih_l{number}", 4 * hidden)
            + weights(f"lstm.bias_hh_l{number}", 4 * hidden),
        ]
        layers.append(tuple(_gates(array, hidden) for array in named))
    linear = np.ascontiguousarray(weights("linear.weight", output, hidden).T)
    return Ge2e(
        where, digest(content), tuple(layers), (linear, weights("linear.bias", output)), vad
    )


def _gates(array: NDArray[np.float32], hidden: int) -> NDArray[np.float32]:
    """Bring gates from torch's order (input, forget, cell, output) and scale to ours, last axis."""
    first, forget, cell, output = array.reshape(4, hidden, *array.shape[1:])
    halved = np.concatenate([first, forget, output]) * np.float32(0.5)
    return np.ascontiguousarray(np.concatenate([halved, cell]).T)
