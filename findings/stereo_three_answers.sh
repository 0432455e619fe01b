#!/usr/bin/env bash
# Guess: a recording of two channels is averaged, or refused, alike in every package.
# Seen: librosa averages: channels of opposite sign are silence. openSMILE takes the first channel
#   and says nothing: of a telephone call it describes one person, of the swapped file the other.
#   Praat (parselmouth) finds the pitch of channels of opposite sign, so it does not average.
# Why: the speaker of a call is on one channel, and microphone pairs have opposite signs. The
#   vectors, the pitch and the words of one file are those of different people.
# Versions: librosa 0.11.0, opensmile 2.6.0, praat-parselmouth 0.4.7, soundfile 0.14.0; Python
#   3.11
set -euo pipefail

packages=(librosa==0.11.0 opensmile==2.6.0 praat-parselmouth==0.4.7 soundfile==0.14.0)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import librosa
import numpy as np
import opensmile
import parselmouth
import soundfile

time = np.arange(32000) / 16000


def voice(pitch):
    """Return a tone with five harmonics."""
    return 0.1 * sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 6))


soundfile.write("call.wav", np.stack([voice(120), voice(240)], axis=1), 16000)
soundfile.write("swapped.wav", np.stack([voice(240), voice(120)], axis=1), 16000)
soundfile.write("opposite.wav", np.stack([voice(120), -voice(120)], axis=1), 16000)
smile = opensmile.Smile(opensmile.FeatureSet.eGeMAPSv02, opensmile.FeatureLevel.Functionals)


def smile_pitch(name):
    """Return openSMILE's mean pitch in Hz, from semitones above 27.5 Hz."""
    semitones = smile.process_file(name)["F0semitoneFrom27.5Hz_sma3nz_amean"].iloc[0]
    return int(round(27.5 * 2 ** (float(semitones) / 12), -1))


def praat_pitch(name):
    """Return Praat's mean pitch in Hz over voiced frames."""
    pitch = parselmouth.Sound(name).to_pitch().selected_array["frequency"]
    return int(round(float(pitch[pitch > 0].mean()), -1))


seen = {
    "librosa, opposite, is silent": bool(
        np.abs(librosa.load("opposite.wav", sr=None)[0]).max() < 1e-4
    ),
    "openSMILE, call": smile_pitch("call.wav"),
    "openSMILE, swapped": smile_pitch("swapped.wav"),
    "openSMILE, opposite": smile_pitch("opposite.wav"),
    "Praat, opposite": praat_pitch("opposite.wav"),
}
recorded = {
    "librosa, opposite, is silent": True,
    "openSMILE, call": 120,
    "openSMILE, swapped": 240,
    "openSMILE, opposite": 120,
    "Praat, opposite": 120,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
