#!/usr/bin/env bash
# Stage 5: missing speaker verification scores of all trial conditions, in parallel jobs.
# Usage: asv_scores.sh [options of privacy-eval asv-scores]
set -euo pipefail

exec privacy-eval asv-scores "$@"
