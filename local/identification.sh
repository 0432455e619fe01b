#!/usr/bin/env bash
# Stage 7: speaker identification rates in galleries for every trial condition, in parallel jobs.
# Usage: identification.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval
#                          identification]
set -euo pipefail

exec "$(dirname -- "$(readlink -f -- "$0")")/../scripts/split_jobs.sh" identification --finish "$@"
