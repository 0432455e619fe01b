#!/usr/bin/env bash
# Stage 6: computes the privacy metrics of every condition, in parallel jobs.
#
# Usage: privacy_metrics.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval evaluate]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
log_dir=         # where the jobs' logs go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

if [ -z "$log_dir" ]; then
    printf 'privacy_metrics.sh: --log-dir is needed\n' >&2
    exit 2
fi
# Runners replace the job's name wherever it stands, so it must not be part of somebody's path.
job=JOB
while [[ "$log_dir $*" == *"$job"* ]]; do job+=_N; done
read -r -a runner <<<"$cmd"
"${runner[@]}" "$job=1:$nj" "$log_dir/privacy_metrics.$job.log" \
    privacy-eval evaluate "$@" --job "$job/$nj"
