"""Simulate scores with a known equal error rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

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
    return Trials(
        score=simulate_scores(model, e, s, generator),
        label=e == s,
        enrolled=Ids(e, names),
        utterance=Ids(s * utterances + u, spoken),
        enrolled_speaker=Ids(e, names),
        trial_speaker=Ids(s, names),
    )


def simulate_scores(
    model: ScoreModel,
    enrolled_speaker: NDArray[np.int64],
    trial_speaker: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Simulate a score for each trial of numbered speakers; equal numbers are the same person."""
    e, s = enrolled_speaker, trial_speaker
    enrolled, speakers = e.max() + 1, s.max() + 1
    effect = np.where(
        e == s,
        model.separation + model.target_speaker * generator.standard_normal(speakers)[s],
        model.enrolled_speaker * generator.standard_normal(enrolled)[e]
        + model.trial_speaker * generator.standard_normal(speakers)[s]
        + model.pair * generator.standard_normal((enrolled, speakers))[e, s],
    )
    return np.asarray(model.offset + model.scale * (effect + generator.standard_normal(e.size)))
