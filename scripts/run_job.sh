#!/usr/bin/env bash
# Run one job of run_jobs.sh or slurm.sh: a command, with a log and a file for its exit code.
# Slurm copies only this script to the node, so it must not need other files of the toolkit.
#
# Usage: run_job.sh STATE NAME LOG NUMBER COMMAND [ARGUMENT...]
#
# STATE is the folder of the files with exit codes, named by job numbers. If NUMBER is empty, it is
# the index in Slurm's array. NAME, unless empty, is replaced by the number in LOG and in every
# argument.
set -euo pipefail

# Jobs share the processors: threads of linear algebra in each would wait for those of the others.
# A fixed number also gives the same bytes for any number of jobs.
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"

state=$1 name=$2 log=$3 id=${4:-${SLURM_ARRAY_TASK_ID:-}}
shift 4
command=()
for argument in "$@"; do
    if [ -n "$name" ]; then argument=${argument//"$name"/$id}; fi
    command+=("$argument")
done
if [ -n "$name" ]; then log=${log//"$name"/$id}; fi

ended() {
    # The folder is removed when the runner ends. Rename, so that a reader sees the whole file.
    if [ -d "$state" ]; then
        printf '%d\n' "$1" >"$state/.$id" && mv -f -- "$state/.$id" "$state/$id"
    fi
}

if ! mkdir -p -- "$(dirname -- "$log")" || ! {
    printf '#'
    printf ' %q' "${command[@]}"
    printf '\n# Started at %s\n#\n' "$(date '+%Y-%m-%dT%H:%M:%S%z')"
} >"$log"; then
    ended 1
    exit 1
fi
# From here on, messages of the shell ("Killed") go to the log as well.
exec 2>>"$log"
# On an interrupt, this shell waits to log how the command ended. exec runs programs only, never a
# function or builtin of this script.
trap : INT TERM HUP
begin=$SECONDS code=0
(exec -- "${command[@]}") </dev/null >>"$log" 2>&1 || code=$?
if [ -n "$(tail -c 1 -- "$log" | tr '\0' x)" ]; then echo >>"$log"; fi
printf '# Ended (code %d) at %s, elapsed time %d seconds\n' \
    "$code" "$(date '+%Y-%m-%dT%H:%M:%S%z')" "$((SECONDS - begin))" >>"$log"
ended "$code"
exit "$code"
