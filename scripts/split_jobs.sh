#!/usr/bin/env bash
# Run a verb of privacy-eval, or "stage NAME", in parallel jobs, with the work split among them
# (--job J/N). Logs are named after it: privacy_metrics.1.log, ...
#
# Usage: split_jobs.sh VERB --log-dir DIR [--cmd CMD] [--nj N] -- [options of the verb]
#
# Exit code: 0 success, 1 failures, 2 wrong usage, 3 the output cannot be written, 4 a job was
# killed, above 125 interrupted or no runner.
set -euo pipefail

# --- options
cmd=run_jobs.sh  # job runner, with its options
nj=1             # number of jobs
log_dir=         # where the logs go
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
verb=${1:-}
case $verb in
    "" | -*) verb="" ;;
    *) shift ;;
esac
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

if [ -z "$log_dir" ] || [ -z "$verb" ]; then
    printf 'split_jobs.sh: a verb and --log-dir are needed\n' >&2
    exit 2
fi
read -r -a words <<<"$verb"
name=${words[-1]//-/_}
# Otherwise a log of an earlier run would stay.
if ! mkdir -p -- "$log_dir" || [ ! -w "$log_dir" ]; then
    printf 'split_jobs.sh: %s: cannot be written to; choose another --out\n' "$log_dir" >&2
    exit 3
fi
# Runners replace the job's name wherever it stands, so it must not be part of a path.
job=JOB
while [[ "$log_dir $name $*" == *"$job"* ]]; do job+=_N; done
read -r -a runner <<<"$cmd"
jobs=("${runner[@]}" "$job=1:$nj" "$log_dir/$name.$job.log" privacy-eval "${words[@]}" "$@" --job "$job/$nj")

# Jobs log their progress; a terminal shows their total.
export PRIVACY_EVAL_PROGRESS=lines
watch() {
    local number began=$SECONDS
    while sleep 1; do
        for ((number = 1; number <= nj; number++)); do
            # The log may not exist yet.
            tail -n 1 -- "$log_dir/$name.$number.log" 2>/dev/null || true
        done | awk -v title="$name" -v seconds="$((SECONDS - began))" '
            match($1, /^[0-9]+\/[0-9]+$/) { split($1, n, "/"); done += n[1]; all += n[2] }
            END {
                printf "\r\033[K%s: ", title
                if (!all) printf "starting"
                else printf "%d of %d", done, all
                if (done && done < all && seconds > 4)
                    printf ", about %d s left", seconds * (all - done) / done + 1
            }' >&2
    done
}
for ((number = 1; number <= nj; number++)); do
    rm -f -- "$log_dir/$name.$number.log" # left by an earlier run
done
watcher=""
if [ -t 2 ]; then
    watch &
    watcher=$!
fi
run() {
    local code=0
    "${jobs[@]}" || code=$?
    if [ -n "$watcher" ]; then
        kill "$watcher" 2>/dev/null || true
        wait "$watcher" 2>/dev/null || true
        printf '\r\033[K' >&2
    fi
    return "$code"
}

# Print the exit code for failed jobs, by the last lines of the logs.
failure() {
    local number codes=()
    for ((number = 1; number <= nj; number++)); do
        # A job that is killed with its shell has no such line.
        codes+=("$(sed -n 's/^# Ended (code \([0-9]*\).*/\1/p' "$log_dir/$name.$number.log" 2>/dev/null | tail -n 1)")
    done
    for number in "${codes[@]}"; do
        if [ "$number" = 3 ]; then echo 3 && return; fi
    done
    for number in "${codes[@]}"; do
        if [ "${number:-255}" -gt 128 ]; then echo 4 && return; fi
    done
    echo 1
}

code=0
run || code=$?
case $code in
    0 | 129 | 130 | 143) ;; # interrupted
    *)
        if ! compgen -G "$log_dir/$name.*.log" >/dev/null; then
            printf 'split_jobs.sh: the job runner (--cmd) ended with exit code %d and started no job: %s\n' \
                "$code" "$cmd" >&2
            printf 'Try it alone: %s JOB=1:1 JOB.log true. On this machine alone: --cmd run_jobs.sh\n' \
                "$cmd" >&2
            exit "$((code > 125 ? code : 126))"
        fi
        ;;
esac
if [ "$code" -gt 125 ]; then exit "$code"; fi
if [ "$code" -ne 0 ]; then exit "$(failure)"; fi
