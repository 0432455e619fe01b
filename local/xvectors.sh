#!/usr/bin/env bash
# Part of stage 5: extract missing x-vectors of data sets with speech, in parallel jobs, with the
# built-in extractor or with Kaldi's programs, as in the challenge.
#
# Usage: xvectors.sh --log-dir DIR [--tree DIR] [--extractor kaldi] [--cmd CMD] [--nj N]
#                    [--allow-missing] [--allow-pipes] -- [other options of a tree]
set -euo pipefail

# --- options
tree=.               # experiment tree
extractor=           # kaldi: Kaldi's programs, installed at KALDI_ROOT
cmd=run_jobs.sh      # job runner, with its options
nj=1                 # number of jobs
log_dir=             # where the jobs' logs go
allow_missing=false  # leave out utterances that cannot be read
allow_pipes=false    # run commands in scp files
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

common=(--tree "$tree" "$@")
if [ "$allow_missing" = true ]; then common+=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then common+=(--allow-pipes); fi

case $extractor in
    "")
        exec "$root/scripts/split_jobs.sh" xvectors --finish --cmd "$cmd" --nj "$nj" \
            --log-dir "$log_dir" -- "${common[@]}"
        ;;
    kaldi)
        # A pipe would hide a failure.
        missing=$(privacy-eval asv-scores "${common[@]}" --missing-vectors)
        while read -r set model; do
            if [ -n "$set" ]; then
                "$root/local/kaldi_xvectors.sh" --tree "$tree" --set "$set" --model "$model" \
                    --nj "$nj" --cmd "$cmd" </dev/null
            fi
        done <<<"$missing"
        ;;
    *)
        printf "xvectors.sh: --extractor takes kaldi, not '%s'\n" "$extractor" >&2
        exit 2
        ;;
esac
