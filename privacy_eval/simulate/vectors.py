"""Simulate x-vectors and their anonymization.

Vectors are rows of float64 matrices here and become float32 in files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class VectorModel:
    """Normal x-vectors: a voice per speaker and deviations of its utterances.

    Dimension i (from 0) of a voice has the standard deviation `between` * `decay`**i:
    like real voices, these differ more in some directions than in others. Around its
    speaker's voice an utterance deviates by `within` in every dimension.
    """

    dimension: int = 24
    between: float = 2.0
    decay: float = 0.94
    within: float = 1.0

    def voices(self, count: int, generator: np.random.Generator) -> Matrix:
        """Draw voices of `count` new speakers, shape (count, D)."""
        deviation = self.between * self.decay ** np.arange(self.dimension)
        return np.asarray(generator.standard_normal((count, self.dimension)) * deviation)

    def utterances(self, voices: Matrix, generator: np.random.Generator) -> Matrix:
        """Draw an utterance of each voice; repeated rows are utterances of one speaker."""
        return voices + self.within * generator.standard_normal(voices.shape)


@dataclass(frozen=True)
class Anonymization:
    """Effect of an anonymization system on x-vectors: x becomes

        `keep` * rotated(x) + pseudo-voice + noise + `shift`.

    Attributes
    ----------
    keep : float
        Fraction of the voice that leaks through, the same in all speech of a speaker: it links
        anonymized speech to other anonymized speech.
    turn_deg : float
        Rotation in degrees of the leaking part, the first dimension towards the last,
        the second towards the last but one, and so on (of an odd number the middle one
        stays). At 90 nothing links anonymized speech to original speech, and voices
        differ most where original ones differ least: where a model trained on original
        speech hardly looks.
    pseudo : float
        Size of the pseudo-voices, relative to voices: it distinguishes anonymized speakers if
        each has one pseudo-voice.
    noise : float
        Standard deviation of the noise of every utterance in every dimension.
    shift : float
        Constant offset of all anonymized speech in every dimension.
    """

    keep: float
    turn_deg: float = 0.0
    pseudo: float = 0.0
    noise: float = 0.0
    shift: float = 0.0

    def pseudo_voices(
        self, count: int, model: VectorModel, generator: np.random.Generator
    ) -> Matrix:
        """Draw `count` pseudo-voices, shape (count, D)."""
        return self.pseudo * model.voices(count, generator)

    def anonymize(
        self, vectors: Matrix, pseudo_voices: Matrix, generator: np.random.Generator
    ) -> Matrix:
        """Anonymize x-vectors.

        Parameters
        ----------
        vectors : float array, shape (N, D)
            X-vectors of original speech.
        pseudo_voices : float array, shape (N, D)
            Pseudo-voice of each. A speaker whose enrollment and trial speech are anonymized
            separately has a different one in each.

        Examples
        --------
        >>> original = np.array([[3.0, 0.0]])
        >>> turned = Anonymization(keep=0.5, turn_deg=90.0, shift=10.0)
        >>> turned.anonymize(original, np.zeros((1, 2)), np.random.default_rng(0)).round(9)
        array([[10. , 11.5]])
        """
        turn = math.radians(self.turn_deg)
        half = vectors.shape[1] // 2
        first, last = vectors[:, :half], vectors[:, : -half - 1 : -1]
        leaked = vectors.copy()
        leaked[:, :half] = math.cos(turn) * first - math.sin(turn) * last
        leaked[:, : -half - 1 : -1] = math.sin(turn) * first + math.cos(turn) * last
        noise = self.noise * generator.standard_normal(vectors.shape)
        return self.keep * leaked + pseudo_voices + noise + self.shift
