#!/usr/bin/env bash
# Demonstrate the toolkit on simulated data: create a small tree in the layout of the VoicePrivacy
# Challenge with two anonymization systems, and evaluate it with the recipe vpc2020. Needs Python
# only: no Kaldi, no speech, no models.
#
# Usage: run.sh [options]
set -euo pipefail

# --- options
dir=           # folder of the simulated tree (default: work beside this script)
seed=0         # seed of the simulation
nj=2           # number of parallel jobs
bootstrap=500  # bootstrap replicates of speakers for confidence intervals; 0: none
attackers=     # all, challenge, or ids of the protocol (default: challenge, and the words)
stage=0        # first stage of the recipe vpc2020 to run
stop_stage=100 # last stage of the recipe vpc2020 to run
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"
if [ $# -gt 0 ]; then
    printf "run.sh: unexpected argument '%s' (--help lists the options)\n" "$1" >&2
    exit 2
fi
dir=${dir:-$recipe/work}

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/../vpc2020/path.sh"

# An existing complete tree is kept by the command itself.
mkdir -p -- "$(dirname -- "$dir")"
privacy-eval demo-tree "$dir" --seed "$seed"

"$recipe/../vpc2020/run.sh" --stage "$stage" --stop-stage "$stop_stage" --tree "$dir" \
    --results exp --out results --nj "$nj" --bootstrap "$bootstrap" --attackers "$attackers"
