"""Simulate scores with a known equal error rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

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
    def with_eer(cls, eer: float, *, offset: float = 0.0, scale: float = 1.0) -> ScoreModel:
        """Return the model with the default effects and a given EER.

        Examples
        --------
        >>> round(ScoreModel.with_eer(0.25).eer, 12)
        0.25
        """
        zero = cls(0.0)
        spread = zero.target_deviation + zero.nontarget_deviation
        return cls(-float(scipy.special.ndtri(eer)) * spread, offset=offset, scale=scale)


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
