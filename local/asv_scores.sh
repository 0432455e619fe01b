#!/usr/bin/env bash
# Stage 5: says which scores there are. Making new ones comes with a later version.
# Usage: asv_scores.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
