#!/usr/bin/env bash
# Stage 10: figures of results.json and the curves beside it, in parallel jobs.
# Usage: figures.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval figures]
set -euo pipefail

exec "$(dirname -- "$(readlink -f -- "$0")")/../scripts/split_jobs.sh" figures "$@"
