#!/usr/bin/env bash
# Run a command on this machine, or several numbered copies of it in parallel, each with a log.
# The interface is that of Kaldi's run.pl, so that slurm.sh, queue.pl or slurm.pl can replace it.
#
# Usage: run_jobs.sh [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# JOB may be any name, the range also a single number (JOB=3). The name is replaced by the job's
# number in LOG and in every argument. Arguments are passed to the command unchanged; no shell
# parses them again.
#
#   --max-jobs-run N  at most N jobs at a time (default: as many as there are processors)
#   --retries N       run killed jobs (for example out of memory) again, up to N times and one at a
#                     time (default: 1); their logs are kept as LOG.try1, ...
#   --mem 4G, --num-threads N, --gpu N, and any other option with one value (-l ..., -q ...):
#                     for a cluster's scheduler; ignored here
#
# Exit code: 0 all jobs succeeded, 1 a job failed, 2 wrong usage, 130 or 143 interrupted.

# Some functions below are called by traps only, which shellcheck does not detect.
# shellcheck disable=SC2317
set -euo pipefail

# shellcheck source=scripts/job_runner.sh
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/job_runner.sh"
parse_jobs "$@"
if [ "$max_jobs" -eq 0 ]; then
    # nproc takes these variables, which are for other programs, for the number of processors.
    max_jobs=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null ||
        getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    if [ "$((last - first + 1))" -gt "$max_jobs" ]; then
        printf 'run_jobs.sh: %d jobs, %d at a time, the number of processors (--max-jobs-run)\n' \
            "$((last - first + 1))" "$max_jobs" >&2
    fi
fi

# A job without an exit code in this folder was killed together with its shell.
state=$(mktemp -d "${TMPDIR:-/tmp}/run_jobs.XXXXXX")

# With job control, every job has its own process group, so that an interrupt reaches the command
# and its children, and nothing else.
set -m

# A runner that gets SIGKILL (kill -9, out of memory) cannot stop its jobs, so this process does: it
# reads their groups from a pipe, which is closed when the runner ends.
mkfifo "$state/alive"
guard() {
    local line groups=()
    trap '' INT TERM HUP
    while read -r line; do
        [ "$line" != finished ] || return 0
        groups+=("$line")
    done
    for line in ${groups[@]+"${groups[@]}"}; do
        # The group may have ended already.
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

pids=() # by job number

interrupted() {
    local signal i id waiting
    trap '' INT TERM HUP
    for signal in TERM KILL; do
        waiting=0
        for id in ${pids[@]+"${!pids[@]}"}; do
            # Skip jobs that have ended: the pid may belong to another process by now.
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
                # Bash before 4.3 has no wait -n. Failures of jobs are handled later.
                wait -n 2>/dev/null || sleep 0.1
            done
        fi
        "$BASH" "$job_script" "$state" "$job_name" "$log_pattern" "$id" "${command[@]}" 9>&- &
        pids[id]=$!
        printf '%s\n' "$!" >&9
    done
    for id in "$@"; do
        wait "${pids[id]}" 2>/dev/null || true # without the shell's message
    done
    max_jobs=1 # run killed jobs again one at a time, as they may have run out of memory
}

run_all
