#!/usr/bin/env bash
# Evaluates anonymization systems in an experiment tree laid out as in the VoicePrivacy Challenge:
# a checkout of its baseline after a run, or an organizers' collection of submissions. From the
# x-vectors or scores of speaker verification and the trial keys come privacy metrics, result files,
# tables, figures and a report. After anonymization: run.sh --stage 5
#
# Usage: run.sh [--tree DIR] [--results DIR] [--stage N] [--stop-stage N] [other options]
#
# Paths other than the tree's are relative to the tree. The exit code is 0 when all is done, 1 when
# something in the data is wrong, 2 when the options are.
set -euo pipefail

# --- options
stage=0              # first stage to run
stop_stage=11        # last stage to run
tree=.               # experiment tree, which holds data/ and exp/
results=exp          # folder of the results: one results-* folder, or any folder above several
out=                 # where results, tables and logs go (default: privacy_eval in the results)
conf=vpc2020         # evaluation protocol: a name (vpc2020, vpc2022) or a YAML file
nj=2                 # number of parallel jobs
cmd=                 # job runner, with its options (default: what cmd.sh says)
system=              # evaluate only this system, or the name for the only one there is
anon_suffix=         # suffix of anonymized data sets (default: from the folders' names)
conventional=false   # also draw ECE, APE, NBER and NECE plots of every condition
published=           # published results to show beside these: vpc2020
ratings=             # ratings of a listening test, a file or folder (default: ratings.csv if there)
bootstrap=0          # bootstrap replicates of speakers for confidence intervals; 0: none
seed=0               # seed of the bootstrap
utt2spk=             # speakers of the trial utterances (default: beside the keys or in data/)
keys=                # folder with the trial keys, where they are not in data/*/trials
allow_missing=false  # leave out what is missing or fails; the results say so
allow_outside=false  # follow links and paths that lead out of the tree
allow_pipes=false    # run commands in scp files of x-vectors
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# The table of all stages: number, scripts in local/, what, input -> output.
stages=$(sed -n '/^TABLE = """/,/^"""/{/ | /p}' "$recipe/../../privacy_eval/stages/recipe.py")
# shellcheck disable=SC2034
help_more="Stages: number | scripts in local/ | what | input -> output"$'\n'"$stages"
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"

log() { printf '%s %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$*" >&2; }
fail() {
    printf 'run.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}
usage_error() { fail "$1 (--help lists the options)" 2; }

[ $# -eq 0 ] || usage_error "unexpected argument '$1'"
# Anything but a number would make every comparison below fail, and so skip every stage silently.
for name in stage stop_stage nj bootstrap seed; do
    [[ ${!name} =~ ^[0-9]{1,9}$ ]] ||
        usage_error "--${name//_/-} takes a whole number, not '${!name}'"
done
nj=$((10#$nj)) stage=$((10#$stage)) stop_stage=$((10#$stop_stage))
[ "$stage" -le 11 ] || usage_error "--stage is at most 11"
[ "$stop_stage" -ge "$stage" ] || usage_error "--stop-stage $stop_stage comes before --stage $stage"
[ "$nj" -ge 1 ] || usage_error "--nj takes at least 1"
for name in tree results conf; do
    [ -n "${!name}" ] || usage_error "--$name must not be empty"
done
[ -d "$tree" ] || fail "$tree: no such folder; --tree names the experiment tree"

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/path.sh"
if [ -z "$cmd" ]; then
    # shellcheck source=recipes/vpc2020/cmd.sh
    . "$recipe/cmd.sh"
fi
command -v -- "${cmd%% *}" >/dev/null ||
    usage_error "--cmd: no command '${cmd%% *}'; see recipes/vpc2020/cmd.sh"

# The only place that knows the default. Relative to the tree, as the commands take it.
out=${out:-${results%/}/privacy_eval}

# For what this script itself reads and writes, and for commands that are given no tree.
in_tree() {
    case $1 in
        /*) printf '%s' "$1" ;;
        *) printf '%s' "${tree%/}/$1" ;;
    esac
}
out_path=$(in_tree "$out")
case $conf in
    */* | *.yaml | *.yml) conf_path=$(in_tree "$conf") ;;
    *) conf_path=$conf ;;
esac

# Whether a stage is to run; logs its line of the table.
begin() {
    local number what flow
    if [ "$stage" -gt "$1" ] || [ "$stop_stage" -lt "$1" ]; then return 1; fi
    IFS='|' read -r number _ what flow < <(sed -n "/^ *$1 |/s/ *| */|/gp" <<<"$stages")
    flow=${flow//RESULTS/"${results%/}"}
    log "Stage $((number)): $what (${flow//OUT/"$out"})"
}

common=(--results "$results" --conf "$conf")
if [ -n "$system" ]; then common+=(--system "$system"); fi
if [ -n "$anon_suffix" ]; then common+=(--anon-suffix "$anon_suffix"); fi
if [ -n "$keys" ]; then common+=(--keys "$keys"); fi
if [ "$allow_outside" = true ]; then common+=(--allow-outside); fi
of_tree=(--tree "$tree" "${common[@]}")
# Not every verb can leave something out, or reads scp files.
missing=() pipes=() plots=()
if [ "$allow_missing" = true ]; then missing=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then pipes=(--allow-pipes); fi
if [ "$conventional" = true ]; then plots=(--conventional); fi
evaluation=(--out "$out" --bootstrap "$bootstrap" --seed "$seed")
if [ -n "$utt2spk" ]; then evaluation+=(--utt2spk "$utt2spk"); fi
# What tables, figures and report are made of.
shown=(--results "$out_path/results.json" --conf "$conf_path")
if [ -n "$published" ]; then shown+=(--published "$published"); fi
jobs=(--cmd "$cmd" --nj "$nj" --log-dir "$out_path/log")

# Ratings of a listening test: those that are named must be there.
rated=$(in_tree "${ratings:-ratings.csv}")
if [ "$stop_stage" -lt 11 ] || { [ -z "$ratings" ] && [ ! -e "$rated" ]; }; then rated=""; fi

if begin 0; then
    "$recipe/local/check.sh" "${of_tree[@]}" ${missing[@]+"${missing[@]}"} --nj "$nj" \
        --bootstrap "$bootstrap"
fi
if begin 1; then "$recipe/local/data.sh" --tree "$tree"; fi
if begin 2; then
    "$recipe/local/train_backend.sh" "${of_tree[@]}" ${pipes[@]+"${pipes[@]}"}
fi
if begin 3; then "$recipe/local/subsets.sh" "${of_tree[@]}"; fi
if begin 4; then "$recipe/local/anonymize.sh" --tree "$tree"; fi

# Refuses an output folder that cannot be written to safely, before a log is written there. Run
# again, it finds out in one process where to begin: every stage would start several to find out
# that it has nothing to do.
if [ "$stage" -le 10 ] && [ "$stop_stage" -ge 5 ]; then
    again=(--stage "$stage" --stop-stage "$stop_stage" ${plots[@]+"${plots[@]}"})
    if [ -n "$published" ]; then again+=(--published "$published"); fi
    if [ -n "$rated" ]; then again+=(--listening "$out_path/subjective"); fi
    first=$(privacy-eval pending "${of_tree[@]}" ${missing[@]+"${missing[@]}"} \
        ${pipes[@]+"${pipes[@]}"} "${evaluation[@]}" "${again[@]}")
    if [ "$first" -gt "$stage" ] && [ "$first" -gt 5 ]; then
        log "Stages up to $((first - 1)) have nothing to do: everything is current"
        if [ "$first" -gt 9 ]; then
            "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
        fi
        stage=$first
    fi
fi

if begin 5; then
    "$recipe/local/asv_scores.sh" --tree "$tree" "${jobs[@]}" --allow-missing "$allow_missing" \
        --allow-pipes "$allow_pipes" -- "${common[@]}"
fi

failed=false
if begin 6; then
    [ -d "$(in_tree "$results")" ] ||
        fail "$(in_tree "$results"): no such folder; --results is relative to --tree"
    code=0
    "$recipe/local/privacy_metrics.sh" "${jobs[@]}" -- \
        "${of_tree[@]}" ${missing[@]+"${missing[@]}"} "${evaluation[@]}" || code=$?
    if [ "$code" -gt 128 ]; then exit "$code"; fi  # interrupted
    if [ "$code" -ne 0 ]; then
        failed=true
        if [ "$allow_missing" != true ]; then
            log "Stage 6 failed for some conditions, named in $out_path/log; those that" \
                "succeeded are kept. To have the results of the others: --stage 6 --allow-missing"
            if [ -e "$out_path/results.json" ]; then
                log "Note: the results and tables in $out_path are those of an earlier run"
            fi
            exit 1
        fi
        log "Continuing without the conditions that failed (--allow-missing)"
    fi
fi

if begin 7; then
    "$recipe/local/similarity.sh" "${jobs[@]}" -- \
        "${of_tree[@]}" ${missing[@]+"${missing[@]}"} ${pipes[@]+"${pipes[@]}"} --out "$out"
fi
if begin 8; then
    "$recipe/local/collect.sh" "${of_tree[@]}" ${missing[@]+"${missing[@]}"} --out "$out"
fi
if begin 9; then
    "$recipe/local/tables.sh" "${shown[@]}" --out "$out_path/tables"
    "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
fi
if begin 10; then
    "$recipe/local/figures.sh" "${jobs[@]}" -- \
        "${shown[@]}" ${plots[@]+"${plots[@]}"} --out "$out_path/figures"
    if [ -z "$rated" ]; then  # otherwise it comes with stage 11
        "$recipe/local/report.sh" "${shown[@]}" --figures "$out_path/figures" \
            --out "$out_path/report.html"
    fi
fi
if begin 11; then
    if [ -z "$rated" ]; then
        log "No ratings of a listening test ($(in_tree ratings.csv)), so there is nothing to" \
            "evaluate; privacy-eval listening --template prints an example"
    else
        others=()
        if [ -n "$system" ]; then others=(--any-system); fi  # ratings are of the others, too
        "$recipe/local/listening.sh" --ratings "$rated" "${shown[@]}" \
            ${others[@]+"${others[@]}"} --out "$out_path/subjective"
        "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/subjective/tables"
        drawn=()
        if [ -d "$out_path/figures" ]; then drawn=(--figures "$out_path/figures"); fi
        "$recipe/local/report.sh" "${shown[@]}" ${drawn[@]+"${drawn[@]}"} \
            --listening "$out_path/subjective" --out "$out_path/report.html"
    fi
fi
if [ "$failed" = true ]; then
    log "Done, but without the conditions that failed in stage 6: see $out_path/log"
    exit 1
fi
log "Done"
