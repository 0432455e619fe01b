#!/usr/bin/env bash
# shellcheck disable=SC2154 # the options are the recipe's
# To be sourced by a recipe, before parse_options.sh: the table of its stages for --help, the check
# of its options, messages, a line per stage on a terminal, and the main results at the end.

scripts=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
stage_table=$scripts/../privacy_eval/stages/recipe.py
if [ ! -e "$stage_table" ]; then stage_table=$scripts/../stages/recipe.py; fi # installed
# The rows of the stages that the recipe begins: number | names | what | input -> output
stages=$(awk -F'|' '
    NR == FNR { if (match($0, /begin [0-9]+;/)) begun[substr($0, RSTART + 6) + 0]; next }
    /^ *[0-9]+ \|/ && ($1 + 0) in begun' \
    "${BASH_SOURCE[1]}" "$stage_table")
# shellcheck disable=SC2034
help_more="Stages: number | names (privacy-eval stage NAME) | what | input -> output"$'\n'"$stages"

log() { printf '%s %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$*" >&2; }
fail() {
    printf 'run.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}
usage_error() { fail "$1 (--help lists the options)" 2; }
# Prints a path that is relative to the tree.
in_tree() {
    case $1 in
        /*) printf '%s' "$1" ;;
        *) printf '%s' "${tree%/}/$1" ;;
    esac
}

# Checks all options before any work. The stages read them from the file $config, which is recorded
# in the output folder $out. Call it with what parse_options.sh left: "$@".
check_options() {
    local name
    [ $# -eq 0 ] || usage_error "unexpected argument '$1'"
    for name in stage stop_stage nj tree results conf; do
        [ -n "${!name}" ] || usage_error "--${name//_/-} must not be empty"
    done
    [ -d "$tree" ] || fail "$tree: no such folder; --tree names the experiment tree"
    command -v -- "${cmd%% *}" >/dev/null ||
        usage_error "--cmd: no command '${cmd%% *}'; see recipes/vpc2020/cmd.sh"
    limit_jobs
    config=$(mktemp "${TMPDIR:-/tmp}/options.XXXXXX")
    # Warnings that several stages have are logged by the first.
    logged=$(mktemp "${TMPDIR:-/tmp}/logged.XXXXXX")
    # Of the last line of a stage, by each of its commands.
    ending=$(mktemp "${TMPDIR:-/tmp}/ending.XXXXXX")
    export PRIVACY_EVAL_LOGGED=$logged PRIVACY_EVAL_ENDING=$ending
    for name in "${option_names[@]}"; do
        case ${!name} in
            *$'\n'*) usage_error "--${name//_/-} must not contain a line break" ;;
            ?*) printf -- '--%s=%s\n' "${name//_/-}" "${!name}" ;;
        esac
    done >"$config"
    added=$(privacy-eval check-options "$config") # the rows of the stages of wings
    stages+=${added:+$'\n'$added}
    out_name=${out:-${results%/}/privacy_eval} # as in the table of the stages
    out=$(in_tree "$out_name")
}
# Extends the protocol, in the output folder, by an attacker who compares the vectors of $encoder.
attack_by_encoder() {
    local id base=$conf extended
    id=$(basename -- "$encoder" .onnx)
    id=${id%.ckpt}
    if [ -f "$encoder" ]; then encoder=$(readlink -f -- "$encoder"); fi
    if [ -f "$front_end" ]; then front_end=$(readlink -f -- "$front_end"); fi
    if [ -f "$(in_tree "$conf")" ]; then base=$(readlink -f -- "$(in_tree "$conf")"); fi
    mkdir -p -- "$out"
    extended=$(readlink -f -- "$out")/with_$id.yaml
    {
        printf 'extends: %s\nmore_attackers:\n  - id: %s\n' "$(quoted "$base")" "$(quoted "$id")"
        printf '    title: %s\n' "$(quoted "cosine of $id vectors")"
        printf '    knows: [enrollment, trial]\n    scoring: cosine\n'
        printf '    encoder: %s\n    front_end: %s\n' "$(quoted "$encoder")" "$(quoted "$front_end")"
    } >"$extended"
    conf=$extended
    sed -i.old -e '/^--conf=/d' -- "$config" && rm -f -- "$config.old"
    printf -- '--conf=%s\n' "$conf" >>"$config"
}
# Prints a text as YAML's single-quoted scalar.
quoted() { printf "'%s'" "${1//\'/\'\'}"; }
# More jobs on this machine would only start one after the other, each with its start-up time.
limit_jobs() {
    local processors
    case ${cmd%% *} in run_jobs.sh | */run_jobs.sh) ;; *) return ;; esac
    processors=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null ||
        getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    if [ "$nj" -gt "$((4 * processors))" ] 2>/dev/null; then
        nj=$((4 * processors))
        log "Running $nj jobs: this machine has $processors processors"
    fi
}
# Registers this run in the output folder. Beside a run with other options it ends: the results would be
# of both. A run that is gone leaves its file, which the next one removes.
register() {
    local others other host pid script since options mine
    mine=$(sed -E '/^--(stage|stop-stage|nj|cmd|details)=/d' "$config")
    registered=$out/.run.${HOSTNAME:-here}.$$
    printf '%s\n' "${HOSTNAME:-here}" "$$" "$0" "$(date '+%Y-%m-%d %H:%M:%S')" "$mine" >"$registered"
    shopt -s nullglob
    others=("$out"/.run.*)
    shopt -u nullglob
    for other in "${others[@]}"; do
        if [ "$other" = "$registered" ]; then continue; fi
        { read -r host && read -r pid && read -r script && read -r since; } <"$other" 2>/dev/null || continue
        options=$(sed 1,4d "$other")
        if [ "$host" = "${HOSTNAME:-here}" ] && ! runs "$pid" "$script"; then
            rm -f -- "$other"
        elif [ "$options" != "$mine" ] && [ ! "$registered" -ot "$other" ]; then
            fail "$out: another run with other options writes there since $since: process $pid on $host \
($script ${options//$'\n'/ }). Wait for it, or choose another --out; if it is gone, remove $other"
        fi
    done
}
# Returns whether a process of this machine is a script.
runs() {
    if [ -d /proc/self ]; then
        [ -r "/proc/$1/cmdline" ] && [[ $(tr '\0' ' ' <"/proc/$1/cmdline") == *"$2"* ]]
    else
        kill -0 "$1" 2>/dev/null
    fi
}
# Removes the failures of an earlier run of the stages of this one.
forget_failures() {
    local number names
    while IFS='|' read -r number names _; do
        if [ "$number" -gt 0 ] && [ "$number" -ge "$stage" ] && [ "$number" -le "$stop_stage" ]; then
            for names in ${names//,/ }; do rm -f -- "$out/failed/$names.txt"; done
        fi
    done <<<"$stages"
}
# Records the options of this run; stages 0 and 1 write nothing.
record_options() {
    if [ "$1" -lt 2 ] || [ ! -s "$config" ] || [ ! -d "$(in_tree "$results")" ]; then return; fi
    mkdir -p -- "$out"
    if [ -z "$registered" ]; then
        register
        forget_failures
    fi
    cp -- "$config" "$out/.options.conf.$$"
    mv -f -- "$out/.options.conf.$$" "$out/options.conf"
}

# On a terminal each stage is one line, in bold type unless that is unwelcome (https://no-color.org).
live=false registered="" running="" bold="" plain="" config="" logged="" ending="" added="" begun=""
if [ -t 1 ] && [ -t 2 ]; then
    live=true
    if [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
fi
# Returns whether a stage is to run, and logs its row of the table. On a terminal, the output of its
# commands is kept for `finish`.
begin() {
    local number what flow
    add_wings
    finish
    if [ "$stage" -gt "$1" ] || [ "$stop_stage" -lt "$1" ]; then return 1; fi
    record_options "$1"
    begun=$1
    IFS='|' read -r number _ what flow < <(sed -n "/^ *$1 |/s/ *| */|/gp" <<<"$stages") ||
        fail "stage $1 has no row in $stage_table"
    flow=${flow//RESULTS/"${results%/}"}
    running="Stage $((number))$plain  $what" since=$SECONDS
    if [ "$live" = true ]; then
        printf '%s%s ...\r' "$bold" "$running" >&2
        printed=$(mktemp "${TMPDIR:-/tmp}/run.XXXXXX")
        exec 3>&1 >"$printed"
    else
        log "Stage $((number)): $what (${flow//OUT/"$out_name"})"
    fi
}
# Runs what wings add to the stage that ran.
add_wings() {
    local number name
    while IFS=' |' read -r number name _ <&4; do
        if [ -n "$begun" ] && [ "$number" = "$begun" ]; then try "$name"; fi
    done 4<<<"$added"
    begun=""
}
# Prints what there is after the stage that ran; on a terminal with what it did, and its duration.
finish() {
    local there
    if [ -z "$running" ]; then return 0; fi # without 0, set -e would end the trap below
    there=$(cat -- "$ending")
    there=${there//$'\n'/; } there=${there//"${tree%/}/"/}
    : >"$ending"
    if [ "$live" = true ]; then
        exec >&3 3>&-
        printf '\r\033[K%s%s%s (%d s)\n' "$bold" "$running" "${there:+: $there}" "$((SECONDS - since))"
        sed 's/^/    /' -- "$printed"
        rm -f -- "$printed"
    elif [ -n "$there" ]; then
        printf '%s\n' "$there"
    fi
    running=""
}
# Jobs end with 3 if the output cannot be written.
trap 'code=$?; finish
    case $code in 129 | 130 | 143) log "Interrupted: finished work is kept; run it again to resume" ;; esac
    rm -f -- "$config" "$logged" "$ending" "$registered"; if [ "$code" -eq 3 ]; then exit 1; fi' EXIT

failed=false
# Runs all commands of a stage by its number, or one by its name. What one could not make is its own
# failure: the run goes on without it, and ends with 1. A command that cannot begin ends the run.
try() {
    local code=0 name=$1 names=$1 one recorded=false
    shift
    if [[ $name == [0-9]* ]]; then
        names=$(sed -n "s/^ *$name *| *\([^|]*\)|.*/\1/p" <<<"$stages")
        begun="" # with what wings add
    fi
    privacy-eval stage "$name" --config "$config" "$@" || code=$?
    if [ "$code" -eq 0 ]; then return; fi
    for one in ${names//,/ }; do
        if [ -s "$out/failed/$one.txt" ]; then recorded=true; fi
    done
    case $name:$code in
        check:1) ;; # the stages of what is wrong name it
        figures:1 | listening:1) # no other stage needs them
            mkdir -p -- "$out/failed"
            echo "$name: see the messages of this stage" >"$out/failed/$name.txt"
            ;;
        *:1) if [ "$recorded" = false ]; then exit 1; fi ;;
        *:4) exit 1 ;; # one has failed, and the next could not begin
        *) exit "$code" ;;
    esac
    failed=true
}

# Writes the report.
write_report() { privacy-eval stage report --config "$config" "$@"; }

# Writes the statement, if it is wanted; it never ends the recipe.
write_statement() {
    if [ "$statement" != true ]; then return; fi
    write_report --statement --out "$out/statement.html" ||
        log "No statement was written"
}

# Returns whether there is a listening test to evaluate.
has_ratings() { [ "$stop_stage" -ge 11 ] && [ -e "$(in_tree "${ratings:-ratings.csv}")" ]; }

# Names what failed in this run: collect names all that the stages before it could not make.
show_failures() {
    local files=("$out"/failed/*.txt) lines verb
    if [ -s "$out/failed/collect.txt" ]; then
        files=("$out/failed/collect.txt")
        for verb in figures listening; do
            if [ -s "$out/failed/$verb.txt" ]; then files+=("$out/failed/$verb.txt"); fi
        done
    fi
    if [ ! -s "${files[0]}" ]; then
        log "Done, but stage 0 found errors: see its messages"
        return
    fi
    lines=$(sort -u -- "${files[@]}" | LC_ALL=C tr -d '\000-\010\013-\037\177')
    lines=${lines//"${tree%/}/"/}
    log "Done, but $(wc -l <<<"$lines") failed, so averages that need them are blank. Mend these, and run" \
        "the recipe again; --allow-missing averages what is there. A score file: correct it, or delete" \
        "it and run stage 5 again. All messages: $out/failed"
    sed -E -e 's/^/    /' -e '/^.{301}/s/^(.{1,300}) .*/\1 .../' -e 10q <<<"$lines" >&2
}

# Ends with the main results, and where everything is.
show_results() {
    local summary=$out/tables/summary.txt item file number earlier reported=10
    add_wings
    finish
    if [ "$stop_stage" -ge 9 ]; then
        if [ -f "$summary" ]; then
            printf '\n%s%s%s\n' "$bold" "$(head -n 1 -- "$summary")" "$plain"
            sed -n 2,60p -- "$summary"
            if [ "$(wc -l <"$summary")" -gt 60 ]; then printf '... (all: %s)\n' "$summary"; fi
            printf '\n'
        fi
        if has_ratings; then reported=11; fi
        # Outputs and the stages that write them.
        for item in results.{txt,json,csv}:8 tables:9 figures:10 subjective:11 \
            "report.html:$reported" statement.html:10; do
            file=${item%:*} number=${item#*:} earlier=""
            if [ "$number" -lt "$stage" ] || [ "$number" -gt "$stop_stage" ] ||
                { [ "$file" = subjective ] && ! has_ratings; }; then
                earlier=" (of an earlier run)"
            fi
            if [ -e "$out/$file" ]; then printf '%-13s %s\n' "$file" "$out/$file$earlier"; fi
        done
    fi
    rmdir -- "$out/failed" 2>/dev/null || true # empty once all is mended
    if [ "$failed" = true ]; then
        show_failures
        exit 1
    fi
    if [ "$stop_stage" -ge 8 ] && [ -s "$out/left_out.txt" ]; then
        log "Done, but these results are not complete: $(wc -l <"$out/left_out.txt") notes of what" \
            "was left out in $out/left_out.txt, first: $(head -n 1 -- "$out/left_out.txt" | cut -c 1-200)"
    else
        log "Done"
    fi
}
