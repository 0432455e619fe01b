#!/usr/bin/env bash
# Simulations of a metric study, in parallel jobs; existing ones are kept.
# Usage: study.sh --log-dir DIR [--cmd CMD] [--nj N] -- [options of privacy-eval study]
set -euo pipefail

exec "$(dirname -- "$(readlink -f -- "$0")")/../scripts/split_jobs.sh" study "$@"
