"""Predicted quality of speech: DNSMOS P.835 (speech, background, overall) and P.808.

References
----------
C. K. A. Reddy et al., "DNSMOS P.835: a non-intrusive perceptual objective speech quality metric to
evaluate noise suppressors", ICASSP 2022; speechmos 0.0.1.1 (MIT).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..metrics.caveats import LEVEL
from .audio import Audio
from .front_ends import soxr_at
from .mel import MelOptions, mel_spectrogram
from .models import check_models, load_model, model_path
from .onnx_session import OnnxSession

RATE = 16000
#: Values of an utterance: opinions from 1 to 5, and the level, which opinions fall with.
QUALITIES = ("sig", "bak", "ovrl", "p808", LEVEL)

#: Seconds of a window; there is one every second.
_SECONDS = 9.01
_WINDOW = int(_SECONDS * RATE)
#: Coefficients from the network's outputs to opinions, highest power first.
_POLYNOMIALS = (
    (-0.08397278, 1.22083953, 0.0052439),
    (-0.13166888, 1.60915514, -0.39604546),
    (-0.06766283, 1.11546468, 0.04602535),
)
_MEL = MelOptions(rate=RATE, frame=321, fft_size=321, num_mel_bins=120)


@dataclass(frozen=True)
class Dnsmos:
    """The networks of DNSMOS.

    Attributes
    ----------
    p835, p808 : OnnxSession
    """

    p835: OnnxSession
    p808: OnnxSession

    def rate(self, audio: Audio) -> dict[str, float]:
        """Predict the quality of an utterance.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        dict of str to float
            A mean opinion score for each of `QUALITIES`, and the level in dB.

        Raises
        ------
        PrivacyEvalError
            No samples; samples beyond full scale; a network that gives no finite numbers.
        """
        samples = soxr_at(audio, RATE)
        if not samples.size:
            raise PrivacyEvalError("no samples")
        if np.abs(audio.samples.astype(np.float32)).max() > 32768:
            raise PrivacyEvalError("samples beyond full scale")
        opinions = []
        for window in _windows(samples):
            raw = self._run(self.p835, window[None], 3)
            p808 = self._run(self.p808, _p808_input(window)[None], 1)
            values = [float(np.polyval(p, x)) for p, x in zip(_POLYNOMIALS, raw, strict=True)]
            opinions.append([*values, p808[0]])
        means = np.mean(opinions, axis=0).tolist()
        return dict(zip(QUALITIES, (*means, level_db(audio)), strict=True))

    def _run(self, session: OnnxSession, values: NDArray[np.float32], size: int) -> list[float]:
        result = session.run(values).ravel()
        if result.size != size or not np.isfinite(result).all():
            raise PrivacyEvalError(f"{session.where}: expected {size} finite values")
        return [float(value) for value in result]


def level_db(audio: Audio) -> float:
    """Compute the level of an utterance relative to full scale.

    Parameters
    ----------
    audio : Audio

    Returns
    -------
    float
        dB; -100 of digital silence.

    Examples
    --------
    >>> round(level_db(Audio(np.full(100, 3276.8), 16000)), 3)
    -20.0
    """
    samples = audio.samples.astype(np.float64) / 32768
    return 10 * math.log10(max(float(np.mean(samples**2)), 1e-10)) if samples.size else -100.0


def load_dnsmos(cache: Path | None = None) -> Dnsmos:
    """Read the networks from the cache of models.

    Parameters
    ----------
    cache : Path, optional
        Folder of models; by default the user's.

    Returns
    -------
    Dnsmos

    Raises
    ------
    PrivacyEvalError
        A model is missing, or libraries, all in one command.
    """
    check_models(["dnsmos"], cache=cache)
    sessions = [
        OnnxSession(
            load_model("dnsmos", number, cache=cache),
            str(model_path("dnsmos", number, cache=cache)),
        )
        for number in (0, 1)
    ]
    return Dnsmos(*sessions)


def _windows(samples: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Cut windows; a short utterance is doubled until it fills one.

    As in speechmos, windows that rounding makes a sample too short are left out: 8th to 24th.
    """
    while samples.size < _WINDOW:
        samples = np.concatenate([samples, samples])
    count = int(samples.size // RATE - _SECONDS) + 1
    windows = [samples[n * RATE : int((n + _SECONDS) * RATE)] for n in range(count)]
    return [window for window in windows if window.size == _WINDOW]


def _p808_input(window: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute the mel spectrogram in decibels below its maximum, shape (900, 120)."""
    mel = mel_spectrogram(window[:-160], _MEL)
    decibels = 10 * np.log10(np.maximum(mel, 1e-10))
    decibels -= decibels.max()
    scaled: NDArray[np.float32] = (np.maximum(decibels, -80) + 40) / 40
    return scaled
