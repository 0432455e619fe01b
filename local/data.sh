#!/usr/bin/env bash
# Stage 1: print which data and models are needed and where to get them. Nothing is downloaded: the
# challenge's packages need a password from its organizers.
#
# Usage: data.sh [--tree DIR]
set -euo pipefail

# --- options
tree=.  # experiment tree
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

vectors=$(find -L "$tree/exp/models" '(' -name final.raw -o -name 'xvector.*' -o -name speaker_vectors.pt ')' \
    -print -quit 2>/dev/null || :)
if [ -d "$tree/data" ] && [ -n "$vectors" ]; then
    exit # nothing to get
fi
if [ ! -d "$tree/data" ]; then
    cat <<'END'
The tree has no data folder. The stages need:

  data/             evaluation data: speech, enrollment lists and trials, as packed for the challenge
  exp/models/       x-vector network and back end of the challenge's attacker (to compute scores;
                    not needed to evaluate existing ones)

Both come from the organizers of the VoicePrivacy Challenge: register at
https://www.voiceprivacychallenge.org for the password that the challenge's own recipe needs to
download them. This recipe never downloads them. To evaluate existing scores, the trial keys are
enough: in data/<trial set>/trials, or in the folder given with --keys. From two folders of audio,
privacy-eval data-dir creates a tree.
END
fi
cat <<'END'
X-vectors are extracted by final.raw in the model folder (with extract.config, min_chunk_size and
max_chunk_size). The challenge's is not public: its organizers give it to registered participants
(https://www.voiceprivacychallenge.org). Any Kaldi x-vector network for the same features (30 MFCC at
16 kHz) serves, such as one of Kaldi's VoxCeleb recipe, with its back end (plda, mean.vec,
transform.mat) beside it. Other options of the features go into conf/mfcc.conf and conf/vad.conf of
the tree. Results carry the digest of the network: numbers of different networks cannot be compared.
A network of another toolkit is a command of yours, --extractor (docs/extractors.md).
Without one, run.sh --encoder ge2e (or ge2e-raw, d-vector, FILE.onnx) computes the vectors of a speaker
encoder; privacy-eval get-model ge2e downloads it first (docs/speech.md). Recordings without a tree:
recipes/real_speech/run.sh.
To try the pipeline with neither: privacy-eval demo-speech DIR makes DIR/extractor, which computes
only statistics of MFCC, and training speech for its back end (DIR/training, DIR/training_utt2spk).
END
