#!/usr/bin/env bash
# Stage 9: makes the tables from results.json.
# Usage: tables.sh [options of privacy-eval tables]
set -euo pipefail

exec privacy-eval tables "$@"
