#!/usr/bin/env bash
# Stage 4: anonymize the data sets of the tree, in parallel jobs, with the challenge's baseline B2 or
# your own command. Without --anonymizer, only print what is expected. Data folders that you made
# yourself are kept.
#
# A command for single files is run once per utterance, as in 'sox {wav_in} {wav_out} pitch -300':
#   {wav_in}   becomes a WAV file, UTTERANCE.wav, that holds the utterance, whatever wav.scp and segments
#              say; of 16 bits, or of floats if the original has more than 16;
#   {wav_out}  becomes the WAV file to write, in another temporary folder. It is moved to
#              data/SETSUFFIX/wav, and wav.scp is written. Killed runs resume with the next speaker.
# Any other command is run once per data set, as 'COMMAND {in} {out}':
#   {in}   becomes the original data folder, data/SET, with wav.scp, utt2spk, spk2utt and, usually,
#          spk2gender; paths in wav.scp are relative to the tree, or absolute;
#   {out}  becomes the new folder, data/SETSUFFIX, which exists. The command writes wav.scp there, of
#          exactly the same utterances, and its audio (16-bit WAV or FLAC) wherever it likes within
#          the tree.
# Commands are run in the tree, by a shell; paths of programs and files that the tree does not have are
# taken relative to the folder you call from. They must exit with status 0; if not, the last line that
# they print to stderr is shown. utt2spk, spk2utt, spk2gender and enrolls are copied afterwards. A command
# is run again when the speech, its words or a program or script that they name change, or when it was
# killed. Commands run at the same time (--nj), but never two on one data set (or speaker).
#
# Usage: anonymize.sh [options of privacy-eval stage anonymize]
set -euo pipefail

exec privacy-eval stage anonymize "$@"
