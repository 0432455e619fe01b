#!/usr/bin/env bash
# Guess: reading a WAV file with dtype="int16" gives the same samples whatever the file holds:
#   floats within +-1 are scaled, as integers are when they are read as floats.
# Seen: floats are rounded, not scaled: all samples of a WAV of 32-bit or 64-bit floats are 0. A
#   file of 24-bit integers is scaled. Nothing is said.
# Why: vocoders write floats, and extractors made for Kaldi read int16: every anonymized recording
#   is silence, all vectors are equal, and the EER is at chance: perfect privacy.
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

tone = 0.3 * np.sin(2 * np.pi * 200 * np.arange(16000) / 16000)
seen = {}
for subtype in ("FLOAT", "DOUBLE", "PCM_24", "PCM_16"):
    soundfile.write("tone.wav", tone, 16000, subtype=subtype)
    samples, _ = soundfile.read("tone.wav", dtype="int16")
    seen[subtype] = int(np.abs(samples).max())
recorded = {"FLOAT": 0, "DOUBLE": 0, "PCM_24": 9831, "PCM_16": 9831}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
