#!/usr/bin/env bash
# Evaluate anonymization systems in an experiment tree in the layout of the VoicePrivacy Challenge:
# a checkout of its baseline after a run, or an organizer's collection of submissions. Computes
# privacy metrics, result files, tables, figures and a report from x-vectors or speaker verification
# scores and trial keys. After anonymization: run.sh --stage 5
#
# Usage: run.sh [--tree DIR] [--results DIR] [--stage N] [--stop-stage N] [other options]
#
# Paths other than --tree are relative to the tree. Exit code: 0 success, 1 invalid data, 2 invalid
# options.
set -euo pipefail

# --- options
stage=0              # first stage to run
stop_stage=11        # last stage to run
tree=.               # experiment tree, which holds data/ and exp/
results=exp          # results folder: a results-* folder, or any folder above several
out=                 # output folder of results, tables and logs (default: privacy_eval in the results folder)
conf=vpc2020         # evaluation protocol: a name (of conf/) or a YAML file, relative to the tree
nj=2                 # number of parallel jobs
cmd=                 # job runner, with its options (default: from cmd.sh)
system=              # evaluate only this system; or a name for the only system
anonymizer=          # stage 4: mcadams (baseline B2), or 'COMMAND {in} {out}' (see local/anonymize.sh)
variant=2020         # variant of the anonymizer mcadams: 2020 or 2022
coefficient=         # McAdams coefficient (default: 0.8 in 2020, from 0.5 to 0.9 in 2022)
per_set=false        # mcadams of 2022: draw different coefficients for every data set
extractor=           # extractor of missing x-vectors: kaldi, with KALDI_ROOT (default: built in)
anon_suffix=         # suffixes of anonymized data sets, blank-separated (default: from folders)
all_figures=false    # also draw DET curves, ECE profiles, ... of every condition as files
conventional=false   # also draw ECE, APE, NBER and NECE plots of every condition
whiskers=speakers    # whiskers of bars: from --bootstrap, or for independent trials (independent)
metric=              # user-defined metrics, NAME=FILE.py:FUNCTION of TrialScores, blank-separated
published=           # published results to show as well: vpc2020
table_style=booktabs # style of LaTeX tables: booktabs, or ruled like the challenge's (challenge)
shown_variant=       # metric variant in tables, figures and report (default: the protocol's)
shown_system=        # show only these systems, in this order, blank-separated (default: all)
ratings=             # ratings of a listening test, a file or folder (default: ratings.csv if it exists)
bootstrap=0          # bootstrap replicates of speakers for confidence intervals; 0: none
seed=0               # seed of the bootstrap, and of the coefficients of the anonymizer
utt2spk=             # speakers of the trial utterances (default: beside the keys, or in data/)
keys=                # folder of the trial keys (default: data/*/trials, or folders keys-*)
distractors=         # data set of additional enrolled speakers for identification, e.g. train_clean_360
allow_missing=false  # leave out missing or failing items, and record them in the results
allow_outside=false  # follow links and paths that lead out of the tree
allow_pipes=false    # run commands in scp files of x-vectors
details=false        # list every item that stages otherwise only count
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# The table of all stages: number, scripts in local/, what, input -> output.
stages=$(sed -n '/^TABLE = """/,/^"""/{/ | /p}' "$recipe/../../privacy_eval/stages/recipe.py")
# shellcheck disable=SC2034
help_more="Stages: number | scripts in local/ | what | input -> output"$'\n'"$stages"
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"

# On a terminal each stage is one line, in bold type unless that is unwelcome (https://no-color.org).
live=false running="" bold="" plain=""
if [ -t 1 ] && [ -t 2 ]; then
    live=true
    if [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
fi
# On a terminal, print the line of the stage that ran: what, counts other than 0, and its duration.
finish() {
    local counts counted='^[^|]*: ([0-9]+ [a-z]|results.json)|^[0-9]+ (conditions?|figures?) '
    if [ -z "$running" ]; then return; fi
    exec >&3 3>&-
    counts=$(sed -En -e 's/\b0 [a-z -]+(, |$)//g; s/[ ,:]+$//' -e "/$counted/p" "$printed")
    counts=${counts//"${tree%/}/"/}
    printf '\r\033[K%s%s%s (%d s)\n' "$bold" "$running" "${counts:+: ${counts//$'\n'/; }}" \
        "$((SECONDS - since))"
    sed -En -e "/$counted/d" -e 's/^/    /p' "$printed"
    rm -f -- "$printed"
    running=""
}
# Jobs end with 3 if the output cannot be written.
trap 'code=$?; finish; if [ "$code" -eq 3 ]; then exit 1; fi' EXIT
log() { printf '%s %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$*" >&2; }
fail() {
    printf 'run.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}
usage_error() { fail "$1 (--help lists the options)" 2; }

[ $# -eq 0 ] || usage_error "unexpected argument '$1'"
# Anything but a number would make all comparisons below fail and silently skip every stage.
for name in stage stop_stage nj bootstrap seed; do
    [[ ${!name} =~ ^[0-9]{1,9}$ ]] ||
        usage_error "--${name//_/-} takes a whole number, not '${!name}'"
done
[ "$((10#$bootstrap))" -ne 1 ] || usage_error "--bootstrap takes 0 or at least 2 replicates"
nj=$((10#$nj)) stage=$((10#$stage)) stop_stage=$((10#$stop_stage))
[ "$stage" -le 11 ] || usage_error "--stage is at most 11"
[ "$stop_stage" -ge "$stage" ] || usage_error "--stop-stage $stop_stage comes before --stage $stage"
[ "$nj" -ge 1 ] || usage_error "--nj takes at least 1"
for name in tree results conf; do
    [ -n "${!name}" ] || usage_error "--$name must not be empty"
done
case $table_style in
    booktabs | challenge) ;;
    *) usage_error "--table-style takes booktabs or challenge, not '$table_style'" ;;
esac
case $shown_variant in
    "" | challenge | exact) ;;
    *) usage_error "--shown-variant takes challenge or exact, not '$shown_variant'" ;;
esac
case $whiskers in
    speakers | independent) ;;
    *) usage_error "--whiskers takes speakers or independent, not '$whiskers'" ;;
esac
# Commands would take paths that begin with a dash for options.
for name in tree results conf out ratings utt2spk keys; do
    case ${!name} in -*) printf -v "$name" './%s' "${!name}" ;; esac
done
case $extractor in "" | kaldi) ;; *) usage_error "--extractor takes kaldi, not '$extractor'" ;; esac
[ -d "$tree" ] || fail "$tree: no such folder; --tree names the experiment tree"

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/path.sh"
if [ -z "$cmd" ]; then
    # shellcheck source=recipes/vpc2020/cmd.sh
    . "$recipe/cmd.sh"
fi
command -v -- "${cmd%% *}" >/dev/null ||
    usage_error "--cmd: no command '${cmd%% *}'; see recipes/vpc2020/cmd.sh"

# More jobs on this machine would only start one after the other, each with its start-up time.
processors=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null ||
    getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
case ${cmd%% *} in
    run_jobs.sh | */run_jobs.sh)
        if [ "$nj" -gt "$((4 * processors))" ]; then
            nj=$((4 * processors))
            log "Running $nj jobs: this machine has $processors processors"
        fi
        ;;
esac

# The only place with this default. Relative to the tree, as in the commands.
out=${out:-${results%/}/privacy_eval}

# For paths that this script uses itself, and for commands without --tree.
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

# Return whether a stage is to run, and log its row of the table. On a terminal, the output of its
# commands is kept for `finish`.
begin() {
    local number what flow
    finish
    if [ "$stage" -gt "$1" ] || [ "$stop_stage" -lt "$1" ]; then return 1; fi
    IFS='|' read -r number _ what flow < <(sed -n "/^ *$1 |/s/ *| */|/gp" <<<"$stages")
    flow=${flow//RESULTS/"${results%/}"}
    if [ "$live" = true ]; then
        running="Stage $((number))$plain  $what" since=$SECONDS
        printf '%s%s ...\r' "$bold" "$running" >&2
        printed=$(mktemp "${TMPDIR:-/tmp}/run.XXXXXX")
        exec 3>&1 >"$printed"
    else
        log "Stage $((number)): $what (${flow//OUT/"$out"})"
    fi
}

common=(--results "$results" --conf "$conf")
if [ -n "$system" ]; then common+=(--system="$system"); fi
for suffix in $anon_suffix; do common+=(--anon-suffix="$suffix"); done
if [ -n "$keys" ]; then common+=(--keys "$keys"); fi
if [ "$allow_outside" = true ]; then common+=(--allow-outside); fi
of_tree=(--tree "$tree" "${common[@]}")
# Not every verb has these options.
missing=() pipes=() plots=(--whiskers "$whiskers") items=()
if [ "$allow_missing" = true ]; then missing=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then pipes=(--allow-pipes); fi
if [ "$all_figures" = true ]; then plots+=(--all-figures); fi
if [ "$conventional" = true ]; then plots+=(--conventional); fi
if [ "$details" = true ]; then items=(--details); fi
evaluation=(--out "$out" --bootstrap "$bootstrap" --seed "$seed")
if [ -n "$utt2spk" ]; then evaluation+=(--utt2spk "$utt2spk"); fi
# Inputs of tables, figures and report.
own=()
for name in $metric; do own+=(--metric "$name"); done
shown=(--results "$out_path/results.json" --conf "$conf_path")
if [ -n "$published" ]; then shown+=(--published "$published"); fi
evaluated=("${shown[@]}")
shown+=(${own[@]+"${own[@]}"})
if [ -n "$shown_variant" ]; then shown+=(--variant "$shown_variant"); fi
for name in $shown_system; do shown+=(--system="$name"); done

# Ratings of a listening test must exist if they are given.
rated=$(in_tree "${ratings:-ratings.csv}")
if [ -n "$ratings" ] && [ "$stop_stage" -eq 11 ] && [ ! -e "$rated" ]; then
    usage_error "--ratings: $rated: no such file or folder"
fi
if [ "$stop_stage" -lt 11 ] || { [ -z "$ratings" ] && [ ! -e "$rated" ]; }; then rated=""; fi

# Check the options once, before any work.
again=(--stage "$stage" --stop-stage "$stop_stage" --nj "$nj" --table-style "$table_style" \
    ${plots[@]+"${plots[@]}"})
if [ -n "$published" ]; then again+=(--published "$published"); fi
if [ -n "$shown_variant" ]; then again+=(--shown-variant "$shown_variant"); fi
for name in $shown_system; do again+=(--shown-system="$name"); done
if [ -n "$extractor" ]; then again+=(--extractor "$extractor"); fi
if [ -n "$anonymizer" ]; then again+=(--anonymizer "$anonymizer"); fi
galleries=(--bootstrap "$bootstrap" --seed "$seed")
if [ -n "$distractors" ]; then
    again+=(--distractors "$distractors")
    galleries+=(--distractors "$distractors")
fi
if [ -n "$rated" ]; then again+=(--listening "$out_path/subjective"); fi
pending() {
    privacy-eval pending "${of_tree[@]}" ${missing[@]+"${missing[@]}"} \
        ${pipes[@]+"${pipes[@]}"} "${evaluation[@]}" "${again[@]}" ${own[@]+"${own[@]}"} "$@"
}
if [ "$stage" -lt 5 ] || [ "$stage" -gt 10 ]; then pending --only-options >/dev/null; fi

jobs=(--cmd "$cmd" --nj "$nj" --log-dir "$out_path/log")
if begin 0; then
    "$recipe/local/check.sh" "${of_tree[@]}" ${missing[@]+"${missing[@]}"} \
        ${items[@]+"${items[@]}"}
fi
if begin 1; then "$recipe/local/data.sh" --tree "$tree"; fi
if begin 2; then
    "$recipe/local/train_backend.sh" "${of_tree[@]}" ${pipes[@]+"${pipes[@]}"} \
        ${items[@]+"${items[@]}"}
fi
if begin 3; then "$recipe/local/subsets.sh" "${of_tree[@]}" ${items[@]+"${items[@]}"}; fi
if begin 4; then
    anonymization=("${common[@]}" --variant "$variant" --seed "$seed")
    if [ -n "$coefficient" ]; then anonymization+=(--coefficient "$coefficient"); fi
    if [ "$per_set" = true ]; then anonymization+=(--per-set); fi
    "$recipe/local/anonymize.sh" --anonymizer "$anonymizer" --tree "$tree" "${jobs[@]}" -- \
        "${anonymization[@]}" ${pipes[@]+"${pipes[@]}"} ${items[@]+"${items[@]}"}
fi

# Refuse an unsafe output folder before a log is written there. In a repeated run, find the first
# stage with work to do in one process, as each stage would start several only to do nothing.
current=$stage  # first stage whose outputs are of this run, or current
if [ "$stage" -le 10 ] && [ "$stop_stage" -ge 5 ]; then
    found=$(pending)
    read -r first most _ <<<"$found"
    if [[ $most =~ ^[0-9]+$ ]]; then nj=$most; fi  # no more jobs than conditions
    if [ "$first" -gt "$stage" ] && [ "$first" -gt 5 ]; then
        log "Stages up to $((first - 1)) have nothing to do: everything is current"
        if [ "$first" -gt 9 ]; then
            "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
        fi
        stage=$first
    fi
fi
jobs=(--cmd "$cmd" --nj "$nj" --log-dir "$out_path/log")

if begin 5; then
    "$recipe/local/asv_scores.sh" --tree "$tree" --extractor "$extractor" "${jobs[@]}" \
        --allow-missing "$allow_missing" --allow-pipes "$allow_pipes" --details "$details" \
        -- "${common[@]}"
fi

failed=false
if begin 6; then
    [ -d "$(in_tree "$results")" ] ||
        fail "$(in_tree "$results"): no such folder; --results is relative to --tree"
    code=0
    "$recipe/local/privacy_metrics.sh" "${jobs[@]}" -- \
        "${of_tree[@]}" ${missing[@]+"${missing[@]}"} ${items[@]+"${items[@]}"} \
        "${evaluation[@]}" ${own[@]+"${own[@]}"} || code=$?
    if [ "$code" -gt 125 ]; then exit "$code"; fi  # interrupted, or no runner
    if [ "$code" -eq 3 ]; then exit 1; fi          # the output cannot be written
    if [ "$code" -ne 0 ]; then
        failed=true
        if [ "$allow_missing" != true ]; then
            log "Stage 6 failed for some conditions, named in $out_path/log; those that" \
                "succeeded are kept. To continue without the failed ones: --stage 6 --allow-missing"
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
        "${of_tree[@]}" ${missing[@]+"${missing[@]}"} ${pipes[@]+"${pipes[@]}"} \
        ${items[@]+"${items[@]}"} --out "$out"
    "$recipe/local/identification.sh" "${jobs[@]}" -- "${of_tree[@]}" \
        ${missing[@]+"${missing[@]}"} ${pipes[@]+"${pipes[@]}"} ${items[@]+"${items[@]}"} \
        --out "$out" "${galleries[@]}"
fi
if begin 8; then
    "$recipe/local/collect.sh" "${of_tree[@]}" ${missing[@]+"${missing[@]}"} \
        ${own[@]+"${own[@]}"} --out "$out"
fi
if begin 9; then
    "$recipe/local/tables.sh" "${shown[@]}" --table-style "$table_style" --out "$out_path/tables"
    "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
fi
if begin 10; then
    "$recipe/local/figures.sh" "${jobs[@]}" -- \
        "${shown[@]}" "${plots[@]}" --out "$out_path/figures"
    if [ -z "$rated" ]; then  # otherwise stage 11 writes it
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
        if [ -n "$system" ]; then others=(--any-system); fi  # ratings may include other systems
        "$recipe/local/listening.sh" --ratings "$rated" "${evaluated[@]}" \
            ${others[@]+"${others[@]}"} --out "$out_path/subjective"
        "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/subjective/tables"
        drawn=()
        if [ -d "$out_path/figures" ]; then drawn=(--figures "$out_path/figures"); fi
        "$recipe/local/report.sh" "${shown[@]}" ${drawn[@]+"${drawn[@]}"} \
            --listening "$out_path/subjective" --out "$out_path/report.html"
    fi
fi
finish
# End with the main results, and where everything is.
if [ "$stop_stage" -ge 9 ]; then
    summary=$out_path/tables/summary.txt
    if [ -f "$summary" ]; then
        printf '\n%s%s%s\n' "$bold" "$(head -n 1 -- "$summary")" "$plain"
        sed -n 2,30p -- "$summary"
        if [ "$(wc -l <"$summary")" -gt 30 ]; then printf '... (all: %s)\n' "$summary"; fi
        printf '\n'
    fi
    reported=10
    if [ -n "$rated" ]; then reported=11; fi
    for item in results.{txt,json,csv}:8 tables:9 figures:10 subjective:11 \
        "report.html:$reported"; do
        file=${item%:*} number=${item#*:} earlier=""
        if [ "$number" -lt "$current" ] || [ "$number" -gt "$stop_stage" ] ||
            { [ "$file" = subjective ] && [ -z "$rated" ]; }; then
            earlier=" (of an earlier run)"
        fi
        if [ -e "$out_path/$file" ]; then
            printf '%-13s %s\n' "$file" "$out_path/$file$earlier"
        fi
    done
fi
if [ "$failed" = true ]; then
    log "Done, but without the conditions that failed in stage 6: see $out_path/log"
    exit 1
fi
if [ "$stop_stage" -ge 8 ] && [ -s "$out_path/left_out.txt" ]; then
    log "Done, but these results are not complete: $(wc -l <"$out_path/left_out.txt") notes of what" \
        "was left out in $out_path/left_out.txt, first: $(head -n 1 -- "$out_path/left_out.txt" | cut -c 1-200)"
else
    log "Done"
fi
