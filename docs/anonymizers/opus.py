"""Send a WAV file through the Opus codec at its lowest rate, 6 kbit/s, and decode it again.

    pip install soundfile==0.14.0
    run.sh ... --anonymizer 'python docs/anonymizers/opus.py {wav_in} {wav_out}'

The recipe calls it once per utterance. This is no anonymizer but a control: the voice stays.
Everybody gets the same treatment, and nothing is random. What remains is a band of 4 kHz. The input
must have a sampling rate of 8, 12, 16, 24 or 48 kHz. The wheel has libsndfile with Opus. There are
no weights.
"""

import argparse
import io
from pathlib import Path

import soundfile

LOWEST_RATE = 1.0  # libsndfile: bits per second = 6000 + 250000 (1 - compression level)


def main() -> None:
    """Read, encode, decode and write a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wav_in", type=Path)
    parser.add_argument("wav_out", type=Path)
    args = parser.parse_args()
    samples, rate = soundfile.read(args.wav_in, always_2d=True)
    coded = io.BytesIO()
    soundfile.write(
        coded,
        samples.mean(axis=1),
        rate,
        format="OGG",
        subtype="OPUS",
        compression_level=LOWEST_RATE,
    )
    coded.seek(0)
    decoded, rate = soundfile.read(coded)
    soundfile.write(args.wav_out, decoded, rate, subtype="PCM_16")


if __name__ == "__main__":
    main()
