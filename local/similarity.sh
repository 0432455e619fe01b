#!/usr/bin/env bash
# Stage 7: voice similarity matrices, DeID and G_VD of every trial set, in parallel jobs.
#
# Usage: similarity.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of similarity-tree]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
log_dir=         # where the jobs' logs go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

"$root/scripts/run_shares.sh" --cmd "$cmd" --nj "$nj" --name similarity --log-dir "$log_dir" \
    --finish true -- similarity-tree "$@"
