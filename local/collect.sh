#!/usr/bin/env bash
# Stage 8: collect the records of all conditions in results.json, results.csv, results.txt.
# Usage: collect.sh [options of privacy-eval collect]
set -euo pipefail

exec privacy-eval collect "$@"
