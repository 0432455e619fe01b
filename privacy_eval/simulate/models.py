"""Simulated scores with a known equal error rate, and simulated speaker vectors, original and
anonymized, also with cosines of chosen error rates.

Vectors are rows of float64 matrices here and become float32 in files. For cosines of chosen error
rates, a voice is a normal vector of `DIMENSION` values, and an utterance deviates from it.
Nontarget cosines then have mean 0 and standard deviation 1 / sqrt(D), target cosines mean r and
about (1 - r**2) / sqrt(D), so that r determines the EER. With deviations of variance a, and
enrollment as the mean of n utterances, r**2 = 1 / ((1 + a / n) (1 + a)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..metrics.trials import Ids, Trials


@dataclass(frozen=True)
class ScoreModel:
    """Gaussian scores with speaker effects, so that trials of a speaker are alike.

    A target trial of speaker s: `separation` + `target_speaker` * a_s + noise. A
    nontarget trial of enrolled speaker e and trial speaker s: `enrolled_speaker` * b_e
    + `trial_speaker` * c_s + `pair` * p_es + noise. All effects and the noise are
    standard normal; the score is `offset` + `scale` times this.
    """

    separation: float
    target_speaker: float = 0.5
    enrolled_speaker: float = 0.4
    trial_speaker: float = 0.4
    pair: float = 0.3
    offset: float = 0.0
    scale: float = 1.0

    @property
    def target_deviation(self) -> float:
        """Standard deviation of target scores before scaling."""
        return math.hypot(1, self.target_speaker)

    @property
    def nontarget_deviation(self) -> float:
        """Standard deviation of nontarget scores before scaling."""
        return math.hypot(1, self.enrolled_speaker, self.trial_speaker, self.pair)

    @property
    def eer(self) -> float:
        """The population's EER: that of two normal distributions.

        Examples
        --------
        >>> ScoreModel(separation=0.0).eer
        0.5
        """
        spread = self.target_deviation + self.nontarget_deviation
        return float(scipy.special.ndtr(-self.separation / spread))

    @classmethod
    def with_eer(cls, eer: float, **options: float) -> ScoreModel:
        """Return the model of some effects, offset and scale with a given EER.

        Examples
        --------
        >>> round(ScoreModel.with_eer(0.25).eer, 12)
        0.25
        """
        zero = cls(0.0, **options)
        spread = zero.target_deviation + zero.nontarget_deviation
        return replace(zero, separation=-float(scipy.special.ndtri(eer)) * spread)


def simulate_trials(
    model: ScoreModel,
    *,
    enrolled: int,
    speakers: int,
    utterances: int,
    generator: np.random.Generator,
) -> Trials:
    """Simulate scores of `enrolled` speakers against `utterances` of each of the first
    `speakers` of them, both named by their numbers."""
    if not 0 < speakers <= enrolled or utterances < 1 or enrolled < 2:
        raise ValueError("need two enrolled speakers, and trial speakers among them")
    shape = (enrolled, speakers, utterances)
    e, s, u = (axis.ravel() for axis in np.indices(shape, dtype=np.int64))
    names = [*map(str, range(enrolled))]
    spoken = [f"{speaker}-{number}" for speaker in names[:speakers] for number in range(utterances)]
    normal = generator.standard_normal
    effect = np.where(
        e == s,
        model.separation + model.target_speaker * normal(speakers)[s],
        model.enrolled_speaker * normal(enrolled)[e]
        + model.trial_speaker * normal(speakers)[s]
        + model.pair * normal((enrolled, speakers))[e, s],
    )
    return Trials(
        score=model.offset + model.scale * (effect + normal(e.size)),
        label=e == s,
        enrolled=Ids(e, names),
        utterance=Ids(s * utterances + u, spoken),
        enrolled_speaker=Ids(e, names),
        trial_speaker=Ids(s, names),
    )


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


DIMENSION = 24


def original_model(eer: float, enrollment: int) -> VectorModel:
    """Return original speech, in voices that differ alike in every direction.

    Parameters
    ----------
    eer : float
        Of original enrollment and trials.
    enrollment : int
        Utterances of an enrolled speaker.
    """
    within = math.sqrt(_deviation(eer, enrollment))
    return VectorModel(dimension=DIMENSION, between=1.0, decay=1.0, within=within)


def anonymization(
    linked: float, unlinked: float, original: VectorModel, enrollment: int
) -> Anonymization:
    """Return the anonymization with the EERs of two attackers.

    Parameters
    ----------
    linked, unlinked : float
        EER of anonymized trials against anonymized and against original enrollment.
    original : VectorModel
    enrollment : int
        Utterances of an enrolled speaker.

    Examples
    --------
    >>> original = original_model(0.05, 12)
    >>> light, strong = (anonymization(eer, 0.48, original, 12) for eer in (0.2, 0.4))
    >>> light.noise < strong.noise, 80 < light.turn_deg < 90
    (True, True)
    """
    before, after = original.within**2, _deviation(linked, enrollment)
    unturned = 1 / math.sqrt((1 + before / enrollment) * (1 + after))
    turn = math.degrees(math.acos(min(_mean_cosine(unlinked) / unturned, 1)))
    return Anonymization(keep=1.0, turn_deg=turn, noise=math.sqrt(max(after - before, 0)))


def _mean_cosine(eer: float) -> float:
    """Return the mean of target cosines: r sqrt(D) = z (2 - r**2), z the quantile of the EER."""
    z, root = -float(scipy.special.ndtri(eer)), math.sqrt(DIMENSION)
    return 4 * z / (root + math.sqrt(DIMENSION + 8 * z**2))


def _deviation(eer: float, enrollment: int) -> float:
    """Return the variance of deviations, of both sides."""
    total, half = 1 / _mean_cosine(eer) ** 2, (enrollment + 1) / 2
    return math.sqrt(half**2 + enrollment * (total - 1)) - half


def cosine_scores(
    enrolled: ArrayLike, tried: ArrayLike, pairs: Sequence[NDArray[np.integer]]
) -> NDArray[np.float64]:
    """Compute the cosine of the mean vector of an enrolled speaker and of a trial, of each pair.

    Parameters
    ----------
    enrolled : array_like, shape (E, n, D)
        Vectors of the n utterances of each enrolled speaker.
    tried : array_like, shape (N, D)
    pairs : int arrays, each of shape (P,)
        Rows of both.
    """
    means = np.asarray(enrolled, dtype=np.float64).mean(axis=1)
    first, second = (
        (x / np.linalg.norm(x, axis=1, keepdims=True))[rows]
        for x, rows in zip((means, np.asarray(tried, dtype=np.float64)), pairs, strict=True)
    )
    return np.asarray(np.einsum("ij,ij->i", first, second))
