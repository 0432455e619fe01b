#!/usr/bin/env bash
# Demonstrate the whole way from speech to the report, without Kaldi: simulated speakers, baseline B2,
# x-vectors, all attack models. The extractor is a network that needs no training: its x-vectors are
# statistics of MFCC, so numbers show how the attack models differ, not how well B2 protects. With
# few speakers results are noisy: with another seed or size, ignorant and lazy-informed attackers,
# which differ by a few percent, may change order; with fewer speakers the others, too.
#
# Usage: run.sh [options]
set -euo pipefail

# --- options
dir=           # folder of speech, tree and results (default: work beside this script)
speech=        # evaluate this audio instead of simulated speech: a folder of wav or flac
utt2spk=       # speakers of the audio of --speech
spk2gender=    # their genders (default: trials against all speakers)
variant=2022   # baseline B2 of the challenge of 2020, or of 2022 as released (--per-set)
speakers=20    # simulated speakers, half of them female
training=60    # other simulated speakers, to train the attacker's back ends on
utterances=10  # utterances per speaker
seconds=3      # length of a simulated utterance
seed=0         # seed of the simulation and of B2
nj=2           # number of parallel jobs
attackers=     # all, challenge, or ids of the protocol (default: challenge, and words where there are transcripts)
stop_stage=100 # last stage of the recipe vpc2020 to run
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"
usage_error() {
    printf 'run.sh: %s (--help lists the options)\n' "$1" >&2
    exit 2
}
[ $# -eq 0 ] || usage_error "unexpected argument '$1'"
if { [ -n "$speech" ] && [ -z "$utt2spk" ]; } || { [ -z "$speech" ] && [ -n "$utt2spk$spk2gender" ]; }; then
    usage_error "--speech and --utt2spk go together"
fi
dir=${dir:-$recipe/work}

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/../vpc2020/path.sh"

# Existing files are kept by the commands themselves.
mkdir -p -- "$dir"
simulated=$dir/simulated
if [ -n "$speech" ]; then speakers=0; fi
privacy-eval demo-speech "$simulated" --seed "$seed" --speakers "$speakers" --training "$training" \
    --utterances "$utterances" --seconds "$seconds"
audio=(--original "$simulated/speech" --utt2spk "$simulated/speech_utt2spk"
    --spk2gender "$simulated/speech_spk2gender" --text "$simulated/speech_text")
if [ -n "$speech" ]; then
    audio=(--original "$speech" --utt2spk "$utt2spk")
    if [ -n "$spk2gender" ]; then audio+=(--spk2gender "$spk2gender"); fi
fi
privacy-eval data-dir "${audio[@]}" --training "$simulated/training" \
    --training-utt2spk "$simulated/training_utt2spk" --model "$simulated/extractor" \
    --out "$dir/tree"

"$recipe/../vpc2020/run.sh" --stage 4 --stop-stage "$stop_stage" --tree "$dir/tree" --results exp \
    --system B2 --out results --conf protocol.yaml --anonymizer mcadams --variant "$variant" \
    --per-set --seed "$seed" --nj "$nj" --attackers "$attackers" \
    --allow-outside
