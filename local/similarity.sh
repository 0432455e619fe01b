#!/usr/bin/env bash
# Stage 7: voice similarity matrices, DeID and G_VD of every trial set, in parallel jobs.
# Usage: similarity.sh [options of privacy-eval similarity]
set -euo pipefail

exec privacy-eval similarity "$@"
