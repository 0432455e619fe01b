"""Anonymize a WAV file by the WORLD vocoder: another pitch, other formants.

    pip install pyworld==0.3.5 setuptools==65.5.0 numpy==2.4.6 soundfile==0.14.0
    run.sh ... --anonymizer 'python docs/anonymizers/world.py {wav_in} {wav_out}'

The recipe calls it once per utterance. F0 is multiplied by a factor from 0.7 to 0.87 or from 1.15
to 1.4. The spectral envelope is stretched along frequency by a factor from 0.85 to 0.95 or from
1.05 to 1.15. Both factors are drawn per speaker. The speaker is the part of the file's name before
the first hyphen. There are no weights; pyworld needs setuptools to start.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import pyworld
import soundfile


def draw_voice(seed: int, name: str) -> tuple[float, float]:
    """Draw the factors of F0 and formants from a hash of seed and name."""
    rng = random.Random(f"{seed} {name}")  # hashes the text by SHA-512
    f0_factor = rng.uniform(*rng.choice([(0.7, 0.87), (1.15, 1.4)]))
    return f0_factor, rng.uniform(*rng.choice([(0.85, 0.95), (1.05, 1.15)]))


def convert(samples: np.ndarray, rate: int, f0_factor: float, stretch: float) -> np.ndarray:
    """Analyze speech, change F0 and envelope, and synthesize it in its original length."""
    f0, times = pyworld.harvest(samples, rate)
    envelope = pyworld.cheaptrick(samples, f0, times, rate)
    aperiodicity = pyworld.d4c(samples, f0, times, rate)
    bins = np.arange(envelope.shape[1])
    logs = np.log(envelope)
    stretched = np.exp([np.interp(bins / stretch, bins, frame) for frame in logs])
    speech = pyworld.synthesize(f0 * f0_factor, stretched, aperiodicity, rate)
    return np.pad(speech, (0, max(0, len(samples) - len(speech))))[: len(samples)]


def main() -> None:
    """Read, convert and write a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wav_in", type=Path)
    parser.add_argument("wav_out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", choices=["speaker", "utterance"], default="speaker")
    args = parser.parse_args()
    samples, rate = soundfile.read(args.wav_in, always_2d=True)
    utterance = args.wav_in.stem
    name = utterance.split("-")[0] if args.level == "speaker" else utterance
    speech = convert(samples.mean(axis=1), rate, *draw_voice(args.seed, name))
    speech /= max(1.0, np.abs(speech).max())
    soundfile.write(args.wav_out, speech, rate, subtype="PCM_16")


if __name__ == "__main__":
    main()
