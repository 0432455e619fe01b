#!/usr/bin/env bash
# Stage 1: says which data and models are needed and who gives them. Nothing is downloaded: the
# challenge's packages need a password, which only its organizers can give.
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
    printf '%s/data is there; stage 0 lists the sets it lacks.\n' "$tree"
    exit 0
fi
cat <<'END'
There is no folder data in the tree. What the stages need:

  data/             evaluation data: speech, enrollment lists and trials, as packed for the challenge
  exp/models/       x-vector network and back end of the challenge's attacker (needed to make
                    scores, not to evaluate scores that are there)

Both come from the organizers of the VoicePrivacy Challenge: register at
https://www.voiceprivacychallenge.org and you get the password for the download that the
challenge's own recipe makes. This recipe never downloads them. To evaluate scores that are there,
the trial keys are enough: in data/<trial set>/trials, or in the folder that --keys names.
END
