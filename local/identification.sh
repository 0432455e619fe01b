#!/usr/bin/env bash
# Stage 7: speaker identification rates in galleries for every condition, in parallel jobs.
# Usage: identification.sh [options of privacy-eval identification]
set -euo pipefail

exec privacy-eval identification "$@"
