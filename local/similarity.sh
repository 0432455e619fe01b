#!/usr/bin/env bash
# Stage 7: voice similarity matrices, DeID and G_VD of every trial set, in parallel jobs.
# Usage: similarity.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval similarity]
set -euo pipefail

exec "$(dirname -- "$(readlink -f -- "$0")")/../scripts/split_jobs.sh" similarity --finish "$@"
