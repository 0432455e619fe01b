#!/usr/bin/env bash
# Stage 5: missing x-vectors of data sets with speech, in parallel jobs.
# Usage: xvectors.sh [options of privacy-eval xvectors]
set -euo pipefail

exec privacy-eval xvectors "$@"
