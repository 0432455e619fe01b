#!/usr/bin/env bash
# Runs a verb of privacy-eval in parallel jobs, each of which does an equal share (--job J/N).
#
# Usage: run_shares.sh --name NAME --log-dir DIR [--cmd CMD] [--nj N] -- VERB [its options]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
name=            # what the logs are called
log_dir=         # where they go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

if [ -z "$log_dir" ] || [ -z "$name" ]; then
    printf 'run_shares.sh: --name and --log-dir are needed\n' >&2
    exit 2
fi
# A log that cannot be written would leave an earlier run's in its place.
if ! mkdir -p -- "$log_dir" || [ ! -w "$log_dir" ]; then
    printf 'run_shares.sh: %s: cannot be written to; --out names another folder\n' "$log_dir" >&2
    exit 1
fi
# Runners replace the job's name wherever it stands, so it must not be part of somebody's path.
job=JOB
while [[ "$log_dir $name $*" == *"$job"* ]]; do job+=_N; done
read -r -a runner <<<"$cmd"
"${runner[@]}" "$job=1:$nj" "$log_dir/$name.$job.log" privacy-eval "$@" --job "$job/$nj"
