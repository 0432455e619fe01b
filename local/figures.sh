#!/usr/bin/env bash
# Stage 10: figures of results.json and the curves beside it, in parallel jobs.
# Usage: figures.sh [options of privacy-eval figures]
set -euo pipefail

exec privacy-eval figures "$@"
