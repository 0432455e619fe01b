#!/usr/bin/env bash
# Stage 5: evaluation subsets of anonymized speech, missing x-vectors (with Kaldi), and missing scores
# of all trial conditions, in parallel jobs. Scores of other tools are kept.
#
# Usage: asv_scores.sh --log-dir DIR [--tree DIR] [--cmd CMD] [--nj N] [--allow-missing]
#                      [--allow-pipes] [--details] -- [other options of a tree]
set -euo pipefail

# --- options
tree=.               # experiment tree
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
if [ -n "${KALDI_ROOT:-}" ]; then
    # A pipe would hide a failure.
    missing=$(privacy-eval asv-scores "${scoring[@]}" --missing-vectors)
    while read -r set model; do
        if [ -n "$set" ]; then
            "$root/local/xvectors.sh" --tree "$tree" --set "$set" --model "$model" --nj "$nj" \
                --cmd "$cmd" </dev/null
        fi
    done <<<"$missing"
fi
"$root/scripts/split_jobs.sh" asv-scores --finish --cmd "$cmd" --nj "$nj" --log-dir "$log_dir" \
    -- "${scoring[@]}" ${items[@]+"${items[@]}"}
