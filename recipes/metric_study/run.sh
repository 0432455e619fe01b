#!/usr/bin/env bash
# Metric study: simulations of what each metric detects and misses, and of the number of trials that
# it needs. Reproduces the experiments of the comparative study of speech anonymization metrics
# (Table 1, Figures 2 to 5) and of the voice similarity paper (Figure 1), and estimates bias and
# spread of every metric. Needs Python only.
#
# Usage: run.sh [options]
#
#   stage 0   simulations
#         1   tables, figures, values.csv and report.html
#
# Existing results are kept, and interrupted runs resumed. The same seed gives identical files.
set -euo pipefail

# --- options
stage=0            # first stage to run
stop_stage=1       # last stage to run
dir=               # output folder (default: work beside this script)
conf=metric_study  # the study: a name or a YAML file, for example a modified copy of conf/metric_study.yaml
seed=              # seed of the simulations (default: the one in the study)
tree=              # attack the original speech of this tree instead of simulated x-vectors
tree_conf=vpc2020  # protocol of this tree
metric=            # user-defined metric, NAME=FILE.py:FUNCTION, a function of TrialScores
nj=2               # number of parallel jobs
cmd=               # job runner, with its options (default: from recipes/vpc2020/cmd.sh)
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
for name in stage stop_stage nj; do
    [[ ${!name} =~ ^[0-9]{1,9}$ ]] ||
        usage_error "--${name//_/-} takes a whole number, not '${!name}'"
done
nj=$((10#$nj)) stage=$((10#$stage)) stop_stage=$((10#$stop_stage))
[ "$stage" -le 1 ] || usage_error "--stage is at most 1"
[ "$stop_stage" -ge "$stage" ] || usage_error "--stop-stage $stop_stage comes before --stage $stage"
[ "$nj" -ge 1 ] || usage_error "--nj takes at least 1"
dir=${dir:-$recipe/work}

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/../vpc2020/path.sh"
if [ -z "$cmd" ]; then
    # shellcheck source=recipes/vpc2020/cmd.sh
    . "$recipe/../vpc2020/cmd.sh"
fi

options=(--out "$dir" --conf "$conf" --tree-conf "$tree_conf")
if [ -n "$seed" ]; then options+=(--seed "$seed"); fi
if [ -n "$tree" ]; then options+=(--tree "$tree"); fi
if [ -n "$metric" ]; then options+=(--metric "$metric"); fi

if [ "$stage" -le 0 ] && [ "$stop_stage" -ge 0 ]; then
    log "Stage 0: simulations ($conf -> $dir/records)"
    privacy-eval study --cmd "$cmd" --nj "$nj" --log-dir "$dir/log" "${options[@]}"
fi

if [ "$stage" -le 1 ] && [ "$stop_stage" -ge 1 ]; then
    log "Stage 1: tables, figures and report ($dir/records -> $dir/tables, figures, values.csv," \
        "report.html)"
    privacy-eval study-report "${options[@]}"
    "$PRIVACY_EVAL_ROOT/scripts/compile_tables.sh" "$dir/tables"
fi
log "Done"
