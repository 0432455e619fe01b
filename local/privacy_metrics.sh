#!/usr/bin/env bash
# Stage 6: privacy metrics of every trial condition, in parallel jobs.
# Usage: privacy_metrics.sh [options of privacy-eval privacy-metrics]
set -euo pipefail

exec privacy-eval privacy-metrics "$@"
