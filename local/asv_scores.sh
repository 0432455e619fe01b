#!/usr/bin/env bash
# Stage 5: anonymized evaluation subsets, x-vectors with Kaldi where they are missing, and scores of
# every condition that has none, in parallel jobs. Scores that others wrote are kept.
#
# Usage: asv_scores.sh --log-dir DIR [--cmd CMD] [--nj N] [--allow-missing true]
#                      [--allow-pipes true] -- [options of a tree]
set -euo pipefail

# --- options
cmd=run_jobs.sh      # job runner, with its options
nj=1                 # number of jobs
log_dir=             # where the jobs' logs go
allow_missing=false  # leave out utterances without an x-vector
allow_pipes=false    # run commands that stand in scp files
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

# The folder that the options of a tree name.
tree_of() {
    local tree=.
    while [ $# -gt 1 ]; do
        if [ "$1" = --tree ]; then tree=$2; fi
        shift
    done
    printf '%s' "$tree"
}

score=(score-tree "$@")
if [ "$allow_missing" = true ]; then score+=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then score+=(--allow-pipes); fi

"$root/local/subsets.sh" "$@" --anonymized
if [ -n "${KALDI_ROOT:-}" ]; then
    # Not in a pipe: its failure would be hidden.
    missing=$(privacy-eval "${score[@]}" --missing-vectors)
    while read -r set model; do
        if [ -n "$set" ]; then
            "$root/local/xvectors.sh" --tree "$(tree_of "$@")" --set "$set" --model "$model" --nj "$nj" \
                --cmd "$cmd" </dev/null
        fi
    done <<<"$missing"
fi
"$root/scripts/run_shares.sh" --cmd "$cmd" --nj "$nj" --name asv_scores --log-dir "$log_dir" \
    --finish true -- "${score[@]}"
