#!/usr/bin/env bash
# Runs a verb of privacy-eval in parallel jobs, each of which does its share (--job J/N).
#
# Usage: run_shares.sh --name NAME --log-dir DIR [--cmd CMD] [--nj N] [--finish true]
#                      -- VERB [its options]
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
name=            # what the logs are called
log_dir=         # where they go
finish=false     # then do here what jobs left undone, and say how it stands (--after-jobs)
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
jobs=("${runner[@]}" "$job=1:$nj" "$log_dir/$name.$job.log" privacy-eval "$@" --job "$job/$nj")
if [ "$finish" != true ]; then exec "${jobs[@]}"; fi

# What fails in a job is met again below, where it is said and counted. An interrupt is not.
code=0
"${jobs[@]}" || code=$?
if [ "$code" -gt 128 ]; then exit "$code"; fi
if [ "$code" -ne 0 ]; then
    printf 'run_shares.sh: what these jobs left undone is now done here\n' >&2
fi
exec privacy-eval "$@" --after-jobs
