#!/usr/bin/env bash
# Runs a command on this machine, or several numbered copies of it in parallel, each with a log.
# The interface is that of Kaldi's run.pl, so that queue.pl or slurm.pl can stand in its place.
#
# Usage: run_jobs.sh [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# JOB may be any name, the range also a single number (JOB=3). The name is replaced by the job's
# number in LOG and in every argument. Arguments reach the command as they are: no shell reads
# them again.
#
#   --max-jobs-run N  at most N jobs at a time (default: all at once)
#   --mem 4G, --num-threads N, --gpu N, and any other option with one value (-l ..., -q ...):
#                     for a cluster's scheduler; accepted and ignored here
#
# Exit code: 0 all jobs ended well, 1 a job failed, 2 wrong usage, 130 or 143 interrupted.

# Several functions below are called by traps only, which shellcheck cannot see.
# shellcheck disable=SC2317
set -euo pipefail

usage_error() {
    printf 'run_jobs.sh: %s\n' "$1" >&2
    printf 'Usage: run_jobs.sh [--max-jobs-run N] [JOB=1:8] LOG COMMAND [ARGUMENT...]\n' >&2
    exit 2
}

max_jobs=0
name=""
first=1
last=1
# run.pl takes options before and after JOB=1:8, so both places are looked at.
while [ $# -gt 0 ]; do
    if [[ $1 =~ ^([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)(:([0-9]+))?$ ]]; then
        [ -z "$name" ] || usage_error "two job ranges: $name=... and $1"
        name=${BASH_REMATCH[1]}
        first=$((10#${BASH_REMATCH[2]}))
        last=$((10#${BASH_REMATCH[4]:-${BASH_REMATCH[2]}}))
        if [ "$first" -lt 1 ] || [ "$last" -lt "$first" ]; then
            usage_error "bad job range $1: expected NAME=FIRST:LAST with 1 <= FIRST <= LAST"
        fi
        shift
        continue
    fi
    case $1 in
        --help | -h)
            sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        --max-jobs-run=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        -V | --*=*) shift ;; # complete in themselves
        -*)
            if [ $# -lt 2 ] || [[ $2 == --* || $2 =~ ^[A-Za-z_][A-Za-z0-9_]*=[0-9]+:[0-9]+$ ]]; then
                usage_error "option $1 needs a value"
            fi
            case $1 in
                --max-jobs-run | -tc)
                    if ! [[ $2 =~ ^0*[1-9][0-9]*$ ]]; then
                        usage_error "$1 takes a positive number, not '$2'"
                    fi
                    max_jobs=$((10#$2))
                    ;;
            esac
            shift 2
            ;;
        *) break ;;
    esac
done
[ $# -ge 2 ] || usage_error "expected a log file and a command"
log_pattern=$1
shift
[ -n "$log_pattern" ] || usage_error "the name of the log file is empty"
if [ "$last" -gt "$first" ] && [[ $log_pattern != *"$name"* ]]; then
    usage_error "$((last - first + 1)) jobs cannot share the log $log_pattern: its name needs $name"
fi

log_of() {
    if [ -n "$name" ]; then
        printf '%s' "${log_pattern//"$name"/$1}"
    else
        printf '%s' "$log_pattern"
    fi
}

# Each job leaves its exit code here; a job without one was killed together with its wrapper.
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

run_one() {
    local id=$1 log code=0 begin=$SECONDS argument command=()
    shift
    log=$(log_of "$id")
    for argument in "$@"; do
        if [ -n "$name" ]; then argument=${argument//"$name"/$id}; fi
        command+=("$argument")
    done
    mkdir -p -- "$(dirname -- "$log")"
    {
        printf '#'
        printf ' %q' "${command[@]}"
        printf '\n# Started at %s\n#\n' "$(date '+%Y-%m-%dT%H:%M:%S%z')"
    } >"$log"
    # From here on the shell's own remarks ("Killed") belong into the log as well.
    exec 2>>"$log"
    # The wrapper outlives an interrupt by a moment, to write how the command ended. exec: only
    # programs are run, never a function or builtin of this script.
    trap : INT TERM HUP
    (exec -- "${command[@]}") </dev/null >>"$log" 2>&1 || code=$?
    if [ -n "$(tail -c 1 -- "$log" | tr '\0' x)" ]; then echo >>"$log"; fi
    printf '# Ended (code %d) at %s, elapsed time %d seconds\n' \
        "$code" "$(date '+%Y-%m-%dT%H:%M:%S%z')" "$((SECONDS - begin))" >>"$log"
    if [ -d "$state" ]; then printf '%d\n' "$code" >"$state/$id"; fi
}

pids=()

interrupted() {
    local signal i id waiting
    trap '' INT TERM HUP
    for signal in TERM KILL; do
        waiting=0
        for ((i = 0; i < ${#pids[@]}; i++)); do
            id=$((first + i))
            # A job that has ended is left alone: its number may belong to another by now.
            if [ ! -e "$state/$id" ] && kill "-$signal" -- "-${pids[i]}" 2>/dev/null; then
                waiting=1
            fi
        done
        for ((i = 0; waiting && i < 50; i++)); do
            sleep 0.1
            waiting=0
            for ((id = first; id < first + ${#pids[@]}; id++)); do
                if [ ! -e "$state/$id" ] && kill -0 -- "-${pids[id - first]}" 2>/dev/null; then
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

for ((id = first; id <= last; id++)); do
    if [ "$max_jobs" -gt 0 ]; then
        while running=$(jobs -rp | wc -l) && [ "$((running - 1))" -ge "$max_jobs" ]; do
            # Bash before 4.3 has no wait -n. A job's own failure is looked at later.
            wait -n 2>/dev/null || sleep 0.1
        done
    fi
    run_one "$id" "$@" 9>&- &
    pids+=("$!")
    printf '%s\n' "$!" >&9
done
for pid in "${pids[@]}"; do
    wait "$pid" || true
done

failed=()
for ((id = first; id <= last; id++)); do
    code=""
    if [ -s "$state/$id" ]; then read -r code <"$state/$id"; fi
    if [ "$code" != 0 ]; then failed+=("$id"); fi
done
if [ "${#failed[@]}" -eq 0 ]; then exit 0; fi

{
    if [ -n "$name" ]; then
        printf 'run_jobs.sh: %d of %d jobs failed (%s: %s)\n' \
            "${#failed[@]}" "$((last - first + 1))" "$name" "${failed[*]}"
    else
        printf 'run_jobs.sh: 1 of 1 job failed\n'
    fi
    for id in "${failed[@]}"; do
        log=$(log_of "$id")
        printf 'Log %s ends with:\n' "$log"
        if [ -r "$log" ]; then
            # Without the runner's own lines, and without control characters, which a terminal
            # would obey.
            sed -e '1,3d' -e '/^# Ended (code [0-9]*) at .*, elapsed time [0-9]* seconds$/d' \
                -- "$log" | tail -n 5 | LC_ALL=C tr -d '\000-\010\013-\037\177' | sed 's/^/    /'
        else
            printf '    (this log could not be written)\n'
        fi
    done
} >&2
exit 1
