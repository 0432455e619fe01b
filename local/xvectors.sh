#!/usr/bin/env bash
# Stage 5: missing x-vectors of data sets with speech, in parallel jobs, by the built-in extractor of
# Kaldi's networks, by Kaldi's programs, or by your own command: --extractor 'COMMAND {in} {out}', run once
# per data set. External x-vectors are kept.
#   {in}     becomes the data folder, data/SET, with wav.scp, utt2spk and, maybe, segments; paths in wav.scp
#            are relative to the tree, or absolute;
#   {out}    becomes an empty folder. The command writes one vector per utterance there, as xvector.scp with
#            archives, xvector.npz, xvector.npy with xvector.txt, xvector.h5, or speaker_vectors.pt with id2idx;
#   {model}  becomes the model folder, such as exp/models/asv_eval/xvect_01709_1.
# Commands are run as local/anonymize.sh says: in the tree, by a shell, with programs and files that the tree
# does not have relative to the folder you call from. Examples: docs/extractors.md
# Usage: xvectors.sh [options of privacy-eval stage xvectors]
set -euo pipefail

exec privacy-eval stage xvectors "$@"
