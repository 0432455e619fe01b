#!/usr/bin/env bash
# Evaluates anonymization systems in an experiment tree laid out as in the VoicePrivacy Challenge:
# a checkout of its baseline after a run, or an organizers' collection of submissions. From the
# x-vectors or scores of speaker verification and the trial keys come privacy metrics, result files,
# tables, figures and a report. After anonymization: run.sh --stage 5
#
# Usage: run.sh [--tree DIR] [--results DIR] [--stage N] [--stop-stage N] [other options]
#
#   stage 0   check the tree: what is missing, what in it is odd, what it costs to evaluate
#         1   data and models: where to get them
#         2   back end of the semi-informed attacker, where its training x-vectors are there
#         3   evaluation subsets
#         4   anonymization: the participant's own
#         5   anonymized subsets, x-vectors (by Kaldi, if missing), scores of speaker verification
#         6   privacy metrics of every condition
#         7   voice similarity matrices, DeID, G_VD
#         8   results.json, results.csv, results.txt
#         9   tables for LaTeX, Markdown, text, csv
#         10  figures (png, pdf, tex of curves) and one report to read, report.html
#         11  subjective evaluation, where ratings of a listening test are there, and its
#             section of the report
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
conf=vpc2020         # challenge configuration: a name (vpc2020, vpc2022) or a YAML file
nj=2                 # number of parallel jobs
cmd=                 # job runner, with its options (default: what cmd.sh says)
system=              # evaluate only this system, or the name for the only one there is
anon_suffix=         # ending of anonymized data sets (default: found from the folders' names)
conventional=false   # also draw ECE, APE, NBER and NECE plots of every condition
published=           # published results to show beside these: vpc2020
ratings=             # ratings of a listening test, a file or folder (default: ratings.csv if there)
bootstrap=0          # resamplings of speakers for confidence intervals; 0: none
seed=0               # seed of the resampling
utt2spk=             # speakers of the trial utterances (default: beside the keys or in data/)
keys=                # folder with the trial keys, where they are not in data/*/trials
allow_missing=false  # leave out what is missing or fails; the results say so
allow_outside=false  # follow links and paths that lead out of the tree
allow_pipes=false    # run commands that stand in scp files of x-vectors
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"

log() { printf '%s %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$*" >&2; }
usage_error() {
    printf 'run.sh: %s (--help lists the options)\n' "$1" >&2
    exit 2
}

[ $# -eq 0 ] || usage_error "unexpected argument '$1'"
# A number that is none would make every comparison below fail, and so skip every stage silently.
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
if [ ! -d "$tree" ]; then
    printf 'run.sh: %s: no such folder; --tree names the experiment tree\n' "$tree" >&2
    exit 1
fi

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/path.sh"
if [ -z "$cmd" ]; then
    # shellcheck source=recipes/vpc2020/cmd.sh
    . "$recipe/cmd.sh"
fi

if ! command -v -- "${cmd%% *}" >/dev/null; then
    usage_error "--cmd: no command '${cmd%% *}'; see recipes/vpc2020/cmd.sh"
fi

# The only place that knows the default. Relative to the tree, as the commands take it.
out=${out:-${results%/}/privacy_eval}

# For what this script itself reads and writes, and for the command that is given no tree.
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

common=(--tree "$tree" --results "$results" --conf "$conf")
if [ -n "$system" ]; then common+=(--system "$system"); fi
if [ -n "$anon_suffix" ]; then common+=(--anon-suffix "$anon_suffix"); fi
if [ -n "$keys" ]; then common+=(--keys "$keys"); fi
if [ "$allow_outside" = true ]; then common+=(--allow-outside); fi
# Not every verb can leave something out, or reads scp files.
missing=() pipes=()
if [ "$allow_missing" = true ]; then missing=(--allow-missing); fi
if [ "$allow_pipes" = true ]; then pipes=(--allow-pipes); fi

if [ "$stage" -le 0 ] && [ "$stop_stage" -ge 0 ]; then
    log "Stage 0: check the tree ($tree -> what is missing, what is odd, what it costs)"
    "$recipe/local/check.sh" "${common[@]}" ${missing[@]+"${missing[@]}"} --nj "$nj" \
        --bootstrap "$bootstrap"
fi

if [ "$stage" -le 1 ] && [ "$stop_stage" -ge 1 ]; then
    log "Stage 1: data and models (the challenge's organizers -> data/, exp/models/)"
    "$recipe/local/data.sh" --tree "$tree"
fi

if [ "$stage" -le 2 ] && [ "$stop_stage" -ge 2 ]; then
    log "Stage 2: back end of the semi-informed attacker (x-vectors of anonymized training speech" \
        "-> mean.vec, transform.mat, plda)"
    "$recipe/local/train_backend.sh" "${common[@]}" ${pipes[@]+"${pipes[@]}"}
fi

if [ "$stage" -le 3 ] && [ "$stop_stage" -ge 3 ]; then
    log "Stage 3: evaluation subsets (data/<set> and its lists -> data/<set>_enrolls, _trials_*)"
    "$recipe/local/subsets.sh" "${common[@]}"
fi

if [ "$stage" -le 4 ] && [ "$stop_stage" -ge 4 ]; then
    log "Stage 4: anonymization (data/<set> -> its anonymized copy)"
    "$recipe/local/anonymize.sh" --tree "$tree"
fi

# What tables, figures and report are made of.
shown=(--results "$out_path/results.json" --conf "$conf_path")
plots=()
if [ "$conventional" = true ]; then plots=(--conventional); fi
if [ -n "$published" ]; then shown+=(--published "$published"); fi

# Ratings of a listening test: those that are named must be there.
rated=$(in_tree "${ratings:-ratings.csv}")
if [ "$stop_stage" -lt 11 ] || { [ -z "$ratings" ] && [ ! -e "$rated" ]; }; then rated=""; fi

evaluation=(--out "$out" --bootstrap "$bootstrap" --seed "$seed")
if [ -n "$utt2spk" ]; then evaluation+=(--utt2spk "$utt2spk"); fi

# A submission may hold links where our output goes. Jobs look out for them, too, but by then their
# logs have been written.
if [ "$stop_stage" -ge 5 ] &&
    [[ $(realpath -ms -- "$out_path") == "$(realpath -ms -- "$(in_tree "$results")")"/* ]]; then
    link=$(find "$out_path" -type l -print -quit 2>/dev/null || true)
    if [ -n "$link" ]; then
        printf 'run.sh: %s: is a link within the results and is not written to; name another %s\n' \
            "$link" "folder with --out" >&2
        exit 1
    fi
fi

# Run again, this finds out in one go where to begin: every stage would find out by starting several
# processes that it has nothing to do.
if [ "$stage" -le 10 ] && [ "$stop_stage" -ge 8 ] && [ -f "$out_path/results.json" ]; then
    again=(--stage "$stage" --stop-stage "$stop_stage" ${plots[@]+"${plots[@]}"})
    if [ -n "$published" ]; then again+=(--published "$published"); fi
    if [ -n "$rated" ]; then again+=(--subjective "$out_path/subjective"); fi
    first=$(privacy-eval pending "${common[@]}" ${missing[@]+"${missing[@]}"} \
        ${pipes[@]+"${pipes[@]}"} "${evaluation[@]}" "${again[@]}")
    if [ "$first" -gt "$stage" ] && [ "$first" -gt 5 ]; then
        log "Stages up to $((first - 1)) have nothing to do: everything is up to date"
        if [ "$first" -gt 9 ]; then
            "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
        fi
        stage=$first
    fi
fi

if [ "$stage" -le 5 ] && [ "$stop_stage" -ge 5 ]; then
    log "Stage 5: scores of speaker verification (x-vectors, back end and trials ->" \
        "$results/.../ASV-*/scores)"
    "$recipe/local/asv_scores.sh" --cmd "$cmd" --nj "$nj" --log-dir "$out_path/log" \
        --allow-missing "$allow_missing" --allow-pipes "$allow_pipes" -- "${common[@]}"
fi

failed=false
if [ "$stage" -le 6 ] && [ "$stop_stage" -ge 6 ]; then
    log "Stage 6: privacy metrics ($results/.../ASV-*/scores and trial keys -> $out)"
    if [ ! -d "$(in_tree "$results")" ]; then
        printf 'run.sh: %s: no such folder; --results is relative to --tree\n' \
            "$(in_tree "$results")" >&2
        exit 1
    fi
    code=0
    "$recipe/local/privacy_metrics.sh" --cmd "$cmd" --nj "$nj" --log-dir "$out_path/log" -- \
        "${common[@]}" ${missing[@]+"${missing[@]}"} "${evaluation[@]}" || code=$?
    if [ "$code" -gt 128 ]; then exit "$code"; fi  # interrupted
    if [ "$code" -ne 0 ]; then
        failed=true
        if [ "$allow_missing" != true ]; then
            log "Stage 6 failed for some conditions, named in $out_path/log; those that" \
                "succeeded are kept. To have the results of the others: --stage 6 --allow-missing" \
                "true"
            if [ -e "$out_path/results.json" ]; then
                log "Note: the results and tables in $out_path are those of an earlier run"
            fi
            exit 1
        fi
        log "Going on without the conditions that failed (--allow-missing)"
    fi
fi

if [ "$stage" -le 7 ] && [ "$stop_stage" -ge 7 ]; then
    log "Stage 7: voice similarity (x-vectors and back end -> matrices, DeID, G_VD in $out)"
    "$recipe/local/similarity.sh" --cmd "$cmd" --nj "$nj" --log-dir "$out_path/log" -- \
        "${common[@]}" ${missing[@]+"${missing[@]}"} ${pipes[@]+"${pipes[@]}"} --out "$out"
fi

if [ "$stage" -le 8 ] && [ "$stop_stage" -ge 8 ]; then
    log "Stage 8: collect ($out -> $out/results.json, results.csv, results.txt)"
    "$recipe/local/collect.sh" "${common[@]}" ${missing[@]+"${missing[@]}"} --out "$out"
fi

if [ "$stage" -le 9 ] && [ "$stop_stage" -ge 9 ]; then
    log "Stage 9: tables ($out/results.json -> $out/tables)"
    "$recipe/local/tables.sh" "${shown[@]}" --out "$out_path/tables"
    "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/tables"
fi

if [ "$stage" -le 10 ] && [ "$stop_stage" -ge 10 ]; then
    log "Stage 10: figures and report ($out/results.json -> $out/figures, $out/report.html)"
    "$recipe/local/figures.sh" --cmd "$cmd" --nj "$nj" --log-dir "$out_path/log" -- \
        "${shown[@]}" ${plots[@]+"${plots[@]}"} --out "$out_path/figures"
    if [ -z "$rated" ]; then  # otherwise it comes with stage 11
        "$recipe/local/report.sh" "${shown[@]}" --figures "$out_path/figures" \
            -o "$out_path/report.html"
    fi
fi

if [ "$stage" -le 11 ] && [ "$stop_stage" -ge 11 ]; then
    log "Stage 11: subjective evaluation (ratings of a listening test -> $out/subjective)"
    if [ -z "$rated" ]; then
        log "No ratings of a listening test ($(in_tree ratings.csv)), so there is nothing to evaluate;" \
            "privacy-eval subjective --template prints their form"
    else
        others=()
        if [ -n "$system" ]; then others=(--any-system); fi  # ratings are of the others, too
        "$recipe/local/subjective.sh" --ratings "$rated" "${shown[@]}" \
            ${others[@]+"${others[@]}"} --out "$out_path/subjective"
        "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$out_path/subjective/tables"
        drawn=()
        if [ -d "$out_path/figures" ]; then drawn=(--figures "$out_path/figures"); fi
        "$recipe/local/report.sh" "${shown[@]}" ${drawn[@]+"${drawn[@]}"} \
            --subjective "$out_path/subjective" -o "$out_path/report.html"
    fi
fi
if [ "$failed" = true ]; then
    log "Done, but without the conditions that failed in stage 6: see $out_path/log"
    exit 1
fi
log "Done"
