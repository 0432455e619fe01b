#!/usr/bin/env bash
# Stage 4: anonymize the data sets of the tree, in parallel jobs, with the challenge's baseline B2 or
# your own command. Without --anonymizer, only print what is expected. Data folders that you made
# yourself are kept.
#
# A command is run once per data set, in the tree, by a shell, as 'COMMAND {in} {out}':
#   {in}   becomes the original data folder, data/SET, with wav.scp, utt2spk, spk2utt and, usually,
#          spk2gender; paths in wav.scp are relative to the tree, or absolute;
#   {out}  becomes the new folder, data/SETSUFFIX, which exists. The command writes wav.scp there, of
#          exactly the same utterances, and its audio (16-bit WAV or FLAC) wherever it likes within
#          the tree.
# It must exit with status 0. utt2spk, spk2utt, spk2gender and enrolls are copied afterwards. It is run
# again when the speech or the command's words change, or when it was killed. Commands run at the same
# time (--nj), but never two on one data set.
#
# Usage: anonymize.sh [options of privacy-eval anonymize]
set -euo pipefail

exec privacy-eval anonymize "$@"
