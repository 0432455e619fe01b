#!/usr/bin/env bash
# Stage 4: the participant's hook. Put the call of your anonymization system here, or run it
# yourself before the later stages. Nothing is done where the tree already holds anonymized data
# or scores; where it holds neither, this says what is needed and ends with code 1.
#
# Usage: anonymize.sh [--tree DIR] [--results DIR] [--anon-suffix _anon]
set -euo pipefail

# --- options
tree=.        # experiment tree
results=exp   # folder of the results, relative to the tree
anon_suffix=  # ending of anonymized data sets (default: _anon)
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"

anon_suffix=${anon_suffix:-_anon}
case $results in
    /*) ;;
    *) results=$tree/$results ;;
esac

for folder in "$tree"/data/*"$anon_suffix"; do
    if [ -d "$folder" ]; then
        printf 'Anonymized data are there (%s, ...).\n' "${folder#"$tree"/}"
        exit 0
    fi
done
if [ -d "$results" ]; then
    scores=$(find -L "$results" -path '*/ASV-*/scores*' -type f -print -quit)
    if [ -n "$scores" ]; then
        printf 'Scores are there (%s, ...).\n' "${scores#"$tree"/}"
        exit 0
    fi
fi

cat <<END
There are neither anonymized data nor scores in the tree yet. Call your anonymization system in
local/anonymize.sh, or run it yourself. The later stages expect its output in these folders:

  data/libri_{dev,test}_enrolls$anon_suffix
  data/libri_{dev,test}_trials_{f,m}$anon_suffix
  data/vctk_{dev,test}_enrolls$anon_suffix
  data/vctk_{dev,test}_trials_{f,m}$anon_suffix
  data/vctk_{dev,test}_trials_{f,m}_common$anon_suffix

each a Kaldi data folder (wav.scp, utt2spk, spk2utt, spk2gender); the enrollment sets also hold
the list enrolls, the trial sets the list trials. Scores of speaker verification belong in

  exp/results-<date>/ASV-<enrollment set>-<trial set>/scores
END
exit 1
