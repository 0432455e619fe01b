#!/usr/bin/env bash
# Stage 6: quality (--quality) and phone errors (--phones) of the speech of the trial sets, in parallel
# jobs, and the files of other tools that the protocol names (measures); without these nothing.
# Usage: measures.sh [options of privacy-eval measures]
set -euo pipefail

exec privacy-eval measures "$@"
