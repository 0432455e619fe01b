#!/usr/bin/env bash
# Stage 6: quality (--quality) and phone errors (--phones) of the speech of the trial sets, in parallel
# jobs, the files of other tools that the protocol names (measures), and an audit of anonymized audio: by
# default of what x-vectors were extracted from here (--audio true: of all that is there; false: of none).
# Usage: measures.sh [options of privacy-eval measures]
set -euo pipefail

exec privacy-eval measures "$@"
