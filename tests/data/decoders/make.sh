#!/usr/bin/env bash
# Outputs of ffmpeg 5.1.9 (Debian 12). Inputs are simulated: a quarter of a second of
# tones below 3 kHz and noise, drawn by numpy 2.4.6 with seed 0. Usage: make.sh, in this folder.
set -euo pipefail

python3 - <<'END'
import numpy as np
import soundfile

generator = np.random.default_rng(0)
time = np.arange(4000) / 16000
tones = [sum(np.sin(2 * np.pi * f * time + f) for f in (220 + 40 * c, 710, 1830, 2900)) for c in (0, 1)]
stereo = np.stack([3000 * t + generator.normal(0, 20, 4000) for t in tones], axis=1)
soundfile.write("stereo.flac", stereo.round().astype(np.int16), 16000)
soundfile.write("mono.flac", stereo[:, 0].round().astype(np.int16), 16000)
soundfile.write("deep.flac", (stereo[:, 0] * 65536).round().astype(np.int32), 16000, subtype="PCM_24")
END
run=(ffmpeg -v error -y -bitexact)
"${run[@]}" -i stereo.flac -map_channel 0.0.1 -f wav channel1.wav
"${run[@]}" -i stereo.flac -ac 1 -f wav mean.wav
"${run[@]}" -i deep.flac -f wav deep.wav
"${run[@]}" -i mono.flac -ar 8000 -f wav rate8000.wav
"${run[@]}" -i mono.flac -ar 22050 -f wav rate22050.wav
