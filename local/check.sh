#!/usr/bin/env bash
# Stage 0: check the tree; score files are read, nothing is written.
# Usage: check.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
