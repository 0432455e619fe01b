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

if [ -d "$tree/data" ]; then
    printf '%s/data exists; stage 0 lists missing sets.\n' "$tree"
    exit 0
fi
cat <<'END'
The tree has no data folder. The stages need:

  data/             evaluation data: speech, enrollment lists and trials, as packed for the challenge
  exp/models/       x-vector network and back end of the challenge's attacker (to compute scores;
                    not needed to evaluate existing ones)

Both come from the organizers of the VoicePrivacy Challenge: register at
https://www.voiceprivacychallenge.org for the password that the challenge's own recipe needs to
download them. This recipe never downloads them. To evaluate existing scores, the trial keys are
enough: in data/<trial set>/trials, or in the folder given with --keys.
END
