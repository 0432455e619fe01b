#!/usr/bin/env bash
# Stage 10: draws the figures from results.json and the curves beside it, in parallel jobs.
#
# Usage: figures.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval figures]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
log_dir=         # where the jobs' logs go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

"$root/scripts/run_shares.sh" --cmd "$cmd" --nj "$nj" --name figures --log-dir "$log_dir" \
    -- figures "$@"
