#!/usr/bin/env bash
# shellcheck disable=SC2034 # options are passed on by their names
# Evaluate an anonymizer on real speech, without Kaldi: a folder of recordings in, attacks by real speaker
# encoders, tables and a report out, on a laptop. The folder has LibriSpeech's layout, or SPEAKER/FILE.wav
# (also FLAC, MP3, Ogg), or is a data folder of Kaldi's layout with wav.scp and utt2spk, as lhotse exports it;
# where there are more levels of folders, --speaker-level N says which are the speakers, unless file names or a
# list in the folder do. Stage 3 looks at every recording first, and lists those that later stages cannot use in
# DIR/tree/recordings.csv. Enrollment and trials are of different sessions where there are several; the report
# says what so many speakers can carry. Speech of other speakers (--training) makes attackers stronger: it is
# anonymized, too, and they learn what tells speakers apart then, and how anonymized voices map to original ones.
#
# Usage: run.sh --speech DIR [--training DIR] [--get-models true] [other options]
#
# Stages: 1 models of the encoders; 3 data folders, trials and the protocol, which you may edit in
# DIR/tree/protocol.yaml; from 4 on those of recipes/vpc2020/run.sh. What is there is not made again.
set -euo pipefail

# --- options
speech=               # folder of speech: LibriSpeech's layout, or SPEAKER/FILE (wav, flac, mp3, ogg)
speaker_level=        # the speakers are the folders of this level, 1 for those in --speech (also in the others)
utt2spk=              # list of the speakers: <file name> <speaker> (default: the folders are the speakers)
anonymized=           # the same files, anonymized by your system (default: stage 4 anonymizes them)
training=             # folder of speech of other speakers, in such a layout: attackers learn from it
training_utt2spk=     # list of its speakers (default: the folders are the speakers)
dir=                  # folder of tree and results (default: work beside this script)
spk2gender=           # gender of every speaker (default: from the folder, else unknown)
text=                 # what is said, as Kaldi's text (default: from the folder, else unknown)
enroll=               # enrollment utterances per speaker (default: half of them)
allow_unusable=5      # percent of the recordings that may be left out: damaged, silent, too short, unknown format
encoders="ge2e d-vector" # speaker encoders that attack, the first for averages: ge2e, ge2e-raw, d-vector, FILE.onnx, FILE.ckpt (SpeechBrain)
get_models=false      # get missing models, and libraries into the toolkit's .venv; else only name the commands
anonymizer=mcadams    # mcadams (baseline B2), or a command (see local/anonymize.sh)
variant=2022          # variant of the anonymizer mcadams: 2020 or 2022
coefficient=0.8       # McAdams coefficient; empty: drawn per speaker, as in the challenge of 2022
system=B2             # name of the system in the results
quality=true          # predict the quality of the trials' speech by DNSMOS
phones=true           # recognize phones in the trials' speech, and count errors
attackers=all         # all, challenge, or ids of the protocol
confirm=              # what is implausible but right: original or a system, or NAME:DATA_SET, blank-separated
attribute=            # what voices give away of speakers: gender, FILE.csv:COLUMN, blank-separated
sentences=            # sentences per test, such as 1,2,3,5: error rates by the amount of speech
distractors=          # data set of additional enrolled speakers for identification, such as speech_train
recognizer=           # a command that writes transcripts (see local/recognize.sh)
metric=               # user-defined metrics, NAME=FILE.py:FUNCTION of TrialScores, blank-separated
utility=              # utility in the plane, in place of wer,uar: dnsmos_ovrl, per_original, ...
by_strongest=false    # rank systems by the strongest attacker that was tried
all_figures=false     # also draw DET curves, ECE profiles, ... of every condition as files
audio=                # audit all anonymized audio: true, false (default: what x-vectors were made of)
statement=true        # also write statement.html, for a data protection impact assessment
speaker_names=false   # name the speakers in results, tables and report, instead of S1, S2, ...
allow_missing=false   # leave out missing or failing items, and record them in the results
details=false         # list every item that stages otherwise only count
set=                  # options of wings, NAME=VALUE, blank-separated (see docs/extending.md)
bootstrap=1200        # bootstrap replicates of speakers for confidence intervals; 0: none
seed=0                # seed of bootstrap and coefficients
nj=2                  # number of parallel jobs
stage=1               # first stage to run
stop_stage=100        # last stage to run
# --- end of options

recipe=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/parse_options.sh
. "$recipe/../../scripts/parse_options.sh"
usage_error() {
    printf 'run.sh: %s (--help lists the options)\n' "$1" >&2
    exit 2
}
[ $# -eq 0 ] || usage_error "unexpected argument '$1'"
[ -n "$speech" ] || usage_error "--speech names a folder of speech: recordings of your own as \
SPEAKER/FILE.wav, or dev-clean of LibriSpeech (40 speakers, 337 MB, CC BY 4.0) from https://www.openslr.org/12"
dir=${dir:-$recipe/work}

# shellcheck source=recipes/vpc2020/path.sh
. "$recipe/../vpc2020/path.sh"

if [ "$stage" -le 1 ] && [ "$stop_stage" -ge 1 ]; then
    models=()
    for encoder in $encoders; do
        case $encoder in ge2e | ge2e-raw | d-vector) models+=("$encoder") ;; esac
    done
    if [ "$quality" = true ]; then models+=(dnsmos); fi
    downloaded=("${models[@]}")
    if [ "$phones" = true ]; then models+=(phones); fi # its model comes with its library
    if [ "$get_models" = true ] && [ "${#models[@]}" -gt 0 ]; then
        # Libraries before downloads; they are installed into the toolkit's own environment only.
        own=$PRIVACY_EVAL_ROOT/.venv
        if [ "$PRIVACY_EVAL_COMMAND" -ef "$own/bin/privacy-eval" ] && [ -f "$own/.privacy_eval_stamp" ] &&
            ! privacy-eval get-model --check --libraries "${models[@]}" 2>/dev/null; then
            "$PRIVACY_EVAL_ROOT/scripts/ensure_env.sh" models || true # the next line says what is missing
        fi
        privacy-eval get-model --check --libraries "${models[@]}"
        if [ "${#downloaded[@]}" -gt 0 ]; then privacy-eval get-model "${downloaded[@]}" >/dev/null; fi
    fi
    # One command for all missing libraries, else one for all missing models.
    if [ "${#models[@]}" -gt 0 ]; then privacy-eval get-model --check "${models[@]}"; fi
fi

if [ "$stage" -le 3 ] && [ "$stop_stage" -ge 3 ]; then
    design=(--original "$speech" --encoders "$encoders")
    for name in speaker_level utt2spk anonymized training training_utt2spk spk2gender text enroll allow_unusable; do
        if [ -n "${!name}" ]; then design+=("--${name//_/-}" "${!name}"); fi
    done
    privacy-eval data-dir "${design[@]}" --out "$dir/tree"
fi

if [ "$stop_stage" -ge 4 ]; then
    made_by=(--anonymizer "$anonymizer")
    if [ "$anonymizer" = mcadams ]; then made_by+=(--variant "$variant" --coefficient "$coefficient"); fi
    if [ -n "$anonymized" ]; then made_by=(); fi
    for name in attribute sentences distractors recognizer metric utility by_strongest all_figures audio \
        statement speaker_names allow_missing details set; do
        if [ -n "${!name}" ]; then made_by+=("--${name//_/-}" "${!name}"); fi
    done
    exec "$recipe/../vpc2020/run.sh" --stage "$((stage > 4 ? stage : 4))" --stop-stage "$stop_stage" \
        --tree "$dir/tree" --results exp --out results --conf protocol.yaml --system "$system" \
        "${made_by[@]}" --attackers "$attackers" --quality "$quality" --phones "$phones" --confirm "$confirm" \
        --bootstrap "$bootstrap" --seed "$seed" --nj "$nj" --allow-outside
fi
