#!/usr/bin/env bash
# Stages 10 and 11: report.html of results.json and the figures.
# Usage: report.sh [options of privacy-eval report]
set -euo pipefail

exec privacy-eval report "$@"
