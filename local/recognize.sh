#!/usr/bin/env bash
# Stage 6: transcribe the recognition sets of the tree with your own recognizer (--recognizer), for word
# error rates. Without it nothing: transcripts and WER files that your recognizer left are read anyway.
#
# The command is run once per data set, as 'COMMAND {in} {out}':
#   {in}   becomes the data folder, data/SET, with wav.scp; paths in it are relative to the tree, or
#          absolute;
#   {out}  becomes a new folder, in which the command writes text: a line of the utterance's id and its
#          words, for every utterance.
# The text is checked and moved to exp/asr/SET/text, where the protocol (recognition: folders) has it.
# Commands are run in the tree, by a shell, as those of anonymize.sh. Transcripts that you put there
# yourself are kept. Examples: docs/recognizers.md
#
# Usage: recognize.sh [options of privacy-eval stage recognize]
set -euo pipefail

exec privacy-eval stage recognize "$@"
