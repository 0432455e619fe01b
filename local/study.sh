#!/usr/bin/env bash
# Makes the simulations of a metric study, in parallel jobs; those that are there are kept.
#
# Usage: study.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval study]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
log_dir=         # where the jobs' logs go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

"$root/scripts/run_shares.sh" --cmd "$cmd" --nj "$nj" --name study --log-dir "$log_dir" \
    -- study "$@"
