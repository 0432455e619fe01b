#!/usr/bin/env bash
# To be sourced by run_jobs.sh and slurm.sh: what job runners share. They have the interface of
# Kaldi's run.pl:
#
#     RUNNER [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# A runner defines start_jobs NUMBER..., which runs these jobs by run_job.sh and returns when they
# have ended, then sets `state` to the folder for exit codes, and calls run_all. Before, it calls
# parse_jobs "$@", which sets:
#
#     job_name first last  what stands for a job's number, and their range
#     log_pattern          name of the log
#     command              the command and its arguments
#     max_jobs             most jobs at a time (0: no limit)
#     retries              how often jobs that were killed are run again
#     other_options        options that this file does not know, each with its value

# Variables are shared with the script that sources this one.
# shellcheck disable=SC2034,SC2154

runner=${0##*/}
job_script=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/run_job.sh

usage_error() {
    printf '%s: %s\n' "$runner" "$*" >&2
    printf 'Usage: %s [--max-jobs-run N] [JOB=1:8] LOG COMMAND [ARGUMENT...]\n' "$runner" >&2
    exit 2
}

whole_number() {
    [[ $2 =~ ^[0-9]{1,9}$ ]] || usage_error "$1 takes a whole number, not '$2'"
}

parse_jobs() {
    job_name="" first=1 last=1 max_jobs=0 retries=1 other_options=()
    # run.pl takes options before and after JOB=1:8, so both places are looked at.
    while [ $# -gt 0 ]; do
        if [[ $1 =~ ^([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)(:([0-9]+))?$ ]]; then
            [ -z "$job_name" ] || usage_error "two job ranges: $job_name=... and $1"
            job_name=${BASH_REMATCH[1]}
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
                sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
                exit 0
                ;;
            -V) # queue.pl's way to pass on the environment, which we always do
                shift
                continue
                ;;
            --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
            -*)
                if [ $# -lt 2 ] ||
                    [[ $2 == --* || $2 =~ ^[A-Za-z_][A-Za-z0-9_]*=[0-9]+:[0-9]+$ ]]; then
                    usage_error "option $1 needs a value"
                fi
                ;;
            *) break ;;
        esac
        case $1 in
            --max-jobs-run | -tc)
                whole_number "$1" "$2"
                max_jobs=$((10#$2))
                [ "$max_jobs" -gt 0 ] || usage_error "$1 takes at least 1"
                ;;
            --retries)
                whole_number "$1" "$2"
                retries=$((10#$2))
                ;;
            *) other_options+=("$1" "$2") ;;
        esac
        shift 2
    done
    [ $# -ge 2 ] || usage_error "expected a log file and a command"
    log_pattern=$1
    shift
    [ -n "$log_pattern" ] || usage_error "the name of the log file is empty"
    if [ "$last" -gt "$first" ] && [[ $log_pattern != *"$job_name"* ]]; then
        usage_error "$((last - first + 1)) jobs cannot share the log $log_pattern: its name needs" \
            "$job_name"
    fi
    command=("$@")
}

log_of() {
    if [ -n "$job_name" ]; then
        printf '%s' "${log_pattern//"$job_name"/$1}"
    else
        printf '%s' "$log_pattern"
    fi
}

# How a job ended: its exit code, or nothing where it was killed together with its shell.
code_of() {
    local code=""
    if [ -s "$state/$1" ]; then read -r code <"$state/$1"; fi
    printf '%s' "$code"
}

# To be defined anew by runners that know it: why a job ended, in a word or two.
reason_of() { :; }

# Those of some jobs that a signal ended, or what took their shell with them: a command that ended
# by itself would do so again, and what somebody cancelled is not wanted any more.
to_run_again() {
    local id code
    for id in "$@"; do
        code=$(code_of "$id")
        if [ "${code:-129}" -gt 128 ] && [ "${code:-129}" -le 192 ] &&
            [ "$(reason_of "$id")" != CANCELLED ]; then
            echo "$id"
        fi
    done
}

# Runs all jobs, those that were killed again, and ends the script with 0 or 1.
run_all() {
    local id try log reason killed=() failed=()
    mapfile -t killed < <(seq "$first" "$last")
    for id in "${killed[@]}"; do
        log=$(log_of "$id")
        # A job that never begins must not seem to have written it.
        if [ -f "$log" ]; then rm -f -- "$log"; fi
    done
    for ((try = 0; ; try++)); do
        start_jobs "${killed[@]}"
        mapfile -t killed < <(to_run_again "${killed[@]}")
        if [ "${#killed[@]}" -eq 0 ] || [ "$try" -ge "$retries" ]; then break; fi
        for id in "${killed[@]}"; do
            log=$(log_of "$id") reason=$(reason_of "$id")
            printf '%s: %s was killed%s and is run again\n' \
                "$runner" "${job_name:-the job}${job_name:+ $id}" "${reason:+ ($reason)}" >&2
            if [ -f "$log" ]; then mv -f -- "$log" "$log.try$((try + 1))"; fi
            rm -f -- "$state/$id"
        done
    done
    for ((id = first; id <= last; id++)); do
        if [ "$(code_of "$id")" != 0 ]; then failed+=("$id"); fi
    done
    if [ "${#failed[@]}" -eq 0 ]; then exit 0; fi
    report "${failed[@]}" >&2
    exit 1
}

report() {
    local id log reason
    if [ -n "$job_name" ]; then
        printf '%s: %d of %d jobs failed (%s: %s)\n' \
            "$runner" "$#" "$((last - first + 1))" "$job_name" "$*"
    else
        printf '%s: 1 of 1 job failed\n' "$runner"
    fi
    for id in "$@"; do
        log=$(log_of "$id")
        reason=$(reason_of "$id")
        printf 'Log %s%s ends with:\n' "$log" "${reason:+ ($reason)}"
        if [ -r "$log" ]; then
            # Without the runner's own lines, and without control characters, which a terminal
            # would obey.
            sed -e '1,3d' -e '/^# Ended (code [0-9]*) at .*, elapsed time [0-9]* seconds$/d' \
                -- "$log" | tail -n 5 | LC_ALL=C tr -d '\000-\010\013-\037\177' | sed 's/^/    /'
        else
            printf '    (no log was written)\n'
        fi
    done
}
