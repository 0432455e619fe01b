#!/usr/bin/env bash
# Guess: dtype="int16" of a loud Ogg file (Vorbis, Opus) gives its floats, scaled and clipped at full scale.
# Seen: what the decoder gives beyond full scale is turned around, +33000 becomes -32536: a loud
#   recording is full of clicks of full scale. Floats are right, and MP3 is clipped. Nothing is said.
# Why: messengers send speech as Opus, and extractors made for Kaldi read int16. The clicks are of
#   the file, not of the voice: an encoder compares them instead of the speakers.
# Versions: soundfile 0.14.0, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(soundfile==0.14.0 numpy==2.4.6)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import numpy as np
import soundfile

square = 0.999 * np.sign(np.sin(2 * np.pi * 440 * np.arange(32000) / 16000))
seen = {}
for name, how in {"a.mp3": {}, "a.ogg": {}, "a.opus": {"format": "OGG", "subtype": "OPUS"}}.items():
    soundfile.write(name, square, 16000, **how)
    floats, _ = soundfile.read(name, dtype="float64")
    integers, _ = soundfile.read(name, dtype="int16")
    loud = np.abs(floats) > 1.01
    turned = np.sign(integers[loud]) != np.sign(floats[loud])
    seen[name] = bool(turned.any())
    print(f"{name}: {turned.sum()} of {loud.sum()} samples beyond full scale have the other sign")
recorded = {"a.mp3": False, "a.ogg": True, "a.opus": True}
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
