#!/usr/bin/env bash
# Guess: voice activity of a recording depends on the recording: one Vad object serves for all
#   files of a list.
# Seen: the object keeps its noise estimate. The same second of speech has 33 voiced frames of 33
#   with a new object and 31 with one that has heard it before; no method resets it.
# Why: trimming silence is the first step of speaker encoders (Resemblyzer uses this package).
#   Vectors depend on the order of files, and runs in parallel give other numbers.
# Versions: webrtcvad-wheels 2.0.14.post1, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(webrtcvad-wheels==2.0.14.post1 numpy==2.4.6)
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
import webrtcvad

time = np.arange(16000) / 16000
voice = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
noise = np.random.default_rng(0).normal(size=16000)
speech = (3000 * voice * (np.sin(2 * np.pi * 3 * time) > 0) + 20 * noise).astype("<i2")


def voiced(vad):
    """Return the number of voiced frames of 30 ms."""
    frames = (speech[start : start + 480] for start in range(0, 16000 - 479, 480))
    return sum(vad.is_speech(frame.tobytes(), 16000) for frame in frames)


vad = webrtcvad.Vad(0)
seen = {"first": voiced(vad), "again": voiced(vad), "a new object": voiced(webrtcvad.Vad(0))}
recorded = {"first": 33, "again": 31, "a new object": 33}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
