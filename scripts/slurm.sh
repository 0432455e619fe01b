#!/usr/bin/env bash
# Run a command, or several numbered copies of it, as one Slurm array job, and wait for it. The
# interface is that of run_jobs.sh and Kaldi's run.pl. The folders of the toolkit, the logs and the
# data must have the same paths on the nodes as on this machine.
#
# Usage: slurm.sh [options] [JOB=1:8] LOG COMMAND [ARGUMENT...]
#
# JOB may be any name, the range also a single number (JOB=3). The name is replaced by the job's
# number in LOG and in every argument. Arguments are passed to the command unchanged; no shell
# parses them again. Jobs run in the current folder, with the current environment.
#
#   --max-jobs-run N  at most N jobs at a time (sbatch --array=...%N; default: as Slurm decides)
#   --retries N       run killed jobs (out of memory or time, node failure) again, up to N times
#                     (default: 1); their logs are kept as LOG.try1, ...
#   --mem 4G          memory of each job (sbatch --mem)
#   --num-threads N   processors of each job (sbatch --cpus-per-task)
#   --gpu N           GPUs of each job (sbatch --gres=gpu:N)
#   any other         is passed to sbatch, with its one value: --time 2:00:00, --partition long,
#                     -p long, --account x. For options without a value and for defaults of all
#                     jobs, use sbatch's environment variables: SBATCH_EXCLUSIVE=1.
#
# Exit code: 0 all jobs succeeded, 1 a job failed, 2 wrong usage, 130 or 143 interrupted (the array
# is cancelled). After kill -9 of this runner, the array stays in Slurm (squeue --me, scancel).

# Some functions below are called by traps or by job_runner.sh only.
# shellcheck disable=SC2317
set -euo pipefail

# shellcheck source=scripts/job_runner.sh
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/job_runner.sh"
parse_jobs "$@"
command -v sbatch >/dev/null || usage_error "sbatch: command not found; is this a Slurm machine?"

sbatch_options=()
for ((i = 0; i < ${#other_options[@]}; i += 2)); do
    option=${other_options[i]} value=${other_options[i + 1]}
    case $option in
        --num-threads) sbatch_options+=("--cpus-per-task=$value") ;;
        --gpu) if [ "$value" != 0 ]; then sbatch_options+=("--gres=gpu:$value"); fi ;;
        --*) sbatch_options+=("$option=$value") ;;
        *) sbatch_options+=("$option" "$value") ;;
    esac
done

# Beside the log, where every node can write.
log=$(log_of "$first")
if ! mkdir -p -- "$(dirname -- "$log")" ||
    ! state=$(mktemp -d "$(dirname -- "$log")/.slurm.XXXXXX"); then
    printf 'slurm.sh: %s: cannot be written\n' "$(dirname -- "$log")" >&2
    exit 1
fi
state=$(readlink -f -- "$state")
trap 'rm -rf -- "$state"' EXIT

sbatch_pid="" array=""
array_of=() # by job number

# Read the array's job id once sbatch has printed it.
read_array() {
    if [ -s "$state/array" ]; then IFS=';' read -r array _ <"$state/array" || true; fi
}

in_queue() {
    local listed
    if listed=$(squeue --noheader --jobs="$array" 2>"$state/errors"); then
        [ -n "$listed" ]
    elif grep -q 'Invalid job id' "$state/errors"; then
        return 1 # it ended so long ago that Slurm has forgotten it
    fi # else Slurm does not answer: assume that it is still queued
}

# Cancel the array. A busy Slurm may not answer in time, and then has to be asked again.
cancelled() {
    local i
    for ((i = 0; i < 10; i++)); do
        if scancel -- "$array" || ! in_queue; then return 0; fi
        sleep 1
    done
    return 1
}

stop_waiting() {
    kill "$sbatch_pid" 2>/dev/null || true
    wait "$sbatch_pid" || true
    sbatch_pid=""
}

interrupted() {
    local i what=""
    trap '' INT TERM HUP
    if [ -n "$sbatch_pid" ]; then
        # sbatch may be about to submit: wait for the id, to cancel it.
        until read_array && [ -n "$array" ] || ! kill -0 "$sbatch_pid" 2>/dev/null; do
            sleep 0.1
        done
        if [ -n "$array" ] && cancelled; then
            what=", job $array is cancelled"
            # Wait until the jobs have written their exit codes.
            for ((i = 0; i < 300; i++)); do
                if ! in_queue; then break; fi
                sleep 0.2
            done
        elif [ -n "$array" ]; then
            what=", but job $array goes on: scancel $array"
        fi
        stop_waiting
    fi
    printf 'slurm.sh: interrupted by SIG%s%s\n' "$1" "$what" >&2
    exit "$2"
}
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
trap 'interrupted HUP 129' HUP

all_ended() {
    local id
    ls -- "$state" >/dev/null # refresh the cache of a network file system
    for id in "$@"; do
        [ -s "$state/$id" ] || return 1
    done
}

all_well() {
    local id
    for id in "$@"; do
        [ "$(code_of "$id")" = 0 ] || return 1
    done
}

start_jobs() {
    local ids=$* limit="" i id
    array=""
    rm -f -- "$state/array"
    if [ "$max_jobs" -gt 0 ]; then limit=%$max_jobs; fi
    # No output file of Slurm: run_job.sh writes the log, and Slurm would interpret special characters
    # in the folder's name.
    sbatch --parsable --wait --array="${ids// /,}$limit" --nodes=1 --ntasks=1 --output=/dev/null \
        --job-name="$(basename -- "$log_pattern")" ${sbatch_options[@]+"${sbatch_options[@]}"} \
        "$job_script" "$state" "$job_name" "$log_pattern" "" "${command[@]}" \
        >"$state/array" </dev/null &
    sbatch_pid=$!
    # sbatch --wait polls Slurm at increasing intervals; these files are faster.
    until all_ended "$@" || ! kill -0 "$sbatch_pid" 2>/dev/null; do sleep 0.5; done
    read_array
    if [ -z "$array" ]; then
        wait "$sbatch_pid" || true
        printf 'slurm.sh: Slurm did not accept the jobs\n' >&2
        exit 1
    fi
    for id in "$@"; do array_of[id]=$array; done
    if ! all_well "$@"; then
        # Slurm may requeue a job, and reports late why a job ended. On a network file system,
        # exit codes may appear late, and the exit code of a killed job never appears.
        while in_queue; do sleep 1; done
        for ((i = 0; i < 10; i++)); do
            if all_ended "$@"; then break; fi
            sleep 0.5
        done
    fi
    stop_waiting
}

# Slurm's state of a job, such as TIMEOUT or OUT_OF_MEMORY, while Slurm keeps it (MinJobAge).
reason_of() {
    local number job_state
    while read -r number job_state; do
        case $number:$job_state in
            *:COMPLETED | *:FAILED) ;;
            "$1":*) printf '%s' "$job_state" ;;
        esac
    done < <(
        squeue --noheader --array --states=all --jobs="${array_of[$1]}" --format='%K %T' 2>/dev/null
    )
}

run_all
