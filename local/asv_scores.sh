#!/usr/bin/env bash
# Stage 5: evaluation subsets of anonymized speech, missing x-vectors, back ends of their training
# sets, and missing scores of all trial conditions, in parallel jobs. Scores of other tools are kept.
#
# Usage: asv_scores.sh --log-dir DIR [--tree DIR] [--extractor kaldi] [--cmd CMD] [--nj N]
#                      [--allow-missing] [--allow-pipes] [--details] -- [other options of a tree]
set -euo pipefail

# --- options
tree=.               # experiment tree
extractor=           # of x-vectors; kaldi: Kaldi's programs
cmd=run_jobs.sh      # job runner, with its options
nj=1                 # number of jobs
log_dir=             # where the jobs' logs go
allow_missing=false  # leave out utterances without an x-vector
allow_pipes=false    # run commands in scp files
details=false        # list every item
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

common=(--tree "$tree" "$@")
scoring=("${common[@]}")
if [ "$allow_missing" = true ]; then scoring+=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then scoring+=(--allow-pipes); fi

items=()
if [ "$details" = true ]; then items=(--details); fi
"$root/local/subsets.sh" "${common[@]}" --anonymized ${items[@]+"${items[@]}"}
"$root/local/xvectors.sh" --tree "$tree" --extractor "$extractor" --cmd "$cmd" --nj "$nj" \
    --log-dir "$log_dir" --allow-missing "$allow_missing" --allow-pipes "$allow_pipes" \
    -- "$@" ${items[@]+"${items[@]}"}
training=("${common[@]}" ${items[@]+"${items[@]}"})
if [ "$allow_pipes" = true ]; then training+=(--allow-pipes); fi
"$root/local/train_backend.sh" "${training[@]}"
"$root/scripts/split_jobs.sh" asv-scores --finish --cmd "$cmd" --nj "$nj" --log-dir "$log_dir" \
    -- "${scoring[@]}" ${items[@]+"${items[@]}"}
