#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # the options are read elsewhere
# Evaluate anonymization systems in a tree of VoicePrivacy 2020 or 2022 (those of 2024 and 2026:
# recipes/vpc2024/run.sh): a checkout of the challenge's baseline after a run, or an organizer's
# collection of submissions. Computes privacy metrics, result files, tables, figures and a report from
# x-vectors or speaker verification scores and trial keys. After anonymization: run.sh --stage 5
#
# Usage: run.sh [--tree DIR] [--results DIR] [--stage N] [--stop-stage N] [other options]
#
# Paths other than --tree are relative to the tree. Exit code: 1 for invalid data, 2 for invalid options.
set -euo pipefail

# --- options
stage=0              # first stage to run
stop_stage=100       # last stage to run
tree=.               # experiment tree, which holds data/ and exp/
results=exp          # results folder: a results-* folder, or any folder above several
out=                 # output folder of results, tables and logs (default: privacy_eval in the results folder)
conf=vpc2020         # vpc2020, vpc2022, or a YAML file, relative to the tree
nj=2                 # number of parallel jobs
cmd=                 # job runner, with its options (default: from cmd.sh)
system=              # evaluate only this system; or a name for the only system
anonymizer=          # stage 4: mcadams (baseline B2), or a command (see local/anonymize.sh)
variant=2020         # variant of the anonymizer mcadams: 2020 or 2022
coefficient=         # McAdams coefficient (default: 0.8 in 2020, from 0.5 to 0.9 in 2022)
per_set=false        # mcadams of 2022: draw different coefficients for every data set
extractor=           # extractor of x-vectors: kaldi, with KALDI_ROOT, or a command (see local/xvectors.sh; default: built in)
encoder=             # instead: ge2e, ge2e-raw, d-vector, FILE.onnx or FILE.ckpt (models: privacy-eval get-model)
front_end=           # of FILE.onnx: wespeaker, sherpa, 3dspeaker or a YAML file (default: its metadata)
lda_dim=             # dimension of LDA of back ends that stages 2 and 5 train (default: 200, or that of the x-vectors)
anon_suffix=         # suffixes of anonymized data sets, blank-separated (default: from folders)
all_figures=false    # also draw DET curves, ECE profiles, ... of every condition as files
conventional=false   # also draw ECE, APE, NBER and NECE plots of every condition
whiskers=speakers    # whiskers of bars: from --bootstrap, or for independent trials (independent)
metric=              # user-defined metrics, NAME=FILE.py:FUNCTION of TrialScores, blank-separated
published=           # published results to show as well: vpc2020, vpc2022
table_style=booktabs # style of LaTeX tables: booktabs, or ruled like the challenge's (challenge)
formats=             # files of tables also as md, txt (default: LaTeX, and all cells in tables.csv)
tables=              # YAML files of tables of your own, blank-separated (see docs/extending.md)
shown_variant=       # metric variant in tables, figures and report (default: the protocol's)
shown_system=        # show only these systems, in this order, blank-separated (default: all)
utility=             # utility in the plane, in place of wer,uar: dnsmos_ovrl, per_original, ... (see quality, phones)
by_strongest=false   # rank systems by the strongest attacker that was tried, not by the challenge's own
ratings=             # ratings of a listening test, a file or folder (default: ratings.csv if it exists)
bootstrap=0          # bootstrap replicates of speakers for confidence intervals; 0: none
seed=0               # seed of the bootstrap, of the coefficients of the anonymizer, and of training (attackers ecapa)
utt2spk=             # speakers of the trial utterances (default: beside the keys, or in data/)
keys=                # folder of the trial keys (default: data/*/trials, or folders keys-*)
audio=               # audit anonymized audio: true (also in stage 0), false (default: if x-vectors were made of it)
recognizer=          # stage 6: a command that writes transcripts, if the protocol names a folder (see local/recognize.sh)
quality=false        # stage 6: predict the quality of the trial sets' speech by DNSMOS (privacy-eval get-model dnsmos)
phones=false         # stage 6: recognize the phones of the trial sets' speech, and count errors
phone_reference=     # of phones: original (default: those of the original speech), or text (of its transcripts)
attackers=           # all, challenge, or ids of the protocol (default: challenge, and words where there are transcripts)
distractors=         # data set of additional enrolled speakers for identification, e.g. train_clean_360
sentences=           # stage 7: sentences per test, such as 1,2,3,5,10,30: error rates by the amount of speech
attribute=           # stage 7: what x-vectors give away of speakers: gender, FILE.csv:COLUMN, blank-separated
confirm=             # what is implausible, or in two submissions, but right: NAME[:DATA_SET], NAME a system, team or original, blank-separated
statement=false      # stage 10: also write statement.html, for a data protection impact assessment
speaker_names=false  # name the speakers of data that are not a challenge's, instead of S1, S2, ...
allow_missing=false  # leave out missing or failing items, and record them in the results
allow_outside=false  # follow links and paths that lead out of the tree
allow_pipes=false    # run commands in scp files of x-vectors
details=false        # list every item that stages otherwise only count
set=                 # options of wings, NAME=VALUE, blank-separated (see docs/extending.md)
# --- end of options
recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/recipe.sh
. "$recipe/../../scripts/recipe.sh"
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"
# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/path.sh"
# shellcheck source=recipes/vpc2020/cmd.sh
if [ -z "$cmd" ]; then . "$recipe/cmd.sh"; fi

# All options are now in the file $config. Each stage below is `privacy-eval stage NAME`, or all of a NUMBER,
# which takes those that it knows; one that no stage knows is refused here. A stage that is current starts
# no jobs. A new stage: docs/extending.md.
check_options "$@"

if begin 0; then
    try check
fi

if begin 1; then
    try data
fi

if begin 2; then
    try train_encoders --anonymizer=
    try train_backend
fi

if begin 3; then
    try subsets
fi

if begin 4; then
    try anonymize
fi

if begin 5; then
    try 5 # subsets of anonymized speech, x-vectors, back ends, scores
fi

if begin 6; then
    try 6 # transcripts with --recognizer, privacy metrics, measures of speech
fi

if begin 7; then
    try 7 # voice similarity, identification, attributes
fi

if begin 8; then
    try collect
fi

if begin 9; then
    try tables
    compile_tables.sh "$out/tables"
fi

if begin 10; then
    try figures
    write_statement
    if ! has_ratings; then # otherwise stage 11 writes it
        write_report
    fi
fi

if begin 11; then
    try listening
    if has_ratings; then
        if [ -e "$out/subjective/tables/tables.tex" ]; then compile_tables.sh "$out/subjective/tables"; fi
        write_report
    fi
fi

show_results
