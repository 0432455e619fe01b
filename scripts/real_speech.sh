#!/usr/bin/env bash
# Take the six LibriSpeech speakers of ../shared/speech through data-dir, baseline B2 and all stages of
# the recipe. The extractor takes statistics of MFCC and the back end is trained on simulated speakers,
# so this tests the way and not B2.
#
# Usage: real_speech.sh [--speech DIR] [--dir DIR] [--nj N]
set -euo pipefail

# --- options
speech=../shared/speech  # folder of audio/ and utt2spk
dir=real_speech          # output folder
nj=2                     # number of parallel jobs
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

mkdir -p -- "$dir/audio"
cp -- "$speech"/audio/*.flac "$dir/audio"
grep -v '^edge-' -- "$speech/utt2spk" >"$dir/utt2spk"
exec "$root/recipes/speech_demo/run.sh" --dir "$dir/demo" --speech "$dir/audio" \
    --utt2spk "$dir/utt2spk" --nj "$nj"
