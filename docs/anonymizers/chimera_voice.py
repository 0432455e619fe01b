"""Anonymize a WAV file by Chimera: pitch and formants changed by Praat, then a little noise.

    pip install chimera-voice==0.2.0 praat-parselmouth==0.4.7 soundfile==0.14.0
    run.sh ... --anonymizer 'python docs/anonymizers/chimera_voice.py {wav_in} {wav_out}'

The recipe calls it once per utterance. The preset is "strong". Its key is made of the seed and the
speaker, and decides how far pitch and formants move. The speaker is the part of the file's name
before the first hyphen. Chimera leaves unchanged what it takes for no speech. There are no weights.
This file must not be named chimera.py: it would import itself.
"""

import argparse
import sys
from pathlib import Path

import chimera
import parselmouth
import soundfile


def main() -> None:
    """Read, convert and write a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wav_in", type=Path)
    parser.add_argument("wav_out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", choices=["speaker", "utterance"], default="speaker")
    parser.add_argument("--preset", default="strong")
    args = parser.parse_args()
    samples, rate = soundfile.read(args.wav_in, always_2d=True)
    utterance = args.wav_in.stem
    name = utterance.split("-")[0] if args.level == "speaker" else utterance
    # Praat draws random numbers: without this, no two runs write the same speech.
    parselmouth.praat.run("random_initializeWithSeedUnsafelyButPredictably (1)")
    result = chimera.mask_array(
        samples.mean(axis=1),
        rate,
        key=f"{args.seed} {name}",
        preset=args.preset,
        mode=chimera.MaskMode.ALL_SAME,
        n_speakers=1,  # otherwise it finds two or more, and each gets another voice
    )
    if not result.speakers_masked:
        print(f"{utterance}: no speech found, left unchanged", file=sys.stderr)
    soundfile.write(args.wav_out, result.audio, rate, subtype="PCM_16")


if __name__ == "__main__":
    main()
