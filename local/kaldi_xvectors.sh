#!/usr/bin/env bash
# Extract x-vectors of one data set with Kaldi, as in the challenge: MFCCs, voice activity detection,
# x-vector network. Needs a Kaldi installation at KALDI_ROOT, the network (final.raw) in the model
# folder, and conf/mfcc.conf and conf/vad.conf in the tree.
#
# Usage: kaldi_xvectors.sh --set NAME --model DIR [--tree DIR] [--cmd CMD] [--nj N]
set -euo pipefail

# --- options
tree=.            # experiment tree
set=              # data set, a folder in data/
model=            # model folder, relative to the tree; x-vectors go to xvect_SET in it
cmd=run_jobs.sh   # job runner, with its options
nj=1              # number of jobs
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

fail() {
    printf 'kaldi_xvectors.sh: %s\n' "$1" >&2
    exit 1
}
if [ -z "$set" ] || [ -z "$model" ]; then
    printf 'kaldi_xvectors.sh: --set and --model are needed\n' >&2
    exit 2
fi
kaldi=${KALDI_ROOT:?kaldi_xvectors.sh: KALDI_ROOT must name a Kaldi installation}
tree=$(readlink -f -- "$tree")
wsj=$kaldi/egs/wsj/s5
for folder in "$wsj/steps" "$wsj/utils" "$kaldi/egs/sre08/v1/sid"; do
    [ -d "$folder" ] || fail "$folder: no such folder; is KALDI_ROOT a Kaldi installation?"
done
for file in "$tree/conf/mfcc.conf" "$tree/conf/vad.conf" "$tree/$model/final.raw"; do
    [ -f "$file" ] || fail "$file: no such file, needed to extract x-vectors of $set"
done
# Kaldi's scripts split paths at blanks.
case $tree/$model/$set in
    *[[:space:]]*) fail "$tree/$model: Kaldi's scripts need paths without blanks" ;;
esac
# Kaldi splits data by speaker: at most one job per speaker.
speakers=$(wc -l <"$tree/data/$set/spk2utt")
if [ "$nj" -gt "$speakers" ]; then nj=$speakers; fi
# Kaldi's scripts pass shell code to the runner, which the toolkit's runners do not support.
runner=${cmd%% *}
case ${runner##*/} in
    run_jobs.sh) cmd=$wsj/utils/parallel/run.pl ;;
    slurm.sh)
        options=${cmd#"$runner"}
        if [[ $options =~ (.*)\ --retries[\ =][0-9]+(.*) ]]; then
            options=${BASH_REMATCH[1]}${BASH_REMATCH[2]} # slurm.pl has no --retries
        fi
        cmd=$wsj/utils/parallel/slurm.pl$options
        ;;
esac

# Kaldi's scripts expect links and path.sh in the current folder, and wav.scp may contain paths
# relative to the tree.
work=$(mktemp -d)
out=$tree/$model/xvect_$set
# Write into a folder of another name first, so that a killed run leaves nothing that looks complete.
partial=$tree/$model/.xvect_$set.partial
trap 'rm -rf -- "$work" "$partial"' EXIT
ln -s "$wsj/steps" "$wsj/utils" "$kaldi/egs/sre08/v1/sid" "$work/"
for entry in "$tree"/*; do
    name=${entry##*/}
    if [ "$name" != path.sh ] && [ ! -e "$work/$name" ]; then ln -s "$entry" "$work/"; fi
done
cat >"$work/path.sh" <<END
export KALDI_ROOT='$kaldi'
if [ -f "\$KALDI_ROOT/tools/env.sh" ]; then . "\$KALDI_ROOT/tools/env.sh"; fi
export PATH=\$PWD/utils:\$KALDI_ROOT/tools/openfst/bin:\$PATH
. "\$KALDI_ROOT/tools/config/common_path.sh"
export LC_ALL=C
END
cd -- "$work"
set +u  # Kaldi's scripts use variables that may not be set
# shellcheck source=/dev/null
. ./path.sh
set -u

printf 'x-vectors of %s -> %s\n' "$set" "$out" >&2
own=$work/.own
mkdir -- "$own"
cp -r -- "$tree/data/$set" "$own/data"  # features do not change the data set
steps/make_mfcc.sh --nj "$nj" --cmd "$cmd" --mfcc-config "$tree/conf/mfcc.conf" \
    --write-utt2num-frames true "$own/data" "$own/log" "$own/mfcc"
utils/fix_data_dir.sh "$own/data"
sid/compute_vad_decision.sh --nj "$nj" --cmd "$cmd" --vad-config "$tree/conf/vad.conf" \
    "$own/data" "$own/log" "$own/vad"
utils/fix_data_dir.sh "$own/data"
rm -rf -- "$partial"
sid/nnet3/xvector/extract_xvectors.sh --nj "$nj" --cmd "$cmd" "$tree/$model" "$own/data" "$partial"
# Replace the temporary folder in the paths of the scp.
while read -r utterance place; do
    printf '%s %s\n' "$utterance" "$model/xvect_$set/${place#"$partial"/}"
done <"$partial/xvector.scp" >"$partial/xvector.scp.new"
mv -- "$partial/xvector.scp.new" "$partial/xvector.scp"
rm -rf -- "$out"
mv -- "$partial" "$out"
