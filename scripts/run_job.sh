#!/usr/bin/env bash
# Runs one job of run_jobs.sh or slurm.sh: a command, with its log and its exit code in a file.
# On a cluster it is this text alone that travels to the node, so it needs no other of our files.
#
# Usage: run_job.sh STATE NAME LOG NUMBER COMMAND [ARGUMENT...]
#
# STATE is the folder for the file with the exit code, called like the job's number. Without
# NUMBER ('') it is that of Slurm's array. NAME, if any, is replaced by it in LOG and in every
# argument.
set -euo pipefail

state=$1 name=$2 log=$3 id=${4:-${SLURM_ARRAY_TASK_ID:-}}
shift 4
command=()
for argument in "$@"; do
    if [ -n "$name" ]; then argument=${argument//"$name"/$id}; fi
    command+=("$argument")
done
if [ -n "$name" ]; then log=${log//"$name"/$id}; fi

ended() {
    # The folder is gone when the runner is. Renamed: whoever looks finds all of it or nothing.
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
# From here on the shell's own remarks ("Killed") belong into the log as well.
exec 2>>"$log"
# This shell outlives an interrupt by a moment, to write how the command ended. exec: only
# programs are run, never a function or builtin of this script.
trap : INT TERM HUP
begin=$SECONDS code=0
(exec -- "${command[@]}") </dev/null >>"$log" 2>&1 || code=$?
if [ -n "$(tail -c 1 -- "$log" | tr '\0' x)" ]; then echo >>"$log"; fi
printf '# Ended (code %d) at %s, elapsed time %d seconds\n' \
    "$code" "$(date '+%Y-%m-%dT%H:%M:%S%z')" "$((SECONDS - begin))" >>"$log"
ended "$code"
exit "$code"
