#!/usr/bin/env bash
# Runs a command on this machine, or several numbered copies of it in parallel, each with a log.
# The interface is that of Kaldi's run.pl, so that slurm.sh, queue.pl or slurm.pl can stand in its
# place.
#
# Usage: run_jobs.sh [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# JOB may be any name, the range also a single number (JOB=3). The name is replaced by the job's
# number in LOG and in every argument. Arguments reach the command as they are: no shell reads
# them again.
#
#   --max-jobs-run N  at most N jobs at a time (default: all at once)
#   --retries N       run jobs that were killed, such as by the system for want of memory, up to N
#                     times again, one at a time (default: 1); their logs are kept as LOG.try1, ...
#   --mem 4G, --num-threads N, --gpu N, and any other option with one value (-l ..., -q ...):
#                     for a cluster's scheduler; accepted and ignored here
#
# Exit code: 0 all jobs ended well, 1 a job failed, 2 wrong usage, 130 or 143 interrupted.

# Several functions below are called by traps only, which shellcheck cannot see.
# shellcheck disable=SC2317
set -euo pipefail

# shellcheck source=scripts/job_runner.sh
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/job_runner.sh"
parse_jobs "$@"

# A job without exit code in this folder was killed together with its shell.
state=$(mktemp -d "${TMPDIR:-/tmp}/run_jobs.XXXXXX")

# Job control puts every job into a process group of its own, so that an interrupt reaches also
# what the command itself has started, and nothing else.
set -m

# A runner that is killed outright (kill -9, the machine's memory guard) cannot stop its jobs, so
# this process does: it learns their groups through a pipe, and the pipe ends with the runner.
mkfifo "$state/alive"
guard() {
    local line groups=()
    trap '' INT TERM HUP
    while read -r line; do
        [ "$line" != finished ] || return 0
        groups+=("$line")
    done
    for line in ${groups[@]+"${groups[@]}"}; do
        # A group that has ended already is no error.
        kill -TERM -- "-$line" 2>/dev/null || true
    done
    rm -rf -- "$state"
}
guard <"$state/alive" >/dev/null 2>&1 &
exec 9>"$state/alive"

clean_up() {
    echo finished >&9
    rm -rf -- "$state"
}
trap clean_up EXIT

pids=() # by the jobs' numbers

interrupted() {
    local signal i id waiting
    trap '' INT TERM HUP
    for signal in TERM KILL; do
        waiting=0
        for id in ${pids[@]+"${!pids[@]}"}; do
            # A job that has ended is left alone: its number may belong to another by now.
            if [ ! -e "$state/$id" ] && kill "-$signal" -- "-${pids[id]}" 2>/dev/null; then
                waiting=1
            fi
        done
        for ((i = 0; waiting && i < 50; i++)); do
            sleep 0.1
            waiting=0
            for id in ${pids[@]+"${!pids[@]}"}; do
                if [ ! -e "$state/$id" ] && kill -0 -- "-${pids[id]}" 2>/dev/null; then
                    waiting=1
                fi
            done
        done
    done
    printf 'run_jobs.sh: interrupted by SIG%s\n' "$1" >&2
    exit "$2"
}
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
trap 'interrupted HUP 129' HUP

start_jobs() {
    local id running
    pids=()
    for id in "$@"; do
        if [ "$max_jobs" -gt 0 ]; then
            while running=$(jobs -rp | wc -l) && [ "$((running - 1))" -ge "$max_jobs" ]; do
                # Bash before 4.3 has no wait -n. A job's own failure is looked at later.
                wait -n 2>/dev/null || sleep 0.1
            done
        fi
        "$BASH" "$job_script" "$state" "$job_name" "$log_pattern" "$id" "${command[@]}" 9>&- &
        pids[id]=$!
        printf '%s\n' "$!" >&9
    done
    for id in "$@"; do
        wait "${pids[id]}" 2>/dev/null || true # without the shell's own remark on it
    done
    max_jobs=1 # a job that was killed for want of memory has the machine to itself the next time
}

run_all
