#!/usr/bin/env bash
# Stage 9: tables of results.json.
# Usage: tables.sh [options of privacy-eval tables]
set -euo pipefail

exec privacy-eval tables "$@"
