#!/usr/bin/env python3
"""How often the interval of the strongest attacker covers the lowest true EER where attackers learn
from crops, or standardize each side by itself, by simulation of vectors.

    scripts/coverage_discriminants.py --experiments 300 --replicates 200 --speakers 20

Two encoders see the same speakers of anonymized speech, with effects of speaker, utterance and
channel. Five attackers compare their vectors: cosine of both, the second standardized by each side,
`lda` and `lda-joint` of the first, `lda-joint` of the second, learnt from crops of other speakers.
The true EER of an attacker is its mean over all experiments. Otherwise as coverage_strongest.py.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial

import numpy as np
from coverage_strongest import inside, row
from numpy.typing import NDArray
from tabulate import tabulate

from privacy_eval.asv.cosine import cosines, unit_vectors
from privacy_eval.attackers.alignment import AffineMap
from privacy_eval.attackers.discriminant import lda, standardization
from privacy_eval.metrics import TrialScores, kaldi_eer, speaker_bootstrap
from privacy_eval.metrics.strongest import strongest
from privacy_eval.metrics.trials import Ids, Trials

Array = NDArray[np.float64]

SIZE, TRAINING, CROPS, UTTERANCES = 24, 100, 4, 3
#: Effects of each encoder: of the speaker that are left, of the utterance, of the channel.
EFFECTS = ((0.6, 1.0, 1.2), (0.5, 1.0, 0.8))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=300)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--speakers", type=int, default=20)
    parser.add_argument("--nj", type=int, default=2)
    arguments = parser.parse_args()
    work = partial(experiment, speakers=arguments.speakers, replicates=arguments.replicates)
    with ProcessPoolExecutor(arguments.nj) as pool:
        found = np.array(list(pool.map(work, range(arguments.experiments), chunksize=5)))
    outcomes, eers = found[:, :6], found[:, 6:]
    true = round(float(eers.mean(axis=0).min()), 2)
    print(f"true EERs: {', '.join(f'{eer:.1f}' for eer in eers.mean(axis=0))} %")
    headers = ["true", "minimum", "corrected", "bias: minimum", "corrected", "of half width"]
    headers += ["coverage", "+-", "true below", "true above", "width", "alone"]
    headers += ["overclaims: minimum", "corrected"]
    print(tabulate([row(outcomes, true)], headers=headers, disable_numparse=True))
    return 0 if inside(outcomes, true).mean() >= 0.88 else 1


def experiment(seed: int, speakers: int, replicates: int) -> tuple[float, ...]:
    """Draw scores of all attackers, and return what is printed, then their EERs, in %."""
    rng = np.random.default_rng((7, seed))
    enrolled = np.repeat(np.arange(speakers), speakers * UTTERANCES)
    spoken = np.tile(np.arange(speakers).repeat(UTTERANCES), speakers)
    names = [f"s{number:03d}" for number in range(speakers)]
    is_target, sides = enrolled == spoken, (Ids(enrolled, names), Ids(spoken, names))
    estimates, drawn = [], []
    for scores in attacked(rng, speakers):
        flat = scores.ravel()
        estimates.append(kaldi_eer(TrialScores(flat[is_target], flat[~is_target])).value)
        trials = Trials(
            score=flat, label=is_target, enrolled_speaker=sides[0], trial_speaker=sides[1]
        )
        by_speaker = speaker_bootstrap(trials, replicates=replicates, seed=seed)
        drawn.append(by_speaker.values["exact eer"])
    result = strongest(estimates, drawn)
    own = np.quantile(drawn[result.name], (0.025, 0.975))
    values = result.minimum, result.corrected, result.lower, result.upper
    return tuple(100 * float(value) for value in (*values, *own, *estimates))


def attacked(rng: np.random.Generator, speakers: int) -> list[Array]:
    """Scores of every attacker, shape (speakers, speakers x UTTERANCES)."""
    first, second = (speech(rng, n, speakers, 2 * UTTERANCES) for n in (0, 1))
    maps = learnt()

    def compared(vectors: Array, standardize: bool, by: AffineMap | None) -> Array:
        halves = vectors[:, :UTTERANCES], vectors[:, UTTERANCES:]
        enrolled, tried = (half.reshape(-1, vectors.shape[2]) for half in halves)
        if standardize:
            enrolled, tried = (standardization(side)(side) for side in (enrolled, tried))
        if by is not None:
            enrolled, tried = by(enrolled), by(tried)
        means = unit_vectors(enrolled).reshape(speakers, UTTERANCES, -1).mean(axis=1)
        return cosines(means, tried)

    return [
        compared(first, False, None),
        compared(second, True, None),
        compared(first, False, maps[0]),
        compared(first, False, maps[1]),
        compared(second, True, maps[2]),
    ]


@cache
def learnt() -> tuple[AffineMap, AffineMap, AffineMap]:
    """The discriminants of one training set: anonymized, joint, and joint of the second encoder."""
    rng, names = np.random.default_rng(5), np.arange(TRAINING).repeat(CROPS).astype(str)
    voices = rng.normal(size=(TRAINING, SIZE))
    sets = [
        speech(rng, encoder, TRAINING, CROPS, gain, voices).reshape(-1, SIZE)
        for encoder in (0, 1)
        for gain in (2.0, 1.0)  # original speech has more of the speaker
    ]
    both = np.concatenate([names, names])
    spectra = np.concatenate([standardization(side)(side) for side in sets[2:]])
    joint = np.concatenate(sets[:2])
    return lda(sets[1], names), lda(joint, both), lda(spectra, both)


def speech(
    rng: np.random.Generator,
    encoder: int,
    speakers: int,
    utterances: int,
    gain: float = 1.0,
    voices: Array | None = None,
) -> Array:
    """Vectors of shape (speakers, utterances, SIZE) of an encoder."""
    left, spread, channel = EFFECTS[encoder]
    mixing = np.random.default_rng(encoder).normal(size=(2, SIZE, SIZE)) / np.sqrt(SIZE)
    voices = rng.normal(size=(speakers, SIZE)) if voices is None else voices
    vectors = gain * left * (voices @ mixing[0])[:, None]
    shape = (speakers, utterances)
    vectors = vectors + spread * rng.normal(size=(*shape, SIZE))
    return np.asarray(vectors + channel * rng.normal(size=(*shape, 4)) @ (3 * mixing[1][:4]))


if __name__ == "__main__":
    sys.exit(main())
