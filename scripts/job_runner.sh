#!/usr/bin/env bash
# Common part of the job runners run_jobs.sh and slurm.sh, which source it. Their interface is that
# of Kaldi's run.pl:
#
#     RUNNER [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# A runner calls parse_jobs "$@", sets `state` to the folder for exit codes, defines
# start_jobs NUMBER..., which runs these jobs with run_job.sh and returns when they have ended, and
# calls run_all. parse_jobs sets:
#
#     job_name first last  placeholder of the job number, and range of job numbers
#     log_pattern          name of the log
#     command              command and arguments
#     max_jobs             maximum number of jobs at a time (0: no limit)
#     retries              how often killed jobs are run again
#     other_options        options unknown to this file, each with its value

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
    # As in run.pl, options may come before and after JOB=1:8.
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
            -V) # of queue.pl: export the environment, which is always done here
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

# Exit code of a job; empty if it was killed together with its shell.
code_of() {
    local code=""
    if [ -s "$state/$1" ]; then read -r code <"$state/$1"; fi
    printf '%s' "$code"
}

# Why a job ended, in a word or two; redefined by runners that know it.
reason_of() { :; }

# Of some jobs, those to run again: ended by a signal or together with their shell, but not
# cancelled. A command that failed by itself would fail again.
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

# Run all jobs, killed ones again, and exit with 0 or 1.
run_all() {
    local id try log reason code killed=() failed=() unsaid=()
    mapfile -t killed < <(seq "$first" "$last")
    for id in "${killed[@]}"; do
        log=$(log_of "$id")
        # Remove logs of earlier runs, in case a job never starts, and pipes, which would make it wait.
        case $log in
            /dev/*) ;;
            *) if [ -f "$log" ] || [ -p "$log" ] || [ -L "$log" ]; then rm -f -- "$log"; fi ;;
        esac
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
        code=$(code_of "$id")
        if [ "$code" != 0 ]; then failed+=("$id"); fi
        # What fails in the job of a stage fails in the stage again, which says why.
        if [ "$code" != 0 ] && [ "$code:${PRIVACY_EVAL_PROGRESS:-}" != 1:lines ]; then unsaid+=("$id"); fi
    done
    if [ "${#failed[@]}" -eq 0 ]; then exit 0; fi
    if [ "${#unsaid[@]}" -gt 0 ]; then report "${unsaid[@]}" >&2; fi
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
            # Without the runner's own lines and without control characters.
            sed -e '1,3d' -e '/^# Ended (code [0-9]*) at .*, elapsed time [0-9]* seconds$/d' \
                -- "$log" | tail -n 5 | LC_ALL=C tr -d '\000-\010\013-\037\177' | sed 's/^/    /'
        else
            printf '    (no log was written)\n'
        fi
    done
}
