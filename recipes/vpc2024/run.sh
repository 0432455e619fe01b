#!/usr/bin/env bash
# Evaluate anonymization systems in a tree of VoicePrivacy 2024 or 2026, after the challenge's own
# evaluation has left its scores in exp/ (asv_orig or asv_ssl, asv_anon<SUFFIX>, asr, ser): the stages
# and options of recipes/vpc2020/run.sh, with another protocol. Stages 2 and 5, which work with
# Kaldi x-vectors, log that they do not apply; stage 7 compares the speaker_vectors.pt that the
# challenge left in exp/<model>/cosine_out/emb_xvect, if there are any.
#
# Usage: run.sh --tree DIR [--conf vpc2024|vpc2026_track1|vpc2026_track2] [--anon-suffix "_a _b"]
#               [--published vpc2024] [other options of recipes/vpc2020/run.sh, see --help]
set -euo pipefail

# A later --conf takes precedence.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../vpc2020/run.sh" --conf vpc2024 "$@"
