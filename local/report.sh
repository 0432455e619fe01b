#!/usr/bin/env bash
# Stage 10: writes report.html from results.json and the figures.
# Usage: report.sh [options of privacy-eval report]
set -euo pipefail

exec privacy-eval report "$@"
