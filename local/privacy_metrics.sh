#!/usr/bin/env bash
# Stage 6: privacy metrics of every trial condition, in parallel jobs.
# Usage: privacy_metrics.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval privacy-metrics]
set -euo pipefail

exec "$(dirname -- "$(readlink -f -- "$0")")/../scripts/split_jobs.sh" privacy-metrics --isolate "$@"
