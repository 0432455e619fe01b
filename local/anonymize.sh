#!/usr/bin/env bash
# Stage 4: hook for the participant. Call your anonymization system here, or run it before the later
# stages.
#
# Usage: anonymize.sh [--tree DIR]
set -euo pipefail

# --- options
tree=.  # experiment tree
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

cat <<END
Anonymization is the participant's own: call your system in local/anonymize.sh, or run it yourself.
Each anonymized set is a Kaldi data folder in $tree/data (wav.scp, utt2spk, spk2utt, spk2gender),
with the list enrolls or trials of the original set; stage 0 lists the missing ones.
END
