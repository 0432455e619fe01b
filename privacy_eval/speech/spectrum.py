"""Statistics of the short-term spectrum over an utterance: an encoder without a model, learnt from
nobody. A voice attacker that is weaker than it proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .audio import Audio, resample
from .features import MfccOptions, fbank

_FEATURES = MfccOptions(num_mel_bins=80)
_CEPSTRA, _QUIET = 30, 0.3


@dataclass(frozen=True)
class Spectrum:
    """The encoder.

    Attributes
    ----------
    rate : int
        Sampling rate of the speech that it takes, in Hz.
    sha256 : str
        "", as it has no file.
    """

    rate: int = int(_FEATURES.sample_frequency)
    sha256: str = ""

    def encode(self, audio: Audio) -> NDArray[np.float32] | None:
        """Compute the vector of an utterance: mean and deviation of Kaldi's log mel energies,
        deviation of the differences of 30 cepstra, and their correlations, without the quietest
        frames.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (625,), or None
            None of silence, or of too few frames: nothing varies.

        References
        ----------
        Docs, page "attackers".

        Examples
        --------
        >>> noise = np.random.default_rng(0).normal(0, 1000, 16000).astype(np.float32)
        >>> Spectrum().encode(Audio(noise, 16000)).shape
        (625,)
        """
        samples = resample(audio.samples, audio.rate, self.rate)
        mel = fbank(samples, _FEATURES).astype(np.float64)
        level = mel.mean(axis=1)
        kept = mel[level > np.quantile(level, _QUIET)] if len(mel) else mel
        if len(kept) < 3:
            return None
        cepstra = scipy.fft.dct(kept, norm="ortho", axis=1)[:, :_CEPSTRA]
        if not (deviation := cepstra.std(axis=0)).all():
            return None
        centered = (cepstra - cepstra.mean(axis=0)) / deviation
        correlations = (centered.T @ centered / len(kept))[np.triu_indices(_CEPSTRA, 1)]
        changes = np.diff(cepstra, axis=0).std(axis=0)
        values = kept.mean(axis=0), kept.std(axis=0), changes, correlations
        return np.concatenate(values).astype(np.float32)
