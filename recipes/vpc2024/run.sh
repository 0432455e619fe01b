#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # the options are read elsewhere
# Evaluate anonymization systems in a tree of VoicePrivacy 2024 or 2026, after the challenge's own
# evaluation has left its scores in exp/ (asv_orig or asv_ssl, asv_anon<SUFFIX>, asr, ser). Stage 5
# makes missing ones from recordings, where a model's folder has an embedding_model.ckpt. Stage 7
# compares the speaker_vectors.pt that it left in exp/<model>/cosine_out/emb_xvect, if there are any.
#
# Usage: run.sh --tree DIR [--conf vpc2024|vpc2026_track1|vpc2026_track2] [--anon-suffix "_a _b"]
#               [--published vpc2024] [other options]
#
# Paths other than --tree are relative to the tree. Exit code: 0 success, 1 invalid data, 2 invalid
# options.
set -euo pipefail

# --- options
stage=0              # first stage to run
stop_stage=100       # last stage to run
tree=.               # experiment tree, which holds exp/
results=exp          # results folder: the one that holds asv_orig, or any folder above several
out=                 # output folder of results, tables and logs (default: privacy_eval in the results folder)
conf=vpc2024         # vpc2024, vpc2026_track1, vpc2026_track2, or a YAML file, relative to the tree
nj=2                 # number of parallel jobs
cmd=                 # job runner, with its options (default: from recipes/vpc2020/cmd.sh)
system=              # evaluate only this system; or a name for the only system
encoder=             # another attacker: cosine of ge2e, ge2e-raw, d-vector, FILE.onnx or FILE.ckpt (privacy-eval get-model)
extractor=           # a command of your own, for an attacker of --conf with a folder of vectors (see docs/attackers.md)
front_end=           # of FILE.onnx: wespeaker, sherpa, 3dspeaker or a YAML file (default: its metadata)
anon_suffix=         # suffixes of anonymized data sets, blank-separated (default: from folders)
all_figures=false    # also draw DET curves, ECE profiles, ... of every condition as files
conventional=false   # also draw ECE, APE, NBER and NECE plots of every condition
whiskers=speakers    # whiskers of bars: from --bootstrap, or for independent trials (independent)
metric=              # user-defined metrics, NAME=FILE.py:FUNCTION of TrialScores, blank-separated
published=           # published results to show as well: vpc2024, vpc2026_track1, vpc2026_track2
table_style=booktabs # style of LaTeX tables: booktabs, or ruled like the challenge's (challenge)
formats=             # files of tables also as md, txt (default: LaTeX, and all cells in tables.csv)
tables=              # YAML files of tables of your own, blank-separated (see docs/extending.md)
shown_variant=       # metric variant in tables, figures and report (default: the protocol's)
shown_system=        # show only these systems, in this order, blank-separated (default: all)
utility=             # utility in the plane, in place of wer,uar: dnsmos_ovrl, per_original, ... (see quality, phones)
by_strongest=false   # rank systems by the strongest attacker that was tried, not by the challenge's own
ratings=             # ratings of a listening test, a file or folder (default: ratings.csv if it exists)
bootstrap=0          # bootstrap replicates of speakers for confidence intervals; 0: none
seed=0               # seed of the bootstrap, and of training (attackers ecapa)
utt2spk=             # speakers of the trial utterances (default: beside the keys, or in data/)
keys=                # folder of the trial keys (default: data/*/trials, or folders keys-*)
recognizer=          # stage 6: a command that writes transcripts (see local/recognize.sh)
audio=               # stages 0 and 6: audit the anonymized audio (true); a system with original speech left in is not ranked
quality=false        # stage 6: predict the quality of the trial sets' speech by DNSMOS (privacy-eval get-model dnsmos)
phones=false         # stage 6: recognize the phones of the trial sets' speech, and count errors
phone_reference=     # of phones: original (default: those of the original speech), or text (of its transcripts)
attackers=           # all, challenge, or ids of the protocol (default: challenge, and words where there are transcripts)
distractors=         # data set of additional enrolled speakers for identification
sentences=           # stage 7: sentences per test, such as 1,2,3,5,10,30: error rates by the amount of speech
attribute=           # stage 7: what x-vectors give away of speakers: gender, FILE.csv:COLUMN, blank-separated
confirm=             # what is implausible, or in two submissions, but right: NAME[:DATA_SET], NAME a system, team or original, blank-separated
statement=false      # stage 10: also write statement.html, for a data protection impact assessment
speaker_names=false  # name the speakers of data that are not a challenge's, instead of S1, S2, ...
allow_missing=false  # leave out missing or failing items, and record them in the results
allow_outside=false  # follow links and paths that lead out of the tree
allow_pipes=false    # run commands in scp files of x-vectors and speech
details=false        # list every item that stages otherwise only count
set=                 # options of wings, NAME=VALUE, blank-separated (see docs/extending.md)
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/recipe.sh
. "$recipe/../../scripts/recipe.sh"
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"
# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/../vpc2020/path.sh"
# shellcheck source=recipes/vpc2020/cmd.sh
if [ -z "$cmd" ]; then . "$recipe/../vpc2020/cmd.sh"; fi

# All options are now in the file $config, which every stage reads; what it does not know, it ignores.
# A stage that is current says so, and starts no jobs.
check_options "$@"
if [ -n "$encoder" ]; then attack_by_encoder; fi

if begin 0; then
    try check
fi

if begin 5; then
    try 5 # of attackers beside the challenge's own, which are in the tree
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
